"""Saved and loaded, pickled, interrupted: the same bits. Damaged: refused in words."""

import concurrent.futures
import contextlib
import copy
import io
import itertools
import multiprocessing
import os
import pathlib
import pickle
import random
import subprocess
import sys
import threading
import tracemalloc
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mccfr_spiel as ms
from mccfr_spiel import GameTree, Solver
from mccfr_spiel.arenas.needs import needs_all_infosets
from mccfr_spiel.arenas.tree import whole as whole_trees
from mccfr_spiel.arenas.tree.game_tree import TreeFullError
from mccfr_spiel.common import checkpoint
from mccfr_spiel.common.checkpoint import CheckpointError, DamagedError
from tests.arenas.tree.test_abstraction import without_first_round
from tests.common.test_atomic import files_in
from tests.test_own_rule import HEDGE, sampled
from tests.vectors import KUHN_3, LEDUC

GAMES = {
    "kuhn_poker": 60,
    "kuhn_poker(players=3)": 40,
    "leduc_poker(suit_isomorphism=True)": 32,  # chance is not uniform
    "liars_dice(dice_sides=3)": 32,
    # simultaneous moves, general sum
    "goofspiel(num_cards=3,imp_info=True,points_order=random,"
    "returns_type=total_points)": 40,
}
"""The games and how many iterations are run."""
KUHN = "kuhn_poker"


def state_of(solver):
    """All that a run can be compared by, infosets by name, numbers to the bit."""
    return (
        solver.num_iterations,
        solver.nodes_touched,
        policy_bits(solver.average_policy()),
        policy_bits(solver.current_policy()),
    )


def policy_bits(policy):
    """Its probabilities, but at infosets where it is uniform: a tree that grows lacks
    some of them."""
    rows = policy.to_dict()
    return {
        name: {action: prob.hex() for action, prob in row.items()}
        for name, row in rows.items()
        if len(set(row.values())) > 1
    }


def run(game, algorithm, iterations, **options):
    solver = Solver(game, algorithm, seed=5, **options)
    solver.iterate(iterations)
    return solver


def advance(path, iterations):
    """Loads, goes on, saves: what the other process does."""
    solver = Solver.load(path)
    solver.iterate(iterations)
    solver.save(path)
    return os.getpid()


def advanced(solver, iterations):
    solver.iterate(iterations)
    return solver


@pytest.fixture(scope="module")
def other_process():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        yield pool


def smallest_store(game, algorithm, iterations):
    """`max_nodes` in which each single walk has room, but hardly more."""
    most = 8
    while True:
        try:
            run(game, algorithm, iterations, max_nodes=most)
        except TreeFullError:
            most += most // 4
        else:
            return most


# --- the same bits -----------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "name"),
    [*zip(itertools.cycle(GAMES), [*ms.ALGORITHMS][::2], strict=False)],
)
def test_resumed_in_another_process_is_uninterrupted_bit_for_bit(
    game, name, tmp_path, other_process, monkeypatch
):
    algorithm, iterations = ms.ALGORITHMS[name], GAMES[game]
    whole = GameTree(game).expand_all()
    expected = state_of(run(whole, algorithm, iterations))
    options = {}
    if not needs_all_infosets(algorithm):
        options["max_nodes"] = smallest_store(game, algorithm, iterations)
        drops = []
        forget = GameTree.forget_nodes
        with monkeypatch.context() as patch:
            patch.setattr(
                GameTree, "forget_nodes", lambda tree: (drops.append(1), forget(tree))
            )
            dropped = run(game, algorithm, iterations, **options)
        assert state_of(dropped) == expected
        assert len(drops) >= 10 or options["max_nodes"] >= whole.num_nodes
        assert state_of(run(game, algorithm, iterations)) == expected  # grown
    path = tmp_path / "solver"
    Solver(game, algorithm, seed=5, **options).save(path)
    processes = set()
    for piece in range(4):
        arguments = path, iterations // 4
        if piece % 2:
            processes.add(advance(*arguments))
        else:
            processes.add(other_process.apply(advance, arguments))
    assert len(processes) == 2
    loaded = Solver.load(path)
    assert state_of(loaded) == expected
    assert loaded.algorithm == algorithm
    assert loaded.seed == 5


def test_other_settings_are_kept(tmp_path):
    minimizer = ms.omd(0.25, weights="kroer")
    algorithm = ms.Algorithm(ms.outcome(0.3), minimizer, ms.polynomial(1.5), False)
    solver = Solver(LEDUC, algorithm, seed=-(2**70), max_nodes=123_456)
    solver.iterate(20)
    solver.save(tmp_path / "solver")
    loaded = Solver.load(tmp_path / "solver")
    assert (loaded.algorithm, loaded.seed) == (algorithm, -(2**70))
    assert loaded.tree.max_nodes == 123_456
    assert state_of(advanced(loaded, 20)) == state_of(advanced(solver, 20))


DARK_HEX = "python_dark_hex(num_rows=2,num_cols=2)"
HEDGED = ms.Algorithm(ms.EXTERNAL, HEDGE, ms.LINEAR)
DRAWN = ms.Algorithm(ms.own_estimator(sampled), ms.regret_matching_plus())
PRUNED = ms.Algorithm(ms.algorithms.full(prune="regret"), ms.regret_matching())
LEARNED = ms.Algorithm(ms.outcome(0.4, baseline="learned"), ms.regret_matching())
SCALARS = ms.Algorithm(
    ms.EXTERNAL, ms.ftrl(np.float64(0.5), np.str_("kroer")), batch=np.arange(5)[4]
)
FORGETS: dict[str, Any] = {"abstraction": without_first_round}
RULES = "python_goofspiel(num_cards=3,points_order=random)"
KINDS_OF_SOLVERS: dict[str, tuple[Callable[[], Solver], dict[str, Any]]] = {
    "own rule": (lambda: Solver(KUHN_3, HEDGED), {"minimizer": HEDGE}),
    "own estimator": (lambda: Solver(KUHN_3, DRAWN), {"sampling": DRAWN.sampling}),
    "abstraction": (lambda: Solver(LEDUC, ms.OUTCOME_SAMPLING, **FORGETS), FORGETS),
    "pruned": (lambda: Solver("liars_dice(dice_sides=3)", PRUNED, threads=2), {}),
    "NumPy's scalars": (lambda: Solver(KUHN, SCALARS, seed=np.arange(4)[3]), {}),
    "batches over rules": (
        lambda: Solver(RULES, ms.OUTCOME_SAMPLING._replace(batch=3), store="none"),
        {},
    ),
    "baselines over rules": (lambda: Solver(RULES, LEARNED, store="none"), {}),
    "worlds": (lambda: Solver(DARK_HEX, ms.PCFR_PLUS, store="worlds"), {}),
    "worlds listed": (lambda: Solver(KUHN, ms.PCFR_PLUS, store="worlds"), {}),
    "histories": (lambda: Solver(KUHN_3, ms.CFR_PLUS, store="none"), {}),
    "threads": (lambda: Solver(KUHN_3, ms.PCFR_PLUS, threads=3), {"threads": 2}),
}
"""What makes a solver, and what its file has to be loaded with."""


@pytest.mark.interpreted
@pytest.mark.parametrize("kind", KINDS_OF_SOLVERS)
def test_saved_copied_and_pickled_solvers_go_on_with_equal_bits(
    kind, tmp_path, monkeypatch
):
    monkeypatch.setattr(whole_trees, "LEAST_BLOCK", 40)
    monkeypatch.setattr("mccfr_spiel.arenas.tree.whole.LEAST_WORK", 1)
    make, given = KINDS_OF_SOLVERS[kind]
    solver, uncut = make(), make()
    for more in (1, 5, 20):
        uncut.iterate(more)
        solver.iterate(more)
        solver.save(tmp_path / "solver")
        others = copy.copy(solver), pickle.loads(pickle.dumps(solver))
        solver = Solver.load(tmp_path / "solver", **given)
        for one in (solver, *others):
            assert (one.store, one.algorithm) == (uncut.store, uncut.algorithm)
            assert state_of(one) == state_of(uncut)


# --- refused -----------------------------------------------------------------


@pytest.fixture
def saved(tmp_path):
    """Two checkpoints of one run: of iteration 20, and before it of iteration 10."""
    solver = Solver(KUHN, ms.EXTERNAL_SAMPLING, seed=5)
    for _ in range(2):
        solver.iterate(10)
        solver.save(tmp_path / "solver")
    return tmp_path / "solver"


def equal(one, other):
    """Whether contents have the same header and the same bytes in each array."""
    return one.header == other.header and {
        name: (array.dtype, array.tobytes()) for name, array in one.arrays.items()
    } == {name: (array.dtype, array.tobytes()) for name, array in other.arrays.items()}


def test_damage_at_a_byte_is_refused_or_means_nothing(saved):
    data = saved.read_bytes()
    good = checkpoint.from_bytes(data)
    generator = random.Random(2)
    harmless = 0  # such as the time in an archive's list of its members
    places = generator.sample(range(len(data)), 600)
    for place in places:
        damaged = bytearray(data)
        damaged[place] ^= generator.randrange(1, 256)
        with contextlib.suppress(DamagedError):
            assert equal(checkpoint.from_bytes(bytes(damaged)), good)
            harmless += 1
    assert harmless < len(places) / 4  # small as it is, the file is half such lists


def test_a_file_cut_short_is_refused(saved):
    data = saved.read_bytes()
    for size in [*range(0, len(data), 37), len(data) - 1]:
        with pytest.raises(DamagedError):
            checkpoint.from_bytes(data[:size])


def checkpoint_of(data):
    return Solver.from_contents(checkpoint.from_bytes(data), None)


def test_the_newest_good_checkpoint_is_found(saved):
    good = saved.read_bytes()
    assert Solver.load_newest(saved).num_iterations == 20
    saved.write_bytes(good[:-1])
    solver = Solver.load_newest(saved)
    assert solver.num_iterations == 10
    assert saved.with_name("solver.damaged").read_bytes() == good[:-1]
    # The damaged file does not push out the good one.
    solver.iterate(10)
    solver.save(saved)
    assert state_of(Solver.load(saved)) == state_of(checkpoint_of(good))
    assert Solver.load(f"{saved}.previous").num_iterations == 10
    saved.unlink()
    assert Solver.load_newest(saved).num_iterations == 10


def test_a_folder_is_not_pushed_aside_by_a_file(saved):
    kept = [*saved.parent.iterdir()]
    with pytest.raises(IsADirectoryError):
        Solver.load(saved).save(saved.parent)
    assert [*saved.parent.iterdir()] == kept


def test_no_good_checkpoint_is_an_error_that_names_the_files(saved):
    for path in (saved, pathlib.Path(f"{saved}.previous")):
        path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DamagedError, match=r"solver is damaged.*solver.previous is"):
        Solver.load_newest(saved)
    with pytest.raises(FileNotFoundError):
        Solver.load_newest(saved.with_name("nothing"))


def test_files_of_something_else_are_refused_in_words(saved):
    other = saved.with_name("other")
    contents = checkpoint.load(saved)
    with pytest.raises(CheckpointError, match=r"of kuhn_poker\(\), not of leduc_poker"):
        Solver.load(saved, "leduc_poker")
    checkpoint.save(other, contents._replace(header=contents.header | {"version": 99}))
    with pytest.raises(CheckpointError, match=r"version 99.*reads version 2"):
        Solver.load(other)
    header = contents.header | {"game": "no_such_game()"}
    checkpoint.save(other, contents._replace(header=header))
    with pytest.raises(ValueError, match="no_such_game"):
        Solver.load(other)
    header = contents.header | {"rules": "0" * 32}
    checkpoint.save(other, contents._replace(header=header))
    with pytest.raises(CheckpointError, match="rules of kuhn_poker"):
        Solver.load(other)
    other.write_bytes(b"{}")
    with pytest.raises(CheckpointError, match="other is not a checkpoint"):
        Solver.load(other)
    with pytest.raises(CheckpointError, match=r"a folder, .*in .*/solver.checkpoint"):
        Solver.load(saved.parent)


@pytest.mark.parametrize("name", ["external_sampling", "cfr_plus", "omd"])
def test_arrays_that_do_not_fit_are_refused_though_the_checksums_are_right(name):
    contents = run(LEDUC, ms.ALGORITHMS[name], 10).contents()

    def refused(contents):
        data = checkpoint.to_bytes(contents)
        with pytest.raises(CheckpointError):
            Solver.from_contents(checkpoint.from_bytes(data), None)

    header, arrays = contents
    for lost in header:
        refused(contents._replace(header={k: header[k] for k in header if k != lost}))
    for lost, table in arrays.items():
        refused(contents._replace(arrays={k: arrays[k] for k in arrays if k != lost}))
        longer = np.concatenate((table, np.zeros((1, *table.shape[1:]), table.dtype)))
        refused(contents._replace(arrays=arrays | {lost: longer}))
        for odd in (table[:, None], table[None]):
            refused(contents._replace(arrays=arrays | {lost: odd}))
        if table.dtype.names is None and len(table):
            changed = table.astype(np.float32)
            refused(contents._replace(arrays=arrays | {lost: changed}))
            refused(contents._replace(arrays=arrays | {lost: table[:-1]}))
    for place in range(len(arrays["cursor"])):
        cursor = arrays["cursor"].copy()
        cursor[place] = -1
        refused(contents._replace(arrays=arrays | {"cursor": cursor}))
    for field in ("first_sequence", "parent", "num_actions", "player"):
        for value in (-1, 10**6):
            if "infosets" in arrays:
                infosets = arrays["infosets"].copy()
                infosets[field][3] = value
                refused(contents._replace(arrays=arrays | {"infosets": infosets}))


def test_keys_of_odd_shapes_are_refused():
    contents = run(KUHN, ms.EXTERNAL_SAMPLING, 10, store="none").contents()
    for name, table in contents.arrays.items():
        for odd in (table[:, None], table[None]):
            arrays = contents.arrays | {name: odd}
            with pytest.raises(CheckpointError):
                Solver.from_contents(contents._replace(arrays=arrays))


class Touch:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return pathlib.Path.touch, (self.path,)


def test_no_code_in_a_file_is_run(saved):
    mark = saved.with_name("mark")
    contents = checkpoint.load(saved)
    file = io.BytesIO()
    bomb = np.array([Touch(mark)], object)
    np.savez(file, allow_pickle=True, **(contents.arrays | {"policy": bomb}))
    inside = file.getvalue()
    bombs = [checkpoint.MAGIC + inside, inside, pickle.dumps(Touch(mark))]
    for data in bombs:
        saved.write_bytes(data)
        with pytest.raises(CheckpointError):
            Solver.load(saved)
    assert not mark.exists()
    pickle.loads(bombs[-1])
    assert mark.exists()  # it would have worked


# --- what cannot be written ----------------------------------------------------


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_an_error_at_any_step_leaves_a_good_file(saved, step, monkeypatch):
    original = getattr(os, step)
    for broken in range(2):
        done = 0

        def fail(*arguments, broken=broken):
            nonlocal done
            done += 1
            if done == broken + 1:
                raise OSError(28, "No space left on device")
            return original(*arguments)

        solver = Solver.load_newest(saved)
        begun = solver.num_iterations
        solver.iterate(5)
        with monkeypatch.context() as patch:
            patch.setattr(os, step, fail)
            with pytest.raises(OSError, match="No space left"):
                solver.save(saved)
        assert Solver.load_newest(saved).num_iterations in (begun, begun + 5)
    solver = Solver.load_newest(saved)
    solver.save(saved)
    assert Solver.load(saved).num_iterations == solver.num_iterations
    assert set(files_in(saved.parent)) <= {"solver", "solver.previous"}


def save_thrice(path, number, barrier):
    contents = checkpoint.Contents(
        {"version": checkpoint.SOLVER.version, "writer": number},
        {"numbers": np.full(20_000, number)},
    )
    barrier.wait()
    for _ in range(3):
        checkpoint.save(path, contents)


def test_of_two_writers_of_one_file_each_leaves_whole_files(tmp_path):
    barrier = threading.Barrier(2)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for n in range(15):
            path = tmp_path / str(n) / "solver"
            path.parent.mkdir()
            writers = [pool.submit(save_thrice, path, i, barrier) for i in range(2)]
            for writer in writers:
                writer.result()
            assert set(files_in(path.parent)) == {"solver", "solver.previous"}
            for ending in ("", checkpoint.PREVIOUS):
                found = checkpoint.load(path.with_name(path.name + ending))
                assert (found.arrays["numbers"] == found.header["writer"]).all()


# --- killed --------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_kills_at_random_moments_change_nothing():
    command = [sys.executable, "-m", "benchmarks.interruptions", "--what=kills"]
    command += ["--times=10", "--engine=growing tree"]
    root = pathlib.Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


# --- files that would fill the memory ------------------------------------------


def member(shape: str, data: bytes = b"") -> bytes:
    """A .npy file of uint8 that tells any shape."""
    text = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}}}"
    text += " " * (117 - len(text)) + "\n"
    size = len(text).to_bytes(2, "little")
    return b"\x93NUMPY\x01\x00" + size + text.encode() + data


def bombs() -> dict[str, bytes]:
    """Archives of less than 3 MB that would take gigabytes."""
    made = {}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("vector.npy", "w", force_zip64=True) as data:
            data.write(member("(2000000000,)"))
            for _ in range(200):
                data.write(bytes(10**6))
        archive.writestr("header.npy", member("(2,)", b"{}"))
    made["deflated"] = file.getvalue()
    for name, shape in (
        ("a shape too large", "(100000000000,)"),
        ("a product too large", "(4294967296, 4294967296, 4294967296)"),
        ("a negative shape", "(-1,)"),
        ("a shape of 0 x huge", "(0, 9223372036854775807, 9)"),
        ("many dimensions", f"({'1, ' * 40})"),
    ):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("vector.npy", member(shape, b"x"))
        made[name] = file.getvalue()
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.npy", member("(1000000,)", bytes(10**6)))
        only = archive.infolist()[0]
        for number in range(2000):  # that all name the same bytes
            again = copy.copy(only)
            again.filename = f"{number}.npy"
            archive.filelist.append(again)
    made["one member 2,000 times"] = file.getvalue()
    return made


BOMBS = bombs()
KINDS = checkpoint.SOLVER, checkpoint.POLICY, checkpoint.BOT


@pytest.mark.parametrize(("name", "kind"), [*zip(BOMBS, itertools.cycle(KINDS))])
def test_a_small_file_takes_little_memory_whatever_it_pretends(name, kind, tmp_path):
    assert len(BOMBS[name]) < 3_000_000
    path = tmp_path / "file"
    path.write_bytes(kind.magic + BOMBS[name])
    tracemalloc.start()
    try:
        with pytest.raises(CheckpointError):
            checkpoint.load(path, kind)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20_000_000
