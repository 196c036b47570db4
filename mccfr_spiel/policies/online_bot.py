"""A bot that learns by outcome sampling while it plays (Lanctot, Waugh, Zinkevich,
Bowling 2009).

Outcome sampling needs only the player's own information states, the probabilities with
which the player sampled its own actions, and the payoff. The probabilities of chance
and of the other players cancel in the estimates. A player can therefore learn against
unknown opponents.
"""

import math
import os
import warnings
from array import array
from typing import Any, NamedTuple

import numpy as np
import pyspiel

from mccfr_spiel.arenas.infosets.loading import load_game
from mccfr_spiel.common import checkpoint, refusals
from mccfr_spiel.common.budget import (
    MaxMemory,
    MemoryBudgetError,
    make_budget,
)
from mccfr_spiel.common.display import counted, line, never_raises
from mccfr_spiel.kernels.randomness import infoset_place, stream_key, uniform
from mccfr_spiel.kernels.sampling import plain_draw_action
from mccfr_spiel.policies.bots import SeatBot
from mccfr_spiel.policies.learned_table import (
    FORGOTTEN,
    LearnedTable,
    below,
    bytes_of,
    table_of,
)

MOST_PAYOFF = 1e100
"""The largest absolute payoff that the bot accepts. Sums of larger payoffs would
overflow after many hands."""


class Move(NamedTuple):
    """A move of the bot in the present hand.

    Attributes:
        infoset: the number of the infoset; FORGOTTEN if it is not stored.
        chosen: the index of the action among the legal actions.
        q: the probability with which the bot sampled the action, exploration included.
        num_actions: the number of legal actions.
    """

    infoset: int
    chosen: int
    q: float
    num_actions: int


class MemoryBudgetWarning(UserWarning):
    """The infosets of a bot fill its `max_memory`; new infosets are not stored."""


class OnlineOutcomeSamplingBot(SeatBot):
    """A bot that plays for one player and learns by outcome sampling with regret
    matching.

    The bot observes only its information states, its legal actions, and the payoff of
    each hand (a play of the game). It does not need the rules. The game may have chance
    moves and any number of players. At an infoset with n legal actions, the bot samples
    an action from its policy b mixed with the uniform policy, `(1 - epsilon) b +
    epsilon / n`. Let u be the payoff of a hand and q the product of the probabilities
    with which the bot sampled its actions. The estimated value of each chosen action is
    then u / q, times the product of the probabilities in b of the bot's later actions.
    With these estimates the regrets at the visited infosets are updated.

    The average policy is exact: the normalized sum of the realization plans of all
    hands. The sum is computed lazily: a visit to an infoset adds the plans of all hands
    since the previous visit.

    A hand can have any number of decisions of the bot. All sums at an infoset have a
    common exponent, so that neither 1 / q nor products of probabilities overflow or
    underflow.

    Use it like any OpenSpiel bot, and call `observe_outcome` after each hand.
    `restart()` drops a hand that has no outcome. Draws are a function of (seed, index
    of the hand, information state), so a run repeats if the opponents' moves repeat.
    """

    def __init__(
        self,
        game: pyspiel.Game | str,
        player_id: int,
        *,
        epsilon: float = 0.6,
        seed: int = 0,
        max_memory: MaxMemory = None,
    ) -> None:
        """Makes a bot that has learned nothing and plays uniformly.

        Args:
            game: the game; only the number of players is used, not the rules.
            player_id: the index of the player for whom the bot plays.
            epsilon: the weight of the uniform policy in play. The value 0.6 of Lanctot
                et al. is good for learning an average policy, but lowers the payoffs of
                the bot while it learns.
            seed: any integer, used modulo 2^64.
            max_memory: bytes, or a string such as "4GiB", for the learned tables; by
                default half of the free memory, see `GameTree`. When this memory is
                full, the bot warns once. It continues to learn at stored infosets, and
                plays uniformly at new infosets, which are not stored.

        Raises:
            ValueError: there is no such player, or epsilon is not in (0, 1].
        """
        pyspiel.Bot.__init__(self)
        self._set_up(load_game(game).num_players(), player_id, epsilon, seed)
        self.budget = make_budget(max_memory)

    def _set_up(
        self, num_players: int, player_id: int, epsilon: float, seed: int
    ) -> None:
        self.num_players = num_players
        self.player = refusals.player(player_id, num_players, "player_id")
        # 0 is refused: actions that the bot never plays would have biased estimates.
        self.epsilon = refusals.number(epsilon, "epsilon", 0, 1, open_low=True)
        self.seed = refusals.integer(seed, "seed")
        self.is_full = False
        self.num_hands = 0
        self._table = LearnedTable()
        self._hand: list[Move] = []
        self.restart()

    @never_raises
    def __repr__(self) -> str:
        return line(
            self,
            f"player {self.player} of {self.num_players}",
            counted(self.num_hands, "hand"),
            counted(len(self._table), "infoset"),
        )

    # --- methods that OpenSpiel calls --------------------------------------

    def restart(self) -> None:
        """Begins a new hand; drops a hand whose outcome the bot has not observed."""
        self._hand.clear()
        seed, hand = np.uint64(self.seed % 2**64), self.num_hands + 1
        key = stream_key(seed, hand, self.player, self.num_players)
        self._stream = np.uint64(key)

    def get_policy(self, state: pyspiel.State) -> list[tuple[int, float]]:
        """The (action, probability) pairs from which `step` samples, exploration
        included."""
        actions = state.legal_actions(self.player)
        info_state = state.information_state_string(self.player)
        infoset = self._table.numbers.get(info_state, FORGOTTEN)
        return list(zip(actions, self._explored(infoset, len(actions)), strict=True))

    def step_with_policy(
        self, state: pyspiel.State
    ) -> tuple[list[tuple[int, float]], int]:
        """Returns the result of `get_policy`, and an action sampled from it."""
        policy = self.get_policy(state)
        return policy, self.step(state)

    def step(self, state: pyspiel.State) -> int:
        """Samples an action at a decision of the bot, and records it for learning.

        Raises:
            ValueError: the bot has no legal action at the state, or the game has
                imperfect recall.
        """
        info_state = state.information_state_string(self.player)
        actions = state.legal_actions(self.player)
        if not actions:
            raise ValueError(
                f"Player {self.player} has no legal action after {state.history()}."
            )
        infoset = self._meet(info_state, actions)
        odds = self._explored(infoset, len(actions))
        place = np.uint64(infoset_place(self.player, info_state))
        draw = uniform(self._stream, place)
        chosen = plain_draw_action(odds, 0, len(actions), draw)
        self._hand.append(Move(infoset, chosen, odds[chosen], len(actions)))
        return actions[chosen]

    # --- learning ----------------------------------------------------------

    def observe_outcome(self, payoff: float) -> None:
        """Ends a hand and learns from the payoff of the bot's player.

        The first loop updates the sums of plans at the infosets of the hand, before
        their policies change. The second loop computes q, the probability with which
        the bot sampled the actions of the hand. The last loop visits the infosets in
        reverse order. At each of them, the estimated value of the chosen action is
        `value * 2 ** scale`. The loop updates regrets and policy, and multiplies
        `value` by the probability of the action for the next infoset.

        Raises:
            ValueError: the absolute payoff exceeds MOST_PAYOFF, or is not a number.
        """
        payoff = refusals.number(payoff, "payoff", -MOST_PAYOFF, MOST_PAYOFF)
        self.num_hands += 1
        for move in self._hand:
            if move.infoset != FORGOTTEN:
                self._table.pay(move.infoset, self.num_hands)
        reach, scale = 1.0, 0  # q is reach * 2**scale
        for move in self._hand:
            reach, shift = math.frexp(reach * move.q)
            scale += shift
        value, scale = payoff / reach, -scale
        for infoset, chosen, _, num_actions in reversed(self._hand):
            probability = 1 / num_actions
            if infoset != FORGOTTEN:
                probability = self._table.policy[self._table.row(infoset)][chosen]
                self._table.move(infoset, chosen, value, scale)
            value, shift = math.frexp(probability * value)
            scale += shift
        self.restart()

    def _explored(self, infoset: int, num_actions: int) -> list[float]:
        """The probabilities of the legal actions in play, exploration included."""
        policy = [1 / num_actions] * num_actions
        if infoset != FORGOTTEN:
            policy = self._table.policy[self._table.row(infoset)].tolist()
        share = self.epsilon / len(policy)
        return [(1 - self.epsilon) * b + share for b in policy]

    def _meet(self, info_state: str, actions: list[int]) -> int:
        table = self._table
        parent = self._hand[-1][:2] if self._hand else (FORGOTTEN, FORGOTTEN)
        infoset = table.numbers.get(info_state)
        if infoset is None:
            if not self._has_room(info_state, len(actions)):
                return FORGOTTEN
            return table.add(info_state, actions, parent)
        previous = table.actions[table.row(infoset)].tolist()
        if (
            previous != actions
            or (table.above[infoset], table.taken[infoset]) != parent
        ):
            raise ValueError(
                f"Player {self.player} reached the information state {info_state!r} "
                "with other legal actions or other previous own moves than before. "
                "Outcome sampling needs perfect recall."
            )
        return infoset

    def _has_room(self, info_state: str, num_actions: int) -> bool:
        """Takes the bytes of a new infoset from the budget; returns whether they fit.

        Once an infoset did not fit, no later infoset is stored. Otherwise the bot could
        store a small infoset although its larger parent did not fit.
        """
        size = bytes_of(info_state, num_actions)
        if not self.is_full and size > self.budget.left:
            self.is_full = True
            warnings.warn(
                f"The {len(self._table):,} infosets of player {self.player}'s bot fill "
                f"{self.budget.in_words()}. The bot plays uniformly at new infosets "
                "and does not store them. Pass a larger max_memory to `load`.",
                MemoryBudgetWarning,
                stacklevel=4,
            )
        if self.is_full:
            return False
        self.budget.take(size)
        return True

    # --- learned policies --------------------------------------------------

    @property
    def num_infosets(self) -> int:
        """The number of stored infosets."""
        return len(self._table)

    def policy_at(self, info_state: str) -> dict[int, float] | None:
        """Action -> probability at an information state; None if the state is unknown.

        The probabilities exclude exploration.
        """
        table, infoset = self._table, self._table.numbers.get(info_state)
        return None if infoset is None else table.row_of(table.policy, infoset)

    def current_policy(self) -> dict[str, dict[int, float]]:
        """A copy of the current policy: information state -> action -> probability.

        The probabilities exclude exploration. Information states that are not stored
        are missing; the bot plays uniformly there.
        """
        return self._by_name(self._table.policy)

    def average_policy(self) -> dict[str, dict[int, float]]:
        """The average of the policies of all hands: information state -> action ->
        probability.

        At each information state, a hand has the weight with which its policy plays to
        this information state (the product of the probabilities of the bot's actions).
        """
        return self._by_name(self._table.average_policy(self.num_hands))

    def _by_name(self, values: array) -> dict[str, dict[int, float]]:
        numbers = self._table.numbers.items()
        return {name: self._table.row_of(values, infoset) for name, infoset in numbers}

    # --- saving ------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the complete state of the bot into a file, from which `load` resumes
        exactly.

        It also works in the middle of a hand. The file is written completely or not at
        all; an existing file is kept as `path` + ".previous".

        Raises:
            OSError: the file cannot be written; an existing one is unchanged.
        """
        checkpoint.save(path, self._contents(), checkpoint.BOT)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, max_memory: MaxMemory = None
    ) -> "OnlineOutcomeSamplingBot":
        """Reads a file that `save` wrote, and continues exactly from there.

        Args:
            path: the file.
            max_memory: as in the constructor; it is not saved. If it is given, and the
                bot was not saved in the middle of a hand, a bot whose memory was full
                stores new infosets again.

        Raises:
            CheckpointError: the file is damaged, or is not a bot.
            MemoryBudgetError: the learned tables do not fit `max_memory`.
            OSError: the file cannot be read.
        """
        return cls._from_contents(checkpoint.load(path, checkpoint.BOT), max_memory)

    def __reduce__(self) -> tuple[Any, ...]:
        data = checkpoint.to_bytes(self._contents(), checkpoint.BOT)
        return _unpickle, (type(self), data)

    def _contents(self) -> checkpoint.Contents:
        header = {
            "version": checkpoint.BOT.version,
            "num_players": self.num_players,
            "player_id": self.player,
            "epsilon": self.epsilon,
            "seed": self.seed,
            "num_hands": self.num_hands,
            "is_full": self.is_full,
            "hand": [list(move) for move in self._hand],
        }
        return checkpoint.Contents(header, self._table.contents())

    @classmethod
    def _from_contents(
        cls, contents: checkpoint.Contents, max_memory: MaxMemory = None
    ) -> Any:
        budget, (header, arrays) = make_budget(max_memory), contents
        bot = cls.__new__(cls)
        pyspiel.Bot.__init__(bot)
        try:
            with checkpoint.odd_contents_in_words(checkpoint.BOT):
                fields = ("num_players", "player_id", "epsilon", "seed")
                bot._set_up(*(header[name] for name in fields))
                bot.num_hands = refusals.integer(header["num_hands"], "num_hands", 0)
                bot.budget, table = budget, table_of(arrays)
                size = sum(map(bytes_of, table.numbers, table.counts))
                budget.take(size, f"{len(table):,} infosets take")
                bot._table = table
                bot.restart()
                bot._hand = [bot._move_of(*move) for move in header["hand"]]
                bot.is_full = header["is_full"] is True
        except (checkpoint.CheckpointError, MemoryBudgetError):
            raise
        except ValueError as error:
            raise checkpoint.DamagedError(
                f"The file contains a malformed bot: {error}"
            ) from error
        if max_memory is not None and not bot._hand:
            bot.is_full = False
        return bot

    def _move_of(self, infoset: Any, chosen: Any, q: Any, num_actions: Any) -> Move:
        """Makes a Move from the fields in a file; raises ValueError if one is wrong."""
        num_actions = refusals.integer(num_actions, "num_actions", 1)
        if infoset != FORGOTTEN:
            num_actions = self._table.counts[below(infoset, len(self._table))]
        q = refusals.number(q, "q", 0, 1, open_low=True)
        return Move(infoset, below(chosen, num_actions), q, num_actions)


def _unpickle(cls: type[OnlineOutcomeSamplingBot], data: bytes) -> Any:
    return cls._from_contents(checkpoint.from_bytes(data, checkpoint.BOT))
