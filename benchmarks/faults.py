"""Full disks, deleted folders, two runs at once, lost files: what is left of a run.

    python -m benchmarks.faults --rounds=100

Runs of the command line in processes of their own (forks of one that has everything
compiled), each of which meets one fault at a random moment:

- *full disk*: a small file system in memory (Linux, as root) fills up; elsewhere a
  limit on the size of files takes its place. In half of the rounds there is room again
  before the run ends.
- *deleted folder*: the folder of results goes in the midst of the run.
- *two resumes*: two processes resume one run in the same moment.
- *lost files*: one of the files of an interrupted run is deleted, cut short or has one
  byte changed; then the run is resumed.

The outcome of each round is one of those counted below. A run that has ended by a fault
is resumed, and then compared with an uninterrupted run to the bit. What must never come
is listed last, and ends the script with exit code 1.
"""

import collections
import contextlib
import csv
import io
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from absl import app, flags

import mccfr_spiel as ms
from benchmarks.machine import deliver, describe, markdown
from mccfr_spiel.command_line import running
from mccfr_spiel.experiments import Settings
from mccfr_spiel.experiments.runs import warm_up

FLAGS = flags.FLAGS
flags.DEFINE_integer("rounds", 100, "Of each fault.", lower_bound=1)
flags.DEFINE_integer("fault_seed", 1, "Of the faults.")
flags.DEFINE_string("report", None, "The markdown file to write; standard output else.")

ITERATIONS = 600_000
RUN = (
    "--game=leduc_poker",
    "--sampling=outcome",
    f"--iterations={ITERATIONS}",
    "--print_freq=5000",
    "--checkpoint_every=0",
)
"""About a second of work, in 120 rows, with checkpoints all the time."""

NEVER = "NEVER: "
"""What outcomes begin with that must not come."""


_last: collections.deque[str] = collections.deque(maxlen=2)
"""What the newest processes printed, for outcomes that must not come."""


class Ended(NamedTuple):
    """How a process ended: its exit code, and what it printed."""

    code: int
    text: str


class Process:
    """The command line in a fork of this process."""

    def __init__(self, folder: pathlib.Path, *args: str, cwd: pathlib.Path) -> None:
        self._output = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self.number = os.fork()
        if self.number == 0:
            code = 70
            try:
                os.dup2(self._output.fileno(), 1)
                os.dup2(self._output.fileno(), 2)
                os.chdir(cwd)
                FLAGS.unparse_flags()
                FLAGS(["run_experiments", *RUN, f"--output_dir={folder}", *args])
                code = running.main([""])
            finally:
                os._exit(code)

    def wait(self) -> Ended:
        status = os.waitpid(self.number, 0)[1]
        self._output.seek(0)
        text = self._output.read()
        self._output.close()
        _last.append(text)
        return Ended(os.waitstatus_to_exitcode(status), text)

    def is_running(self) -> bool:
        flags = os.WEXITED | os.WNOWAIT | os.WNOHANG
        return os.waitid(os.P_PID, self.number, flags) is None

    def stop(self, number: int) -> Ended:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.number, number)
        return self.wait()


def rows_of(folder: pathlib.Path) -> list[dict[str, str]]:
    """The rows in a folder, without their seconds."""
    try:
        text = (folder / "results.csv").read_text()
    except OSError:
        return []
    return [row | {"seconds": ""} for row in csv.DictReader(io.StringIO(text))]


def wait_for(process: "Process", path: pathlib.Path) -> None:
    """Waits until a process has made a file, or has ended."""
    while not path.exists() and process.is_running():
        time.sleep(0.002)


class Expected:
    """An uninterrupted run, and the seconds that its work takes."""

    def __init__(self, folder: pathlib.Path) -> None:
        process = Process(folder, cwd=folder.parent)
        wait_for(process, folder / "results.csv")
        began = time.perf_counter()
        ended = process.wait()
        self.seconds = time.perf_counter() - began
        if ended.code:
            raise RuntimeError(ended.text)
        self.rows = rows_of(folder)
        self.policy = (folder / "policy.json").read_bytes()

    def fits(self, folder: pathlib.Path) -> bool:
        """Whether a folder holds just what the uninterrupted run left."""
        path = folder / "policy.json"
        same = path.exists() and path.read_bytes() == self.policy
        return same and rows_of(folder) == self.rows

    def has_rows(self, folder: pathlib.Path) -> bool:
        """Whether all rows in a folder are of the run, each at most once."""
        rows = rows_of(folder)
        return all(row in self.rows for row in rows) and len(rows) == len(
            {row["iteration"] for row in rows}
        )


def judge(expected: Expected, ended: Ended, folder: pathlib.Path) -> str:
    """What is left of a run that was not stopped by anybody."""
    if "Traceback" in ended.text or ended.code not in (0, 1):
        return f"{NEVER}a traceback or a crash"
    if ended.code == 0:
        return "to the end" if expected.fits(folder) else f"{NEVER}a loss untold"
    if ended.text.count("Error: ") != 1:
        return f"{NEVER}another number of messages than one"
    if not (folder / "solver.checkpoint").exists():
        return "ended in words, with no checkpoint left"
    again = Process(folder, "--resume", cwd=folder.parent).wait()
    if again.code == 0 and expected.fits(folder):
        return "ended in words; resumed as if nothing had happened"
    if again.code == 0 and expected.has_rows(folder) and "lacks" in again.text:
        return "ended in words; resumed without rows that were lost, as told"
    return f"{NEVER}a checkpoint that does not go on"


def wait_for_a_moment(
    generator: random.Random,
    process: Process,
    folder: pathlib.Path,
    expected: Expected,
) -> None:
    """Waits until a random moment of a run, mostly after it has been prepared."""
    if generator.random() < 0.9:
        wait_for(process, folder / "results.csv")
    time.sleep(generator.uniform(0, expected.seconds))


# --- the faults ------------------------------------------------------------------


@contextlib.contextmanager
def small_disk(folder: pathlib.Path) -> Iterator[bool]:
    """A file system of a few MiB at a folder; False if there cannot be one."""
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    done = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    try:
        yield done
    finally:
        if done:
            subprocess.run(["umount", "-l", str(folder)], check=True)


def full_disk(generator: random.Random, place: pathlib.Path, expected: Expected) -> str:
    disk = place / "disk"
    disk.mkdir()
    with small_disk(disk) as mounted:
        folder = disk / "out"
        process = Process(folder, cwd=disk if generator.random() < 0.5 else place)
        wait_for_a_moment(generator, process, folder, expected)
        if mounted:
            with contextlib.suppress(OSError), (disk / "filler").open("wb") as file:
                while True:
                    file.write(bytes(4096))
        else:
            size = generator.choice((0, 1000, 20_000))
            with contextlib.suppress(ProcessLookupError):
                resource.prlimit(process.number, resource.RLIMIT_FSIZE, (size, size))
        if mounted:
            time.sleep(generator.uniform(0, expected.seconds / 2))
            if generator.random() < 0.5:
                (disk / "filler").unlink()
        ended = process.wait()
        (disk / "filler").unlink(missing_ok=True)
        return judge(expected, ended, folder)


def deleted_folder(
    generator: random.Random, place: pathlib.Path, expected: Expected
) -> str:
    folder = place / "out"
    process = Process(folder, cwd=place)
    wait_for_a_moment(generator, process, folder, expected)
    shutil.rmtree(folder, ignore_errors=True)
    if generator.random() < 0.3:
        with contextlib.suppress(OSError):
            folder.touch()  # a file in its place
    ended = process.wait()
    if ended.code == 0 and not (folder / "results.csv").exists():
        return "deleted after the end"
    return judge(expected, ended, folder)


def interrupted(
    generator: random.Random, place: pathlib.Path, expected: Expected
) -> pathlib.Path:
    """The folder of a run that was killed or interrupted after it had begun."""
    folder = place / "out"
    while True:
        process = Process(folder, cwd=place)
        wait_for(process, folder / "results.csv")
        time.sleep(generator.uniform(0, expected.seconds / 2))
        process.stop(generator.choice((signal.SIGKILL, signal.SIGTERM)))
        if len(rows_of(folder)) < len(expected.rows):
            return folder
        shutil.rmtree(folder)


def two_resumes(
    generator: random.Random, place: pathlib.Path, expected: Expected
) -> str:
    folder = interrupted(generator, place, expected)
    first = Process(folder, "--resume", cwd=place)
    time.sleep(generator.choice((0, 0, generator.uniform(0, expected.seconds))))
    second = Process(folder, "--resume", cwd=place)
    ends = [first.wait(), second.wait()]
    if not expected.fits(folder):
        return f"{NEVER}doubled rows or another policy"
    if list(folder.glob(".lock")):
        return f"{NEVER}a lock left behind"
    newest = ms.Solver.load(folder / "solver.checkpoint").num_iterations
    older = ms.Solver.load(folder / "solver.checkpoint.previous").num_iterations
    if newest < older:
        return f"{NEVER}the newest checkpoint is older than the one before"
    codes = sorted(end.code for end in ends)
    if codes == [0, 1]:
        told = any("Another process is running in" in end.text for end in ends)
        return "one refused in words" if told else f"{NEVER}another error"
    return "one after the other" if codes == [0, 0] else f"{NEVER}both failed"


FILES = (
    "settings.json",
    "results.csv",
    "solver.checkpoint",
    "solver.checkpoint.previous",
)


def lost_files(
    generator: random.Random, place: pathlib.Path, expected: Expected
) -> str:
    folder = interrupted(generator, place, expected)
    path = folder / generator.choice(FILES)
    data = bytearray(path.read_bytes() if path.exists() else b"")
    if not data or generator.random() < 1 / 3:
        path.unlink(missing_ok=True)
    elif generator.random() < 0.5:
        path.write_bytes(data[: generator.randrange(len(data))])
    else:
        data[generator.randrange(len(data))] ^= generator.randrange(1, 256)
        path.write_bytes(data)
    is_table = path.name == "results.csv"
    ended = Process(folder, "--resume", cwd=place).wait()
    if "Traceback" in ended.text or ended.code not in (0, 1):
        return f"{NEVER}a traceback or a crash"
    if ended.code == 1:
        told = "Error: " in ended.text and path.name == "settings.json"
        return "refused in words" if told else f"{NEVER}a good checkpoint refused"
    if expected.fits(folder):
        return "resumed, all rows and the policy as if nothing had happened"
    if (folder / "policy.json").read_bytes() != expected.policy:
        return f"{NEVER}another policy"
    told = "lacks" in ended.text or "damaged lines" in ended.text
    if expected.has_rows(folder) and is_table and told:
        return "resumed without the rows that were lost, as told; the policy the same"
    if is_table and not told and len(rows_of(folder)) == len(expected.rows):
        return "resumed; a digit of a row was changed, which nothing can tell"
    return f"{NEVER}rows lost or doubled without a word"


FAULTS: dict[str, Callable[..., str]] = {
    "full disk": full_disk,
    "deleted folder": deleted_folder,
    "two resumes": two_resumes,
    "lost files": lost_files,
}


def main(_: list[str]) -> None:
    generator = random.Random(FLAGS.fault_seed)
    rounds, report = FLAGS.rounds, FLAGS.report
    counts: dict[str, collections.Counter[Any]] = {}
    with tempfile.TemporaryDirectory() as base:
        warm_up(Settings(algorithm=ms.OUTCOME_SAMPLING))
        expected = Expected(pathlib.Path(base, "expected"))
        expected = Expected(pathlib.Path(base, "again"))  # with all that it imports
        for fault, meet in FAULTS.items():
            counts[fault] = collections.Counter()
            for number in range(rounds):
                place = pathlib.Path(base, f"{fault.replace(' ', '_')}_{number}")
                place.mkdir()
                outcome = meet(generator, place, expected)
                counts[fault][outcome] += 1
                print(fault, number, outcome, file=sys.stderr, flush=True)
                if outcome.startswith(NEVER):
                    print(fault, number, outcome, *_last, sep="\n", flush=True)
                shutil.rmtree(place, ignore_errors=True)
    rows = [
        [fault, outcome, str(times)]
        for fault, found in counts.items()
        for outcome, times in sorted(found.items())
    ]
    text = f"{describe('faults')}\n\n{markdown(['fault', 'outcome', 'times'], rows)}"
    deliver(text, report)
    if any(outcome.startswith(NEVER) for _, outcome, _ in rows):
        raise SystemExit(1)


if __name__ == "__main__":
    app.run(main)
