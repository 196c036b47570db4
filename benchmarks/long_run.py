"""Half an hour in a game of more than 10^12 histories, in less than 2 GiB.

    python -m benchmarks.long_run --minutes=30 --out=docs/long_run.md
    python -m benchmarks.long_run --minutes=1 --max_nodes=100000

External sampling in limit poker with three hole cards from a full deck. The node store
is small, so it fills and is dropped again and again; only the information-set tables
grow. Each row is printed at once. The script fails if the process ever held more than
`--gibibytes`.
"""

import os
import random
import resource
import sys
import tempfile
import time
from typing import NamedTuple

import pyspiel
from absl import app, flags

import mccfr_spiel as ms
from benchmarks.machine import deliver, describe, markdown, resident

GAME = (
    "universal_poker(betting=limit,numPlayers=2,numRounds=2,blind=5 10,"
    "firstPlayer=1 1,numSuits=4,numRanks=13,numHoleCards=3,numBoardCards=0 0,"
    "raiseSize=10 20,maxRaises=3 3,bettingAbstraction=fcpa)"
)
DEALS_COMPARED = 5

FLAGS = flags.FLAGS
flags.DEFINE_float("minutes", 30.0, "How long to iterate.", lower_bound=0.01)
flags.DEFINE_integer("rows", 20, "How often to look.", lower_bound=1)
flags.DEFINE_integer("max_nodes", 2_000_000, "As Solver's.", lower_bound=1)
flags.DEFINE_float("gibibytes", 2.0, "Most memory that may be held.", lower_bound=0)
flags.DEFINE_float("response", 60.0, "Seconds to learn a response.", lower_bound=1)
flags.DEFINE_string("out", None, "The markdown file to write; standard output if none.")


class CountingTree(ms.GameTree):
    """Counts the nodes that it drops."""

    drops = 0
    dropped = 0

    def forget_nodes(self) -> None:
        self.drops += 1
        self.dropped += self.num_nodes
        super().forget_nodes()


class Size(NamedTuple):
    """How large a game is: `deals` chance histories, and the betting after each."""

    deals: int
    endings: int
    decisions: int


def _count_betting(state: pyspiel.State) -> tuple[int, int]:
    if state.is_terminal():
        return 1, 0
    counts = [_count_betting(state.child(action)) for action in state.legal_actions()]
    endings, decisions = zip(*counts, strict=True)
    return sum(endings), 1 + sum(decisions)


def size_of(game: pyspiel.Game) -> Size:
    """Counts deals by multiplying, and the betting after a few deals.

    Raises:
        ValueError: the betting depends on the deal, so that counts do not multiply.
    """
    sizes = set()
    for seed in range(DEALS_COMPARED):
        generator = random.Random(seed)
        state, deals = game.new_initial_state(), 1
        while state.is_chance_node():
            cards = state.legal_actions()
            deals *= len(cards)
            state.apply_action(generator.choice(cards))
        sizes.add(Size(deals, *_count_betting(state)))
    if len(sizes) > 1:
        raise ValueError(f"The betting depends on the deal: {sizes}.")
    return sizes.pop()


def peak() -> float:
    """MiB that the process has held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def tables(solver: ms.Solver, tree: CountingTree) -> float:
    """MiB of what is kept of every infoset: numbers, its name and the names' index."""
    numbers = sum(table.nbytes for table in solver.state.tables) + tree.infosets.nbytes
    numbers += tree.num_infosets * 20 + tree.num_sequences * 8  # arrays of the tree
    names = tree.info_states
    return (numbers + sum(map(sys.getsizeof, names))) / 2**20 + index(len(names))


def index(count: int) -> float:
    """MiB of a dictionary of so many names and numbers."""
    return (sys.getsizeof(dict.fromkeys(range(count))) + 32 * count) / 2**20


def look(solver: ms.Solver, tree: CountingTree, folder: str, began: float) -> list[str]:
    """Saves a checkpoint; a row of the table."""
    path = os.path.join(folder, "solver")
    save_began = time.perf_counter()
    solver.save(path)
    took = time.perf_counter() - save_began
    return [
        f"{(time.perf_counter() - began) / 60:.1f}",
        f"{solver.num_iterations:,}",
        f"{solver.nodes_touched:,}",
        f"{tree.num_infosets:,}",
        f"{tree.drops:,}",
        f"{tree.dropped:,}",
        f"{tables(solver, tree):,.0f}",
        f"{resident():,.0f}",
        f"{peak():,.0f}",
        f"{os.path.getsize(path) / 2**20:,.0f} ({took:.1f} s)",
    ]


HEADER = ["minutes", "iterations", "nodes touched", "infosets", "drops"]
HEADER += ["nodes dropped", "tables MiB", "MiB", "peak MiB", "checkpoint MiB"]


def lower_bound(game: pyspiel.Game, solver: ms.Solver, seconds: float) -> str:
    """What responses learned in so long gain against the average policy."""
    policy = solver.average_policy()
    gains = [
        ms.learned_response(game, policy, player, seconds=seconds).gain
        for player in range(game.num_players())
    ]
    each = ", ".join(f"{gain.mean:.2f} ± {gain.half_width:.2f}" for gain in gains)
    return (
        f"Responses learned against the average policy for {seconds:.0f} s each gain\n"
        f"{each} chips a game (95% intervals); blinds are 5 and 10. A best response\n"
        "gains at least what they do."
    )


def main(_: list[str]) -> None:
    game = pyspiel.load_game(GAME)
    size = size_of(game)
    tree = CountingTree(game, max_nodes=FLAGS.max_nodes)
    solver = ms.Solver(tree, ms.EXTERNAL_SAMPLING, seed=1)
    solver.iterate(1)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        for row in range(FLAGS.rows + 1):
            until = began + 60 * FLAGS.minutes * row / FLAGS.rows
            while time.perf_counter() < until:
                solver.iterate(100)
            rows.append(look(solver, tree, folder, began))
            print(" | ".join(rows[-1]), flush=True)
    bound = lower_bound(game, solver, FLAGS.response)
    text = f"""# A long run

{describe("long_run")}

`{GAME}`

has {size.deals:,} deals, and after each the same betting of {size.endings}
endings and {size.decisions} decisions: {size.deals * size.endings:,} histories.

External sampling with `max_nodes={FLAGS.max_nodes:,}`. *MiB* is what the process holds
(its resident set), *peak MiB* the most it has held so far, including a checkpoint at
each row. *Tables* is the part that belongs to the information sets met, and only that
part may grow.

{markdown(HEADER, rows)}

{bound} Peak memory with that: {peak():,.0f} MiB.
"""
    deliver(text, FLAGS.out)
    if peak() > 1024 * FLAGS.gibibytes:
        raise SystemExit(f"{peak():,.0f} MiB is more than {FLAGS.gibibytes} GiB.")


if __name__ == "__main__":
    app.run(main)
