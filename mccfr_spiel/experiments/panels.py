"""Experiments of many panels: settings that become a sweep, a summary and figures.

An experiment is panels of curves; a curve is a setting that is run with some seeds.
`sweep` makes the table that experiments/sweeps.py runs, `summarize` makes one CSV file
of its results, and `save_experiment` draws from that file alone, for which alone it
needs matplotlib.

The experiments of the papers, and ours beside them, are data: which settings are run,
in which panels, on which axes. The command line runs one by its name in EXPERIMENTS.

Table 1 of Lanctot, Waugh, Zinkevich, Bowling 2009 is measured beside theirs.
"""

import concurrent.futures
import functools
import math
import multiprocessing
import pathlib
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel import algorithms
from mccfr_spiel.common import refusals
from mccfr_spiel.common.folders import Table, read_table, write_file, write_rows
from mccfr_spiel.evaluation.theory import longest_history, m_values
from mccfr_spiel.experiments.algorithm_names import import_module
from mccfr_spiel.experiments.runs import COLUMNS, aligned, row_dues
from mccfr_spiel.experiments.settings import Settings, measure
from mccfr_spiel.experiments.sweeps import key, keyed
from mccfr_spiel.experiments.trees import shared_tree
from mccfr_spiel.offline import EGT, LP, MIRROR_PROX, PRACTICAL_EGT
from mccfr_spiel.solving.solver import Solver

SUMMARY = "summary.csv"
"""The file of a summary. A row has means over seeds, and the standard deviation of
NashConv, at the point where each seed has reached `due` iterations (or nodes touched,
if the settings go by those)."""


class Curve(NamedTuple):
    """A setting of an experiment.

    Attributes:
        label: of the curve in the legend; it also names the files.
        settings: what is run. The seed is replaced by each of the experiment's.
        family: the figure shows only the best curve of each family; a curve without
            family is always shown.
    """

    label: str
    settings: Settings
    family: str = ""


class Panel(NamedTuple):
    """Curves on one game.

    Attributes:
        title: of the game in the figure; it also names the files.
        curves: in the order of the legend.
        num_nodes: the nodes of the game's tree, each of which a gradient evaluation
            touches once.
    """

    title: str
    curves: tuple[Curve, ...]
    num_nodes: int


class Experiment(NamedTuple):
    """An experiment of a paper, or one of ours.

    Attributes:
        panels: in the order of the figure.
        axes: the horizontal axes, (column, "linear" or "log"), of each row of panels.
        seeds: how many runs each curve is the mean of, unless the user says otherwise.
    """

    panels: tuple[Panel, ...]
    axes: tuple[tuple[str, str], ...] = (("nodes_touched", "log"),)
    seeds: int = 1


def sweep(
    experiment: Experiment, *, seeds: int | None = None, only: str = ""
) -> dict[str, Settings]:
    """The sweep of an experiment as a table key -> settings, seed by seed.

    Args:
        experiment: what is run.
        seeds: how many seeds, from 0 on; None for as many as the experiment has.
        only: keep only the keys that contain this, such as a game's name.

    Raises:
        ValueError: no key has `only` in it, or two curves have the same key.
    """
    seeds = experiment.seeds if seeds is None else refusals.integer(seeds, "seeds", 1)
    table = keyed(
        (panel.title, curve.label, curve.settings._replace(seed=seed))
        for seed in range(seeds)
        for panel in experiment.panels
        for curve in panel.curves
    )
    chosen = {name: one for name, one in table.items() if only in name}
    if not chosen:
        names = sorted({name.rpartition("_s")[0] for name in table})
        raise ValueError(f"only={only!r} is part of none of {', '.join(names)}.")
    return chosen


def summarize(experiment: Experiment, folder: pathlib.Path) -> pathlib.Path:
    """Writes the means over the finished runs in a sweep's folder; returns the path."""
    path = folder / SUMMARY
    curves = ((panel, curve) for panel in experiment.panels for curve in panel.curves)
    write_rows(path, [row for pair in curves for row in _means(*pair, folder)])
    return path


def _means(
    panel: Panel, curve: Curve, folder: pathlib.Path
) -> Iterator[dict[str, Any]]:
    """The means of a curve over its seeds, at each number of iterations (or of nodes
    touched) at which a row was due.

    Each seed contributes its row of the first iteration that reached the number. That
    is the same rule for every seed, even where one iteration has passed several numbers
    and left one row for all of them. A seed that ended earlier is left out; the column
    `seeds` says how many are in.
    """
    pattern = re.compile(re.escape(key(panel.title, curve.label, 0)[:-1]) + r"\d+\.csv")
    files = [path for path in folder.iterdir() if pattern.fullmatch(path.name)]
    tables = [read_table(path).numbers() for path in sorted(files)]
    column = measure(curve.settings)
    reached = [table[column] for table in tables]
    for due, at in aligned(reached, row_dues(curve.settings)):
        pairs = zip(tables, at, strict=True)
        here = [(table, i) for table, i in pairs if i < len(table[column])]
        if not here:
            return
        means = {
            name: np.mean([t[name][i] if name in t else math.nan for t, i in here])
            for name in COLUMNS
            if name not in ("due", "exploitability")
        }
        gaps = [table["nash_conv"][i] for table, i in here]
        yield {
            "panel": panel.title,
            "curve": curve.label,
            "family": curve.family,
            "seeds": len(here),
            "due": due,
            "gradient_evaluations": means["nodes_touched"] / panel.num_nodes,
            "nash_conv_std": np.std(gaps, ddof=1) if len(gaps) > 1 else 0.0,
        } | {name: "" if math.isnan(one) else one for name, one in means.items()}


# --- a summary -> its figures ---------------------------------------------------


def read_summary(path: pathlib.Path) -> dict[str, dict[str, list[dict[str, str]]]]:
    """The rows of a summary as panel -> curve -> rows."""
    panels: dict[str, dict[str, list[dict[str, str]]]] = {}
    for row in read_table(path).rows:
        panels.setdefault(row["panel"], {}).setdefault(row["curve"], []).append(row)
    return panels


def best_of_families(
    curves: Mapping[str, list[dict[str, str]]],
) -> dict[str, list[dict[str, str]]]:
    """The curves without a family, and the one of each family that ends lowest."""
    best: dict[str, str] = {}
    for label, rows in curves.items():
        family = rows[-1]["family"] or label
        if family not in best or _end(rows) < _end(curves[best[family]]):
            best[family] = label
    return {label: curves[label] for label in best.values()}


def _end(rows: list[dict[str, str]]) -> float:
    return float(_of_all_seeds(rows)[-1]["nash_conv"] or "nan")


def _of_all_seeds(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """The rows that are means over all seeds of the curve. Where some seeds have ended,
    the mean of the others would seem to jump."""
    most = max(int(row["seeds"]) for row in rows)
    return [row for row in rows if int(row["seeds"]) == most]


def _line(rows: list[dict[str, str]]) -> dict[str, Any]:
    """The fields of a curve's `plotting.Line`. A curve of a single row, such as that of
    a linear program, is a vertical line at its seconds."""
    names = set(rows[0]) - {"panel", "curve", "family"}
    columns = Table(_of_all_seeds(rows), sorted(names)).numbers()
    if len(rows) == 1:
        return {"across": {"seconds": columns["seconds"]}, "up": np.zeros(0)}
    up, spread = columns["nash_conv"], columns["nash_conv_std"]
    ends = {"low": up - spread, "high": up + spread}
    return {"across": columns, "up": up, "beside": {"bound": columns["bound"]}} | ends


def save_experiment(
    experiment: Experiment,
    summary: pathlib.Path,
    *,
    formats: Sequence[str] = ("png", "svg"),
) -> None:
    """Draws an experiment beside its summary: figure.png and figure.svg.

    They show mean NashConv with a band of one standard deviation; a curve ends where
    the first of its seeds ends. With one horizontal axis the panels are wrapped into
    rows. With several, each panel has a row of its own, with a column for each axis. Of
    each family of curves a panel has the one that ends lowest; if there are families,
    appendix.png and appendix.svg show all of them.

    Args:
        experiment: what is drawn.
        summary: from `summarize`.
        formats: of the files, see `folders.FORMATS`.
    """
    from mccfr_spiel.experiments.plotting import Line, lines_figure, save_figure

    names = {"figure": True}
    if any(curve.family for panel in experiment.panels for curve in panel.curves):
        names["appendix"] = False
    for name, best_only in names.items():
        lines: dict[str, dict[str, Line]] = {}
        for title, curves in read_summary(summary).items():
            chosen = best_of_families(curves) if best_only else curves
            # A family has one look in all panels, whichever curve of it is drawn there.
            lines[title] = {
                label: Line(**_line(rows), kind=rows[-1]["family"] if best_only else "")
                for label, rows in chosen.items()
            }
        figure = lines_figure(lines, experiment.axes)
        for ending in formats:
            save_figure(figure, summary.with_name(f"{name}.{ending}"))


# --- the experiments of the papers, and ours -------------------------------------

STEP_SIZES = (0.1, 1.0, 10.0, 100.0)
"""The step sizes of FTRL and OMD that Farina et al. compare."""

# --- Lanctot, Waugh, Zinkevich, Bowling 2009 ---------------------------------------

LANCTOT_2009 = {
    "Goofspiel, 7 cards": ("python_goofspiel(num_cards=7)", 98_309_835, 5_000_000_000),
    "Latent Tic-Tac-Toe": ("latent_ttt", 58_086_835, 600_000_000),
    "One-Card Poker, 500 cards": ("python_one_card_poker(cards=500)", 2_246_001, 10**9),
    "Princess and Monster, 3x3": (
        "python_princess_and_monster(rows=3,cols=3,horizon=13)",
        91_803_132,
        500_000_000,
    ),
}
"""The games, the number of their nodes, and the right edge of their panel."""

_FAMILY_OF_2009 = {
    "CFR": algorithms.CFR,
    "CFR with pruning": algorithms.PRUNED_CFR,
    "outcome sampling": algorithms.OUTCOME_SAMPLING,
    "external sampling": algorithms.EXTERNAL_SAMPLING,
}
"""The curves of each panel."""


def _experiment(
    games: Mapping[str, tuple[str, int, *tuple[int, ...]]],
    curves: Callable[..., Iterator[Curve]],
    axes: tuple[tuple[str, str], ...],
    seeds: int = 1,
) -> Experiment:
    """A panel for each game: title -> (game, number of its nodes, ...), from which
    `curves` makes its curves."""
    panels = (
        Panel(title, tuple(curves(*game)), game[1]) for title, game in games.items()
    )
    return Experiment(tuple(panels), axes, seeds)


def _lanctot2009_figure1(game: str, _: int, budget: int) -> Iterator[Curve]:
    base = Settings(
        game, until_nodes_touched=budget, rows_per_decade=10, rows_from=100_000
    )
    for label, algorithm in _FAMILY_OF_2009.items():
        yield Curve(label, base._replace(algorithm=algorithm))


# --- Farina, Kroer, Sandholm 2020 --------------------------------------------------

_FARINA_2020 = {
    "Leduc13": ("python_leduc_ranks(ranks=13)", 166_336),
    "Goofspiel, 4 cards": (
        "python_goofspiel(num_cards=4,imp_info=False,points_order=random,"
        "returns_type=point_difference)",
        54_421,
    ),
    "Search, 4 turns": ("python_search(turns=4)", 21_613),
    "Search, 5 turns": ("python_search(turns=5)", 87_927),
    "Battleship, 3x2": (
        "battleship(board_width=3,board_height=2,ship_sizes=[2],ship_values=[1],"
        "num_shots=3,allow_repeated_shots=false)",
        732_607,
    ),
}
"""The games, and the number of their nodes."""

_TRAVERSALS = 50
"""The budget of each run, in traversals of the whole tree."""


def _farina2020(
    sampling: algorithms.Sampling, game: str, num_nodes: int
) -> Iterator[Curve]:
    base = Settings(
        game,
        algorithms.Algorithm(sampling, algorithms.regret_matching()),
        until_nodes_touched=_TRAVERSALS * num_nodes,
        print_freq=num_nodes,
    )
    yield Curve("MCCFR", base)
    for rule, make in (("FTRL", algorithms.ftrl), ("OMD", algorithms.omd)):
        for step in STEP_SIZES:
            algorithm = algorithms.Algorithm(sampling, make(step, weights="kroer"))
            label = f"{rule}, step size {step:g}"
            yield Curve(label, base._replace(algorithm=algorithm), rule)


# --- beside each other -------------------------------------------------------------

_OFFLINE = {
    "CFR": (algorithms.CFR, 10_000),
    "CFR+": (algorithms.CFR_PLUS, 10_000),
    "EGT": (EGT, 3_000),
    "practical EGT": (PRACTICAL_EGT, 3_000),
    "mirror prox": (MIRROR_PROX, 3_000),
    "LP": (LP, 1),
}
"""The methods of Farina's lecture 10, and how many iterations of each are run."""


def _offline(game: str, num_nodes: int) -> Iterator[Curve]:
    for label, (algorithm, iterations) in _OFFLINE.items():
        # HiGHS would need hours for the largest program.
        if label != "LP" or num_nodes < 700_000:
            yield Curve(label, Settings(game, algorithm, iterations=iterations))


_BOUNDED = {
    "Kuhn poker": ("kuhn_poker", 58),
    "Leduc poker": ("leduc_poker", 9_457),
    "Goofspiel, 4 cards": ("python_goofspiel(num_cards=4)", 2_229),
    "Liar's dice": ("liars_dice", 294_883),
}
"""The games, and the number of their nodes."""


def _bounds(game: str, _: int) -> Iterator[Curve]:
    """The theorems are about simultaneous updates, so those are run."""
    for label, algorithm, iterations in (
        ("CFR", algorithms.CFR, 10_000),
        ("external sampling", algorithms.EXTERNAL_SAMPLING, 1_000_000),
        ("outcome sampling", algorithms.OUTCOME_SAMPLING, 10_000_000),
    ):
        method = algorithm._replace(alternating=False)
        settings = Settings(game, method, iterations=iterations, bounds=True)
        yield Curve(label, settings)


_BY_NODES = ("nodes_touched", "linear")
_FARINA = {
    name: _experiment(
        _FARINA_2020, functools.partial(_farina2020, sampling), (_BY_NODES,), seeds=50
    )
    for name, sampling in (
        ("farina2020_figure3", algorithms.EXTERNAL),
        ("farina2020_figure4", algorithms.BALANCED_OUTCOME),
    )
}

EXPERIMENTS = {
    "lanctot2009_figure1": _experiment(
        LANCTOT_2009, _lanctot2009_figure1, (_BY_NODES, ("nodes_touched", "log"))
    ),
    **_FARINA,
    "offline": _experiment(
        _FARINA_2020, _offline, (("gradient_evaluations", "log"), ("seconds", "log"))
    ),
    "bounds": _experiment(_BOUNDED, _bounds, (("iteration", "log"),)),
}
"""The experiments, as the command line calls them."""

# --- Table 1 of Lanctot et al. ------------------------------------------------------

TABLE_1 = "lanctot2009_table1"
"""What the command line calls this table."""

PAPER = {
    "Goofspiel, 7 cards": ("98.3M | 3294k | 14 | 89884 / 89884", 110, 150e-6, 0.150),
    "Latent Tic-Tac-Toe": ("70.4M | 16039k | 18 | 1333630 / 1236660", 38, 62e-6, 0.070),
    "One-Card Poker, 500 cards": ("22.4M | 2k | 5 | 45 / 32", 28, 46e-6, 99e-6),
    "Princess and Monster, 3x3": ("91.8M | 20k | 13 | 9541 / 2930", 120, 85e-6, 0.028),
}
"""The rows of the paper's Table 1: |H|, |I|, l, M1 / M2 as cells, and the seconds per
iteration of vanilla CFR, outcome sampling and external sampling."""

_TIMED = {
    "cfr": algorithms.CFR,
    "outcome": algorithms.OUTCOME_SAMPLING,
    "external": algorithms.EXTERNAL_SAMPLING,
}
_TIMED_SECONDS = 5.0


def make_table(
    folder: pathlib.Path,
    imports: Sequence[str] = (),
    trees: pathlib.Path | None = None,
    *,
    only: str = "",
) -> pathlib.Path:
    """Measures the games of Table 1; returns the path of a markdown table.

    A CSV file with the same numbers is beside it. Each game is measured in a process of
    its own, one after the other, so that peak memory is the game's alone.

    Args:
        folder: for both files.
        imports: modules that register games, or paths of their files.
        trees: the folder where games' trees are kept; None for none.
        only: measure only the games whose names contain this.

    Raises:
        ValueError: no game's name contains `only`.
    """
    chosen = {
        title: game
        for title, (game, *_) in LANCTOT_2009.items()
        if only.lower() in title.lower()
    }
    if not chosen:
        raise ValueError(f"only={only!r} is part of none of {', '.join(LANCTOT_2009)}.")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "table1.md"
    rows = []
    for title, game in chosen.items():
        with concurrent.futures.ProcessPoolExecutor(
            1, multiprocessing.get_context("spawn")
        ) as pool:
            row = pool.submit(measure_game, game, tuple(imports), trees).result()
        rows.append({"game": title} | row)
        write_rows(folder / "table1.csv", rows)
        write_file(path, ("\n".join(_markdown(rows)) + "\n").encode())
    return path


def measure_game(
    game: str, imports: tuple[str, ...], trees: pathlib.Path | None
) -> dict[str, Any]:
    """A game's row of Table 1: its sizes, the CPU seconds of an iteration, and the peak
    memory of this process in GB."""
    for module in imports:
        import_module(module)
    tree = shared_tree(game, trees)
    players = tree.infosets["player"]
    row: dict[str, Any] = {
        "histories": tree.num_nodes,
        "infosets_0": int((players == 0).sum()),
        "infosets_1": int((players == 1).sum()),
        "longest_history": longest_history(tree),
    }
    row |= {f"m_value_{p}": value for p, value in enumerate(m_values(tree))}
    for name, algorithm in _TIMED.items():
        solver = Solver(tree, algorithm)
        solver.iterate(1)  # compiles, and makes the arrays
        began, first = time.process_time(), solver.num_iterations
        while time.process_time() < began + _TIMED_SECONDS:
            solver.iterate(max(solver.num_iterations, 1))
        iterations = solver.num_iterations - first
        row[f"{name}_seconds"] = (time.process_time() - began) / iterations
        del solver
    row["peak_gigabytes"] = _peak_bytes() / 1e9
    return row


def _peak_bytes() -> int:
    """The most memory that this process has ever used, mapped files included."""
    import resource  # here, because Windows has no such module

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _markdown(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The lines of a table that has the paper's row and ours for each game."""
    yield (
        "| game | histories | infosets | l | M | CFR s | outcome s | external s | "
        "peak GB |"
    )
    yield f"|{'---|' * 9}"
    for row in rows:
        sizes, *theirs = PAPER[row["game"]]
        ours = [row[f"{name}_seconds"] for name in _TIMED]
        yield (
            f"| {row['game']}, paper | {sizes} | "
            f"{' | '.join(f'{seconds:g}' for seconds in theirs)} | |"
        )
        times = " | ".join(
            f"{mine:.3g} ({paper / mine:,.0f}x)"
            for mine, paper in zip(ours, theirs, strict=True)
        )
        yield (
            f"| ours | {row['histories']:,} | "
            f"{row['infosets_0']:,} + {row['infosets_1']:,} | "
            f"{row['longest_history']} | "
            f"{row['m_value_0']:,.0f} / {row['m_value_1']:,.0f} | {times} | "
            f"{row['peak_gigabytes']:.1f} |"
        )
