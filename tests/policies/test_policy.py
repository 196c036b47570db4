"""Policies on OpenSpiel's side of the border."""

import pickle

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import expected_game_score

import mccfr_spiel as ms
from mccfr_spiel import GameTree, SequencePolicy, Solver
from mccfr_spiel.arenas.policy_vectors import policy_vector
from mccfr_spiel.common.checkpoint import CheckpointError
from tests.reference import random_policy
from tests.small_games import leaf, move, small_game
from tests.vectors import GOOFSPIEL, vector_of

SIMULTANEOUS = [GOOFSPIEL, "matrix_rps", "blotto(coins=3,fields=2)"]


def policy_of(game, seed=0):
    """A random policy and the same as a SequencePolicy."""
    tree = GameTree(game).expand_all()
    probs = random_policy(tree.game, seed)
    return probs, SequencePolicy(tree, vector_of(tree, probs))


def states_of(game):
    """All decision states of a game, reached by moves."""
    stack = [game.new_initial_state()]
    while stack:
        state = stack.pop()
        if state.is_terminal():
            continue
        if state.is_simultaneous_node():
            players = range(game.num_players())
            legal = [state.legal_actions(player) for player in players]
            for joint in np.array(np.meshgrid(*legal)).reshape(len(legal), -1).T:
                child = state.clone()
                child.apply_actions(joint.tolist())
                stack.append(child)
        else:
            stack.extend(state.child(action) for action in state.legal_actions())
        if not state.is_chance_node():
            yield state


@pytest.mark.parametrize("game", SIMULTANEOUS)
def test_simultaneous_states_and_their_turns_get_the_same_probabilities(game):
    game = pyspiel.load_game(game)
    probs, policy = policy_of(game)
    assert policy.game == game
    turns = pyspiel.convert_to_turn_based(game)
    for state in states_of(turns):
        expected = probs[state.information_state_string()]
        assert policy.action_probabilities(state) == expected
    num_asked = 0
    for state in states_of(game):
        for player in range(game.num_players()):
            if not state.is_simultaneous_node() and player != state.current_player():
                continue
            name = f"Current player: {player}\n{state.information_state_string(player)}"
            assert policy.action_probabilities(state, player) == probs[name]
            num_asked += 1
    assert num_asked >= len(probs)
    start = game.new_initial_state()
    while start.is_chance_node():
        start.apply_action(start.legal_actions()[0])
    with pytest.raises(ValueError, match="player_id"):
        policy.action_probabilities(start)


def test_a_state_never_met_is_uniform():
    game = pyspiel.load_game("leduc_poker")
    solver = Solver(game, ms.OUTCOME_SAMPLING, seed=1)
    solver.iterate(3)
    policy = solver.average_policy()
    known = policy.to_dict()
    assert 0 < len(known) < 20
    met = unmet = 0
    for state in states_of(game):
        probs = policy.action_probabilities(state)
        if state.information_state_string() in known:
            met += 1
        else:
            unmet += 1
            assert set(probs.values()) == {1 / len(state.legal_actions())}
        assert list(probs) == state.legal_actions()
    assert unmet > met > 0
    # ... and stays so when the tree grows on after the snapshot
    solver.iterate(2000)
    assert policy.to_dict() == known
    gap = pytest.approx(ms.nash_conv(game, policy), abs=1e-12)
    assert pyspiel.nash_conv(game, policy.to_pyspiel(), True) == gap
    new = solver.average_policy().to_dict().keys() - known.keys()
    for state in states_of(game):
        if state.information_state_string() in new:
            probs = policy.action_probabilities(state)
            assert set(probs.values()) == {1 / len(probs)}


def test_a_state_of_another_game_is_refused():
    _, policy = policy_of("kuhn_poker")
    other = pyspiel.load_game("leduc_poker").new_initial_state().child(0).child(1)
    with pytest.raises(ValueError, match=r"kuhn_poker.*leduc_poker"):
        policy.action_probabilities(other)
    three = pyspiel.load_game("kuhn_poker(players=3)").new_initial_state()
    with pytest.raises(ValueError, match="players=3"):
        policy.action_probabilities(three.child(0).child(1).child(2))
    again = pyspiel.load_game("kuhn_poker").new_initial_state().child(0).child(1)
    assert len(policy.action_probabilities(again)) == 2


# --- on disk -------------------------------------------------------------------


@pytest.fixture(params=["kuhn_poker", "leduc_poker", "matrix_rps", GOOFSPIEL])
def saved(request, tmp_path):
    """A policy of a tree that was grown in part where it is large, and its file."""
    solver = Solver(request.param, ms.EXTERNAL_SAMPLING, seed=2)
    solver.iterate(5)
    policy = solver.average_policy()
    solver.iterate(50)  # the tree grows on
    policy.save(tmp_path / "policy")
    return policy, tmp_path / "policy"


def test_a_saved_policy_is_the_same_when_loaded(saved):
    policy, path = saved
    game = policy.game
    loaded = SequencePolicy.load(path)
    assert loaded.to_dict() == policy.to_dict()
    assert loaded.vector.tobytes() == policy.vector.tobytes()
    assert loaded.info_states == policy.info_states
    assert loaded.num_infosets == policy.num_infosets
    assert loaded.state_lookup == policy.state_lookup
    for state in states_of(game):
        for player in range(game.num_players()):
            if state.is_simultaneous_node() or player == state.current_player():
                mine = policy.action_probabilities(state, player)
                assert loaded.action_probabilities(state, player) == mine
    mine, theirs = policy.to_tabular(), loaded.to_tabular()
    assert (mine.action_probability_array == theirs.action_probability_array).all()
    gap = pytest.approx(ms.nash_conv(game, policy), abs=1e-12)
    assert ms.nash_conv(game, loaded) == gap
    tree = GameTree(game).expand_all()
    assert (policy_vector(tree, loaded) == policy_vector(tree, policy)).all()
    assert pickle.loads(pickle.dumps(loaded)).to_dict() == policy.to_dict()
    loaded.save(path)
    assert SequencePolicy.load(path, game).to_dict() == policy.to_dict()
    assert [file.name for file in path.parent.iterdir()] == ["policy"]


def test_policy_files_of_something_else_are_refused_in_words(tmp_path):
    path = tmp_path / "policy"
    solver = Solver("kuhn_poker")
    solver.save(path)
    with pytest.raises(CheckpointError, match=r"not a policy.* but a checkpoint of a"):
        SequencePolicy.load(path)
    _, policy = policy_of("kuhn_poker")
    policy.save(path)
    with pytest.raises(CheckpointError, match=r"not a checkpoint.* but a policy that"):
        Solver.load(path)
    with pytest.raises(CheckpointError, match=r"for kuhn_poker\(\), not for leduc"):
        SequencePolicy.load(path, "leduc_poker")
    with pytest.raises(ValueError, match="neither a pyspiel"):
        SequencePolicy.load(path, 3)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        SequencePolicy.load(tmp_path / "nothing")
    doubled = SequencePolicy(GameTree("kuhn_poker").expand_all(), 2 * policy.vector)
    with pytest.raises(ValueError, match="no distribution"):
        doubled.save(path)


def test_a_policy_of_a_game_whose_rules_changed_is_refused_where_it_shows(tmp_path):
    def game_of(*leaves):
        return small_game(move(0, "start", *leaves), name="changing")

    tree = GameTree(game_of(leaf(0, 0), leaf(1, 1))).expand_all()
    SequencePolicy(tree, np.array([1, 1, 0.5, 0.5])).save(tmp_path / "policy")
    game = game_of(leaf(0, 0), leaf(1, 1), leaf(2, 2))
    policy = SequencePolicy.load(tmp_path / "policy", game)
    with pytest.raises(ValueError, match=r"knows 2 legal actions.* has 3"):
        policy.action_probabilities(game.new_initial_state())


# --- tables ------------------------------------------------------------------

SHARED = [
    "goofspiel(num_cards=3)",
    "goofspiel(num_cards=2,imp_info=True,points_order=ascending)",
    "matrix_rps",
    "blotto(coins=3,fields=2)",
]


def policy_for(game, seed=0):
    """A random policy, different for each player, of a game."""
    tree = ms.GameTree(game).expand_all()
    return ms.SequencePolicy(tree, vector_of(tree, random_policy(tree.game, seed)))


def decisions(game):
    """(state, player) for all that somebody decides in a game."""
    for state in states_of(game):
        if state.is_simultaneous_node():
            yield from ((state, player) for player in range(game.num_players()))
        else:
            yield state, state.current_player()


@pytest.mark.parametrize("game", SHARED)
def test_a_table_gives_each_player_what_the_policy_does(game):
    game = pyspiel.load_game(game)
    policy = policy_for(game)
    table = policy.to_tabular()
    copied = pickle.loads(pickle.dumps(table))
    for state, player in decisions(game):
        mine = policy.action_probabilities(state, player)
        assert table.action_probabilities(state, player) == mine
        assert copied.action_probabilities(state, player) == mine
    start = game.new_initial_state()
    if not start.is_chance_node():
        theirs = expected_game_score.policy_value(start, table)
        assert theirs == pytest.approx(ms.expected_returns(game, policy), abs=1e-12)
    gap = pytest.approx(ms.nash_conv(game, policy), abs=1e-12)
    assert ms.nash_conv(game, table) == gap


@pytest.mark.parametrize("game", ["matrix_rps", "goofspiel(num_cards=3)"])
def test_a_compiled_table_is_right_in_the_simultaneous_game_or_refused(game):
    game = pyspiel.load_game(game)
    policy = policy_for(game)
    names: list[set[str]] = [set(), set()]
    for state, player in decisions(game):
        names[player].add(state.information_state_string(player))
    if names[0] & names[1]:
        with pytest.raises(ValueError, match="More than one player"):
            policy.to_pyspiel()
        return
    compiled = policy.to_pyspiel()
    theirs = pyspiel.expected_returns(game.new_initial_state(), compiled, -1, False)
    assert theirs == pytest.approx(ms.expected_returns(game, policy), abs=1e-12)
