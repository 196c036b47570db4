"""Nodes touched to a given NashConv by batches that grow, beside single walks.

    nice python -m benchmarks.growing_batches --seeds=10 --nodes=3e6

Each run is measured at the same numbers of nodes touched. The NashConv to be reached is
the mean over the seeds that single walks have at the end, and at a tenth of the nodes;
what batch="auto" needs for it is found on the straight line between two measurements,
both axes logarithmic. A ratio below 1 says that it needs fewer nodes.
"""

import concurrent.futures
import functools
import math
import statistics
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


def nodes_to(gap: float, nodes: list[float], gaps: list[float]) -> float:
    """The nodes at which a curve first comes down to a gap."""
    logs = np.log(nodes)
    for k in range(1, len(gaps)):
        if gaps[k] <= gap:
            share = math.log(gaps[k - 1] / gap) / math.log(gaps[k - 1] / gaps[k])
            return math.exp(logs[k - 1] + max(share, 0.0) * (logs[k] - logs[k - 1]))
    return math.inf


def main(_: list[str]) -> None:
    # A third beyond the end, where single walks need less than batches.
    nodes = [FLAGS.nodes * 10 ** (k / 10) for k in range(-17, 2)]
    rows = []
    with concurrent.futures.ProcessPoolExecutor(FLAGS.workers) as pool:
        for name, game in GAMES.items():
            for label, plain in ALGORITHMS.items():
                began, means = time.perf_counter(), []
                for algorithm in (plain, plain._replace(batch="auto")):
                    task = functools.partial(curve, game, algorithm, nodes)
                    runs = list(pool.map(task, range(FLAGS.seeds)))
                    means.append(
                        [statistics.fmean(gaps) for gaps in zip(*runs, strict=True)]
                    )
                ratios = []
                for back in (-12, -2):
                    gap = means[0][back]
                    needed = nodes_to(gap, nodes, means[1])
                    ratios.append(needed / nodes[back])
                rows.append([name, label, f"{means[0][-2]:.3g}"])
                rows[-1] += [f"{ratio:.2f}" for ratio in ratios]
                print(*rows[-1], f"{time.perf_counter() - began:.0f} s", flush=True)
    header = ["game", "sampling", "NashConv", "ratio at a tenth", "ratio at the end"]
    print(describe("growing_batches"), "", sep="\n")
    print(markdown(header, rows))


if __name__ == "__main__":
    app.run(main)
