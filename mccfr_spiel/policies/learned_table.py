"""The regrets and averages of the online bot, with an exponent per infoset.

In a hand with a thousand own decisions, estimates reach 2 ** 1000 and own reaches 2 **
-1000, the limits of a double. Only ratios of the sums at an infoset matter, so all sums
of an infoset share an exponent that follows the largest sum. Multiplication by a power
of two does not round: wherever plain doubles suffice, the results are equal to the last
bit.
"""

import copy
import math
import sys
from array import array
from typing import Any

import numpy as np

from mccfr_spiel.common.checkpoint import DamagedError, pack_strings, unpack_strings
from mccfr_spiel.kernels.regret_rules import plain_play_positive

_FAR = 500
"""The largest distance, in powers of two, of a number from the scale of its infoset."""

_BYTES_OF_INFOSET, _BYTES_OF_ACTION = 300, 40
"""Bytes per infoset and per action: growing arrays, and a string in a dictionary."""

FORGOTTEN = -1
"""The infoset number of a decision that the table does not keep."""

_OF_INFOSETS = {
    **dict.fromkeys(("counts", "above", "taken"), "q"),
    **dict.fromkeys(("regret_exponents", "average_exponents"), "q"),
    "paid": "d",
}
_OF_ACTIONS = {"actions": "q", "policy": "d", "regret": "d", "average": "d"}
"""The arrays of a file with their type codes; `_OF_INFOSETS` has one entry per infoset,
`_OF_ACTIONS` one per action."""


class LearnedTable:
    """Tables of the visited infosets, numbered by first visit.

    Attributes:
        numbers: information-state string -> number.
        starts: `[I]` the first action of an infoset in the arrays `[S]`.
        counts: `[I]` the number of actions.
        above: `[I]` the previous own infoset; FORGOTTEN at the first of a hand.
        taken: `[I]` the index of the action taken at the previous infoset.
        regret_exponents, average_exponents: `[I]` the exponents of `regret` and
            `average`.
        paid: `[I]` the sum of the parent sequence at the last payment, see `pay`.
        actions: `[S]` the legal actions.
        policy: `[S]` the current policy.
        regret: `[S]` the cumulative regrets.
        average: `[S]` the sums of realization plans.
    """

    def __init__(self) -> None:
        """Makes empty tables."""
        self.numbers: dict[str, int] = {}
        self.starts = array("q")
        self.counts, self.above, self.taken = (array("q") for _ in range(3))
        self.regret_exponents, self.average_exponents = array("q"), array("q")
        self.paid = array("d")
        self.actions = array("q")
        self.policy, self.regret, self.average = (array("d") for _ in range(3))

    def __len__(self) -> int:
        return len(self.numbers)

    def row(self, infoset: int) -> slice:
        """The slice of an infoset's actions."""
        start = self.starts[infoset]
        return slice(start, start + self.counts[infoset])

    def row_of(self, values: array, infoset: int) -> dict[int, float]:
        """Action -> value at an infoset, from an array `[S]`."""
        row = self.row(infoset)
        return dict(zip(self.actions[row], values[row], strict=True))

    def add(self, info_state: str, actions: list[int], parent: tuple[int, int]) -> int:
        """Adds an infoset with the uniform policy; returns its number.

        Args:
            info_state: the information-state string.
            actions: the legal actions.
            parent: the entries of `above` and `taken`.
        """
        infoset, size = len(self), len(actions)
        self.numbers[info_state] = infoset
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
        return infoset

    def pay(self, infoset: int, num_hands: int) -> None:
        """Adds to the sums of plans the amounts accumulated since the last payment.

        The policy was constant in between, so each sum grows by the action's
        probability times the growth of the parent sequence's sum.

        Args:
            infoset: the infoset, whose parent has already been paid.
            num_hands: the number of hands to include.
        """
        mass, power = float(num_hands), 0
        above = self.above[infoset]
        if above != FORGOTTEN:
            mass = self.average[self.starts[above] + self.taken[infoset]]
            power = self.average_exponents[above]
        row = self.row(infoset)
        sums = [*self.average[row], self.paid[infoset]]
        mass = _in_scale(sums, self.average_exponents, infoset, mass, power)
        debt = mass - sums.pop()
        pairs = zip(sums, self.policy[row], strict=True)
        sums = [plan + debt * probability for plan, probability in pairs]
        self.average[row], self.paid[infoset] = array("d", sums), mass

    def move(self, infoset: int, chosen: int, value: float, power: int) -> None:
        """Adds the regrets of a hand at an infoset; updates the policy by regret
        matching.

        Args:
            infoset: the infoset.
            chosen: the index of the chosen action.
            value, power: the action's estimated value is `value * 2 ** power`.
        """
        row = self.row(infoset)
        regret = list(self.regret[row])
        gain = _in_scale(regret, self.regret_exponents, infoset, value, power)
        below = self.policy[row][chosen] * gain
        regret = [entry - below for entry in regret]
        regret[chosen] += gain
        self.regret[row] = array("d", regret)
        total = sum(max(entry, 0.0) for entry in regret)
        plain_play_positive(self.policy, self.regret, row.start, row.stop, total)

    def average_policy(self, num_hands: int) -> array:
        """`[S]` the average policy of all hands.

        Payments are made on copies. Infosets are numbered by first visit, so parents
        are paid before their descendants.
        """
        paid = copy.copy(self)
        for name in ("average", "average_exponents", "paid"):
            setattr(paid, name, copy.copy(getattr(self, name)))
        policy = array("d")
        for infoset in range(len(self)):
            paid.pay(infoset, num_hands)
            policy.extend(_shares(paid.average[self.row(infoset)].tolist()))
        return policy

    def contents(self) -> dict[str, np.ndarray]:
        """The arrays of a file, which `table_of` reads."""
        names = [*_OF_INFOSETS, *_OF_ACTIONS]
        arrays = {name: np.array(getattr(self, name)) for name in names}
        return arrays | pack_strings(self.numbers)


def _in_scale(
    sums: list[float], exponents: array, infoset: int, mantissa: float, power: int
) -> float:
    """Converts `mantissa * 2 ** power` to the scale of an infoset's sums.

    If the number is too large for that scale, or if all sums are 0 and the number is
    too small, the sums are first converted, in place, to the scale of the number.
    """
    fraction, own = math.frexp(mantissa)
    power += own
    away = power - exponents[infoset]
    if fraction and (away > _FAR or (away < -_FAR and not any(sums))):
        sums[:] = [math.ldexp(term, -away) for term in sums]
        exponents[infoset] = power
    return math.ldexp(fraction, power - exponents[infoset])


def _shares(weights: list[float]) -> list[float]:
    """Normalizes weights to a distribution; uniform if all weights are 0."""
    total = sum(weights)
    if total > 0:
        return [weight / total for weight in weights]
    return [1 / len(weights)] * len(weights)


def bytes_of(info_state: str, num_actions: int) -> int:
    """The bytes of an infoset in the tables."""
    size = sys.getsizeof(info_state) + _BYTES_OF_INFOSET
    return size + _BYTES_OF_ACTION * num_actions


def table_of(arrays: dict[str, np.ndarray]) -> LearnedTable:
    """Reads the arrays of `LearnedTable.contents`.

    Raises:
        DamagedError: the arrays are inconsistent or contain no policy.
    """
    table = LearnedTable()
    names, counts = unpack_strings(arrays["text"], arrays["ends"]), arrays["counts"]
    if len(set(names)) != len(names):
        raise DamagedError("The file contains duplicate information-state strings.")
    if not (counts >= 1).all():
        raise DamagedError("The file contains an infoset without actions.")
    lengths = dict.fromkeys(_OF_INFOSETS, len(names))
    lengths |= dict.fromkeys(_OF_ACTIONS, int(counts.sum()))
    for name, code in (_OF_INFOSETS | _OF_ACTIONS).items():
        entries = arrays[name]
        fits = entries.dtype == np.dtype(code) and entries.shape == (lengths[name],)
        if not fits or not np.isfinite(entries).all():
            raise DamagedError(f"Table {name!r} of the file: wrong shape or entry.")
        setattr(table, name, array(code, entries.tobytes()))
    table.numbers = {name: infoset for infoset, name in enumerate(names)}
    table.starts = array("q", np.cumsum(counts) - counts)
    for infoset in range(len(names)):
        above, taken = table.above[infoset], table.taken[infoset]
        if (above, taken) != (FORGOTTEN, FORGOTTEN):
            below(taken, table.counts[below(above, infoset)])
        policy = table.policy[table.row(infoset)].tolist()
        if min(policy) < 0 or not abs(sum(policy) - 1) < 1e-6:
            raise DamagedError(f"The file contains {policy}, expected a distribution.")
    return table


def below(index: Any, size: int) -> int:
    """Returns an index below `size`; raises DamagedError for other values."""
    if not isinstance(index, int) or not 0 <= index < size:
        raise DamagedError(
            f"The file contains index {index!r}, expected 0 to {size - 1}."
        )
    return index
