"""Batches of sampled walks by one thread and by several.

    python -m benchmarks.shared_batches --threads=2 --batches=8,64,512
    python -m benchmarks.shared_batches --over_rules --batches=64,512

The two take turns, and the best of each counts, since what else runs on a machine makes
a turn slower and never faster. With all cores busy, several threads are no faster than
one; the load average is printed. The bits are compared, too. `--over_rules` has walks
that keep no tree. Give them millions of nodes before the clock runs, `--warm=20000000`,
since in a large game they go on to meet new infosets.
"""

import importlib
import os
import time

from absl import app, flags

import mccfr_spiel as ms
from benchmarks.machine import describe, markdown

_GOOFSPIEL = "goofspiel(num_cards={},imp_info=True,points_order=descending)"

GAMES = {
    "Kuhn poker": "kuhn_poker",
    "Leduc poker": "leduc_poker",
    "liar's dice, 6 sides": "liars_dice",
    "goofspiel, 5 cards": "goofspiel(num_cards=5,imp_info=True,points_order=random)",
    "goofspiel, 6 cards": _GOOFSPIEL.format(6),
    "goofspiel, 7 cards": _GOOFSPIEL.format(7),
}
OVER_RULES = {
    "Kuhn poker": "kuhn_poker",
    "Leduc poker": "leduc_poker",
    "liar's dice, 6 sides": "liars_dice",
    "liar's dice, 2 dice": "liars_dice(numdice=2)",
    "goofspiel, 5 cards": "python_goofspiel(num_cards=5)",
    "goofspiel, 7 cards": "python_goofspiel(num_cards=7)",
    "goofspiel, 8 cards": "python_goofspiel(num_cards=8)",
}
ALGORITHMS = {"external": ms.EXTERNAL_SAMPLING, "outcome": ms.OUTCOME_SAMPLING}

FLAGS = flags.FLAGS
flags.DEFINE_integer("threads", 2, "How many.", lower_bound=2)
flags.DEFINE_integer("rounds", 12, "Turns of each.", lower_bound=1)
flags.DEFINE_float("seconds", 0.2, "About how long a turn is.", lower_bound=0)
flags.DEFINE_list("batches", ["8", "64", "512"], "Walks in an iteration.")
flags.DEFINE_bool("over_rules", False, "Whether walks keep no tree.")
flags.DEFINE_integer("warm", 300_000, "Nodes touched before.", lower_bound=1)
flags.DEFINE_list("only", [], "Words that a game's name must contain; all by default.")


def started(game: str, algorithm: ms.Algorithm) -> list[ms.Solver]:
    """A solver with one thread, and one with several."""
    threads = 1, FLAGS.threads
    if FLAGS.over_rules:
        return [ms.Solver(game, algorithm, threads=k, store="none") for k in threads]
    tree = ms.cached_tree(game)
    return [ms.Solver(tree, algorithm, threads=k) for k in threads]


def are_shared(solver: ms.Solver) -> bool:
    """Whether threads have shared a batch."""
    trees = solver.state.sharing
    is_by_blocks = trees is not None and trees.cut is not None
    return is_by_blocks or solver.state.groups is not None


def measure(name: str, game: str, algorithm: str, batch: int) -> list[str]:
    """A row of the table."""
    solvers = started(game, ALGORITHMS[algorithm]._replace(batch=batch))
    for solver in solvers:
        solver.iterate(2)
        solver.iterate_until(FLAGS.warm)
    began, done = time.perf_counter(), solvers[0].num_iterations
    for solver in solvers:
        solver.iterate_until(solver.nodes_touched + 300_000)
    count = solvers[0].num_iterations - done
    count = max(round(count * 2 * FLAGS.seconds / (time.perf_counter() - began)), 1)
    best, touched = [float("inf")] * 2, solvers[0].nodes_touched
    for turn in range(FLAGS.rounds):
        before = solvers[0].nodes_touched
        for which in (0, 1) if turn % 2 else (1, 0):
            began = time.perf_counter()
            solvers[which].iterate(count)
            best[which] = min(best[which], time.perf_counter() - began)
        touched = solvers[0].nodes_touched - before
    vectors = [solver.average_vector() for solver in solvers]
    assert vectors[0].tobytes() == vectors[1].tobytes()
    num_players = solvers[0].tree.num_players
    return [
        name,
        algorithm,
        f"{batch:,}",
        f"{touched / count / batch / num_players:,.0f}",
        f"{1e9 * best[0] / touched:.1f}",
        f"{best[0] / best[1]:.2f}" + ("" if are_shared(solvers[1]) else ", one thread"),
    ]


def main(_: list[str]) -> None:
    importlib.import_module("mccfr_spiel.games")
    rows = []
    for name, game in (OVER_RULES if FLAGS.over_rules else GAMES).items():
        if all(word in name for word in FLAGS.only):
            for algorithm in ALGORITHMS:
                for batch in map(int, FLAGS.batches):
                    rows.append(measure(name, game, algorithm, batch))
                    print(*rows[-1], flush=True)
    header = ["game", "sampling", "batch", "nodes a walk", "ns a node", "times faster"]
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    print(describe("shared_batches"), f"Load average {load}.", "", sep="\n")
    print(markdown(header, rows))


if __name__ == "__main__":
    app.run(main)
