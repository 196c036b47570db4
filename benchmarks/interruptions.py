"""Looks at solvers, stops and kills them, ever so often; what comes out is the same.

    nice python -m benchmarks.interruptions --what=looks --times=100
    nice python -m benchmarks.interruptions --what=signals --times=300
    nice python -m benchmarks.interruptions --what=faults --times=10000
    nice python -m benchmarks.interruptions --what=kills --times=1000

For each engine, `looks` makes so many runs of 20 iterations beside a thread that saves,
copies, pickles and asks all the while. `signals` has a signal stop its runs so many
times, at any moment. `faults` has the methods of a game raise so many exceptions, in a
tree whose nodes are dropped all the time. After each of these, what was learned is
compared bit by bit with what others had learned after the same update, and in the end
with a run that nobody has disturbed.

`kills` has a process load the newest good checkpoint, go on and save after each
iteration, until the run is done or a SIGKILL comes, which may be in the midst of a
write. After a quarter of the kills a random byte of the newest checkpoint is changed,
and the one before it must be used. Each finished run is compared with an undisturbed
one. The processes are forks of one that has everything compiled.

The engines are those of tests/test_contract.py, which makes the same runs for a shorter
time. A difference ends the program by an error.
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
flags.DEFINE_enum("what", "looks", KINDS, "What disturbs.")
flags.DEFINE_integer("times", 100, "How often, each engine.", lower_bound=1)
flags.DEFINE_string("engine", None, "Only this engine of the tests.")
flags.DEFINE_integer("seed", 0, "Of the moments.", lower_bound=0)


def disturb(engine: str, times: int, path: pathlib.Path) -> int:
    """Disturbs an engine so many times.

    Returns:
        How many answers came in the midst of a run, signals in the midst of a walk, or
        kills in the midst of a write.
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
    """Runs an engine from the newest good checkpoint to the end."""
    try:
        solver = ms.Solver.load_newest(path)
    except FileNotFoundError:
        solver = contract.ENGINES[engine]()
    while solver.num_iterations < contract.ITERATIONS:
        solver.iterate(1)
        solver.save(path)


def fork(engine: str, path: pathlib.Path) -> int:
    """Starts `finish` in another process; its number."""
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
    """Whether a file is not loaded, in words."""
    try:
        ms.Solver.load(path)
    except ms.CheckpointError:
        return True
    return False


def kill(engine: str, times: int, path: pathlib.Path) -> int:
    """Kills an engine's runs so many times, at any moment, and damages files; returns
    how many kills came in the midst of a write."""
    draws, previous = random.Random(FLAGS.seed), pathlib.Path(f"{path}.previous")
    expected = contract.undisturbed(engine, contract.ITERATIONS)
    began = time.perf_counter()
    finish(engine, path)  # compiles what is left, and takes the time of a run
    longest = time.perf_counter() - began
    done = midway = 0
    while True:
        child = fork(engine, path)
        if done < times:  # the last one may finish
            time.sleep(draws.uniform(0, longest))
            os.kill(child, signal.SIGKILL)  # a zombie at most: nobody waited
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
            if not is_refused(path):  # a byte that says nothing, such as one of a date
                assert contract.learned(ms.Solver.load(path)) == kept
            elif draws.random() < 0.5:  # else the next process finds it first
                before = ms.Solver.load(previous).num_iterations
                assert ms.Solver.load_newest(path).num_iterations == before


def main(_: list[str]) -> None:
    engines = contract.IN_PYTHON if FLAGS.what == "faults" else contract.ENGINES
    names = [FLAGS.engine] if FLAGS.engine else list(engines)
    if FLAGS.what != "kills":  # whose forks would lack the locks of other threads
        contract.disturb_more_often()
    if FLAGS.what == "signals":
        gc.disable()  # the collector's callbacks swallow what a handler raises
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for engine in names:
            began = time.perf_counter()
            midway = disturb(engine, FLAGS.times, pathlib.Path(folder) / "solver")
            seconds = time.perf_counter() - began
            rows.append([engine, str(FLAGS.times), str(midway), f"{seconds:.0f}"])
            print(*rows[-1], sep=", ", flush=True)
            gc.collect()
    header = ["engine", FLAGS.what, "in the midst", "seconds"]
    print(describe("interruptions"), "", markdown(header, rows), sep="\n")


if __name__ == "__main__":
    app.run(main)
