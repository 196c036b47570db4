"""The commands `solve` and `experiment`, and run_experiments.py, which does both.

The flags are absl's, defined once for the process; `main.py` gives each command its
own.
"""

import contextlib
import functools
import importlib
import json
import logging
import os
import pathlib
import shlex
import signal
import traceback
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pyspiel
from absl import flags

from mccfr_spiel.arenas.infosets.loading import pot_of
from mccfr_spiel.command_line import terminal
from mccfr_spiel.command_line.terminal import (
    OverdueError,
    Signals,
    has_bars,
    show,
    warn,
)
from mccfr_spiel.common import folders
from mccfr_spiel.common.display import Bar, brief, counted, player_name, plus_minus
from mccfr_spiel.common.limits import in_words, resident
from mccfr_spiel.evaluation import exact, metrics, responses
from mccfr_spiel.experiments import panels, runs, sweeps
from mccfr_spiel.experiments.algorithm_names import import_games, name_of
from mccfr_spiel.experiments.runs import Recording, words_of_error
from mccfr_spiel.experiments.settings import (
    SETTINGS,
    Flags,
    Settings,
    check,
    description,
    measure,
    named_settings,
)
from mccfr_spiel.kernels.jit import seconds_compiled
from mccfr_spiel.offline import GameSolver, LinearProgramRun
from mccfr_spiel.offline.linear_program import LinearProgramError, write_program
from mccfr_spiel.solving.reading import write_policy
from mccfr_spiel.solving.running import COUNTERS
from mccfr_spiel.solving.solver import Solver

if TYPE_CHECKING:
    from mccfr_spiel.solving.cluster import Cluster

FLAGS = flags.FLAGS
terminal.define_flags()


def main(argv: Sequence[str]) -> int:
    """Runs what the flags of run_experiments.py say; returns the exit code."""
    # absl shows what libraries log. What matplotlib's one for PDF says is no news.
    logging.getLogger("fontTools").setLevel(logging.WARNING)
    return terminal.guarded(lambda signals: _run(argv, signals))


def _run(argv: Sequence[str], signals: Signals) -> int:
    if len(argv) > 1:
        raise ValueError(f"{argv[1]!r} is not a flag. Flags begin with --.")
    if FLAGS.experiment is not None:
        return run_experiment(FLAGS.experiment)
    for name in terminal.OF_EXPERIMENTS:
        if FLAGS[name].present:
            raise ValueError(f"--{name} takes an --experiment.")
    return solve(signals)


def imported_games() -> list[str]:
    """The modules that register games, ours and the user's, which are imported."""
    return import_games(FLAGS["import"].value or [])


def load_plotting() -> ModuleType | None:
    """The module that draws; None without matplotlib."""
    try:
        return importlib.import_module("mccfr_spiel.experiments.plotting")
    except ImportError:
        return None


# --- a single run: its folder -----------------------------------------------------


def solve(signals: Signals) -> int:
    """Solves the game of the flags; returns the exit code.

    Raises:
        ValueError: the flags contradict each other or the run is not possible.
        OSError: a file cannot be written. The newest checkpoint is good.
    """
    cluster = _cluster(imported_games())
    resume, overwrite = FLAGS.resume, FLAGS.overwrite
    if resume and overwrite:
        raise ValueError("--resume keeps results and --overwrite drops them; drop one.")
    told: Flags = {name: FLAGS[name].value for name in SETTINGS}
    if FLAGS.output_dir is not None:
        folder = pathlib.Path(FLAGS.output_dir)
    else:
        fresh = not (overwrite or resume)
        folder = runs.default_folder(named_settings(**told), fresh=fresh)
    names = folders.SETTINGS, folders.CHECKPOINT, folders.CHECKPOINT + folders.PREVIOUS
    goes_on = resume and any((folder / name).exists() for name in names)
    if goes_on:
        given = {name: one for name, one in told.items() if FLAGS[name].present}
        told = runs.resumed_flags(folder, given, told)
    settings = named_settings(**told)
    if resume and not settings.is_resumable:
        raise ValueError(
            f"{told.get('algorithm')} makes no checkpoints; drop --resume."
        )
    check(settings, splits=cluster is not None)
    if not goes_on:
        runs.open_folder(folder, overwrite=overwrite, resume=resume)
        if resume:
            show(f"There is no run in {folder} yet: it begins.")
    try:
        with folders.held(folder):
            # What killed runs were writing: this run holds the folder alone.
            for part in folder.glob("*" + folders.PARTS):
                part.unlink(missing_ok=True)
            about = description(settings, told)
            with contextlib.closing(
                _recording(settings, about, folder, cluster, goes_on=goes_on)
            ) as recording:
                try:
                    return _record(recording, folder, signals)
                except (OSError, KeyboardInterrupt) as error:
                    if (folder / folders.CHECKPOINT).exists():
                        error.add_note(
                            f"The newest checkpoint in {folder} is good: --resume goes "
                            "on from it."
                        )
                    raise
    finally:
        with contextlib.suppress(OSError):
            folder.rmdir()  # if it is empty, because the run was not possible


def _cluster(modules: Sequence[str]) -> "Cluster | None":
    """Where the batches of a single run are split; None if the flags name no cluster.

    Args:
        modules: those that register games, which workers import, too.

    Raises:
        ValueError: flags of a cluster are given without one.
    """
    if FLAGS.executor == "ray":
        from mccfr_spiel.solving.cluster import Ray

        prepare = functools.partial(import_games, tuple(modules))
        threads = FLAGS.threads or 1
        return Ray(FLAGS.workers, FLAGS.ray_address, threads, prepare=prepare)
    for name in terminal.CLUSTER:
        if FLAGS[name].present and name != "executor":
            raise ValueError(
                f"--{name} of a single run takes --executor=ray; threads of this "
                "process are --threads."
            )
    return None


def _recording(
    settings: Settings,
    about: Mapping[str, Any],
    folder: pathlib.Path,
    cluster: "Cluster | None",
    *,
    goes_on: bool,
) -> Recording:
    """Makes the solver, new or from a checkpoint in the folder, and begins the files.

    Args:
        settings: the run.
        about: the content of settings.json.
        folder: of the run; it is held.
        cluster: where batches are split.
        goes_on: whether the folder has a run that goes on.
    """
    whole = ", its whole tree for NashConv (not with --evaluate=sampled)"
    is_whole = settings.evaluate == "exact" and settings.store in ("auto", "tree")
    show(f"Preparing {brief(settings.game)}{whole * is_whole} ...")
    rows, checkpoint = folder / folders.RESULTS, folder / folders.CHECKPOINT
    kept, solver = [], None
    if goes_on:
        try:
            solver = runs.load_solver(settings, checkpoint, cluster=cluster)
        except FileNotFoundError:
            show("There is no checkpoint yet: the run begins anew.")
        except folders.DamagedError as error:
            raise ValueError(
                f"{error} There is nothing left to resume from; use --overwrite to "
                "begin again."
            ) from error
    if solver is not None:
        kept, is_missing = runs.read_rows(rows, settings, solver)
        folders.write_json(folder / folders.SETTINGS, about)
        show(f"Resumed after {solver.num_iterations:,} iterations.")
        if getattr(solver, COUNTERS[measure(settings)]) < settings.last:
            for name in (folders.POLICY, folders.BINARY_POLICY, folders.EVALUATION):
                (folder / name).unlink(missing_ok=True)  # the checkpoint is ahead soon
        if is_missing:
            warn(
                f"{rows} lacks rows from before the checkpoint. The run goes on "
                "without them."
            )
    else:
        solver = runs.make_solver(settings, cluster=cluster)
        # The new run is possible, so that the files of an older one may go, with what
        # a kill has left of a policy.
        old = [folder / name for name in folders.ALL_FILES]
        for path in [*old, *folders.kept_policies(folder).values()]:
            path.unlink(missing_ok=True)
        folders.write_json(folder / folders.SETTINGS, about)
        if isinstance(solver, Solver):
            solver.save(checkpoint)
    # matplotlib is imported now, because importing it later would delay Ctrl-C, and
    # before the time is taken that passes between checkpoints.
    load_plotting()
    every = FLAGS.checkpoint_every
    return Recording(rows, checkpoint, settings, solver, kept, checkpoint_every=every)


# --- a single run: its course -----------------------------------------------------


_WIDTHS = {
    **{"iteration": 12, "nodes touched": 15, "seconds": 9, "NashConv": 12},
    **{"exploitability": 14, "% of the pot": 14, "last NashConv": 14},
}
"""The columns of a run's rows, and how wide they are."""

_SOON_WRITTEN, _SOON_SAVED = 50_000, 10**8
"""The most infosets of a policy, and the most bytes of a solver, that are written while
somebody waits for the prompt."""


def _record(recording: Recording, folder: pathlib.Path, signals: Signals) -> int:
    """Runs the solver and writes what it finds; returns the exit code."""
    settings, solver = recording.settings, recording.solver
    show(_described(solver, settings))
    signals.wait = settings.is_iterative
    if not signals.wait:  # HiGHS ignores signals, and leaves nothing worth keeping
        signals.handle(signal.SIG_DFL)
    error = _show_rows(recording, folder, signals)
    has_results = solver.num_iterations > 0
    try:
        if signals.received is None:
            recording.save()
            if has_results:
                write_policy(folder, solver.average_policy())
        else:
            _write_interrupted(recording, folder, signals)
    except Exception as second:
        if error is None:
            raise
        words = words_of_error(second)
        error.add_note(f"Not all that was found could be written: {words}")
    signals.wait = False  # all that took long is on disk
    if error is None and signals.received is None:
        _evaluate(recording, folder)
    if (plotting := load_plotting()) is None:
        show("No picture: matplotlib is not installed (pip install matplotlib).")
    elif has_results:
        _draw(settings, folder, plotting)
    if error is not None:
        if not isinstance(error, runs.IN_WORDS):  # a bug, mostly in a game's code
            traceback.print_exception(error)
        done = f"{solver.num_iterations:,} iterations"
        warn(f"Error after {done}: {words_of_error(error)}")
    if (took := seconds_compiled()) > 1.0:
        show(f"Compiled in {took:.0f} s, not counted above; kept for the next run.")
    if has_results:
        show(f"Results are in {folder}")
    else:
        show(f"No iteration was completed, so there are no results in {folder}")
    if signals.received is not None:
        return 128 + signals.received
    return 1 if error is not None else 0


def _write_interrupted(
    recording: Recording, folder: pathlib.Path, signals: Signals
) -> None:
    """Writes the checkpoint, and the policy if it is small, after a signal.

    A large solver that was stopped in the middle of an iteration is not saved, because
    whoever sent the signal may not wait for that.
    """
    settings, solver = recording.settings, recording.solver
    done = counted(solver.num_iterations, "iteration")
    if signals.was_overdue and solver.tree.budget.taken > _SOON_SAVED:
        recording.sync()
        warn(
            f"Interrupted after {done}, in the middle of a long one. The solver is "
            f"large and not saved: the newest checkpoint in {folder} stays."
        )
        return
    warn(f"Interrupted after {done}: writing the checkpoint.")
    recording.save()
    if not solver.num_iterations:
        return
    if solver.tree.num_infosets <= _SOON_WRITTEN:
        write_policy(folder, solver.average_policy())
        return
    limit = f"iterations={solver.num_iterations}"
    if settings.until_nodes_touched is not None:
        limit = f"until_nodes_touched={solver.nodes_touched}"
    warn(
        "The policy is large and not written; ms.load_policy reads it from "
        f"the checkpoint in {folder}, and this command writes it: "
        f"mccfr-spiel solve --resume --output_dir={shlex.quote(str(folder))} "
        f"--{limit}"
    )


def _described(solver: GameSolver, settings: Settings) -> str:
    """What is about to run, in a few lines."""
    tree = solver.tree
    parts = [f"{brief(tree.source)}: {tree.num_players} players"]
    if tree.is_complete:
        parts.append(f"{tree.num_nodes:,} nodes, {tree.num_infosets:,} infosets")
    elif tree.knows_all_infosets:
        parts.append(f"{tree.num_infosets:,} infosets")
    method = settings.algorithm
    words = f"{name_of(method)}: {method!r}, seed={settings.seed}"
    lines = [", ".join(parts), words]
    if settings.evaluate == "exact" and not exact.is_two_player_constant_sum(tree.game):
        lines.append(
            "Not a two-player zero-sum game: there is no exploitability, and NashConv "
            "may not approach 0."
        )
    return "\n".join(lines)


def _show_rows(
    recording: Recording, folder: pathlib.Path, signals: Signals
) -> Exception | None:
    """Runs the solver; each row goes to the screen and into the file as it comes.

    Returns the error that ended the run, if there was one after which what has been
    found can still be written.
    """
    settings, solver, kept = recording.settings, recording.solver, recording.kept
    pot = pot_of(solver.tree.game)
    may = {"% of the pot": pot > 0, "last NashConv": settings.evaluate_last}
    widths = {name: one for name, one in _WIDTHS.items() if may.get(name, True)}

    def tell(words: Mapping[str, str]) -> None:
        show(" ".join(f"{words[name]:>{width}}" for name, width in widths.items()))

    with Bar(
        total=settings.last,
        disable=not has_bars(),
        unit="it" if settings.until_nodes_touched is None else "nodes",
        unit_scale=True,
        leave=False,
    ) as bar:

        def watch(done: int) -> bool:
            bar.update(done - bar.n)
            return signals.received is not None

        tell({name: name for name in widths})
        for row in kept:
            tell(words_of(row, pot))
        gap = kept[-1]["nash_conv"] if kept else None
        # Other methods than Solver may not be left in the middle of an iteration.
        is_safe = isinstance(solver, Solver)
        try:
            with signals.interrupting() if is_safe else contextlib.nullcontext():
                for row in recording.rows(watch):
                    tell(words_of(row, pot))
                    gap = row["nash_conv"]
                    if gap is not None:
                        postfix = f"NashConv {gap:.3g}, {in_words(resident())}"
                        bar.set_postfix_str(postfix)
        except OverdueError:
            return None  # the solver stands between two updates
        except LinearProgramError as error:
            # Other solvers of linear programs may finish what HiGHS did not.
            path, game = folder / folders.PROGRAM, error.form.tree.game
            write_program(error.program, path, game.get_type().short_name)
            raise ValueError(f"{error} The program is in {path}.") from error
        except OSError:
            raise
        except Exception as error:  # whatever it is, the results so far must be saved
            return error
    target = settings.target(pot)
    if target is not None and gap is not None:
        show(f"NashConv {target:g} was {'' if gap <= target else 'not '}reached.")
    return None


def words_of(row: dict[str, Any], pot: float) -> dict[str, str]:
    """What a row has under the names of its columns; exploitability is NashConv / 2,
    also in % of the pot if there is one."""
    gap = row["nash_conv"]
    measured = {
        "NashConv": gap,
        "exploitability": row["exploitability"],
        "% of the pot": 50 * gap / pot if pot > 0 and gap is not None else None,
        "last NashConv": row["last_nash_conv"],
    }
    return {
        "iteration": f"{row['iteration']:,}",
        "nodes touched": f"{row['nodes_touched']:,}",
        "seconds": f"{row['seconds']:.3f}",
    } | {k: "-" if v is None else f"{v:.6g}" for k, v in measured.items()}


# --- a single run: its end --------------------------------------------------------


def _evaluate(recording: Recording, folder: pathlib.Path) -> None:
    """Prints and writes the results of a run that has come to its end, besides rows."""
    settings, solver = recording.settings, recording.solver
    first = player_name(solver.tree.game, 0)
    if isinstance(solver, LinearProgramRun):
        summary = solver.summary()
        folders.write_json(folder / folders.SOLUTION, summary)
        show(f"Value for {first}: {summary['value']:.12g}")
    elif settings.evaluate == "exact":
        vector, threads = solver.average_vector(), settings.threads
        value = metrics.known_value(solver.tree, vector, threads=threads)
        if value is not None:
            show(f"Value for {first}: {value}")
    elif settings.evaluate == "sampled":
        _evaluate_by_play(settings, solver, folder)


def _evaluate_by_play(
    settings: Settings, solver: GameSolver, folder: pathlib.Path
) -> None:
    """Plays the average policy; the estimates go to the screen and into a file."""
    show("Playing the average policy ...")
    solver.tree.forget_nodes()  # the policy needs none
    solver.tree.give_back()
    # A learned response may take what the solver has left of its memory, and the
    # quarter that it was not given.
    budget = solver.tree.budget
    try:
        result = responses.evaluated_by_play(
            solver.average_policy(),
            plays=FLAGS.evaluation_plays,
            seconds=FLAGS.evaluation_seconds,
            seed=settings.seed,
            max_memory=max(budget.left, 0) + budget.limit // 4,
            twin=settings.twin,
            forgets=settings.forgets,
        )
    except (ValueError, MemoryError, pyspiel.SpielError) as error:
        raise ValueError(f"The policy could not be played: {error}") from error
    folders.write_json(folder / folders.EVALUATION, result)
    for player, estimates in enumerate(result["players"]):
        who = player_name(solver.tree.game, player)
        show(f"{who}, 95% intervals from {result['plays']:,} plays:")
        for name, estimate in estimates.items():
            if isinstance(estimate, dict):
                shown = plus_minus(estimate["mean"], estimate["half_width"])
            else:
                shown = f"{estimate:,}"
            show(f"  {name.replace('_', ' ')}: {shown}")
    if settings.forgets:
        show("No response was learned, since the game has imperfect recall.")
    else:
        show("The gain is a lower bound of what a best response gains; not NashConv.")


def _draw(settings: Settings, folder: pathlib.Path, plotting: ModuleType) -> None:
    """Draws the rows if they make a curve, or what was estimated by playing."""
    for one in FLAGS.figure_format or ("png",):
        picture = folder / folders.PICTURES[one]
        if settings.evaluate == "exact" and settings.is_iterative:
            label = name_of(settings.algorithm)
            figure = plotting.convergence_figure({label: folder}, title=settings.game)
            plotting.save_figure(figure, picture)
        elif (folder / folders.EVALUATION).exists():
            result = json.loads((folder / folders.EVALUATION).read_text())
            plotting.save_estimates(result, picture, brief(settings.game))


# --- the papers' experiments ------------------------------------------------------


def run_experiment(name: str) -> int:
    """Runs a table or figure of the papers; returns the exit code."""
    imports = imported_games()
    is_table = name == panels.TABLE_1
    for flag in SETTINGS:
        if FLAGS[flag].present and (is_table or flag != "threads"):
            raise ValueError(f"--{flag} is fixed by --experiment={name}; drop it.")
    folder = pathlib.Path(FLAGS.output_dir or pathlib.Path("results", name))
    trees = pathlib.Path(FLAGS.tree_cache) if FLAGS.tree_cache else None
    if is_table:
        path = panels.make_table(folder, imports, trees, only=FLAGS.only)
        show(path.read_text(encoding="utf-8"))
        return 0
    experiment = panels.EXPERIMENTS[name]
    table = {
        key: settings._replace(threads=FLAGS.threads)
        for key, settings in panels.sweep(
            experiment, seeds=FLAGS.seeds, only=FLAGS.only
        ).items()
    }
    todo = sum(not sweeps.is_finished(folder, key) for key in table)
    show(f"{name}: {len(table)} settings, {todo} to run, in {folder}")
    workers = FLAGS.workers or os.cpu_count() or 1
    with Bar(total=100.0, disable=not has_bars(), bar_format=sweeps.BAR) as bar:
        failures = sweeps.run_sweep(
            table,
            folder,
            executor(FLAGS)
            or functools.partial(sweeps.local, workers=workers, run_main=False),
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
    show(f"{len(failures)} of {todo} settings failed. Results are in {folder}")
    return 1 if failures else 0


def executor(values: flags.FlagValues) -> sweeps.Executor | None:
    """A Ray cluster for the runs, or None for the processes of this machine."""
    if values.executor == "local":
        return None
    return functools.partial(
        sweeps.on_ray, workers=values.workers, address=values.ray_address
    )
