"""Methods."""

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
    """What the offline methods have in common.

    Each method is a subclass whose fields are its parameters. A field that is None
    leaves the parameter to the solver's default.

    Attributes:
        name: what files, legends and the command line call the method.
        is_iterative: whether the method approaches the answer step by step. A linear
            program does not: it is one call that cannot be interrupted and gives one
            row.
    """

    name: ClassVar[str]
    is_iterative: ClassVar[bool] = True

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that are not left to the solver's default."""
        values = dataclasses.asdict(self)
        return {name: value for name, value in values.items() if value is not None}

    def start(self, tree: GameTree) -> GameSolver:
        """A solver on a tree, which is expanded whole.

        Args:
            tree: the game's.

        Raises:
            NotZeroSumError, TooLargeError: see `sequence_form`.
            ValueError: the tree cannot be expanded, see `GameTree`.
        """
        raise NotImplementedError

    def _replace(self, **changes: Any) -> Self:
        """The method with other values of some fields, as for a NamedTuple."""
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
    """The variant of the excessive gap technique that shrinks aggressively."""

    name: ClassVar[str] = "practical_egt"
    aggressive: ClassVar[bool] = True


@dataclass(frozen=True)
class MirrorProxMethod(OfflineMethod):
    """Mirror prox, see `MirrorProx`.

    Attributes:
        step_size: eta; by default 1 over the largest entry of the payoff matrix.

    Raises:
        ValueError: the step size is no number above 0.
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
        method: of HiGHS, a name in `linear_program.METHODS`; by default simplex.
        time_limit: the most seconds that HiGHS may take; by default no limit.

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
        factorization: a name in `linear_program.SPARSIFICATIONS`; by default
            differences.

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
"""The methods with default parameters, as the command line calls them. They solve
two-player zero-sum games only."""


def check_players(tree: GameTree) -> None:
    """Raises NotZeroSumError if the number of players rules the offline methods out.

    The payoffs are checked later, since that takes the whole tree.
    """
    if tree.num_players != 2:
        sum_of_payoffs(tree)
