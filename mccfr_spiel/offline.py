"""The offline methods under the names and with the face that experiments give them.

Each takes a tree and offers what experiments.py asks of a solver: `iterate`, the
counters, `average_policy` and `average_vector`.
"""

from typing import Any

import numpy as np

from mccfr_spiel.first_order import ExcessiveGap, MirrorProx
from mccfr_spiel.game_tree import GameTree
from mccfr_spiel.linear_program import LPSolution, check_options, solve_lp
from mccfr_spiel.policy import SequencePolicy
from mccfr_spiel.sequence_form import SequenceForm, sequence_form, sum_of_payoffs

LINEAR_PROGRAMS = ("lp", "sparsified_lp")
ALGORITHMS = ("egt", "practical_egt", "mirror_prox", *LINEAR_PROGRAMS)
"""The methods, as settings call them; only two-player zero-sum games have them."""

PARTS = {
    "mirror_prox": ("step_size",),
    "lp": ("method", "time_limit"),
    "sparsified_lp": ("method", "factorization", "time_limit"),
}
"""The settings that each of the methods has, besides those of every run."""


class LinearProgramRun:
    """A linear program as a solver whose first iteration is the whole solution.

    Attributes:
        tree: the game's tree, whole.
        form: its sequence form.
        solution: None before the iteration.
        num_iterations: 0 or 1.
        seconds: of building and solving the program.
    """

    def __init__(self, tree: GameTree, **options: Any) -> None:
        """Makes the matrix; `options` are those of `solve_lp`.

        Raises:
            ValueError: as `sequence_form` and `solve_lp`.
        """
        check_options(**{k: v for k, v in options.items() if k != "sparsify"})
        self.form: SequenceForm = sequence_form(tree)
        self.tree = self.form.tree
        self.options = options
        self.solution: LPSolution | None = None
        self.num_iterations = 0
        self.seconds = 0.0

    @property
    def nodes_touched(self) -> int:
        """The tree is read once, for the matrix."""
        return self.tree.num_nodes

    def iterate(self, iterations: int) -> None:
        """Solves the program, if that is not done; raises LinearProgramError."""
        if iterations and self.solution is None:
            self.solution = solve_lp(self.form, **self.options)
            self.seconds = self.solution.build_seconds + self.solution.solve_seconds
            self.num_iterations = 1

    def average_policy(self) -> SequencePolicy:
        """The equilibrium; uniform before it is computed."""
        return SequencePolicy(self.tree, self.average_vector())

    def average_vector(self) -> np.ndarray:
        """`[S]` the same over the tree's sequences."""
        if self.solution is not None:
            return self.solution.policy.vector
        counts = self.tree.infosets["num_actions"]
        empty = np.ones(self.tree.num_players)
        return np.concatenate((empty, np.repeat(1 / counts, counts)))

    def summary(self) -> dict[str, Any]:
        """The solution's numbers, as they go into a file."""
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


OfflineSolver = ExcessiveGap | MirrorProx | LinearProgramRun


def check(name: str, tree: GameTree, parts: dict[str, Any]) -> None:
    """Raises ValueError for a wrong part, and NotZeroSumError if the game shows it.

    Args:
        name: in ALGORITHMS.
        tree: of the game, not expanded.
        parts: name -> value of the settings that only some algorithms have, those that
            are None included.
    """
    for part, value in parts.items():
        if value is not None and part not in PARTS.get(name, ()):
            raise ValueError(f"{part}={value} is given, but {name} has none; drop it.")
    step = parts.get("step_size")
    if step is not None and not 0 < step < float("inf"):
        raise ValueError(f"step_size={step} is not a number above 0.")
    check_options(**_given(parts, "method", "factorization", "time_limit"))
    if tree.num_players != 2:
        sum_of_payoffs(tree)


def make(name: str, tree: GameTree, parts: dict[str, Any]) -> OfflineSolver:
    """The method on a tree, which is expanded whole.

    Raises:
        NotZeroSumError, TooLargeError: see `sequence_form`.
        ValueError: see `check`, and GameTree.
    """
    check(name, tree, parts)
    if name == "mirror_prox":
        return MirrorProx(tree, step_size=parts.get("step_size"))
    if name in LINEAR_PROGRAMS:
        options = _given(parts, "method", "factorization", "time_limit")
        return LinearProgramRun(tree, sparsify=name == "sparsified_lp", **options)
    return ExcessiveGap(tree, aggressive=name == "practical_egt")


def _given(parts: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: parts[name] for name in names if parts.get(name) is not None}
