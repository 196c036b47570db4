"""Nanoseconds per node met and per iteration over games from 10^2 to 10^6 histories.

    python -m benchmarks.scaling
    python -m benchmarks.scaling --algorithms=external_sampling,cfr_plus --seconds=2

Poker decks and dice of growing size; the tree is whole before the clock starts, and a
tenth of the time is spent first so that policies are no longer uniform. What grows with
the game beyond the work itself is the cost of memory out of cache.
"""

import time

from absl import app, flags

import mccfr_spiel as ms
from benchmarks.machine import describe, markdown

GAMES = {
    "Kuhn poker": "kuhn_poker",
    "Kuhn poker, 3 players": "kuhn_poker(players=3)",
    "Leduc poker": "leduc_poker",
    "liar's dice, 3 sides": "liars_dice(dice_sides=3)",
    "liar's dice, 4 sides": "liars_dice(dice_sides=4)",
    "liar's dice, 5 sides": "liars_dice(dice_sides=5)",
    "liar's dice, 6 sides": "liars_dice",
    "goofspiel, 5 cards": (
        "turn_based_simultaneous_game(game=goofspiel(imp_info=True,num_cards=5,"
        "points_order=random))"
    ),
}

FLAGS = flags.FLAGS
flags.DEFINE_list(
    "algorithms",
    ["external_sampling", "outcome_sampling", "cfr_plus"],
    "Which of the named algorithms.",
)
flags.DEFINE_float("seconds", 1.0, "Processor time for each line.", lower_bound=0.01)


def spend(solver: ms.Solver, seconds: float) -> tuple[int, int, float]:
    """Iterates for so long: iterations, nodes touched, seconds of processor time."""
    iterations, nodes = solver.num_iterations, solver.nodes_touched
    count = 1
    began = time.process_time()
    while (took := time.process_time() - began) < seconds:
        solver.iterate(count)
        if took < seconds / 4:
            count *= 2
    iterations = solver.num_iterations - iterations
    return iterations, solver.nodes_touched - nodes, time.process_time() - began


def main(_: list[str]) -> None:
    trees = {name: ms.GameTree(game).expand_all() for name, game in GAMES.items()}
    rows = []
    for algorithm in FLAGS.algorithms:
        for name, tree in sorted(trees.items(), key=lambda item: item[1].num_nodes):
            solver = ms.Solver(tree, ms.ALGORITHMS[algorithm], seed=1)
            solver.iterate(1)
            spend(solver, FLAGS.seconds / 10)
            iterations, nodes, seconds = spend(solver, FLAGS.seconds)
            rows.append(
                [
                    algorithm,
                    name,
                    f"{tree.num_nodes:,}",
                    f"{tree.num_infosets:,}",
                    f"{nodes / iterations:,.1f}",
                    f"{1e9 * seconds / iterations:,.0f}",
                    f"{1e9 * seconds / nodes:.1f}",
                ]
            )
    header = ["algorithm", "game", "histories", "infosets", "nodes met/iteration"]
    header += ["ns/iteration", "ns/node met"]
    print(describe("scaling"), "", markdown(header, rows), sep="\n")


if __name__ == "__main__":
    app.run(main)
