"""How much of a whole pass pruning leaves out.

    python -m benchmarks.pruning

CFR, CFR that does not follow what opponents never play, and CFR pruned by regret: the
nodes touched and the seconds of solving until NashConv of the average is not above each
target, looked at every twentieth of the way. docs/variance.md has the table.
"""

import time

from absl import app, flags

import mccfr_spiel as ms
from benchmarks.machine import describe, markdown
from mccfr_spiel import algorithms
from mccfr_spiel.algorithms import Algorithm

FLAGS = flags.FLAGS
flags.DEFINE_list("targets", ["0.1", "0.01", "0.001"], "NashConv.")
flags.DEFINE_float("most_seconds", 60.0, "When a run gives up.")

GAMES = (
    "kuhn_poker",
    "leduc_poker",
    "liars_dice(dice_sides=4)",
    "liars_dice",
    "turn_based_simultaneous_game(game=goofspiel(imp_info=True,num_cards=4,"
    "points_order=descending))",
)
CFRS = {
    "CFR": ms.CFR,
    "full(prune=True)": ms.PRUNED_CFR,
    'full(prune="regret")': Algorithm(
        algorithms.full(prune="regret"), ms.regret_matching()
    ),
}


def row(tree: ms.GameTree, algorithm: Algorithm, targets: list[float]) -> list[str]:
    """What a run needed for each target, and how much of a pass its last iterations
    touched."""
    solver, seconds, cells, share = ms.Solver(tree, algorithm), 0.0, [], ""
    solver.iterate(1)  # with the compiler's time
    while len(cells) < len(targets) and seconds < FLAGS.most_seconds:
        before, began = solver.nodes_touched, time.process_time()
        more = max(1, solver.num_iterations // 20)
        solver.iterate(more)
        seconds += time.process_time() - began
        whole = more * tree.num_players * tree.num_nodes
        share = f"{(solver.nodes_touched - before) / whole:.3f}"
        nash_conv = ms.nash_conv(tree, solver.average_policy())
        while len(cells) < len(targets) and nash_conv <= targets[len(cells)]:
            cells.append(f"{solver.nodes_touched:.2g}, {seconds:.2g} s")
    return [*cells, *["-"] * (len(targets) - len(cells)), share]


def main(_: list[str]) -> None:
    """Prints the table."""
    targets = [float(target) for target in FLAGS.targets]
    rows = []
    for game in GAMES:
        tree = ms.GameTree(game).expand_all()
        name = f"{game}, {tree.num_nodes:,} nodes"
        rows += [[name, k, *row(tree, one, targets)] for k, one in CFRS.items()]
    header = ["game", "", *FLAGS.targets, "of a pass, at last"]
    print(describe("pruning"), "", markdown(header, rows), sep="\n")


if __name__ == "__main__":
    app.run(main)
