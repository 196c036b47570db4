"""The protocol of solvers that experiments run, and linear programs as such solvers."""

from typing import Any, Protocol

import numpy as np

from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.common import refusals
from mccfr_spiel.common.display import line, never_raises, title
from mccfr_spiel.offline.linear_program import LPSolution, check_options, solve_lp
from mccfr_spiel.offline.sequence_forms import SequenceForm, sequence_form
from mccfr_spiel.policies.policy import SequencePolicy
from mccfr_spiel.policies.vectors import (
    uniform_vector,
)


class GameSolver(Protocol):
    """A computation that runs in steps and has a policy after each step.

    The code that measures convergence (experiments/runs.py) and writes results uses
    solvers only through this protocol, so new methods need no change there. `Solver`,
    the first-order methods and `LinearProgramRun` satisfy it.

    Attributes:
        tree: the game's tree. It grows while a sampling algorithm runs.
    """

    tree: GameTree

    @property
    def seconds(self) -> float:
        """Time in `iterate` and `iterate_until` so far."""
        ...

    @property
    def num_iterations(self) -> int:
        """Number of iterations so far."""
        ...

    @property
    def nodes_touched(self) -> int:
        """Number of nodes touched so far, a cost that all methods share."""
        ...

    def iterate(self, num_iterations: int, /) -> None:
        """Runs iterations."""
        ...

    def iterate_until(self, nodes_touched: float, /) -> None:
        """Runs iterations until at least `nodes_touched` nodes have been touched."""
        ...

    def average_vector(self) -> np.ndarray:
        """`[S]` the policy to report, over the tree's sequences."""
        ...

    def average_policy(self) -> SequencePolicy:
        """A copy of the policy to report."""
        ...


class LinearProgramRun:
    """A linear program as a solver whose first iteration computes the solution.

    Attributes:
        tree: the game's whole tree.
        form: sequence form of the game.
        options: arguments of `solve_lp`.
        solution: the solution; None before the first iteration.
        num_iterations: 0 or 1.
        seconds: time of building and solving the program.
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
        result = "not solved yet" if self.solution is None else str(self.solution)
        return line(self, title(self.tree.source), result)

    @property
    def nodes_touched(self) -> int:
        """Number of nodes of the tree, each of which is read once."""
        return self.tree.num_nodes

    def iterate(self, num_iterations: int) -> None:
        """Solves the program unless it is solved already; raises LinearProgramError."""
        more = refusals.integer(num_iterations, "num_iterations", 0)
        if more and self.solution is None:
            self.solution = solve_lp(self.form, **self.options)
            self.seconds = self.solution.build_seconds + self.solution.solve_seconds
            self.num_iterations = 1

    def iterate_until(self, nodes_touched: float) -> None:
        """Solves the program, which touches all nodes at once."""
        del nodes_touched
        self.iterate(1)

    def average_policy(self) -> SequencePolicy:
        """The equilibrium; the uniform policy before the program is solved."""
        return SequencePolicy(self.tree, self.average_vector())

    def average_vector(self) -> np.ndarray:
        """`[S]` probabilities of `average_policy` over the tree's sequences."""
        if self.solution is not None:
            return self.solution.policy.vector
        return uniform_vector(self.tree)

    def summary(self) -> dict[str, Any]:
        """The numbers of the solution that are written to a file.

        Raises:
            ValueError: the program is not solved yet.
        """
        solution = self.solution
        if solution is None:
            raise ValueError("The program is not solved yet: call iterate(1) first.")
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
