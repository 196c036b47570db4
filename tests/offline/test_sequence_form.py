"""The sequence form against pyspiel's expected values and best responses."""

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as policy_lib
from open_spiel.python.algorithms import expected_game_score

from mccfr_spiel.offline.sequence_form import (
    joint_vector,
    plan_to_policy,
    policy_to_plan,
    saddle_point_gap,
    sequence_form,
)

GOOFSPIEL = "goofspiel(num_cards=4,imp_info=True,points_order=descending,players=2)"
GAMES = [
    "kuhn_poker",
    "leduc_poker(suit_isomorphism=True)",
    "matrix_rps",
    "matrix_mp",
    GOOFSPIEL,
]


def random_policies(form, seed):
    """A random policy `[m]` for each player, some entries 0."""
    rng = np.random.default_rng(seed)
    policies = []
    for plex in form.treeplexes:
        weights = rng.random(plex.num_sequences) * (
            rng.random(plex.num_sequences) < 0.8
        )
        policies.append(plan_to_policy(plex, weights))
    return policies


def tabular(form, policies):
    """The same as OpenSpiel's tabular policy on the turn-based game."""
    tree = form.tree
    vector = joint_vector(form, tuple(policies))
    table = policy_lib.TabularPolicy(tree.game)
    for info_state, row in table.state_lookup.items():
        infoset = tree.find(info_state)
        start = tree.infosets["first_sequence"][infoset]
        stop = start + tree.infosets["num_actions"][infoset]
        table.action_probability_array[row] = 0
        table.action_probability_array[row, tree.actions[start:stop]] = vector[
            start:stop
        ]
    return table


@pytest.mark.parametrize("name", GAMES)
def test_bilinear_form_is_openspiels_expected_value(name):
    form = sequence_form(name)
    policies = random_policies(form, seed=1)
    x, y = map(policy_to_plan, form.treeplexes, policies)
    table = tabular(form, policies)
    values = expected_game_score.policy_value(
        form.tree.game.new_initial_state(), [table, table]
    )
    assert x @ (form.payoffs @ y) == pytest.approx(values[0], abs=1e-12)
    assert form.constant - x @ (form.payoffs @ y) == pytest.approx(values[1], abs=1e-12)


@pytest.mark.parametrize("name", GAMES)
def test_saddle_point_gap_is_openspiels_nash_conv(name):
    form = sequence_form(name)
    policies = random_policies(form, seed=2)
    plans = map(policy_to_plan, form.treeplexes, policies)
    table = policy_lib.python_policy_to_pyspiel_policy(tabular(form, policies))
    expected = pyspiel.nash_conv(form.tree.game, table)
    assert saddle_point_gap(form, *plans) == pytest.approx(expected, abs=1e-12)
