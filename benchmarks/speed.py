"""Iterations a second, side by side with OpenSpiel's solvers and LiteEFG's.

    python -m benchmarks.speed
    python -m benchmarks.speed --games=kuhn_poker,leduc_poker --rounds=9
    python -m benchmarks.speed --others=cpp,python,liteefg
    python -m benchmarks.speed --one_by_one

An iteration updates every player once: one `run_iteration()` of pyspiel's solvers does,
and so does one `iteration()` of OpenSpiel's Python ones and one update of LiteEFG's
graphs together with its average. The solvers take turns in short spells of processor
time, so that a busy machine slows both; a ratio is made within one turn, and the least
and the middle one of all turns are printed. Compiling is not timed.
LiteEFG is left out where it is not installed (`pip install LiteEFG`).
"""

import contextlib
import importlib.util
import io
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any, NamedTuple
from unittest import mock

import pyspiel
from absl import app, flags
from open_spiel.python.algorithms import cfr as openspiel_cfr
from open_spiel.python.algorithms import external_sampling_mccfr as openspiel_external
from open_spiel.python.algorithms import outcome_sampling_mccfr as openspiel_outcome

import mccfr_spiel as ms
from benchmarks.machine import GAMES, describe, markdown, per_second, repeat

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

FLAGS = flags.FLAGS
flags.DEFINE_list("games", list(GAMES), "Which of the games.")
flags.DEFINE_list("algorithms", list(ALGORITHMS), "Which of the algorithms.")
flags.DEFINE_list("others", ["cpp"], "Whom to compare with: cpp, python, liteefg.")
flags.DEFINE_integer("rounds", 7, "How often the solvers take turns.", lower_bound=1)
flags.DEFINE_bool("one_by_one", False, "Ours, too, with a call for each iteration.")
flags.DEFINE_float("seconds", 0.3, "Length of a turn of one solver.", lower_bound=0)

Spell = Callable[[int], None]
"""Runs so many iterations."""


class Measurement(NamedTuple):
    """Iterations a second of one algorithm on one game.

    Attributes:
        ours: median over the rounds.
        node_seconds: median seconds per node touched, ours.
        others: label -> (median, least ratio, median ratio).
    """

    ours: float
    node_seconds: float
    others: dict[str, tuple[float, float, float]]


def cpp_spell(game: pyspiel.Game, algorithm: str) -> Spell:
    """Of pyspiel's C++ solver."""
    if algorithm == "external sampling":
        return repeat(pyspiel.ExternalSamplingMCCFRSolver(game, 1).run_iteration)
    if algorithm == "outcome sampling":
        return repeat(pyspiel.OutcomeSamplingMCCFRSolver(game, 0.6, 1).run_iteration)
    return repeat(pyspiel.CFRPlusSolver(game).evaluate_and_update_policy)


def python_spell(game: pyspiel.Game, algorithm: str) -> Spell:
    """Of OpenSpiel's Python solver."""
    if algorithm == "external sampling":
        return repeat(openspiel_external.ExternalSamplingSolver(game).iteration)
    if algorithm == "outcome sampling":
        return repeat(openspiel_outcome.OutcomeSamplingSolver(game).iteration)
    return repeat(openspiel_cfr.CFRPlusSolver(game).evaluate_and_update_policy)


def liteefg_spell(game: pyspiel.Game, algorithm: str) -> Spell:
    """Of LiteEFG's graph, its average included."""
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
        mock.patch.dict(os.environ, HOME=home),  # where it leaves its game files
    ):
        environment: Any = LiteEFG.OpenSpielEnv(game, traverse_type=walk)
        graph: Any = module.graph()
    environment.set_graph(graph)

    def step() -> None:
        graph.update_graph(environment)
        environment.update_strategy(graph.current_strategy())

    return repeat(step)


SPELLS = {"cpp": cpp_spell, "python": python_spell, "liteefg": liteefg_spell}


def rate(spell: Spell, count: int) -> float:
    """Iterations per second of processor time."""
    began = time.process_time()
    spell(count)
    return count / (time.process_time() - began)


def spell_length(spell: Spell, seconds: float) -> int:
    """How many iterations take about so many seconds; the first one is not timed."""
    spell(1)
    count = 1
    while True:
        began = time.process_time()
        spell(count)
        took = time.process_time() - began
        if took > seconds / 4:
            return max(1, round(count * seconds / took))
        count *= 2


def measure(game_name: str, algorithm: str, others: list[str]) -> Measurement:
    """Lets the solvers take turns on one game."""
    game = pyspiel.load_game(GAMES[game_name])
    solver = ms.Solver(ms.GameTree(game).expand_all(), ALGORITHMS[algorithm], seed=1)
    our_spell = repeat(solver.iteration) if FLAGS.one_by_one else solver.iterate
    spells = {label: SPELLS[label](game, algorithm) for label in others}
    ours_count = spell_length(our_spell, FLAGS.seconds)
    counts = {label: spell_length(spells[label], FLAGS.seconds) for label in others}
    ours: list[float] = []
    node_seconds = []
    theirs = {label: [] for label in others}
    for _ in range(FLAGS.rounds):
        touched = solver.nodes_touched
        ours.append(rate(our_spell, ours_count))
        nodes = (solver.nodes_touched - touched) / ours_count
        node_seconds.append(1 / (ours[-1] * nodes))
        for label in others:
            theirs[label].append(rate(spells[label], counts[label]))
    compared = {}
    for label, rates in theirs.items():
        ratios = [mine / other for mine, other in zip(ours, rates, strict=True)]
        compared[OTHERS[label]] = (
            statistics.median(rates),
            min(ratios),
            statistics.median(ratios),
        )
    return Measurement(
        statistics.median(ours), statistics.median(node_seconds), compared
    )


def main(_: list[str]) -> None:
    others = list(FLAGS.others)
    if "liteefg" in others and importlib.util.find_spec("LiteEFG") is None:
        print("LiteEFG is not installed and left out.\n")
        others.remove("liteefg")
    rows = []
    for game in FLAGS.games:
        for algorithm in FLAGS.algorithms:
            result = measure(game, algorithm, others)
            for label, (rate_, least, middle) in result.others.items():
                rows.append(
                    [
                        game,
                        algorithm,
                        label,
                        per_second(rate_),
                        per_second(result.ours),
                        f"{least:.1f}",
                        f"{middle:.1f}",
                        f"{1e9 * result.node_seconds:.1f}",
                    ]
                )
    header = ["game", "algorithm", "beside", "its iterations/s", "ours/s"]
    header += ["least ratio", "median ratio", "our ns/node"]
    print(describe("speed"), "", markdown(header, rows), sep="\n")


if __name__ == "__main__":
    app.run(main)
