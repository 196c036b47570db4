"""The policies that a page can show."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.policies.adapter import PolicyAdapter
from mccfr_spiel.solving.solver import Solver

RegretsAt = Callable[[pyspiel.State], list[float] | None]
"""Returns the regrets at a decision, in the order of the legal actions, or None."""


@dataclasses.dataclass(eq=False)
class ShownPolicy:
    """A policy with a label and, if known, the solver that computed the policy.

    Policy files are read when the page shows the policy, because a run may save dozens
    of files and each can take a second.

    Attributes:
        label: name of the policy on the page.
        given: the policy, unless `read` loads it.
        iteration: number of iterations behind the policy; None if unknown.
        run: name of the run whose average policy this is. The page's slider moves
            through the policies of a run. Empty for all other policies.
        solver: the solver that computed the policy; None if unknown.
        regrets: function that returns the solver's cumulative regrets; None if the
            solver is unknown or stores no regrets.
        read: function that loads the policy; None if `given` holds the policy.
    """

    label: str
    given: Any = None
    iteration: int | None = None
    run: str = ""
    solver: Solver | None = None
    regrets: RegretsAt | None = None
    read: Callable[[], Any] | None = None

    @functools.cached_property
    def policy(self) -> Any:
        """The policy, in a form that `policy_vector` accepts.

        Errors are those of `load_policy`.
        """
        return self.given if self.read is None else self.read()

    @property
    def walks(self) -> int:
        """Number of walks per player that the solver had made by `iteration`.

        A lower bound if the algorithm's batches grow.
        """
        batch = self.solver.algorithm.batch if self.solver else 0
        return (self.iteration or 0) * (batch if isinstance(batch, int) else 1)

    def probabilities(self, state: pyspiel.State) -> dict[int, float] | None:
        """Action probabilities at a decision; None if the policy has no such method."""
        policy = self.policy
        if not hasattr(policy, "action_probabilities"):
            return None
        return PolicyAdapter(policy).action_probabilities(state)


def policies_of_solver(solver: Any, prefix: str, ending: str = "") -> list[ShownPolicy]:
    """Copies the average policy, the current policy and the regrets of a solver.

    Args:
        solver: a `Solver`, or any object with `average_policy()`.
        prefix: text in front of "average policy" in the label.
        ending: text behind it.
    """
    num_iterations = getattr(solver, "num_iterations", None)
    regrets_at, our_solver = None, None
    if isinstance(solver, Solver):
        our_solver = solver
        if solver.tree.abstraction is None and solver.keeps_regrets:
            regrets_at = _regrets_of(solver)
    policies = {"average policy": solver.average_policy()}
    if hasattr(solver, "current_policy"):
        policies["current policy"] = solver.current_policy()
    return [
        ShownPolicy(
            f"{prefix}{name}{ending}",
            policy,
            num_iterations,
            solver=our_solver,
            regrets=regrets_at,
        )
        for name, policy in policies.items()
    ]


def _regrets_of(solver: Solver) -> RegretsAt:
    """Copies a solver's regrets; infosets that walks meet later have none."""
    tree, vector = solver.tree, solver.regret_vector()

    def regrets_at(state: pyspiel.State) -> list[float] | None:
        # Found by state, because the first search by string indexes all infosets.
        infoset = tree.find_at(state, state.current_player())
        return (part_at(tree, infoset, vector).tolist() if infoset >= 0 else []) or None

    return regrets_at


def part_at(tree: GameTree, infoset: int, vector: np.ndarray) -> np.ndarray:
    """The entries of a vector `[S]` that belong to an infoset's actions."""
    _, start, _, size, _ = tree.infosets[infoset].item()
    return vector[start : start + size]
