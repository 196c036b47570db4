"""A cluster whose workers are objects of this process."""

from dataclasses import dataclass

from mccfr_spiel.solving.cluster import Crew


@dataclass(frozen=True)
class InThisProcess:
    """Workers that run one after the other, to compare bits with a run in one process.

    Attributes:
        workers: number of workers.
    """

    workers: int = 2

    def connect(self) -> Crew:
        """The workers, not started."""
        return Crew(self.workers)
