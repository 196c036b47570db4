"""How much baselines, batches and the other ways of sampling save on a game.

    python -m benchmarks.variance

First the variance of one estimate. All estimators estimate the first player's regrets
at the same policies, the current ones of external sampling after some iterations, and
the baselines have learned at these policies before. The number is the mean of the
squared error, summed over all sequences. Then the nodes touched until NashConv of the
average is not above each target, looked at every tenth of the way; the middle one of
several seeds. docs/variance.md has both tables.
"""

import statistics

import numpy as np
from absl import app, flags

import mccfr_spiel as ms
from benchmarks.machine import describe, markdown
from mccfr_spiel import algorithms
from mccfr_spiel.algorithms import Algorithm, Sampling

FLAGS = flags.FLAGS
flags.DEFINE_string("game", "leduc_poker", "Any that OpenSpiel loads.")
flags.DEFINE_integer("seeds", 3, "Runs of each algorithm.", lower_bound=1)
flags.DEFINE_float("most_nodes", 2e8, "When a run gives up.")
flags.DEFINE_list("targets", ["1", "0.3", "0.1", "0.03", "0.01"], "NashConv.")
flags.DEFINE_integer("walks", 20_000, "Walks of each variance.", lower_bound=2)
flags.DEFINE_list("learned_for", ["1000", "100000"], "Iterations before those.")

BASELINES = {
    "outcome": ms.OUTCOME,
    "outcome, learned": ms.outcome(0.6, baseline="learned"),
    "outcome, predictive": ms.outcome(0.6, baseline="predictive"),
}
BRANCHING = {
    "external, learned": algorithms.external(baseline="learned"),
    "external, predictive": algorithms.external(baseline="predictive"),
}
RULES = {
    "regret matching": (ms.regret_matching(), ms.UNIFORM),
    "RM+, linear average": (ms.regret_matching_plus(), ms.LINEAR),
}
OTHERS: dict[str, tuple[Sampling, int]] = {
    "external": (ms.EXTERNAL, 1),
    **{name: (sampling, 1) for name, sampling in BRANCHING.items()},
    "external, 8 walks": (ms.EXTERNAL, 8),
    "external, 64 walks": (ms.EXTERNAL, 64),
    "external, prune_below=-50": (ms.EXTERNAL._replace(prune_below=-50.0), 1),
    "external, prune_below=-200": (ms.EXTERNAL._replace(prune_below=-200.0), 1),
    "average strategy(0.05, 1000, 100)": (ms.average_strategy(0.05, 1e3, 100.0), 1),
    "average strategy(0.1, 10, 10)": (ms.average_strategy(0.1, 10.0, 10.0), 1),
}


def regrets_once(solver: ms.Solver, policy: np.ndarray) -> np.ndarray:
    """The first player's regrets that one iteration from a policy finds, `[S]`."""
    tables, tree = solver.state.tables, solver.tree
    tables.memory[:] = 0.0
    tables.policy[: len(policy)] = policy
    solver.iterate(1)
    found = tables.memory[: len(policy)].copy()
    for infoset in tree.infosets[tree.infosets["player"] != 0]:
        start = infoset["first_sequence"]
        found[start : start + infoset["num_actions"]] = 0.0
    return found


def squared_error(tree: ms.GameTree, sampling: Sampling, policy: np.ndarray) -> float:
    """The mean squared error of the first player's regrets, summed over sequences."""
    whole = ms.Solver(tree, Algorithm(ms.FULL, ms.regret_matching()))
    exact = regrets_once(whole, policy)
    solver = ms.Solver(tree, Algorithm(sampling, ms.regret_matching()), seed=1)
    for _ in range(FLAGS.walks):  # the baselines learn
        regrets_once(solver, policy)
    errors = [regrets_once(solver, policy) - exact for _ in range(FLAGS.walks)]
    return statistics.fmean(float(np.square(error).sum()) for error in errors)


def nodes_until(tree: ms.GameTree, algorithm: Algorithm, seed: int) -> list[float]:
    """The nodes touched until each target; infinite if `most_nodes` came before."""
    targets = [float(target) for target in FLAGS.targets]
    solver, found = ms.Solver(tree, algorithm, seed=seed), []
    nodes = 1000.0
    while len(found) < len(targets) and nodes < FLAGS.most_nodes:
        solver.iterate_until(nodes)
        gap = ms.nash_conv(tree, solver.average_policy())
        while len(found) < len(targets) and gap <= targets[len(found)]:
            found.append(float(solver.nodes_touched))
        nodes *= 1.1
    return found + [float("inf")] * (len(targets) - len(found))


def row_of(tree: ms.GameTree, name: str, algorithm: Algorithm) -> list[str]:
    """A row of the second table."""
    runs = [nodes_until(tree, algorithm, seed) for seed in range(FLAGS.seeds)]
    middle = [statistics.median(column) for column in zip(*runs, strict=True)]
    return [name, *(f"{n:.2g}" if n < float("inf") else "-" for n in middle)]


def main(_: list[str]) -> None:
    """Prints both tables."""
    tree = ms.GameTree(FLAGS.game).expand_all()
    print(describe("variance"))
    samplings = {"external": ms.EXTERNAL, **BRANCHING, **BASELINES}
    rows = []
    for iterations in FLAGS.learned_for:
        solver = ms.Solver(tree, ms.EXTERNAL_SAMPLING, seed=0)
        solver.iterate(int(iterations))
        policy = solver.current_vector()
        errors = [squared_error(tree, one, policy) for one in samplings.values()]
        rows.append([f"after {int(iterations):,}", *(f"{e:.4g}" for e in errors)])
    print("\n" + markdown(["policies", *samplings], rows) + "\n")
    rows = []
    for rule, (minimizer, averaging) in RULES.items():
        for name, sampling in BASELINES.items():
            algorithm = Algorithm(sampling, minimizer, averaging)
            rows.append(row_of(tree, f"{name}; {rule}", algorithm))
    for name, (sampling, batch) in OTHERS.items():
        algorithm = Algorithm(sampling, ms.regret_matching(), batch=batch)
        rows.append(row_of(tree, name, algorithm))
    print(markdown(["nodes touched until", *FLAGS.targets], rows))


if __name__ == "__main__":
    app.run(main)
