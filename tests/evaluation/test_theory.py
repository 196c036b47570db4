"""M-values and bounds: the definition by dictionaries, published tables, real runs."""

import collections
import math

import numpy as np
import pytest

from mccfr_spiel.evaluation.theory import (
    cfr_regret_bound,
    estimate_range,
    external_sampling_regret_bound,
    gap_bound,
    least_history_probability,
    m_values,
    outcome_sampling_regret_bound,
    player_theory,
)
from mccfr_spiel.tree.game_tree import GameTree

GOOFSPIEL = "goofspiel(num_cards=4,imp_info=True,points_order=descending,players=2)"


def textbook_m_values(game):
    """From pyspiel states: own actions -> the set of information states after them."""
    groups = [collections.defaultdict(set) for _ in range(game.num_players())]

    def visit(state, own):
        if state.is_terminal():
            return
        player = state.current_player()
        if player >= 0:
            groups[player][own[player]].add(state.information_state_string())
        for action in state.legal_actions():
            after = list(own)
            if player >= 0:
                after[player] += (action,)
            visit(state.child(action), after)

    visit(game.new_initial_state(), [()] * game.num_players())
    return [sum(math.sqrt(len(met)) for met in group.values()) for group in groups]


@pytest.mark.parametrize(
    "name", ["kuhn_poker", "kuhn_poker(players=3)", "leduc_poker", GOOFSPIEL]
)
def test_m_values_are_those_of_the_definition(name):
    tree = GameTree(name).expand_all()
    assert m_values(tree) == pytest.approx(textbook_m_values(tree.game))


def test_quantities_of_kuhn():
    first, second = player_theory("kuhn_poker", epsilon=0.5)
    assert first.num_infosets == second.num_infosets == 6
    assert first.num_sequences == second.num_sequences == 13
    assert first.max_actions == second.max_actions == 2
    assert first.utility_range == second.utility_range == 4
    assert first.least_probability == 0.25**2
    assert second.least_probability == 0.25
    assert first.balanced_probability == 1 / 12


def test_least_history_probability_of_uniform_kuhn():
    tree = GameTree("kuhn_poker").expand_all()
    uniform = np.full(tree.num_sequences, 0.5)
    # Chance 1 / 6, then pass, bet, and player 0's answer: three even choices.
    least = least_history_probability(tree, 0, 0.6, uniform)
    assert least == pytest.approx(1 / 6 / 8)
    # Never reached is not counted: player 1 always passes.
    passing = uniform.copy()
    mine = tree.infosets["player"] == 1
    passing[tree.infosets["first_sequence"][mine]] = 1
    passing[tree.infosets["first_sequence"][mine] + 1] = 0
    least = least_history_probability(tree, 0, 1.0, passing)
    assert least == pytest.approx(1 / 6 / 2)


def test_bounds_are_the_printed_formulas():
    player = player_theory("kuhn_poker", epsilon=0.6)[0]
    plain = 4 * 2 * math.sqrt(3) * math.sqrt(2) / math.sqrt(100)
    assert cfr_regret_bound(player, 100) == pytest.approx(plain)
    external = (1 + math.sqrt(2 / 0.05)) * plain
    assert external_sampling_regret_bound(player, 100, 0.05) == pytest.approx(external)
    outcome = outcome_sampling_regret_bound(player, 100, 0.05)
    assert outcome == pytest.approx(external / 0.3**2)
    assert outcome_sampling_regret_bound(player, 100, 0.05, 0.01) == pytest.approx(
        external / 0.01
    )


def test_gap_bound_is_proposition_2():
    players = player_theory("kuhn_poker")
    shift = (2 * 4 + 4 * 12 + 4 * 12) * math.sqrt(2 / 50 * math.log(1 / 0.1))
    bound = gap_bound(players, 50, 0.1, (3, 4), "balanced")
    assert bound == pytest.approx(7 / 50 + shift)
    curve = gap_bound(players, [50, 200], 0.1, ([3, 6], [4, 8]), "external")
    assert curve[1] == pytest.approx(curve[0] / 2, rel=0.02)
    assert estimate_range(players[0], "external") == 4
    assert estimate_range(players[0], "outcome") == pytest.approx(4 / 0.09)
