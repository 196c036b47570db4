"""Mirror prox and the excessive gap technique: first-order saddle-point methods.

Both solve a two-player zero-sum game in the sequence form with the dilated entropy

    d(x) = sum_I beta_I x[p(I)] (log |A(I)| + sum_a b(a|I) log b(a|I)),
    beta_I = 2 + 2 max_a sum of beta_K over the infosets K right below (I, a)

(Kroer, Waugh, Kilinc-Karzan, Sandholm 2020), 0 at the uniform policy, its minimizer.
All they do is a *prox map*: for a gradient g, a center c and a scale mu

    max over x of <g, x> - mu D(x || c),   D(x || c) = sum_I beta_I x[p(I)] KL(b || c),

a softmax at every infoset, bottom up, and the plan of the new policy, top down. From
the uniform center it is the *smoothed best response*, since d(x) = D(x || uniform).

Each player maximizes its own payoff here: player p's gradient is B_p times the other's
plan, B_0 = A and B_1 = -A'. A center is kept as the logarithm of a policy, which never
underflows; a plan may.
"""

import math
import time
from typing import NamedTuple

import numpy as np
import pyspiel
import scipy.sparse

from mccfr_spiel.compile import jit
from mccfr_spiel.game_tree import GameTree
from mccfr_spiel.kernels import dilate
from mccfr_spiel.policy import SequencePolicy
from mccfr_spiel.sequence_form import (
    SequenceForm,
    joint_vector,
    maximize,
    plan_to_policy,
    saddle_point_gap,
    sequence_form,
)

_ORDER = (1, 0)
"""The minimizer x of x' A y, A player 0's payoffs, is player 1."""

_LEAST_TAU = 1e-9
_SLACK = 1e-15
_MOST_HALVINGS = 60


class Side(NamedTuple):
    """What the compiled loops read of one player: n infosets, m sequences.

    Attributes:
        first_sequence, num_actions, parent: `[n]` of its Treeplex.
        weight: `[n]` beta.
        uniform: `[m]` logarithm of the uniform policy.
        starts, columns, values: B_p in csr form, a row for each own sequence.
    """

    first_sequence: np.ndarray
    num_actions: np.ndarray
    parent: np.ndarray
    weight: np.ndarray
    uniform: np.ndarray
    starts: np.ndarray
    columns: np.ndarray
    values: np.ndarray


@jit
def prox(side, gradient, center, scale, log_policy, plan):
    """Maximizes <gradient, x> - scale D(x || center); returns the maximum.

    Args:
        side: a Side.
        gradient: `[m]`, changed to the values of the sequences.
        center: `[m]` the logarithm of the center's policy; -inf stays out of play, but
            at least one action of an infoset must be finite.
        scale: above 0.
        log_policy, plan: `[m]` get the maximizer. `log_policy` may be `center`.
    """
    for i in range(len(side.parent) - 1, -1, -1):
        start = side.first_sequence[i]
        stop = start + side.num_actions[i]
        step = scale * side.weight[i]
        most = -np.inf
        for s in range(start, stop):
            log_policy[s] = center[s] + gradient[s] / step
            most = max(most, log_policy[s])
        total = 0.0
        for s in range(start, stop):
            total += math.exp(log_policy[s] - most)
        most += math.log(total)
        for s in range(start, stop):
            log_policy[s] -= most
        gradient[side.parent[i]] += step * most
    plan[0] = 1.0
    for i in range(len(side.parent)):
        mass = plan[side.parent[i]]
        start = side.first_sequence[i]
        for s in range(start, start + side.num_actions[i]):
            plan[s] = mass * math.exp(log_policy[s])
    return gradient[0]


@jit
def evaluate_gradient(side, plan, gradient):
    """Sets `gradient` `[m]` to B_p times the other player's plan."""
    for row in range(len(gradient)):
        total = 0.0
        for entry in range(side.starts[row], side.starts[row + 1]):
            total += side.values[entry] * plan[side.columns[entry]]
        gradient[row] = total


@jit
def mix_into(first, second, share, result):
    """Sets `result` to (1 - share) first + share second; it may be one of them."""
    for s in range(len(result)):
        result[s] = (1.0 - share) * first[s] + share * second[s]


@jit
def mirror_prox_steps(sides, steps, eta, centers, plans, sums, scratch):
    """Runs `steps` iterations of mirror prox.

    Args:
        sides: both players' Side.
        eta: step size.
        centers: pair of `[m]`, logarithms of the current policies, changed.
        plans: pair of `[m]` their plans, changed.
        sums: pair of `[m]` sums of the plans w, changed.
        scratch: pairs of `[m]`: gradients, w, its logarithms.
    """
    gradients, middles, logs = scratch
    for _ in range(steps):
        for p in range(2):
            evaluate_gradient(sides[p], plans[1 - p], gradients[p])
            prox(sides[p], gradients[p], centers[p], 1.0 / eta, logs[p], middles[p])
        for p in range(2):
            evaluate_gradient(sides[p], middles[1 - p], gradients[p])
            prox(sides[p], gradients[p], centers[p], 1.0 / eta, centers[p], plans[p])
            sums[p][:] += middles[p]


@jit
def egt_start(sides, order, scales, plans, scratch):
    """Sets the plans that start the excessive gap technique."""
    x, y = order
    gradients, middles, logs = scratch
    side_x, side_y = sides[x], sides[y]
    gradients[x][:] = 0.0
    prox(side_x, gradients[x], side_x.uniform, 1.0, logs[x], middles[x])
    evaluate_gradient(side_y, middles[x], gradients[y])
    prox(side_y, gradients[y], side_y.uniform, scales[y], logs[y], plans[y])
    evaluate_gradient(side_x, plans[y], gradients[x])
    prox(side_x, gradients[x], logs[x], scales[x], logs[x], plans[x])


@jit
def egt_steps(sides, order, first, steps, scales, plans, scratch):
    """Runs iterations `first`, `first + 1`, ... of the excessive gap technique.

    Args:
        sides: both players' Side.
        order: (x, y), the players that the even and the odd iterations shrink.
        scales: `[2]` mu, changed.
        plans: pair of `[m]`, changed.
        scratch: pairs of `[m]`.
    """
    gradients, middles, logs = scratch
    for t in range(first, first + steps):
        tau = 2.0 / (t + 2.0)
        p = order[t % 2]
        q = 1 - p
        evaluate_gradient(sides[p], plans[q], gradients[p])
        prox(sides[p], gradients[p], sides[p].uniform, scales[p], logs[p], middles[p])
        mix_into(plans[p], middles[p], tau, middles[p])
        evaluate_gradient(sides[q], middles[p], gradients[q])
        prox(sides[q], gradients[q], sides[q].uniform, scales[q], logs[q], middles[q])
        evaluate_gradient(sides[p], middles[q], gradients[p])
        scales[p] *= 1.0 - tau
        prox(sides[p], gradients[p], logs[p], scales[p] / tau, logs[p], middles[p])
        mix_into(plans[p], middles[p], tau, plans[p])
        mix_into(plans[q], middles[q], tau, plans[q])


@jit
def smoothed_values(sides, scales, gradients, scratch):
    """Each player's max <gradient, x> - mu d(x), added up: the negative excess.

    The excessive gap condition is that it is at most 0.
    """
    values, middles, logs = scratch
    total = 0.0
    for p in range(2):
        values[p][:] = gradients[p]
        total += prox(
            sides[p], values[p], sides[p].uniform, scales[p], logs[p], middles[p]
        )
    return total


@jit
def aggressive_egt_steps(sides, steps, slack, tau, scales, plans, known, scratch):
    """Runs iterations that shrink the larger mu by 1 - tau, and halve tau if it fails.

    A step that breaks the excessive gap condition is undone.

    Args:
        slack: rounding allowed in the condition.
        tau: where the last call stopped.
        scales: `[2]` mu, changed.
        plans: pair of `[m]`, changed.
        known: pair of `[m]`, the gradients at `plans`, changed.
        scratch: (pairs of `[m]`, pairs of `[m]`).

    Returns:
        (gradient evaluations, tau). It ends early where rounding allows no more steps.
    """
    working, spare = scratch
    gradients, middles, logs = working
    next_plans, next_known = spare
    evaluations = 0
    for _ in range(steps):
        p = 0 if scales[0] > scales[1] else 1
        q = 1 - p
        old_scale = scales[p]
        while True:
            scales[p] = old_scale
            gradients[p][:] = known[p]
            prox(
                sides[p], gradients[p], sides[p].uniform, scales[p], logs[p], middles[p]
            )
            mix_into(plans[p], middles[p], tau, middles[p])
            evaluate_gradient(sides[q], middles[p], gradients[q])
            prox(
                sides[q], gradients[q], sides[q].uniform, scales[q], logs[q], middles[q]
            )
            evaluate_gradient(sides[p], middles[q], gradients[p])
            mix_into(known[p], gradients[p], tau, next_known[p])
            scales[p] *= 1.0 - tau
            prox(sides[p], gradients[p], logs[p], scales[p] / tau, logs[p], middles[p])
            mix_into(plans[p], middles[p], tau, next_plans[p])
            mix_into(plans[q], middles[q], tau, next_plans[q])
            evaluate_gradient(sides[q], next_plans[p], next_known[q])
            evaluations += 3
            if smoothed_values(sides, scales, next_known, working) <= slack:
                break
            tau *= 0.5
            if tau < _LEAST_TAU:
                scales[p] = old_scale
                return evaluations, tau
        for player in range(2):
            plans[player][:] = next_plans[player]
            known[player][:] = next_known[player]
    return evaluations, tau


# --- the solvers -------------------------------------------------------------


def _pair(form: SequenceForm) -> tuple[np.ndarray, np.ndarray]:
    first, second = form.treeplexes
    return np.zeros(first.num_sequences), np.zeros(second.num_sequences)


def make_sides(form: SequenceForm) -> tuple[Side, Side]:
    """What the compiled loops read of both players."""
    tree = form.tree
    weight = np.empty(tree.num_infosets)
    dilate(tree.infosets, np.zeros(tree.num_sequences), weight)
    sides = []
    for plex, matrix in zip(
        form.treeplexes, (form.payoffs, -form.payoffs.T), strict=True
    ):
        rows = scipy.sparse.csr_array(matrix)
        uniform = np.zeros(plex.num_sequences)
        uniform[1:] = -np.log(np.repeat(plex.num_actions, plex.num_actions))
        sides.append(
            Side(
                plex.first_sequence,
                plex.num_actions,
                plex.parent,
                weight[plex.infosets],
                uniform,
                rows.indptr.astype(np.int64),
                rows.indices.astype(np.int64),
                rows.data,
            )
        )
    return sides[0], sides[1]


def regularizer_range(side: Side) -> float:
    """The most that the dilated entropy d takes on the treeplex; it is at least 0."""
    values = np.zeros(len(side.uniform))
    np.add.at(values, side.parent, side.weight * np.log(side.num_actions))
    return float(maximize(side.first_sequence, side.num_actions, side.parent, values))


class _FirstOrderSolver:
    """What both methods share: the problem, the counters, the policies."""

    def __init__(self, game: pyspiel.Game | str | GameTree | SequenceForm) -> None:
        self.form = sequence_form(game)
        self.tree = self.form.tree
        self.num_iterations = 0
        self.gradient_evaluations = 0
        self.seconds = 0.0
        """Time spent in `iterate`."""
        self._sides = make_sides(self.form)
        self._ranges = tuple(regularizer_range(side) for side in self._sides)
        self._scratch = tuple(_pair(self.form) for _ in range(3))
        largest = float(np.abs(self.form.payoffs.data).max(initial=0.0))
        self._norm = largest or 1.0  # a game without payoffs is solved by anything

    @property
    def nodes_touched(self) -> int:
        """A gradient evaluation counts as one pass over the tree, as in CFR."""
        return self.gradient_evaluations * self.tree.num_nodes

    def _average_plans(self) -> tuple[np.ndarray, np.ndarray]:
        raise NotImplementedError

    def _current_plans(self) -> tuple[np.ndarray, np.ndarray]:
        raise NotImplementedError

    def average_policy(self) -> SequencePolicy:
        """The answer so far, a snapshot."""
        return SequencePolicy(self.tree, self.average_vector())

    def current_policy(self) -> SequencePolicy:
        """The policy of the last iteration, a snapshot."""
        return SequencePolicy(self.tree, self.current_vector())

    def average_vector(self) -> np.ndarray:
        """The answer so far, a policy over the tree's sequences, `[S]`."""
        return self._vector(self._average_plans())

    def current_vector(self) -> np.ndarray:
        """The policy of the last iteration over the tree's sequences, `[S]`."""
        return self._vector(self._current_plans())

    def _vector(self, plans: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        first, second = (
            plan_to_policy(plex, plan)
            for plex, plan in zip(self.form.treeplexes, plans, strict=True)
        )
        return joint_vector(self.form, (first, second))

    def gap(self) -> float:
        """The saddle-point gap (NashConv) of the answer so far."""
        return saddle_point_gap(self.form, *self._average_plans())

    def iteration(self) -> None:
        """Runs one iteration."""
        self.iterate(1)

    def iterate(self, iterations: int) -> None:
        """Runs iterations; raises ValueError for a negative number."""
        if iterations < 0:
            raise ValueError(f"iterations={iterations} is negative.")
        began = time.perf_counter()
        self._iterate(iterations)
        self.seconds += time.perf_counter() - began

    def _iterate(self, iterations: int) -> None:
        raise NotImplementedError


class MirrorProx(_FirstOrderSolver):
    """Mirror prox (Nemirovski 2004) with the dilated entropy.

    `w_x = prox_x(x, eta B_x y)`, `w_y = prox_y(y, eta B_y x)`, then
    `x = prox_x(x, eta B_x w_y)`, `y = prox_y(y, eta B_y w_x)` with the old x, y as
    centers. The answer, `average_policy()`, is the average of the w; an iteration takes
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
            game: two-player zero-sum, or its tree or sequence form.
            step_size: eta; 1 / ||A||, A's largest absolute entry, if not given.

        Raises:
            ValueError: the step size is not above 0, or `sequence_form` refuses.
        """
        super().__init__(game)
        if step_size is None:
            step_size = 1 / self._norm
        if not 0 < step_size < float("inf"):
            raise ValueError(f"step_size={step_size} is not a number above 0.")
        self.step_size = float(step_size)
        self._centers = tuple(side.uniform.copy() for side in self._sides)
        self._plans = _pair(self.form)
        self._sums = _pair(self.form)
        for side, plan, center in zip(
            self._sides, self._plans, self._centers, strict=True
        ):
            prox(side, np.zeros_like(plan), center, 1.0, center, plan)

    @property
    def gap_bound(self) -> float:
        """(max d_x + max d_y) / (eta T), which bounds the gap; infinite for a step size
        above the default one, about which the theorem says nothing."""
        if self.step_size > (1 + _SLACK) / self._norm:
            return float("inf")
        spread = sum(self._ranges) / self.step_size
        return spread / self.num_iterations if self.num_iterations else float("inf")

    def _iterate(self, iterations: int) -> None:
        mirror_prox_steps(
            self._sides,
            iterations,
            self.step_size,
            self._centers,
            self._plans,
            self._sums,
            self._scratch,
        )
        self.num_iterations += iterations
        self.gradient_evaluations += 4 * iterations

    def _average_plans(self) -> tuple[np.ndarray, np.ndarray]:
        if not self.num_iterations:
            return self._plans
        first, second = self._sums
        return first / self.num_iterations, second / self.num_iterations

    def _current_plans(self) -> tuple[np.ndarray, np.ndarray]:
        return self._plans


class ExcessiveGap(_FirstOrderSolver):
    """The excessive gap technique (Nesterov 2005) with the dilated entropy.

    Two smoothing parameters mu_x, mu_y shrink while

        max_y {x' A y - mu_y d(y)} <= min_x {x' A y + mu_x d(x)}

    holds, so that the gap is at most `mu_x max d_x + mu_y max d_y`. Both begin at ||A||
    and iteration t = 1, 2, ... shrinks one by 1 - 2 / (t + 2). An iteration takes three
    gradient evaluations. The last plans are the answer: `average_policy()` and
    `current_policy()` are the same.

    `aggressive=True` is the practical variant (Kroer, Farina, Sandholm 2018): the mu
    begin as small as the condition allows, the larger one is shrunk by 1 - tau each
    time, and tau, 1/2 at first, is halved when a step would break the condition.
    """

    def __init__(
        self,
        game: pyspiel.Game | str | GameTree | SequenceForm,
        *,
        aggressive: bool = False,
    ) -> None:
        """Starts both plans so that the excessive gap condition holds.

        Args:
            game: two-player zero-sum, or its tree or sequence form.
            aggressive: the practical variant.

        Raises:
            ValueError: `sequence_form` refuses the game.
        """
        super().__init__(game)
        self.aggressive = aggressive
        self._scales = np.full(2, self._norm)
        self._plans = _pair(self.form)
        self._known = _pair(self.form)
        self._spare = (_pair(self.form), _pair(self.form))
        self._tau = 0.5
        self._start()
        if aggressive:
            self._shrink_start()

    def _start(self) -> None:
        egt_start(self._sides, _ORDER, self._scales, self._plans, self._scratch)
        self.gradient_evaluations += 2

    def _shrink_start(self) -> None:
        """Halves mu at the start as long as the condition holds there."""
        good = self._scales.copy()
        for _ in range(_MOST_HALVINGS):
            self._scales *= 0.5
            self._start()
            self.gradient_evaluations += 2  # those of the check
            if self.excess() < 0:
                break
            good[:] = self._scales
        self._scales[:] = good
        self._start()
        for p in range(2):
            evaluate_gradient(self._sides[p], self._plans[1 - p], self._known[p])
        self.gradient_evaluations += 2

    @property
    def gap_bound(self) -> float:
        """mu_x max d_x + mu_y max d_y, which bounds the gap."""
        return float(np.dot(self._scales, self._ranges))

    def excess(self) -> float:
        """By how much the excessive gap condition holds; at least 0, up to rounding."""
        gradients = _pair(self.form)
        for p in range(2):
            evaluate_gradient(self._sides[p], self._plans[1 - p], gradients[p])
        return -float(
            smoothed_values(self._sides, self._scales, gradients, self._scratch)
        )

    def _iterate(self, iterations: int) -> None:
        if self.aggressive:
            evaluations, self._tau = aggressive_egt_steps(
                self._sides,
                iterations,
                _SLACK * self._norm,
                self._tau,
                self._scales,
                self._plans,
                self._known,
                (self._scratch, self._spare),
            )
            self.gradient_evaluations += evaluations
        else:
            egt_steps(
                self._sides,
                _ORDER,
                self.num_iterations + 1,
                iterations,
                self._scales,
                self._plans,
                self._scratch,
            )
            self.gradient_evaluations += 3 * iterations
        self.num_iterations += iterations

    def _average_plans(self) -> tuple[np.ndarray, np.ndarray]:
        return self._plans

    _current_plans = _average_plans
