"""The theorems' bounds beside what runs of the Solver measure."""

import numpy as np
import pytest

import mccfr_spiel as ms
from mccfr_spiel.offline.sequence_form import (
    best_response_value,
    policy_to_plan,
)

P = 0.1  # probability with which a sampled run may be above its bound
REGRET_BOUNDS = {
    "full": (ms.FULL, lambda player, t: ms.cfr_regret_bound(player, t)),
    "external": (
        ms.EXTERNAL,
        lambda player, t: ms.external_sampling_regret_bound(player, t, P),
    ),
    "outcome": (
        ms.OUTCOME,
        lambda player, t: ms.outcome_sampling_regret_bound(player, t, P),
    ),
}

FALLS = 0.95
"""The bounds on these games are far above what any solver regrets, so what is measured
must also fall by this factor in 300 iterations. Without updates it would stay."""


def plans_of(form, vector):
    return [policy_to_plan(plex, vector[plex.sequences]) for plex in form.treeplexes]


@pytest.mark.parametrize(
    ("estimator", "alternating"),
    [("full", True), ("external", False), ("outcome", True)],
)
def test_measured_regret_is_below_theorems_3_4_and_5(estimator, alternating):
    form = ms.sequence_form("kuhn_poker")
    sampling, bound = REGRET_BOUNDS[estimator]
    theory = ms.player_theory(form.tree, epsilon=0.6)
    for seed in range(2 if sampling.is_sampled else 1):
        algorithm = ms.Algorithm(
            sampling, ms.regret_matching(), alternating=alternating
        )
        solver = ms.Solver(form.tree, algorithm, seed=seed)
        sums = []
        for t, regrets in enumerate(average_regrets(form, solver, 300), 1):
            for player, regret in enumerate(regrets):
                assert -1e-12 < regret < bound(theory[player], t)
            sums.append(sum(regrets))
        assert sums[-1] < FALLS * sums[0]


def average_regrets(form, solver, num_iterations):
    """Runs a solver and yields both players' average regrets after each iteration.

    They are computed from the payoff matrix and the policies that each player faced.
    """
    alternating = solver.algorithm.alternating
    totals = [np.zeros(plex.num_sequences) for plex in form.treeplexes]
    gained = np.zeros(2)
    now = plans_of(form, solver.current_vector())
    for t in range(1, num_iterations + 1):
        solver.iterate(1)
        after = plans_of(form, solver.current_vector())
        # Player 1 is updated against what player 0 has just become, or was.
        faced = (now[1], after[0] if alternating else now[0])
        gradients = form.payoffs @ faced[0], -form.payoffs.T @ faced[1]
        for player in range(2):
            totals[player] += gradients[player]
            gained[player] += gradients[player] @ now[player]
        best = map(best_response_value, form.treeplexes, totals)
        yield [(most - own) / t for most, own in zip(best, gained, strict=True)]
        now = after
