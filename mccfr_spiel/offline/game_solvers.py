"""Game solvers."""

from typing import Any, Protocol

import numpy as np

from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.common import refusals
from mccfr_spiel.common.display import line, never_raises, title
from mccfr_spiel.offline.linear_program import LPSolution, check_options, solve_lp
from mccfr_spiel.offline.sequence_forms import SequenceForm, sequence_form
from mccfr_spiel.policies.names import uniform_vector
from mccfr_spiel.policies.policy import SequencePolicy


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
