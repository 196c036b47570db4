"""Trees on disk: equal to expanded ones in all they do; damage and change are seen."""

import importlib
import json
import os
import pathlib
import pickle
import resource
import shutil
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import exploitability

import games  # noqa: F401  registers games with compiled rules
import mccfr_spiel as ms
from mccfr_spiel import (
    GameTree,
    Solver,
    TreeCacheWarning,
    cached_tree,
    kernels,
    tree_cache,
)
from mccfr_spiel.checkpoint import CheckpointError
from mccfr_spiel.full_pass import full_pass, tree_arrays
from mccfr_spiel.game_tree import TreeFullError
from tests.reference import random_policy
from tests.small_games import leaf, move, small_game

SIMULTANEOUS = "goofspiel(num_cards=3,imp_info=True,points_order=random)"
STRINGS = ["kuhn_poker", "kuhn_poker(players=3)", "leduc_poker", SIMULTANEOUS]
RULES = [
    "python_goofspiel(num_cards=3)",
    "python_one_card_poker(cards=6)",
    "python_princess_and_monster(rows=1,cols=3,horizon=4)",
]
NO_CHANCE = "matrix_rps"
GAMES = [*STRINGS, *RULES, NO_CHANCE, "python_kuhn_poker"]
KUHN = "kuhn_poker"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("trees")


@pytest.fixture
def expansions(monkeypatch):
    """The trees that were expanded instead of loaded."""
    made = []
    expand_all = GameTree.expand_all

    def counted(tree, **options):
        if not tree.is_complete:
            made.append(str(tree.source))
        return expand_all(tree, **options)

    monkeypatch.setattr(GameTree, "expand_all", counted)
    return made


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
    assert tree.names == whole.names
    assert tree.info_states == whole.info_states
    assert tree.shared_strings == whole.shared_strings
    players = whole.infosets["player"].tolist()
    for infoset, name in enumerate(whole.info_states):
        assert tree.find(name) == whole.find(name)
        assert tree.find(name, players[infoset]) == infoset
        assert tree.info_state(infoset) == name
    assert tree.find("no such state") == tree.find("no such state", 1) == -1


@pytest.mark.parametrize("game", GAMES)
def test_a_cached_tree_is_the_expanded_one(game, folder, expansions):
    made = cached_tree(game, folder)
    assert len(expansions) == 1
    loaded = cached_tree(pyspiel.load_game(game), folder, verify=True)
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


@pytest.mark.parametrize("name", ms.ALGORITHMS)
@pytest.mark.parametrize("game", ["leduc_poker", RULES[0], SIMULTANEOUS])
def test_solvers_give_the_same_bits(game, name, folder, tmp_path):
    cached, whole = cached_tree(game, folder), GameTree(game).expand_all()
    algorithm = ms.ALGORITHMS[name]
    solvers = [Solver(tree, algorithm, seed=3) for tree in (cached, whole)]
    for solver in solvers:
        solver.iterate(20)
    ours, theirs = solvers
    assert ours.nodes_touched == theirs.nodes_touched
    np.testing.assert_array_equal(ours.average_vector(), theirs.average_vector())
    np.testing.assert_array_equal(ours.current_vector(), theirs.current_vector())
    path = tmp_path / "solver"
    ours.save(path)
    resumed = [Solver.load(path, cached), Solver.load_newest(path), Solver.load(path)]
    assert resumed[0].tree is cached
    theirs.iterate(5)
    for solver in resumed:
        solver.iterate(5)
        np.testing.assert_array_equal(solver.average_vector(), theirs.average_vector())
    again = pickle.loads(pickle.dumps(ours))
    np.testing.assert_array_equal(again.average_vector(), ours.average_vector())


@pytest.mark.parametrize("game", ["leduc_poker", RULES[0], SIMULTANEOUS])
def test_all_that_needs_a_whole_tree_takes_a_cached_one(game, folder):
    cached, whole = cached_tree(game, folder), GameTree(game).expand_all()
    solvers = [Solver(tree, seed=3) for tree in (cached, whole)]
    for solver in solvers:
        solver.iterate(100)
    ours, theirs = (solver.average_policy() for solver in solvers)
    assert ms.nash_conv(cached, ours) == ms.nash_conv(whole, theirs)
    assert ms.nash_conv(cached, theirs) == ms.nash_conv(whole, ours)
    assert ours.to_dict() == theirs.to_dict()
    assert pickle.loads(pickle.dumps(ours)).to_dict() == theirs.to_dict()
    np.testing.assert_array_equal(
        ours.to_tabular().action_probability_array,
        theirs.to_tabular().action_probability_array,
    )
    openspiel = exploitability.nash_conv(whole.game, theirs)
    assert ms.nash_conv(cached, ours) == pytest.approx(openspiel, abs=1e-12)
    state = whole.game.new_initial_state()
    while state.is_chance_node():
        state.apply_action(state.legal_actions()[-1])
    assert ours.action_probabilities(state) == theirs.action_probabilities(state)
    forms = [ms.sequence_form(tree) for tree in (cached, whole)]
    assert (forms[0].payoffs != forms[1].payoffs).nnz == 0
    assert ms.m_values(cached) == ms.m_values(whole)


@pytest.mark.parametrize(
    "game",
    [
        "python_goofspiel(num_cards=4)",
        "python_one_card_poker(cards=8)",
        "python_princess_and_monster(rows=2,cols=2,horizon=6)",
        "leduc_poker",
    ],
)
def test_nash_conv_on_a_cached_tree_is_openspiels(game, folder):
    loaded = pyspiel.load_game(game)
    tree = cached_tree(game, folder)
    for seed in range(2):
        policy = random_policy(loaded, seed=seed)
        table = openspiel_policy.TabularPolicy(loaded)
        for name, row in policy.items():
            for action, prob in row.items():
                table.policy_for_key(name)[action] = prob
        theirs: Any = exploitability.nash_conv(loaded, table)
        assert ms.nash_conv(tree, policy) == pytest.approx(theirs, abs=1e-12)
        assert theirs > 0.1


def test_a_cached_trees_nodes_can_be_dropped_and_grow_again(folder):
    for game in ["leduc_poker", RULES[0]]:
        cached, whole = cached_tree(game, folder), GameTree(game).expand_all()
        cached.forget_nodes()
        assert not cached.is_complete
        cached.expand_all()
        assert (cached.nodes == whole.nodes).all()
        assert cached.digest() == whole.digest()


@pytest.mark.slow
def test_no_compiled_function_is_compiled_again_for_mapped_arrays(folder):
    whole = GameTree("leduc_poker").expand_all()
    cached = cached_tree("leduc_poker", folder)
    solver = Solver(whole, ms.EXTERNAL_SAMPLING)
    solver.iterate(2)
    Solver(whole, ms.CFR).iterate(1)
    ms.nash_conv(whole, solver.average_policy())
    counts = [
        len(kernel.signatures)
        for kernel in (solver._iterate, kernels.fill_gradient, kernels.best_response)
    ]
    assert all(counts)
    other = Solver(cached, ms.EXTERNAL_SAMPLING)
    other.iterate(2)
    Solver(cached, ms.CFR).iterate(1)
    ms.nash_conv(cached, other.average_policy())
    assert counts == [
        len(kernel.signatures)
        for kernel in (solver._iterate, kernels.fill_gradient, kernels.best_response)
    ]
    for ours, theirs in zip(tree_arrays(cached), tree_arrays(whole), strict=True):
        assert ours.flags.writeable
        assert ours.flags.aligned
        assert ours.flags.c_contiguous == theirs.flags.c_contiguous


def test_what_one_process_writes_stays_its_own(tmp_path):
    cached_tree(KUHN, tmp_path).utilities[:] = 7
    assert_equal_trees(
        cached_tree(KUHN, tmp_path, verify=True), GameTree(KUHN).expand_all()
    )


# --- strings that players share ----------------------------------------------


def shared_strings():
    below = [move(1, "same", leaf(1, -1), leaf(a, -a)) for a in range(2)]
    return small_game(move(0, "same", *below), name="shared")


def test_strings_that_players_share_are_told_apart(tmp_path):
    cached = cached_tree(shared_strings(), tmp_path)
    whole = GameTree(shared_strings()).expand_all()
    assert cached.shared_strings == {"same"}
    assert_equal_trees(cached, whole)
    assert [cached.find("same", player) for player in range(2)] == [0, 1]


# --- damage and change -------------------------------------------------------


def test_a_cut_file_is_noticed_and_the_tree_made_anew(tmp_path, expansions):
    cached_tree(KUHN, tmp_path)
    path = tree_folder(tmp_path) / "nodes.npy"
    os.truncate(path, path.stat().st_size - 16)
    with pytest.warns(TreeCacheWarning, match=r"made anew: .*nodes.npy has \d+ bytes"):
        tree = cached_tree(KUHN, tmp_path)
    assert len(expansions) == 2
    assert_equal_trees(tree, GameTree(KUHN).expand_all())
    cached_tree(KUHN, tmp_path, verify=True)
    assert len(expansions) == 3  # the third is this test's own


@pytest.mark.parametrize("name", ["nodes", "pass_payoffs", "text", "actions"])
def test_a_changed_byte_is_found_by_verify(name, tmp_path, expansions):
    cached_tree(KUHN, tmp_path)
    path = tree_folder(tmp_path) / f"{name}.npy"
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)
    with pytest.warns(TreeCacheWarning, match=f"{name}.npy was changed"):
        cached_tree(KUHN, tmp_path, verify=True)
    assert len(expansions) == 2
    cached_tree(KUHN, tmp_path, verify=True)
    assert len(expansions) == 2


def test_a_tree_that_is_not_played_like_the_game_is_made_anew(tmp_path, expansions):
    cached_tree(KUHN, tmp_path)
    path = tree_folder(tmp_path) / "utilities.npy"
    utilities = np.load(path)
    np.save(path, -utilities)
    with pytest.warns(TreeCacheWarning, match="after the moves"):
        tree = cached_tree(KUHN, tmp_path)
    assert len(expansions) == 2
    np.testing.assert_array_equal(tree.utilities, utilities)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (lambda manifest: json.dumps(manifest | {"format": 999}), "of format 999"),
        (
            lambda manifest: json.dumps(manifest)[:-9],
            f"{tree_cache.MANIFEST} is damaged",
        ),
        (lambda manifest: json.dumps(manifest | {"files": {}}), "do not fit together"),
    ],
)
def test_another_versions_or_a_damaged_manifest(text, complaint, tmp_path, expansions):
    cached_tree(KUHN, tmp_path)
    path = tree_folder(tmp_path) / tree_cache.MANIFEST
    path.write_text(text(json.loads(path.read_text())))
    with pytest.warns(TreeCacheWarning, match=complaint):
        cached_tree(KUHN, tmp_path)
    cached_tree(KUHN, tmp_path)
    assert len(expansions) == 2


def test_an_unwritable_folder_gives_the_tree_and_a_warning(tmp_path):
    file = tmp_path / "file"
    file.write_text("no folder")
    with pytest.warns(TreeCacheWarning, match="cannot be kept in .*file"):
        tree = cached_tree(KUHN, file / "trees")
    assert_equal_trees(tree, GameTree(KUHN).expand_all())


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


def test_more_nodes_than_allowed_are_an_error_cached_or_not(tmp_path):
    for _ in range(2):
        with pytest.raises(TreeFullError, match="max_nodes=20"):
            cached_tree(KUHN, tmp_path, max_nodes=20)
        cached_tree(KUHN, tmp_path)


def test_the_environment_moves_the_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MCCFR_SPIEL_CACHE", str(tmp_path))
    cached_tree(KUHN)
    assert tree_folder(tmp_path / "trees").name.startswith("kuhn_poker-")


def test_old_trees_and_what_killed_writers_left_are_removed(tmp_path):
    cached_tree(KUHN, tmp_path)
    kept = tree_folder(tmp_path)
    left, fresh = (tmp_path / f"x{tree_cache._UNFINISHED}{n}" for n in range(2))
    unused = shutil.copytree(kept, tmp_path / "unused")
    for path in (left, fresh):
        path.mkdir()
        (path / "nodes.npy").write_bytes(b"part")
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    theirs = stranger / "manifest.json"
    theirs.write_text("somebody else's")
    month_ago = time.time() - 32 * 24 * 3600
    old = [left / "nodes.npy", left, unused / tree_cache.MANIFEST, theirs, stranger]
    for path in old:
        os.utime(path, (month_ago, month_ago))
    cached_tree(RULES[0], tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert {kept.name, fresh.name, stranger.name} < names
    assert not {left.name, unused.name} & names


PROGRAM = """
import sys, warnings, pathlib, time
from mccfr_spiel import cached_tree
warnings.simplefilter("error")
while not pathlib.Path(sys.argv[1], "go").exists():
    time.sleep(0.001)
tree = cached_tree("leduc_poker", pathlib.Path(sys.argv[1], "trees"), verify=True)
print(tree.digest())
"""


def test_two_processes_may_write_at_the_same_time(tmp_path):
    root = pathlib.Path(ms.__file__).parent.parent
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(tmp_path)],
            env=os.environ | {"PYTHONPATH": str(root)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    time.sleep(2)
    (tmp_path / "go").touch()
    outputs = [writer.communicate()[0] for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0]
    assert outputs == [GameTree("leduc_poker").expand_all().digest() + "\n"] * 2
    tree_folder(tmp_path / "trees")


def test_the_loser_of_a_race_uses_the_winners_tree(tmp_path, monkeypatch):
    write = tree_cache._write

    def interrupted(tree, passes, folder):
        monkeypatch.setattr(tree_cache, "_write", write)
        cached_tree(KUHN, tmp_path)
        (winner,) = tmp_path.glob("*/nodes.npy")
        os.utime(winner, (1, 1))
        write(tree, passes, folder)

    monkeypatch.setattr(tree_cache, "_write", interrupted)
    assert_equal_trees(cached_tree(KUHN, tmp_path), GameTree(KUHN).expand_all())
    assert (tree_folder(tmp_path) / "nodes.npy").stat().st_mtime == 1


# --- games whose rules change ------------------------------------------------

GAME = '''
"""A doc."""
from tests.small_games import leaf, move, small_game, _SmallGame

class EditedGame(_SmallGame):
    def __init__(self, *arguments):
        super().__init__(*arguments)

def make():
    plain = small_game(move(0, "a", leaf(1, -1), leaf(2, -2)), name="edited")
    info = pyspiel.GameInfo(2, 0, 2, -9.0, 9.0, 0.0, 5)
    return EditedGame(plain.get_type(), info, plain.root)
'''


def test_a_game_whose_source_changed_is_expanded_anew(
    tmp_path, monkeypatch, expansions
):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    file = tmp_path / "edited_game.py"
    source = GAME.replace("from tests", "import pyspiel\nfrom tests")

    def load(text):
        file.write_text(text)
        importlib.invalidate_caches()
        sys.modules.pop("edited_game", None)
        module = importlib.import_module("edited_game")
        return cached_tree(module.make(), tmp_path / "trees")

    load(source)
    load(source)
    load(source.replace("A doc", "Another doc"))
    assert len(expansions) == 1
    tree = load(source.replace("leaf(2, -2)", "leaf(5, -5)"))
    assert len(expansions) == 2
    assert tree.utilities.max() == 5


def test_a_game_with_no_source_file_is_not_kept(tmp_path):
    space: dict[str, Any] = {"__name__": "typed_in"}
    exec("import pyspiel\n" + GAME, space)
    with pytest.warns(TreeCacheWarning, match="comes from no file"):
        tree = cached_tree(space["make"](), tmp_path)
    assert tree.is_complete
    assert not list(tmp_path.iterdir())


# --- checkpoints -------------------------------------------------------------


def test_a_solver_of_a_grown_tree_is_not_loaded_onto_a_whole_one(tmp_path, folder):
    path = tmp_path / "solver"
    grown = Solver("leduc_poker", seed=1)
    grown.iterate(20)
    grown.save(path)
    with pytest.raises(CheckpointError, match="give the game instead"):
        Solver.load(path, cached_tree("leduc_poker", folder))
    with pytest.raises(ValueError, match="not complete"):
        Solver.load(path, GameTree("leduc_poker"))
    with pytest.raises(CheckpointError, match="is of leduc_poker"):
        Solver.load(path, cached_tree(KUHN, folder))


@pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT", "0") != "0", reason="nothing is compiled"
)
def test_an_algorithm_is_compiled_once_whatever_the_game(tmp_path):
    solver = Solver("kuhn_poker", ms.CFR)
    solver.iterate(1)
    before = len(solver._iterate.signatures)
    for tree in (
        GameTree("matrix_rps").expand_all(),  # no chance
        GameTree("python_search(turns=4)").expand_all(),  # compiled rules
        ms.cached_tree("python_search(turns=4)", tmp_path),
        ms.cached_tree("kuhn_poker", tmp_path),
    ):
        solver = Solver(tree, ms.CFR)
        solver.iterate(1)
    assert len(solver._iterate.signatures) == before
