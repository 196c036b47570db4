"""Subgames of hold'em: time per iteration, exploitability and memory.

    python -m benchmarks.poker_spots --spots=river,turn,small_flop --threads=1,2
    python -m benchmarks.poker_spots --spots=flop --iterations=110 --step=10

Each spot and number of threads runs in a separate process, after one iteration that
compiles. Times are processor time of all threads, and wall-clock time in brackets. The
memory is the peak of the process. A row is printed after each `--step` iterations.
"""

import multiprocessing
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from absl import app, flags

import mccfr_spiel as ms
from benchmarks.machine import describe, markdown

_THREE_BET = (
    "88+,A8s+,A5s-A2s:0.5,AJo+,ATo:0.75,K9s+,KQo,KJo:0.75,KTo:0.25,Q9s+,QJo:0.5,J8s+,"
    "JTo:0.25,T8s+,T7s:0.45,97s+,96s:0.45,87s,86s:0.75,85s:0.45,75s+:0.75,74s:0.45,"
    "65s:0.75,64s:0.5,63s:0.45,54s:0.75,53s:0.5,52s:0.45,43s:0.5,42s:0.45,32s:0.45",
    "AA:0.25,99-22,AJs-A2s,AQo-A8o,K2s+,K9o+,Q2s+,Q9o+,J6s+,J9o+,T6s+,T9o,96s+,"
    "95s:0.5,98o,86s+,85s:0.5,75s+,74s:0.5,64s+,63s:0.5,54s,53s:0.5,43s",
)
_DEEP = {"pot": 180, "stacks": 910, "ranges": _THREE_BET, "raises": "45%"}

SPOTS: dict[str, dict[str, Any]] = {
    "river": {
        "board": "Ks7d4c2s9h",
        "pot": 100,
        "stacks": 300,
        "ranges": ("random", "random"),
        "bets": "50%,100%,a",
        "raises": "50%,a",
    },
    "turn": {"board": "QsJh2h2c", "bets": "55%/70%", **_DEEP},
    "small_flop": {
        "board": "9s8h3s",
        "pot": 100,
        "stacks": 100,
        "ranges": (
            "AA,KK,QQ,AK,AQs,A5s",
            "QQ,JJ,TT,99,AKo,AQ,AJs,ATs,KQs,KJs,KTs,QJs,JTs,T9s",
        ),
        "bets": "50%,a",
        "raises": "50%,a",
    },
    "flop": {"board": "QsJh2h", "bets": "52%/55%/70%", **_DEEP},
}
"""Arguments of `ms.poker.subgame`."""

HEADER = ["spot", "threads", "iterations", "s per iteration", "s", "% of pot", "GiB"]

FLAGS = flags.FLAGS
flags.DEFINE_list("spots", ["river", "turn", "small_flop"], "Spots.")
flags.register_validator(
    "spots",
    lambda names: set(names) <= set(SPOTS),
    f"not all of them are among {', '.join(SPOTS)}",
)
flags.DEFINE_list("threads", ["1"], "Numbers of threads.")
flags.DEFINE_enum("algorithm", "DCFR", ["DCFR", "DCFR_PLUS", "CFR_PLUS"], "Algorithm.")
flags.DEFINE_string("store", "auto", "Representation of the game, as in Solver.")
flags.DEFINE_integer("iterations", 40, "Iterations after the first.", lower_bound=1)
flags.DEFINE_integer("step", 20, "Iterations between two rows.", lower_bound=1)


def measure(
    spot: str, threads: int, algorithm: str, store: str, iterations: int, step: int
) -> list[list[str]]:
    """Solves a spot; returns a row per `step` iterations, see HEADER."""
    game = ms.poker.subgame(**SPOTS[spot])
    solver = ms.Solver(game, getattr(ms, algorithm), threads=threads, store=store)
    solver.iterate(1)
    rows, total = [], 0.0
    for done in range(step, iterations + 1, step):
        wall, processor = time.perf_counter(), time.process_time()
        solver.iterate(step)
        wall, processor = (
            (time.perf_counter() - wall) / step,
            (time.process_time() - processor) / step,
        )
        total += step * processor
        share = ms.metrics.nash_conv(solver) / 2 / SPOTS[spot]["pot"]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        times = f"{processor:.4f} ({wall:.4f})", f"{total:.1f}"
        cells = spot, str(threads), str(done + 1), *times
        rows.append([*cells, f"{share:.3%}", f"{peak:.2f}"])
    return rows


def main(_: Any) -> None:
    """Prints each row when its spot is done, then a table."""
    context, rows = multiprocessing.get_context("spawn"), []
    for spot in FLAGS.spots:
        for threads in map(int, FLAGS.threads):
            rest = FLAGS.algorithm, FLAGS.store, FLAGS.iterations, FLAGS.step
            with ProcessPoolExecutor(1, mp_context=context) as executor:
                found = executor.submit(measure, spot, threads, *rest).result()
            print(*found, sep="\n", flush=True)
            rows += found
    print(describe("poker_spots"), "", markdown(HEADER, rows), sep="\n")


if __name__ == "__main__":
    app.run(main)
