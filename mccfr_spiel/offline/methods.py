"""Offline methods as values, corresponding to `algorithms.Algorithm` for a Solver.

A value contains the parameters of a method and validates them. Its method `start` makes
a `GameSolver` on a tree.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.offline.excessive_gap import ExcessiveGap
from mccfr_spiel.offline.game_solvers import GameSolver, LinearProgramRun
from mccfr_spiel.offline.linear_program import check_options
from mccfr_spiel.offline.mirror_prox import MirrorProx, checked_step
from mccfr_spiel.offline.sequence_forms import sum_of_payoffs


@dataclass(frozen=True)
class OfflineMethod:
    """Base class of offline methods. The fields of a method are its parameters.

    If a field is None, the default value of the solver is used.

    Attributes:
        name: name in files, legends and on the command line.
        is_iterative: whether the method approaches the solution in iterations. False
            for linear programs, which are solved by a single call that cannot be
            interrupted; an experiment records a single row for them.
    """

    name: ClassVar[str]
    is_iterative: ClassVar[bool] = True

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that are not None."""
        values = dataclasses.asdict(self)
        return {name: value for name, value in values.items() if value is not None}

    def start(self, tree: GameTree) -> GameSolver:
        """Makes a solver.

        Args:
            tree: the game's tree, which is expanded completely.

        Raises:
            NotZeroSumError, TooLargeError: see `sequence_form`.
            ValueError: the tree cannot be expanded, see `GameTree`.
        """
        raise NotImplementedError

    def _replace(self, **changes: Any) -> Self:
        """A copy with other values of some fields, as for a NamedTuple."""
        return dataclasses.replace(self, **changes)


@dataclass(frozen=True)
class ExcessiveGapMethod(OfflineMethod):
    """The excessive gap technique, see `ExcessiveGap`."""

    name: ClassVar[str] = "egt"
    aggressive: ClassVar[bool] = False

    def start(self, tree: GameTree) -> ExcessiveGap:
        """See `OfflineMethod.start`."""
        return ExcessiveGap(tree, aggressive=self.aggressive)


@dataclass(frozen=True)
class PracticalExcessiveGapMethod(ExcessiveGapMethod):
    """The practical variant of the excessive gap technique, see `ExcessiveGap`."""

    name: ClassVar[str] = "practical_egt"
    aggressive: ClassVar[bool] = True


@dataclass(frozen=True)
class MirrorProxMethod(OfflineMethod):
    """Mirror prox, see `MirrorProx`.

    Attributes:
        step_size: the step size eta; None for 1 / the largest absolute entry of the
            payoff matrix.

    Raises:
        ValueError: `step_size` is not a positive number.
    """

    step_size: float | None = None

    name: ClassVar[str] = "mirror_prox"

    def __post_init__(self) -> None:
        if self.step_size is not None:
            checked_step(self.step_size)

    def start(self, tree: GameTree) -> MirrorProx:
        """See `OfflineMethod.start`."""
        return MirrorProx(tree, step_size=self.step_size)


@dataclass(frozen=True)
class LinearProgramMethod(OfflineMethod):
    """The linear program of the sequence form, see `solve_lp`.

    Attributes:
        method: a name in `linear_program.METHODS`; None for simplex.
        time_limit: time limit of HiGHS in seconds; None for no limit.

    Raises:
        ValueError: `solve_lp` does not accept a parameter.
    """

    method: str | None = None
    time_limit: float | None = None

    name: ClassVar[str] = "lp"
    is_iterative: ClassVar[bool] = False
    is_sparsified: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_options(**self.parameters)

    def start(self, tree: GameTree) -> LinearProgramRun:
        """See `OfflineMethod.start`."""
        return LinearProgramRun(tree, sparsify=self.is_sparsified, **self.parameters)


@dataclass(frozen=True)
class SparsifiedProgramMethod(LinearProgramMethod):
    """The linear program with a factored payoff matrix, see `solve_lp`.

    Attributes:
        factorization: a name in `linear_program.SPARSIFICATIONS`; None for differences.

    Raises:
        ValueError: `solve_lp` does not accept a parameter.
    """

    factorization: str | None = None

    name: ClassVar[str] = "sparsified_lp"
    is_sparsified: ClassVar[bool] = True


EGT = ExcessiveGapMethod()

PRACTICAL_EGT = PracticalExcessiveGapMethod()

MIRROR_PROX = MirrorProxMethod()

LP = LinearProgramMethod()

SPARSIFIED_LP = SparsifiedProgramMethod()

OFFLINE_METHODS: dict[str, OfflineMethod] = {
    method.name: method
    for method in (EGT, PRACTICAL_EGT, MIRROR_PROX, LP, SPARSIFIED_LP)
}
"""Name on the command line -> method with default parameters. The methods solve
two-player zero-sum games only."""


def check_players(tree: GameTree) -> None:
    """Raises NotZeroSumError unless the game has two players.

    Whether the payoffs have a constant sum is checked later, when the whole tree has
    been expanded.
    """
    if tree.num_players != 2:
        sum_of_payoffs(tree)
