"""Nodes touched to a given NashConv by batches that grow, beside single walks.

    nice python -m benchmarks.growing_batches --seeds=10 --nodes=3e6
    nice python -m benchmarks.growing_batches --seeds=100 --only=Kuhn --sampling=outcome

Each run is measured at the same numbers of nodes touched. The NashConv to be reached is
the mean over the seeds that single walks have at the end, and at a tenth of the nodes;
what batch="auto" needs for it is found on the straight line between two measurements,
both axes logarithmic. A ratio below 1 says that it needs fewer nodes.

Behind each ratio is its 95 % interval: the ratio is found anew for two thousand
resamplings of the seeds, of single walks and of batches each (percentile bootstrap).
"""

import concurrent.futures
import functools
import math
import time

import numpy as np
from absl import app, flags

import mccfr_spiel as ms
from benchmarks.machine import describe, markdown

GAMES = {
    "Kuhn poker": "kuhn_poker",
    "Kuhn poker, 3 players": "kuhn_poker(players=3)",
    "Leduc poker": "leduc_poker",
    "liar's dice, 4 sides": "liars_dice(dice_sides=4)",
    "liar's dice, 5 sides": "liars_dice(dice_sides=5)",
    "goofspiel, 4 cards": "goofspiel(num_cards=4,imp_info=True,points_order=random)",
}
ALGORITHMS = {"external": ms.EXTERNAL_SAMPLING, "outcome": ms.OUTCOME_SAMPLING}

FLAGS = flags.FLAGS
flags.DEFINE_integer("seeds", 10, "How many runs of each.", lower_bound=1)
flags.DEFINE_float("nodes", 3e6, "Nodes that each run touches.")
flags.DEFINE_integer("workers", 1, "Processes.", lower_bound=1)
flags.DEFINE_list("only", [], "Words that a game's name must contain; all by default.")
flags.DEFINE_list("sampling", list(ALGORITHMS), "External, outcome or both.")

RESAMPLINGS = 2000


def curve(
    game: str, algorithm: ms.Algorithm, nodes: list[float], seed: int
) -> list[float]:
    """NashConv at each number of nodes touched."""
    tree = ms.cached_tree(game)
    solver, found = ms.Solver(tree, algorithm, seed=seed), []
    for touched in nodes:
        solver.iterate_until(touched)
        found.append(ms.nash_conv(tree, solver.average_policy()))
    return found


def nodes_to(gap: float, nodes: list[float], gaps: np.ndarray) -> float:
    """The nodes at which a curve first comes down to a gap."""
    logs = np.log(nodes)
    for k in range(1, len(gaps)):
        if gaps[k] <= gap:
            share = math.log(gaps[k - 1] / gap) / math.log(gaps[k - 1] / gaps[k])
            return math.exp(logs[k - 1] + max(share, 0.0) * (logs[k] - logs[k - 1]))
    return math.inf


def ratio_at(
    place: int, nodes: list[float], single: np.ndarray, grown: np.ndarray
) -> float:
    """The nodes that batches need, as a multiple, for the gap of single walks there.

    Args:
        place: an index of `nodes`.
        nodes: where the curves were measured.
        single, grown: `[seeds, len(nodes)]` NashConv of both.
    """
    gap = single[:, place].mean()
    return nodes_to(gap, nodes, grown.mean(axis=0)) / nodes[place]


def interval(
    place: int, nodes: list[float], single: np.ndarray, grown: np.ndarray
) -> tuple[float, float]:
    """The 95 % interval of `ratio_at`."""
    generator, seeds = np.random.default_rng(0), len(single)
    found = [
        ratio_at(
            place,
            nodes,
            single[generator.integers(seeds, size=seeds)],
            grown[generator.integers(seeds, size=seeds)],
        )
        for _ in range(RESAMPLINGS)
    ]
    low, high = np.percentile(found, [2.5, 97.5], method="nearest")
    return float(low), float(high)


def main(_: list[str]) -> None:
    # Twice the end, where single walks need less than batches.
    nodes = [FLAGS.nodes * 10 ** (k / 10) for k in range(-17, 4)]
    rows = []
    with concurrent.futures.ProcessPoolExecutor(FLAGS.workers) as pool:
        for name, label in (
            (name, label)
            for name in GAMES
            for label in FLAGS.sampling
            if all(word in name for word in FLAGS.only)
        ):
            began, curves = time.perf_counter(), []
            plain = ALGORITHMS[label]
            for algorithm in (plain, plain._replace(batch="auto")):
                task = functools.partial(curve, GAMES[name], algorithm, nodes)
                curves.append(np.array(list(pool.map(task, range(FLAGS.seeds)))))
            end = nodes.index(FLAGS.nodes)
            rows.append([name, label, f"{curves[0][:, end].mean():.3g}"])
            for place in (end - 10, end):
                low, high = interval(place, nodes, *curves)
                ratio = ratio_at(place, nodes, *curves)
                rows[-1].append(f"{ratio:.2f} ({low:.2f}-{high:.2f})")
            print(*rows[-1], f"{time.perf_counter() - began:.0f} s", flush=True)
    header = ["game", "sampling", "NashConv", "ratio at a tenth", "ratio at the end"]
    print(describe("growing_batches"), "", sep="\n")
    print(markdown(header, rows))


if __name__ == "__main__":
    app.run(main)
