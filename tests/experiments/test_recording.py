"""The files of a run: rows, checkpoints, policies, and what ends a run in order."""

import contextlib
import pathlib
import re
import resource
import shutil
import types

import pyspiel
import pytest
from open_spiel.python.games import kuhn_poker

import mccfr_spiel as ms
from mccfr_spiel.command_line.main import main
from mccfr_spiel.experiments import Settings, results, single_run
from mccfr_spiel.experiments import run as run_settings
from mccfr_spiel.experiments.results import Recording
from mccfr_spiel.experiments.runs import COLUMNS
from mccfr_spiel.storage import folders
from mccfr_spiel.storage.checkpoint import DamagedError
from mccfr_spiel.storage.results_folder import read_table
from tests.experiments.test_run_experiments import read_rows, untimed


def fragile(monkeypatch, error: str) -> None:
    """Lets Kuhn poker in Python raise in one of its histories, until that is undone."""
    legal_actions = kuhn_poker.KuhnPokerState._legal_actions

    def failing(state, player):
        if state.cards == [2, 1] and state.bets == [0, 1]:
            raise pyspiel.SpielError(error)
        return legal_actions(state, player)

    monkeypatch.setattr(kuhn_poker.KuhnPokerState, "_legal_actions", failing)


def files(folder: pathlib.Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@contextlib.contextmanager
def no_file_larger_than(size: int):
    """Writing more raises OSError, as it does on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


# --- rows ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("a,b\n1,2\n3,4\n", ["1", "3"]),
        ("a,b\n1,2\n3,", ["1"]),
        ("a,b\n1,2\n3\n5,6\n", None),
        ('a,b\n1,2\n"3,\n5,6\n', None),
    ],
)
def test_a_table_with_a_damaged_line_is_refused(text, numbers, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(text.encode("latin-1"))
    if numbers is None:
        with pytest.raises(DamagedError, match=r"rows.csv has a damaged line"):
            read_table(path)
    else:
        assert [row["a"] for row in read_table(path).rows] == numbers


# --- a run, in this process --------------------------------------------------------


class Signals:
    """What a run asks of handlers that no signal reaches."""

    wait: bool = False
    received: int | None = None

    def restore(self):
        pass


def solve(folder, given=None, *, resume=False, overwrite=False):
    given = given or {}
    flags = {"game": "kuhn_poker", "iterations": 300} | given
    how = {"output_dir": str(folder), "resume": resume, "overwrite": overwrite}
    return single_run.solve(single_run.Request(flags, given, **how), Signals())


def test_a_full_disk_ends_a_run_with_one_message_and_its_checkpoint_is_good(
    tmp_path, capsys
):
    words = ["solve", "leduc_poker", "--iterations=2000", "--print_freq=100"]
    words += ["--checkpoint_every=0", "--evaluate=none"]
    whole, full = tmp_path / "whole", tmp_path / "full"
    assert main([*words, f"--output_dir={whole}"]) == 0
    capsys.readouterr()
    sizes = {path.name: path.stat().st_size for path in whole.iterdir()}
    with no_file_larger_than(sizes["solver.checkpoint"] - 100):
        assert main([*words, f"--output_dir={full}"]) == 1
    error = capsys.readouterr().err
    assert error.count("Error: ") == 1
    assert "make room or choose another place" in error
    assert "--resume goes on from it" in error
    assert not [*full.glob("*.part*")]
    found = ms.Solver.load(full / "solver.checkpoint").num_iterations
    assert 0 <= found < 2000
    assert main([*words, f"--output_dir={full}", "--resume"]) == 0
    assert untimed(full) == untimed(whole)
    policies = [ms.load_policy(path).to_dict() for path in (full, whole)]
    assert policies[0] == policies[1]


def test_a_deleted_folder_ends_a_run_with_one_message(tmp_path, monkeypatch, capsys):
    real = Recording.add

    def add(recording, row):
        real(recording, row)
        if row["iteration"] == 6:
            shutil.rmtree(tmp_path / "out")

    monkeypatch.setattr(Recording, "add", add)
    assert main(["solve", "kuhn_poker", f"--output_dir={tmp_path / 'out'}"]) == 1
    error = capsys.readouterr().err
    assert "deleted" in error
    assert str(tmp_path / "out") in error
    assert "--resume" not in error
    assert not (tmp_path / "out").exists()


def test_checkpoints_come_with_new_rows_and_else_as_often_as_was_asked(
    tmp_path, monkeypatch
):
    """A row brings one unless the last one is less than a second old."""
    now, saved = [0.0], []
    clock = types.SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr(results, "time", clock)
    monkeypatch.setattr(ms.Solver, "save", lambda solver, path: saved.append(now[0]))
    paths = tmp_path / "results.csv", tmp_path / "solver.checkpoint"
    settings, solver = Settings("kuhn_poker"), ms.Solver("kuhn_poker")
    recording = Recording(*paths, settings, solver, checkpoint_every=10)
    for half_seconds in range(1, 60):
        now[0] = half_seconds / 2
        if now[0] in (3.0, 3.5, 7.0):
            recording.add(dict.fromkeys(COLUMNS, 0) | {"iteration": half_seconds})
        recording.save_if_due()
    recording.close()
    assert saved == [3.0, 4.0, 7.0, 17.0, 27.0]
    for seconds, least, most in (("0", 10, 99), ("60", 1, 2)):
        saved.clear()
        folder = f"--output_dir={tmp_path / seconds}"
        words = ["solve", "kuhn_poker", "--iterations=300", "--evaluate=none", folder]
        assert main([*words, f"--checkpoint_every={seconds}"]) == 0
        assert least <= len(saved) <= most


# --- errors in the middle --------------------------------------------------------


def test_a_run_that_fails_in_the_middle_goes_on_once_its_game_is_mended(
    tmp_path, monkeypatch, capsys
):
    """Its rows, its policy and its checkpoint are those of the walk before."""
    fragile(monkeypatch, "broken")
    folder = tmp_path / "out"
    words = ["solve", "python_kuhn_poker", "--evaluate=none", "--print_freq=1"]
    words += ["--iterations=1000", f"--output_dir={folder}"]
    assert main(words) == 1
    error = capsys.readouterr().err
    done = len(read_rows(folder))
    assert done > 2
    assert re.search(rf"Error after {done} iterations: broken.* led there in", error)
    assert "Traceback" not in error
    assert 0 < ms.load_policy(folder).num_infosets <= 12
    assert main([*words, "--resume"]) == 1  # into the same error, with the same files
    assert len(read_rows(folder)) == done
    monkeypatch.undo()
    assert main([*words, "--resume"]) == 1
    assert "begin anew, with --overwrite or in another" in capsys.readouterr().err
    assert main([*words, "--overwrite"]) == 0
    assert len(read_rows(folder)) == 1000


# --- resuming and overwriting ----------------------------------------------------


@pytest.fixture
def finished(tmp_path):
    folder = tmp_path / "out"
    assert solve(folder) == 0
    return folder


@pytest.mark.parametrize("lost", ["results.csv", "settings.json"])
def test_a_run_without_one_of_its_files_is_resumed(lost, finished, capsys):
    (finished / lost).unlink()
    assert solve(finished, given={"iterations": 700}, resume=True) == 0
    printed = capsys.readouterr()
    assert "Resumed after 300 iterations" in printed.out
    _, expected = run_settings(Settings("kuhn_poker", iterations=700))
    first = 300 if lost == "results.csv" else 0
    iterations = [row["iteration"] for row in expected if row["iteration"] > first]
    found = read_rows(finished)
    # The row of 300 is not due in the longer run.
    assert [int(row["iteration"]) for row in found] == iterations
    assert float(found[-1]["nash_conv"]) == expected[-1]["nash_conv"]
    assert ("lacks rows" in printed.err) == (lost == "results.csv")


def test_a_damaged_checkpoint_gives_way_to_the_one_before(finished, tmp_path):
    newest = finished / "solver.checkpoint"
    data = bytearray(newest.read_bytes())
    data[len(data) // 2] ^= 1
    newest.write_bytes(data)
    before = untimed(finished)
    with (finished / "results.csv").open("a") as file:
        file.write("123,45")  # a row cut short
    policy = (finished / "policy.json").read_bytes()
    assert solve(finished, resume=True) == 0
    assert untimed(finished) == before
    assert (finished / "policy.json").read_bytes() == policy


def test_overwriting_with_an_impossible_run_keeps_the_old_results(finished):
    before = files(finished)
    for game in ("liars_dice_ir", "kuhn_poker(players=99)"):
        with pytest.raises(Exception, match=r"\w"):
            solve(finished, given={"game": game}, overwrite=True)
        assert files(finished) == before
    assert solve(finished, given={"print_freq": 200}, overwrite=True) == 0
    assert [row["iteration"] for row in read_rows(finished)] == ["200", "300"]


def test_a_folder_has_one_run_at_a_time(finished):
    before = files(finished)
    with folders.held(finished):
        for how in ({"resume": True}, {"overwrite": True}):
            with pytest.raises(ValueError, match="Another process is running in"):
                solve(finished, **how)
    assert files(finished) == before
    assert solve(finished, resume=True) == 0
    with pytest.raises(ValueError, match="--resume keeps results and --overwrite"):
        solve(finished, resume=True, overwrite=True)
