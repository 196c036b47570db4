"""What has been measured of a solver's policies, so that its repr can show it.

A solver does not evaluate its policies, and evaluation does not know the solver. So an
average policy takes along a note of where it comes from (`Snapshot`), and who computes
its NashConv leaves the number there. The solver reads it (`Measured`).
"""

import zlib
from typing import NamedTuple

import numpy as np

from mccfr_spiel.kernels.evaluation import checksum


class Measured:
    """The newest NashConv of a solver's average policies that somebody computed.

    Attributes:
        iterations: after which the policy was the average.
        nash_conv: its NashConv; None before any was computed.
    """

    def __init__(self) -> None:
        self.iterations = 0
        self.nash_conv: float | None = None

    def note(self, iterations: int, nash_conv: float) -> None:
        """Keeps a NashConv unless one of a later policy is known."""
        if self.nash_conv is None or iterations >= self.iterations:
            self.iterations, self.nash_conv = iterations, nash_conv

    def snapshot(self, iterations: int, vector: np.ndarray) -> "Snapshot":
        """What a policy takes along that is the average after these iterations."""
        return Snapshot(self, iterations, _checksum(vector))


class Snapshot(NamedTuple):
    """From where a policy comes, and what its vector was.

    Attributes:
        measured: of the solver that made the policy.
        iterations: after which it was the average.
        checksum: of the vector, which users may change.
    """

    measured: Measured
    iterations: int
    checksum: int

    def note(self, vector: np.ndarray, nash_conv: float) -> None:
        """Tells the solver the NashConv of the policy, unless that was changed."""
        if _checksum(vector) == self.checksum:
            self.measured.note(self.iterations, nash_conv)


_MANY = 2**15
"""From so many numbers on, compiled code takes a checksum, several times as fast."""


def _checksum(vector: np.ndarray) -> int:
    vector = np.ascontiguousarray(vector)
    if len(vector) < _MANY or vector.dtype != np.float64:
        return zlib.crc32(vector.data)
    return int(checksum(vector.view(np.uint64)))
