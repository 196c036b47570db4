"""Refusals of policies, locks, checkpoints, estimators and games that are too large."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import mccfr_spiel as ms
from mccfr_spiel.common import folders
from mccfr_spiel.common.checkpoint import CheckpointError, Contents

GOOFSPIEL = (
    "turn_based_simultaneous_game(game=goofspiel(num_cards=9,imp_info=True,"
    "points_order=descending))"
)


def test_policy_with_an_illegal_action_is_refused():
    tree = ms.GameTree("kuhn_poker").expand_all()
    table = {name: {0: 0.5, 1: 0.5} for name in tree.info_states}
    assert ms.nash_conv("kuhn_poker", table) == pytest.approx(11 / 12)
    for extra in ({0: 0.5, 1: 0.5, 7: 0.25}, {3: 0.5, 4: 0.5}):
        with pytest.raises(ValueError, match=r"legal actions are \[0, 1\]. Remove"):
            ms.nash_conv("kuhn_poker", table | {"0": extra})
    harmless = {0: 0.5, 1: 0.5, 7: 0.0}
    assert ms.nash_conv("kuhn_poker", table | {"0": harmless}) == pytest.approx(11 / 12)


def test_unknown_locked_information_state_is_answered_by_the_nearest():
    game = ms.poker.subgame(
        board="2s3h4d5c9s",
        pot=2,
        stacks=2,
        ranges=("KhKs", "QdQc"),
        bets="a",
        raises="a",
    )
    names = list(ms.Solver(game, ms.CFR).tree.info_states)
    name = next(name for name in names if "KhKs" in name or "KsKh" in name)
    hand = "KhKs" if "KhKs" in name else "KsKh"
    wrong = name.replace(hand, hand[2:] + hand[:2])
    with pytest.raises(ValueError, match="Did you mean") as caught:
        ms.Solver(game, ms.CFR, locked={wrong: [0.5, 0.5]})
    assert repr(name) in str(caught.value)


def test_board_may_have_commas():
    spot = {
        "pot": 2,
        "stacks": 2,
        "ranges": ("KhKs", "AdAc"),
        "bets": "a",
        "raises": "a",
    }
    boards = ("Qs,Jh,2h,3c,4d", "QsJh2h3c4d", "Qs Jh 2h 3c 4d")
    games = [ms.poker.subgame(board=board, **spot) for board in boards]
    assert len({tuple(game.subgame.board) for game in games}) == 1


def test_forged_checkpoints_are_refused_or_play_by_probabilities():
    rng = np.random.default_rng(0)
    refused = 0
    for forgery in range(300):
        solver = ms.Solver(
            "kuhn_poker", (ms.CFR_PLUS, ms.OUTCOME_SAMPLING)[forgery % 2]
        )
        solver.iterate(20)
        header, arrays = solver.contents()
        arrays = {name: array.copy() for name, array in arrays.items()}
        name = sorted(arrays)[rng.integers(len(arrays))]
        array = arrays[name]
        if array.size and array.dtype.kind in "fi":
            values = (-1.0, 7.5, -(2.0**40), 1e300)
            if array.dtype.kind == "i":
                values = (-1, 2**30, 5, np.iinfo(array.dtype).max // 2)
            array.flat[rng.integers(array.size)] = values[rng.integers(4)]
        try:
            loaded = ms.Solver.from_contents(Contents(header, arrays))
            loaded.iterate(3)
            vectors = loaded.current_vector(), loaded.average_vector()
        except (CheckpointError, ValueError):
            refused += 1
            continue
        for vector in vectors:
            assert (vector >= 0).all()
            assert np.isfinite(vector).all()
    assert refused > 50


def test_damaged_row_of_results_is_named_by_its_line(tmp_path):
    path = tmp_path / "results.csv"
    path.write_text("a,b\n1,2\n3\n")
    with pytest.raises(folders.DamagedError, match="line 3 has 1 fields, expected 2"):
        folders.read_table(path)


def complex_gradient(tree, policy, player, rng):
    return np.zeros(tree.num_sequences) + 1j, 1


def writing(tree, policy, player, rng):
    tree.nodes["player"][0] = 1
    return np.zeros(tree.num_sequences), 1


@pytest.mark.parametrize(
    ("estimate", "words"),
    [(complex_gradient, "complex numbers"), (writing, "read-only")],
)
def test_estimator_that_loses_or_changes_numbers_is_refused(estimate, words):
    algorithm = ms.Algorithm(ms.own_estimator(estimate), ms.regret_matching())
    solver = ms.Solver("kuhn_poker", algorithm)
    with pytest.raises(ValueError, match=words):
        solver.iterate(1)


def test_hopeless_passes_over_histories_are_refused_soon():
    for max_memory in ("300MiB", None):
        began = time.process_time()
        with pytest.raises(ms.TreeFullError, match="visits all of them in each pass"):
            ms.Solver(GOOFSPIEL, ms.CFR, store="none", max_memory=max_memory)
        assert time.process_time() - began < 10


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
@pytest.mark.parametrize("seconds", [0.2, 0.5, 1.0])
def test_interrupt_during_import_leaves_no_traceback(seconds):
    program = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from mccfr_spiel.command_line.entry import main; print('.', flush=True); "
        "raise SystemExit(main())"
    )
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            program,
            "solve",
            "leduc_poker",
            "--iterations=100000000",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=100)
    assert "Traceback" not in error
    assert process.returncode == 130
