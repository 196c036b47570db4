"""The papers' experiments as data: which settings, in which panels, on which axes.

An experiment is panels of curves; a curve is a setting that is run with some seeds.
`sweep` makes the table that sweeps.py runs, `summarize` one CSV file of its results,
from which plotting.py draws.
"""

import csv
import math
import pathlib
import re
import statistics
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mccfr_spiel.experiments import Settings

SUMMARY = "summary.csv"
COLUMNS = (
    "panel",
    "curve",
    "family",
    "seeds",
    "iteration",
    "nodes_touched",
    "gradient_evaluations",
    "seconds",
    "nash_conv",
    "nash_conv_std",
    "bound",
)
"""The header of a summary: means over seeds, and NashConv's standard deviation."""

STEP_SIZES = (0.1, 1.0, 10.0, 100.0)


class Curve(NamedTuple):
    """A setting of an experiment; of a family's curves, the best one is drawn."""

    label: str
    settings: Settings
    family: str = ""


class Panel(NamedTuple):
    """Curves on one game.

    Attributes:
        title: of the game.
        curves: their settings.
        num_nodes: of the game's tree, as many as a gradient evaluation touches.
    """

    title: str
    curves: tuple[Curve, ...]
    num_nodes: int


class Experiment(NamedTuple):
    """An experiment of a paper, or one of ours.

    Attributes:
        panels: in the order of the figure.
        axes: the horizontal axes, (column, "linear" or "log"), of each row of panels.
        seeds: how many each curve is run with, if nobody says otherwise.
    """

    panels: tuple[Panel, ...]
    axes: tuple[tuple[str, str], ...] = (("nodes_touched", "log"),)
    seeds: int = 1


# --- Lanctot, Waugh, Zinkevich, Bowling 2009 ---------------------------------------

LANCTOT_2009 = {
    "Goofspiel, 7 cards": (
        "python_goofspiel(num_cards=7)",
        98_309_835,
        5_000_000_000,
    ),
    "Latent Tic-Tac-Toe": ("latent_ttt", 58_086_835, 600_000_000),
    "One-Card Poker, 500 cards": (
        "python_one_card_poker(cards=500)",
        2_246_001,
        1_000_000_000,
    ),
    "Princess and Monster, 3x3": (
        "python_princess_and_monster(rows=3,cols=3,horizon=13)",
        91_803_132,
        500_000_000,
    ),
}
"""The games, the number of their nodes, and the right edge of their panel."""

_FAMILY_OF_2009 = {
    "CFR": "cfr",
    "CFR with pruning": "pruned_cfr",
    "outcome sampling": "outcome_sampling",
    "external sampling": "external_sampling",
}


def _lanctot2009_figure1() -> Experiment:
    panels = []
    for title, (game, num_nodes, budget) in LANCTOT_2009.items():
        curves = tuple(
            Curve(
                label,
                Settings(
                    game=game,
                    algorithm=algorithm,
                    until_nodes_touched=budget,
                    rows_per_decade=10,
                    rows_from=100_000,
                ),
            )
            for label, algorithm in _FAMILY_OF_2009.items()
        )
        panels.append(Panel(title, curves, num_nodes))
    axes = ("nodes_touched", "linear"), ("nodes_touched", "log")
    return Experiment(tuple(panels), axes)


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


def _farina2020(sampling: str) -> Experiment:
    panels = []
    for title, (game, num_nodes) in _FARINA_2020.items():
        base = Settings(
            game=game,
            sampling=sampling,
            until_nodes_touched=_TRAVERSALS * num_nodes,
            print_freq=num_nodes,
        )
        curves = [Curve("MCCFR", base)]
        curves += [
            Curve(
                f"{rule.upper()}, step size {step:g}",
                base._replace(minimizer=rule, step_size=step, weights="kroer"),
                rule.upper(),
            )
            for rule in ("ftrl", "omd")
            for step in STEP_SIZES
        ]
        panels.append(Panel(title, tuple(curves), num_nodes))
    return Experiment(tuple(panels), (("nodes_touched", "linear"),), seeds=50)


# --- beside each other -------------------------------------------------------------

_OFFLINE = {
    "CFR": ("cfr", 10_000),
    "CFR+": ("cfr_plus", 10_000),
    "EGT": ("egt", 3_000),
    "practical EGT": ("practical_egt", 3_000),
    "mirror prox": ("mirror_prox", 3_000),
    "LP": ("lp", 1),
}
"""Farina's lecture 10: the methods, and how many iterations are run."""


def _offline() -> Experiment:
    panels = [
        Panel(
            title,
            tuple(
                Curve(
                    label,
                    Settings(game=game, algorithm=algorithm, iterations=iterations),
                )
                for label, (algorithm, iterations) in _OFFLINE.items()
                # HiGHS needs hours for the largest program.
                if label != "LP" or num_nodes < 700_000
            ),
            num_nodes,
        )
        for title, (game, num_nodes) in _FARINA_2020.items()
    ]
    axes = ("gradient_evaluations", "log"), ("seconds", "log")
    return Experiment(tuple(panels), axes)


_BOUNDED = {
    "Kuhn poker": ("kuhn_poker", 58),
    "Leduc poker": ("leduc_poker", 9_457),
    "Goofspiel, 4 cards": ("python_goofspiel(num_cards=4)", 2_229),
    "Liar's dice": ("liars_dice", 294_883),
}
"""The games, and the number of their nodes."""


def _bounds() -> Experiment:
    runs = {
        "CFR": ("cfr", 10_000),
        "external sampling": ("external_sampling", 1_000_000),
        "outcome sampling": ("outcome_sampling", 10_000_000),
    }
    panels = [
        Panel(
            title,
            tuple(
                Curve(
                    label,
                    Settings(
                        game=game,
                        algorithm=algorithm,
                        iterations=iterations,
                        alternating=False,
                        bounds=True,
                    ),
                )
                for label, (algorithm, iterations) in runs.items()
            ),
            num_nodes,
        )
        for title, (game, num_nodes) in _BOUNDED.items()
    ]
    return Experiment(tuple(panels), (("iteration", "log"),))


EXPERIMENTS = {
    "lanctot2009_figure1": _lanctot2009_figure1(),
    "farina2020_figure3": _farina2020("external"),
    "farina2020_figure4": _farina2020("balanced_outcome"),
    "offline": _offline(),
    "bounds": _bounds(),
}


# --- experiment -> sweep -> summary ------------------------------------------------


def sweep(
    experiment: Experiment, *, seeds: int | None = None, only: str = ""
) -> dict[str, Settings]:
    """The sweep of an experiment, seed by seed: key -> settings.

    Args:
        experiment: a value of EXPERIMENTS.
        seeds: how many seeds, from 0 on; None for as many as the paper has.
        only: part of the keys that are wanted, such as a game's name.

    Raises:
        ValueError: no key has `only` in it.
    """
    if seeds is not None and seeds < 1:
        raise ValueError(f"seeds={seeds} is not at least 1.")
    table = {
        key(panel, curve, seed): curve.settings._replace(seed=seed)
        for seed in range(seeds or experiment.seeds)
        for panel in experiment.panels
        for curve in panel.curves
    }
    chosen = {name: one for name, one in table.items() if only in name}
    if not chosen:
        names = sorted({name.rpartition("_s")[0] for name in table})
        raise ValueError(f"only={only!r} is part of none of {', '.join(names)}.")
    return chosen


def key(panel: Panel, curve: Curve, seed: int) -> str:
    """Names a setting's files."""
    name = f"{panel.title}_{curve.label}".lower().replace("+", "plus")
    return re.sub(r"[^a-z0-9.]+", "_", name) + f"_s{seed}"


def summarize(experiment: Experiment, folder: pathlib.Path) -> pathlib.Path:
    """Writes the means of what is finished in a sweep's folder; returns the path."""
    path = folder / SUMMARY
    part = path.with_name(path.name + ".part")
    with part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for panel in experiment.panels:
            for curve in panel.curves:
                writer.writerows(_means(panel, curve, folder))
    part.replace(path)
    return path


def _means(panel: Panel, curve: Curve, folder: pathlib.Path) -> Iterator[dict]:
    pattern = re.compile(re.escape(key(panel, curve, 0)[:-1]) + r"\d+\.csv")
    files = [path for path in folder.iterdir() if pattern.fullmatch(path.name)]
    tables = [_read(path) for path in sorted(files)]
    for rows in zip(*tables, strict=False):
        mean = {
            name: _mean([row[name] for row in rows])
            for name in ("iteration", "nodes_touched", "seconds", "nash_conv", "bound")
        }
        gaps = [row["nash_conv"] for row in rows]
        yield {
            "panel": panel.title,
            "curve": curve.label,
            "family": curve.family,
            "seeds": len(rows),
            "gradient_evaluations": statistics.fmean(
                row["nodes_touched"] / panel.num_nodes for row in rows
            ),
            "nash_conv_std": statistics.stdev(gaps) if len(gaps) > 1 else 0.0,
        } | mean


def _read(path: pathlib.Path) -> list[dict[str, float]]:
    with path.open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    return [
        {name: float(value or "nan") for name, value in line.items()} for line in lines
    ]


def _mean(values: Sequence[float]) -> float | None:
    mean = statistics.fmean(values)
    return None if math.isnan(mean) else mean
