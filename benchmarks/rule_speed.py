"""The time a node of newer rules and samplings beside that of their plain relatives.

    python -m benchmarks.rule_speed

An algorithm and its relative take turns in short spells of processor time, so that a
busy machine slows both. What disturbs a spell only makes it slower, so the quickest
spell of each counts. Each runs a while before the first spell, so that nothing is
compiled in it and the policies are no longer uniform. The last column is the ratio of
the times of an iteration, which is fairer to pruning: a node that is left out costs a
look, and is not counted.
"""

import time

import numpy as np
from absl import app, flags

import mccfr_spiel as ms
from benchmarks.machine import describe, markdown
from mccfr_spiel import algorithms
from mccfr_spiel.algorithms import Algorithm

FLAGS = flags.FLAGS
flags.DEFINE_list("games", ["leduc_poker", "liars_dice"], "Any that OpenSpiel loads.")
flags.DEFINE_integer("rounds", 12, "Spells of each algorithm.", lower_bound=1)
flags.DEFINE_float("seconds", 0.1, "Length of a spell.", lower_bound=0)

FTRL = Algorithm(ms.FULL, ms.ftrl(1.0))
OMD = Algorithm(ms.FULL, ms.omd(1.0))
DISCOUNTED = ms.discounted_regret_matching(1.5, 0.0)
PAIRS: dict[str, tuple[Algorithm, dict[str, Algorithm]]] = {
    "CFR": (
        ms.CFR,
        {"LCFR": ms.LCFR, "DCFR": ms.DCFR, "HS-DCFR": ms.hs_dcfr(100_000)},
    ),
    "CFR+": (
        ms.CFR_PLUS,
        {
            "PCFR+": ms.PCFR_PLUS,
            "DCFR+": ms.DCFR_PLUS,
            "PDCFR+": ms.PDCFR_PLUS,
            "SAPCFR+": ms.SAPCFR_PLUS,
            "HS-PCFR+": ms.hs_pcfr_plus(100_000),
        },
    ),
    "FTRL": (FTRL, {"optimistic": Algorithm(ms.FULL, algorithms.optimistic_ftrl(1.0))}),
    "OMD": (
        OMD,
        {
            "optimistic": Algorithm(ms.FULL, algorithms.optimistic_omd(1.0)),
            "magnetic": Algorithm(ms.FULL, ms.mmd(0.3, 0.05)),
        },
    ),
    "external sampling": (
        ms.EXTERNAL_SAMPLING,
        {
            "discounted": Algorithm(ms.EXTERNAL, DISCOUNTED),
            "learned baselines": Algorithm(
                algorithms.external(baseline="learned"), ms.regret_matching()
            ),
            "8 walks": ms.EXTERNAL_SAMPLING._replace(batch=8),
            "pruned": Algorithm(
                ms.EXTERNAL._replace(prune_below=-200.0), ms.regret_matching()
            ),
            "average strategy": ms.AVERAGE_STRATEGY_SAMPLING,
        },
    ),
    "outcome sampling": (
        ms.OUTCOME_SAMPLING,
        {
            "discounted": Algorithm(ms.OUTCOME, DISCOUNTED),
            "learned baselines": Algorithm(
                ms.outcome(0.6, baseline="learned"), ms.regret_matching()
            ),
        },
    ),
}
"""A plain algorithm, and those that are compared to it."""

_FIRST_NODES = 1e6


def spell(solver: ms.Solver, iterations: int) -> tuple[float, float]:
    """Nanoseconds of processor time for each node of some iterations, and for each
    iteration."""
    before, began = solver.nodes_touched, time.process_time()
    solver.iterate(iterations)
    took = (time.process_time() - began) * 1e9
    return took / (solver.nodes_touched - before), took / iterations


def prepared(tree: ms.GameTree, algorithm: Algorithm) -> tuple[ms.Solver, int]:
    """A solver that has run for a while, and the iterations of a spell."""
    solver = ms.Solver(tree, algorithm, seed=0)
    solver.iterate(1)
    solver.iterate_until(_FIRST_NODES)
    began, done = time.process_time(), solver.num_iterations
    solver.iterate_until(2 * _FIRST_NODES)
    each = (time.process_time() - began) / (solver.num_iterations - done)
    return solver, max(1, int(FLAGS.seconds / each))


def compared(tree: ms.GameTree, plain: Algorithm, other: Algorithm) -> np.ndarray:
    """`[2, 2]` the least nanoseconds of both, a node and an iteration."""
    solvers = [prepared(tree, plain), prepared(tree, other)]
    return np.min(
        [[spell(*one) for one in solvers] for _ in range(FLAGS.rounds)], axis=0
    )


def main(_: list[str]) -> None:
    """Prints a table for each game."""
    print(describe("rule_speed"), flush=True)
    for game in FLAGS.games:
        tree = ms.GameTree(game).expand_all()
        rows = []
        for name, (plain, others) in PAIRS.items():
            for label, other in others.items():
                times = compared(tree, plain, other)
                ratios = [f"{ratio:.2f}" for ratio in times[1] / times[0]]
                before, after = (f"{a_node:.2f}" for a_node in times[:, 0])
                rows.append([name, before, label, after, *ratios])
        header = ["plain", "ns a node", "newer", "ns a node", "ratio", "an iteration"]
        print(f"\n### {game}\n\n{markdown(header, rows)}", flush=True)


if __name__ == "__main__":
    app.run(main)
