"""The command `export`, and the files that comparisons leave."""

import importlib
import pathlib
import re
from collections.abc import Iterable
from typing import Any

from absl import flags

from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.command_line.running import imported_games
from mccfr_spiel.command_line.terminal import show
from mccfr_spiel.common.display import counted
from mccfr_spiel.common.folders import COMPARISON, load_string
from mccfr_spiel.exploring.drawing import draw_tree
from mccfr_spiel.solving.reading import load_policy

DRAWINGS = ".svg", ".pdf", ".png", ".tex"
"""Endings of drawings."""

_RUNNING = "algorithms", "seeds", "nodes", "iterations", "opponent", "workers"
"""The flags of `compare` that do nothing when nothing is run."""


class OfExport:
    """The flags that only `export` has.

    Attributes:
        policy: A policy's file, or a folder of results. Its probabilities are written
            beside an .efg file as NAME_profile.csv, or into a drawing.
    """

    policy: str | None = None


def run_export(values: flags.FlagValues, game: str, path: str) -> int:
    """Writes a game as a file, in the format of the file's ending; returns the exit
    code."""
    imported_games()
    name, ending = load_string(game, values.players), pathlib.Path(path).suffix.lower()
    if ending not in (".efg", *DRAWINGS):
        raise ValueError(
            f"{path} must end in .efg, for Gambit, or in {', '.join(DRAWINGS)}, for a "
            "drawing."
        )
    policy: Any = None
    if values.policy is not None:
        policy = load_policy(values.policy, name)
    if ending in DRAWINGS:
        draw_tree(name, policy).save(path)
        show(f"The drawing is in {path}")
        return 0
    tree = GameTree(name, max_memory=values.max_memory).expand_all()
    correction = tree.to_efg(path, policy)
    show(
        f"The game is in {path}: {counted(tree.num_nodes, 'node')}, "
        f"{counted(tree.num_infosets, 'information set')}."
    )
    if correction:
        show(f"Chance probabilities were corrected by up to {correction:.3g}.")
    return 0


def run_join(values: flags.FlagValues, folders: Iterable[str]) -> int:
    """Joins result folders for `compare --from`; returns the exit code."""
    for name in _RUNNING:
        if values[name].present:
            raise ValueError(f"--{name} does nothing with --from, which runs nothing.")
    try:
        joined = importlib.import_module("mccfr_spiel.experiments.joined_runs")
    except ImportError as error:
        raise ImportError(
            "A comparison needs pandas and matplotlib, and one of them is not "
            "installed: pip install 'mccfr_spiel[plot]'."
        ) from error
    table = joined.read_runs([*folders])
    metrics = values.metrics if values["metrics"].present else table.metrics[:1]
    write_comparison(values, table, metrics)
    return 0


def write_comparison(
    values: flags.FlagValues, table: Any, metrics: Iterable[str]
) -> None:
    """Writes a comparison's table and a figure for each metric, and prints the end."""
    folder = pathlib.Path(values.output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    table.to_csv(folder / COMPARISON, index=False)
    for number, metric in enumerate(metrics):
        ending = re.sub(r"[^A-Za-z0-9_.]+", "_", metric)
        name = f"figure_{ending}" if number else "figure"
        figure = table.plot(values.x, metric, style=values.style, band=values.band)
        for kind in values.figure_format:
            figure.savefig(folder / f"{name}.{kind}")
    show(table.final().to_string(float_format="{:.4g}".format, na_rep="-"))
    show(f"The figure, and {COMPARISON} with all points, are in {folder}")
