"""Saved trees: equal to expanded ones in all they do, and of no other game."""

import os
import pathlib
import resource
import subprocess
import sys
import time

import numpy as np
import pyspiel
import pytest

import mccfr_spiel as ms
from mccfr_spiel import CheckpointError, GameTree, load_tree, save_tree
from mccfr_spiel.arenas.evaluating import full_pass
from mccfr_spiel.experiments.trees import shared_tree
from tests.small_games import leaf, move, small_game

pytestmark = pytest.mark.compiled

SIMULTANEOUS = "goofspiel(num_cards=3,imp_info=True,points_order=random)"
STRINGS = ["kuhn_poker(players=3)", "leduc_poker", SIMULTANEOUS]
RULES = ["python_goofspiel(num_cards=3)", "python_one_card_poker(cards=6)"]
GAMES = [*STRINGS, *RULES]
KUHN = "kuhn_poker"
ROOT = pathlib.Path(ms.__file__).parents[1]


def assert_equal_trees(tree, whole):
    assert tree.digest() == whole.digest()
    assert (tree.nodes == whole.nodes).all()
    assert (tree.infosets == whole.infosets).all()
    for name in ("actions", "chance_probs", "chance_cdf", "utilities"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(whole, name))
    for ours, theirs in zip(
        full_pass(tree).arrays, full_pass(whole).arrays, strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
    assert tree.info_states == whole.info_states
    assert tree.info_states == whole.info_states
    assert tree.shared_strings == whole.shared_strings
    players = whole.infosets["player"].tolist()
    for infoset, name in enumerate(whole.info_states):
        assert tree.find(name) == whole.find(name)
        assert tree.find(name, players[infoset]) == infoset
        assert tree.info_state(infoset) == name
    assert tree.find("no such state") == tree.find("no such state", 1) == -1


def saved(game, folder):
    save_tree(GameTree(game).expand_all(), folder)
    return folder


@pytest.mark.parametrize("game", GAMES)
def test_a_loaded_tree_is_the_expanded_one(game, tmp_path, expansions):
    path = saved(game, tmp_path / "trees" / "one")
    assert len(expansions) == 1
    whole = GameTree(game).expand_all()
    for tree in (load_tree(path), load_tree(path, pyspiel.load_game(game))):
        assert tree.is_complete
        assert type(tree.nodes) is np.ndarray
        assert_equal_trees(tree, whole)
        for node in {0, 1, tree.num_nodes // 2, tree.num_nodes - 1}:
            state, sequences = tree.state_at(node)
            expected, same = whole.state_at(node)
            assert (state.history(), sequences) == (expected.history(), same)
    assert len(expansions) == 2  # the second is this test's own


def test_a_solver_runs_on_a_loaded_tree_with_the_same_bits(tmp_path):
    vectors = []
    for game in (load_tree(saved("leduc_poker", tmp_path / "tree")), "leduc_poker"):
        solver = ms.Solver(game, ms.CFR_PLUS)
        solver.iterate(5)
        vectors.append(solver.average_vector())
    np.testing.assert_array_equal(*vectors)


def test_what_one_process_writes_stays_its_own(tmp_path):
    path = saved(KUHN, tmp_path / "tree")
    load_tree(path).utilities[:] = 7
    assert_equal_trees(load_tree(path), GameTree(KUHN).expand_all())


# --- what is refused ---------------------------------------------------------


@pytest.mark.parametrize("damage", ["cut", "no header", "missing", "no game"])
def test_a_tree_that_cannot_be_read_is_refused(damage, tmp_path):
    path = saved(KUHN, tmp_path / "tree")
    nodes = path / "nodes.npy"
    if damage == "cut":
        os.truncate(nodes, nodes.stat().st_size - 16)
    elif damage == "no header":
        nodes.write_bytes(b"chapter 1")
    elif damage == "missing":
        nodes.unlink()
    else:
        (path / "tree.json").unlink()
    with pytest.raises(CheckpointError, match=r"cannot be read|has no tree"):
        load_tree(path)


def test_a_tree_of_another_game_is_refused(tmp_path):
    ends = [leaf(1, -1), leaf(2, -2)]
    game = small_game(move(0, "a", *ends))
    path = saved(game, tmp_path / "tree")
    assert_equal_trees(load_tree(path, game), GameTree(game).expand_all())
    with pytest.raises(CheckpointError, match="and not of leduc_poker"):
        load_tree(path, "leduc_poker")
    with pytest.raises(CheckpointError, match="Expand and save the tree again"):
        load_tree(path, small_game(move(0, "a", *reversed(ends))))


def test_a_tree_is_saved_whole_or_not_at_all(tmp_path):
    tree, path = GameTree("leduc_poker").expand_all(), tmp_path / "tree"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        with pytest.raises(OSError, match="requested and"):
            save_tree(tree, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not list(tmp_path.iterdir())
    save_tree(tree, path)
    with pytest.raises(FileExistsError, match="save the tree elsewhere"):
        save_tree(tree, path)
    grown = ms.Solver(KUHN).tree
    for incomplete in (grown, GameTree(KUHN, abstraction=lambda state, player: "a")):
        with pytest.raises(ValueError, match="give a complete tree"):
            save_tree(incomplete, tmp_path / "other")


def test_files_that_do_not_fit_are_refused(tmp_path):
    path = saved("leduc_poker", tmp_path / "tree")
    with pytest.raises(ms.MemoryBudgetError, match="max_memory"):
        load_tree(path, max_memory="100KB")


# --- trees that the processes of a sweep share -------------------------------


PROGRAM = """
import sys, warnings, pathlib, time
from mccfr_spiel.experiments.trees import shared_tree
warnings.simplefilter("error")
while not pathlib.Path(sys.argv[1], "go").exists():
    time.sleep(0.001)
tree = shared_tree("leduc_poker", pathlib.Path(sys.argv[1], "trees"))
maps = pathlib.Path("/proc/self/maps")
print(not maps.exists() or "nodes.npy" in maps.read_text(), tree.digest())
"""


def test_two_processes_that_ask_at_once_both_map_one_tree(tmp_path):
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(tmp_path)],
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    time.sleep(2)
    (tmp_path / "go").touch()
    outputs = [writer.communicate()[0] for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0]
    assert outputs == [f"True {GameTree('leduc_poker').expand_all().digest()}\n"] * 2
    trees = [path for path in (tmp_path / "trees").iterdir() if path.is_dir()]
    assert len(trees) == 1


def test_a_damaged_shared_tree_is_made_anew_and_a_full_disk_keeps_it_in_memory(
    tmp_path,
):
    shared_tree.cache_clear()
    shared_tree(KUHN, tmp_path)
    (path,) = (one for one in tmp_path.iterdir() if one.is_dir())
    (path / "nodes.npy").unlink()
    shared_tree.cache_clear()
    assert_equal_trees(shared_tree(KUHN, tmp_path), GameTree(KUHN).expand_all())
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        with pytest.warns(UserWarning, match="cannot be kept in"):
            tree = shared_tree("leduc_poker", tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        shared_tree.cache_clear()
    assert tree.is_complete
