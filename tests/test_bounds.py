"""The theorems' bounds beside what runs of the Solver measure."""

import numpy as np
import pytest

import mccfr_spiel as ms
from mccfr_spiel.sequence_form import (
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
GAMES = ["kuhn_poker", "leduc_poker"]


def plans_of(form, vector):
    return [policy_to_plan(plex, vector[plex.sequences]) for plex in form.treeplexes]


@pytest.mark.parametrize("alternating", [True, False])
@pytest.mark.parametrize("estimator", REGRET_BOUNDS)
@pytest.mark.parametrize("game", GAMES)
def test_measured_regret_is_below_theorems_3_4_and_5(game, estimator, alternating):
    form = ms.sequence_form(game)
    sampling, bound = REGRET_BOUNDS[estimator]
    theory = ms.player_theory(form.tree, epsilon=0.6)
    for seed in range(3 if sampling.is_sampled else 1):
        algorithm = ms.Algorithm(
            sampling, ms.regret_matching(), alternating=alternating
        )
        solver = ms.Solver(form.tree, algorithm, seed=seed)
        totals = [np.zeros(plex.num_sequences) for plex in form.treeplexes]
        gained = np.zeros(2)
        now = plans_of(form, solver.current_vector())
        for t in range(1, 301):
            solver.iterate(1)
            after = plans_of(form, solver.current_vector())
            # Player 1 is updated against what player 0 has just become, or was.
            faced = (now[1], after[0] if alternating else now[0])
            gradients = form.payoffs @ faced[0], -form.payoffs.T @ faced[1]
            for player in range(2):
                totals[player] += gradients[player]
                gained[player] += gradients[player] @ now[player]
                best = best_response_value(form.treeplexes[player], totals[player])
                regret = (best - gained[player]) / t
                assert -1e-12 < regret < bound(theory[player], t)
            now = after


@pytest.mark.parametrize("estimator", ["external", "chance", "opponent", "balanced"])
@pytest.mark.parametrize("rule", ["regret_matching", "regret_matching_plus", "ftrl"])
@pytest.mark.parametrize("game", GAMES)
def test_measured_gap_is_below_proposition_2(game, rule, estimator):
    form = ms.sequence_form(game)
    theory = ms.player_theory(form.tree)
    sampling = {
        "external": ms.EXTERNAL,
        "chance": ms.CHANCE,
        "opponent": ms.OPPONENT,
        "balanced": ms.BALANCED_OUTCOME,
    }[estimator]
    minimizer = ms.ftrl(1.0) if rule == "ftrl" else getattr(ms, rule)()
    algorithm = ms.Algorithm(sampling, minimizer, alternating=False)
    for seed in range(2):
        solver = ms.Solver(form.tree, algorithm, seed=seed)
        regrets = EstimatedRegrets(form, solver, rule)
        for t in range(1, 301):
            regrets.iterate()
            if t % 50 and t > 10:
                continue
            measured = regrets.totals()
            both = (measured[0], measured[1])
            assert min(measured) > -1e-9
            bound = ms.gap_bound(theory, t, P, both, estimator)
            gap = saddle_point_gap(form, *plans_of(form, solver.average_vector()))
            assert gap < bound


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
        vector = self.solver._tables.memory
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
