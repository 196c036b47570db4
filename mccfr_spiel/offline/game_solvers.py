"""The protocol of solvers that experiments run, and a solver for linear programs."""

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
    """The interface of solvers for experiments: runs iterations, returns a policy.

    Code that measures convergence and writes results uses solvers only through this
    protocol, so it does not depend on the method. `Solver`, the first-order methods and
    `LinearProgramRun` satisfy the protocol.

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
        """Number of nodes touched so far, by which costs of methods are compared."""
        ...

    def iterate(self, num_iterations: int, /) -> None:
        """Runs iterations."""
        ...

    def iterate_until(self, nodes_touched: float, /) -> None:
        """Runs iterations until at least `nodes_touched` nodes have been touched."""
        ...

    def average_vector(self) -> np.ndarray:
        """`[S]` the policy that is the result, one number per sequence of the tree."""
        ...

    def average_policy(self) -> SequencePolicy:
        """A copy of the policy that is the result of the method."""
        ...


class LinearProgramRun:
    """A solver whose first iteration solves the linear program of a game.

    Further iterations do nothing.

    Attributes:
        tree: the game's whole tree.
        form: sequence form of the game.
        options: arguments of `solve_lp`.
        solution: the solution; None before the first iteration.
        num_iterations: 0 or 1.
        seconds: time of building and solving the program.
    """

    def __init__(self, tree: GameTree, **options: Any) -> None:
        """Makes the payoff matrix.

        Args:
            tree: the game's tree, which is expanded completely.
            options: keyword arguments of `solve_lp`.

        Raises:
            ValueError: an option is invalid, or `sequence_form` refuses the game.
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
        """Number of nodes of the tree, also before the program is solved."""
        return self.tree.num_nodes

    def iterate(self, num_iterations: int) -> None:
        """Solves the program, unless it is solved already or `num_iterations` is 0.

        Raises:
            LinearProgramError: HiGHS did not find a solution.
            ValueError: `num_iterations` is invalid, or see `solve_lp`.
        """
        more = refusals.integer(num_iterations, "num_iterations", 0)
        if more and self.solution is None:
            self.solution = solve_lp(self.form, **self.options)
            self.seconds = self.solution.build_seconds + self.solution.solve_seconds
            self.num_iterations = 1

    def iterate_until(self, nodes_touched: float) -> None:
        """Solves the program, for any number of nodes."""
        del nodes_touched
        self.iterate(1)

    def average_policy(self) -> SequencePolicy:
        """The equilibrium, or the uniform policy before the program is solved."""
        return SequencePolicy(self.tree, self.average_vector())

    def average_vector(self) -> np.ndarray:
        """`[S]` the probabilities of `average_policy`, one per sequence of the tree."""
        if self.solution is not None:
            return self.solution.policy.vector
        return uniform_vector(self.tree)

    def summary(self) -> dict[str, Any]:
        """Name -> number, for the numbers of the solution that are written to a file.

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
