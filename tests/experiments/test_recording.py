"""Files of runs: rows, checkpoints and policies; errors, resuming, imperfect recall."""

import contextlib
import json
import linecache
import re
import resource
import shutil
import sys
import types

import pyspiel
import pytest
from open_spiel.python.games import kuhn_poker

import mccfr_spiel as ms
from mccfr_spiel.command_line import run_course
from mccfr_spiel.command_line.main import main
from mccfr_spiel.common.checkpoint import DamagedError
from mccfr_spiel.common.csv_files import read_table
from mccfr_spiel.common.folder_lock import locked_folder
from mccfr_spiel.experiments import Settings, run_files, run_recording, sweeps
from mccfr_spiel.experiments import run as run_settings
from mccfr_spiel.experiments.run_recording import Recording
from mccfr_spiel.experiments.runs import COLUMNS
from mccfr_spiel.solving.reading import kept_policies
from tests.common.test_atomic import files_in
from tests.experiments.test_run_experiments import read_rows, untimed


def fragile(monkeypatch, error: str) -> None:
    """Makes a history of Python Kuhn poker raise an error until `monkeypatch.undo`."""
    legal_actions = kuhn_poker.KuhnPokerState._legal_actions

    def failing(state, player):
        if state.cards == [2, 1] and state.bets == [0, 1]:
            raise pyspiel.SpielError(error)
        return legal_actions(state, player)

    monkeypatch.setattr(kuhn_poker.KuhnPokerState, "_legal_actions", failing)


@contextlib.contextmanager
def no_file_larger_than(size: int):
    """Makes larger writes raise OSError, like a full disk."""
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
def test_table_with_damaged_line_is_refused(text, numbers, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(text.encode("latin-1"))
    if numbers is None:
        with pytest.raises(DamagedError, match=r"rows.csv has a damaged line"):
            read_table(path)
    else:
        assert [row["a"] for row in read_table(path).rows] == numbers


def test_row_has_bound_and_last_nash_conv():
    method = ms.CFR._replace(alternating=False)
    asked = Settings("kuhn_poker", method, iterations=20, bounds=True)
    solver, rows = run_settings(asked._replace(evaluate_last=True))
    assert isinstance(solver, ms.Solver)
    last = ms.nash_conv("kuhn_poker", solver.current_policy())
    assert rows[-1]["last_nash_conv"] == pytest.approx(last, abs=1e-12)
    promised = ms.theory.nash_conv_bound(solver.tree, method)(20)
    assert rows[-1]["nash_conv"] < rows[-1]["bound"] == promised


# --- a run, in this process --------------------------------------------------------


def solve(folder, *flags):
    return main(["solve", f"--output_dir={folder}", *flags])


def test_full_disk_leaves_an_intact_checkpoint(tmp_path, capsys):
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
    assert "free some space or use another folder" in error
    assert "Use --resume to continue from it" in error
    assert not [*full.glob("*.part*")]
    done = ms.Solver.load(full / "solver.checkpoint").num_iterations
    assert 0 <= done < 2000
    assert main([*words, f"--output_dir={full}", "--resume"]) == 0
    assert untimed(full) == untimed(whole)
    policies = [ms.load_policy(path).to_dict() for path in (full, whole)]
    assert policies[0] == policies[1]


def test_deleted_folder_ends_run_with_one_message(tmp_path, monkeypatch, capsys):
    real = Recording.add

    def add(recording, row):
        real(recording, row)
        if row["iteration"] == 6:
            shutil.rmtree(tmp_path / "out")

    monkeypatch.setattr(Recording, "add", add)
    flags = ["--iterations=100", f"--output_dir={tmp_path / 'out'}"]
    assert main(["solve", "kuhn_poker", *flags]) == 1
    error = capsys.readouterr().err
    assert "deleted" in error
    assert str(tmp_path / "out") in error
    assert "--resume" not in error
    assert not (tmp_path / "out").exists()


def test_checkpoints_follow_rows_and_the_interval(tmp_path, monkeypatch):
    """A row brings a checkpoint forward if the last one is at least a second old."""
    now, saved = [0.0], []
    clock = types.SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr(run_recording, "time", clock)
    monkeypatch.setattr(ms.Solver, "save", lambda solver, path: saved.append(now[0]))
    paths = tmp_path / "results.csv", tmp_path / "solver.checkpoint"
    settings, solver = Settings("kuhn_poker"), ms.Solver("kuhn_poker")
    files = Recording(*paths, settings, solver, checkpoint_every=10)
    for half_seconds in range(1, 60):
        now[0] = half_seconds / 2
        solver.iterate(1)  # an unchanged solver would not be saved
        if now[0] in (3.0, 3.5, 7.0):
            files.add(dict.fromkeys(COLUMNS, 0) | {"iteration": half_seconds})
        files.save_if_due()
    files.close()
    assert saved == [3.0, 4.0, 7.0, 17.0, 27.0]
    for seconds, least, most in (("0", 10, 99), ("60", 1, 2)):
        saved.clear()
        folder = f"--output_dir={tmp_path / seconds}"
        words = ["solve", "kuhn_poker", "--iterations=300", "--evaluate=none", folder]
        assert main([*words, f"--checkpoint_every={seconds}"]) == 0
        assert least <= len(saved) <= most


def test_unchanged_solver_is_not_saved_again(tmp_path):
    """Saving again would replace the previous checkpoint, and would delay Ctrl-C."""
    settings, path = Settings("kuhn_poker", iterations=300), tmp_path / "checkpoint"
    solver = ms.Solver("kuhn_poker", ms.EXTERNAL_SAMPLING)
    solver.save(path)
    files = Recording(tmp_path / "rows.csv", path, settings, solver)
    for _ in range(2):
        solver.iterate(10)
        files.save()
        files.save()  # for example by Ctrl-C after a row
    done = [ms.Solver.load(f"{path}{end}").num_iterations for end in ("", ".previous")]
    assert done == [20, 10]
    path.unlink()  # without a file, saving is necessary
    files.close()
    with contextlib.closing(
        Recording(tmp_path / "rows.csv", path, settings, solver)
    ) as again:
        again.save()
    assert ms.Solver.load(path).num_iterations == 20


# --- errors in the middle --------------------------------------------------------


def test_failed_run_keeps_results_and_refuses_changed_game(
    tmp_path, monkeypatch, capsys
):
    """Rows, policy and checkpoint are those before the failed walk."""
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
    assert main([*words, "--resume"]) == 1  # the same error and files
    assert len(read_rows(folder)) == done
    monkeypatch.undo()
    assert main([*words, "--resume"]) == 1
    assert "start a new run (on the command line, with" in capsys.readouterr().err
    assert main([*words, "--overwrite"]) == 0
    assert len(read_rows(folder)) == 1000


# --- resuming and overwriting ----------------------------------------------------


@pytest.fixture
def finished(tmp_path):
    folder = tmp_path / "out"
    assert solve(folder, "kuhn_poker", "--iterations=300") == 0
    return folder


@pytest.mark.parametrize("lost", ["results.csv", "settings.json"])
def test_run_with_a_lost_file_is_resumed(lost, finished, capsys):
    (finished / lost).unlink()
    more = "kuhn_poker", "--iterations=700"
    assert solve(finished, *more, "--resume") == 0
    printed = capsys.readouterr()
    assert "Resumed after 300 iterations" in printed.out
    _, expected = run_settings(Settings("kuhn_poker", iterations=700))
    first = 300 if lost == "results.csv" else 0
    iterations = [row["iteration"] for row in expected if row["iteration"] > first]
    found = read_rows(finished)
    # Row 300 is not due in the longer run.
    assert [int(row["iteration"]) for row in found] == iterations
    assert float(found[-1]["nash_conv"]) == expected[-1]["nash_conv"]
    assert ("lacks rows" in printed.err) == (lost == "results.csv")


def test_killed_resumed_run_has_policy_of_checkpoint(finished, monkeypatch):
    monkeypatch.delattr(run_course, "write_policy")
    with pytest.raises(NameError):
        solve(finished, "--resume", "--iterations=700")
    newest = ms.load_policy(finished / "solver.checkpoint").to_dict()
    assert ms.load_policy(finished).to_dict() == newest


def test_damaged_checkpoint_falls_back_to_previous(finished, tmp_path):
    newest = finished / "solver.checkpoint"
    data = bytearray(newest.read_bytes())
    data[len(data) // 2] ^= 1
    newest.write_bytes(data)
    before = untimed(finished)
    with (finished / "results.csv").open("a") as file:
        file.write("123,45")  # an incomplete row
    policy = (finished / "policy.json").read_bytes()
    assert solve(finished, "--resume") == 0
    assert untimed(finished) == before
    assert (finished / "policy.json").read_bytes() == policy


def test_refused_run_overwrites_nothing(finished):
    before = files_in(finished)
    for game in ("liars_dice_ir", "kuhn_poker(players=99)"):
        assert solve(finished, game, "--overwrite") == 1
        assert files_in(finished) == before
    more = "--iterations=300", "--print_freq=200"
    assert solve(finished, "kuhn_poker", *more, "--overwrite") == 0
    assert [row["iteration"] for row in read_rows(finished)] == ["200", "300"]


def test_folder_has_one_run_at_a_time(finished, capsys):
    before = files_in(finished)
    with locked_folder(finished):
        for how in ("--resume", "--overwrite"):
            assert solve(finished, how) == 1
            assert "Another process is running in" in capsys.readouterr().err
    assert files_in(finished) == before
    assert solve(finished, "--resume") == 0
    assert solve(finished, "--resume", "--overwrite") == 1
    assert "--resume and --overwrite exclude each other" in capsys.readouterr().err


# --- policies that a run keeps -----------------------------------------------

PART = ".part-0123456789abcdef"

RUN = ["solve", "kuhn_poker", "--figure_format=svg", "--seed=3"]


class KilledError(BaseException):
    """An exception that no handler catches, like SIGKILL."""


def keep(folder, *more):
    return main([*RUN, f"--output_dir={folder}", *more])


def vectors(folder):
    return {
        iteration: ms.load_policy(path).vector.tolist()
        for iteration, path in kept_policies(folder).items()
    }


def by_hand(*iterations):
    """The average policies of the same run, computed without files."""
    tree = ms.GameTree(
        "kuhn_poker"
    ).expand_all()  # files number sequences in the same way
    solver, policies = ms.Solver(tree, ms.EXTERNAL_SAMPLING, seed=3), {}
    for iteration in iterations:
        solver.iterate(iteration - solver.num_iterations)
        policies[iteration] = solver.average_vector().tolist()
    return policies


def test_policies_after_powers_of_ten_are_kept(tmp_path):
    assert keep(tmp_path / "out", "--iterations=300", "--keep_policies=1") == 0
    assert vectors(tmp_path / "out") == by_hand(1, 10, 100, 300)
    assert keep(tmp_path / "none", "--iterations=300") == 0
    assert kept_policies(tmp_path / "none") == {}


def test_resumed_run_has_all_kept_policies(tmp_path, monkeypatch):
    save = ms.SequencePolicy.save

    def killed(policy, path):
        if "_100." in str(path):
            (tmp_path / f"policy_after_100.bin{PART}").write_bytes(b"half")
            raise KilledError
        save(policy, path)

    more = "--iterations=1000", "--keep_policies=1", "--checkpoint_every=0"
    with monkeypatch.context() as patch:
        patch.setattr(ms.SequencePolicy, "save", killed)
        with pytest.raises(KilledError):
            keep(tmp_path, *more)
    assert list(kept_policies(tmp_path)) == [1, 10]
    folder = f"--output_dir={tmp_path}"
    assert main(["solve", "--resume", folder, "--figure_format=svg"]) == 0
    assert vectors(tmp_path) == by_hand(1, 10, 100, 1000)
    assert not list(tmp_path.glob("*.part*"))


def test_sweep_refuses_keep_policies(tmp_path):
    settings = {"one": Settings("kuhn_poker", iterations=10, keep_policies=1)}
    with pytest.raises(ValueError, match=r"one: Runs of a sweep.*keep_policies=1"):
        sweeps.run_sweep(settings, tmp_path, lambda tasks: iter(()))


# --- imperfect recall ----------------------------------------------

GAME = "liars_dice_ir(dice_sides=3)"
STRINGS = pyspiel.State.information_state_string


def forget(folder, iterations, *flags):
    words = ["solve", GAME, "--allow_imperfect_recall", "--evaluate=sampled"]
    words += ["--evaluation_plays=50", f"--iterations={iterations}"]
    return main([*words, f"--output_dir={folder}", *flags])


def test_imperfect_recall_needs_the_flag(tmp_path, capsys):
    refused = [f"--output_dir={tmp_path / 'no'}", "--evaluate=none"]
    assert main(["solve", GAME, "--iterations=2000", *refused]) == 1
    assert "or --allow_imperfect_recall on the command line" in capsys.readouterr().err
    assert forget(tmp_path / "run", 2000) == 0
    assert "No response was learned" in capsys.readouterr().out
    solver = ms.Solver(GAME, ms.EXTERNAL_SAMPLING, abstraction=STRINGS)
    solver.iterate(2000)
    policy = ms.load_policy(tmp_path / "run")
    assert policy.to_dict() == solver.average_policy().to_dict()
    found = json.loads((tmp_path / "run" / "evaluation.json").read_text())
    own = [player["value_against_itself"]["mean"] for player in found["players"]]
    assert own[0] == -own[1]
    picture = (tmp_path / "run" / "convergence.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 10_000


BUCKETS = '''
def bucket(state, player):
    """Kuhn poker in which the lower two cards look alike."""
    return state.information_state_string(player).replace("1", "0", 1)
'''


def test_named_abstraction_is_resumed_and_played(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "kuhn_buckets.py"
    source.write_text(BUCKETS)
    command = ["solve", "kuhn_poker", "--output_dir=run", "--evaluate=none"]
    flag = "--abstraction=kuhn_buckets.py:bucket"
    assert main([*command, flag, "--iterations=50"]) == 0
    assert main([*command, flag, "--resume", "--iterations=90"]) == 0
    play = ["play", "run", flag, "--against=uniform", "--deals=20"]
    assert main(play) == 0
    assert "Against uniform:" in capsys.readouterr().out
    assert main([*play[:3], "--against=run", "--deals=2"]) == 0
    assert main([*play[:-1], "--deals=1"]) == 1
    assert (
        main([play[0], "kuhn_poker", *play[2:], "--iterations=9"]) == 0
    )  # solved with the abstraction
    capsys.readouterr()
    assert main([play[0], "kuhn_poker", f"{flag}s", *play[3:]]) == 1
    assert "is not MODULE:NAME" in capsys.readouterr().err
    assert main([*command, "--resume", flag.replace("bucket", "other")]) == 1
    assert "abstraction='kuhn_buckets.py:bucket', which refers to code" in (
        capsys.readouterr().err
    )
    source.write_text(BUCKETS.replace("look alike", "are one"))
    monkeypatch.delitem(sys.modules, "kuhn_buckets")
    linecache.clearcache()
    assert main([*command, flag, "--resume", "--iterations=95"]) == 1
    assert "source has changed" in capsys.readouterr().err
    assert main([*command[:2], flag.partition(":")[0], "--output_dir=no"]) == 1
    assert "not of the form MODULE:FUNCTION" in capsys.readouterr().err


EVIL = """
import pathlib
pathlib.Path("ran").touch()

def rule(*arguments):
    raise AssertionError("never called")
"""


@pytest.mark.parametrize(
    "setting", ["minimizer", "sampling", "averaging", "algorithm", "abstraction"]
)
def test_resuming_never_runs_code_of_the_folder(setting, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = ["solve", "kuhn_poker", "--output_dir=run", "--evaluate=none"]
    assert main([*run, "--iterations=50"]) == 0
    (tmp_path / "run" / "evil.py").write_text(EVIL)
    (tmp_path / "other.py").write_text(EVIL)
    path = tmp_path / "run" / run_files.SETTINGS
    settings = json.loads(path.read_text())

    def write(code):
        flags = settings["settings"] | {setting: code}
        path.write_text(json.dumps(settings | {"settings": flags}))

    for code in ("run/evil.py:rule", "other.py:rule", "own_rule('other.py:rule')"):
        write(code)
        assert main([*run[:1], *run[2:], "--resume", "--iterations=90"]) == 1
        assert f"add --{setting}=" in capsys.readouterr().err
    write("run/evil.py:rule")
    given = f"--{setting}=run/evil.py:rule"
    assert main([run[0], *run[2:], given, "--resume", "--iterations=90"]) == 1
    assert "inside the results folder" in capsys.readouterr().err
    for command in (["play", "run", "--against=uniform", "--deals=2"],):
        main(command)
    assert not (tmp_path / "ran").exists()


def test_resuming_detects_swapped_and_lost_rows(finished, capsys):
    path = finished / run_files.RESULTS
    header, *lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([header, lines[1], lines[0], *lines[2:]]))
    assert solve(finished, "--resume", "--iterations=700") == 1
    assert "do not ascend" in capsys.readouterr().err
    path.write_text("".join([header, lines[0], *lines[2:]]))
    assert solve(finished, "--resume", "--iterations=700") == 0
    assert "lacks rows" in capsys.readouterr().err
