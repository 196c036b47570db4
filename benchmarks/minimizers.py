"""NashConv of every estimator with every minimizer at equal nodes touched.

    python -m benchmarks.minimizers            # Kuhn and Leduc, some minutes
    python -m benchmarks.minimizers --seeds=1 --nodes=1e5

FTRL and OMD are run with step sizes 0.1, 1, 10 and 100 and both weightings of the
dilated entropy; the best is shown and named, and all follow, those of OMD only where
they differ from FTRL's. Averages are uniform, players move in turn; medians over the
seeds.
"""

import argparse
import statistics

from benchmarks.machine import describe, markdown
from mccfr_spiel import algorithms
from mccfr_spiel.algorithms import Algorithm, Minimizer, Sampling
from mccfr_spiel.evaluation.exact import nash_conv
from mccfr_spiel.solver import Solver
from mccfr_spiel.tree.game_tree import GameTree

NODES = {"kuhn_poker": 1_000_000, "leduc_poker": 3_000_000}
ESTIMATORS = {
    "full": algorithms.FULL,
    "chance": algorithms.CHANCE,
    "opponent": algorithms.OPPONENT,
    "external": algorithms.EXTERNAL,
    "outcome (0.6)": algorithms.OUTCOME,
    "balanced outcome": algorithms.BALANCED_OUTCOME,
}
STEP_SIZES = (0.1, 1.0, 10.0, 100.0)
WEIGHTS = ("constant", "kroer")


def minimizers() -> dict[str, dict[str, Minimizer]]:
    """The columns of the table: each has variants, of which the best is shown."""
    columns = {
        "RM": {"": algorithms.regret_matching()},
        "RM+": {"": algorithms.regret_matching_plus()},
    }
    for rule, make in (("FTRL", algorithms.ftrl), ("OMD", algorithms.omd)):
        for weights in WEIGHTS:
            columns[f"{rule}, {weights}"] = {
                f" ({step:g})": make(step, weights=weights) for step in STEP_SIZES
            }
    return columns


def run_to(solver: Solver, nodes: float) -> None:
    """Runs iterations until so many nodes are touched."""
    while solver.nodes_touched < nodes:
        done = max(solver.num_iterations, 1)
        each = max(solver.nodes_touched, 1) / done
        missing = (nodes - solver.nodes_touched) / each
        solver.iterate(max(1, min(int(missing), 10 * done)))


def measure(
    tree: GameTree, sampling: Sampling, minimizer: Minimizer, nodes: float, seeds: int
) -> float:
    """The median NashConv over the seeds, or that of the one run without draws."""
    gaps = []
    for seed in range(seeds if sampling.is_sampled else 1):
        solver = Solver(tree, Algorithm(sampling, minimizer), seed=seed)
        run_to(solver, nodes)
        gaps.append(nash_conv(tree, solver.average_vector()))
    return statistics.median(gaps)


def table(game: str, nodes: float, seeds: int) -> str:
    """One game's estimators by minimizers, and all step sizes below."""
    tree = GameTree(game).expand_all()
    columns = minimizers()
    best_rows, all_rows = [], []
    for name, sampling in ESTIMATORS.items():
        best_row = [name]
        for column, variants in columns.items():
            found = {
                label: measure(tree, sampling, minimizer, nodes, seeds)
                for label, minimizer in variants.items()
            }
            best = min(found, key=lambda label: found[label])
            best_row.append(f"{found[best]:.4f}{best}")
            cells = [f"{gap:.4f}" for gap in found.values()]
            if len(found) > 1 and [name, *cells] not in [
                [row[0], *row[2:]] for row in all_rows
            ]:
                all_rows.append([name, column, *cells])
        best_rows.append(best_row)
    steps = ["estimator", "minimizer", *(f"step {step:g}" for step in STEP_SIZES)]
    return "\n\n".join(
        (
            f"### {game}, {nodes:,.0f} nodes touched",
            markdown(["estimator", *columns], best_rows),
            markdown(steps, all_rows),
        )
    )


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--nodes", type=float, help="instead of NODES")
    options = parser.parse_args()
    print(describe("minimizers"))
    for game, nodes in NODES.items():
        print("\n" + table(game, options.nodes or nodes, options.seeds), flush=True)


if __name__ == "__main__":
    main()
