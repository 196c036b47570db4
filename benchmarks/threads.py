"""What threads gain: one thread beside several, on passes and on batches of walks.

    python -m benchmarks.threads
    python -m benchmarks.threads --what=evaluations
    python -m benchmarks.threads --what=batches --batches=8,64,512
    python -m benchmarks.threads --what=over_rules --batches=64,512

`passes` are iterations of CFR+ on large trees, and NashConv. "Serial" is the share of
the work that one thread does while the others wait: the infosets above all blocks and
the roots that they take values from. `evaluations` are single calls of `ms.nash_conv`
(of a solver's policy, and of a vector, which is looked at first), `ms.expected_returns`
and `ms.evaluation.best_response_policy`. `batches` are batches of sampled walks, and
with `over_rules` they keep no tree. Give those millions of nodes before the clock runs,
`--warm=20000000`, since in a large game they go on to meet new infosets.

The two take turns, and the best of each counts, since what else runs on a machine makes
a turn slower and never faster. The load average is printed: with all cores busy,
several threads are no faster than one. Bits are compared, too.
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
flags.DEFINE_enum("what", "passes", [*GAMES], "What is shared.")
flags.DEFINE_integer("threads", 2, "How many.", lower_bound=2)
flags.DEFINE_integer("rounds", 6, "Turns of each.", lower_bound=1)
flags.DEFINE_float("seconds", 0.2, "About how long a turn is.", lower_bound=0)
flags.DEFINE_list("batches", ["8", "64", "512"], "Walks in an iteration.")
flags.DEFINE_integer("warm", 300_000, "Nodes that batches touch before.", lower_bound=1)
flags.DEFINE_list("only", [], "Words that a game's name must contain; all by default.")


def best_of_turns(tasks: list[Callable[[], Any]], rounds: int) -> list[float]:
    """The least seconds of each task."""
    best = [float("inf")] * len(tasks)
    for turn in range(rounds):
        for number in range(len(tasks))[:: 1 if turn % 2 else -1]:
            began = time.perf_counter()
            tasks[number]()
            best[number] = min(best[number], time.perf_counter() - began)
    return best


def compared(solvers: list[ms.Solver], count: int) -> list[float]:
    """The least seconds of so many iterations of each; what they learn is equal."""
    best = best_of_turns([lambda s=s: s.iterate(count) for s in solvers], FLAGS.rounds)
    vectors = [solver.average_vector().tobytes() for solver in solvers]
    assert vectors[0] == vectors[1]
    return best


def in_turns(task: Callable[[int], Any]) -> list[float]:
    """The least seconds of a task of one thread, and of several."""
    found = [np.asarray(task(k)).tobytes() for k in (1, FLAGS.threads)]
    assert found[0] == found[1]
    tasks = [lambda k=k: task(k) for k in (1, FLAGS.threads)]
    seconds = best_of_turns(tasks[:1], FLAGS.rounds)[0]
    return best_of_turns(tasks, max(round(FLAGS.seconds / seconds), FLAGS.rounds))


def words_of(best: list[float], count: float = 1.0, scale: float = 1e3) -> list[str]:
    """The time of one thread for each of so many things, and the gain of several."""
    return [f"{scale * best[0] / count:.2f}", f"{best[0] / best[1]:.2f}"]


# --- whole passes ---------------------------------------------------------------------


def top_share(tree: ms.GameTree) -> float:
    """The share of rows and sequences that belong to no block."""
    cut, passes = tree.list_blocks(), tree.list_leaves()
    top = tree.infosets[cut.top[cut.top >= 0]]
    first, last = top["first_sequence"], top["first_sequence"] + top["num_actions"]
    work = int((passes.ends[last] - passes.ends[first] + 8 * (last - first)).sum())
    work += int((cut.top < 0).sum())
    return work / (len(passes.payoffs) + 8 * (len(passes.ends) - 1))


def measure_passes(game: str) -> Iterator[list[str]]:
    """A row of the table of passes, or of evaluations."""
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
            row += words_of(in_turns(task))
    else:
        began = time.perf_counter()
        solvers[0].iterate(1)
        solvers[1].iterate(1)
        count = max(round(2 * FLAGS.seconds / (time.perf_counter() - began)), 1)
        row += [f"{len(tree.list_blocks().ends) - 1:,}", f"{top_share(tree):.2%}"]
        row += words_of(compared(solvers, count), count)
        calls = [lambda s=s: repeat(s.iteration)(count) for s in solvers]
        row += words_of(best_of_turns(calls, FLAGS.rounds))[1:]
        row += words_of(in_turns(lambda k: ms.nash_conv(tree, policy, threads=k)))
    yield row


# --- batches --------------------------------------------------------------------------


def started(game: str, algorithm: ms.Algorithm) -> list[ms.Solver]:
    """A solver with one thread, and one with several."""
    threads = 1, FLAGS.threads
    if FLAGS.what == "over_rules":
        return [ms.Solver(game, algorithm, threads=k, store="none") for k in threads]
    tree = ms.GameTree(game).expand_all()
    return [ms.Solver(tree, algorithm, threads=k) for k in threads]


def are_shared(solver: ms.Solver) -> bool:
    """Whether threads have shared a batch."""
    engine: Any = solver.state.engine
    shared = getattr(engine, "shared", None)
    is_by_blocks = shared is not None and shared.cut is not None
    return is_by_blocks or getattr(engine, "groups", None) is not None


def measure_batches(game: str) -> Iterator[list[str]]:
    """The rows of the table of batches."""
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
            row += words_of(best, nodes, 1e9)
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
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    print(describe("threads"), f"Load average {load}.", "", sep="\n")
    print(markdown(header, rows))


if __name__ == "__main__":
    app.run(main)
