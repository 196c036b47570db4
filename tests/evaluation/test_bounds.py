"""The theorems' bounds beside what runs of the Solver measure."""

import numpy as np
import pytest

import mccfr_spiel as ms
from mccfr_spiel.offline.sequence_form import (
    best_response_value,
    policy_to_plan,
    saddle_point_gap,
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


SAMPLINGS = {
    "external": ms.EXTERNAL,
    "chance": ms.CHANCE,
    "opponent": ms.OPPONENT,
    "balanced": ms.BALANCED_OUTCOME,
}


RULES = "regret_matching", "regret_matching_plus", "ftrl", "regret_matching"


@pytest.mark.parametrize(("rule", "estimator"), [*zip(RULES, SAMPLINGS, strict=True)])
def test_measured_gap_is_below_proposition_2(rule, estimator):
    form = ms.sequence_form("kuhn_poker")
    dues = [t for t in range(1, 301) if t <= 10 or t % 50 == 0]
    for seed in range(2):
        gaps, bounds = zip(
            *gaps_and_bounds(form, rule, estimator, dues, seed), strict=True
        )
        assert all(gap < bound for gap, bound in zip(gaps, bounds, strict=True))
        assert gaps[-1] < FALLS * gaps[0]


def gaps_and_bounds(form, rule, estimator, dues, seed):
    """Runs a solver and yields, after each number of iterations that is due, the gap of
    its average policies and Proposition 2's bound on it."""
    theory = ms.player_theory(form.tree)
    minimizer = ms.ftrl(1.0) if rule == "ftrl" else getattr(ms, rule)()
    algorithm = ms.Algorithm(SAMPLINGS[estimator], minimizer, alternating=False)
    solver = ms.Solver(form.tree, algorithm, seed=seed)
    regrets = EstimatedRegrets(form, solver, rule)
    for t in range(1, max(dues) + 1):
        regrets.iterate()
        if t in dues:
            first, second = regrets.totals()
            assert min(first, second) > -1e-9
            gap = saddle_point_gap(form, *plans_of(form, solver.average_vector()))
            yield gap, ms.gap_bound(theory, t, P, (first, second), estimator)


class EstimatedRegrets:
    """Each player's total regret on the estimated gradients of a run.

    With regret matching it is the best response to the local regrets (Zinkevich et al.
    2007: a plan's regret is the sum of its local ones), with regret matching+ at most
    that. FTRL's memory L is the sum of the gradients G(a) = g + what the child infosets
    pass up, the change of log sum exp L; so g is read off the change of L.
    """

    def __init__(self, form, solver, rule):
        self.form, self.solver, self.rule = form, solver, rule
        self.sums = [np.zeros(plex.num_sequences) for plex in form.treeplexes]
        self.gained = np.zeros(2)

    def memory(self):
        vector = self.solver.state.tables.memory
        return [vector[plex.sequences] for plex in self.form.treeplexes]

    def iterate(self):
        plans = plans_of(self.form, self.solver.current_vector())
        before = self.memory()
        self.solver.iterate(1)
        for plex, old, new in zip(
            self.form.treeplexes, before, self.memory(), strict=True
        ):
            estimate = new - old
            change = log_sum_exp(plex, new) - log_sum_exp(plex, old)
            np.subtract.at(estimate, plex.parent, change)
            estimate[0] = 0  # nobody regrets what comes before its first move
            self.sums[plex.player] += estimate
            self.gained[plex.player] += estimate @ plans[plex.player]

    def totals(self):
        if self.rule != "ftrl":
            memories = self.memory()
            for memory in memories:
                memory[0] = 0
            return tuple(
                best_response_value(plex, memory)
                for plex, memory in zip(self.form.treeplexes, memories, strict=True)
            )
        return tuple(
            best_response_value(plex, self.sums[plex.player]) - self.gained[plex.player]
            for plex in self.form.treeplexes
        )


def log_sum_exp(plex, memory):
    """Of the memory at each infoset, `[n]`."""
    owners = plex.infoset_of[1:]
    most = np.maximum.reduceat(memory, plex.first_sequence)
    shares = np.exp(memory[1:] - most[owners])
    return most + np.log(np.bincount(owners, shares))
