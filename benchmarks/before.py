"""Compares the speed of this checkout with that of another one, such as an older one.

    git worktree add ../before v0.1.0
    python -m benchmarks.before --before=../before

Each checkout runs in its own process. The two processes alternate in short turns of CPU
time, so that other load slows both. A ratio is the rate of this checkout divided by the
rate of the other. Two ratios are printed:

| ratio | of |
|---|---|
| median ratio | the rates within one turn |
| best ratio | the highest rates of all turns; steadier on a busy machine |

The memory layout of a process changes its speed by a few percent, so several pairs of
processes are measured. The first pair compiles into empty caches and the others read
the caches; both first calls are timed.
"""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
from typing import IO, cast

from absl import app, flags

from benchmarks.machine import GAMES, count_for, describe, markdown, per_second

ALGORITHMS = ("EXTERNAL_SAMPLING", "OUTCOME_SAMPLING", "CFR", "CFR_PLUS")

FLAGS = flags.FLAGS
flags.DEFINE_string("before", None, "Folder of the other checkout.", required=True)
flags.DEFINE_list("games", list(GAMES), "Games.")
flags.DEFINE_list("algorithms", list(ALGORITHMS), "Algorithms.")
flags.DEFINE_integer("pairs", 5, "Number of pairs of processes.", lower_bound=1)
flags.DEFINE_integer("rounds", 8, "Number of turns of each pair.", lower_bound=1)
flags.DEFINE_float("seconds", 0.2, "Seconds per turn of one process.", lower_bound=0)
flags.DEFINE_bool("one_by_one", False, "Call the solver for each iteration.")

HERE = pathlib.Path(__file__).resolve().parents[1]

PROGRAM = """
import sys, time
sys.path.insert(0, sys.argv[1])
import mccfr_spiel as ms

assert ms.__file__.startswith(sys.argv[1]), ms.__file__
game, algorithm, one_by_one = sys.argv[2], sys.argv[3], sys.argv[4] == "True"
solver = ms.Solver(ms.GameTree(game).expand_all(), getattr(ms, algorithm), seed=1)
began = time.perf_counter()
solver.iterate(1)
print(time.perf_counter() - began, flush=True)


def run(count):
    if one_by_one:
        iterate = solver.iteration
        for _ in range(count):
            iterate()
    else:
        solver.iterate(count)


for line in sys.stdin:
    count = int(line)
    began = time.process_time()
    run(count)
    print(time.process_time() - began, flush=True)
"""


class Side:
    """A process that runs the solver of one checkout on request."""

    def __init__(
        self, root: pathlib.Path, cache: str, game: str, algorithm: str
    ) -> None:
        command = [sys.executable, "-c", PROGRAM, str(root), GAMES[game], algorithm]
        command.append(str(FLAGS.one_by_one))
        variables = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        self._process = subprocess.Popen(
            command,
            cwd=root,
            env={**variables, "NUMBA_CACHE_DIR": cache},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.first_call = float(cast("IO[str]", self._process.stdout).readline())

    def seconds(self, count: int) -> float:
        """Returns the CPU time of `count` iterations."""
        orders = cast("IO[str]", self._process.stdin)
        orders.write(f"{count}\n")
        orders.flush()
        return float(cast("IO[str]", self._process.stdout).readline())

    def end(self) -> None:
        """Ends the process."""
        cast("IO[str]", self._process.stdin).close()
        self._process.wait()


def measure(game: str, algorithm: str, roots: list[pathlib.Path]) -> list[str]:
    """Measures a row: rates, best and median ratio, first calls cold and cached."""
    with tempfile.TemporaryDirectory() as folder:
        caches = [f"{folder}/{number}" for number in range(2)]
        first_calls: list[list[float]] = []
        rates: list[list[float]] = []
        for _ in range(1 + FLAGS.pairs):
            sides = [
                Side(root, cache, game, algorithm)
                for root, cache in zip(roots, caches, strict=True)
            ]
            first_calls.append([side.first_call for side in sides])
            if len(first_calls) > 1:
                rates += _take_turns(sides)
            for side in sides:
                side.end()
    cold, cached = first_calls[0], [min(c) for c in zip(*first_calls[1:], strict=True)]
    bests = [max(side) for side in zip(*rates, strict=True)]
    ratios = [here / before for before, here in rates]
    return [
        game,
        algorithm,
        *(per_second(best) for best in bests),
        f"{bests[1] / bests[0]:.3f}",
        f"{statistics.median(ratios):.3f}",
        f"{cold[0]:.1f} -> {cold[1]:.1f}",
        f"{1000 * cached[0]:.0f} -> {1000 * cached[1]:.0f}",
    ]


def _take_turns(sides: list[Side]) -> list[list[float]]:
    """Iterations per second of each side, one list per round."""
    count, _ = [count_for(FLAGS.seconds, side.seconds) for side in sides]
    return [
        [count / side.seconds(count) for side in sides] for _ in range(FLAGS.rounds)
    ]


def main(_: list[str]) -> None:
    roots = [pathlib.Path(FLAGS.before).resolve(), HERE]
    rows = [
        measure(game, algorithm, roots)
        for game in FLAGS.games
        for algorithm in FLAGS.algorithms
    ]
    header = ["game", "algorithm", "before/s", "here/s", "best ratio", "median ratio"]
    header += ["first call, cold, s", "first call, cached, ms"]
    print(describe("before"), "", markdown(header, rows), sep="\n")


if __name__ == "__main__":
    app.run(main)
