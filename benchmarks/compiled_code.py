"""Attacks on the cache of compiled code: Ctrl-C, damage, a full disk.

    python -m benchmarks.compiled_code --interrupts=300 --damages=500 --full_disks=30

Every trial is the first call in a fork of a process that has imported the package and
compiled nothing. It solves a small game and evaluates the policy; the result must be
the same to the bit as that of an undisturbed process.

- Interrupts: the cache is full, and SIGINT comes at a random moment. Then the solver
  that was interrupted is finished, and another one is made and run.
- Damages: one bit of a random file that the run needs is flipped, or the file is cut.
- Full disks: the cache is empty, and no file may become longer than a random limit.
"""

import collections
import hashlib
import importlib
import os
import pathlib
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator

from absl import app, flags

# The cache's folder is chosen when the package is imported.
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="mccfr_spiel-attacks-"))
os.environ["NUMBA_CACHE_DIR"] = str(FOLDER / "cache")

import mccfr_spiel as ms  # noqa: E402
from benchmarks.machine import describe, markdown  # noqa: E402

importlib.import_module("mccfr_spiel.games")  # registers them

CACHE, KEPT = FOLDER / "cache", FOLDER / "kept"
ITERATIONS = 20
TASKS = [
    ("kuhn_poker", "external_sampling"),
    ("leduc_poker", "outcome_sampling"),
    ("kuhn_poker", "cfr_plus"),
    ("python_leduc_ranks", "external_sampling"),
]

FLAGS = flags.FLAGS
flags.DEFINE_integer("interrupts", 300, "How many.", lower_bound=0)
flags.DEFINE_integer("damages", 500, "How many.", lower_bound=0)
flags.DEFINE_integer("full_disks", 30, "How many.", lower_bound=0)
flags.DEFINE_integer("seed", 1, "Of the moments and places.")


def digest(solver: ms.Solver) -> str:
    """What two solvers are compared by, an evaluation included."""
    gap = ms.nash_conv(solver.tree.source, solver.average_policy())
    vector, infosets = solver.average_vector(), solver.tree.infosets
    starts, counts = infosets["first_sequence"], infosets["num_actions"]
    table = {
        name: vector[start : start + count].tolist()
        for name, start, count in zip(
            solver.tree.info_states, starts, counts, strict=True
        )
    }
    return hashlib.sha256(repr((gap, sorted(table.items()))).encode()).hexdigest()


def make(task: tuple[str, str]) -> ms.Solver:
    """A solver at its begin."""
    game, algorithm = task
    return ms.Solver(game, ms.ALGORITHMS[algorithm], seed=7)


def solve(task: tuple[str, str]) -> str:
    """A whole run."""
    solver = make(task)
    solver.iterate(ITERATIONS)
    return digest(solver)


def interrupted(task: tuple[str, str]) -> str:
    """A run in which SIGINT may come, then the rest of it, and another run."""
    solver, word = None, "undisturbed: "
    try:
        solver = make(task)
        solver.iterate(ITERATIONS)
        digest(solver)
    except KeyboardInterrupt:
        word = "interrupted: "
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    another = solve(task)
    if solver is not None:
        solver.iterate(ITERATIONS - solver.num_iterations)
        if digest(solver) != another:
            return word + "finished with other bits"
    return word + another


def in_fork(
    work: Callable[[], str], disturb: Callable[[int], None] | None = None
) -> str:
    """What a function says in a fork, or how that ended."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            try:
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    said = work()
                names = [w.category.__name__ for w in caught]
                said = f"{len(names)} {''.join(sorted(set(names)))} {said}"
            except BaseException as error:
                said = f"error: {type(error).__name__}: {error}".splitlines()[0][:70]
            os.write(writer, said.encode())
        finally:
            os._exit(0)
    os.close(writer)
    if disturb is not None:
        disturb(child)
    with open(reader) as stream:
        said = stream.read()
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        return f"crash: {signal.Signals(os.WTERMSIG(status)).name}"
    return said


def files() -> list[pathlib.Path]:
    """Those of the cache that hold code."""
    return sorted(p for p in CACHE.rglob("*") if p.suffix in (".code", ".nbi", ".nbc"))


def needed(task: tuple[str, str]) -> str:
    """The files that a run opens when the cache is full."""
    opened: set[str] = set()

    def note(event: str, arguments: tuple) -> None:
        if event == "open" and str(arguments[0]).startswith(f"{CACHE}/"):
            opened.add(str(pathlib.Path(arguments[0]).relative_to(CACHE)))

    sys.addaudithook(note)
    solve(task)
    return "|".join(sorted(name for name in opened if (CACHE / name).is_file()))


def restore() -> None:
    """The cache as it was full and sound."""
    shutil.rmtree(CACHE, ignore_errors=True)
    shutil.copytree(KEPT, CACHE, copy_function=shutil.copy2)


def interrupts(expected: dict, generator: random.Random) -> Iterator[str]:
    for _ in range(FLAGS.interrupts):
        task = generator.choice(TASKS)
        began = time.perf_counter()
        in_fork(lambda task=task: solve(task))
        longest = time.perf_counter() - began

        def disturb(child: int, seconds: float = generator.uniform(0, longest)) -> None:
            time.sleep(seconds)
            os.kill(child, signal.SIGINT)  # a zombie at most: nobody waited

        said = in_fork(lambda task=task: interrupted(task), disturb)
        yield outcome(said, expected[task])


def damages(expected: dict, generator: random.Random) -> Iterator[str]:
    used = {task: in_fork(lambda t=task: needed(t)).split()[-1] for task in TASKS}
    for _ in range(FLAGS.damages):
        task = generator.choice(TASKS)
        path = CACHE / generator.choice(used[task].split("|"))
        data = bytearray(path.read_bytes())
        at = generator.randrange(len(data))
        if generator.random() < 0.2:
            kind, data = "cut", data[:at]
        else:
            kind = "flip"
            data[at] ^= 1 << generator.randrange(8)
        path.write_bytes(data)
        said = in_fork(lambda task=task: solve(task))
        words = f"{kind}: {outcome(said, expected[task])}"
        if path.exists() and path.read_bytes() == data:
            words += "; the file stays damaged"
        yield words
        restore()


def full_disks(expected: dict, generator: random.Random) -> Iterator[str]:
    for _ in range(FLAGS.full_disks):
        task = generator.choice(TASKS)
        limit = generator.choice([0, 10, 1000, 10_000, generator.randrange(200_000)])
        shutil.rmtree(CACHE)

        def limited(task: tuple[str, str] = task, limit: int = limit) -> str:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            return solve(task)

        first = outcome(in_fork(limited), expected[task])
        again = outcome(in_fork(lambda task=task: solve(task)), expected[task])
        yield f"{first}; then {again}"
    restore()


def outcome(said: str, expected: str) -> str:
    """The words for what a trial said."""
    words = said.replace(expected, "same bits")
    return words.removeprefix("0  ").replace("1 CompileCacheWarning ", "one warning, ")


def main(_: list[str]) -> None:
    try:
        attack()
    finally:
        shutil.rmtree(FOLDER)


def attack() -> None:
    expected = {task: in_fork(lambda t=task: solve(t)).split()[-1] for task in TASKS}
    shutil.copytree(CACHE, KEPT)
    generator = random.Random(FLAGS.seed)
    print(describe("compiled_code"))
    print(f"\n{len(files())} files, {sum(p.stat().st_size for p in files()):,} bytes")
    for attack in (interrupts, damages, full_disks):
        counts: collections.Counter[str] = collections.Counter()
        for number, said in enumerate(attack(expected, generator), 1):
            counts[said] += 1
            print(attack.__name__, number, said, file=sys.stderr, flush=True)
        rows = [[said, str(count)] for said, count in counts.most_common()]
        print(f"\n{markdown([attack.__name__, 'times'], rows)}")
        sys.stdout.flush()


if __name__ == "__main__":
    app.run(main)
