"""The base class of first-order methods for two-player zero-sum games.

The methods solve the bilinear saddle-point problem of the sequence form by gradient
evaluations and prox maps. Let A be the matrix of player 0's payoffs. Both players
maximize their own payoff, so player p's gradient is B_p times the other player's plan,
where B_0 = A and B_1 = -A'.
"""

import abc
import math

import numpy as np
import pyspiel

from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.common import refusals
from mccfr_spiel.common.display import counted, line, never_raises, short, title
from mccfr_spiel.kernels.compile_time import working_clock
from mccfr_spiel.offline.prox_maps import make_sides, regularizer_range
from mccfr_spiel.offline.sequence_forms import (
    SequenceForm,
    joint_vector,
    saddle_point_gap,
    sequence_form,
)
from mccfr_spiel.policies.policy import SequencePolicy

SLACK = 1e-15
"""Allowed violation of conditions by rounding, relative to the largest payoff."""

Pair = tuple[np.ndarray, np.ndarray]
"""Two vectors: `[m0]` over the sequences of player 0, and `[m1]` over those of player
1."""


def zeros(form: SequenceForm) -> Pair:
    """Returns a Pair of zero vectors."""
    first, second = form.treeplexes
    return np.zeros(first.num_sequences), np.zeros(second.num_sequences)


class FirstOrderSolver(abc.ABC):
    """Base class of first-order methods: problem, counters and policies.

    Attributes:
        form: sequence form of the game.
        tree: the game's tree.
        num_iterations: number of iterations so far.
        gradient_evaluations: number of gradient evaluations (products of B_p and a
            plan) so far.
        seconds: time in `iterate` so far, without compilation.
        sides: the arrays of each player for compiled loops, see `Side`.
        ranges: maximum of each player's dilated entropy.
        norm: ||A||, the largest absolute entry of A; 1 if all entries are 0.
        scratch: three Pairs as working memory of the compiled loops: gradients,
            maximizers of prox maps, and logarithms of the maximizers' policies.
        plans: Pair of the current plans.
    """

    def __init__(self, game: pyspiel.Game | str | GameTree | SequenceForm) -> None:
        """Makes the sequence form of a two-player zero-sum game.

        Args:
            game: the game, its tree or its sequence form.

        Raises:
            ValueError: `sequence_form` refuses the game.
        """
        self.form = sequence_form(game)
        self.tree = self.form.tree
        self.num_iterations = 0
        self.gradient_evaluations = 0
        self.seconds = 0.0
        self.sides = make_sides(self.form)
        self.ranges = tuple(map(regularizer_range, self.form.treeplexes, self.sides))
        self.scratch = tuple(zeros(self.form) for _ in range(3))
        self.plans = zeros(self.form)
        largest = float(np.abs(self.form.payoffs.data).max(initial=0.0))
        self.norm = largest or 1.0  # if all payoffs are 0, any number will do

    @never_raises
    def __repr__(self) -> str:
        bound = self.gap_bound
        gap = f"gap at most {short(bound)}" if math.isfinite(bound) else ""
        name, done = title(self.tree.source), counted(self.num_iterations, "iteration")
        return line(self, name, done, gap)

    @property
    @abc.abstractmethod
    def gap_bound(self) -> float:
        """The upper bound on NashConv from the method's convergence theorem."""

    @property
    def nodes_touched(self) -> int:
        """Number of nodes touched. A gradient evaluation counts as a pass over all
        nodes of the tree."""
        return self.gradient_evaluations * self.tree.num_nodes

    @abc.abstractmethod
    def run(self, iterations: int) -> int:
        """Runs iterations; returns how many gradient evaluations they made."""

    def average_plans(self) -> Pair:
        """The plans that are the result of the method."""
        return self.plans

    def current_plans(self) -> Pair:
        """The plans of the last iteration."""
        return self.plans

    def average_policy(self) -> SequencePolicy:
        """A copy of the policy that is the result of the method."""
        return SequencePolicy(self.tree, self.average_vector())

    def current_policy(self) -> SequencePolicy:
        """A copy of the last iteration's policy."""
        return SequencePolicy(self.tree, self.current_vector())

    def average_vector(self) -> np.ndarray:
        """`[S]` the policy that is the result, one number per sequence of the tree."""
        return joint_vector(self.form, self.average_plans())

    def current_vector(self) -> np.ndarray:
        """`[S]` the last iteration's policy, one number per sequence of the tree."""
        return joint_vector(self.form, self.current_plans())

    def gap(self) -> float:
        """The saddle-point gap (NashConv) of `average_policy()`."""
        return saddle_point_gap(self.form, *self.average_plans())

    def iteration(self) -> None:
        """Runs one iteration."""
        self.iterate(1)

    def iterate_until(self, nodes_touched: float) -> None:
        """Runs iterations until at least `nodes_touched` nodes have been touched."""
        enough = refusals.count(nodes_touched, "nodes_touched")
        while self.nodes_touched < enough:
            self.iterate(1)

    def iterate(self, iterations: int) -> None:
        """Runs iterations.

        Args:
            iterations: the number of iterations, at least 0.

        Raises:
            ValueError: `iterations` is negative or not an integer.
        """
        iterations = refusals.integer(iterations, "iterations", 0)
        began = working_clock()
        self.gradient_evaluations += self.run(iterations)
        self.num_iterations += iterations
        self.seconds += working_clock() - began
