"""One run of the command line, from the flags to the files in its folder."""

import contextlib
import functools
import importlib
import pathlib
import sys
import traceback
from collections.abc import Sequence
from types import ModuleType
from typing import Any, NamedTuple, Protocol

import pyspiel
from tqdm import tqdm

from mccfr_spiel.cluster.crews import Cluster
from mccfr_spiel.evaluation.value import known_value
from mccfr_spiel.experiments import results, resuming, runs
from mccfr_spiel.experiments.flags import Flags, named_settings
from mccfr_spiel.experiments.keeping import PolicyKeeper
from mccfr_spiel.experiments.playing import evaluation
from mccfr_spiel.experiments.recording import Recording, words_of_error
from mccfr_spiel.experiments.screen import (
    describe,
    format_row,
    header,
    show,
    show_estimates,
    warn,
)
from mccfr_spiel.experiments.settings import (
    Settings,
    algorithm_name,
    check,
    measure,
)
from mccfr_spiel.experiments.settings_files import description
from mccfr_spiel.offline.linear_program import LinearProgramError
from mccfr_spiel.offline.methods import LinearProgramRun
from mccfr_spiel.policies.game_solver import GameSolver
from mccfr_spiel.storage.checkpoint import DAMAGED, DamagedError
from mccfr_spiel.storage.locks import FolderLock
from mccfr_spiel.storage.results_folder import (
    CHECKPOINT,
    EVALUATION,
    FAILURE,
    PICTURE,
    PROGRAM,
    RESULTS,
    SETTINGS,
    SOLUTION,
    write_json,
)


class Signals(Protocol):
    """What a run asks of the program's signal handlers.

    Attributes:
        wait: whether a signal is only noted, so that the run can end in order. If it is
            False, a signal interrupts the program.
        received: the number of the signal that was noted, or None.
    """

    wait: bool
    received: int | None

    def restore(self) -> None:
        """Lets signals end the process at once, as they do without handlers."""
        ...


class Request(NamedTuple):
    """What the user asks for.

    Attributes:
        flags: all flags that say what is run.
        given: those of them that the user has set.
        output_dir: the folder for the results, None for a new one below results/.
        resume: whether to go on with the run in the folder.
        overwrite: whether to replace the run in the folder.
        checkpoint_every: the most seconds between two checkpoints.
        plays, play_seconds: see `playing.evaluation`.
        figure_formats: of the picture, see `figure_style.FORMATS`.
        cluster: where batches of walks are split, see `Solver`; None for this process.
    """

    flags: Flags
    given: Flags
    output_dir: str | None = None
    resume: bool = False
    overwrite: bool = False
    checkpoint_every: float = 60.0
    plays: int = 10_000
    play_seconds: float = 20.0
    figure_formats: tuple[str, ...] = ("png",)
    cluster: Cluster | None = None


class Work(NamedTuple):
    """A run on its way.

    Attributes:
        settings: what is run.
        solver: runs it.
        kept: the rows that the run had before it was resumed.
    """

    settings: Settings
    solver: GameSolver
    kept: Sequence[dict[str, Any]]


def load_plotting() -> ModuleType | None:
    """The module that draws; None without matplotlib."""
    try:
        return importlib.import_module("mccfr_spiel.experiments.plotting")
    except ImportError:
        return None


# --- the folder ------------------------------------------------------------------


def solve(request: Request, signals: Signals) -> int:
    """Runs what is asked for in its folder; returns the exit code.

    Raises:
        ValueError: the flags contradict each other or the run is not possible.
        OSError: the folder cannot be written.
    """
    resume, overwrite = request.resume, request.overwrite
    if resume and overwrite:
        raise ValueError("--resume keeps results and --overwrite drops them; drop one.")
    settings = named_settings(**request.flags)
    if resume and not settings.is_resumable:
        raise ValueError(
            f"{request.flags.get('algorithm')} makes no checkpoints; drop --resume."
        )
    check(settings)
    fresh = not overwrite and not resume
    folder = results.default_folder(settings, fresh=fresh)
    if request.output_dir is not None:
        folder = pathlib.Path(request.output_dir)
    resumed = resume and resuming.holds_run(folder)
    if not resumed:
        results.open_folder(folder, overwrite=overwrite, resume=resume)
        if resume:
            print(f"There is no run in {folder} yet: it begins.")
    try:
        with FolderLock(folder) as hold:
            results.remove_unfinished(folder)
            if resumed:
                request = _to_resume(request, folder)
            return _solve_in(hold, request, signals, resumed=resumed)
    finally:
        with contextlib.suppress(OSError):
            folder.rmdir()  # if it is empty, because the run was not possible


def _to_resume(request: Request, folder: pathlib.Path) -> Request:
    """The request with the flags of the run in a folder, which the flags that are given
    may change in part."""
    flags = resuming.resumed_flags(folder, request.given, request.flags)
    settings = named_settings(**flags)
    check(settings)
    resuming.check_can_end(folder, settings)
    return request._replace(flags=flags)


def _solve_in(
    hold: FolderLock, request: Request, signals: Signals, *, resumed: bool
) -> int:
    """Runs what is asked for in a folder that is held; returns the exit code."""
    settings = named_settings(**request.flags)
    if request.cluster is not None:
        runs.check_cluster(settings)
    # matplotlib is imported now, because importing it later would delay Ctrl-C.
    plotting = load_plotting()
    whole = ", its whole tree for NashConv (not with --evaluate=sampled)"
    print(
        f"Preparing {settings.game}{whole if settings.evaluate == 'exact' else ''} ...",
        flush=True,
    )
    runs.warm_up(settings)
    about = description(settings, request.flags)
    work = _make_or_load(
        settings, about, hold.folder, resumed=resumed, cluster=request.cluster
    )
    print(describe(work.solver, settings), flush=True)
    signals.wait = settings.is_iterative
    if not signals.wait:  # HiGHS ignores signals, and leaves nothing worth keeping
        signals.restore()
    covered = work.kept[-1][measure(settings)] if work.kept else 0
    recording = Recording(
        hold,
        about,
        work.solver,
        work.kept,
        warn,
        checkpoint_every=request.checkpoint_every,
        keeper=PolicyKeeper(settings, work.solver, warn, covered),
    )
    with contextlib.closing(recording):
        gap, error = _print_and_record(work, recording, signals)
        if isinstance(error, LinearProgramError):
            error = _deliver_program(error, recording)
        else:
            if signals.received is not None:
                warn(_words_of_interruption(work.solver, recording.last_iteration))
            recording.finish(error)
            signals.wait = False  # all that took long is on disk
        try:
            if error is None:
                _finish_well(work, request, recording, gap, signals)
            _draw(settings, recording, plotting, request.figure_formats)
        except KeyboardInterrupt as interruption:
            interruption.add_note(
                f"The rows, the policy and the checkpoint of {settings.game} are in "
                f"{recording.folder}; only what is made of them at the end is missing."
            )
            raise
        return _tell_the_end(work.solver, recording, error, signals)


def _make_or_load(
    settings: Settings,
    about: dict[str, Any],
    folder: pathlib.Path,
    *,
    resumed: bool,
    cluster: Cluster | None,
) -> Work:
    """The solver, new or from a checkpoint in the folder, and the rows there are.

    Args:
        settings: the run.
        about: the content of its settings.json.
        folder: of the run.
        resumed: whether the folder has a run that goes on.
        cluster: see `Request`.
    """
    if resumed:
        try:
            solver = resuming.load_solver(
                settings, folder / CHECKPOINT, cluster=cluster
            )
        except FileNotFoundError:
            print("There is no checkpoint yet: the run begins anew.")
        except DamagedError as error:
            raise ValueError(
                f"{error} There is nothing left to resume from; use --overwrite to "
                "begin again."
            ) from error
        else:
            write_json(folder / SETTINGS, about)
            print(f"Resumed after {solver.num_iterations:,} iterations.")
            return Work(settings, solver, _kept_rows(settings, solver, folder))
    solver = runs.make_solver(settings, cluster=cluster)
    results.begin(folder, about, solver)
    return Work(settings, solver, [])


def _kept_rows(
    settings: Settings, solver: GameSolver, folder: pathlib.Path
) -> list[dict[str, Any]]:
    """The rows of a run that is resumed; tells of those that are lost."""
    path = folder / RESULTS
    found = resuming.read_rows(path, settings, solver)
    if found.damaged:
        warn(
            f"{path} has {found.damaged} damaged lines. A copy of it is "
            f"{path.name}{DAMAGED}."
        )
    if found.missing:
        warn(
            f"{path} lacks {found.missing} rows from before the checkpoint. "
            "The run goes on without them."
        )
    return found.rows


# --- the loop --------------------------------------------------------------------


def _print_and_record(
    work: Work, recording: Recording, signals: Signals
) -> tuple[float | None, Exception | None]:
    """Runs the solver; each row goes to the screen and into the file as it comes.

    Returns the last NashConv, and the error that ended the run if there was one.
    """
    settings, solver, kept = work
    with tqdm(
        total=settings.until_nodes_touched or settings.iterations,
        disable=not sys.stderr.isatty(),
        unit="it" if settings.until_nodes_touched is None else "nodes",
        unit_scale=True,
        leave=False,
    ) as bar:

        def watch(done: int) -> bool:
            bar.update(done - bar.n)
            recording.save_if_due()
            return signals.received is not None

        show(header(settings))
        for row in kept:
            show(format_row(row))
        gap = kept[-1]["nash_conv"] if kept else None
        try:
            for row in runs.rows(solver, settings, watch, kept=kept):
                recording.add(row)
                show(format_row(row))
                gap = row["nash_conv"]
        except Exception as error:  # whatever it is, the results so far must be saved
            return gap, error
    return gap, None


# --- the end ---------------------------------------------------------------------


def _words_of_interruption(solver: GameSolver, last_row: int) -> str:
    """What is written after an interruption, which comes between two rows."""
    done = solver.num_iterations
    words = f"Interrupted after {done:,} iterations: writing what there is."
    if last_row != done:
        words += (
            f" The policy is that of iteration {done:,}; the last row is of iteration "
            f"{last_row:,}."
        )
    return words


def _deliver_program(error: LinearProgramError, recording: Recording) -> ValueError:
    """Writes the program that was not finished; returns an error that says where."""
    recording.deliver(PROGRAM, functools.partial(results.write_unfinished, error=error))
    return ValueError(f"{error} The program is in {recording.folder / PROGRAM}.")


def _finish_well(
    work: Work,
    request: Request,
    recording: Recording,
    gap: float | None,
    signals: Signals,
) -> None:
    """Prints and writes the results of a run without errors, besides its rows."""
    if signals.received is None:  # the error of an earlier attempt was not met again
        with contextlib.suppress(OSError):
            (recording.folder / FAILURE).unlink(missing_ok=True)
    if isinstance(work.solver, LinearProgramRun):
        summary = work.solver.summary()
        recording.deliver(
            SOLUTION, lambda folder: write_json(folder / SOLUTION, summary)
        )
        show(f"Value for player 0: {summary['value']:.12g}")
    elif work.settings.evaluate == "exact" and signals.received is None:
        vector, threads = work.solver.average_vector(), work.settings.threads
        value = known_value(work.solver.tree, vector, threads=threads)
        if value is not None:
            show(f"Value for player 0: {value}")
    if work.settings.evaluate == "sampled" and signals.received is None:
        _evaluate_by_play(work, request, recording)
    target = work.settings.until_nash_conv
    if target is not None and gap is not None:
        show(f"NashConv {target:g} was {'' if gap <= target else 'not '}reached.")


def _evaluate_by_play(work: Work, request: Request, recording: Recording) -> None:
    """Plays the average policy; the estimates go to the screen and into a file."""
    settings, solver = work.settings, work.solver
    show("Playing the average policy ...")
    solver.tree.forget_nodes()  # the policy needs none
    solver.tree.give_back()
    # A learned response may take what the solver has left of its memory, and the
    # quarter that it was not given.
    budget = solver.tree.budget
    try:
        result = evaluation(
            solver.average_policy(),
            plays=request.plays,
            seconds=request.play_seconds,
            seed=settings.seed,
            max_memory=max(budget.left, 0) + budget.limit // 4,
            twin=settings.twin,
            forgets=settings.allow_imperfect_recall,
        )
    except (ValueError, MemoryError, pyspiel.SpielError) as error:
        recording.problems.append(f"The policy could not be played: {error}")
        return
    recording.deliver(
        EVALUATION, lambda folder: write_json(folder / EVALUATION, result)
    )
    show_estimates(result)


def _draw(
    settings: Settings,
    recording: Recording,
    plotting: ModuleType | None,
    formats: Sequence[str],
) -> None:
    """Draws the rows if they make a curve."""
    if plotting is None:
        show("No picture: matplotlib is not installed (pip install matplotlib).")
    elif settings.evaluate == "exact" and settings.is_iterative:
        label = plotting.legend_name(algorithm_name(settings))
        for one in formats:
            picture = str(pathlib.Path(PICTURE).with_suffix(f".{one}"))
            recording.deliver(
                picture,
                lambda folder, picture=picture: plotting.save_convergence(
                    {label: recording.rows_path}, folder / picture, title=settings.game
                ),
            )


def _tell_the_end(
    solver: GameSolver,
    recording: Recording,
    error: Exception | None,
    signals: Signals,
) -> int:
    """Says how the run ended and where its files are; returns the exit code."""
    if error is not None:
        known = ValueError, OSError, MemoryError, pyspiel.SpielError
        if not isinstance(error, known):  # a bug, as a rule in the code of a game
            traceback.print_exception(error)
        done = f"{solver.num_iterations:,} iterations"
        warn(f"Error after {done}: {words_of_error(error)}")
    for problem in recording.problems:
        warn(f"Error: {problem}")
    show(f"Results are in {recording.folder}")
    if signals.received is not None:
        return 128 + signals.received
    return 1 if error is not None or recording.problems else 0
