"""Walks over compiled twins, which store no node, compute what walks over trees do.

The trees are expanded through pyspiel, and the strings are pyspiel's. Only the places
of draws are those of walks over the twin.
"""

import importlib
import itertools
import time
from unittest import mock

import pyspiel
import pytest

import mccfr_spiel as ms
from mccfr_spiel import GameTree, Solver
from mccfr_spiel.arenas.infosets.names import KeyNames
from mccfr_spiel.arenas.infosets.walk_sizes import WalkTooLargeError
from mccfr_spiel.arenas.rule_arena import RuleArena
from mccfr_spiel.arenas.tree import twin_choice
from mccfr_spiel.arenas.tree.twin_choice import TwinWarning
from tests.arenas.rules.test_rule_walks import ALGORITHMS
from tests.arenas.rules.twins.broken import broken, take_places_from_keys
from tests.test_solver import assert_equal_bit_for_bit
from tests.vectors import LEDUC, tables_by_name

importlib.import_module("mccfr_spiel.games")

KUHN = "kuhn_poker(players=3)"
DICE = "liars_dice(dice_sides=3)"
GOOFSPIEL = "goofspiel(num_cards=3,imp_info=True)"
HEX = "dark_hex(num_rows=2,num_cols=2,gameversion=adh)"
GAMES = [KUHN, LEDUC, DICE, GOOFSPIEL, HEX]
LARGE = "goofspiel(num_cards=7,imp_info=True,points_order=descending)"


NAMES = (
    *("external", "outcome", "chance", "average_strategy", "ftrl_external"),
    *("opponent", "baseline", "batches", "plus_external", "omd_outcome"),
)


# --- the same bits --------------------------------------------------------------


@pytest.fixture
def same_draws(monkeypatch):
    take_places_from_keys(monkeypatch)


@pytest.mark.usefixtures("same_draws")
@pytest.mark.parametrize(
    ("name", "game"), [*zip(NAMES, itertools.cycle(GAMES), strict=False)]
)
def test_walks_over_twins_have_the_bits_of_walks_over_trees(game, name):
    algorithm = ALGORITHMS[name]
    whole = Solver(GameTree(game, twin=False).expand_all(), algorithm, seed=5)
    walking = Solver(game, algorithm, seed=5, store="none")
    assert (whole.store, walking.store) == ("tree", "none")
    for more in (1, 2, 20):
        whole.iterate(more)
        walking.iterate(more)
        assert walking.nodes_touched == whole.nodes_touched
    mine, theirs = tables_by_name(walking), tables_by_name(whole)
    assert mine == {info_state: theirs[info_state] for info_state in mine}
    assert len(mine) > 9
    assert_equal_bit_for_bit(walking, whole)
    assert walking.tree.num_nodes == 1


# --- which is chosen --------------------------------------------------------------


@pytest.mark.compiled
def test_a_twin_is_walked_over_by_itself_where_a_tree_does_not_fit(monkeypatch):
    compared = mock.Mock(side_effect=twin_choice.difference_to)
    monkeypatch.setattr(twin_choice, "difference_to", compared)
    solver = Solver(LARGE, ms.OUTCOME_SAMPLING, seed=3, max_memory="1GiB")
    assert solver.store == "none"
    assert compared.call_count == 1
    solver.iterate(5)
    through = Solver(LARGE, ms.OUTCOME_SAMPLING, seed=3, twin=False)
    assert through.store == "tree"
    through.iterate(5)
    # Small trees grow through pyspiel, unless the twin is asked for.
    assert Solver(KUHN).tree.num_nodes == 1
    assert Solver(KUHN).store == "tree"
    asked = Solver(KUHN, twin=True)
    assert asked.tree.is_complete
    assert isinstance(asked.tree.infoset_names, KeyNames)
    assert Solver(KUHN, max_nodes=100, twin=True).store == "none"


def test_what_has_no_twin_is_refused_without_a_tree():
    with pytest.raises(ValueError, match=r"no compiled rules but those of its twin"):
        Solver(KUHN, store="none", twin=False)
    with pytest.raises(ValueError, match=r"has an abstraction"):
        Solver(KUHN, store="none", abstraction=pyspiel.State.information_state_string)


def test_a_twin_that_differs_is_not_walked_over(monkeypatch):
    monkeypatch.setattr(twin_choice, "twin_of", broken)
    monkeypatch.setitem(twin_choice.LEAST_NODES, "walking", 10)
    with pytest.warns(TwinWarning, match="returns are"):
        assert Solver("kuhn_poker").store == "tree"
    with (
        pytest.warns(TwinWarning),
        pytest.raises(ValueError, match=r"kuhn_poker.* its twin, which differs"),
    ):
        Solver("kuhn_poker", store="none")


@pytest.mark.compiled
def test_a_first_walk_that_cannot_fit_is_refused_early():
    solver = Solver("battleship", ms.EXTERNAL_SAMPLING, seed=3, max_memory="1GiB")
    with pytest.raises(WalkTooLargeError, match=r"surely meets more information sets"):
        solver.iterate(1)
    assert isinstance(solver.arena, RuleArena)
    store = solver.arena.known
    assert 0 < store.bytes_used() < 2**30 / 16
    assert solver.num_iterations == 0
    solver.average_policy()


HUGE = "goofspiel(num_cards=13,imp_info=True)"
"""A walk that follows all of a player's actions meets 1.7e10 information sets: the sum
of 13! / (13 - k)! over the turns k."""


@pytest.mark.compiled
@pytest.mark.parametrize(
    "algorithm",
    [
        ms.EXTERNAL_SAMPLING,
        ms.CHANCE_SAMPLING,
        ms.OPPONENT_SAMPLING,
        ms.AVERAGE_STRATEGY_SAMPLING,
    ],
    ids=str,
)
def test_a_huge_walk_is_refused_within_seconds_at_any_max_memory(algorithm):
    small = Solver("goofspiel(num_cards=4,imp_info=True)", algorithm, store="none")
    small.iterate(1)  # compiles
    for max_memory in ("300MiB", "16GiB", "4TB"):  # the last one is no machine's
        solver = Solver(HUGE, algorithm, max_memory=max_memory)
        assert solver.store == "none"
        began = time.process_time()
        with pytest.raises(WalkTooLargeError, match="surely"):
            solver.iterate(1)
        assert time.process_time() - began < 10
        assert solver.tree.known.bytes_used() < 2**28
