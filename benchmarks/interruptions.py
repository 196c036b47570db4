"""Disturbs solvers and checks that they learn the same as undisturbed ones.

    nice python -m benchmarks.interruptions --what=looks --times=100
    nice python -m benchmarks.interruptions --what=signals --times=300
    nice python -m benchmarks.interruptions --what=faults --times=10000
    nice python -m benchmarks.interruptions --what=kills --times=1000

| --what | for each engine |
|---|---|
| looks | runs of 20 iterations while a thread saves, copies, pickles and queries |
| signals | a signal stops runs at random moments |
| faults | the game's methods raise exceptions, in a tree that drops nodes |
| kills | SIGKILL ends processes at random moments, also within writes |

After each disturbance, the learned arrays are compared bit by bit with those of other
runs after the same update, and at the end with an undisturbed run.

With `kills`, a process loads the newest intact checkpoint, iterates, and saves after
each iteration. After a quarter of the kills, a random byte of the newest checkpoint is
changed, and the previous checkpoint must be used. Processes are forks of a process that
has compiled everything.

The engines are those of tests/test_contract.py, which makes shorter runs. A difference
raises an error.
"""

import gc
import os
import pathlib
import random
import signal
import tempfile
import time

from absl import app, flags

import mccfr_spiel as ms
from benchmarks.machine import describe, markdown
from tests import test_contract as contract

KINDS = ["looks", "signals", "faults", "kills"]

FLAGS = flags.FLAGS
flags.DEFINE_enum("what", "looks", KINDS, "Kind of disturbance.")
flags.DEFINE_integer("times", 100, "Number of disturbances per engine.", lower_bound=1)
flags.DEFINE_string("engine", None, "Only this engine of the tests.")
flags.DEFINE_integer("seed", 0, "Seed of the random moments.", lower_bound=0)


def disturb(engine: str, times: int, path: pathlib.Path) -> int:
    """Disturbs an engine `times` times.

    Returns:
        Number of queries within a run, signals within a walk, or kills within a write.
    """
    if FLAGS.what == "signals":
        return contract.interrupt(engine, times, FLAGS.seed)
    if FLAGS.what == "kills":
        return kill(engine, times, path)
    if FLAGS.what == "faults":
        contract.raise_in_game(engine, times, FLAGS.seed)
        return times
    seeds = range(FLAGS.seed * times, FLAGS.seed * times + times)
    return sum(contract.look_beside(engine, seed, path) for seed in seeds)


# --- kills ---------------------------------------------------------------------------


def finish(engine: str, path: pathlib.Path) -> None:
    """Runs an engine from the newest intact checkpoint to the end."""
    try:
        solver = ms.Solver.load_newest(path)
    except FileNotFoundError:
        solver = contract.ENGINES[engine]()
    while solver.num_iterations < contract.ITERATIONS:
        solver.iterate(1)
        solver.save(path)


def fork(engine: str, path: pathlib.Path) -> int:
    """Starts `finish` in a forked process; returns its process id."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            finish(engine, path)
            code = 0
        finally:
            os._exit(code)
    return child


def is_refused(path: pathlib.Path) -> bool:
    """Whether loading a file raises CheckpointError."""
    try:
        ms.Solver.load(path)
    except ms.CheckpointError:
        return True
    return False


def kill(engine: str, times: int, path: pathlib.Path) -> int:
    """Kills runs of an engine `times` times at random moments, and damages files.

    Returns:
        Number of kills within a write.
    """
    draws, previous = random.Random(FLAGS.seed), pathlib.Path(f"{path}.previous")
    expected = contract.undisturbed(engine, contract.ITERATIONS)
    began = time.perf_counter()
    finish(engine, path)  # compiles missing code; its time bounds the delays below
    longest = time.perf_counter() - began
    done = midway = 0
    while True:
        child = fork(engine, path)
        if done < times:  # the process after the last kill finishes
            time.sleep(draws.uniform(0, longest))
            os.kill(
                child, signal.SIGKILL
            )  # safe: the child was not waited for, so its id is not reused
        status = os.waitpid(child, 0)[1]
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0, "A resumed run failed; see above."
            assert contract.learned(ms.Solver.load(path)) == expected
            for file in path.parent.iterdir():
                file.unlink()
            if done == times:
                return midway
            continue
        done += 1
        for part in path.parent.glob(f"{path.name}.part-*"):
            part.unlink()
            midway += 1
        whole = path.exists() and previous.exists() and not is_refused(path)
        if whole and draws.random() < 0.3:  # about a quarter of all kills
            kept = contract.learned(ms.Solver.load(path))
            data = bytearray(path.read_bytes())
            data[draws.randrange(len(data))] ^= draws.randrange(1, 256)
            path.write_bytes(data)
            if not is_refused(path):  # an irrelevant byte, such as a date
                assert contract.learned(ms.Solver.load(path)) == kept
            elif draws.random() < 0.5:  # otherwise the next process finds the damage
                before = ms.Solver.load(previous).num_iterations
                assert ms.Solver.load_newest(path).num_iterations == before


def main(_: list[str]) -> None:
    engines = contract.IN_PYTHON if FLAGS.what == "faults" else contract.ENGINES
    names = [FLAGS.engine] if FLAGS.engine else list(engines)
    if FLAGS.what != "kills":  # forks would inherit locks held by other threads
        contract.disturb_more_often()
    if FLAGS.what == "signals":
        gc.disable()  # callbacks of the collector swallow exceptions of handlers
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for engine in names:
            began = time.perf_counter()
            midway = disturb(engine, FLAGS.times, pathlib.Path(folder) / "solver")
            seconds = time.perf_counter() - began
            rows.append([engine, str(FLAGS.times), str(midway), f"{seconds:.0f}"])
            print(*rows[-1], sep=", ", flush=True)
            gc.collect()
    header = ["engine", FLAGS.what, "within", "seconds"]
    print(describe("interruptions"), "", markdown(header, rows), sep="\n")


if __name__ == "__main__":
    app.run(main)
