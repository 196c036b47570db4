"""Speedup by threads, for passes, evaluations and batches of walks.

    python -m benchmarks.threads
    python -m benchmarks.threads --what=evaluations
    python -m benchmarks.threads --what=batches --batches=8,64,512
    python -m benchmarks.threads --what=over_rules --batches=64,512

| --what | measures |
|---|---|
| passes | iterations of CFR+ on large trees, and NashConv |
| evaluations | calls of `ms.nash_conv`, `ms.expected_returns`, best responses |
| batches | batches of sampled walks on trees |
| over_rules | batches of sampled walks without a tree |

`ms.nash_conv` is called with a policy of the solver, and with a vector, which it checks
first. "Serial" is the share of the work that one thread does while the others wait: the
infosets above all blocks, and the roots from which they take values. Walks of a large
game keep meeting new infosets; use `--warm=20000000` to visit millions of nodes before
timing.

One thread and several threads alternate, and the fastest turn of each counts, because
other load only slows a turn. The load average is printed, because several threads gain
nothing while all cores are busy. Results are compared bit by bit.
"""

import importlib
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from absl import app, flags

import mccfr_spiel as ms
from benchmarks.machine import describe, markdown, repeat

_GOOFSPIEL = "goofspiel(num_cards={},imp_info=True,points_order={})"
_ON_TREES = [
    *("liars_dice", "liars_dice(dice_sides=7)", _GOOFSPIEL.format(5, "random")),
    *("python_one_card_poker(cards=500)", "python_one_card_poker(cards=1500)"),
]
GAMES = {
    "passes": _ON_TREES,
    "evaluations": _ON_TREES,
    "batches": [
        *("kuhn_poker", "leduc_poker", "liars_dice", _GOOFSPIEL.format(5, "random")),
        *(_GOOFSPIEL.format(cards, "descending") for cards in (6, 7)),
    ],
    "over_rules": [
        *("kuhn_poker", "leduc_poker", "liars_dice", "liars_dice(numdice=2)"),
        *(f"python_goofspiel(num_cards={cards})" for cards in (5, 7, 8)),
    ],
}
ALGORITHMS = {"external": ms.EXTERNAL_SAMPLING, "outcome": ms.OUTCOME_SAMPLING}

FLAGS = flags.FLAGS
flags.DEFINE_enum("what", "passes", [*GAMES], "Work that threads share.")
flags.DEFINE_integer("threads", 2, "Number of threads.", lower_bound=2)
flags.DEFINE_integer("rounds", 6, "Number of turns.", lower_bound=1)
flags.DEFINE_float("seconds", 0.2, "Approximate seconds per turn.", lower_bound=0)
flags.DEFINE_list(
    "batches", ["8", "64", "512"], "Numbers of walks per player and iteration."
)
flags.DEFINE_integer(
    "warm", 300_000, "Nodes that batches visit before timing.", lower_bound=1
)
flags.DEFINE_list("only", [], "Parts of names of games (default: all games).")


def best_of_turns(tasks: list[Callable[[], Any]], rounds: int) -> list[float]:
    """Shortest time of each task in seconds."""
    best = [float("inf")] * len(tasks)
    for turn in range(rounds):
        for number in range(len(tasks))[:: 1 if turn % 2 else -1]:
            began = time.perf_counter()
            tasks[number]()
            best[number] = min(best[number], time.perf_counter() - began)
    return best


def compared(solvers: list[ms.Solver], count: int) -> list[float]:
    """Shortest time of `count` iterations of each solver; checks that results are
    equal."""
    best = best_of_turns([lambda s=s: s.iterate(count) for s in solvers], FLAGS.rounds)
    vectors = [solver.average_vector().tobytes() for solver in solvers]
    assert vectors[0] == vectors[1]
    return best


def in_turns(task: Callable[[int], Any]) -> list[float]:
    """Shortest time of a task with one thread and with several."""
    results = [np.asarray(task(k)).tobytes() for k in (1, FLAGS.threads)]
    assert results[0] == results[1]
    tasks = [lambda k=k: task(k) for k in (1, FLAGS.threads)]
    seconds = best_of_turns(tasks[:1], FLAGS.rounds)[0]
    return best_of_turns(tasks, max(round(FLAGS.seconds / seconds), FLAGS.rounds))


def cells_of(best: list[float], count: float = 1.0, scale: float = 1e3) -> list[str]:
    """Formats the time of one thread per item, and the speedup."""
    return [f"{scale * best[0] / count:.2f}", f"{best[0] / best[1]:.2f}"]


# --- whole passes ---------------------------------------------------------------------


def top_share(tree: ms.GameTree) -> float:
    """Share of the work outside of all blocks."""
    cut, passes = tree.list_blocks(), tree.list_leaves()
    top = tree.infosets[cut.top[cut.top >= 0]]
    first, last = top["first_sequence"], top["first_sequence"] + top["num_actions"]
    work = int((passes.ends[last] - passes.ends[first] + 8 * (last - first)).sum())
    work += int((cut.top < 0).sum())
    return work / (len(passes.payoffs) + 8 * (len(passes.ends) - 1))


def measure_passes(game: str) -> Iterator[list[str]]:
    """Yields a row of the table of passes or evaluations."""
    tree = ms.GameTree(game).expand_all()
    solvers = [ms.Solver(tree, ms.CFR_PLUS, threads=k) for k in (1, FLAGS.threads)]
    for solver in solvers:
        solver.iterate(3)
    policy, vector = solvers[0].average_policy(), solvers[0].average_vector()
    row = [game, f"{tree.num_nodes:,}", f"{tree.num_infosets:,}"]
    if FLAGS.what == "evaluations":
        for task in (
            lambda k: ms.nash_conv(tree, policy, threads=k),
            lambda k: ms.nash_conv(tree, vector, threads=k),
            lambda k: ms.expected_returns(tree, policy, threads=k),
            lambda k: (
                ms.evaluation.best_response_policy(tree, policy, 0, threads=k).vector
            ),
        ):
            row += cells_of(in_turns(task))
    else:
        began = time.perf_counter()
        solvers[0].iterate(1)
        solvers[1].iterate(1)
        count = max(round(2 * FLAGS.seconds / (time.perf_counter() - began)), 1)
        row += [f"{len(tree.list_blocks().ends) - 1:,}", f"{top_share(tree):.2%}"]
        row += cells_of(compared(solvers, count), count)
        calls = [lambda s=s: repeat(s.iteration)(count) for s in solvers]
        row += cells_of(best_of_turns(calls, FLAGS.rounds))[1:]
        row += cells_of(in_turns(lambda k: ms.nash_conv(tree, policy, threads=k)))
    yield row


# --- batches --------------------------------------------------------------------------


def started(game: str, algorithm: ms.Algorithm) -> list[ms.Solver]:
    """Makes a solver with one thread and a solver with several."""
    threads = 1, FLAGS.threads
    if FLAGS.what == "over_rules":
        return [ms.Solver(game, algorithm, threads=k, store="none") for k in threads]
    tree = ms.GameTree(game).expand_all()
    return [ms.Solver(tree, algorithm, threads=k) for k in threads]


def are_shared(solver: ms.Solver) -> bool:
    """Whether threads share the batches of a solver."""
    engine: Any = solver.state.engine
    shared = getattr(engine, "shared", None)
    is_by_blocks = shared is not None and shared.cut is not None
    return is_by_blocks or getattr(engine, "groups", None) is not None


def measure_batches(game: str) -> Iterator[list[str]]:
    """Yields the rows of the table of batches."""
    for name, algorithm in ALGORITHMS.items():
        for batch in map(int, FLAGS.batches):
            first, second = solvers = started(game, algorithm._replace(batch=batch))
            for solver in solvers:
                solver.iterate(2)
                solver.iterate_until(FLAGS.warm)
            began, done = time.perf_counter(), first.num_iterations
            for solver in solvers:
                solver.iterate_until(solver.nodes_touched + 300_000)
            count = first.num_iterations - done
            took = time.perf_counter() - began
            count = max(round(count * 2 * FLAGS.seconds / took), 1)
            before = first.nodes_touched
            best = compared(solvers, count)
            nodes = (first.nodes_touched - before) / FLAGS.rounds
            a_walk = nodes / count / batch / first.tree.num_players
            row = [game, name, f"{batch:,}", f"{a_walk:,.0f}"]
            row += cells_of(best, nodes, 1e9)
            row[-1] += "" if are_shared(second) else ", one thread"
            yield row


HEADERS = {
    "passes": "nodes | infosets | blocks | serial | CFR+ ms | times faster | "
    "in calls of one | NashConv ms | times faster",
    "evaluations": "nodes | infosets | NashConv, ms | times faster | of a vector, ms | "
    "times faster | returns, ms | times faster | response, ms | times faster",
    "batches": "sampling | batch | nodes a walk | ns a node | times faster",
}


def main(_: list[str]) -> None:
    importlib.import_module("mccfr_spiel.games")
    is_of_trees = GAMES[FLAGS.what] is _ON_TREES
    measure = measure_passes if is_of_trees else measure_batches
    rows = []
    for game in GAMES[FLAGS.what]:
        if all(word in game for word in FLAGS.only):
            for row in measure(game):
                print(*row, flush=True)
                rows.append(row)
    header = ["game", *HEADERS[FLAGS.what if is_of_trees else "batches"].split(" | ")]
    load = ", ".join(f"{average:.1f}" for average in os.getloadavg())
    print(describe("threads"), f"Load average {load}.", "", sep="\n")
    print(markdown(header, rows))


if __name__ == "__main__":
    app.run(main)
