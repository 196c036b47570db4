"""Iterations per second compared with OpenSpiel's solvers and LiteEFG.

    python -m benchmarks.speed
    python -m benchmarks.speed --games=kuhn_poker,leduc_poker --rounds=9
    python -m benchmarks.speed --others=cpp,python,liteefg
    python -m benchmarks.speed --one_by_one
    python -m benchmarks.speed --sizes --others=

An iteration updates every player once. That is one `run_iteration()` of pyspiel's
solvers, one `iteration()` of OpenSpiel's Python solvers, and one update of LiteEFG's
graphs including the average. The solvers alternate in short turns of CPU time, so that
other load slows all of them. A ratio compares rates within one turn; the smallest and
the median ratio are printed. Compilation is not timed. LiteEFG is skipped if it is not
installed (`pip install LiteEFG`).

`--sizes` measures decks and dice of growing size instead of the games. The additional
cost per node there is the cost of cache misses.
"""

import contextlib
import functools
import importlib.util
import io
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import pyspiel
from absl import app, flags
from open_spiel.python.algorithms import cfr as openspiel_cfr
from open_spiel.python.algorithms import external_sampling_mccfr as openspiel_external
from open_spiel.python.algorithms import outcome_sampling_mccfr as openspiel_outcome

import mccfr_spiel as ms
from benchmarks.machine import (
    GAMES,
    count_for,
    describe,
    markdown,
    per_second,
    repeat,
)

ALGORITHMS = {
    "external sampling": ms.EXTERNAL_SAMPLING,
    "outcome sampling": ms.OUTCOME_SAMPLING,
    "CFR+": ms.CFR_PLUS,
}
OTHERS = {
    "cpp": "OpenSpiel C++",
    "python": "OpenSpiel Python",
    "liteefg": "LiteEFG",
}

SIZES = [
    *("kuhn_poker", "kuhn_poker(players=3)", "leduc_poker"),
    *(f"liars_dice(dice_sides={sides})" for sides in (3, 4, 5, 6)),
    "turn_based_simultaneous_game(game=goofspiel(imp_info=True,num_cards=5,"
    "points_order=random))",
]

FLAGS = flags.FLAGS
flags.DEFINE_list("games", list(GAMES), "Games.")
flags.DEFINE_bool("sizes", False, "Measure games of growing size instead.")
flags.DEFINE_list("algorithms", list(ALGORITHMS), "Algorithms.")
flags.DEFINE_list("others", ["cpp"], "Other solvers: cpp, python, liteefg.")
flags.DEFINE_integer("rounds", 7, "Number of turns.", lower_bound=1)
flags.DEFINE_bool("one_by_one", False, "Call our solver for each iteration as well.")
flags.DEFINE_float("seconds", 0.3, "Seconds per turn of a solver.", lower_bound=0)

Spell = Callable[[int], None]
"""Runs a number of iterations."""


def cpp_spell(game: pyspiel.Game, algorithm: str) -> Spell:
    """Iterations of pyspiel's C++ solver."""
    if algorithm == "external sampling":
        return repeat(pyspiel.ExternalSamplingMCCFRSolver(game, 1).run_iteration)
    if algorithm == "outcome sampling":
        return repeat(pyspiel.OutcomeSamplingMCCFRSolver(game, 0.6, 1).run_iteration)
    return repeat(pyspiel.CFRPlusSolver(game).evaluate_and_update_policy)


def python_spell(game: pyspiel.Game, algorithm: str) -> Spell:
    """Iterations of OpenSpiel's Python solver."""
    if algorithm == "external sampling":
        return repeat(openspiel_external.ExternalSamplingSolver(game).iteration)
    if algorithm == "outcome sampling":
        return repeat(openspiel_outcome.OutcomeSamplingSolver(game).iteration)
    return repeat(openspiel_cfr.CFRPlusSolver(game).evaluate_and_update_policy)


def liteefg_spell(game: pyspiel.Game, algorithm: str) -> Spell:
    """Iterations of LiteEFG's graph, including the average."""
    import LiteEFG  # pyright: ignore[reportMissingImports]
    from LiteEFG import baselines  # pyright: ignore[reportMissingImports]

    LiteEFG.set_threads(1)
    module, walk = {
        "external sampling": (baselines.CFR, "External"),
        "outcome sampling": (baselines.OS_MCCFR, "Outcome"),
        "CFR+": (baselines.CFRplus, "Enumerate"),
    }[algorithm]
    with (
        contextlib.redirect_stdout(io.StringIO()),
        tempfile.TemporaryDirectory() as home,
        mock.patch.dict(
            os.environ, HOME=home
        ),  # LiteEFG writes game files to the home folder
    ):
        environment: Any = LiteEFG.OpenSpielEnv(game, traverse_type=walk)
        graph: Any = module.graph()
    environment.set_graph(graph)

    def step() -> None:
        graph.update_graph(environment)
        environment.update_strategy(graph.current_strategy())

    return repeat(step)


SPELLS = {"cpp": cpp_spell, "python": python_spell, "liteefg": liteefg_spell}


def seconds_of(spell: Spell, count: int) -> float:
    """CPU time of `count` iterations."""
    began = time.process_time()
    spell(count)
    return time.process_time() - began


def measure(name: str, load_string: str, algorithm: str) -> list[list[str]]:
    """Runs the solvers in turns on one game; returns a row per other solver."""
    game = pyspiel.load_game(load_string)
    solver = ms.Solver(ms.GameTree(game).expand_all(), ALGORITHMS[algorithm], seed=1)
    spells = [repeat(solver.iteration) if FLAGS.one_by_one else solver.iterate]
    spells += [SPELLS[label](game, algorithm) for label in FLAGS.others]
    counts = []
    for spell in spells:
        spell(1)  # not timed
        counts.append(count_for(FLAGS.seconds, functools.partial(seconds_of, spell)))
    rates: list[list[float]] = []
    node_seconds = []
    for _ in range(FLAGS.rounds):
        touched = solver.nodes_touched
        took = seconds_of(spells[0], counts[0])
        node_seconds.append(took / (solver.nodes_touched - touched))
        rates.append([counts[0] / took])
        for spell, count in zip(spells[1:], counts[1:], strict=True):
            rates[-1].append(count / seconds_of(spell, count))
    ours, *theirs = map(statistics.median, zip(*rates, strict=True))
    size, cost = f"{solver.tree.num_nodes:,}", 1e9 * statistics.median(node_seconds)
    found = []
    for number, label in enumerate(FLAGS.others):
        ratios = [turn[0] / turn[number + 1] for turn in rates]
        compared = [f"{min(ratios):.1f}", f"{statistics.median(ratios):.1f}"]
        words = [OTHERS[label], per_second(theirs[number]), per_second(ours), *compared]
        found.append([name, algorithm, *words, f"{cost:.1f}", size])
    alone = [name, algorithm, "", "", per_second(ours), "", "", f"{cost:.1f}", size]
    return found or [alone]


def main(_: list[str]) -> None:
    if "liteefg" in FLAGS.others and importlib.util.find_spec("LiteEFG") is None:
        print("LiteEFG is not installed, so it is skipped.\n")
        FLAGS.others.remove("liteefg")
    games = {name: GAMES[name] for name in FLAGS.games}
    if FLAGS.sizes:
        games = dict(zip(SIZES, SIZES, strict=True))
    rows = []
    for name, load_string in games.items():
        for algorithm in FLAGS.algorithms:
            rows += measure(name, load_string, algorithm)
    header = ["game", "algorithm", "beside", "its iterations/s", "ours/s"]
    header += ["least ratio", "median ratio", "our ns/node", "nodes"]
    print(describe("speed"), "", markdown(header, rows), sep="\n")


if __name__ == "__main__":
    app.run(main)
