"""The keyword arguments of `Solver.load`."""

from typing import TYPE_CHECKING, TypedDict

from mccfr_spiel.algorithms import Averaging, Minimizer, Sampling
from mccfr_spiel.arenas.infosets.table import Abstraction
from mccfr_spiel.common.budget import MaxMemory

if TYPE_CHECKING:  # a module that only solvers with a cluster import
    from mccfr_spiel.solving.crews import Cluster


class LoadOptions(TypedDict, total=False):
    """The keyword arguments of `Solver.load`."""

    abstraction: Abstraction | None
    max_memory: MaxMemory
    minimizer: Minimizer | None
    sampling: Sampling | None
    averaging: Averaging | None
    threads: int | None
    twin: bool | None
    cluster: "Cluster | None"
