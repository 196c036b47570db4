"""Final tables of many runs, as bit-exact hashes.

    python -m tests.golden_bits

rewrites golden_bits.json. Explain in the commit message why bits changed.

`tests/golden.json` contains a few complete average policies for readers. This file has
one line per combination of algorithm, batch and source of nodes. Hashes cover all
results, ordered by information state, so that the numbering of infosets does not
matter.
"""

import hashlib
import json
import pathlib
from typing import Any, NamedTuple

import numpy as np

import mccfr_spiel as ms
from mccfr_spiel.algorithms import external, full, outcome
from tests.small_games import OWN, named

FILE = pathlib.Path(__file__).parent / "golden_bits.json"

WHOLE, GROWING, SMALL, RULES = "whole", "growing", "small", "rules"
"""Sources of nodes: a tree expanded at once, a tree that grows through pyspiel, a small
tree that is emptied many times, compiled rules."""

LEDUC, KUHN3 = "leduc_poker", "kuhn_poker(players=3)"
GOOFSPIEL = (
    "turn_based_simultaneous_game(game=goofspiel(imp_info=True,num_cards=4,"
    "points_order=random))"
)


class Run(NamedTuple):
    """A run of a solver.

    Attributes:
        game: load string or name of a small game.
        algorithm: the algorithm.
        iterations: number of iterations.
        source: source of nodes.
        is_exact: whether the run avoids exp, log and pow, whose last bits depend on the
            C library.
        abstraction: see `GameTree`.
    """

    game: str
    algorithm: ms.Algorithm
    iterations: int
    source: str
    is_exact: bool = True
    abstraction: Any = None


def forget_own_card(state: Any, player: int) -> str:
    """Hides the suit of the private card in Leduc poker."""
    words = state.information_state_string(player).split("]")
    return "]".join(
        f"[Private: {int(word.split(': ')[1]) // 2}" if "Private" in word else word
        for word in words
    )


SAMPLINGS = {
    "chance": ms.CHANCE,
    "opponent": ms.OPPONENT,
    "external": ms.EXTERNAL,
    "outcome": ms.OUTCOME,
    "average_strategy": ms.average_strategy(0.05, 100.0, 50.0),
    "external_learned": external(baseline="learned"),
    "external_predictive": external(baseline="predictive"),
    "outcome_learned": outcome(0.6, baseline="learned"),
    "outcome_predictive": outcome(0.6, baseline="predictive"),
    "prune_below": ms.EXTERNAL._replace(prune_below=-4.0),
    "pruned_chance": ms.CHANCE._replace(prune=True),
    "balanced": ms.BALANCED_OUTCOME,
    "external_sobol": external(chance_draws="sobol"),
    "outcome_sobol": ms.OUTCOME._replace(chance_draws="sobol"),
}
LONG = ("outcome", "outcome_learned", "outcome_predictive", "balanced")
INEXACT = ("lcfr", "dcfr", "dcfr_plus", "pdcfr_plus", "ftrl", "omd")


def runs() -> dict[str, Run]:
    """All of them by name."""
    found: dict[str, Run] = {}
    for name, algorithm in ms.ALGORITHMS.items():
        if not algorithm.sampling.is_sampled:
            for game in (LEDUC, KUHN3, "uneven_deal"):
                is_exact = name not in INEXACT
                found[f"{name} {game}"] = Run(game, algorithm, 12, WHOLE, is_exact)
    for name in ("cfr", "external_sampling", "outcome_sampling"):
        at_once = ms.ALGORITHMS[name]._replace(alternating=False)
        found[f"{name} at once"] = Run(KUHN3, at_once, 30, WHOLE)
    by_regret = ms.Algorithm(full(prune="regret"), ms.regret_matching())
    found["pruned by regret"] = Run(LEDUC, by_regret, 60, WHOLE)
    for name, sampling in SAMPLINGS.items():
        algorithm = ms.Algorithm(sampling, ms.regret_matching())
        iterations = 2000 if name in LONG else 60
        sources = [WHOLE] if name == "balanced" else [WHOLE, GROWING, SMALL, RULES]
        for source in sources:
            found[f"{name} {source}"] = Run(LEDUC, algorithm, iterations, source)
        for game in OWN:
            found[f"{name} {game}"] = Run(game, algorithm, 200, WHOLE)
            if name != "balanced":
                found[f"{name} {game} growing"] = Run(game, algorithm, 200, GROWING)
    for name in ("ftrl", "omd"):
        for source in (WHOLE, GROWING, RULES):
            algorithm = ms.ALGORITHMS[name]
            found[f"{name} {source}"] = Run(LEDUC, algorithm, 60, source, False)
    discounted = ms.discounted_regret_matching(1.5, 0.0)
    for source in (WHOLE, GROWING, RULES):
        algorithm = ms.Algorithm(ms.EXTERNAL, discounted, ms.LINEAR)
        found[f"discounted {source}"] = Run(LEDUC, algorithm, 100, source, False)
        algorithm = ms.Algorithm(
            ms.EXTERNAL, ms.regret_matching_plus(), ms.LINEAR, alternating=False
        )
        found[f"plus at once {source}"] = Run(GOOFSPIEL, algorithm, 60, source)
    drawn = ms.Algorithm(ms.EXTERNAL, ms.regret_matching(initial_regret=1.0))
    for source in (WHOLE, GROWING, SMALL):
        found[f"drawn start {source}"] = Run(LEDUC, drawn, 60, source)
    for batch in (3, 64, "auto"):
        for name in ("chance", "opponent", "external", "outcome", "external_learned"):
            sources = (WHOLE, GROWING, SMALL) if name == "external" else (WHOLE,)
            for source in sources:
                algorithm = ms.Algorithm(
                    SAMPLINGS[name], ms.regret_matching(), batch=batch
                )
                iterations = 300 if batch == "auto" else 12
                found[f"{name} batch {batch} {source}"] = Run(
                    LEDUC, algorithm, iterations, source
                )
    for name in ("external", "outcome", "chance"):
        for source in (WHOLE, GROWING):
            algorithm = ms.Algorithm(SAMPLINGS[name], ms.regret_matching())
            found[f"{name} abstraction {source}"] = Run(
                LEDUC, algorithm, 60, source, True, forget_own_card
            )
    return found


RUNS = runs()


def is_compiled(name: str) -> bool:
    """Whether a run uses the JIT.

    True for one run per update rule and for most sampling schemes, which would take
    half a minute in Python. Compiling any other run takes seconds.
    """
    kind, *more = name.split()
    if "batch" in more:
        return kind == "external" or (kind == "opponent" and "3" not in more)
    if "rules" in more or "abstraction" in more:
        return kind == "external" or name in ("outcome rules", "opponent rules")
    return kind not in (
        "external_predictive",
        "pruned_chance",
        "drawn",
        "outcome_sobol",
    )


def solver_of(run: Run) -> ms.Solver:
    """The solver of a run before the first iteration."""
    game = named(run.game)
    if run.source == WHOLE:
        tree = ms.GameTree(game, abstraction=run.abstraction)
        return ms.Solver(tree.expand_all(), run.algorithm, seed=39823987)
    more: dict[str, Any] = {"store": "tree", "twin": False}
    if run.source == RULES:
        more = {"store": "none", "twin": True}
    if run.source == SMALL:
        more["max_nodes"] = 6000 if run.algorithm.sampling.opponents else 30_000
    return ms.Solver(
        game, run.algorithm, seed=39823987, abstraction=run.abstraction, **more
    )


def names_of_infosets(tree: Any) -> list[tuple]:
    """A name of each infoset that includes the player's own path."""
    infosets, actions = tree.infosets, tree.actions
    owner = np.full(tree.num_sequences, -1)
    for infoset, record in enumerate(infosets):
        start = record["first_sequence"]
        owner[start : start + record["num_actions"]] = infoset
    names: list[tuple] = []
    for infoset, record in enumerate(infosets):
        parent = int(record["parent"])
        above = owner[parent]
        past = () if above < 0 else (*names[above], int(actions[parent]))
        names.append((*past, int(record["player"]), tree.info_state(infoset)))
    return names


def result(name: str) -> dict[str, Any]:
    """The entry of a run in golden_bits.json.

    It contains the nodes touched, the number of infosets, and a hash of the results, or
    the sum of each table for runs whose last bits depend on the C library.
    """
    run = RUNS[name]
    solver = solver_of(run)
    solver.iterate(run.iterations)
    tree, tables = solver.tree, solver.state.tables
    policy, average = solver.current_vector(), solver.average_vector()
    learned = {"policy": policy, "average": average, "memory": tables.memory}
    if len(tables.baseline):
        learned["baseline"] = tables.baseline
    digest = hashlib.blake2b(digest_size=12)
    names = names_of_infosets(tree)
    met = range(len(names))
    if run.abstraction is not None:  # the first path to a string may differ
        players = tree.infosets["player"].tolist()
        names = list(zip(players, tree.info_states, strict=True))
        kept = abs(tables.average) + abs(tables.memory)
        starts = tree.infosets["first_sequence"]
        met = np.flatnonzero(np.add.reduceat(kept, starts)).tolist()
    elif solver.state.walks:  # skip infosets that no walk has visited
        met = np.flatnonzero(tables.paid[: len(names)]).tolist()
    sums = dict.fromkeys(learned, 0.0)
    for rank, infoset in enumerate(sorted(met, key=names.__getitem__)):
        record = tree.infosets[infoset]
        start = record["first_sequence"]
        digest.update(repr(names[infoset]).encode())
        for label, table in learned.items():
            row = table[start : start + record["num_actions"]] + 0.0  # no -0.0
            digest.update(np.ascontiguousarray(row).view(np.uint8).data)
            sums[label] += float((row.ravel() @ np.arange(1, row.size + 1)).sum()) * (
                1 + rank % 7
            )
    counts = {"nodes_touched": solver.nodes_touched, "infosets": len(met)}
    return counts | ({"digest": digest.hexdigest()} if run.is_exact else {"sums": sums})


def main() -> None:
    """Runs everything and writes one line per run."""
    lines = [f"{json.dumps(name)}: {json.dumps(result(name))}" for name in RUNS]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
