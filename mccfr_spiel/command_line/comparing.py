"""The command `compare`."""

import pathlib
import re
from collections.abc import Sequence
from typing import Annotated, Any

from absl import flags

from mccfr_spiel.algorithms import SCHEDULES
from mccfr_spiel.command_line.flags import FORMATS
from mccfr_spiel.command_line.running import FLAGS, executor, imported_games
from mccfr_spiel.command_line.terminal import has_bars, show
from mccfr_spiel.evaluation.metrics import METRICS, head_to_head
from mccfr_spiel.experiments.algorithm_names import (
    Count,
    Method,
    make_method,
    name_of,
    value_of,
)
from mccfr_spiel.experiments.comparing import compare
from mccfr_spiel.experiments.settings import SETTINGS
from mccfr_spiel.solving.running import Metric

TABLE = "comparison.csv"


class Own:
    """The flags that only this command has.

    Attributes:
        algorithms: What to compare, of the names that solve has. Parts are replaced as
            in outcome_sampling:epsilon=0.4:minimizer=ftrl, by the flags of solve.
        seeds: How many runs of each.
        nodes: Nodes that each run touches.
        iterations: How long a run is, in iterations, in place of --nodes.
        metrics: What is measured: names in mccfr_spiel.metrics (nash_conv, last_iterate
            and others), or MODULE:FUNCTION, a function of the solver in a module of
            yours. There is a figure for each.
        opponent: The opponent of head_to_head: a policy's file or folder, or uniform.
        x: The horizontal axis; by default that of --nodes or --iterations.
        style: How figures look.
        band: What bands show: one standard deviation, or the least and largest.
        figure_format: The kinds of files for figures.
        output_dir: Folder for the results; another command needs another folder.
        workers: Processes; if not given, one for each core, or as many as the cluster
            has room for.
    """

    algorithms: list = ["cfr_plus", "external_sampling", "outcome_sampling"]  # noqa: RUF012
    seeds: Count = 10
    nodes: float = 1e6
    iterations: Count | None = None
    metrics: list = ["nash_conv"]  # noqa: RUF012
    opponent: str = "uniform"
    x: Annotated[str, ("nodes_touched", "iteration", "seconds")] | None = None
    style: Annotated[str, ("paper", "dark")] = "paper"
    band: Annotated[str, ("std", "range")] = "std"
    figure_format: list = [*FORMATS]  # noqa: RUF012
    output_dir: str = "results/comparison"
    workers: Count | None = None


def run(values: flags.FlagValues, games: Sequence[str]) -> int:
    """Runs the comparison; returns the exit code."""
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
        executor=executor(values),
        imports=imports,
        rows_per_decade=values.rows_per_decade,
        max_memory=values.max_memory,
        twin=values.twin,
        threads=values.threads,
        progress=has_bars(),
    )
    table.to_csv(folder / TABLE, index=False)
    for number, metric in enumerate(metrics):
        ending = re.sub(r"[^A-Za-z0-9_.]+", "_", metric)
        name = f"figure_{ending}" if number else "figure"
        figure = table.plot(values.x, metric, style=values.style, band=values.band)
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
    name, *parts = re.split(r":(?=\w+=)", words)  # MODULE:NAME has a colon, too
    given: dict[str, Any] = {"algorithm": name}
    try:
        for part in parts:
            flag, _, value = part.partition("=")
            if flag not in SETTINGS:
                raise ValueError(f"{flag!r} is no flag of solve.")
            given[flag] = FLAGS[flag].parser.parse(value)
        if name in SCHEDULES and given.setdefault("horizon", iterations) is None:
            raise ValueError(
                f"{name} takes a horizon, the number of iterations in which its "
                f"parameters change, as in {name}:horizon=1000, or the --iterations of "
                "the runs."
            )
        method = make_method(given)
    except ValueError as error:
        raise ValueError(f"--algorithms={words}: {error}") from error
    return name_of(method) if parts else name, method


def _metric(name: str, opponent: str) -> Metric:
    """The metric of that name, or the function MODULE.FUNCTION."""
    if name == "head_to_head":
        return METRICS[name] if opponent == "uniform" else head_to_head(opponent)
    if name in METRICS:
        return METRICS[name]
    module, _, function = name.replace(":", ".").rpartition(".")
    if not module:
        raise ValueError(
            f"--metrics={name} is none of {', '.join(METRICS)}, and no MODULE:FUNCTION."
        )
    try:
        return value_of(f"{module}:{function}")
    except ValueError as error:
        raise ValueError(f"--metrics={name}: {error}") from error
