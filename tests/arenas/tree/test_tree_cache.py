"""Trees on disk: equal to expanded ones in all they do, and of no other game."""

import importlib
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import time

import numpy as np
import pyspiel
import pytest

import mccfr_spiel as ms
from mccfr_spiel import GameTree, cached_tree
from mccfr_spiel.arenas.evaluating import full_pass
from mccfr_spiel.arenas.tree import cache as tree_cache
from mccfr_spiel.arenas.tree.cache import TreeCacheWarning, shared_tree
from tests.small_games import leaf, move, small_game

pytestmark = pytest.mark.compiled

SIMULTANEOUS = "goofspiel(num_cards=3,imp_info=True,points_order=random)"
STRINGS = ["kuhn_poker(players=3)", "leduc_poker", SIMULTANEOUS]
RULES = ["python_goofspiel(num_cards=3)", "python_one_card_poker(cards=6)"]
GAMES = [*STRINGS, *RULES]
KUHN = "kuhn_poker"
ROOT = pathlib.Path(ms.__file__).parents[1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("trees")


def tree_folder(folder):
    (found,) = (path for path in folder.iterdir() if path.is_dir())
    return found


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


@pytest.mark.parametrize("game", GAMES)
def test_a_cached_tree_is_the_expanded_one(game, tmp_path, expansions):
    made = cached_tree(game, tmp_path)
    assert len(expansions) == 1
    loaded = cached_tree(pyspiel.load_game(game), tmp_path)
    assert len(expansions) == 1
    whole = GameTree(game).expand_all()
    for tree in (made, loaded):
        assert tree.is_complete
        assert type(tree.nodes) is np.ndarray
        assert_equal_trees(tree, whole)
        for node in {0, 1, tree.num_nodes // 2, tree.num_nodes - 1}:
            state, sequences = tree.state_at(node)
            expected, same = whole.state_at(node)
            assert (state.history(), sequences) == (expected.history(), same)


def test_what_one_process_writes_stays_its_own(tmp_path):
    cached_tree(KUHN, tmp_path).utilities[:] = 7
    assert_equal_trees(cached_tree(KUHN, tmp_path), GameTree(KUHN).expand_all())


# --- files that cannot be used -----------------------------------------------


@pytest.mark.parametrize("damage", ["cut", "no header", "missing"])
def test_a_tree_that_cannot_be_read_is_made_anew(damage, tmp_path, expansions):
    cached_tree(KUHN, tmp_path)
    path = tree_folder(tmp_path) / "nodes.npy"
    if damage == "cut":
        os.truncate(path, path.stat().st_size - 16)
    elif damage == "no header":
        path.write_bytes(b"chapter 1")
    else:
        path.unlink()
    with pytest.warns(TreeCacheWarning, match="made anew: it cannot be read"):
        tree = cached_tree(KUHN, tmp_path)
    assert len(expansions) == 2
    assert_equal_trees(tree, GameTree(KUHN).expand_all())
    cached_tree(KUHN, tmp_path)
    assert len(expansions) == 3  # the third is this test's own


def test_a_full_disk_gives_the_tree_and_a_warning(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        with pytest.warns(TreeCacheWarning, match="cannot be kept in"):
            tree = cached_tree("leduc_poker", tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert tree.is_complete
    assert not list(tmp_path.iterdir())


def test_old_trees_and_what_a_killed_writer_left_are_removed(tmp_path):
    base, elsewhere = tmp_path / "trees", tmp_path / "elsewhere"
    cached_tree(KUHN, base)
    kept = tree_folder(base)
    unused, with_document = (base / f"x-{digit * 24}" for digit in "12")
    for copy in (unused, with_document, elsewhere, base / "stranger"):
        shutil.copytree(kept, copy)
    (with_document / "document.txt").write_text("chapter 1")
    (base / f"x-{'3' * 24}").symlink_to(elsewhere)
    month_ago = time.time() - 32 * 24 * 3600
    for path in (unused, with_document, elsewhere, base / "stranger"):
        os.utime(path, (month_ago, month_ago))
    left = kept.with_name(f"{kept.name}.part-1")
    kept.rename(left)
    cached_tree(KUHN, base)
    assert not unused.exists()
    assert not left.exists()
    assert (with_document / "document.txt").exists()
    for place in (kept, elsewhere, base / "stranger"):
        assert len(list(place.iterdir())) > 10


PROGRAM = """
import sys, warnings, pathlib, time
from mccfr_spiel import cached_tree
warnings.simplefilter("error")
while not pathlib.Path(sys.argv[1], "go").exists():
    time.sleep(0.001)
tree = cached_tree("leduc_poker", pathlib.Path(sys.argv[1], "trees"))
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
    tree_folder(tmp_path / "trees")


def test_a_change_of_any_source_of_the_package_asks_for_another_tree(
    tmp_path, monkeypatch, expansions
):
    cached_tree(KUHN, tmp_path)
    monkeypatch.setattr(tree_cache, "CODE", "edited")
    cached_tree(KUHN, tmp_path)
    assert len(expansions) == 2
    cached_tree(KUHN, tmp_path)
    assert len(expansions) == 2
    assert len([path for path in tmp_path.iterdir() if path.is_dir()]) == 2


# --- games that the load string does not determine ----------------------------


EFG = """EFG 2 R "Game" { "P1" "P2" } ""
p "r" 1 1 "i" { "a" "b" } 0
t "" 1 "o1" { 1, -1 }
t "" 2 "o2" { 2, -1 }
"""


def matrix_game(name):
    return pyspiel.create_matrix_game(name, name, ["a"], ["b"], [[1.0]], [[-1.0]])


UNTOLD = {
    "written in Python": lambda: "python_kuhn_poker",
    "made in code": lambda: small_game(move(0, "a", leaf(1, -1), leaf(2, -2))),
    "payoffs": lambda: matrix_game("matrix_mp"),
    "around payoffs": lambda: pyspiel.convert_to_turn_based(matrix_game("m")),
    "a text": lambda: pyspiel.load_efg_game(EFG),
    "around Python": lambda: "misere(game=python_kuhn_poker())",
}


@pytest.mark.parametrize("kind", UNTOLD)
def test_a_game_that_its_string_does_not_determine_is_refused(kind, tmp_path):
    with pytest.raises(ValueError, match="its load string alone does not determine"):
        cached_tree(UNTOLD[kind](), tmp_path)
    assert shared_tree(UNTOLD[kind](), tmp_path).is_complete
    assert not list(tmp_path.iterdir())


def test_compiled_rules_of_somebodys_module_are_refused(tmp_path, monkeypatch):
    (tmp_path / "own_rules.py").write_text(
        ROOT.joinpath("games", "one_card_poker.py")
        .read_text()
        .replace("python_one_card_poker", "python_own_rules_here")
    )
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("own_rules")
    with pytest.raises(ValueError, match="its load string alone does not determine"):
        cached_tree("python_own_rules_here", tmp_path / "trees")
