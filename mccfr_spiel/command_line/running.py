"""The commands `solve` and `experiment`, and run_experiments.py, which does both.

The flags are absl's, defined once for the process; `main.py` gives each command its
own.
"""

import functools
import logging
import os
import pathlib
import sys
from collections.abc import Sequence

from absl import flags
from tqdm import tqdm

from mccfr_spiel.command_line.flags import CLUSTER, OF_EXPERIMENTS, define_flags
from mccfr_spiel.command_line.signals import Signals, guarded
from mccfr_spiel.experiments import sweeps
from mccfr_spiel.experiments.importing import import_games
from mccfr_spiel.experiments.settings import SETTINGS
from mccfr_spiel.experiments.single_run import (
    Request,
    has_bars,
    load_plotting,
    quieted,
    solve,
)
from mccfr_spiel.experiments.sweeps import Executor, local, on_ray
from mccfr_spiel.papers import panels, reproduction, table_1
from mccfr_spiel.solving.cluster import Cluster, Ray

FLAGS = flags.FLAGS
define_flags()


def main(argv: Sequence[str]) -> int:
    """Runs what the flags of run_experiments.py say; returns the exit code."""
    # absl shows what libraries log. What matplotlib's one for PDF says is no news.
    logging.getLogger("fontTools").setLevel(logging.WARNING)
    with quieted(FLAGS.quiet):
        return guarded(lambda signals: _run(argv, signals))


def _run(argv: Sequence[str], signals: Signals) -> int:
    if len(argv) > 1:
        raise ValueError(f"{argv[1]!r} is not a flag. Flags begin with --.")
    if FLAGS.experiment is not None:
        return run_experiment(FLAGS.experiment)
    for name in OF_EXPERIMENTS:
        if FLAGS[name].present:
            raise ValueError(f"--{name} takes an --experiment.")
    return run_game(signals)


def run_game(signals: Signals) -> int:
    """Solves the game of the flags; returns the exit code."""
    modules = imported_games()
    return solve(request()._replace(cluster=cluster_of_run(modules)), signals)


def cluster_of_run(modules: Sequence[str]) -> Cluster | None:
    """Where the batches of a single run are split; None if the flags name no cluster.

    Args:
        modules: those that register games, which workers import, too.

    Raises:
        ValueError: flags of a cluster are given without one.
    """
    if FLAGS.executor == "ray":
        prepare = functools.partial(import_games, tuple(modules))
        threads = FLAGS.threads or 1
        return Ray(FLAGS.workers, FLAGS.ray_address, threads, prepare=prepare)
    for name in CLUSTER:
        if FLAGS[name].present and name != "executor":
            raise ValueError(
                f"--{name} of a single run takes --executor=ray; threads of this "
                "process are --threads."
            )
    return None


def imported_games() -> list[str]:
    """The modules that register games, ours and the user's, which are imported."""
    return import_games(FLAGS["import"].value or [])


def request() -> Request:
    """What the flags ask for of a single run."""
    values = {name: FLAGS[name].value for name in SETTINGS}
    given = {name: value for name, value in values.items() if FLAGS[name].present}
    return Request(
        values,
        given,
        output_dir=FLAGS.output_dir,
        resume=FLAGS.resume,
        overwrite=FLAGS.overwrite,
        checkpoint_every=FLAGS.checkpoint_every,
        plays=FLAGS.evaluation_plays,
        play_seconds=FLAGS.evaluation_seconds,
        figure_formats=tuple(FLAGS.figure_format or ("png",)),
    )


def run_experiment(name: str) -> int:
    """Runs a table or figure of the papers; returns the exit code."""
    imports = imported_games()
    is_table = name == table_1.NAME
    for flag in SETTINGS:
        if FLAGS[flag].present and (is_table or flag != "threads"):
            raise ValueError(f"--{flag} is fixed by --experiment={name}; drop it.")
    folder = pathlib.Path(FLAGS.output_dir or pathlib.Path("results", name))
    trees = pathlib.Path(FLAGS.tree_cache) if FLAGS.tree_cache else None
    if is_table:
        path = table_1.make_table(folder, imports, trees, only=FLAGS.only)
        print(path.read_text(encoding="utf-8"))
        return 0
    experiment = reproduction.EXPERIMENTS[name]
    table = panels.sweep(experiment, seeds=FLAGS.seeds, only=FLAGS.only)
    table = {
        key: settings._replace(threads=FLAGS.threads) for key, settings in table.items()
    }
    todo = sum(not sweeps.is_finished(folder, key) for key in table)
    print(f"{name}: {len(table)} settings, {todo} to run, in {folder}", flush=True)
    with tqdm(total=100.0, disable=not has_bars(), bar_format=sweeps.BAR) as bar:
        failures = sweeps.run_sweep(
            table,
            folder,
            executor(FLAGS)
            or functools.partial(
                local, workers=FLAGS.workers or os.cpu_count() or 1, run_main=False
            ),
            lambda share: bar.update(100 * share - bar.n),
            imports=imports,
            trees=trees,
            checkpoint_every=FLAGS.checkpoint_every,
        )
    if any(sweeps.is_finished(folder, key) for key in table):
        summarize_and_draw(experiment, folder)
    for key, error in failures:
        print(f"{key} failed: {error}", file=sys.stderr)
    print(f"{len(failures)} of {todo} settings failed. Results are in {folder}")
    return 1 if failures else 0


def executor(values: flags.FlagValues) -> Executor | None:
    """A Ray cluster for the runs, or None for the processes of this machine."""
    if values.executor == "local":
        return None
    return functools.partial(on_ray, workers=values.workers, address=values.ray_address)


def summarize_and_draw(experiment: panels.Experiment, folder: pathlib.Path) -> None:
    """Writes the means over seeds, and the figures if matplotlib is there."""
    summary = panels.summarize(experiment, folder)
    if load_plotting() is None:
        print("No figures: matplotlib is not installed (pip install matplotlib).")
        return
    from mccfr_spiel.papers import figures

    formats = FLAGS.figure_format or ("png", "svg")
    figures.save_experiment(experiment, summary, formats=formats)
