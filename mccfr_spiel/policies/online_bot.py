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

import copy
import math
import os
import sys
import warnings
from array import array
from typing import Any, NamedTuple

import numpy as np
import pyspiel

from mccfr_spiel.arenas.infosets.loading import load_game
from mccfr_spiel.common import checkpoint, refusals
from mccfr_spiel.common.checkpoint import DamagedError, pack_strings, unpack_strings
from mccfr_spiel.common.display import counted, line, never_raises
from mccfr_spiel.common.limits import MaxMemory, MemoryBudgetError, make_budget
from mccfr_spiel.kernels.randomness import infoset_place, stream_key, uniform
from mccfr_spiel.kernels.sampling import plain_draw_action
from mccfr_spiel.policies.policy import SeatBot

# --- what it has learned, in arrays that go into a file as they are -------------------

_FAR = 500
"""How many powers of two a number may be away from the scale in which it is kept."""

_BYTES_OF_INFOSET, _BYTES_OF_ACTION = 300, 40
"""What the arrays take, while they grow, and Python for a string in a dictionary."""

FORGOTTEN = -1
"""The number of an infoset that is known to the hand alone."""

_OF_INFOSETS = {
    **dict.fromkeys(("counts", "above", "taken"), "q"),
    **dict.fromkeys(("regret_exponents", "average_exponents"), "q"),
    "paid": "d",
}
_OF_ACTIONS = {"actions": "q", "policy": "d", "regret": "d", "average": "d"}
"""The arrays that go into a file, and the types of their numbers."""


class Table:
    """The infosets met, numbered in the order in which they were met first.

    Attributes:
        numbers: information-state string -> number.
        starts, counts: `[I]` where an infoset's actions begin in the arrays `[S]`, and
            how many it has.
        above, taken: `[I]` the infoset before it and the number of the action taken
            there; FORGOTTEN at the first of a hand.
        regret_exponents, average_exponents: `[I]` see above.
        paid: `[I]` the sum at the parent sequence up to which plans were paid.
        actions: `[S]` the legal actions.
        policy: `[S]` the current policy.
        regret, average: `[S]` the regrets and the sums of plans.
    """

    def __init__(self) -> None:
        """Has met nothing."""
        self.numbers: dict[str, int] = {}
        self.starts = array("q")
        self.counts, self.above, self.taken = (array("q") for _ in range(3))
        self.regret_exponents, self.average_exponents = array("q"), array("q")
        self.paid = array("d")
        self.actions = array("q")
        self.policy, self.regret, self.average = (array("d") for _ in range(3))

    def __len__(self) -> int:
        return len(self.numbers)

    def row(self, number: int) -> slice:
        """Where an infoset's actions are."""
        start = self.starts[number]
        return slice(start, start + self.counts[number])

    def row_of(self, values: array, number: int) -> dict[int, float]:
        """Action -> the value `[S]` of it at an infoset."""
        row = self.row(number)
        return dict(zip(self.actions[row], values[row], strict=True))

    def add(self, info_state: str, actions: list[int], parent: tuple[int, int]) -> int:
        """Adds an infoset, with the uniform policy; returns its number.

        Args:
            info_state: its string.
            actions: the legal actions.
            parent: what `above` and `taken` say of it.
        """
        number, size = len(self), len(actions)
        self.numbers[info_state] = number
        self.starts.append(len(self.actions))
        self.counts.append(size)
        self.above.append(parent[0])
        self.taken.append(parent[1])
        self.actions.extend(actions)
        self.policy.extend([1 / size] * size)
        for sums in (self.regret, self.average):
            sums.extend([0.0] * size)
        self.paid.append(0.0)
        self.regret_exponents.append(0)
        self.average_exponents.append(0)
        return number

    def pay(self, number: int, num_hands: int) -> None:
        """Adds to the sums of plans what they have missed since the last payment.

        The policy has not changed since then, so each action's sum grows by its
        probability times what the parent sequence's sum has grown by.

        Args:
            number: of the infoset, whose parent has been paid.
            num_hands: the number of hands whose plans the sums are to include.
        """
        mass, power = float(num_hands), 0
        above = self.above[number]
        if above != FORGOTTEN:
            mass = self.average[self.starts[above] + self.taken[number]]
            power = self.average_exponents[above]
        row = self.row(number)
        sums = [*self.average[row], self.paid[number]]
        mass = _in_scale(sums, self.average_exponents, number, mass, power)
        debt = mass - sums.pop()
        sums = [one + debt * b for one, b in zip(sums, self.policy[row], strict=True)]
        self.average[row], self.paid[number] = array("d", sums), mass

    def move(self, number: int, chosen: int, value: float, power: int) -> None:
        """Adds the regrets of a hand at an infoset, and matches them.

        Args:
            number: of the infoset.
            chosen: the number of the action taken there.
            value, power: its estimated value is `value * 2 ** power`.
        """
        row = self.row(number)
        regret = list(self.regret[row])
        here = _in_scale(regret, self.regret_exponents, number, value, power)
        below = self.policy[row][chosen] * here
        regret = [one - below for one in regret]
        regret[chosen] += here
        self.regret[row] = array("d", regret)
        self.policy[row] = array("d", match_regrets(regret))

    def average_policy(self, num_hands: int) -> array:
        """`[S]` the average of the policies of all hands. Ancestors come first, so they
        have been paid when an infoset asks for their sums. Copies are paid."""
        paid = copy.copy(self)
        for name in ("average", "average_exponents", "paid"):
            setattr(paid, name, copy.copy(getattr(self, name)))
        found = array("d")
        for number in range(len(self)):
            paid.pay(number, num_hands)
            found.extend(_shares(paid.average[self.row(number)].tolist()))
        return found

    def contents(self) -> dict[str, np.ndarray]:
        """The arrays for a file, which `table_of` reads."""
        names = [*_OF_INFOSETS, *_OF_ACTIONS]
        arrays = {name: np.array(getattr(self, name)) for name in names}
        return arrays | pack_strings(self.numbers)


def _in_scale(
    sums: list[float], exponents: array, number: int, mantissa: float, power: int
) -> float:
    """The number `mantissa * 2 ** power` in the scale of an infoset's sums.

    If it is too large for that scale, or if all sums are 0 and it is too small, the
    sums are moved to its scale first, in place.
    """
    fraction, own = math.frexp(mantissa)
    power += own
    away = power - exponents[number]
    if fraction and (away > _FAR or (away < -_FAR and not any(sums))):
        sums[:] = [math.ldexp(one, -away) for one in sums]
        exponents[number] = power
    return math.ldexp(fraction, power - exponents[number])


def _shares(weights: list[float]) -> list[float]:
    """A distribution in proportion to weights; the uniform one if all are 0."""
    total = sum(weights)
    if total > 0:
        return [one / total for one in weights]
    return [1 / len(weights)] * len(weights)


def match_regrets(regrets: list[float]) -> list[float]:
    """The policy of regret matching: in proportion to the positive regrets.

    The compiled version is `kernels.regret_rules.play_positive`.
    """
    return _shares([max(regret, 0.0) for regret in regrets])


def bytes_of(info_state: str, num_actions: int) -> int:
    """The bytes that an infoset takes."""
    size = sys.getsizeof(info_state) + _BYTES_OF_INFOSET
    return size + _BYTES_OF_ACTION * num_actions


def table_of(arrays: dict[str, np.ndarray]) -> Table:
    """Reads what `Table.contents` made.

    Raises:
        DamagedError: the arrays do not fit together or hold no policy.
    """
    table = Table()
    names, counts = unpack_strings(arrays["text"], arrays["ends"]), arrays["counts"]
    if len(set(names)) != len(names):
        raise DamagedError("The file has a string twice.")
    if not (counts >= 1).all():
        raise DamagedError("The file has an infoset without actions.")
    lengths = dict.fromkeys(_OF_INFOSETS, len(names))
    lengths |= dict.fromkeys(_OF_ACTIONS, int(counts.sum()))
    for name, kind in (_OF_INFOSETS | _OF_ACTIONS).items():
        found = arrays[name]
        fits = found.dtype == np.dtype(kind) and found.shape == (lengths[name],)
        if not fits or not np.isfinite(found).all():
            raise DamagedError(f"The file's table {name} does not fit the others.")
        setattr(table, name, array(kind, found.tobytes()))
    table.numbers = {name: number for number, name in enumerate(names)}
    table.starts = array("q", np.cumsum(counts) - counts)
    for number in range(len(names)):
        above, taken = table.above[number], table.taken[number]
        if (above, taken) != (FORGOTTEN, FORGOTTEN):
            below(taken, table.counts[below(above, number)])
        policy = table.policy[table.row(number)].tolist()
        if min(policy) < 0 or not abs(sum(policy) - 1) < 1e-6:
            raise DamagedError(f"The file has the policy {policy}.")
    return table


def below(number: Any, size: int) -> int:
    """Returns an index below `size`; raises DamagedError if it is none."""
    if not isinstance(number, int) or not 0 <= number < size:
        raise DamagedError(f"The file has the number {number!r} of {size}.")
    return number


# --- the bot, as OpenSpiel calls it ---------------------------------------------------

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
        self._table = Table()
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
        self.budget.meet(1, 0, size)
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
                budget.meet(
                    len(table), 0, sum(map(bytes_of, table.numbers, table.counts))
                )
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
