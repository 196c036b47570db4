"""The command `compare`: algorithms on games, with a table and figures."""

import importlib
import pathlib
import re
from collections.abc import Iterable, Sequence
from typing import Any

from absl import flags

from mccfr_spiel.algorithms import SCHEDULES
from mccfr_spiel.command_line.experiment_command import executor_of
from mccfr_spiel.command_line.program_flags import FLAGS, import_given
from mccfr_spiel.command_line.terminal import has_bars, show
from mccfr_spiel.common import refusals
from mccfr_spiel.evaluation.metrics import METRICS, head_to_head
from mccfr_spiel.experiments.algorithm_names import Method, make_method, name_of
from mccfr_spiel.experiments.comparing import compare
from mccfr_spiel.experiments.importing import import_object
from mccfr_spiel.experiments.run_files import (
    COMPARISON,
    FORMATS,
)
from mccfr_spiel.experiments.setting_names import SETTINGS
from mccfr_spiel.experiments.setting_tables import Setting
from mccfr_spiel.solving.history import (
    Metric,
)

_PASSED = "iterations", "workers", "rows_per_decade", "max_memory", "twin", "threads"
"""Flags that are arguments of `compare`."""

_RUN_FLAGS = ("algorithms", "seeds", "nodes", "iterations", "opponent", "workers")
"""Flags that have no effect with --from."""

COMPARE_FLAGS = (
    Setting(
        "algorithms",
        list,
        ["cfr_plus", "external_sampling", "outcome_sampling"],
        "Algorithms, by the names of solve --algorithm. Flags of solve replace parts, "
        "as in outcome_sampling:epsilon=0.4:minimizer=ftrl.",
    ),
    Setting("seeds", int, 10, "Number of runs of each algorithm.", least=1),
    Setting("nodes", float, 1e6, "Number of nodes touched per run."),
    Setting(
        "iterations",
        int,
        None,
        "Number of iterations per run, in place of --nodes.",
        least=1,
    ),
    Setting(
        "metrics",
        list,
        ["nash_conv"],
        "Metrics, one figure each: names in mccfr_spiel.metrics (nash_conv, "
        "last_iterate and others), or MODULE:FUNCTION, your own function of the "
        "solver.",
    ),
    Setting(
        "opponent",
        str,
        "uniform",
        "Opponent of head_to_head: file or folder of a policy, or uniform.",
    ),
    Setting(
        "x",
        str,
        None,
        "Column on the horizontal axis (default: nodes_touched, or iteration with "
        "--iterations).",
        choices=("nodes_touched", "iteration", "seconds"),
    ),
    Setting("style", str, "paper", "Style of the figures.", choices=("paper", "dark")),
    Setting(
        "band",
        str,
        "std",
        "Band around the mean: one standard deviation, or from the lowest to the "
        "highest seed.",
        choices=("std", "range"),
    ),
    Setting(
        "figure_format", list, [*FORMATS], "Formats of the figures.", choices=FORMATS
    ),
    Setting(
        "output_dir",
        str,
        "results/comparison",
        "Folder of the results. Use another folder for another comparison.",
    ),
    Setting(
        "workers",
        int,
        None,
        "Number of processes (default: one per core, or the capacity of the cluster).",
        least=1,
    ),
    Setting(
        "from",
        list,
        [],
        "Run nothing, but join the results in these folders, which solve or compare "
        "has written. More folders can follow as arguments.",
    ),
)


def run_compare(values: flags.FlagValues, games: Sequence[str]) -> int:
    """Runs the comparison, or joins folders of earlier runs; returns the exit code."""
    folders = values["from"].value
    if folders:
        return _join(values, [*folders, *games])
    if not games:
        raise ValueError("A game is required. Example: mccfr-spiel compare kuhn_poker")
    if values["opponent"].present and "head_to_head" not in values.metrics:
        raise ValueError("--opponent requires --metrics=head_to_head.")
    imports = import_given()
    folder = pathlib.Path(values.output_dir)
    rows = "runs"
    if values.opponent != "uniform":  # rows do not record the opponent
        rows += re.sub(r"[^\w.]+", "_", f" against {values.opponent}")
    metrics = {name: _metric(name, values.opponent) for name in values.metrics}
    table = compare(
        list(games),
        dict(algorithm_of(text, values.iterations) for text in values.algorithms),
        values.seeds,
        values.nodes,
        metrics,
        folder=folder / rows,
        executor=executor_of(values),
        imports=imports,
        progress=has_bars(),
        **{name: getattr(values, name) for name in _PASSED},
    )
    _write(values, table, metrics)
    return 0


def _join(values: flags.FlagValues, folders: Sequence[str]) -> int:
    """Joins the results in folders, for --from; returns the exit code."""
    for name in _RUN_FLAGS:
        if values[name].present:
            raise ValueError(
                f"--{name} has no effect with --from, which runs nothing. Drop it."
            )
    try:
        joined = importlib.import_module("mccfr_spiel.experiments.joined_runs")
    except ImportError as error:
        raise ImportError(
            "--from needs pandas and matplotlib: pip install 'mccfr_spiel[plot]'."
        ) from error
    table = joined.read_runs(folders)
    metrics = values.metrics if values["metrics"].present else table.metrics[:1]
    _write(values, table, metrics)
    return 0


def _write(values: flags.FlagValues, table: Any, metrics: Iterable[str]) -> None:
    """Writes a `Comparison` with a figure per metric, and prints the last values."""
    folder = pathlib.Path(values.output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    table.to_csv(folder / COMPARISON, index=False)
    for index, metric in enumerate(metrics):
        suffix = re.sub(r"[^A-Za-z0-9_.]+", "_", metric)
        name = f"figure_{suffix}" if index else "figure"
        figure = table.plot(values.x, metric, style=values.style, band=values.band)
        for ending in values.figure_format:
            figure.savefig(folder / f"{name}.{ending}")
    show(table.final().to_string(float_format="{:.4g}".format, na_rep="-"))
    show(f"The figures and {COMPARISON}, with all points, are in {folder}")


def algorithm_of(text: str, iterations: int | None) -> tuple[str, Method]:
    """Parses NAME or NAME:flag=value:flag=value into a label and an algorithm.

    Args:
        text: an entry of --algorithms.
        iterations: iterations per run, the default horizon; None if runs end by nodes
            touched.

    Raises:
        ValueError: the algorithm or a flag is unknown.
    """
    name, *parts = re.split(r":(?=\w+=)", text)  # MODULE:NAME has a colon as well
    given: dict[str, Any] = {"algorithm": name}
    try:
        for part in parts:
            flag, _, value = part.partition("=")
            if flag not in SETTINGS:
                raise ValueError(
                    f"Unknown flag {flag!r}.{refusals.near(flag, SETTINGS)} Expected a "
                    "flag of mccfr-spiel solve."
                )
            given[flag] = FLAGS[flag].parser.parse(value)
        if name in SCHEDULES and given.setdefault("horizon", iterations) is None:
            raise ValueError(
                f"{name} needs a horizon, the number of iterations over which its "
                f"parameters change. Use {name}:horizon=1000, or --iterations."
            )
        method = make_method(given)
    except ValueError as error:
        raise ValueError(f"--algorithms={text}: {error}") from error
    return name_of(method) if parts else name, method


def _metric(name: str, opponent: str) -> Metric:
    """The metric of that name, or the user's function MODULE:FUNCTION."""
    if name == "head_to_head":
        return METRICS[name] if opponent == "uniform" else head_to_head(opponent)
    if name in METRICS:
        return METRICS[name]
    module, _, function = name.replace(":", ".").rpartition(".")
    if not module:
        raise ValueError(
            f"Unknown metric --metrics={name}.{refusals.near(name, METRICS)} Expected "
            f"{', '.join(METRICS)} or MODULE:FUNCTION."
        )
    try:
        return import_object(f"{module}:{function}")
    except ValueError as error:
        raise ValueError(f"--metrics={name}: {error}") from error
