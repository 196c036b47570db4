"""A thousand short runs in threads, each compared to the bits of one thread.

    nice python -m benchmarks.shared_runs --runs=1000 --seed=0

Each run draws an algorithm, a game, a seed and the ways in which it is run: in one to
seven threads, in pieces of random length, with another number of threads after a piece,
some pieces ended by a number of nodes, some followed by a save and a load. A run of one
thread makes the same pieces without any of that. Then all that the two have learned is
compared bit by bit, and NashConv, expected returns and best responses, which threads
compute, too. Trees are cut into small pieces, and every pass and batch is shared, so
that small games try what large ones need.

With --over_rules all runs are batches of walks that keep no tree. The last lines tell
in how many runs a second thread has really taken a part of the work, beside the first.

A difference is printed with what repeats it: --seed=S --first=N --runs=1.
"""

import importlib
import os
import pathlib
import sys
import tempfile
import time
from collections import Counter
from typing import Any

import numpy as np
from absl import app, flags

import mccfr_spiel as ms
from benchmarks.machine import describe, markdown
from mccfr_spiel.kernels import teams
from mccfr_spiel.kernels.teams import FINISHED, HELPED, new_desk

GAMES = [
    "kuhn_poker",
    "kuhn_poker(players=3)",
    "leduc_poker",
    "liars_dice(dice_sides=3)",
    "goofspiel(num_cards=3,imp_info=True,points_order=random)",
    "goofspiel(num_cards=4,imp_info=True,points_order=descending)",
]
FULL = {
    name: algorithm
    for name, algorithm in ms.ALGORITHMS.items()
    if not (algorithm.sampling.is_sampled or algorithm.sampling.prune)
} | {
    "dcfr": ms.DCFR,
    "pcfr_plus": ms.PCFR_PLUS,
    "ftrl": ms.Algorithm(ms.FULL, ms.ftrl(0.3)),
    "cfr, simultaneous": ms.CFR._replace(alternating=False),
}
SAMPLED = {
    "external": ms.EXTERNAL_SAMPLING,
    "outcome": ms.OUTCOME_SAMPLING,
    "balanced outcome": ms.BALANCED_OUTCOME_SAMPLING,
    "chance": ms.CHANCE_SAMPLING,
    "opponent": ms.OPPONENT_SAMPLING,
    "external, simultaneous": ms.EXTERNAL_SAMPLING._replace(alternating=False),
}
OVER_RULES = {name: SAMPLED[name] for name in ("external", "outcome", "chance")}
OVER_RULES |= {
    "external, random regrets": ms.Algorithm(
        ms.EXTERNAL, ms.algorithms.regret_matching(initial_regret=0.5)
    ),
    "outcome, simultaneous": ms.OUTCOME_SAMPLING._replace(alternating=False),
}
RULES_GAMES = [
    *(game for game in GAMES if "goofspiel" not in game),
    "python_goofspiel(num_cards=4,points_order=random)",
    "python_leduc_ranks(ranks=2)",
    "python_princess_and_monster(rows=2,cols=3,horizon=4,evader=1)",
]
BATCHES = (16, 100, 300, "auto")
MOST_THREADS = 7
FLAGS = flags.FLAGS
flags.DEFINE_integer("runs", 1000, "How many.", lower_bound=1)
flags.DEFINE_integer("first", 0, "The number of the first run.", lower_bound=0)
flags.DEFINE_bool("over_rules", False, "Whether walks keep no tree.")
flags.DEFINE_integer("seed", 0, "Of the drawing of runs.", lower_bound=0)


def cut_everything() -> None:
    """Lets all passes and batches be shared, and cuts trees into small pieces."""
    small: dict[str, dict[str, Any]] = {
        "tree.whole": {
            "LEAST_BLOCK": 40,
            "NUM_BLOCKS_OF_BATCH": 12,
            "LEAST_BLOCK_OF_BATCH": 40,
            "LEAST_WORK": 1,
            "LEAST_WORK_AT_ONCE": 1,
        },
        "arenas.sharing": {
            "LEAST_NODES": 1,
            "SMALL_TREE": 0,
            "LEAST_NODES_AT_ONCE": 1,
        },
        "kernels.apply": {"NODES_OF_GROUP": (1, 2**18)},
    }
    for name, numbers in small.items():
        module = importlib.import_module(f"mccfr_spiel.{name}")
        for number, value in numbers.items():
            assert hasattr(module, number), f"{name} has no {number} any more"
            setattr(module, number, value)


class Desks:
    """Counts who takes the tickets of all calls of a run."""

    def __init__(self) -> None:
        self._desks: list[np.ndarray] = []
        teams.new_desk = self._noted

    def _noted(self, num_notes: int = 0) -> np.ndarray:
        self._desks.append(new_desk(num_notes))
        return self._desks[-1]

    def taken(self) -> Counter[str]:
        """What was taken since this was asked last."""
        desks, self._desks = self._desks, []
        helped = [int(desk[HELPED]) for desk in desks]
        two = [
            h > 0 and desk[FINISHED] > h for h, desk in zip(helped, desks, strict=True)
        ]
        return Counter(
            {
                "tickets taken by helpers": sum(helped),
                "calls in which two threads took tickets": sum(two),
                "runs in which two threads took tickets": any(two),
            }
        )


def bits(solver: ms.Solver) -> dict[str, bytes]:
    """All that a solver has learned, and where it is."""
    _, arrays = solver.arena.saved(is_made_whole=True)
    arrays |= solver.state.saved()
    return {name: one.tobytes() for name, one in arrays.items()}


def evaluated(solver: Any, threads: int) -> list[Any]:
    """What threads say of the average policy."""
    policy, tree = solver.average_policy(), solver.tree
    best = ms.evaluation.best_response_policy(tree, policy, 0, threads=threads)
    return [
        ms.nash_conv(tree, policy, threads=threads),
        *ms.expected_returns(tree, policy, threads=threads),
        best.vector.tobytes(),
    ]


class Run:
    """One run, drawn from its number alone."""

    def __init__(self, number: int, trees: dict[str, ms.GameTree]) -> None:
        self.draw = np.random.default_rng((FLAGS.seed, number))
        self.kind = "batches over rules"
        games = RULES_GAMES
        if not FLAGS.over_rules:
            self.kind = ("whole passes", "batches")[self.below(2)]
            games = GAMES
        self.game = games[self.below(len(games))]
        self.tree: Any = trees.get(self.game)
        methods = {
            "whole passes": FULL,
            "batches": SAMPLED,
            "batches over rules": OVER_RULES,
        }
        self.name = list(methods[self.kind])[self.below(len(methods[self.kind]))]
        self.method: Any = methods[self.kind][self.name]
        if self.kind.startswith("batches"):
            batch = BATCHES[self.below(len(BATCHES))]
            self.method = self.method._replace(batch=batch)
            self.name += f", batch {batch}"
        self.solver_seed = self.below(1000)
        self.counts: Counter[str] = Counter()

    def below(self, end: int) -> int:
        """A number from 0 to `end - 1`."""
        return int(self.draw.integers(end))

    def threads(self) -> int:
        """From 1 to 7."""
        return 1 + self.below(MOST_THREADS)

    def started(self, threads: int) -> ms.Solver:
        """A solver."""
        game, store = self.tree or self.game, "auto" if self.tree else "none"
        return ms.Solver(
            game, self.method, seed=self.solver_seed, threads=threads, store=store
        )

    def differs(self, folder: pathlib.Path) -> list[str]:
        """Runs it; returns the names of what is not equal."""
        alone, shared = self.started(1), self.started(self.threads())
        for _ in range(1 + self.below(4)):
            self.counts["pieces"] += 1
            if self.below(3) == 0:
                nodes = alone.nodes_touched + self.below(20_000)
                for solver in (alone, shared):
                    solver.iterate_until(nodes)
                self.counts["ended by nodes"] += 1
            else:
                many = self.name.endswith("auto")
                iterations = self.below(500 if many else 12)
                for solver in (alone, shared):
                    solver.iterate(iterations)
            if self.below(2):
                shared.save(folder / "checkpoint")
                shared = ms.Solver.load(
                    folder / "checkpoint", self.tree, threads=self.threads()
                )
                self.counts["saved, loaded with other threads"] += 1
            mine, theirs = bits(shared), bits(alone)
            if mine != theirs:
                return [name for name in theirs if mine.get(name) != theirs[name]]
        if self.tree is None:
            return []
        self.counts["evaluations"] += 1
        threads = self.threads()
        if evaluated(shared, threads) != evaluated(alone, 1):
            return [f"evaluation in {threads} threads"]
        return []


def main(_: list[str]) -> None:
    cut_everything()
    began = time.perf_counter()
    importlib.import_module("mccfr_spiel.games")
    trees = {}
    if not FLAGS.over_rules:
        trees = {game: ms.GameTree(game).expand_all() for game in GAMES}
    desks = Desks()
    counts: Counter[str] = Counter()
    num_different = 0
    with tempfile.TemporaryDirectory() as name:
        for number in range(FLAGS.first, FLAGS.first + FLAGS.runs):
            run = Run(number, trees)
            different = run.differs(pathlib.Path(name))
            counts[f"runs: {run.kind}"] += 1
            counts.update(run.counts + desks.taken())
            if different:
                num_different += 1
                print(
                    f"Run {number}, {run.name} on {run.game}: {different}", flush=True
                )
            if number % 100 == 99:
                seconds = time.perf_counter() - began
                print(
                    f"{number + 1} runs, {seconds:.0f} s", file=sys.stderr, flush=True
                )
    rows = [[what, str(count)] for what, count in sorted(counts.items())]
    rows += [["runs that differ from one thread", str(num_different)]]
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    print(describe("shared_runs"), f"Load average {load}.", "", sep="\n")
    print(markdown(["what", "times"], rows))
    sys.exit(1 if num_different else 0)


if __name__ == "__main__":
    app.run(main)
