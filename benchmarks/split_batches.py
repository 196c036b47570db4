"""What a cluster exchanges for batches of walks, and what the work of each part takes.

    python -m benchmarks.split_batches --batches=512,4096

For an iteration: the bytes of all logs, the time in which one process makes it, the
time of its walks into logs, which workers divide among them, and the time that each of
them takes to add up all logs. The best of several turns counts. With --workers=n, n
workers of a Ray cluster on this machine and one process take turns, too, and their bits
are compared.
"""

import os
import time

from absl import app, flags

import mccfr_spiel as ms
from benchmarks.machine import describe, markdown
from mccfr_spiel import kernels
from mccfr_spiel.cluster import batches
from mccfr_spiel.solving.splitting import Place, Segment

_GOOFSPIEL = "goofspiel(num_cards={},imp_info=True,points_order={})"

GAMES = {
    "liar's dice, 6 sides": "liars_dice",
    "goofspiel, 5 cards": _GOOFSPIEL.format(5, "random"),
    "goofspiel, 6 cards": _GOOFSPIEL.format(6, "descending"),
}
ALGORITHMS = {"external": ms.EXTERNAL_SAMPLING, "outcome": ms.OUTCOME_SAMPLING}
SLOTS = kernels.NUM_SLOTS

FLAGS = flags.FLAGS
flags.DEFINE_integer("rounds", 10, "Turns of each.", lower_bound=1)
flags.DEFINE_integer("workers", 0, "Workers of a Ray cluster.", lower_bound=0)
flags.DEFINE_list("batches", ["512", "4096"], "Walks in an iteration.")
flags.DEFINE_list("only", [], "Words that a game's name must contain; all by default.")
flags.DEFINE_list("samplings", [*ALGORITHMS], "Which of external and outcome.")


def measure(name: str, tree: ms.GameTree, sampling: str, batch: int) -> list[str]:
    """A row of the table."""
    algorithm = ALGORITHMS[sampling]._replace(batch=batch)
    alone = ms.Solver(tree, algorithm)
    split = ms.Solver(tree, algorithm, cluster=ms.cluster.InThisProcess(1))
    parts = split.state.splitting
    assert parts is not None
    players = tree.num_players
    walking, adding = [[float("inf")] * players for _ in range(2)]
    whole, sent, touched = float("inf"), 0, 0
    for solver in (alone, split):
        solver.iterate(2)
    mean = split.nodes_touched / (2 * batch * players)
    each = min(-(-batch // SLOTS), max(int(2**16 / mean), 1))  # as the driver's
    for _ in range(FLAGS.rounds):
        began = time.perf_counter()
        alone.iterate(1)
        whole = min(whole, time.perf_counter() - began)
        sent = touched = 0
        for player in range(players):
            records = split.state.records()
            walked = added = 0.0
            for begin in range(0, batch, SLOTS * each):
                place = Place.of(records.walk)
                iteration = place.iteration + (not place.is_begun)
                end = min(begin + SLOTS * each, batch)
                segment = Segment(place, iteration, player, begin, end, each)
                times = [time.perf_counter()]
                log = parts.walk(records, segment, 0, segment.num_tickets)
                assert log.status == kernels.DONE
                times.append(time.perf_counter())
                parts.add(records, segment, [log])
                times.append(time.perf_counter())
                walked, added = (
                    walked + times[1] - times[0],
                    added + times[2] - times[1],
                )
                sent, touched = sent + log.nbytes, touched + log.nodes_touched
            walking[player] = min(walking[player], walked)
            adding[player] = min(adding[player], added)
    assert alone.average_vector().tobytes() == split.average_vector().tobytes()
    return [
        name,
        sampling,
        f"{batch:,}",
        f"{touched:,}",
        f"{sent / 1e6:.3g}",
        f"{sent / touched:.2f}",
        f"{1e3 * whole:.1f}",
        f"{1e3 * sum(walking):.1f}",
        f"{1e3 * sum(adding):.1f}",
    ]


def race(name: str, tree: ms.GameTree, sampling: str, batch: int) -> str:
    """Times of an iteration by one process and by a Ray cluster."""
    algorithm = ALGORITHMS[sampling]._replace(batch=batch)
    cluster = ms.cluster.Ray(workers=FLAGS.workers, patience=300)
    solvers = [ms.Solver(tree, algorithm, cluster=one) for one in (None, cluster)]
    best = [float("inf")] * 2
    for solver in solvers:
        solver.iterate(3)
    for _ in range(FLAGS.rounds):
        for which, solver in enumerate(solvers):
            began = time.perf_counter()
            solver.iterate(4)
            best[which] = min(best[which], (time.perf_counter() - began) / 4)
    one, other = (solver.average_vector().tobytes() for solver in solvers)
    assert one == other
    driver = solvers[1].cluster
    assert driver is not None
    return (
        f"{name}, {sampling}, {batch:,}: one process {1e3 * best[0]:.1f} ms, "
        f"{FLAGS.workers} workers {1e3 * best[1]:.1f} ms an iteration; {driver.traffic}"
    )


def main(_: list[str]) -> None:
    batches.LEAST_NODES = 1
    rows = []
    for name, game in GAMES.items():
        if all(word in name for word in FLAGS.only):
            tree = ms.cached_tree(game)
            for sampling in FLAGS.samplings:
                for batch in map(int, FLAGS.batches):
                    if FLAGS.workers:
                        print(race(name, tree, sampling, batch), flush=True)
                        continue
                    rows.append(measure(name, tree, sampling, batch))
                    print(*rows[-1], flush=True)
    header = ["game", "sampling", "batch", "nodes", "MB of logs", "bytes a node"]
    header += ["one process, ms", "walks, ms", "sums, ms"]
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    print(describe("split_batches"), f"Load average {load}.", "", sep="\n")
    print(markdown(header, rows))


if __name__ == "__main__":
    app.run(main)
