"""What has been measured of a solver's policies, so that its repr can show it.

A solver does not evaluate its policies, and evaluation does not know the solver. So an
average policy takes along a note of where it comes from (`Snapshot`), and who computes
its NashConv leaves the number there. The solver reads it (`Measured`).
"""

import zlib
from typing import NamedTuple

import numpy as np

from mccfr_spiel.compiled import teams


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

    def note(self, vector: np.ndarray, nash_conv: float, threads: int = 1) -> None:
        """Tells the solver the NashConv of the policy, unless that was changed.

        Args:
            vector: of the policy.
            nash_conv: of the policy.
            threads: at most so many share the work.
        """
        if _checksum(vector, threads) == self.checksum:
            self.measured.note(self.iterations, nash_conv)


_STRETCH, _FEW = 2**15, 4
"""A checksum is one of the checksums of so many numbers each. A thread gets a few."""


def _checksum(vector: np.ndarray, threads: int = 1) -> int:
    vector = np.ascontiguousarray(vector)

    def of_part(part: tuple[int, int]) -> list[int]:
        starts = range(_STRETCH * part[0], _STRETCH * part[1], _STRETCH)
        return [zlib.crc32(vector[start : start + _STRETCH].data) for start in starts]

    count = -(-len(vector) // _STRETCH)
    found = teams.in_parts(threads, count, _FEW, of_part)
    return zlib.crc32(np.array([one for part in found for one in part], np.uint32).data)
