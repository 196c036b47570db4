"""A tree in numbers."""

import pyspiel
import pytest

import mccfr_spiel as ms

GOOFSPIEL = "goofspiel(num_cards=3,imp_info=True,points_order=descending)"
GAMES = ["kuhn_poker", "kuhn_poker(players=3)", "leduc_poker", GOOFSPIEL]


def histories(game):
    """All states of a game, depth first, by OpenSpiel alone."""
    if game.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        game = pyspiel.convert_to_turn_based(game)
    stack = [game.new_initial_state()]
    while stack:
        state = stack.pop()
        yield state
        if not state.is_terminal():
            actions = reversed(state.legal_actions())
            stack.extend(state.child(action) for action in actions)


@pytest.mark.parametrize("name", GAMES)
def test_the_numbers_are_those_that_openspiel_counts(name):
    game = pyspiel.load_game(name)
    states = list(histories(game))
    found = ms.GameTree(game).expand_all().describe()
    assert found.num_nodes == len(states)
    assert found.chance_nodes == sum(s.is_chance_node() for s in states)
    assert found.terminal_nodes == sum(s.is_terminal() for s in states)
    assert found.decision_nodes == sum(s.current_player() >= 0 for s in states)
    assert found.unexpanded_nodes == 0
    assert found.depth == max(len(s.history()) for s in states)
    for player in range(game.num_players()):
        actions = {
            s.information_state_string(player): len(s.legal_actions())
            for s in states
            if s.current_player() == player
        }
        assert found.infosets[player] == len(actions)
        assert found.sequences[player] == 1 + sum(actions.values())
    assert found.is_complete
    assert "the whole tree" in str(found)


def test_a_tree_that_grows_says_how_much_was_not_looked_at():
    solver = ms.Solver("leduc_poker", ms.EXTERNAL_SAMPLING)
    assert repr(solver.tree) == (
        "<GameTree: Leduc Poker, 1 node, 0 infosets, nothing expanded yet>"
    )
    solver.iterate(1)
    found = solver.tree.describe()
    assert not found.is_complete
    assert found.unexpanded_nodes > 0
    assert found.num_nodes == sum(found[2:6])
    assert "as far as met" in repr(solver.tree)
    assert "not expanded yet" in repr(found)
    before = solver.tree.num_nodes
    solver.tree._repr_html_()
    assert solver.tree.num_nodes == before
