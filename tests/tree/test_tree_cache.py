"""Trees on disk: equal to expanded ones in all they do; damage and change are seen."""

import contextlib
import importlib
import json
import os
import pathlib
import pickle
import random
import resource
import shutil
import subprocess
import sys
import textwrap
import time
import zlib
from typing import Any

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import exploitability

import mccfr_spiel as ms
from mccfr_spiel import GameTree, Solver, TreeCacheWarning, cached_tree
from mccfr_spiel.kernels.evaluation import evaluate
from mccfr_spiel.kernels.passes import fill_plan
from mccfr_spiel.storage import checksums
from mccfr_spiel.storage.checkpoint import CheckpointError
from mccfr_spiel.tree import cache as tree_cache
from mccfr_spiel.tree.fingerprint import fingerprint
from mccfr_spiel.tree.full_pass import full_pass
from mccfr_spiel.tree.game_tree import TreeFullError
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


def sign(folder):
    """Makes a tree's manifest fit its files again, whatever these are now."""
    path = folder / tree_cache.MANIFEST
    manifest = json.loads(path.read_text())
    manifest["files"] = {n: checksums.checksums(folder / n) for n in manifest["files"]}
    del manifest["crc32"]
    crc = zlib.crc32(json.dumps(manifest, sort_keys=True).encode())
    path.write_text(json.dumps(manifest | {"crc32": crc}))


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
def test_a_cached_tree_is_the_expanded_one(game, tmp_path, expansions):
    made = cached_tree(game, tmp_path)
    assert len(expansions) == 1
    loaded = cached_tree(pyspiel.load_game(game), tmp_path, verify=True)
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
@pytest.mark.parametrize(
    "game",
    [pytest.param("leduc_poker", marks=pytest.mark.slow), RULES[0], SIMULTANEOUS],
)
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
        pytest.param("python_goofspiel(num_cards=4)", marks=pytest.mark.slow),
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
    counts = [len(kernel.signatures) for kernel in (solver.kernel, evaluate, fill_plan)]
    assert all(counts)
    other = Solver(cached, ms.EXTERNAL_SAMPLING)
    other.iterate(2)
    Solver(cached, ms.CFR).iterate(1)
    ms.nash_conv(cached, other.average_policy())
    assert counts == [
        len(kernel.signatures) for kernel in (solver.kernel, evaluate, fill_plan)
    ]
    for ours, theirs in zip(cached.arrays, whole.arrays, strict=True):
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
    sign(path.parent)
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


def test_old_trees_with_foreign_files_and_links_to_trees_stay(tmp_path):
    base, elsewhere = tmp_path / "trees", tmp_path / "elsewhere"
    cached_tree(KUHN, base)
    tree = tree_folder(base)
    shutil.copytree(tree, elsewhere)
    shutil.copytree(tree, base / "with_document")
    shutil.copytree(tree, base / f"x{tree_cache._UNFINISHED}")
    for name in ("with_document", f"x{tree_cache._UNFINISHED}"):
        (base / name / "document.txt").write_text("chapter 1")
    (base / "link").symlink_to(elsewhere)
    month_ago = time.time() - 32 * 24 * 3600
    for path in [*tmp_path.rglob("*")]:
        os.utime(path, (month_ago, month_ago))
    cached_tree(RULES[0], base)
    for name in ("with_document", f"x{tree_cache._UNFINISHED}"):
        assert (base / name / "document.txt").read_text() == "chapter 1"
    assert (base / "link").resolve() == elsewhere
    assert len(list(elsewhere.iterdir())) > 1


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


def test_a_change_of_any_source_of_the_package_asks_for_another_tree(
    tmp_path, monkeypatch, expansions
):
    cached_tree(KUHN, tmp_path)
    monkeypatch.setattr(tree_cache, "CODE", "edited")
    cached_tree(KUHN, tmp_path)
    assert len(expansions) == 2
    cached_tree(KUHN, tmp_path)
    assert len(expansions) == 2
    assert len(list(tmp_path.iterdir())) == 2


def test_a_package_without_readable_sources_keeps_no_tree(tmp_path, monkeypatch):
    monkeypatch.setattr(tree_cache, "CODE", None)
    with pytest.warns(TreeCacheWarning, match="sources of mccfr_spiel"):
        tree = cached_tree(KUHN, tmp_path)
    assert tree.is_complete
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("game", [KUHN, "python_kuhn_poker", RULES[1]])
def test_a_cached_tree_tells_its_memory(game, tmp_path):
    cached = cached_tree(game, tmp_path)
    text = sum(map(len, cached.names))
    keys = 8 * cached.num_infosets  # of compiled rules, in place of a text
    assert cached.memory()["names"] >= min(text, keys)
    assert ms.Solver(cached, ms.CFR).memory().total > cached.nodes.nbytes


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


@pytest.mark.slow
def test_damage_is_made_anew_with_a_warning_and_found_without_verify(
    tmp_path, expansions
):
    expected = ms.nash_conv(cached_tree(KUHN, tmp_path), random_policy(KUHN, seed=1))
    generator = random.Random(1)
    for path in sorted(tree_folder(tmp_path).iterdir()):
        for place in (0, 7, 60, 100, generator.randrange(path.stat().st_size), -1):
            data = bytearray(path.read_bytes())
            data[place] ^= 1 << generator.randrange(8)
            path.write_bytes(data)
            before = len(expansions)
            with pytest.warns(TreeCacheWarning, match="made anew"):
                tree = cached_tree(KUHN, tmp_path)
            assert len(expansions) == before + 1
            assert ms.nash_conv(tree, random_policy(KUHN, seed=1)) == expected
        path.unlink()
        if path.name != tree_cache.MANIFEST:
            with pytest.warns(TreeCacheWarning, match=f"{path.name} is missing"):
                cached_tree(KUHN, tmp_path)
        cached_tree(KUHN, tmp_path, verify=True)  # good again


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"3", b"[" * 10**5, b"\xff\x00"])
def test_any_manifest_is_survived(content, tmp_path):
    cached_tree(KUHN, tmp_path)
    (tree_folder(tmp_path) / tree_cache.MANIFEST).write_bytes(content)
    with pytest.warns(TreeCacheWarning, match="is damaged"):
        cached_tree(KUHN, tmp_path)
    cached_tree(KUHN, tmp_path)


def test_a_large_tree_is_read_whole_once_and_when_its_files_changed(
    tmp_path, monkeypatch, expansions
):
    monkeypatch.setattr(checksums, "BLOCK", 64)
    monkeypatch.setattr(checksums, "READ_EACH_TIME", 128)
    read = []
    compare = checksums._compare
    monkeypatch.setattr(
        checksums, "_compare", lambda *block: (read.append(block[:2]), compare(*block))
    )
    cached_tree(KUHN, tmp_path)
    everything = set(read)
    read.clear()
    cached_tree(KUHN, tmp_path)
    assert len(everything) / 2 > len(read) >= len({path for path, _ in everything})
    path = tree_folder(tmp_path) / "nodes.npy"
    data = bytearray(path.read_bytes())
    data[-2] ^= 1
    path.write_bytes(data)
    with pytest.warns(TreeCacheWarning, match="nodes.npy was changed"):
        cached_tree(KUHN, tmp_path)
    assert len(expansions) == 2
    read.clear()
    cached_tree(KUHN, tmp_path, verify=True)
    assert set(read) == everything
    (path.parent / checksums.NOTE).write_bytes(b"\xff{")
    read.clear()
    cached_tree(KUHN, tmp_path)
    assert set(read) == everything
    assert len(expansions) == 2


def test_each_load_plays_other_histories(tmp_path, monkeypatch):
    cached_tree("leduc_poker", tmp_path)
    seen = []
    check_node = tree_cache._check_node

    def recorded(tree, node, state, sequences):
        seen[-1].append(node)
        check_node(tree, node, state, sequences)

    monkeypatch.setattr(tree_cache, "_check_node", recorded)
    for _ in range(3):
        seen.append([])
        cached_tree("leduc_poker", tmp_path)
    assert seen[0] != seen[1] != seen[2]


def test_a_folder_that_others_can_write_gives_a_warning(tmp_path):
    for mode in (0o777, 0o1777):
        folder = tmp_path / str(mode)
        folder.mkdir()
        folder.chmod(mode)
        with pytest.warns(TreeCacheWarning, match="every user may write to"):
            cached_tree(KUHN, folder)
    with pytest.warns(TreeCacheWarning, match="every user may write to"):
        cached_tree(KUHN, tmp_path / "511")  # 0o777, where others could exchange it
    cached_tree(KUHN, tmp_path / "1023")  # with the sticky bit they cannot
    parent = tmp_path / "open"
    (parent / "trees").mkdir(parents=True)
    parent.chmod(0o777)
    with pytest.warns(TreeCacheWarning, match="every user may write to .*open"):
        cached_tree(KUHN, parent / "trees")
    own = tmp_path / "own"
    cached_tree(KUHN, own)
    (tree_folder(own) / "nodes.npy").chmod(0o666)
    with pytest.warns(TreeCacheWarning, match=r"every user may write to .*nodes.npy"):
        cached_tree(KUHN, own)


# --- games that only look alike ----------------------------------------------


def test_matrix_games_of_one_name_have_a_tree_each(tmp_path):
    for rows in ([[3.0, -1.0], [0.0, 1.0]], [[-1.0, 2.0], [4.0, -3.0]]):
        columns = [[-value for value in row] for row in rows]
        names = ["a", "b"], ["c", "d"]
        for name in ("m", "matrix_mp"):
            game = pyspiel.create_matrix_game(name, name, *names, rows, columns)
            for _ in range(2):
                assert_equal_trees(
                    cached_tree(game, tmp_path), GameTree(game).expand_all()
                )
    assert_equal_trees(
        cached_tree("matrix_mp", tmp_path), GameTree("matrix_mp").expand_all()
    )


EFG = """EFG 2 R "Game" {{ "P1" "P2" }} ""
p "r" 1 1 "i" {{ "a" "b" }} 0
t "" 1 "o1" {{ {0}, -1 }}
t "" 2 "o2" {{ 2, -1 }}
"""


def test_what_cannot_be_known_again_is_not_kept_and_says_why(tmp_path):
    wrapped = pyspiel.convert_to_turn_based(
        pyspiel.create_matrix_game("m", "m", ["a"], ["b"], [[1.0]], [[-1.0]])
    )
    for game in (pyspiel.load_efg_game(EFG.format(1)), wrapped):
        with pytest.warns(TreeCacheWarning, match="is not kept: its string does not"):
            assert cached_tree(game, tmp_path).is_complete
    assert not list(tmp_path.iterdir())


def test_a_game_made_of_a_file_is_known_by_the_files_contents(tmp_path, expansions):
    file, trees = tmp_path / "game.efg", tmp_path / "trees"
    name = f"efg_game(filename={file})"
    for payoff in (1, 5, 1):
        file.write_text(EFG.format(payoff))
        for _ in range(2):
            tree = cached_tree(name, trees)
            assert tree.utilities[:, 0].max() == max(payoff, 2)
    assert len(expansions) == 2
    loaded = pyspiel.load_game(name)
    file.write_text(EFG.format(9))
    with pytest.warns(TreeCacheWarning, match="give the load string"):
        assert cached_tree(loaded, trees).utilities[:, 0].max() == 2


HELPED = {
    "payoff_table": """
        from payoff_deep import scale
        import payoff_deep
        PAYOFFS = {"low": (0.0, 0.0), "high": (1.0, -1.0)}
        def pay(name, limit=10):
            factor = scale()
            return tuple(min(limit, factor * p) for p in PAYOFFS[name])
    """,
    "payoff_deep": """
        FACTOR = 1
        def scale():
            return FACTOR
    """,
    "helped_game": """
        import pyspiel
        from tests.small_games import leaf, move, small_game, _SmallGame, _SmallState

        class HelpedState(_SmallState):
            bonus = 0
            def returns(self):
                import payoff_table
                if self.is_terminal():
                    name = "high" if self.tree.returns[0] else "low"
                    return [p + self.bonus for p in payoff_table.pay(name)]
                return [0.0, 0.0]

        class HelpedGame(_SmallGame):
            def new_initial_state(self):
                return HelpedState(self, self.root)

        def make(parameters=None):
            root = move(0, "a", leaf(0, 0), leaf(1, -1))
            plain = small_game(root, name="python_helped")
            info = pyspiel.GameInfo(2, 0, 2, -9.0, 9.0, 0.0, 5)
            return HelpedGame(plain.get_type(), info, root)
    """,
}


@pytest.fixture
def helped(tmp_path, monkeypatch):
    """Imports a game whose payoffs lie in other modules, as edited by (old, new)."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def load(*edits):
        for name, text in HELPED.items():
            for old, new in edits:
                text = text.replace(old, new)
            (tmp_path / f"{name}.py").write_text(textwrap.dedent(text))
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        return importlib.import_module("helped_game")

    yield load
    for name in HELPED:
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("edit", "most"),
    [
        (("FACTOR = 1", "FACTOR = 3"), 3),
        (("return FACTOR", "return 2 * FACTOR"), 2),
        (('"high": (1.0, -1.0)', '"high": (4.0, -4.0)'), 4),
        (("factor * p", "factor * p + 1"), 2),
        (("limit=10", "limit=0.5"), 0.5),
        (("bonus = 0", "bonus = 6"), 7),
        (("leaf(1, -1)", "leaf(0, 0)"), 0),
    ],
)
def test_a_change_anywhere_in_a_games_modules_is_seen(
    edit, most, helped, tmp_path, expansions
):
    trees = tmp_path / "trees"
    for edits, wanted in (((), 1), ((edit,), most), ((), 1)):
        for _ in range(2):
            tree = cached_tree(helped(*edits).make(), trees)
            assert tree.utilities.max() == wanted
    assert len(expansions) == 2


def test_data_that_were_changed_after_the_import_are_seen(helped, tmp_path, expansions):
    module, trees = helped(), tmp_path / "trees"
    game = module.make()
    assert cached_tree(game, trees).utilities.max() == 1
    sys.modules["payoff_deep"].FACTOR = 2  # type: ignore[attr-defined]
    assert cached_tree(game, trees).utilities.max() == 2
    module.HelpedState.bonus = 5
    assert cached_tree(game, trees).utilities.max() == 7
    module.HelpedState.returns = lambda state: [8.0, -8.0]
    assert cached_tree(game, trees).utilities.max() == 8
    assert len(expansions) == 4


def test_the_code_that_runs_counts_not_the_file_that_was_edited_since(
    helped, tmp_path, expansions
):
    trees = tmp_path / "trees"
    game = helped().make()
    importlib.import_module("payoff_table")
    file = tmp_path / "payoff_deep.py"
    file.write_text(file.read_text().replace("FACTOR = 1", "FACTOR = 3"))
    assert cached_tree(game, trees).utilities.max() == 1
    assert cached_tree(helped(("FACTOR = 1", "FACTOR = 3")).make(), trees).utilities[
        :, 0
    ].max() == pytest.approx(3)


class Helped:
    """What OpenSpiel calls to make the game; it needs it to the end of the process."""

    make: Any = None

    def __new__(cls, parameters=None):
        return cls.make()


def test_a_python_game_inside_of_a_compiled_one_is_seen(helped, tmp_path, expansions):
    trees = tmp_path / "trees"
    pyspiel.register_game(helped().make().get_type(), Helped)
    name = "misere(game=python_helped())"
    for edits, most in (((), 1), ((("FACTOR = 1", "FACTOR = 3"),), 3)):
        Helped.make = helped(*edits).make
        for _ in range(2):
            tree = cached_tree(name, trees)
            assert np.abs(tree.utilities).max() == most
    assert len(expansions) == 2
    with pytest.warns(TreeCacheWarning, match="give the load string"):
        cached_tree(pyspiel.load_game(name), trees)


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (
            ("return FACTOR", 'return float(open("x").read())'),
            "payoff_deep.scale uses open",
        ),
        (
            ("return FACTOR", "import os; return int(os.environ['X'])"),
            "scale uses environ",
        ),
        (
            ("bonus = 0", "bonus = 0; lock = __import__('threading').Lock()"),
            "HelpedState uses a _thread.lock",
        ),
        (
            ("FACTOR = 1", "import random; FACTOR = random.Random(1)"),
            "draws from a random generator",
        ),
    ],
)
def test_what_a_game_reads_unseen_is_named_and_the_tree_not_kept(
    edit, reason, helped, tmp_path, monkeypatch
):
    monkeypatch.setenv("X", "2")
    game = helped(edit).make()
    with (
        pytest.warns(TreeCacheWarning, match=f"is not kept: .*{reason}"),
        pytest.raises((OSError, TypeError))
        if "open" in reason or "draws" in reason
        else contextlib.nullcontext(),
    ):
        cached_tree(game, tmp_path / "trees")
    assert not (tmp_path / "trees").exists()


KEYS = """
import importlib, pyspiel
from open_spiel.python.games import kuhn_poker
from mccfr_spiel.tree.fingerprint import fingerprint
from tests.small_games import three_players, uneven_deal

importlib.import_module("mccfr_spiel.games")  # registers them
for game in ("python_search(turns=4)", "python_kuhn_poker", "leduc_poker"):
    print(fingerprint(game), fingerprint(pyspiel.load_game(game)))
print(fingerprint(three_players()), fingerprint(uneven_deal()))
"""


@pytest.mark.slow
def test_a_game_has_the_same_fingerprint_in_every_process():
    root = pathlib.Path(ms.__file__).parent.parent
    outputs = [
        subprocess.run(
            [sys.executable, "-c", KEYS],
            env=os.environ | {"PYTHONPATH": str(root), "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    assert outputs[0][0:6:2] == outputs[0][1:6:2]
    assert len(set(outputs[0])) == 5


def test_a_fingerprint_is_cheap():
    for name in ("python_goofspiel(num_cards=7)", "leduc_poker", "python_kuhn_poker"):
        game = pyspiel.load_game(name)
        fingerprint(game)
        began = time.thread_time()  # other processes run on the same cores
        fingerprint(game)
        assert time.thread_time() - began < 0.5


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
    before = len(solver.kernel.signatures)
    for tree in (
        GameTree("matrix_rps").expand_all(),  # no chance
        GameTree("python_search(turns=4)").expand_all(),  # compiled rules
        ms.cached_tree("python_search(turns=4)", tmp_path),
        ms.cached_tree("kuhn_poker", tmp_path),
    ):
        solver = Solver(tree, ms.CFR)
        solver.iterate(1)
    assert len(solver.kernel.signatures) == before
