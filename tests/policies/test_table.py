"""A policy as a table and as a dictionary, compared with OpenSpiel's states."""

import pyspiel
import pytest

import mccfr_spiel as ms
from tests.small_games import leaf, move, small_game

GOOFSPIEL = "goofspiel(num_cards=3,imp_info=True,points_order=descending)"
GAMES = ["kuhn_poker", "kuhn_poker(players=3)", "leduc_poker", GOOFSPIEL]


def solved(game, algorithm=ms.EXTERNAL_SAMPLING, iterations=200):
    solver = ms.Solver(game, algorithm, seed=1)
    solver.iterate(iterations)
    return solver.average_policy()


def rows_by_openspiel(policy):
    """(player, string) -> action names and reach, in depth-first order."""
    rows = {}

    def walk(state, reach):
        if state.is_terminal():
            return
        if state.is_chance_node():
            moves = dict(state.chance_outcomes())
        else:
            player = state.current_player()
            moves = policy.action_probabilities(state)
            key = (player, state.information_state_string(player))
            names = tuple(state.action_to_string(player, a) for a in moves)
            before = rows.get(key, (names, 0.0))[1]
            rows[key] = names, before + reach
        for action, probability in moves.items():
            walk(state.child(action), reach * probability)

    walk(policy.turn_based_game.new_initial_state(), 1.0)
    return rows


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("algorithm", [ms.CFR, ms.OUTCOME_SAMPLING])
def test_rows_have_openspiels_names_reaches_and_order(name, algorithm):
    policy = solved(name, algorithm, 20)
    table = policy.table()
    expected = rows_by_openspiel(policy)
    keys = [(row.player, row.info_state) for row in table]
    assert len(table) == len(policy)
    assert keys == [key for key in expected if key in set(keys)]
    for row in table:
        names, reach = expected[row.player, row.info_state]
        assert row.names == names
        assert row.reach == pytest.approx(reach, abs=1e-12)
        assert (
            dict(zip(row.actions, row.probabilities, strict=True))
            == (policy[row.info_state])
        )


# --- a policy as a dictionary -----------------------------------------------------


@pytest.mark.parametrize("name", [*GAMES, "goofspiel(num_cards=3)"])
def test_policy_equals_its_dictionary(name):
    policy = solved(name, ms.EXTERNAL_SAMPLING, 30)
    expected = policy.to_dict()
    assert len(policy) == len(expected)
    assert list(policy) == list(expected) == [*reversed(policy)][::-1]
    assert dict(policy) == dict(policy.items()) == expected
    assert all(info_state in policy for info_state in expected)


def test_shared_strings_need_a_player():
    ends = [leaf(value, -value) for value in (1.0, -1.0, 0.0)]
    game = small_game(move(0, "same", ends[0], move(1, "same", ends[1], ends[2])))
    policy = solved(game, ms.CFR, 3)
    assert [*policy] == [*policy.to_dict()] == ["player 0: same", "player 1: same"]
    assert dict(policy) == policy.to_dict()
    assert "same" not in policy
    with pytest.raises(KeyError, match="'player 0: same' or 'player 1: same'"):
        policy["same"]


def test_unknown_string_is_a_key_error_with_suggestions():
    policy = solved("kuhn_poker", ms.CFR, 3)
    assert "0bp" not in policy
    with pytest.raises(KeyError, match=r"Unknown .*'0bp'.*Did you mean .*'0pb'"):
        policy["0bp"]
    assert 3 not in policy
    with pytest.raises(KeyError, match=r"action_probabilities\(state\)"):
        policy[3]  # pyright: ignore[reportArgumentType]


def test_pyspiel_does_not_read_a_policy_as_a_table():
    policy = solved("kuhn_poker")
    with pytest.raises(TypeError):
        pyspiel.nash_conv(pyspiel.load_game("kuhn_poker"), policy)
