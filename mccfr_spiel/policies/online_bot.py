"""Outcome sampling as an online learner (Lanctot, Waugh, Zinkevich, Bowling 2009).

Of each hand, outcome sampling needs only the player's own information states, the
probabilities with which it chose its own actions, and the payoff, because everybody
else's probabilities cancel. So a player can learn by it while playing against opponents
it does not know.

After a thousand own decisions, estimates are of the order of 2 ** 1000 and own reaches
of the order of 2 ** -1000, and a double cannot hold the next one. The sums of an
infoset only count in relation to each other, so they share an exponent that follows the
largest of them. Multiplying by a power of two does not round, so the results are the
same to the last bit as with plain doubles, where those suffice.
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
from mccfr_spiel.common.budget import MaxMemory, MemoryBudgetError, make_budget
from mccfr_spiel.common.checkpoint import DamagedError
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
"""The largest payoff. Sums of larger ones would overflow after many hands."""


class Move(NamedTuple):
    """An own move of the hand.

    Attributes:
        infoset: its number; FORGOTTEN if there was no room to keep it.
        chosen: the number of the action.
        q: the probability it was drawn with.
        num_actions: how many there were.
    """

    infoset: int
    chosen: int
    q: float
    num_actions: int


class MemoryBudgetWarning(UserWarning):
    """Something has filled its `max_memory` and keeps nothing new from now on."""


class OnlineOutcomeSamplingBot(SeatBot):
    """Plays one seat and learns by outcome sampling with regret matching.

    The bot sees only its own information states and the payoff of each hand. The rules
    may be hidden, there may be chance moves, and any number of players. At an infoset
    the bot plays its policy b mixed with the uniform one, `(1 - epsilon) b + epsilon /
    |A|`. After a hand with payoff u, the value of each action taken is u times the
    product of b over the own actions after it, divided by the probability q with which
    all own actions were drawn. The regrets then move at the infosets that were met.

    The average policy is that of the exact sum of the plans of all hands. It is
    computed lazily: when an infoset is met, it is paid what the sum at its parent
    sequence has grown by since it was last met.

    A hand may have any number of own decisions. The sums of an infoset have an exponent
    of their own, so neither 1 / q nor a product of b overflows or underflows.

    Use it like any OpenSpiel bot, and call `observe_outcome` after each hand.
    `restart()` drops a hand that had no outcome. Draws are a pure function of (seed,
    hand, information state), so a run repeats if the opponents' moves do.
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
        """Makes a bot that has seen nothing and plays uniformly.

        Args:
            game: the game, of which only the number of players is read, not the rules.
            player_id: the seat.
            epsilon: the share of the uniform policy in what is played. Lanctot et al.
                use 0.6, which suits learning an average; a bot loses payoff by it.
            seed: any integer; taken modulo 2^64.
            max_memory: bytes, or words such as "4GiB", that what the bot learns may
                take; by default half of what is free when it is made, see `GameTree`.
                When that is full, the bot warns once. It goes on learning at the
                infosets it knows, plays uniformly at new ones, and forgets those.

        Raises:
            ValueError: there is no such seat, or epsilon is not in (0, 1].
        """
        pyspiel.Bot.__init__(self)
        self._set_up(load_game(game).num_players(), player_id, epsilon, seed)
        self.budget = make_budget(max_memory)

    def _set_up(
        self, num_players: int, player_id: int, epsilon: float, seed: int
    ) -> None:
        self.num_players = num_players
        self.player = refusals.player(player_id, num_players, "player_id")
        # Without exploration the estimates of actions it no longer plays are biased.
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

    # --- what OpenSpiel calls ----------------------------------------------

    def restart(self) -> None:
        """Begins a new hand; a hand that had no outcome is forgotten."""
        self._hand.clear()
        seed, hand = np.uint64(self.seed % 2**64), self.num_hands + 1
        key = stream_key(seed, hand, self.player, self.num_players)
        self._stream = np.uint64(key)

    def get_policy(self, state: pyspiel.State) -> list[tuple[int, float]]:
        """The (action, probability) pairs played here, exploration included."""
        actions = state.legal_actions(self.player)
        info_state = state.information_state_string(self.player)
        number = self._table.numbers.get(info_state, FORGOTTEN)
        return list(zip(actions, self._explored(number, len(actions)), strict=True))

    def step_with_policy(
        self, state: pyspiel.State
    ) -> tuple[list[tuple[int, float]], int]:
        """Returns what `get_policy` does, and an action drawn from it."""
        policy = self.get_policy(state)
        return policy, self.step(state)

    def step(self, state: pyspiel.State) -> int:
        """Draws an action at one of the bot's own decisions and remembers it.

        Raises:
            ValueError: the bot has no move there.
        """
        info_state = state.information_state_string(self.player)
        actions = state.legal_actions(self.player)
        if not actions:
            raise ValueError(
                f"Player {self.player} has no move after {state.history()}."
            )
        number = self._meet(info_state, actions)
        odds = self._explored(number, len(actions))
        place = np.uint64(infoset_place(self.player, info_state))
        draw = uniform(self._stream, place)
        chosen = plain_draw_action(odds, 0, len(actions), draw)
        self._hand.append(Move(number, chosen, odds[chosen], len(actions)))
        return actions[chosen]

    # --- learning ----------------------------------------------------------

    def observe_outcome(self, payoff: float) -> None:
        """Ends a hand and learns from its payoff to this player.

        The first loop pays every infoset of the hand what it owes to the average, while
        it still has the policy of the hand. The last loop goes through the hand
        backwards. When it reaches an infoset, `value` times two to the `scale` is the
        estimated value of the action taken there; the loop moves the regrets and the
        policy, and passes the value of the infoset up to the action before it.

        Raises:
            ValueError: the payoff is not a number of at most MOST_PAYOFF in size.
        """
        payoff = refusals.number(payoff, "payoff", -MOST_PAYOFF, MOST_PAYOFF)
        self.num_hands += 1
        for move in self._hand:
            if move.infoset != FORGOTTEN:
                self._table.pay(move.infoset, self.num_hands)
        reach, scale = 1.0, 0  # the probability q is reach * 2**scale
        for move in self._hand:
            reach, shift = math.frexp(reach * move.q)
            scale += shift
        value, scale = payoff / reach, -scale
        for number, chosen, _, num_actions in reversed(self._hand):
            probability = 1 / num_actions
            if number != FORGOTTEN:
                probability = self._table.policy[self._table.row(number)][chosen]
                self._table.move(number, chosen, value, scale)
            value, shift = math.frexp(probability * value)
            scale += shift
        self.restart()

    def _explored(self, number: int, num_actions: int) -> list[float]:
        """The probabilities played at an infoset, exploration included."""
        policy = [1 / num_actions] * num_actions
        if number != FORGOTTEN:
            policy = self._table.policy[self._table.row(number)].tolist()
        share = self.epsilon / len(policy)
        return [(1 - self.epsilon) * b + share for b in policy]

    def _meet(self, info_state: str, actions: list[int]) -> int:
        table = self._table
        parent = self._hand[-1][:2] if self._hand else (FORGOTTEN, FORGOTTEN)
        number = table.numbers.get(info_state)
        if number is None:
            if not self._has_room(info_state, len(actions)):
                return FORGOTTEN
            return table.add(info_state, actions, parent)
        known = table.actions[table.row(number)].tolist()
        if known != actions or (table.above[number], table.taken[number]) != parent:
            raise ValueError(
                f"Player {self.player} meets the information state {info_state!r} "
                "with other legal actions or after other own moves than before; "
                "outcome sampling needs perfect recall."
            )
        return number

    def _has_room(self, info_state: str, num_actions: int) -> bool:
        """Takes the bytes of one more infoset from the budget, if there is room.

        A bot that has once been full has no room ever after. Otherwise a smaller
        infoset could be kept although its parent was not.
        """
        size = bytes_of(info_state, num_actions)
        if not self.is_full and size > self.budget.left:
            self.is_full = True
            warnings.warn(
                f"The {len(self._table):,} infosets that player {self.player}'s "
                f"bot has met fill {self.budget.in_words()}: from now on it plays "
                "uniformly at new ones and forgets them.",
                MemoryBudgetWarning,
                stacklevel=4,
            )
        if self.is_full:
            return False
        self.budget.take(size)
        return True

    # --- what it learned ---------------------------------------------------

    @property
    def num_infosets(self) -> int:
        """The number of own infosets that the bot has kept."""
        return len(self._table)

    def policy_at(self, info_state: str) -> dict[int, float] | None:
        """Action -> b at one information state; None if it was never met."""
        table, number = self._table, self._table.numbers.get(info_state)
        return None if number is None else table.row_of(table.policy, number)

    def current_policy(self) -> dict[str, dict[int, float]]:
        """A snapshot, information state -> action -> b, without exploration.

        Information states that were never met are left out; the bot would play
        uniformly there.
        """
        return self._in_words(self._table.policy)

    def average_policy(self) -> dict[str, dict[int, float]]:
        """The average of the policies of all hands, each weighted by own reach.

        The form is that of `current_policy`.
        """
        return self._in_words(self._table.average_policy(self.num_hands))

    def _in_words(self, values: array) -> dict[str, dict[int, float]]:
        numbers = self._table.numbers.items()
        return {name: self._table.row_of(values, number) for name, number in numbers}

    # --- saving ------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes all of the bot's state into a file, from which `load` resumes exactly.

        That holds in the middle of a hand as well. The file appears whole or not at
        all, and an older one is kept as `path` + ".previous".

        Raises:
            OSError: the file cannot be written; an older one is left as it was.
        """
        checkpoint.save(path, self._contents(), checkpoint.BOT)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, max_memory: MaxMemory = None
    ) -> "OnlineOutcomeSamplingBot":
        """Reads what `save` wrote and goes on as if nothing had happened.

        Args:
            path: the file.
            max_memory: as in the constructor, since a file does not remember it. If it
                is given and no hand is open, a bot that was full keeps new infosets
                again.

        Raises:
            CheckpointError: the file is damaged, or is not a bot's.
            MemoryBudgetError: what the bot learned does not fit `max_memory`.
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
            raise DamagedError(f"The file's bot is an odd one: {error}") from error
        if max_memory is not None and not bot._hand:
            bot.is_full = False
        return bot

    def _move_of(self, number: Any, chosen: Any, q: Any, num_actions: Any) -> Move:
        """A move of a file's hand; raises ValueError if it can be none."""
        num_actions = refusals.integer(num_actions, "num_actions", 1)
        if number != FORGOTTEN:
            num_actions = self._table.counts[below(number, len(self._table))]
        q = refusals.number(q, "q", 0, 1, open_low=True)
        return Move(number, below(chosen, num_actions), q, num_actions)


def _unpickle(cls: type[OnlineOutcomeSamplingBot], data: bytes) -> Any:
    return cls._from_contents(checkpoint.from_bytes(data, checkpoint.BOT))
