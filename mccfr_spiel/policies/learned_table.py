"""The regrets and average policy of the online bot, see online_bot.py.

In a hand with a thousand decisions of the bot, estimated values reach 2 ** 1000, and
the probability that the bot plays to the last infoset reaches 2 ** -1000. These are the
limits of a double. Policies depend only on ratios of the sums at an infoset. Therefore
each infoset has an exponent e, and a sum x is stored as x / 2 ** e. If a number is
added that is too large, e is raised. Multiplication by a power of two does not round:
wherever plain doubles suffice, the results are equal to the last bit.
"""

import copy
import math
import sys
from array import array
from typing import Any

import numpy as np

from mccfr_spiel.common.checkpoint import DamagedError
from mccfr_spiel.common.infoset_arrays import pack_strings, unpack_strings
from mccfr_spiel.kernels.regret_rules import plain_play_positive

_FAR = 500
"""The exponent of an infoset changes if a new number exceeds 2 ** (exponent + _FAR)."""

_BYTES_OF_INFOSET, _BYTES_OF_ACTION = 300, 40
"""Bytes per infoset (without its string) and per action, of arrays and dictionary."""

FORGOTTEN = -1
"""The number that replaces an infoset that is not stored, or does not exist."""

_OF_INFOSETS = {
    **dict.fromkeys(("counts", "above", "taken"), "q"),
    **dict.fromkeys(("regret_exponents", "average_exponents"), "q"),
    "paid": "d",
}
_OF_ACTIONS = {"actions": "q", "policy": "d", "regret": "d", "average": "d"}
"""Name of an array in a file -> its type code ("q" for int64, "d" for float64). Arrays
in `_OF_INFOSETS` have one element per infoset, arrays in `_OF_ACTIONS` one per action
of every infoset."""


class LearnedTable:
    """Tables of the visited infosets of the bot, numbered by first visit.

    Arrays `[I]` have one element per infoset. Arrays `[S]` have one element per action
    of every infoset.

    Attributes:
        numbers: information-state string -> number of the infoset.
        starts: `[I]` the index of the infoset's first action in the arrays `[S]`.
        counts: `[I]` the number of actions.
        above: `[I]` the infoset of the bot's previous decision; FORGOTTEN if there is
            none.
        taken: `[I]` the index of the action taken at that decision; FORGOTTEN if there
            is none.
        regret_exponents, average_exponents: `[I]` the exponents of the numbers in
            `regret` and `average`, see the module.
        paid: `[I]` the sum of plans at the parent sequence when `average` was last
            updated, with the infoset's exponent; see `pay`.
        actions: `[S]` the legal actions.
        policy: `[S]` the current policy.
        regret: `[S]` the cumulative regrets.
        average: `[S]` the sums of realization plans over all hands.
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
        """Returns the slice of an infoset's actions in the arrays `[S]`."""
        start = self.starts[infoset]
        return slice(start, start + self.counts[infoset])

    def row_of(self, values: array, infoset: int) -> dict[int, float]:
        """Returns action -> value at an infoset.

        Args:
            values: `[S]` the array with the values.
            infoset: the infoset.
        """
        row = self.row(infoset)
        return dict(zip(self.actions[row], values[row], strict=True))

    def add(self, info_state: str, actions: list[int], parent: tuple[int, int]) -> int:
        """Adds an infoset with the uniform policy; returns its number.

        Args:
            info_state: the information-state string.
            actions: the legal actions.
            parent: the elements to append to `above` and `taken`.
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
        """Updates the sums of plans at an infoset to include all hands so far.

        Sums are updated lazily: when the infoset is visited, before its policy changes.
        Since the last call the policy was constant. So each sum grows by the action's
        probability times the growth of the sum at the parent sequence. At an infoset
        without parent, the latter sum is the number of hands.

        Args:
            infoset: the infoset. The sums at its parent are up to date.
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
        """Adds the estimated regrets of a hand at an infoset, and updates the policy by
        regret matching.

        Args:
            infoset: the infoset.
            chosen: the index of the action played in the hand. The estimated values of
                all other actions are 0.
            value, power: the estimated value of the chosen action is
                `value * 2 ** power`.
        """
        row = self.row(infoset)
        regret = list(self.regret[row])
        gain = _in_scale(regret, self.regret_exponents, infoset, value, power)
        below = self.policy[row][chosen] * gain
        regret = [entry - below for entry in regret]
        regret[chosen] += gain
        self.regret[row] = array("d", regret)
        total = sum(max(entry, 0.0) for entry in regret)
        plain_play_positive(self.policy, self.regret, row.start, row.stop, total, 0.0)

    def average_policy(self, num_hands: int) -> array:
        """`[S]` the average policy of all hands.

        Copies of the sums are brought up to date by `pay`, so that reading the policy
        changes nothing. Infosets are numbered by first visit, so parents come before
        their descendants.
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
        """The arrays of a file: name -> array. `table_of` reads them."""
        names = [*_OF_INFOSETS, *_OF_ACTIONS]
        arrays = {name: np.array(getattr(self, name)) for name in names}
        return arrays | pack_strings(self.numbers)


def _in_scale(
    sums: list[float], exponents: array, infoset: int, mantissa: float, power: int
) -> float:
    """Returns `mantissa * 2 ** power`, divided by 2 ** e for the infoset's exponent e.

    If the number is too large for this exponent, or if it is too small and all sums are
    0, the exponent is changed first, and the sums are converted to the new exponent.

    Args:
        sums: the sums at the infoset, converted in place.
        exponents: the exponents of all infosets, changed in place.
        infoset: the infoset.
        mantissa, power: the number.
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
    """The number of bytes that a new infoset needs in the tables."""
    size = sys.getsizeof(info_state) + _BYTES_OF_INFOSET
    return size + _BYTES_OF_ACTION * num_actions


def table_of(arrays: dict[str, np.ndarray]) -> LearnedTable:
    """Makes a table from the arrays of an untrusted file, see `LearnedTable.contents`.

    Raises:
        DamagedError: the arrays are inconsistent, or a policy is not a distribution.
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
    """Returns `index` if it is an integer from 0 to `size - 1`.

    Raises:
        DamagedError: it is not.
    """
    if not isinstance(index, int) or not 0 <= index < size:
        raise DamagedError(
            f"The file contains index {index!r}, expected 0 to {size - 1}."
        )
    return index
