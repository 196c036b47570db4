"""First-order methods for two-player zero-sum games: excessive gap, mirror prox.

They solve the bilinear saddle-point problem of the sequence form by gradient
evaluations and prox maps alone. Each player maximizes its own payoff here, so player
p's gradient is B_p times the other player's plan, where B_0 = A and B_1 = -A'.

The dilated entropy of a plan x with the policy b is

    d(x) = sum_I beta_I x[p(I)] (log |A(I)| + sum_a b(a|I) log b(a|I)),
    beta_I = 2 + 2 max_a sum of beta_K over the infosets K right below (I, a)

(Kroer, Waugh, Kilinc-Karzan, Sandholm 2020). It is 0 at its minimizer, the uniform
policy. For a gradient g, a center c and a scale mu, the *prox map* computes

    max over x of <g, x> - mu D(x || c),   D(x || c) = sum_I beta_I x[p(I)] KL(b || c).

This takes one softmax at every infoset, bottom up, and then the plan of the new policy,
top down. With the uniform policy as its center the prox map is the *smoothed best
response*, because d(x) = D(x || uniform).

A center is stored as the logarithm of a policy. That never underflows, whereas the
entries of a plan are products along a history and may do so.
"""

import abc
import math
from typing import NamedTuple

import numpy as np
import pyspiel

from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.common import refusals
from mccfr_spiel.common.display import counted, line, never_raises, short, title
from mccfr_spiel.kernels.entropy_rules import dilate
from mccfr_spiel.kernels.jit import jit, working_clock
from mccfr_spiel.offline.sequence_forms import (
    Csr,
    SequenceForm,
    Treeplex,
    best_response_value,
    csr,
    joint_vector,
    saddle_point_gap,
    sequence_form,
)
from mccfr_spiel.policies.policy import SequencePolicy

# --- the dilated entropy and its prox map ---------------------------------------------


class Side(NamedTuple):
    """One player's arrays as the compiled loops read them: n infosets, m sequences.

    Attributes:
        infosets: `[n]` as in the player's Treeplex.
        weight: `[n]` the weights beta of the dilated entropy.
        uniform: `[m]` the logarithm of the uniform policy.
        starts, columns, values: B_p in csr form, one row for each of the player's
            sequences.
    """

    infosets: np.ndarray
    weight: np.ndarray
    uniform: np.ndarray
    starts: np.ndarray
    columns: np.ndarray
    values: np.ndarray


@jit
def prox(side, gradient, center, scale, log_policy, plan):
    """Maximizes <gradient, x> - scale D(x || center) and returns the maximum.

    The first loop goes over the infosets bottom up. When it reaches an infoset, the
    gradient at each of its sequences already includes the value of everything below.
    The loop writes the softmax policy of the infoset and adds the infoset's value to
    the gradient at the parent sequence. The second loop goes top down and multiplies
    the policy along the sequences, which gives the plan.

    Args:
        side: the player's Side.
        gradient: `[m]`, overwritten by the values of the sequences.
        center: `[m]` the logarithm of the center's policy. Actions at -inf are never
            played, but every infoset must have an action that is finite.
        scale: mu, above 0.
        log_policy, plan: `[m]` receive the maximizer. `log_policy` may be `center`.
    """
    for i in range(len(side.infosets) - 1, -1, -1):
        start = side.infosets[i]["first_sequence"]
        stop = start + side.infosets[i]["num_actions"]
        step = scale * side.weight[i]
        most = -np.inf
        for s in range(start, stop):
            log_policy[s] = center[s] + gradient[s] / step
            most = max(most, log_policy[s])
        total = 0.0
        for s in range(start, stop):
            total += math.exp(log_policy[s] - most)
        rest = math.log(total)  # which `most` + `rest` would round away
        for s in range(start, stop):
            log_policy[s] = log_policy[s] - most - rest
        gradient[side.infosets[i]["parent"]] += step * (most + rest)
    plan[0] = 1.0
    for i in range(len(side.infosets)):
        mass = plan[side.infosets[i]["parent"]]
        start = side.infosets[i]["first_sequence"]
        for s in range(start, start + side.infosets[i]["num_actions"]):
            plan[s] = mass * math.exp(log_policy[s])
    return gradient[0]


@jit
def respond(side, gradient, scale, log_policy, plan):
    """The prox map from the uniform policy, which is the smoothed best response."""
    return prox(side, gradient, side.uniform, scale, log_policy, plan)


@jit
def evaluate_gradient(side, plan, gradient):
    """Writes B_p times the other player's plan into `gradient` `[m]`."""
    for row in range(len(gradient)):
        total = 0.0
        for entry in range(side.starts[row], side.starts[row + 1]):
            total += side.values[entry] * plan[side.columns[entry]]
        gradient[row] = total


@jit
def mix_into(first, second, weight, result):
    """Writes (1 - weight) first + weight second into `result`, which may be either."""
    for s in range(len(result)):
        result[s] = (1.0 - weight) * first[s] + weight * second[s]


def make_sides(form: SequenceForm) -> tuple[Side, Side]:
    """Makes both players' Sides."""

    def side(plex: Treeplex, rows: Csr) -> Side:
        infosets, weight = plex.records, np.empty(plex.num_infosets)
        dilate(infosets, np.zeros(plex.num_sequences), weight)
        uniform = np.zeros(plex.num_sequences)
        uniform[1:] = -np.log(np.repeat(plex.num_actions, plex.num_actions))
        starts, columns = (a.astype(np.int64) for a in (rows.indptr, rows.indices))
        return Side(infosets, weight, uniform, starts, columns, rows.data)

    first, second = form.treeplexes
    return side(first, form.payoffs), side(second, csr(-form.payoffs.T))


def regularizer_range(plex: Treeplex, side: Side) -> float:
    """The largest value of the dilated entropy d on the treeplex; its least is 0."""
    values = np.zeros(plex.num_sequences)
    np.add.at(values, plex.parent, side.weight * np.log(plex.num_actions))
    return best_response_value(plex, values)


# --- what both methods share ----------------------------------------------------------


SLACK = 1e-15
"""How much rounding may violate a condition, relative to the largest payoff."""

Pair = tuple[np.ndarray, np.ndarray]
"""A vector `[m]` over the sequences of each player."""


def zeros(form: SequenceForm) -> Pair:
    """A vector of zeros over each player's sequences."""
    first, second = form.treeplexes
    return np.zeros(first.num_sequences), np.zeros(second.num_sequences)


class FirstOrderSolver(abc.ABC):
    """The problem, the counters and the policies of a first-order method.

    Attributes:
        form: the game's sequence form.
        tree: the tree it was made from.
        num_iterations: the iterations run so far.
        gradient_evaluations: how often B_p y was computed so far.
        seconds: the time spent in `iterate` so far.
        sides: both players' Sides.
        ranges: the largest value of each player's dilated entropy.
        norm: ||A||, the largest absolute payoff in A; 1 if A has none.
        scratch: three Pairs that the compiled loops write to: a gradient, the maximizer
            of a prox map, and the logarithm of its policy.
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
        self._plans = zeros(self.form)
        largest = float(np.abs(self.form.payoffs.data).max(initial=0.0))
        self.norm = largest or 1.0  # any policy solves a game without payoffs

    @never_raises
    def __repr__(self) -> str:
        bound = self.gap_bound
        words = f"gap at most {short(bound)}" if math.isfinite(bound) else ""
        name, done = title(self.tree.source), counted(self.num_iterations, "iteration")
        return line(self, name, done, words)

    @property
    @abc.abstractmethod
    def gap_bound(self) -> float:
        """What theory promises: NashConv is at most this."""

    @property
    def nodes_touched(self) -> int:
        """Nodes touched; a gradient evaluation counts as one pass over the tree."""
        return self.gradient_evaluations * self.tree.num_nodes

    @abc.abstractmethod
    def run(self, iterations: int) -> int:
        """Runs iterations; returns how many gradient evaluations they took."""

    def average_plans(self) -> Pair:
        """The answer so far as plans."""
        return self._plans

    def current_plans(self) -> Pair:
        """The last iteration's plans."""
        return self._plans

    def average_policy(self) -> SequencePolicy:
        """A snapshot of the answer so far."""
        return SequencePolicy(self.tree, self.average_vector())

    def current_policy(self) -> SequencePolicy:
        """A snapshot of the last iteration's policy."""
        return SequencePolicy(self.tree, self.current_vector())

    def average_vector(self) -> np.ndarray:
        """`[S]` the answer so far, as a policy over the tree's sequences."""
        return joint_vector(self.form, self.average_plans())

    def current_vector(self) -> np.ndarray:
        """`[S]` the last iteration's policy over the tree's sequences."""
        return joint_vector(self.form, self.current_plans())

    def gap(self) -> float:
        """The saddle-point gap (NashConv) of the answer so far."""
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
        """Runs iterations; raises ValueError unless they are an integer >= 0."""
        iterations = refusals.integer(iterations, "iterations", 0)
        began = working_clock()
        self.gradient_evaluations += self.run(iterations)
        self.num_iterations += iterations
        self.seconds += working_clock() - began


# --- mirror prox ----------------------------------------------------------------------


@jit(nogil=True)
def mirror_prox_steps(sides, iterations, eta, centers, plans, sums, scratch):
    """Runs iterations of mirror prox.

    Each iteration takes two prox steps from the same centers: the first to the middle
    plans w, the second, with the gradients at w, to the next plans.

    Args:
        sides: both players' Sides.
        iterations: how many.
        eta: the step size.
        centers: pair of `[m]`, the logarithms of the current policies, updated.
        plans: pair of `[m]`, the plans of those policies, updated.
        sums: pair of `[m]`, the sums of all plans w so far, updated.
        scratch: pairs of `[m]` for gradients, w, and the logarithms of w's policy.
    """
    gradients, middles, logs = scratch
    for _ in range(iterations):
        for p in range(2):
            evaluate_gradient(sides[p], plans[1 - p], gradients[p])
            prox(sides[p], gradients[p], centers[p], 1.0 / eta, logs[p], middles[p])
        for p in range(2):
            evaluate_gradient(sides[p], middles[1 - p], gradients[p])
            prox(sides[p], gradients[p], centers[p], 1.0 / eta, centers[p], plans[p])
            sums[p][:] += middles[p]


def checked_step(step_size: float) -> float:
    """The step size as a float; raises ValueError unless it is finite and above 0."""
    most = np.finfo(np.float64).max
    return refusals.number(step_size, "step_size", 0, most, open_low=True)


class MirrorProx(FirstOrderSolver):
    """Mirror prox (Nemirovski 2004) with the dilated entropy.

    `w_x = prox_x(x, eta B_x y)`, `w_y = prox_y(y, eta B_y x)`, then
    `x = prox_x(x, eta B_x w_y)`, `y = prox_y(y, eta B_y w_x)` with the old x, y as
    centers. The answer, `average_policy()`, is the average of the w. An iteration takes
    four gradient evaluations.
    """

    def __init__(
        self,
        game: pyspiel.Game | str | GameTree | SequenceForm,
        *,
        step_size: float | None = None,
    ) -> None:
        """Starts at the uniform policy.

        Args:
            game: a two-player zero-sum game, its tree or its sequence form.
            step_size: eta. By default 1 / ||A||, where ||A|| is A's largest absolute
                entry.

        Raises:
            ValueError: the step size is not above 0, or `sequence_form` refuses.
        """
        super().__init__(game)
        self.step_size = 1 / self.norm if step_size is None else checked_step(step_size)
        self._centers = tuple(side.uniform.copy() for side in self.sides)
        self._sums = zeros(self.form)
        for side, plan, center in zip(
            self.sides, self._plans, self._centers, strict=True
        ):
            prox(side, np.zeros_like(plan), center, 1.0, center, plan)

    @property
    def gap_bound(self) -> float:
        """The theorem's bound on the gap, (max d_x + max d_y) / (eta T). It is infinite
        for a step size above the default, which the theorem does not cover."""
        if self.step_size > (1 + SLACK) / self.norm:
            return float("inf")
        spread = sum(self.ranges) / self.step_size
        return spread / self.num_iterations if self.num_iterations else float("inf")

    def run(self, iterations: int) -> int:
        mirror_prox_steps(
            self.sides,
            iterations,
            self.step_size,
            self._centers,
            self._plans,
            self._sums,
            self.scratch,
        )
        return 4 * iterations

    def average_plans(self) -> Pair:
        if not self.num_iterations:
            return self._plans
        first, second = self._sums
        return first / self.num_iterations, second / self.num_iterations


# --- the excessive gap technique ------------------------------------------------------


_X, _Y = 1, 0
"""The players whose plans the method calls x and y. The plan x minimizes x' A y, and A
holds player 0's payoffs, so x is player 1's."""

_LEAST_TAU = 1e-9
"""Below it the practical variant stops, since rounding leaves no room for a step."""
_MOST_HALVINGS = 60
"""How often the practical variant may halve both mu at its start."""


@jit(nogil=True)
def smoothed_values(sides, scales, gradients, scratch):
    """The sum over both players of `max <gradient, x> - mu d(x)`.

    The excessive gap condition says that this sum is at most 0.
    """
    values, middles, logs = scratch
    total = 0.0
    for p in range(2):
        values[p][:] = gradients[p]
        total += respond(sides[p], values[p], scales[p], logs[p], middles[p])
    return total


@jit(nogil=True)
def egt_steps(sides, first, iterations, slack, tau, scales, plans, known, spare):
    """Runs iterations of the excessive gap technique, from number `first` on.

    Each iteration shrinks the mu of one player p by the factor 1 - tau and moves both
    plans so that the excessive gap condition still holds. It mixes p's plan with p's
    smoothed best response and lets the other player q respond to the mixture. Then q's
    plan moves towards that response, and p's plan towards the prox step by the gradient
    at it. The new plans and their gradients are written aside at first.

    The practical variant shrinks the larger mu. Its inner loop tries the step; if the
    new plans break the condition, it tries again with half the tau.

    Args:
        sides: both players' Sides.
        first: the number of the first iteration, counted from 1.
        iterations: how many.
        slack: how much rounding may violate the condition.
        tau: of the practical variant, at the end of the last call; else 0, and an
            iteration t has the tau 2 / (t + 2).
        scales: `[2]` the mu, updated.
        plans: pair of `[m]`, updated.
        known: pair of `[m]`, the gradients at `plans`, updated.
        spare: (pairs of `[m]`, pairs of `[m]`) to write to.

    Returns:
        (number of gradient evaluations, tau). The loop ends early when rounding leaves
        no room for another step.
    """
    working, (next_plans, next_known) = spare
    gradients, middles, logs = working
    is_practical = tau > 0.0
    evaluations = 0
    for t in range(first, first + iterations):
        p = _Y if t % 2 else _X
        step = 2.0 / (t + 2.0)
        if is_practical:
            p = 0 if scales[0] > scales[1] else 1
            step = tau
        q = 1 - p
        old_scale = scales[p]
        while True:
            scales[p] = old_scale
            gradients[p][:] = known[p]
            respond(sides[p], gradients[p], scales[p], logs[p], middles[p])
            mix_into(plans[p], middles[p], step, middles[p])
            evaluate_gradient(sides[q], middles[p], gradients[q])
            respond(sides[q], gradients[q], scales[q], logs[q], middles[q])
            evaluate_gradient(sides[p], middles[q], gradients[p])
            mix_into(known[p], gradients[p], step, next_known[p])
            scales[p] *= 1.0 - step
            prox(sides[p], gradients[p], logs[p], scales[p] / step, logs[p], middles[p])
            mix_into(plans[p], middles[p], step, next_plans[p])
            mix_into(plans[q], middles[q], step, next_plans[q])
            evaluate_gradient(sides[q], next_plans[p], next_known[q])
            evaluations += 3
            if not is_practical:
                break
            if smoothed_values(sides, scales, next_known, working) <= slack:
                break
            tau = step = step * 0.5
            if tau < _LEAST_TAU:
                scales[p] = old_scale
                return evaluations, tau
        for player in range(2):
            plans[player][:] = next_plans[player]
            known[player][:] = next_known[player]
    return evaluations, tau


class ExcessiveGap(FirstOrderSolver):
    """The excessive gap technique (Nesterov 2005) with the dilated entropy.

    Two smoothing parameters mu_x and mu_y shrink while the excessive gap condition

        max_y {x' A y - mu_y d(y)} <= min_x {x' A y + mu_x d(x)}

    continues to hold; then the gap is at most `mu_x max d_x + mu_y max d_y`. Both start
    at ||A||, and iteration t = 1, 2, ... shrinks one of them by the factor
    1 - 2 / (t + 2). An iteration takes three gradient evaluations. The last plans are
    the answer, so `average_policy()` and `current_policy()` are the same.

    `aggressive=True` is the practical variant (Kroer, Farina, Sandholm 2018). The mu
    start as small as the condition allows, each iteration shrinks the larger one by the
    factor 1 - tau, and tau, initially 1/2, is halved whenever a step would break the
    condition.
    """

    def __init__(
        self,
        game: pyspiel.Game | str | GameTree | SequenceForm,
        *,
        aggressive: bool = False,
    ) -> None:
        """Starts both plans so that the excessive gap condition holds.

        Args:
            game: a two-player zero-sum game, its tree or its sequence form.
            aggressive: whether to run the practical variant.

        Raises:
            ValueError: `sequence_form` refuses the game.
        """
        super().__init__(game)
        self.aggressive = aggressive
        self._scales = np.full(2, self.norm)
        self._known = zeros(self.form)
        self._spare = (self.scratch, (zeros(self.form), zeros(self.form)))
        self._tau = 0.5 if aggressive else 0.0
        self._start()
        if aggressive:
            self._shrink_start()
        for p in range(2):
            evaluate_gradient(self.sides[p], self._plans[1 - p], self._known[p])
        self.gradient_evaluations += 2

    def _start(self) -> None:
        """Writes the plans to start from.

        The plan y is the smoothed best response to the uniform plan, and x is a prox
        step from the uniform plan by the gradient at y. With both mu at ||A|| the pair
        meets the excessive gap condition.
        """
        sides, plans, (to, middles, logs) = self.sides, self._plans, self.scratch
        to[_X][:] = 0.0
        respond(sides[_X], to[_X], 1.0, logs[_X], middles[_X])
        evaluate_gradient(sides[_Y], middles[_X], to[_Y])
        respond(sides[_Y], to[_Y], self._scales[_Y], logs[_Y], plans[_Y])
        evaluate_gradient(sides[_X], plans[_Y], to[_X])
        prox(sides[_X], to[_X], logs[_X], self._scales[_X], logs[_X], plans[_X])
        self.gradient_evaluations += 2

    def _shrink_start(self) -> None:
        """Halves both mu for as long as the condition holds at the start."""
        good = self._scales.copy()
        for _ in range(_MOST_HALVINGS):
            self._scales *= 0.5
            self._start()
            self.gradient_evaluations += 2  # the two of the check
            if self.excess() < 0:
                break
            good[:] = self._scales
        self._scales[:] = good
        self._start()

    @property
    def gap_bound(self) -> float:
        """mu_x max d_x + mu_y max d_y, which by the condition bounds the gap."""
        return float(np.dot(self._scales, self.ranges))

    def excess(self) -> float:
        """The slack in the excessive gap condition; at least 0, up to rounding."""
        gradients = zeros(self.form)
        for p in range(2):
            evaluate_gradient(self.sides[p], self._plans[1 - p], gradients[p])
        return -float(
            smoothed_values(self.sides, self._scales, gradients, self.scratch)
        )

    def run(self, iterations: int) -> int:
        evaluations, self._tau = egt_steps(
            self.sides,
            self.num_iterations + 1,
            iterations,
            SLACK * self.norm,
            self._tau,
            self._scales,
            self._plans,
            self._known,
            self._spare,
        )
        return evaluations
