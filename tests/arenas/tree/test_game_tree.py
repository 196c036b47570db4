"""The tree in arrays: its size, its numbering, and the games it refuses."""

import itertools

import numpy as np
import pyspiel
import pytest

import mccfr_spiel as ms
from mccfr_spiel import GameTree, Solver
from mccfr_spiel.common.arrays import CHANCE_NODE, TERMINAL
from tests.small_games import chance, leaf, move, named, small_game
from tests.vectors import GOOFSPIEL, KUHN_3, LEDUC

GAMES = (
    *("kuhn_poker", KUHN_3, LEDUC, GOOFSPIEL, "uneven_deal", "three_players"),
    *("first_sealed_auction(max_value=4)", "matrix_rps"),
)


@pytest.mark.parametrize("game", GAMES)
def test_every_node_is_the_state_that_its_moves_lead_to(game):
    tree = GameTree(named(game)).expand_all()
    stack = [(0, tree.game.new_initial_state(), list(range(tree.num_players)))]
    num_visited = 0
    while stack:
        node, state, sequences = stack.pop()
        num_visited += 1
        first, start, infoset, count, player = tree.nodes[node].item()
        if state.is_terminal():
            assert (player, count) == (TERMINAL, 0)
            assert tree.utilities[start].tolist() == state.returns()
            continue
        if state.is_chance_node():
            assert player == CHANCE_NODE
            actions, probs = zip(*state.chance_outcomes(), strict=True)
            assert tree.chance_probs[start : start + count].tolist() == list(probs)
            cdf = tree.chance_cdf[start : start + count]
            assert cdf == pytest.approx(np.cumsum(probs), abs=1e-15)
            assert cdf[-1] == 1
        else:
            actions = state.legal_actions()
            assert player == state.current_player()
            assert tree.info_state(infoset) == state.information_state_string()
            assert tree.actions[start : start + count].tolist() == actions
            assert tree.infosets[infoset]["parent"] == sequences[player]
        assert count == len(actions)
        for child, action in enumerate(actions):
            led = list(sequences)
            if player >= 0:
                led[player] = start + child
            stack.append((first + child, state.child(action), led))
    assert num_visited == tree.num_nodes


# --- bad input ---------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["cfr", "external_sampling", "outcome_sampling"])
def test_imperfect_recall_is_refused_by_every_algorithm(algorithm):
    def second(first):
        return move(0, "forgot", leaf(first, -first), leaf(1.0 - first, first - 1.0))

    game = small_game(move(0, "0", second(0.0), second(1.0)), name="forgetful")
    with pytest.raises(ValueError, match=r"'forgot' of forgetful.*imperfect recall"):
        solver = Solver(game, ms.ALGORITHMS[algorithm], seed=1)
        solver.iterate(50)


def ends(count=2):
    return [leaf(float(k), -float(k)) for k in range(count)]


@pytest.mark.parametrize(
    ("root", "named"),
    [
        (
            chance((0.5, move(0, "s", *ends(2))), (0.5, move(0, "s", *ends(3)))),
            r"'s'.*different legal actions: (\[0, 1, 2\]|\[0, 1\]) and \[0, 1",
        ),
        (
            chance(
                (0.5, move(0, "s", *ends(2))),
                (0.5, move(0, "s", *ends(2), actions=(1, 2))),
            ),
            r"'s'.*different legal actions: \[[01], [12]\] and \[[01], [12]\]",
        ),
        (move(0, "stuck"), "no legal action.*'stuck'"),
        (
            chance((0.5, leaf(0, 0)), (0.4, leaf(0, 0))),
            r"no distribution: \(0.5, 0.4\)",
        ),
        (chance((1.5, leaf(0, 0)), (-0.5, leaf(0, 0))), "no distribution"),
    ],
)
def test_a_broken_game_is_refused_where_it_breaks(root, named):
    game = small_game(root, name="broken")
    with pytest.raises(ValueError, match=named) as error:
        GameTree(game).expand_all()
    assert "broken" in str(error.value)
    with pytest.raises(ValueError, match=named):
        Solver(game, ms.EXTERNAL_SAMPLING).iterate(50)


def test_a_tree_beyond_max_nodes_is_refused_with_the_way_out():
    assert GameTree("kuhn_poker", max_nodes=58).expand_all().num_nodes == 58
    for game in ("kuhn_poker", "leduc_poker"):
        with pytest.raises(ValueError, match=r"max_nodes=57.*external or outcome"):
            Solver(game, ms.CFR, max_nodes=57, store="tree")


# --- unusual games -----------------------------------------------------------


@pytest.mark.compiled
@pytest.mark.parametrize("algorithm", ["cfr", "external_sampling"])
def test_one_player_learns_the_best_move(algorithm):
    a, b = (move(0, "ab"[n], *map(leaf, (0.0, 1.0, 2.0)[: n + 2])) for n in (0, 1))
    root = move(0, "0", chance((0.25, a), (0.75, b)), leaf(1.5))
    game = small_game(root, num_players=1, name="solo")
    solver = Solver(game, ms.ALGORITHMS[algorithm], seed=2)
    solver.iterate(3000)
    policy = solver.average_policy()
    assert ms.nash_conv(game, policy) < 0.05
    assert ms.expected_returns(game, policy)[0] == pytest.approx(1.75, abs=0.05)


@pytest.mark.parametrize("algorithm", [*ms.ALGORITHMS][::3])
def test_games_with_little_to_decide_run(algorithm):
    roots = [
        leaf(1.0, -1.0),
        chance((1.0, leaf(1.0, -1.0))),
        move(0, "0", leaf(1.0, -1.0)),
        chance((0.0, move(0, "never", *ends())), (1.0, move(1, "1", *ends()))),
    ]
    for root, iterations in itertools.product(roots, [0, 3]):
        game = small_game(root, name="tiny")
        solver = Solver(game, ms.ALGORITHMS[algorithm])
        solver.iterate(iterations)
        assert solver.num_iterations == iterations
        conv = ms.nash_conv(game, solver.average_policy())
        assert 0 <= conv <= 1
        assert ms.expected_returns(game, solver.average_policy()).sum() == 0


# --- a tree in numbers -------------------------------------------------------

DESCENDING = "goofspiel(num_cards=3,imp_info=True,points_order=descending)"
COUNTED = ["kuhn_poker", "kuhn_poker(players=3)", "leduc_poker", DESCENDING]


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


@pytest.mark.parametrize("name", COUNTED)
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
