r"""Solves an OpenSpiel game and records how the policy converges.

  python run_experiments.py
  python run_experiments.py --game=kuhn_poker --players=3 --algorithm=cfr_plus
  python run_experiments.py --game="leduc_poker(suit_isomorphism=True)" \
      --sampling=outcome --epsilon=0.4 --minimizer=ftrl --step_size=0.5
  python run_experiments.py --algorithm=hs_dcfr --iterations=1000 --evaluate_last
  python run_experiments.py --algorithm=practical_egt --iterations=2000 --bounds
  python run_experiments.py --algorithm=sparsified_lp --method=interior_point

Prints a table of iterations, nodes touched, seconds of solving, NashConv and
exploitability, and leaves in --output_dir:

  results.csv       the same table, written row by row
  convergence.png   NashConv over nodes touched (needs matplotlib), and its bound
  policy.json       the average policy: the game, and for each player information
                    state -> action -> probability (above 100,000 information states
                    instead policy.bin); mccfr_spiel.load_policy reads it
  evaluation.json   with --evaluate=sampled: values and gains, estimated by play
  solution.json     of a linear program: the value of the game, sizes and times
  program.mps       of a linear program that was not finished: for another solver
  settings.json     what was run, and with which versions
  solver.checkpoint where --resume goes on, and the checkpoint before it (.previous)
  failed.json       of a run that an error has ended: the error, and when it came

The papers' experiments are sweeps of many such runs. Each leaves a table (summary.csv)
and figures (PNG and SVG) in results/EXPERIMENT or --output_dir. When one is run again,
it goes on where it was, whatever ended it:

  python run_experiments.py --experiment=lanctot2009_table1
  python run_experiments.py --experiment=lanctot2009_figure1 --only=one_card
  python run_experiments.py --experiment=farina2020_figure3 --seeds=10 --workers=8
  python run_experiments.py --experiment=farina2020_figure4 --executor=ray

Ctrl-C (SIGINT) and SIGTERM end the run at a checkpoint, with the results so far on
disk; a second signal ends it at once. Exit codes: 0 done, 1 error, 128 + the number of
the signal (130 Ctrl-C, 143 SIGTERM). However a run has ended, even by a kill or a power
cut, the same command with --resume goes on exactly where the newest checkpoint was
made; only the offline methods (egt, practical_egt, mirror_prox, lp, sparsified_lp) make
no checkpoints. If something cannot be written in --output_dir at the end, because the
disk is full or the folder was deleted, it goes to a new folder in the working directory
or to the folder of temporary files.
"""

import functools
import importlib
import importlib.util
import os
import pathlib
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any, cast

import pyspiel
from absl import app, flags
from tqdm import tqdm

from mccfr_spiel.experiments import reproduction, sweeps, table_1
from mccfr_spiel.experiments.command_flags import define_flags
from mccfr_spiel.experiments.flags import EXPERIMENT_FLAGS, KINDS, Flags
from mccfr_spiel.experiments.panels import Experiment
from mccfr_spiel.experiments.screen import warn
from mccfr_spiel.experiments.single_run import Request, load_plotting, solve

FLAGS = flags.FLAGS
define_flags()

BAR = "{percentage:5.1f} % |{bar}| {elapsed} so far, {remaining} to go"


class Stopped(KeyboardInterrupt):
    """A signal ended the program."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = 128 + number


class Signals:
    """Handlers for SIGINT and SIGTERM.

    Attributes:
        wait: while it is True, the first signal is only noted, so that the run can end
            in order. Any other signal raises Stopped.
        received: the number of the signal that was noted, or None.
    """

    def __init__(self) -> None:
        self.wait = False
        self.received: int | None = None
        self._handle(self._receive)

    def restore(self) -> None:
        """Lets signals end the process at once, as they do without handlers."""
        self._handle(signal.SIG_DFL)

    def close(self) -> None:
        """Ignores signals from now on: all work is done and Python is about to end."""
        self._handle(signal.SIG_IGN)

    def _handle(self, handler: Callable[[int, Any], Any] | signal.Handlers) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, handler)

    def _receive(self, number: int, _frame: object) -> None:
        if not self.wait or self.received is not None:
            raise Stopped(number)
        self.received = number


def main(argv: Sequence[str]) -> int:
    """Runs what the flags say; returns the exit code."""
    signals = Signals()
    try:
        if len(argv) > 1:
            raise ValueError(f"{argv[1]!r} is not a flag. Flags begin with --.")
        imports = import_games(FLAGS["import"].value or [])
        if FLAGS.experiment is not None:
            return run_experiment(FLAGS.experiment, imports)
        for name in EXPERIMENT_FLAGS:
            if FLAGS[name].present:
                raise ValueError(f"--{name} takes an --experiment.")
        return solve(request(), signals)
    except (ValueError, OSError, MemoryError, pyspiel.SpielError) as error:
        notes = getattr(error, "__notes__", ())  # such as the history that led there
        warn(" ".join(["Error:", str(error) or "There is not enough memory.", *notes]))
        return 1
    except Stopped as error:
        notes = getattr(error, "__notes__", ())  # what was kept
        print(" ".join(["Interrupted.", *notes]), file=sys.stderr)
        return error.exit_code
    finally:
        signals.close()


def import_games(modules: Sequence[str]) -> list[str]:
    """Imports the modules that register games: ours, if they are there, and the user's.

    Raises:
        ValueError: a module cannot be imported, or its code raises an error.
    """
    imported = []
    if importlib.util.find_spec("games") is not None:
        importlib.import_module("games")
        imported = ["games"]
    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise ValueError(
                f"--import={module}: {error}. Is it installed, or its folder on "
                "PYTHONPATH?"
            ) from error
        except (Exception, SystemExit) as error:  # modules raise what they like
            traceback.print_exception(error)
            raise ValueError(
                f"--import={module}: the module ends in {type(error).__name__}: {error}"
            ) from error
    return [*imported, *modules]


def request() -> Request:
    """What the flags ask for of a single run."""
    values = {name: FLAGS[name].value for name in KINDS}
    given = {name: value for name, value in values.items() if FLAGS[name].present}
    return Request(
        cast(Flags, values),
        cast(Flags, given),
        output_dir=FLAGS.output_dir,
        resume=FLAGS.resume,
        overwrite=FLAGS.overwrite,
        checkpoint_every=FLAGS.checkpoint_every,
        plays=FLAGS.evaluation_plays,
        play_seconds=FLAGS.evaluation_seconds,
    )


def run_experiment(name: str, imports: Sequence[str]) -> int:
    """Runs a table or figure of the papers; returns the exit code."""
    for flag in KINDS:
        if FLAGS[flag].present:
            raise ValueError(f"--{flag} is fixed by --experiment={name}; drop it.")
    folder = pathlib.Path(FLAGS.output_dir or pathlib.Path("results", name))
    trees = pathlib.Path(FLAGS.tree_cache) if FLAGS.tree_cache else None
    if name == table_1.NAME:
        path = table_1.make_table(folder, imports, trees, only=FLAGS.only)
        print(path.read_text(encoding="utf-8"))
        return 0
    experiment = reproduction.EXPERIMENTS[name]
    table = reproduction.sweep(experiment, seeds=FLAGS.seeds, only=FLAGS.only)
    todo = sum(not sweeps.is_finished(folder, key) for key in table)
    print(f"{name}: {len(table)} settings, {todo} to run, in {folder}", flush=True)
    with tqdm(total=100.0, disable=not sys.stderr.isatty(), bar_format=BAR) as bar:
        failures = sweeps.run_sweep(
            table,
            folder,
            executor(),
            lambda share: bar.update(100 * share - bar.n),
            imports=imports,
            trees=trees,
            checkpoint_every=FLAGS.checkpoint_every,
        )
    summarize_and_draw(experiment, folder)
    for key, error in failures:
        print(f"{key} failed: {error}", file=sys.stderr)
    print(f"{len(failures)} of {todo} settings failed. Results are in {folder}")
    return 1 if failures else 0


def executor() -> sweeps.Executor:
    """What runs the settings of an experiment."""
    if FLAGS.executor == "ray":
        return functools.partial(
            sweeps.on_ray, workers=FLAGS.workers, address=FLAGS.ray_address
        )
    return functools.partial(sweeps.local, workers=FLAGS.workers or os.cpu_count() or 1)


def summarize_and_draw(experiment: Experiment, folder: pathlib.Path) -> None:
    """Writes the means over seeds, and the figures if matplotlib is there."""
    summary = reproduction.summarize(experiment, folder)
    plotting = load_plotting()
    if plotting is None:
        print("No figures: matplotlib is not installed (pip install matplotlib).")
    else:
        plotting.save_experiment(experiment, summary)


if __name__ == "__main__":
    app.run(main)
