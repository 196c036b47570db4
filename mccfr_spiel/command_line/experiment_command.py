"""The command `experiment`: a table or a figure of the papers."""

import functools
import os
import pathlib

from absl import flags

from mccfr_spiel.command_line.program_flags import FLAGS, import_given
from mccfr_spiel.command_line.run_results import load_plotting
from mccfr_spiel.command_line.terminal import has_bars, show, warn
from mccfr_spiel.common.display import Bar
from mccfr_spiel.experiments import lanctot_table, panels, sweeps
from mccfr_spiel.experiments.executors import Executor, local, on_ray
from mccfr_spiel.experiments.papers import EXPERIMENTS
from mccfr_spiel.experiments.setting_names import SETTINGS


def run_experiment(name: str) -> int:
    """Runs a table or figure of the papers; returns the exit code."""
    imports = import_given()
    is_table = name == lanctot_table.TABLE_1
    for flag in SETTINGS:
        if FLAGS[flag].present and (is_table or flag != "threads"):
            raise ValueError(f"--{flag} is fixed by --experiment={name}. Drop it.")
    folder = pathlib.Path(FLAGS.output_dir or pathlib.Path("results", name))
    trees = pathlib.Path(FLAGS.tree_cache) if FLAGS.tree_cache else None
    if is_table:
        path = lanctot_table.make_table(folder, imports, trees, only=FLAGS.only)
        show(path.read_text(encoding="utf-8"))
        return 0
    experiment = EXPERIMENTS[name]
    table = {
        key: settings._replace(threads=FLAGS.threads)
        for key, settings in panels.sweep(
            experiment, seeds=FLAGS.seeds, only=FLAGS.only
        ).items()
    }
    remaining = sum(not sweeps.is_finished(folder, key) for key in table)
    show(f"{name}: {len(table)} settings, {remaining} to run, in {folder}")
    workers = FLAGS.workers or os.cpu_count() or 1
    with Bar(total=100.0, disable=not has_bars(), bar_format=sweeps.BAR) as bar:
        failures = sweeps.run_sweep(
            table,
            folder,
            executor_of(FLAGS)
            or functools.partial(local, workers=workers, run_main=False),
            lambda share: bar.update(100 * share - bar.n),
            imports=imports,
            trees=trees,
            checkpoint_every=FLAGS.checkpoint_every,
        )
    if any(sweeps.is_finished(folder, key) for key in table):
        summary = panels.summarize(experiment, folder)
        if load_plotting() is None:
            show("No figures: matplotlib is not installed (pip install matplotlib).")
        else:
            formats = FLAGS.figure_format or ("png", "svg")
            panels.save_experiment(experiment, summary, formats=formats)
    for key, error in failures:
        warn(f"{key} failed: {error}")
    show(f"{len(failures)} of {remaining} settings failed. Results are in {folder}")
    return 1 if failures else 0


def executor_of(values: flags.FlagValues) -> Executor | None:
    """The Ray cluster of the flags, or None for local processes."""
    if values.executor == "local":
        return None
    return functools.partial(on_ray, workers=values.workers, address=values.ray_address)
