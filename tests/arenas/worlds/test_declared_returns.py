"""The search for worlds refuses wrong declarations."""

import numpy as np
import pyspiel
import pytest

from mccfr_spiel.arenas.rules import GameError, compiled
from mccfr_spiel.arenas.rules.bound_rules import BoundRules
from mccfr_spiel.arenas.tree.twin_choice import known_twin
from mccfr_spiel.arenas.worlds import checking, finding
from mccfr_spiel.arenas.worlds.world_lists import gradient_from
from mccfr_spiel.common.budget import Budget

BUDGET = Budget(2**28)


def dice(**changes):
    """The rules of liar's dice with other declarations."""
    rules = known_twin(pyspiel.load_game("liars_dice(dice_sides=3)"))
    assert rules is not None
    description = rules.description._replace(**changes)
    return BoundRules(description, rules.parameters)


@compiled
def one_class(settings, state, player):
    return 0


@compiled
def long_key(settings, state, key):
    return 1000


def uniform_returns(found):
    gradient_of = gradient_from(found.worlds)
    return checking.uniform_returns(gradient_of, found.infosets, len(found.actions))


def gradient_of_ones(worlds):
    return gradient_from(checking.paying_one(worlds))


def test_correct_declaration_is_accepted():
    found = finding.find_worlds(dice(), BUDGET)
    assert isinstance(found.worlds, finding.Leaves)
    returns = uniform_returns(found)
    assert returns.sum() == pytest.approx(0, abs=1e-12)


def test_constant_class_is_refused_with_a_history():
    with pytest.raises(GameError, match=r"after the history \[.*but the game returns"):
        finding.find_worlds(dice(leaf_class=one_class), BUDGET)


def test_class_off_by_one_is_refused():
    shifted = dice().description.leaf_class

    @compiled
    def next_class(settings, state, player):
        return shifted(settings, state, player) + 1

    with pytest.raises(GameError, match="Correct leaf_class or class_returns"):
        finding.find_worlds(dice(leaf_class=next_class), BUDGET)


def test_world_key_longer_than_declared_is_refused():
    with pytest.raises(GameError, match=r"length 1000 after the history \[\]"):
        finding.find_worlds(dice(world_key=long_key), BUDGET)


def test_entries_in_a_wrong_block_are_refused():
    found = finding.find_worlds(dice(), BUDGET)
    leaves, infosets = found.worlds, found.infosets
    assert isinstance(leaves, finding.Leaves)
    steps = leaves.steps.copy()
    steps[::7] = 1  # some of player 0's and player 1's leaves
    broken, size = leaves._replace(steps=steps), len(found.actions)
    rest = infosets, size, BUDGET, "liars_dice"
    with pytest.raises(GameError, match="expected 1"):
        checking.check_probabilities(gradient_of_ones(broken), *rest)
    checking.check_probabilities(gradient_of_ones(leaves), *rest)


def test_uniform_returns_equal_openspiel():
    found = finding.find_worlds(dice(), BUDGET)
    assert isinstance(found.worlds, finding.Leaves)
    returns = uniform_returns(found)
    game = pyspiel.load_game("liars_dice(dice_sides=3)")
    policy = pyspiel.UniformRandomPolicy(game)
    expected = pyspiel.expected_returns(game.new_initial_state(), policy, -1, True)
    assert returns == pytest.approx(np.array(expected), abs=1e-12)
