"""Iterations of CFR+, and NashConv, by one thread and by several, on large trees.

    python -m benchmarks.shared_passes --threads=2
    python -m benchmarks.shared_passes --evaluations

With --evaluations, single calls of `ms.nash_conv` (of a solver's policy, and of a
vector, which is looked at first), `ms.expected_returns` and `ms.best_response_policy`
take the place of CFR+.

The two take turns, and the best of each counts, since what else runs on a machine makes
a turn slower and never faster. The load average is printed: with all cores busy,
several threads are no faster than one. "Serial" is the share of the work that one
thread does while the others wait: the infosets above all blocks and the roots that they
take values from. Bits are compared, too.
"""

import importlib
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from absl import app, flags

import mccfr_spiel as ms
from benchmarks.machine import describe, markdown

GAMES = {
    "liar's dice, 6 sides": "liars_dice",
    "liar's dice, 7 sides": "liars_dice(dice_sides=7)",
    "goofspiel, 5 cards": "goofspiel(num_cards=5,imp_info=True,points_order=random)",
    "one-card poker, 500 cards": "python_one_card_poker(cards=500)",
    "one-card poker, 1500 cards": "python_one_card_poker(cards=1500)",
}

FLAGS = flags.FLAGS
flags.DEFINE_integer("threads", 2, "How many.", lower_bound=2)
flags.DEFINE_integer("rounds", 6, "Turns of each.", lower_bound=1)
flags.DEFINE_float("seconds", 0.2, "About how long a turn is.", lower_bound=0)
flags.DEFINE_bool("evaluations", False, "Measure evaluations of policies.")
flags.DEFINE_list("only", [], "Words that a game's name must contain; all by default.")


def best_of_turns(tasks: list[Callable[[], Any]]) -> list[float]:
    """The least seconds of each task."""
    best = [float("inf")] * len(tasks)
    for _ in range(FLAGS.rounds):
        for number, task in enumerate(tasks):
            began = time.perf_counter()
            task()
            best[number] = min(best[number], time.perf_counter() - began)
    return best


def times(count: int, task: Callable[[], Any]) -> Callable[[], None]:
    """The task, so many times."""

    def repeated() -> None:
        for _ in range(count):
            task()

    return repeated


def top_share(tree: ms.GameTree) -> float:
    """The share of rows and sequences that belong to no block."""
    cut, passes = tree.list_blocks(), tree.list_leaves()
    top = tree.infosets[cut.top[cut.top >= 0]]
    first, last = top["first_sequence"], top["first_sequence"] + top["num_actions"]
    work = int((passes.ends[last] - passes.ends[first] + 8 * (last - first)).sum())
    work += int((cut.top < 0).sum())
    return work / passes.work


def measure(name: str, game: str) -> list[str]:
    """A row of the table."""
    tree = ms.cached_tree(game)
    solvers = [ms.Solver(tree, ms.CFR_PLUS, threads=k) for k in (1, FLAGS.threads)]
    for solver in solvers:
        solver.iterate(1)
    began = time.perf_counter()
    solvers[0].iterate(1)
    solvers[1].iterate(1)
    count = max(round(2 * FLAGS.seconds / (time.perf_counter() - began)), 1)
    long = best_of_turns([lambda s=s: s.iterate(count) for s in solvers])
    single = best_of_turns([times(count, s.iteration) for s in solvers])
    vectors = [solver.average_vector() for solver in solvers]
    assert vectors[0].tobytes() == vectors[1].tobytes()
    policy = solvers[0].average_policy()
    evaluated = in_turns(lambda k: ms.nash_conv(tree, policy, threads=k))
    cut = tree.list_blocks()
    return [
        name,
        f"{tree.num_nodes:,}",
        f"{tree.num_infosets:,}",
        f"{len(cut.ends) - 1:,}",
        f"{100 * top_share(tree):.2f} %",
        f"{1e3 * long[0] / count:.2f}",
        f"{long[0] / long[1]:.2f}",
        f"{single[0] / single[1]:.2f}",
        f"{1e3 * evaluated[0]:.2f}",
        f"{evaluated[0] / evaluated[1]:.2f}",
    ]


def in_turns(task: Callable[[int], Any]) -> list[float]:
    """The least seconds of a task of one thread, and of several."""
    found = [np.asarray(task(k)).tobytes() for k in (1, FLAGS.threads)]
    assert found[0] == found[1]
    tasks = [lambda k=k: task(k) for k in (1, FLAGS.threads)]
    count = FLAGS.seconds / best_of_turns(tasks[:1])[0] / FLAGS.rounds
    seconds = [best_of_turns(tasks) for _ in range(max(round(count), 1))]
    return np.min(seconds, axis=0).tolist()


def measure_evaluations(name: str, game: str) -> list[str]:
    """A row of the table of evaluations."""
    tree = ms.cached_tree(game)
    solver = ms.Solver(tree, ms.CFR_PLUS)
    solver.iterate(3)
    policy, vector = solver.average_policy(), solver.average_vector()
    row = [name, f"{tree.num_nodes:,}", f"{tree.num_infosets:,}"]
    for task in (
        lambda k: ms.nash_conv(tree, policy, threads=k),
        lambda k: ms.nash_conv(tree, vector, threads=k),
        lambda k: ms.expected_returns(tree, policy, threads=k),
        lambda k: ms.best_response_policy(tree, policy, 0, threads=k).vector,
    ):
        best = in_turns(task)
        row += [f"{1e3 * best[0]:.2f}", f"{1e3 * best[1]:.2f}"]
        row += [f"{best[0] / best[1]:.2f}"]
    return row


def main(_: list[str]) -> None:
    importlib.import_module("mccfr_spiel.games")
    rows = []
    for name, game in GAMES.items():
        if all(word in name for word in FLAGS.only):
            measured = measure_evaluations if FLAGS.evaluations else measure
            rows.append(measured(name, game))
    header = [
        "game",
        "nodes",
        "infosets",
        "blocks",
        "serial",
        "CFR+ ms",
        "times faster",
    ]
    header += ["in calls of one", "NashConv ms", "times faster"]
    if FLAGS.evaluations:
        header = ["game", "nodes", "infosets"]
        for what in ("NashConv", "of a vector", "returns", "response"):
            header += [f"{what}, ms", f"{FLAGS.threads} threads, ms", "times faster"]
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    print(describe("shared_passes"), f"Load average {load}.", "", sep="\n")
    print(markdown(header, rows))


if __name__ == "__main__":
    app.run(main)
