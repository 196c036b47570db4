"""What a run has found is kept, whatever happens to the run, the disk or the folder."""

import contextlib
import csv
import importlib
import pathlib
import resource
import shutil

import pyspiel
import pytest

import mccfr_spiel as ms
from mccfr_spiel.experiments import Settings, make_solver, rows, sweeps
from mccfr_spiel.experiments import run as run_settings
from mccfr_spiel.experiments.flag_words import in_flags
from mccfr_spiel.experiments.recording import Recording
from mccfr_spiel.experiments.results import begin
from mccfr_spiel.experiments.resuming import check_can_end, load_solver
from mccfr_spiel.experiments.resuming import read_rows as read_kept_rows
from mccfr_spiel.experiments.runs import COLUMNS
from mccfr_spiel.experiments.settings_files import description
from mccfr_spiel.storage import locks
from mccfr_spiel.storage.row_file import RowWriter, read_table, read_whole_table
from mccfr_spiel.tree import identity
from tests.experiments.test_run_experiments import read_rows, run

FRAGILE = """
import os

import pyspiel
from open_spiel.python.games import kuhn_poker

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

kind = pyspiel.GameType(
    short_name="{name}",
    long_name="A game with a mistake",
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
    information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
    utility=pyspiel.GameType.Utility.ZERO_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL,
    max_num_players=2,
    min_num_players=2,
    provides_information_state_string=True,
    provides_information_state_tensor=True,
    provides_observation_string=True,
    provides_observation_tensor=True,
    parameter_specification={{}},
)
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


def test_rows_that_do_not_fit_on_the_disk_are_written_when_they_do(tmp_path):
    path = tmp_path / "rows.csv"
    with RowWriter(path, ("number", "text")) as writer:
        writer.write({"number": 0, "text": "a" * 50})
        with no_file_larger_than(100):
            for number in (1, 2):
                writer.write({"number": number, "text": "b" * 50})
                assert writer.trouble is not None
            with pytest.raises(OSError, match="large"):
                writer.sync()
        assert len(path.read_bytes()) <= 100
        writer.write({"number": 3, "text": None})
        assert writer.trouble is None
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["number"] for row in rows] == ["0", "1", "2", "3"]
    assert [len(row["text"]) for row in rows] == [50, 50, 50, 0]


@pytest.mark.parametrize("is_there_again", [False, True])
def test_rows_of_a_deleted_folder_are_written_again(is_there_again, tmp_path):
    path = tmp_path / "run" / "rows.csv"
    path.parent.mkdir()
    with RowWriter(path, ("number",), [{"number": 7}]) as writer:
        writer.write({"number": 8})
        shutil.rmtree(path.parent)
        if is_there_again:
            path.parent.mkdir()
        writer.write({"number": 9})
        assert writer.trouble is None
        assert read_table(path).rows == [{"number": str(n)} for n in (7, 8, 9)]


@pytest.mark.parametrize(
    ("text", "numbers", "damaged"),
    [
        ("", [], 0),
        ("a,b\n1,2\n3,4\n", ["1", "3"], 0),
        ("a,b\n1,2\n3,", ["1"], 0),  # cut short by a kill
        ("a,b\n1,2\n3\n5,6\n", ["1", "5"], 1),
        ('a,b\n1,2\n"3,\n5,6\n', ["1", "5"], 1),
        ("a,b\n1,2\n\0\0,\xff\n5,6,7\n", ["1", "??"], 1),
    ],
)
def test_damaged_lines_of_a_table_are_counted(text, numbers, damaged, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(text.encode("latin-1"))
    table = read_table(path)
    assert [row["a"] for row in table.rows] == numbers
    assert table.damaged == damaged
    if damaged:
        with pytest.raises(ValueError, match=r"rows.csv has 1 damaged lines"):
            read_whole_table(path)
    else:
        assert read_whole_table(path) == table


def test_fields_with_commas_and_quotes_are_read_as_they_were_written(tmp_path):
    path, texts = tmp_path / "rows.csv", ["ES, eps=0.6", 'the "best"', '"']
    with RowWriter(path, ("text", "number")) as writer:
        for number, text in enumerate(texts):
            writer.write({"text": text, "number": number})
    assert [row["text"] for row in read_whole_table(path).rows] == texts
    assert read_whole_table(path).columns == ["text", "number"]


def test_a_missing_file_has_no_rows_and_is_not_whole(tmp_path):
    assert read_table(tmp_path / "none.csv") == ([], 0, [])
    with pytest.raises(FileNotFoundError):
        read_whole_table(tmp_path / "none.csv")


# --- a run -----------------------------------------------------------------------


SHORT = Settings("kuhn_poker", iterations=20)


def record(folder, settings=SHORT, **changes):
    """A recording in a new folder, what it says, and the solver before its run."""
    folder.mkdir(parents=True)
    said = []
    solver = make_solver(settings)
    about = description(settings)
    begin(folder, about, solver)
    recording = Recording(
        locks.FolderLock(folder), about, solver, [], said.append, **changes
    )
    return recording, said, solver


def test_what_cannot_be_written_in_its_folder_goes_elsewhere(tmp_path, monkeypatch):
    """The folder is replaced by a file in the midst of the run."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    recording, said, solver = record(tmp_path / "out")
    for row in rows(solver, SHORT):
        recording.add(row)
        if row["iteration"] == 6:
            shutil.rmtree(tmp_path / "out")
            (tmp_path / "out").touch()
    recording.finish()
    recording.close()
    (rescued,) = (tmp_path / "here").iterdir()
    assert rescued.name.startswith("out_rescued_")
    assert any(f"was deleted. What there is goes to {rescued}" in line for line in said)
    assert [int(row["iteration"]) for row in read_rows(rescued)] == [
        1, 2, 3, 4, 6, 10, 16, 20,
    ]  # fmt: skip
    assert ms.Solver.load(rescued / "solver.checkpoint").num_iterations == 20
    expected = ms.Solver("kuhn_poker")
    expected.iterate(20)
    found = ms.load_policy(rescued).to_dict()
    assert found == expected.average_policy().to_dict()


def test_each_file_of_the_end_is_tried_by_itself(tmp_path, monkeypatch):
    """The checkpoint is larger than what the disk has left, policy and rows are not."""
    monkeypatch.chdir(tmp_path)
    recording, _, solver = record(tmp_path / "out")
    for row in rows(solver, SHORT):
        recording.add(row)
    size = (tmp_path / "out" / "solver.checkpoint").stat().st_size
    with no_file_larger_than(size - 1):
        recording.finish()
    recording.close()
    (problem,) = recording.problems
    assert "solver.checkpoint could not be written" in problem
    assert "is lost" in problem
    assert sorted(files(tmp_path / "out")) == [
        "policy.json", "results.csv", "settings.json", "solver.checkpoint",
    ]  # fmt: skip
    assert ms.Solver.load(tmp_path / "out" / "solver.checkpoint").num_iterations == 0
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_folder_that_another_run_has_taken_is_left_to_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    recording, _, solver = record(tmp_path / "out")
    shutil.rmtree(tmp_path / "out")
    other, _, _ = record(tmp_path / "out")
    before = files(tmp_path / "out")
    for row in rows(solver, SHORT):
        recording.add(row)
    recording.finish()
    recording.close()
    assert files(tmp_path / "out") == before
    (rescued,) = tmp_path.glob("out_rescued_*")
    assert len(read_rows(rescued)) == 8
    other.close()


def test_a_row_brings_a_checkpoint_where_saving_is_cheap(tmp_path, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(
        "mccfr_spiel.experiments.recording.time.monotonic", lambda: clock[0]
    )
    saved = []
    recording, _, solver = record(tmp_path / "out", checkpoint_every=60.0)

    def save(path):
        saved.append(clock[0])
        clock[0] += 0.5  # so long it takes

    monkeypatch.setattr(solver, "save", save)
    for second in (0.5, 2, 5, 20, 80, 81, 110, 140, 205):
        clock[0] = second
        if second not in (140, 205):
            recording.add(dict.fromkeys(COLUMNS, 1))
        recording.save_if_due()
    recording.close()
    # A row after 2 s; no more than a 20th of the time: 12.5 s at least in between; and
    # every 60 s without a row.
    assert saved == [2, 20, 80, 110, 205]


# --- errors in the middle --------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    ["pyspiel.SpielError('broken')", "MemoryError('broken')", "KeyError('broken')"],
)
def test_a_setting_of_a_sweep_that_fails_in_the_middle_keeps_its_rows(
    error, tmp_path, monkeypatch
):
    name = f"fragile_{error.partition('(')[0].replace('.', '_')}".lower()
    fragile(tmp_path / "games", name, error)
    monkeypatch.syspath_prepend(tmp_path / "games")
    (tmp_path / "out").mkdir()
    settings = Settings(name, iterations=1000, print_freq=1, evaluate="none")
    task = sweeps.Task("one", settings, tmp_path / "out", imports=(name,))
    outcome = sweeps.run_task(task)
    assert "broken" in str(outcome.error)
    rows = read_table(tmp_path / "out" / "one.csv.unfinished").rows
    assert len(rows) > 2
    assert f"after {len(rows):,} iterations" in str(outcome.error)


@pytest.fixture(scope="module")
def failed(tmp_path_factory):
    """A run of a game that raises in the middle: its folder, arguments and end."""
    games = tmp_path_factory.mktemp("games")
    fragile(games, "fragile_run", "pyspiel.SpielError('broken')")
    folder = games / "out"
    args = ["--game=fragile_run", "--import=fragile_run", "--evaluate=none"]
    args += ["--print_freq=1", "--checkpoint_every=0", f"--output_dir={folder}"]
    result = run(*args, "--iterations=1000", PYTHONPATH=str(games))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(games)
        importlib.import_module("fragile_run")
    return folder, args, games, result


def copy_of(failed, tmp_path):
    """A copy of the failed run, which a test may change, and the arguments for it."""
    folder = shutil.copytree(failed[0], tmp_path / "copy")
    return folder, [*failed[1][:-1], f"--output_dir={folder}"]


def test_a_run_that_fails_in_the_middle_keeps_rows_policy_and_checkpoint(failed):
    folder, _, _, result = failed
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    done = len(read_rows(folder))
    assert done > 2
    assert f"Error after {done} iterations: broken" in result.stderr
    assert 0 < ms.load_policy(folder).num_infosets <= 12
    assert ms.Solver.load(folder / "solver.checkpoint").num_iterations == done


OF_FAILED = Settings("fragile_run", iterations=1000, evaluate="none", print_freq=1)


def test_the_way_out_after_a_game_was_mended_is_to_begin_again(
    failed, tmp_path, monkeypatch
):
    folder, args = copy_of(failed, tmp_path)
    monkeypatch.setenv("MENDED", "1")
    with pytest.raises(ValueError, match="broken") as caught:
        check_can_end(folder, OF_FAILED)
    message = in_flags(str(caught.value))
    assert "begin anew, with --overwrite or in another --output_dir" in message
    assert "game=" not in message
    assert "failed.json" not in message
    again = run(*args, "--iterations=30", "--overwrite", PYTHONPATH=str(failed[2]))
    assert again.returncode == 0, again.stderr
    assert not (folder / "failed.json").exists()


def test_the_way_out_where_a_mended_game_is_still_known_is_to_resume(
    failed, tmp_path, monkeypatch
):
    """The mistake is deeper in the game than what a checkpoint knows it by."""
    monkeypatch.setattr(identity, "PRINTED_STATES", 3)
    recording, _, solver = record(tmp_path / "out", OF_FAILED)
    with pytest.raises(pyspiel.SpielError) as caught:
        solver.iterate(1000)
    recording.finish(caught.value)
    recording.close()
    monkeypatch.setenv("MENDED", "1")
    with pytest.raises(ValueError, match="broken") as refused:
        check_can_end(tmp_path / "out", OF_FAILED)
    path = tmp_path / "out" / "failed.json"
    assert f"delete {path} and resume" in str(refused.value)
    path.unlink()
    check_can_end(tmp_path / "out", OF_FAILED)
    again = load_solver(OF_FAILED, tmp_path / "out" / "solver.checkpoint")
    again.iterate(1000 - again.num_iterations)
    expected = ms.Solver("fragile_run", seed=0)
    expected.iterate(1000)
    assert again.average_vector().tolist() == expected.average_vector().tolist()


def test_a_failed_run_is_not_resumed_into_its_error_again(failed, tmp_path):
    games = failed[2]
    folder, args = copy_of(failed, tmp_path)
    done = len(read_rows(folder))
    before = files(folder)
    result = run(*args, "--iterations=1000", "--resume", PYTHONPATH=str(games))
    assert result.returncode == 1
    assert "Preparing" not in result.stdout
    assert f"after {done} iterations, and would again" in result.stderr
    assert "broken" in result.stderr
    assert files(folder) == before
    result = run(*args, f"--iterations={done}", "--resume", PYTHONPATH=str(games))
    assert result.returncode == 0, result.stderr
    assert len(read_rows(folder)) == done
    assert not (folder / "failed.json").exists()


@pytest.mark.parametrize("sampling", [ms.EXTERNAL, ms.OUTCOME, ms.OPPONENT])
def test_a_checkpoint_of_a_failed_run_stands_before_the_walk_that_failed(
    sampling, failed, tmp_path, monkeypatch
):
    """So that no bit is other than in a run that never failed, if it can go on."""
    algorithm = ms.Algorithm(sampling, ms.regret_matching())
    game = pyspiel.load_game("fragile_run")
    solver = ms.Solver(game, algorithm, seed=1)
    with pytest.raises(Exception, match="broken"):
        solver.iterate(1000)
    solver.save(tmp_path / "solver")
    monkeypatch.setenv("MENDED", "1")
    expected = ms.Solver(pyspiel.load_game("fragile_run"), algorithm, seed=1)
    expected.iterate(1000)
    loaded = ms.Solver.load(tmp_path / "solver", game)
    for found in (loaded, solver):
        found.iterate(1000 - found.num_iterations)
        assert found.nodes_touched == expected.nodes_touched
        assert found.average_vector().tolist() == expected.average_vector().tolist()


def test_an_error_before_the_first_iteration_is_one_message(failed, tmp_path):
    _, args, games, _ = failed
    args = [*args[:2], "--evaluate=exact", f"--output_dir={tmp_path / 'out'}"]
    result = run(*args, PYTHONPATH=str(games))
    assert result.returncode == 1
    assert "Error: broken" in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "out").exists()


# --- resuming and overwriting ----------------------------------------------------

QUICK = ["--game=kuhn_poker", "--iterations=300"]


@pytest.fixture
def finished(tmp_path):
    folder = tmp_path / "out"
    settings = Settings("kuhn_poker", iterations=300)
    recording, _, solver = record(folder, settings)
    for row in rows(solver, settings):
        recording.add(row)
    recording.finish()
    recording.close()
    assert recording.problems == []
    return folder


@pytest.mark.parametrize("lost", ["results.csv", "settings.json"])
def test_a_run_without_one_of_its_files_is_resumed(lost, finished, tmp_path):
    (finished / lost).unlink()
    result = run(
        "--game=kuhn_poker", "--iterations=700", "--resume", f"--output_dir={finished}"
    )
    assert result.returncode == 0, result.stderr
    assert "Resumed after 300 iterations" in result.stdout
    _, expected = run_settings(Settings("kuhn_poker", iterations=700))
    first = 300 if lost == "results.csv" else 0
    iterations = [row["iteration"] for row in expected if row["iteration"] > first]
    rows = read_rows(finished)
    assert [int(row["iteration"]) for row in rows] == iterations
    assert float(rows[-1]["nash_conv"]) == expected[-1]["nash_conv"]
    assert ("lacks 13 rows" in result.stderr) == (lost == "results.csv")


def test_damaged_rows_are_told_and_a_copy_is_kept(finished):
    path = finished / "results.csv"
    lines = path.read_text().splitlines()
    lines[3] = lines[3].replace(",", ";")
    path.write_text("\n".join(lines) + "\n")
    settings = Settings("kuhn_poker", iterations=300)
    solver = load_solver(settings, finished / "solver.checkpoint")
    kept, missing, damaged = read_kept_rows(path, settings, solver)
    assert (missing, damaged) == (1, 1)
    assert [row["iteration"] for row in kept][:4] == [1, 2, 4, 6]
    copy = finished / "results.csv.damaged"
    assert copy.read_text() == path.read_text()


def test_overwriting_with_an_impossible_run_keeps_the_old_results(finished):
    before = files(finished)
    for game in ("liars_dice_ir", "kuhn_poker(players=99)"):
        result = run(f"--game={game}", "--overwrite", f"--output_dir={finished}")
        assert result.returncode == 1
        assert files(finished) == before


def test_a_folder_has_one_run_at_a_time(finished):
    before = files(finished)
    with locks.FolderLock(finished):
        for flag in ("--resume", "--overwrite"):
            result = run(*QUICK, flag, f"--output_dir={finished}")
            assert result.returncode == 1
            assert f"Another process is running in {finished}" in result.stderr
    assert files(finished) == before
    result = run(*QUICK, "--resume", f"--output_dir={finished}")
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("flag", ["checkpoint_every", "evaluation_seconds"])
def test_seconds_that_are_no_number_are_refused(flag, tmp_path):
    result = run(*QUICK, f"--{flag}=nan", f"--output_dir={tmp_path / 'out'}")
    assert result.returncode == 1
    assert f"--{flag} must be a number of seconds" in result.stderr
    assert not (tmp_path / "out").exists()
