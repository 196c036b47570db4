"""The command `compare`."""

import functools
import pathlib
import re
import sys
from collections.abc import Sequence
from typing import Any

from absl import flags

from mccfr_spiel.algorithms import SCHEDULES
from mccfr_spiel.command_line.running import FLAGS, imported_games
from mccfr_spiel.command_line.signals import Signals
from mccfr_spiel.evaluation.metrics import METRICS, head_to_head
from mccfr_spiel.experiments.algorithm_names import METHODS, Method, name_of
from mccfr_spiel.experiments.command_flags import FORMATS, define_integer
from mccfr_spiel.experiments.comparing import compare
from mccfr_spiel.experiments.executors import Executor, on_ray
from mccfr_spiel.experiments.flags import KINDS, named_settings
from mccfr_spiel.experiments.importing import import_module
from mccfr_spiel.experiments.screen import show
from mccfr_spiel.solving.running import Metric

TABLE = "comparison.csv"


def define_flags(values: flags.FlagValues) -> None:
    """Defines the flags that only this command has."""
    define: dict[str, Any] = {"flag_values": values}
    flags.DEFINE_list(
        "algorithms",
        ["cfr_plus", "external_sampling", "outcome_sampling"],
        f"What to compare, of {', '.join([*METHODS, *SCHEDULES])}. Parts of an "
        "algorithm are replaced as in outcome_sampling:epsilon=0.4:minimizer=ftrl, by "
        "the flags of solve.",
        **define,
    )
    define_integer("seeds", 10, "How many runs of each.", lower_bound=1, **define)
    flags.DEFINE_float("nodes", 1e6, "Nodes that each run touches.", **define)
    define_integer(
        "iterations",
        None,
        "How long a run is, in iterations, in place of --nodes.",
        lower_bound=1,
        **define,
    )
    flags.DEFINE_list(
        "metrics",
        ["nash_conv"],
        f"What is measured: {', '.join(METRICS)}, or MODULE.FUNCTION, a function of "
        "the solver in a module of yours. There is a figure for each.",
        **define,
    )
    flags.DEFINE_string(
        "opponent",
        "uniform",
        "The opponent of head_to_head: a policy's file or folder, or uniform.",
        **define,
    )
    flags.DEFINE_enum(
        "x",
        None,
        ["nodes_touched", "iteration", "seconds"],
        "The horizontal axis; by default that of --nodes or --iterations.",
        **define,
    )
    flags.DEFINE_enum(
        "style", "paper", ["paper", "dark"], "How figures look.", **define
    )
    flags.DEFINE_enum(
        "band",
        "std",
        ["std", "range"],
        "What bands show: one standard deviation, or the least and largest.",
        **define,
    )
    flags.DEFINE_list(
        "figure_format", [*FORMATS], "The kinds of files for figures.", **define
    )
    flags.register_validator(
        "figure_format",
        lambda formats: {*formats} <= {*FORMATS},
        f"--figure_format must be of {', '.join(FORMATS)}",
        **define,
    )
    flags.DEFINE_string(
        "output_dir",
        "results/comparison",
        "Folder for the results; another command needs another folder.",
        **define,
    )
    define_integer(
        "workers",
        None,
        "Processes; if not given, one for each core, or as many as the cluster has "
        "room for.",
        lower_bound=1,
        **define,
    )


def run(values: flags.FlagValues, games: Sequence[str], signals: Signals) -> int:
    """Runs the comparison; returns the exit code."""
    del signals  # what is finished is on disk
    if not games:
        raise ValueError("Which games? As in: mccfr-spiel compare kuhn_poker")
    imports = imported_games()
    folder = pathlib.Path(values.output_dir)
    metrics = {name: _metric(name, values.opponent) for name in values.metrics}
    table = compare(
        list(games),
        dict(algorithm_of(words, values.iterations) for words in values.algorithms),
        values.seeds,
        values.nodes,
        metrics,
        iterations=values.iterations,
        folder=folder / "runs",
        workers=values.workers,
        executor=_executor(values),
        imports=imports,
        rows_per_decade=values.rows_per_decade,
        max_memory=values.max_memory,
        twin=values.twin,
        threads=values.threads,
        progress=sys.stderr.isatty(),
    )
    table.to_csv(folder / TABLE, index=False)
    for number, metric in enumerate(metrics):
        ending = re.sub(r"[^A-Za-z0-9_.]+", "_", metric)
        name = f"figure_{ending}" if number else "figure"
        figure = table.figure(values.x, metric, style=values.style, band=values.band)
        for one in values.figure_format:
            figure.savefig(folder / f"{name}.{one}")
    show(table.final().to_string(float_format="{:.4g}".format, na_rep="-"))
    show(f"The figure, and {TABLE} with all points, are in {folder}")
    return 0


def algorithm_of(words: str, iterations: int | None) -> tuple[str, Method]:
    """The label and the algorithm of NAME or NAME:flag=value:flag=value.

    Args:
        words: one of --algorithms.
        iterations: of each run, the horizon of algorithms that need one; None if runs
            end by nodes touched.

    Raises:
        ValueError: there is no such algorithm, or no such parameter.
    """
    name, *parts = words.split(":")
    if name not in METHODS and name not in SCHEDULES:
        known = ", ".join([*METHODS, *SCHEDULES])
        raise ValueError(f"--algorithms={words}: {name!r} is none of {known}.")
    given: dict[str, Any] = {}
    for part in parts:
        flag, _, value = part.partition("=")
        if flag not in KINDS:
            raise ValueError(f"--algorithms={words}: {flag!r} is no flag of solve.")
        try:
            given[flag] = FLAGS[flag].parser.parse(value)
        except ValueError as error:
            raise ValueError(f"--algorithms={words}: {flag}: {error}.") from error
    if name in SCHEDULES and "horizon" not in given:
        if iterations is None:
            raise ValueError(
                f"--algorithms={words} takes a horizon, the number of iterations in "
                f"which its parameters change, as in {name}:horizon=1000, or the "
                "--iterations of the runs."
            )
        given["horizon"] = iterations
    try:
        method = named_settings(algorithm=name, **given).algorithm
    except ValueError as error:
        raise ValueError(f"--algorithms={words}: {error}") from error
    return name_of(method) if parts else name, method


def _metric(name: str, opponent: str) -> Metric:
    """The metric of that name, or the function MODULE.FUNCTION."""
    if name == "head_to_head":
        return METRICS[name] if opponent == "uniform" else head_to_head(opponent)
    if name in METRICS:
        return METRICS[name]
    module, _, function = name.rpartition(".")
    if not module:
        raise ValueError(
            f"--metrics={name} is none of {', '.join(METRICS)}, and no MODULE.FUNCTION."
        )
    try:
        return getattr(import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"--metrics={name}: {error}.") from error


def _executor(values: flags.FlagValues) -> Executor | None:
    """Ray, or None for the processes of this machine."""
    if values.executor == "local":
        return None
    return functools.partial(on_ray, workers=values.workers, address=values.ray_address)
