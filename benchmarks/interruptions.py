"""Looks at solvers and stops them, thousands of times; what comes out is the same.

    nice python -m benchmarks.interruptions --what=looks --times=100
    nice python -m benchmarks.interruptions --what=signals --times=300
    nice python -m benchmarks.interruptions --what=faults --times=10000

For each engine, `looks` makes so many runs of 20 iterations beside a thread that saves,
copies, pickles and asks all the while. `signals` has a signal stop its runs so many
times, at any moment. `faults` has the methods of a game raise so many exceptions, in a
tree whose nodes are dropped all the time. After each of these, what was learned is
compared bit by bit with what others had learned after the same update, and in the end
with a run that nobody has disturbed. The engines are those of tests/test_contract.py,
which makes the same runs for a shorter time. A difference ends the program by an error.
"""

import gc
import pathlib
import tempfile
import time

from absl import app, flags

from benchmarks.machine import describe, markdown
from tests import test_contract as contract

FLAGS = flags.FLAGS
flags.DEFINE_enum("what", "looks", ["looks", "signals", "faults"], "What disturbs.")
flags.DEFINE_integer("times", 100, "How often, each engine.", lower_bound=1)
flags.DEFINE_string("engine", None, "Only this engine of the tests.")
flags.DEFINE_integer("seed", 0, "Of the moments.", lower_bound=0)


def disturb(engine: str, times: int, path: pathlib.Path) -> int:
    """Disturbs an engine so many times.

    Returns:
        How many answers came in the midst of a run, or signals in the midst of a walk.
    """
    if FLAGS.what == "signals":
        return contract.interrupt(engine, times, FLAGS.seed)
    if FLAGS.what == "faults":
        contract.raise_in_game(engine, times, FLAGS.seed)
        return times
    seeds = range(FLAGS.seed * times, FLAGS.seed * times + times)
    return sum(contract.look_beside(engine, seed, path) for seed in seeds)


def main(_: list[str]) -> None:
    engines = contract.IN_PYTHON if FLAGS.what == "faults" else contract.ENGINES
    names = [FLAGS.engine] if FLAGS.engine else list(engines)
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
