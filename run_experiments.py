r"""Solves an OpenSpiel game and records how the policy converges.

  python run_experiments.py
  python run_experiments.py --game=kuhn_poker --players=3 --algorithm=cfr_plus
  python run_experiments.py --game="leduc_poker(suit_isomorphism=True)" \
      --sampling=outcome --epsilon=0.4 --minimizer=ftrl --step_size=0.5
  python run_experiments.py --algorithm=practical_egt --iterations=2000 --bounds
  python run_experiments.py --algorithm=sparsified_lp --method=interior_point

Prints a table of iterations, nodes touched, seconds of solving, NashConv and
exploitability, and leaves in --output_dir:

  results.csv       the same table, written row by row
  convergence.png   NashConv over nodes touched (needs matplotlib), and its bound
  policy.json       the average policy: information state -> action -> probability
                    (above 100,000 information states instead policy.bin, for
                    mccfr_spiel.SequencePolicy.load)
  evaluation.json   with --evaluate=sampled: values and gains, estimated by play
  solution.json     of a linear program: the value of the game, sizes and times
  program.mps       of a linear program that was not finished: for another solver
  settings.json     what was run, and with which versions
  solver.checkpoint what --resume goes on from, and the one before it (.previous)

The papers' experiments are sweeps of many such runs. Each leaves a table (summary.csv)
and figures (PNG and SVG) in results/EXPERIMENT or --output_dir; run again, whatever
ended it, it goes on where it was:

  python run_experiments.py --experiment=lanctot2009_table1
  python run_experiments.py --experiment=lanctot2009_figure1 --only=one_card
  python run_experiments.py --experiment=farina2020_figure3 --seeds=10 --workers=8
  python run_experiments.py --experiment=farina2020_figure4 --executor=ray

Ctrl-C (SIGINT) and SIGTERM end the run at a checkpoint, with the results so far on
disk; a second one ends it at once. Exit codes: 0 done, 1 error, 128 + the number of the
signal (130 Ctrl-C, 143 SIGTERM). After any end, a kill or a power cut included, the
same command with --resume goes on exactly where the newest checkpoint was made. The
offline methods (egt, practical_egt, mirror_prox, lp, sparsified_lp) make none.
"""

import functools
import importlib
import importlib.util
import os
import pathlib
import signal
import sys
import time
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from absl import app, flags
from tqdm import tqdm

from mccfr_spiel import (
    experiments,
    linear_program,
    offline,
    reproduction,
    sweeps,
    table_1,
)
from mccfr_spiel.algorithms import ALGORITHMS
from mccfr_spiel.evaluation import is_two_player_constant_sum
from mccfr_spiel.experiments import Settings
from mccfr_spiel.offline import LinearProgramRun, OfflineSolver
from mccfr_spiel.solver import Solver

FLAGS = flags.FLAGS
DEFAULT = Settings()

# The flags that make up the settings have the names of their fields.
flags.DEFINE_string("game", DEFAULT.game, "Any string that pyspiel.load_game takes.")
flags.DEFINE_integer("players", None, "Number of players, where the game has a choice.")
flags.DEFINE_enum(
    "algorithm",
    DEFAULT.algorithm,
    [*ALGORITHMS, *offline.ALGORITHMS],
    "What to run. --sampling, --minimizer, --averaging and --alternating replace parts "
    f"of it, except in {', '.join(offline.ALGORITHMS)}, which have none.",
)
flags.DEFINE_enum(
    "sampling", None, experiments.SAMPLINGS, "What a walk over the tree samples."
)
flags.DEFINE_float(
    "epsilon", None, "Exploration of outcome sampling, in (0, 1]; 0.6 if not given."
)
flags.DEFINE_enum(
    "minimizer", None, experiments.MINIMIZERS, "The rule that moves the policy."
)
flags.DEFINE_float(
    "step_size",
    None,
    "Step size of ftrl and omd, 1 if not given, or of mirror_prox, by default 1 over "
    "the largest entry of the payoff matrix.",
)
flags.DEFINE_enum(
    "weights",
    None,
    ["constant", "kroer"],
    "Weights of the dilated entropy in ftrl and omd; constant if not given.",
)
flags.DEFINE_float(
    "random_initial_regrets",
    None,
    "Start from random regrets between 0 and this, chosen by --seed; else from 0.",
)
flags.DEFINE_enum(
    "averaging",
    None,
    experiments.AVERAGINGS,
    "Weight of iteration t in the average policy: 1, t or t squared.",
)
flags.DEFINE_boolean(
    "alternating", None, "Update the players one after the other, or all at once."
)
flags.DEFINE_integer(
    "iterations",
    DEFAULT.iterations,
    "Number of iterations; each updates every player once.",
    lower_bound=1,
)
flags.DEFINE_integer(
    "until_nodes_touched",
    None,
    "Stop with the first iteration after which so many nodes have been touched, "
    "whatever --iterations says; rows are then spaced by nodes touched.",
    lower_bound=1,
)
flags.DEFINE_integer("seed", DEFAULT.seed, "Seed of all draws.")
flags.DEFINE_integer(
    "print_freq",
    None,
    "A row every so many iterations, or nodes with --until_nodes_touched; by default "
    "rows grow further apart.",
    lower_bound=1,
)
flags.DEFINE_integer(
    "rows_per_decade",
    DEFAULT.rows_per_decade,
    "How many rows from 10 to 100, from 100 to 1000, ..., without --print_freq.",
    lower_bound=1,
)
flags.DEFINE_integer(
    "rows_from",
    DEFAULT.rows_from,
    "The first of those rows is not due before that.",
    lower_bound=1,
)
flags.DEFINE_float(
    "until_nash_conv", None, "Stop at the first row whose NashConv is not above this."
)
flags.DEFINE_enum(
    "evaluate",
    DEFAULT.evaluate,
    experiments.EVALUATIONS,
    "exact: NashConv in each row, which takes the whole game tree. sampled: at the end "
    "the policy is played, for its value and for a lower bound of what a best response "
    "gains (evaluation.json). none: only solve.",
)
flags.DEFINE_integer(
    "evaluation_plays",
    10_000,
    "Plays for each estimate of --evaluate=sampled.",
    lower_bound=2,
)
flags.DEFINE_float(
    "evaluation_seconds",
    20.0,
    "Seconds of learning a response for each player, with --evaluate=sampled.",
    lower_bound=0.0,
)
flags.DEFINE_boolean(
    "bounds",
    DEFAULT.bounds,
    "Add the theorem's bound on NashConv, which holds with probability 0.95 where "
    "something is sampled, to results.csv and the picture.",
)
flags.DEFINE_enum(
    "method",
    None,
    linear_program.METHODS,
    "How HiGHS solves the linear program; simplex if not given.",
)
flags.DEFINE_enum(
    "factorization",
    None,
    linear_program.SPARSIFICATIONS,
    "How sparsified_lp factors the payoff matrix; differences if not given.",
)
flags.DEFINE_float("time_limit", None, "Seconds for HiGHS; none if not given.")
flags.DEFINE_integer(
    "max_nodes", DEFAULT.max_nodes, "The most nodes of the tree kept in memory."
)
flags.DEFINE_string(
    "output_dir",
    None,
    "Folder for the results; by default a new one below results/, named by the game, "
    "the algorithm and the seed.",
)
flags.DEFINE_boolean("overwrite", False, "Replace the results in --output_dir.")
flags.DEFINE_float(
    "checkpoint_every",
    600.0,
    "Seconds between checkpoints; a run also begins and ends with one.",
    lower_bound=0.0,
)
flags.DEFINE_boolean(
    "resume",
    False,
    "Go on with the run in --output_dir, with its settings; begin it if there is none. "
    f"Only {' and '.join(experiments.CHANGEABLE)} may be others.",
)
flags.DEFINE_list(
    "import",
    [],
    "Python modules to import first, such as those that register a game of yours.",
)

flags.DEFINE_enum(
    "experiment",
    None,
    [table_1.NAME, *reproduction.EXPERIMENTS],
    "A table or figure of the papers, in place of a single run.",
)
flags.DEFINE_integer(
    "seeds", None, "Seeds of an experiment; as many as in the paper if not given."
)
flags.DEFINE_string(
    "only", "", "Of an experiment, only the settings with this in their name."
)
flags.DEFINE_enum(
    "executor", "local", ["local", "ray"], "What runs an experiment's settings."
)
flags.DEFINE_integer(
    "workers",
    None,
    "Processes of an experiment; one for each core, or all of the cluster's.",
    lower_bound=1,
)
flags.DEFINE_string(
    "ray_address", None, "Of a Ray cluster; one is started here if not given."
)
flags.DEFINE_string(
    "tree_cache", None, "Folder of an experiment's game trees; the user's cache folder."
)

EXPERIMENT_FLAGS = (
    "seeds",
    "only",
    "executor",
    "workers",
    "ray_address",
    "tree_cache",
)
ALGORITHM_FLAGS = (
    "algorithm",
    "sampling",
    "epsilon",
    "minimizer",
    "step_size",
    "weights",
    "random_initial_regrets",
    "averaging",
    "alternating",
    "method",
    "factorization",
    "time_limit",
    "seed",
)


class Stopped(KeyboardInterrupt):
    """A signal ended the program."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = 128 + number


class Signals:
    """SIGINT and SIGTERM: they raise Stopped, or wait to be looked at while `wait`."""

    def __init__(self) -> None:
        self.wait = False
        self.received: int | None = None
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._receive)

    def close(self) -> None:
        """Ignores them from now on: Python is about to end, with all work done."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)

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
        values = FLAGS.flag_values_dict()
        imports = import_games(values["import"])
        if values["experiment"] is not None:
            return run_experiment(values["experiment"], imports)
        for name in EXPERIMENT_FLAGS:
            if FLAGS[name].present:
                raise ValueError(f"--{name} takes an --experiment.")
        settings = Settings(**{name: values[name] for name in Settings._fields})
        return solve(settings, signals)
    except (ValueError, OSError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    except Stopped as error:
        print("Interrupted.", file=sys.stderr)
        return error.exit_code
    finally:
        signals.close()


def import_games(modules: Sequence[str]) -> list[str]:
    """Imports what registers games: ours, where they are, and the user's."""
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
    return [*imported, *modules]


def run_experiment(name: str, imports: Sequence[str]) -> int:
    """Runs a table or figure of the papers; returns the exit code."""
    for flag in Settings._fields:
        if FLAGS[flag].present:
            raise ValueError(f"--{flag} is fixed by --experiment={name}; drop it.")
    folder = pathlib.Path(FLAGS.output_dir or pathlib.Path("results", name))
    trees = FLAGS.tree_cache and pathlib.Path(FLAGS.tree_cache)
    if name == table_1.NAME:
        path = table_1.make_table(folder, imports, trees, only=FLAGS.only)
        print(path.read_text(encoding="utf-8"))
        return 0
    experiment = reproduction.EXPERIMENTS[name]
    table = reproduction.sweep(experiment, seeds=FLAGS.seeds, only=FLAGS.only)
    todo = sum(not sweeps.is_finished(folder, key) for key in table)
    print(f"{name}: {len(table)} settings, {todo} to run, in {folder}", flush=True)
    if FLAGS.executor == "ray":
        executor = functools.partial(
            sweeps.on_ray, workers=FLAGS.workers, address=FLAGS.ray_address
        )
    else:
        workers = FLAGS.workers or os.cpu_count() or 1
        executor = functools.partial(sweeps.local, workers=workers)
    with tqdm(total=100.0, disable=not sys.stderr.isatty(), bar_format=BAR) as bar:
        failures = sweeps.run_sweep(
            table,
            folder,
            executor,
            lambda share: bar.update(100 * share - bar.n),
            imports=imports,
            trees=trees,
            checkpoint_every=FLAGS.checkpoint_every,
        )
    summary = reproduction.summarize(experiment, folder)
    plotting = load_plotting()
    if plotting is None:
        print("No figures: matplotlib is not installed (pip install matplotlib).")
    else:
        plotting.save_experiment(experiment, summary)
    for key, error in failures:
        print(f"{key} failed: {error}", file=sys.stderr)
    print(f"{len(failures)} of {todo} settings failed. Results are in {folder}")
    return 1 if failures else 0


BAR = "{percentage:5.1f} % |{bar}| {elapsed} so far, {remaining} to go"


def solve(settings: Settings, signals: Signals) -> int:
    """Runs the settings into a folder; returns the exit code."""
    output_dir, resume, overwrite = FLAGS.output_dir, FLAGS.resume, FLAGS.overwrite
    if resume and overwrite:
        raise ValueError("--resume keeps results and --overwrite drops them; drop one.")
    if resume and experiments.is_offline(settings):
        raise ValueError(f"{settings.algorithm} makes no checkpoints; drop --resume.")
    experiments.check(settings)
    fresh = not overwrite and not resume
    folder = experiments.default_folder(settings, fresh=fresh)
    if output_dir is not None:
        folder = pathlib.Path(output_dir)
    resumed = resume and (folder / experiments.SETTINGS).exists()
    if resumed:
        given = {name for name in Settings._fields if FLAGS[name].present}
        given = {name: getattr(settings, name) for name in given}
        settings = experiments.resumed_settings(folder, given)
        experiments.check(settings)
    else:
        experiments.prepare_folder(folder, overwrite=overwrite)
        experiments.write_settings(folder / experiments.SETTINGS, settings)
    plotting = load_plotting()  # now: a first import takes longer than Ctrl-C should
    whole = ", its whole tree for NashConv (not with --evaluate=sampled)"
    print(
        f"Preparing {experiments.load_string(settings)}"
        f"{whole if settings.evaluate == 'exact' else ''} ...",
        flush=True,
    )
    experiments.warm_up(settings)
    solver, kept = make_or_load(settings, folder, resumed=resumed)
    print(describe(solver, settings), flush=True)
    signals.wait = not isinstance(solver, LinearProgramRun)
    if not signals.wait:  # HiGHS hears no signal, and leaves nothing worth keeping
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        gap = print_and_record(solver, settings, folder, kept, signals)
    except linear_program.LinearProgramError as error:
        path = experiments.write_unfinished(folder, error)
        raise ValueError(f"{error} The program is in {path}.") from error
    if signals.received is not None:
        print("Interrupted: writing what there is.", file=sys.stderr, flush=True)
    experiments.write_policy(folder, solver.average_policy())
    signals.wait = False  # all that took long is on disk
    if isinstance(solver, LinearProgramRun):
        found = experiments.write_solution(folder / experiments.SOLUTION, solver)
        print(f"Value for player 0: {found['value']:.12g}")
    if settings.evaluate == "sampled" and signals.received is None:
        print_evaluation(solver, folder / experiments.EVALUATION)
    target = settings.until_nash_conv
    if target is not None and gap is not None:
        print(f"NashConv {target:g} was {'' if gap <= target else 'not '}reached.")
    if plotting is None:
        print("No picture: matplotlib is not installed (pip install matplotlib).")
    elif settings.evaluate == "exact" and not isinstance(solver, LinearProgramRun):
        plotting.save_convergence(
            {settings.algorithm: folder / experiments.RESULTS},
            folder / experiments.PICTURE,
            title=experiments.load_string(settings),
        )
    print(f"Results are in {folder}")
    return 0 if signals.received is None else 128 + signals.received


def make_or_load(
    settings: Settings, folder: pathlib.Path, *, resumed: bool
) -> tuple[Solver | OfflineSolver, list[dict[str, Any]]]:
    """The solver, new or from a checkpoint in the folder, and the rows there are."""
    if resumed:
        try:
            solver = experiments.load_solver(settings, folder / experiments.CHECKPOINT)
        except FileNotFoundError:
            print("There is no checkpoint yet: the run begins anew.")
        else:
            experiments.write_settings(folder / experiments.SETTINGS, settings)
            results = folder / experiments.RESULTS
            done = solver.num_iterations
            print(f"Resumed after {done:,} iterations.")
            return solver, experiments.read_rows(results, settings, solver)
    solver = experiments.make_solver(settings)
    if isinstance(solver, Solver):
        experiments.first_checkpoint(solver, folder)
    return solver, []


def print_evaluation(solver: Solver | OfflineSolver, path: pathlib.Path) -> None:
    """Plays the average policy; the estimates go to the screen and into a file."""
    print("Playing the average policy ...", flush=True)
    result = experiments.write_evaluation(
        path,
        solver.average_policy(),
        plays=FLAGS.evaluation_plays,
        seconds=FLAGS.evaluation_seconds,
    )
    for player, estimates in enumerate(result["players"]):
        print(f"player {player}, 95% intervals from {result['plays']:,} plays:")
        for name, estimate in estimates.items():
            mean, half_width = estimate["mean"], estimate["half_width"]
            print(f"  {name.replace('_', ' ')}: {mean:.5g} +- {half_width:.2g}")
    print("The gain is a lower bound of what a best response gains; not NashConv.")


def load_plotting() -> ModuleType | None:
    """The module that draws; None without matplotlib."""
    try:
        return importlib.import_module("mccfr_spiel.plotting")
    except ImportError:
        return None


def describe(solver: Solver | OfflineSolver, settings: Settings) -> str:
    """What is about to run, in a few lines."""
    tree = solver.tree
    parts = [f"{tree.source}: {tree.num_players} players"]
    if tree.is_complete:
        parts.append(f"{tree.num_nodes:,} nodes, {tree.num_infosets:,} infosets")
    chosen = (
        f"{name}={value}"
        for name, value in settings._asdict().items()
        if name in ALGORITHM_FLAGS and value is not None
    )
    lines = [", ".join(parts), ", ".join(chosen)]
    if settings.evaluate == "exact" and not is_two_player_constant_sum(tree.game):
        lines.append(
            "Not a two-player zero-sum game: there is no exploitability, and NashConv "
            "may not approach 0."
        )
    return "\n".join(lines)


def print_and_record(
    solver: Solver | OfflineSolver,
    settings: Settings,
    folder: pathlib.Path,
    kept: Sequence[dict[str, Any]],
    signals: Signals,
) -> float | None:
    """Runs the solver; each row goes to the screen and into the file as it comes.

    Ends with a checkpoint. Returns the last NashConv.
    """
    with (
        experiments.RowWriter(folder / experiments.RESULTS, kept) as writer,
        tqdm(
            total=settings.until_nodes_touched or settings.iterations,
            disable=not sys.stderr.isatty(),
            unit="it" if settings.until_nodes_touched is None else "nodes",
            unit_scale=True,
            leave=False,
        ) as bar,
    ):

        def save() -> None:
            writer.sync()  # first: a checkpoint must not be ahead of the rows
            if isinstance(solver, Solver):
                solver.save(folder / experiments.CHECKPOINT)

        watch = make_watch(save, bar, signals)
        tqdm.write(HEADER)
        last = None
        for row in kept:
            tqdm.write(format_row(row))
            last = row
        for row in experiments.rows(solver, settings, watch, kept=kept):
            writer.write(row)
            tqdm.write(format_row(row))
            sys.stdout.flush()
            last = row
        save()
    return last["nash_conv"] if last else None


def make_watch(
    save: Callable[[], None], bar: Any, signals: Signals
) -> Callable[[int], bool]:
    """What `experiments.rows` calls: moves the bar, saves, and tells when to stop."""
    saved = time.monotonic()

    def watch(done: int) -> bool:
        nonlocal saved
        bar.update(done - bar.n)
        if time.monotonic() - saved >= FLAGS.checkpoint_every:
            try:
                save()
            except OSError as error:  # the work is worth more; it may be better later
                tqdm.write(f"No checkpoint: {error}", file=sys.stderr)
            saved = time.monotonic()
        return signals.received is not None

    return watch


HEADER = (
    f"{'iteration':>12} {'nodes touched':>15} {'seconds':>9} {'NashConv':>12} "
    f"{'exploitability':>14}"
)


def format_row(row: dict[str, Any]) -> str:
    """A row under HEADER; exploitability is NashConv / 2."""

    def measure(value: float | None) -> str:
        return "-" if value is None else f"{value:.6g}"

    return (
        f"{row['iteration']:>12,} {row['nodes_touched']:>15,} {row['seconds']:>9.3f} "
        f"{measure(row['nash_conv']):>12} {measure(row['exploitability']):>14}"
    )


if __name__ == "__main__":
    app.run(main)
