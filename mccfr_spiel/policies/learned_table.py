"""The sums that the online bot learns."""

import copy
import math
import sys
from array import array
from typing import Any

import numpy as np

from mccfr_spiel.common.checkpoint import DamagedError, pack_strings, unpack_strings
from mccfr_spiel.kernels.regret_rules import plain_play_positive

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


class LearnedTable:
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
        total = sum(max(number, 0.0) for number in regret)
        plain_play_positive(self.policy, self.regret, row.start, row.stop, total)

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


def bytes_of(info_state: str, num_actions: int) -> int:
    """The bytes that an infoset takes."""
    size = sys.getsizeof(info_state) + _BYTES_OF_INFOSET
    return size + _BYTES_OF_ACTION * num_actions


def table_of(arrays: dict[str, np.ndarray]) -> LearnedTable:
    """Reads what `LearnedTable.contents` made.

    Raises:
        DamagedError: the arrays do not fit together or hold no policy.
    """
    table = LearnedTable()
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
