"""The files of a run: rows, checkpoints, policies, and what ends a run in order."""

import contextlib
import importlib
import json
import os
import pathlib
import re
import resource
import shutil

import pytest
from open_spiel.python.algorithms import exploitability

import mccfr_spiel as ms
from mccfr_spiel.command_line.main import main
from mccfr_spiel.experiments import Settings, single_run
from mccfr_spiel.experiments import run as run_settings
from mccfr_spiel.experiments.plotting import convergence_figure
from mccfr_spiel.experiments.results import Recording, load_solver
from mccfr_spiel.experiments.results import read_rows as read_kept_rows
from mccfr_spiel.experiments.runs import COLUMNS
from mccfr_spiel.experiments.single_run import format_row, header
from mccfr_spiel.storage import folders
from mccfr_spiel.storage.checkpoint import DamagedError
from mccfr_spiel.storage.results_folder import RowWriter, read_table
from tests.experiments.test_run_experiments import read_rows, untimed

FRAGILE = """
import os

import pyspiel
from open_spiel.python.games import kuhn_poker
from tests.small_games import leaf, small_game

class State(kuhn_poker.KuhnPokerState):
    def _legal_actions(self, player):
        is_there = self.cards == [2, 1] and self.bets == [0, 1]
        if is_there and "MENDED" not in os.environ:
            raise {error}
        return super()._legal_actions(player)

class Game(kuhn_poker.KuhnPokerGame):
    def __init__(self, params=None):
        pyspiel.Game.__init__(self, kind, kuhn_poker._GAME_INFO, params or {{}})

    def new_initial_state(self):
        return State(self)

has = "information_state_tensor", "observation_string", "observation_tensor"
kind = small_game(
    leaf(0.0, 0.0),
    name="{name}",
    utility=pyspiel.GameType.Utility.ZERO_SUM,
    **{{f"provides_{{what}}": True for what in has}},
).get_type()
pyspiel.register_game(kind, Game)
"""


def fragile(folder: pathlib.Path, name: str, error: str) -> None:
    """Writes a module that registers a game that raises in one of its histories."""
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.py").write_text(FRAGILE.format(error=error, name=name))


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


def test_an_interruption_of_the_evaluation_says_what_is_kept(tmp_path, monkeypatch):
    def interrupted(policy, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(single_run, "evaluation", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        solve(tmp_path / "out", given={"evaluate": "sampled"})
    (note,) = caught.value.__notes__
    assert f"checkpoint in {tmp_path / 'out'} is good" in note
    assert {"policy.json", "results.csv"} < {*os.listdir(tmp_path / "out")}


def test_rows_have_the_nash_conv_of_the_current_policy_if_asked_for(tmp_path):
    settings = Settings("kuhn_poker", ms.PCFR_PLUS, iterations=50, evaluate_last=True)
    solver, found = run_settings(settings)
    assert isinstance(solver, ms.Solver)
    gaps = [
        exploitability.nash_conv(policy.game, policy.to_tabular())
        for policy in (solver.average_policy(), solver.current_policy())
    ]
    last = found[-1]["nash_conv"], found[-1]["last_nash_conv"]
    assert last == pytest.approx(gaps, abs=1e-12)
    assert gaps[0] != pytest.approx(gaps[1])
    assert "last NashConv" in header(settings)
    assert f"{gaps[1]:.6g}" in format_row(found[-1])
    path = tmp_path / "results.csv"
    RowWriter(path, COLUMNS, found).close()
    axes = convergence_figure({"PCFR+": path}).axes[0]
    labels = [line.get_label() for line in axes.lines]
    assert labels == ["PCFR+", "current policy of PCFR+"]
    assert axes.lines[1].get_ydata() == pytest.approx(
        [row["last_nash_conv"] for row in found]
    )
    assert read_kept_rows(path, settings, solver).rows == found


def test_a_checkpoint_is_not_written_again_where_it_was_just_saved(tmp_path):
    """So the one before it stays an older one, and Ctrl-C does not wait twice."""
    settings, path = Settings("kuhn_poker", iterations=300), tmp_path / "checkpoint"
    solver = ms.Solver("kuhn_poker", ms.EXTERNAL_SAMPLING)
    solver.save(path)
    recording = Recording(tmp_path / "rows.csv", path, settings, solver)
    for _ in range(2):
        solver.iterate(10)
        recording.save()
        recording.save()  # as Ctrl-C has it saved right after a row
    found = [ms.Solver.load(f"{path}{end}").num_iterations for end in ("", ".previous")]
    assert found == [20, 10]
    path.unlink()  # nothing is there to be the same
    recording.close()
    with contextlib.closing(
        Recording(tmp_path / "rows.csv", path, settings, solver)
    ) as again:
        again.save()
    assert ms.Solver.load(path).num_iterations == 20


# --- errors in the middle --------------------------------------------------------


def test_a_run_that_fails_in_the_middle_goes_on_once_its_game_is_mended(
    tmp_path, monkeypatch, capsys
):
    """Its rows, its policy and its checkpoint are those of the walk before."""
    fragile(tmp_path, "fragile_run", "pyspiel.SpielError('broken')")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("fragile_run")
    folder = tmp_path / "out"
    words = ["solve", "fragile_run", "--evaluate=none", "--print_freq=1"]
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
    monkeypatch.setenv("MENDED", "1")
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


def test_damaged_rows_are_refused_in_words(finished):
    path = finished / "results.csv"
    lines = path.read_text().splitlines()
    lines[3] = lines[3].replace(",", ";")
    path.write_text("\n".join(lines) + "\n")
    settings = Settings("kuhn_poker", iterations=300)
    solver = load_solver(settings, finished / "solver.checkpoint")
    with pytest.raises(DamagedError, match=r"results.csv is damaged.*Delete it"):
        read_kept_rows(path, settings, solver)


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


def test_resuming_where_no_run_is_says_so(tmp_path, capsys):
    assert solve(tmp_path / "new", resume=True) == 0
    assert "There is no run in" in capsys.readouterr().out
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match=r"has no run to resume.*--overwrite"):
        solve(tmp_path / "other", resume=True)
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="cannot be written"):
        solve(tmp_path / "file" / "below")
    (tmp_path / "new" / "settings.json").write_text(json.dumps({"settings": 3}))
    with pytest.raises(ValueError, match="Delete it and give all of the run's"):
        solve(tmp_path / "new", resume=True)
