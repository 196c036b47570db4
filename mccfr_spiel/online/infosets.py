"""What the online bot keeps of an infoset, in sums that never over- or underflow."""

import math
import sys

_FAR = 500
"""How many powers of two a number may be away from the scale in which it is kept."""


class Scaled:
    """The sums `[A]` of an infoset, each to be multiplied by `2 ** exponent`.

    After a thousand own decisions, estimates are of the order of 2 ** 1000 and own
    reaches of the order of 2 ** -1000, and a double cannot hold the next one. The sums
    of an infoset only count in relation to each other, so they share an exponent that
    follows the largest of them. Multiplying by a power of two does not round, so the
    results are the same to the last bit as with plain doubles, where those suffice.
    """

    __slots__ = ("exponent", "values")

    def __init__(self, size: int) -> None:
        self.values = [0.0] * size
        self.exponent = 0

    def copy(self) -> "Scaled":
        """Returns a copy."""
        other = Scaled(0)
        other.values, other.exponent = self.values.copy(), self.exponent
        return other

    def make_room(self, mantissa: float, exponent: int) -> float:
        """Returns the number `mantissa * 2 ** exponent` in the scale of the sums.

        If the number is too large for that scale, or if all sums are 0 and it is too
        small, the sums are moved to the scale of the number first.
        """
        exponent += math.frexp(mantissa)[1]
        away = exponent - self.exponent
        if mantissa and (away > _FAR or (away < -_FAR and not any(self.values))):
            shift = self.exponent - exponent
            self.values = [math.ldexp(value, shift) for value in self.values]
            self.exponent = exponent
        fraction, _ = math.frexp(mantissa)
        return math.ldexp(fraction, exponent - self.exponent)


class Infoset:
    """What the bot knows of one of its own infosets.

    Attributes:
        place: the infoset's place in the stream of draws.
        actions: `[A]` the legal actions.
        parent: the infoset before it and the number of the action taken there.
        regret: `[A]` the regrets.
        policy: `[A]` the current policy.
        average: `[A + 1]` the sums of the plans; the last entry is the sum at the
            parent sequence up to which the others have been paid.
    """

    __slots__ = ("actions", "average", "parent", "place", "policy", "regret")

    def __init__(
        self, place: int, actions: list[int], parent: "tuple[Infoset, int] | None"
    ) -> None:
        self.place = place
        self.actions = actions
        self.parent = parent
        self.regret = Scaled(len(actions))
        self.policy = [1 / len(actions)] * len(actions)
        self.average = Scaled(len(actions) + 1)

    def pay(self, num_hands: int, sums: Scaled, above: Scaled | None) -> None:
        """Adds to the sums of the plans what they have missed since the last payment.

        The policy has not changed since then, so each action's sum grows by its
        probability times what the parent sequence's sum has grown by.

        Args:
            num_hands: the number of hands whose plans the sums are to include.
            sums: `average`, or a copy of it, which is changed.
            above: the sums at the parent infoset, already paid; None if there is none.
        """
        if self.parent is None or above is None:
            mass = sums.make_room(float(num_hands), 0)
        else:
            mass = sums.make_room(above.values[self.parent[1]], above.exponent)
        debt = mass - sums.values[-1]
        for index, b in enumerate(self.policy):
            sums.values[index] += debt * b
        sums.values[-1] = mass


_BYTES_OF_INFOSET, _BYTES_OF_ACTION = 700, 140
"""The bytes that Python takes for an infoset's lists and its dictionary entry."""


def bytes_of(info_state: str, num_actions: int) -> int:
    """The bytes that an infoset takes."""
    size = sys.getsizeof(info_state) + _BYTES_OF_INFOSET
    return size + _BYTES_OF_ACTION * num_actions
