"""FTRL and OMD in the Solver: the same iterates, each the optimum of its program."""

import functools

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize

import mccfr_spiel as ms
from mccfr_spiel.offline.sequence_form import constraints, policy_to_plan

ESTIMATORS = {
    "full": ms.FULL,
    "chance": ms.CHANCE,
    "opponent": ms.OPPONENT,
    "external": ms.EXTERNAL,
    "outcome": ms.OUTCOME,
    "balanced_outcome": ms.BALANCED_OUTCOME,
}
RULES = {"ftrl": ms.ftrl, "omd": ms.omd}
SMALL = "goofspiel(num_cards=3,imp_info=True,points_order=descending,players=2)"
STEP = 0.3


def make_solver(game, sampling, rule, weights, *, alternating=True):
    minimizer = RULES[rule](STEP, weights=weights)
    algorithm = ms.Algorithm(sampling, minimizer, alternating=alternating)
    return ms.Solver(game, algorithm, seed=7)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("weights", ["constant", "kroer"])
@pytest.mark.parametrize("game", ["kuhn_poker", "leduc_poker"])
def test_omd_and_ftrl_have_the_same_iterates_to_1e_10(game, weights, estimator):
    tree = ms.GameTree(game).expand_all()
    solvers = [
        make_solver(tree, ESTIMATORS[estimator], rule, weights) for rule in RULES
    ]
    ftrl, omd = solvers
    start = ftrl.current_vector()
    for more in [1] * 20 + ([80] if game == "kuhn_poker" else []):
        for solver in solvers:
            solver.iterate(more)
        for vector in ("current_vector", "average_vector"):
            difference = getattr(ftrl, vector)() - getattr(omd, vector)()
            assert np.abs(difference).max() < 1e-10
    assert np.abs(ftrl.current_vector() - start).max() > 0.01


# --- the convex program, from the definition over plans -------------------------


@functools.cache
def textbook_weights(game, player, weights):
    """beta of each infoset of a player's treeplex."""
    plex = ms.sequence_form(game).treeplexes[player]
    beta = np.ones(plex.num_infosets)
    if weights == "kroer":
        below = np.zeros(plex.num_sequences)
        for i in reversed(range(plex.num_infosets)):
            start = plex.first_sequence[i]
            beta[i] = 2 + 2 * below[start : start + plex.num_actions[i]].max()
            below[plex.parent[i]] += beta[i]
    return beta


class Entropy:
    """d(x) = sum_I beta_I (sum_a x_a log x_a - x_p log x_p + x_p log |A|), on plans."""

    def __init__(self, plex, beta):
        self.own = beta[plex.infoset_of]  # that of the empty sequence is set to 0
        self.own[0] = 0
        below = np.zeros((2, plex.num_sequences))
        np.add.at(below[0], plex.parent, beta)
        np.add.at(below[1], plex.parent, beta * np.log(plex.num_actions))
        self.net, self.logs = self.own - below[0], below[1]

    def value(self, x):
        return np.inf if (x <= 0).any() else self.net @ (x * np.log(x)) + self.logs @ x

    def slope(self, x):
        return self.net * (np.log(x) + 1) + self.logs

    def curvature(self, x):
        return self.net / x


def solved_by_scipy(plex, entropy, linear, scale, start):
    """The plan that minimizes scale d(x) - <linear, x>: Newton's method in the null
    space of the constraints."""
    basis = scipy.linalg.null_space(constraints(plex)[0].toarray())

    def slope(z):
        return basis.T @ (scale * entropy.slope(start + basis @ z) - linear)

    def curvature(z):
        diagonal = scale * entropy.curvature(start + basis @ z)
        return basis.T @ (diagonal[:, None] * basis)

    def value(z):
        x = start + basis @ z
        return scale * entropy.value(x) - linear @ x

    found = scipy.optimize.minimize(
        value,
        np.zeros(basis.shape[1]),
        method="trust-exact",
        jac=slope,
        hess=curvature,
    )
    # Values tell minima apart to 1e-8 only; slopes do better.
    polished = scipy.optimize.root(slope, found.x, jac=curvature, tol=1e-14)
    assert np.abs(slope(polished.x)).max() < 1e-11
    assert value(polished.x) <= found.fun + 1e-12
    return start + basis @ polished.x


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("weights", ["constant", "kroer"])
@pytest.mark.parametrize("game", ["kuhn_poker", SMALL])
def test_each_step_is_the_convex_program_solved_by_scipy_to_1e_7(game, weights, rule):
    form = ms.sequence_form(game)
    solver = make_solver(form.tree, ms.FULL, rule, weights, alternating=False)
    entropies = [
        Entropy(plex, textbook_weights(game, plex.player, weights))
        for plex in form.treeplexes
    ]
    sums = [np.zeros(plex.num_sequences) for plex in form.treeplexes]
    starts = None
    for _ in range(4):
        plans = [
            policy_to_plan(plex, solver.current_vector()[plex.sequences])
            for plex in form.treeplexes
        ]
        starts = starts or plans
        gradients = form.payoffs @ plans[1], -form.payoffs.T @ plans[0]
        solver.iterate(1)
        for plex in form.treeplexes:
            player = plex.player
            entropy, sums[player] = entropies[player], sums[player] + gradients[player]
            if rule == "ftrl":  # argmax <sum of gradients, x> - d(x) / eta
                linear = sums[player]
            else:  # argmax <gradient, x> - D(x || plan) / eta
                linear = gradients[player] + entropy.slope(plans[player]) / STEP
            best = solved_by_scipy(plex, entropy, linear, 1 / STEP, starts[player])
            ours = policy_to_plan(plex, solver.current_vector()[plex.sequences])
            assert np.abs(best - ours).max() < 1e-7
            assert np.abs(plans[player] - ours).max() > 1e-4
