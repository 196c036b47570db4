"""Information-state strings that begin with NUL, and strings that two players share."""

import re

import numpy as np
import pytest
from open_spiel.python.algorithms import exploitability

import mccfr_spiel as ms
from tests import small_games
from tests.small_games import Tree, chance, leaf, move, small_game

ODD = [("\0", "\0x"), ("a", "\0001\0a"), ("\0000\0\0", "\0001\0\0")]


def game_with(mine: str, theirs: str):
    """Player 1 does not see player 0's move; chance picks one of two such games, of
    which in the second player 1's string is "a"."""

    def matching(name: str, scale: float) -> Tree:
        replies = [
            move(1, name, leaf(scale, -scale), leaf(-2 * scale, 2 * scale)),
            move(1, name, leaf(-scale, scale), leaf(3 * scale, -3 * scale)),
        ]
        return move(0, mine + name, *replies)

    return small_game(
        chance((0.25, matching(theirs, 1.0)), (0.75, matching(f"{theirs}a", 2.0))),
        name="odd_strings",
    )


def shared_game(mine: str, theirs: str):
    replies = [
        move(1, theirs, leaf(1.0, -1.0), leaf(-2.0, 2.0)),
        move(1, theirs, leaf(-1.0, 1.0), leaf(3.0, -3.0)),
    ]
    return small_game(move(0, mine, *replies), name="shared")


class _NeedsPlayer(small_games._SmallState):
    def information_state_string(self, player):  # pyright: ignore
        assert player == self.current_player()
        return self.tree.info_state


def game_that_needs_the_player(mine: str, theirs: str):
    """Its information_state_string has to be given the player, as Python games may."""
    game = game_with(mine, theirs)
    game.new_initial_state = lambda: _NeedsPlayer(game, game.root)
    return game


@pytest.fixture(params=[game_with, shared_game, game_that_needs_the_player])
def make(request):
    return request.param


@pytest.mark.parametrize("strings", ODD)
def test_policies_and_solvers_come_back_from_files_as_they_were(
    make, strings, tmp_path
):
    game = make(*strings)
    whole = ms.GameTree(game).expand_all()
    rng = np.random.default_rng(1)
    share = rng.random(whole.num_infosets)
    vector = np.ones(whole.num_sequences)
    vector[2:] = np.stack((share, 1 - share), axis=1).ravel()
    policy = ms.SequencePolicy(whole, vector)
    policy.save(tmp_path / "policy")
    loaded = ms.SequencePolicy.load(tmp_path / "policy", game)
    conv = exploitability.nash_conv(game, policy)
    assert ms.nash_conv(game, policy) == pytest.approx(conv, abs=1e-12)
    assert ms.nash_conv(game, loaded) == pytest.approx(conv, abs=1e-12)
    assert exploitability.nash_conv(game, loaded) == pytest.approx(conv, abs=1e-12)
    for algorithm in (ms.EXTERNAL_SAMPLING, ms.CFR):
        solver = ms.Solver(game, algorithm, seed=1)
        solver.iterate(20)
        solver.save(tmp_path / "solver")
        other = ms.Solver.load(tmp_path / "solver", game)
        solver.iterate(20)
        other.iterate(20)
        assert (solver.average_vector() == other.average_vector()).all()
        assert solver.tree.info_states == other.tree.info_states
        average = solver.average_policy()
        assert ms.nash_conv(game, average) == pytest.approx(
            exploitability.nash_conv(game, average), abs=1e-12
        )


@pytest.mark.parametrize("odd", ["x\ud800y", "\udc80"])
def test_a_string_with_a_lone_surrogate_is_refused_by_its_name(odd):
    words = re.escape(f"{odd!r} of player 0 has a lone surrogate")
    game = shared_game(odd, "b")
    for algorithm in (ms.CFR, ms.EXTERNAL_SAMPLING):
        with pytest.raises(ValueError, match=words):
            ms.Solver(game, algorithm).iterate(3)
    with pytest.raises(ValueError, match=words):
        ms.Solver("kuhn_poker", ms.CFR, abstraction=lambda *_: odd).iterate(1)
