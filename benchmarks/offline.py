"""The offline methods beside CFR and beside other packages, as markdown tables.

    python -m benchmarks.offline                    # all tables
    python -m benchmarks.offline --tables=lp,first_order --time_limit=60

first_order: NashConv at equal passes over the tree (gradient evaluations), the passes
    to a given NashConv, and log-log slopes: CFR, CFR+, mirror prox, EGT.
lp: values and seconds of `solve_lp`, of OpenSpiel's sequence_form_lp (needs cvxpy and
    ecos) and of pygambit's lp_solve. Each foreign solver runs in a process of its own
    that is stopped at --time_limit.
cfr_plus: the same values by CFR+, run until NashConv is 1e-7 or for --time_limit.
sparsified: nonzeros and seconds before and after.
"""

import argparse
import fractions
import functools
import importlib
import io
import multiprocessing
import queue as queues
import re
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyspiel

from benchmarks.machine import describe, markdown
from mccfr_spiel.algorithms import CFR, CFR_PLUS
from mccfr_spiel.evaluation.exact import expected_returns
from mccfr_spiel.offline import ExcessiveGap, MirrorProx
from mccfr_spiel.offline.linear_program import (
    METHODS,
    SPARSIFICATIONS,
    LinearProgramError,
    solve_lp,
)
from mccfr_spiel.offline.sequence_form import (
    SequenceForm,
    policy_to_plan,
    saddle_point_gap,
    sequence_form,
)
from mccfr_spiel.solver import Solver
from mccfr_spiel.tree.loading import turn_based


class Entry(NamedTuple):
    """A game of the tables.

    Attributes:
        title: in the tables.
        name: for pyspiel.load_game.
        module: to import first, "" for OpenSpiel's own games.
        value: player 0's, where it is known.
    """

    title: str
    name: str
    module: str = ""
    value: float | None = None


KUHN = Entry("Kuhn", "kuhn_poker", value=-1 / 18)
LEDUC = Entry("Leduc", "leduc_poker", value=-0.085606424078)
GOOFSPIEL = Entry(
    "goofspiel, 4 cards, imperfect information",
    "goofspiel(num_cards=4,imp_info=True,points_order=descending,players=2)",
    value=0.0,
)
LIARS_DICE = Entry("liar's dice", "liars_dice", value=-7 / 258)
LEDUC13 = Entry(
    "Leduc13",
    "python_leduc_ranks(ranks=13)",
    "mccfr_spiel.games.leduc_ranks",
    -0.0926739011884,
)
SEARCH4 = Entry(
    "Search, 4 turns", "python_search(turns=4)", "mccfr_spiel.games.search", 65 / 67
)
SEARCH5 = Entry(
    "Search, 5 turns", "python_search(turns=5)", "mccfr_spiel.games.search", 65 / 67
)
ONE_CARD = Entry(
    "One-Card Poker, 100 cards",
    "python_one_card_poker(cards=100)",
    "mccfr_spiel.games.one_card_poker",
)
GOOFSPIEL5 = Entry(
    "goofspiel, 5 cards, imperfect information",
    "goofspiel(num_cards=5,imp_info=True,points_order=descending,players=2)",
    value=0.0,
)
FIRST_ORDER = (KUHN, LEDUC, GOOFSPIEL)
LP = (KUHN, LEDUC, LIARS_DICE, GOOFSPIEL, LEDUC13, SEARCH4, SEARCH5)
SPARSIFIED = (LEDUC, LEDUC13, ONE_CARD, GOOFSPIEL5, LIARS_DICE)
PASSES = (30, 100, 300, 1_000, 3_000, 10_000, 30_000)
DECIMAL = r"(?<= )[01]\.\d{16}(?= )"
GAPS = (1e-1, 1e-2, 1e-3, 1e-4)
CERTAIN = 1e-7


def load(entry: Entry) -> pyspiel.Game:
    """The game; a Python game is registered first."""
    if entry.module:
        importlib.import_module(entry.module)
    return pyspiel.load_game(entry.name)


def seconds(value: float) -> str:
    """For a cell."""
    return f"{value:.3f}" if value < 1 else f"{value:.1f}"


# --- first-order methods -----------------------------------------------------


def methods(form: SequenceForm) -> dict[str, Callable[[], Any]]:
    """A maker of each method by its name in the tables."""
    return {
        "CFR": functools.partial(Solver, form.tree.game, CFR),
        "CFR+": functools.partial(Solver, form.tree.game, CFR_PLUS),
        "mirror prox": functools.partial(MirrorProx, form),
        "EGT": functools.partial(ExcessiveGap, form),
        "practical EGT": functools.partial(ExcessiveGap, form, aggressive=True),
    }


def gap(form: SequenceForm, solver: Any) -> float:
    """NashConv of the average policy."""
    vector = solver.average_vector()
    x, y = (policy_to_plan(plex, vector[plex.sequences]) for plex in form.treeplexes)
    return saddle_point_gap(form, x, y)


def curve(form: SequenceForm, solver: Any) -> tuple[list[float], list[float], float]:
    """Passes over the tree, NashConv there, and seconds of iterating in all."""
    passes, gaps, spent = [], [], 0.0
    nodes = form.tree.num_nodes
    while not passes or passes[-1] < PASSES[-1]:
        steps = max(1, solver.num_iterations // 8)
        begin = time.perf_counter()
        solver.iterate(steps)
        spent += time.perf_counter() - begin
        passes.append(solver.nodes_touched / nodes)
        gaps.append(gap(form, solver))
    return passes, gaps, spent


def slope(passes: list[float], gaps: list[float]) -> float:
    """Log-log, from 100 passes on."""
    points = [(p, g) for p, g in zip(passes, gaps, strict=True) if p >= 100 and g > 0]
    logs = np.log(points)
    return float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])


def first_order_table() -> str:
    """NashConv at passes, and passes to a NashConv."""
    at, to = [], []
    for entry in FIRST_ORDER:
        form = sequence_form(load(entry))
        for name, make in methods(form).items():
            make().iterate(1)  # compiles
            passes, gaps, spent = curve(form, make())
            values = np.exp(np.interp(np.log(PASSES), np.log(passes), np.log(gaps)))
            rate = passes[-1] / spent
            at.append(
                [
                    entry.title,
                    name,
                    *(f"{value:.2e}" for value in values),
                    f"{slope(passes, gaps):.2f}",
                    f"{rate:,.0f}",
                ]
            )
            reached = [
                next((p for p, g in zip(passes, gaps, strict=True) if g <= goal), None)
                for goal in GAPS
            ]
            to.append(
                [entry.title, name]
                + [f"{p:,.0f}" if p else f"> {PASSES[-1]:,}" for p in reached]
            )
    first = markdown(
        [
            "game",
            "method",
            *(f"{p:,} passes" for p in PASSES),
            "slope",
            "passes a second",
        ],
        at,
    )
    second = markdown(["game", "passes to NashConv <=", *(f"{g:g}" for g in GAPS)], to)
    return f"{first}\n\n{second}"


# --- linear programs ---------------------------------------------------------


def openspiel_lp(entry: Entry) -> tuple[float, float]:
    """Value and seconds of OpenSpiel's program."""
    from open_spiel.python.algorithms import sequence_form_lp

    game = turn_based(load(entry))
    begin = time.perf_counter()
    value = sequence_form_lp.solve_zero_sum_game(game)[0]
    return float(value), time.perf_counter() - begin


def exact(match: re.Match) -> str:
    """A chance probability as the fraction it is the rounding of: Gambit wants their
    sum to be 1 exactly."""
    return str(fractions.Fraction(match[0]).limit_denominator(100_000))


def gambit_lp(entry: Entry) -> tuple[float, float]:
    """Value and seconds of pygambit's program, in floating point."""
    import pygambit  # pyright: ignore[reportMissingImports]
    from open_spiel.python.algorithms import gambit

    lines = gambit.export_gambit(turn_based(load(entry))).splitlines()
    text = "\n".join(
        re.sub(DECIMAL, exact, line) if line.lstrip().startswith("c ") else line
        for line in lines
    )
    game = pygambit.read_efg(io.BytesIO(text.encode()))
    begin = time.perf_counter()
    found = pygambit.nash.lp_solve(game, rational=False)
    spent = time.perf_counter() - begin
    return float(found.equilibria[0].payoff(game.players["Pl0"])), spent


def _report(function: Callable, entry: Entry, queue: Any) -> None:
    try:
        queue.put(function(entry))
    except ImportError as error:
        queue.put(f"not installed ({error.name})")
    except (AssertionError, MemoryError, RuntimeError, TypeError, ValueError) as error:
        queue.put(f"{type(error).__name__}: {str(error)[:60]}")


def elsewhere(function: Callable, entry: Entry, time_limit: float) -> str:
    """The result of a foreign solver in a process of its own, as a cell."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_report, args=(function, entry, queue))
    process.start()
    try:
        result = queue.get(timeout=time_limit)
    except queues.Empty:
        result = f"> {time_limit:g}"
    process.terminate()
    process.join()
    if isinstance(result, str):
        return result
    value, spent = result
    return f"{seconds(spent)} ({value:.9f})"


def lp_table(time_limit: float) -> str:
    """Values and seconds of the linear programs."""
    rows = []
    solve_lp(KUHN.name)  # compiles
    for entry in LP:
        begin = time.perf_counter()
        form = sequence_form(load(entry))
        built = time.perf_counter() - begin
        row = [entry.title, str(form.payoffs.nnz), seconds(built)]
        worst, value = 0.0, float("nan")
        times = []
        for method in METHODS:
            try:
                solution = solve_lp(form, method=method, time_limit=time_limit)
            except LinearProgramError as error:
                times.append(f"> {time_limit:g}" if error.status == 1 else "failed")
                continue
            times.append(seconds(solution.solve_seconds))
            value, worst = solution.value, max(worst, solution.nash_conv)
        error = "" if entry.value is None else f"{abs(value - entry.value):.0e}"
        row += [f"{value:.13f}", error, f"{worst:.0e}", *times]
        row += [elsewhere(openspiel_lp, entry, time_limit)]
        row += [elsewhere(gambit_lp, entry, time_limit)]
        rows.append(row)
    header = ["game", "nonzeros", "tree and matrix s", "value", "off by", "NashConv"]
    header += [f"{method} s" for method in METHODS]
    header += ["sequence_form_lp s (value)", "pygambit s (value)"]
    return markdown(header, rows)


def cfr_plus_table(time_limit: float) -> str:
    """CFR+'s value of each game of the LP table beside the program's."""
    rows = []
    for entry in LP:
        form = sequence_form(load(entry))
        value = solve_lp(form, method="interior_point").value
        solver = Solver(form.tree, CFR_PLUS)
        nash_conv = float("inf")
        while nash_conv > CERTAIN and solver.seconds < time_limit:
            solver.iterate(max(100, solver.num_iterations // 2))
            nash_conv = gap(form, solver)
        found = expected_returns(form.tree, solver.average_vector())[0]
        rows.append(
            [
                entry.title,
                f"{solver.num_iterations:,}",
                seconds(solver.seconds),
                f"{nash_conv:.1e}",
                f"{found:.9f}",
                f"{value:.9f}",
                f"{abs(found - value):.0e}",
            ]
        )
    header = ["game", "CFR+ iterations", "s", "NashConv", "its value", "LP's value"]
    return markdown([*header, "off by"], rows)


def sparsified_table(time_limit: float) -> str:
    """Nonzeros and seconds before and after."""
    rows = []
    solve_lp(KUHN.name, sparsify=True)  # compiles
    for entry in SPARSIFIED:
        form = sequence_form(load(entry))
        reference = float("nan")
        for label in ("none", *SPARSIFICATIONS):
            times, value, solution = [], float("nan"), None
            for method in METHODS:
                try:
                    solution = solve_lp(
                        form,
                        method=method,
                        sparsify=label != "none",
                        factorization=label if label != "none" else "differences",
                        time_limit=time_limit,
                    )
                    value = solution.value
                    times.append(seconds(solution.solve_seconds))
                except LinearProgramError as error:
                    times.append(f"> {time_limit:g}" if error.status == 1 else "failed")
            if solution is None:
                rows.append([entry.title, label, "", "", "", *times, ""])
                continue
            if label == "none":
                reference = value
            rows.append(
                [
                    entry.title,
                    label,
                    str(solution.factor_nonzeros),
                    str(solution.program.num_nonzeros),
                    seconds(solution.build_seconds),
                    *times,
                    f"{abs(value - reference):.0e}",
                ]
            )
    header = ["game", "factorization", "nonzeros of A or its factors"]
    header += ["nonzeros of the program", "build s"]
    header += [f"{method} s" for method in METHODS]
    return markdown([*header, "value off by"], rows)


def main() -> None:
    """Prints the tables asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", default="first_order,lp,cfr_plus,sparsified")
    parser.add_argument("--time_limit", type=float, default=120.0)
    options = parser.parse_args()
    makers = {
        "first_order": first_order_table,
        "lp": functools.partial(lp_table, options.time_limit),
        "cfr_plus": functools.partial(cfr_plus_table, options.time_limit),
        "sparsified": functools.partial(sparsified_table, options.time_limit),
    }
    print(describe("offline") + "\n")
    for name in options.tables.split(","):
        if name not in makers:
            parser.error(f"no table {name!r}; there are {', '.join(makers)}")
        print(f"### {name}\n\n{makers[name]()}\n", flush=True)


if __name__ == "__main__":
    main()
