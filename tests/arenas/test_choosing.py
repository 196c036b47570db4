"""choose_arena: the arena of each algorithm, and refused combinations."""

import pytest

import mccfr_spiel as ms
from mccfr_spiel.arenas.choosing import CANDIDATES, answers, choose_arena
from mccfr_spiel.arenas.evaluating import complete_table
from mccfr_spiel.arenas.hand_arena import BlockArena, HandArena
from mccfr_spiel.arenas.needs import EVALUATION, needs_of
from mccfr_spiel.arenas.request import Limits
from mccfr_spiel.arenas.rule_arena import RuleArena
from mccfr_spiel.arenas.tree_arenas import GrowingTree, WholeTree
from mccfr_spiel.arenas.world_arenas import HistoryArena, RemadeWorldArena, WorldArena

WORLDS = "python_dark_hex(num_rows=2,num_cols=2)"
RULES = "python_one_card_poker(cards=4)"
HOLDEM = (
    "python_holdem_subgame(board=Ks7d4c2s9h,pot=100,stacks=300,bets=50%,range0=AA;KK,"
    "range1=QQ;JJ)"
)

CASES = [  # game, algorithm, store, arena
    ("kuhn_poker", ms.CFR_PLUS, "auto", WholeTree),
    ("kuhn_poker", ms.EXTERNAL_SAMPLING, "auto", GrowingTree),
    ("kuhn_poker", ms.BALANCED_OUTCOME_SAMPLING, "auto", WholeTree),
    ("kuhn_poker", ms.EXTERNAL_SAMPLING, "none", RuleArena),  # over its twin
    ("kuhn_poker", ms.CFR_PLUS, "worlds", HandArena),
    (RULES, ms.EXTERNAL_SAMPLING, "auto", WholeTree),  # expanded in advance
    (RULES, ms.EXTERNAL_SAMPLING, "none", RuleArena),
    (RULES, ms.CFR, "none", HistoryArena),
    (WORLDS, ms.CFR, "auto", WholeTree),
    (WORLDS, ms.CFR, "worlds", WorldArena),
    (WORLDS, ms.CFR, "none", HistoryArena),
    (HOLDEM, ms.CFR, "auto", BlockArena),
    (HOLDEM, ms.CFR, "blocks", BlockArena),
    (HOLDEM, ms.CFR, "worlds", HandArena),
    (HOLDEM, ms.CFR._replace(alternating=False), "auto", HandArena),
    (HOLDEM, ms.CFR, "tree", WholeTree),
]


@pytest.mark.parametrize(("game", "algorithm", "store", "arena"), CASES)
def test_first_suitable_row_is_chosen(game, algorithm, store, arena):
    chosen = choose_arena(game, needs_of(algorithm), store)
    assert type(chosen) is arena
    rows = answers(ms.GameTree(game), needs_of(algorithm), store)
    assert next(name for name, reason in rows if reason is None) == chosen.name
    assert ms.Solver(game, algorithm, store=store).store == chosen.table.store


def test_worlds_are_remade_if_lists_do_not_fit(monkeypatch):
    monkeypatch.setattr("mccfr_spiel.arenas.worlds.finding._LISTED_SHARE", 0.0)
    monkeypatch.setattr("mccfr_spiel.arenas.worlds.finding._cache", {})
    arena = choose_arena(WORLDS, EVALUATION, "worlds")
    assert type(arena) is RemadeWorldArena


def test_large_trees_give_way_to_worlds_and_rules():
    few = Limits(max_nodes=20)
    assert type(choose_arena(WORLDS, needs_of(ms.CFR), limits=few)) is WorldArena
    walks = needs_of(ms.EXTERNAL_SAMPLING)
    assert type(choose_arena(RULES, walks, limits=few)) is RuleArena
    assert type(choose_arena("tic_tac_toe", walks, limits=few)) is GrowingTree


def test_error_lists_reason_of_each_arena():
    with pytest.raises(ms.TreeFullError) as caught:
        ms.Solver("tic_tac_toe", ms.CFR, max_nodes=20)
    lines = str(caught.value).splitlines()
    assert lines[0] == "tic_tac_toe() has no arena for CFR:"
    left_out = "histories", "growing tree"
    names = [name for name, *_ in CANDIDATES if name not in left_out]
    assert [line.strip().partition(":")[0] for line in lines[1:]] == names
    with pytest.raises(ValueError, match="declares no worlds") as caught:
        ms.Solver("tic_tac_toe", ms.CFR, store="worlds")
    assert not isinstance(caught.value, ms.TreeFullError)


def test_arena_can_replace_game():
    for game, algorithm, store, _ in CASES:
        arena = choose_arena(game, needs_of(algorithm), store)
        table = arena.table
        assert choose_arena(table, needs_of(algorithm)).table is table
        if table.knows_all_infosets:
            assert complete_table(table, store="auto") is table
    rules = choose_arena(RULES, needs_of(ms.EXTERNAL_SAMPLING), "none").table
    with pytest.raises(ValueError, match="needs all of them"):
        ms.Solver(rules, ms.CFR)
    worlds = choose_arena(WORLDS, EVALUATION, "worlds").table
    with pytest.raises(ValueError, match="sample and prune nothing"):
        ms.Solver(worlds, ms.EXTERNAL_SAMPLING)


def test_solvers_share_tree_that_one_completes():
    tree = ms.GameTree("leduc_poker")
    first = ms.Solver(tree, ms.EXTERNAL_SAMPLING, seed=1)
    alone = ms.Solver("leduc_poker", ms.EXTERNAL_SAMPLING, seed=1)
    first.iterate(5)
    second = ms.Solver(tree, ms.CFR)
    second.iterate(1)
    assert tree.is_complete
    assert first.tree is second.tree is tree
    first.iterate(5)
    alone.iterate(10)
    mine, theirs = first.average_policy().to_dict(), alone.average_policy().to_dict()
    assert {name: mine[name] for name in theirs} == theirs
