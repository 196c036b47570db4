"""Offline methods as values, and the protocol of solvers that experiments run."""

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.common import refusals
from mccfr_spiel.common.display import line, never_raises, title
from mccfr_spiel.offline.first_order import ExcessiveGap, MirrorProx, checked_step
from mccfr_spiel.offline.linear_program import (
    LPSolution,
    check_options,
    solve_lp,
)
from mccfr_spiel.offline.sequence_forms import (
    SequenceForm,
    sequence_form,
    sum_of_payoffs,
)
from mccfr_spiel.policies.names import uniform_vector
from mccfr_spiel.policies.policy import SequencePolicy

# --- the methods as values, which start solvers that experiments can run --------------
#
# An online algorithm is a value of `algorithms.Algorithm`, which `Solver` runs. The
# values here are its counterparts for methods that need the whole game. Each holds only
# its own parameters, checks them when it is made, and starts a `GameSolver` on a tree.


class GameSolver(Protocol):
    """A computation that runs in steps and has a policy after each of them.

    The loop that measures convergence (experiments/runs.py) and the code that writes
    results use solvers only through this, so a new method needs no change there.

    `Solver`, the first-order methods and `LinearProgramRun` are game solvers.

    Attributes:
        tree: the game's tree. It grows while an algorithm that samples is running.
        seconds: time spent in `iterate` and `iterate_until` so far.
    """

    tree: GameTree
    seconds: float

    @property
    def num_iterations(self) -> int:
        """Iterations done so far."""
        ...

    @property
    def nodes_touched(self) -> int:
        """Nodes of the tree visited so far: a cost that all methods share."""
        ...

    def iterate(self, num_iterations: int, /) -> None:
        """Runs some iterations."""
        ...

    def iterate_until(self, nodes_touched: float, /) -> None:
        """Runs iterations until at least `nodes_touched` nodes have been touched."""
        ...

    def average_vector(self) -> np.ndarray:
        """`[S]` the policy to report, over the tree's sequences."""
        ...

    def average_policy(self) -> SequencePolicy:
        """A snapshot of the policy to report."""
        ...


class LinearProgramRun:
    """A linear program as a solver whose first iteration finds the whole solution.

    Attributes:
        tree: the game's tree, whole.
        form: its sequence form.
        options: the arguments of `solve_lp`.
        solution: None before the iteration.
        num_iterations: 0 or 1.
        seconds: spent in building and solving the program.
    """

    def __init__(self, tree: GameTree, **options: Any) -> None:
        """Makes the payoff matrix; `options` are those of `solve_lp`.

        Raises:
            ValueError: `sequence_form` or `solve_lp` refuses the game or the options.
        """
        check_options(**{k: v for k, v in options.items() if k != "sparsify"})
        self.form: SequenceForm = sequence_form(tree)
        self.tree = self.form.tree
        self.options = options
        self.solution: LPSolution | None = None
        self.num_iterations = 0
        self.seconds = 0.0

    @never_raises
    def __repr__(self) -> str:
        found = "not solved yet" if self.solution is None else str(self.solution)
        return line(self, title(self.tree.source), found)

    @property
    def nodes_touched(self) -> int:
        """The nodes of the tree, which is read once to make the matrix."""
        return self.tree.num_nodes

    def iterate(self, num_iterations: int) -> None:
        """Solves the program if it is not solved yet; raises LinearProgramError."""
        more = refusals.integer(num_iterations, "num_iterations", 0)
        if more and self.solution is None:
            self.solution = solve_lp(self.form, **self.options)
            self.seconds = self.solution.build_seconds + self.solution.solve_seconds
            self.num_iterations = 1

    def iterate_until(self, nodes_touched: float) -> None:
        """Solves the program: it touches all the nodes that it ever will at once."""
        del nodes_touched
        self.iterate(1)

    def average_policy(self) -> SequencePolicy:
        """The equilibrium; the uniform policy before the program is solved."""
        return SequencePolicy(self.tree, self.average_vector())

    def average_vector(self) -> np.ndarray:
        """`[S]` the probabilities of `average_policy` over the tree's sequences."""
        if self.solution is not None:
            return self.solution.policy.vector
        return uniform_vector(self.tree)

    def summary(self) -> dict[str, Any]:
        """The numbers of the solution that are written into a file.

        Raises:
            ValueError: the program is not solved yet.
        """
        solution = self.solution
        if solution is None:
            raise ValueError("The program is not solved yet.")
        return {
            "value": solution.value,
            "nash_conv": solution.nash_conv,
            "payoff_nonzeros": solution.payoff_nonzeros,
            "factor_nonzeros": solution.factor_nonzeros,
            "program_nonzeros": solution.program.num_nonzeros,
            "variables": solution.program.num_variables,
            "constraints": solution.program.num_constraints,
            "iterations": solution.iterations,
            "build_seconds": solution.build_seconds,
            "solve_seconds": solution.solve_seconds,
        }


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
