"""One run of the command line, from the flags to the files in its folder.

What the command line prints of a run: its description, its rows, its estimates.
"""

import contextlib
import importlib
import json
import os
import pathlib
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple, Protocol

import pyspiel
from tqdm import tqdm

from mccfr_spiel.common import folders
from mccfr_spiel.common.checkpoint import DamagedError
from mccfr_spiel.common.display import brief, counted, plus_minus
from mccfr_spiel.common.limits import in_words, resident
from mccfr_spiel.common.results_folder import (
    CHECKPOINT,
    EVALUATION,
    PICTURE,
    RESULTS,
    SETTINGS,
    SOLUTION,
    write_json,
)
from mccfr_spiel.evaluation.exact import is_two_player_constant_sum
from mccfr_spiel.evaluation.metrics import known_value
from mccfr_spiel.evaluation.reading import write_policy
from mccfr_spiel.experiments import results, runs
from mccfr_spiel.experiments.algorithm_names import name_of
from mccfr_spiel.experiments.playing import evaluation
from mccfr_spiel.experiments.results import Recording, words_of_error
from mccfr_spiel.experiments.settings import (
    Flags,
    Settings,
    check,
    description,
    named_settings,
)
from mccfr_spiel.kernels.jit import seconds_compiled
from mccfr_spiel.offline.linear_program import LinearProgramError
from mccfr_spiel.offline.methods import LinearProgramRun
from mccfr_spiel.policies.policy import GameSolver
from mccfr_spiel.solver import Solver
from mccfr_spiel.solving.cluster import Cluster
from mccfr_spiel.solving.files import GAME_WAY_OUT
from mccfr_spiel.tree.infosets import RECALL_WAY_OUT
from mccfr_spiel.tree.loading import IMPORT_WAY_OUT, pot_of
from mccfr_spiel.tree.readable import STRINGS_WAY_OUT

# --- what the command line prints of a run --------------------------------------------


_WAYS_OUT = {
    RECALL_WAY_OUT: "Use information states that remember all that the player did and "
    "saw, or add --allow_imperfect_recall to try it all the same (docs/choosing.md).",
    STRINGS_WAY_OUT: "The command line cannot solve it; in Python, mccfr_spiel.Solver "
    "can, with an abstraction that makes the strings (docs/choosing.md).",
    GAME_WAY_OUT: "A run goes on only with the game that it began with: begin anew, "
    "with --overwrite or in another --output_dir, or undo the change of the game.",
    IMPORT_WAY_OUT: "name the module that registers it with --import",
}
"""Ways out that the library names and that take an argument of a Python function -> the
ways out on the command line."""

_WIDTHS = {
    **{"iteration": 12, "nodes touched": 15, "seconds": 9, "NashConv": 12},
    **{"exploitability": 14, "% of the pot": 14, "last NashConv": 14},
}
"""The columns of a run's rows, and how wide they are."""


_is_quiet = False


@contextlib.contextmanager
def quieted(is_quiet: bool) -> Iterator[None]:
    """Shows nothing but errors in the block, if it is to be so."""
    global _is_quiet
    before, _is_quiet = _is_quiet, is_quiet
    try:
        with contextlib.ExitStack() as stack:
            if is_quiet:
                nothing = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
                stack.enter_context(contextlib.redirect_stdout(nothing))
            yield
    finally:
        _is_quiet = before


def has_bars() -> bool:
    """Whether progress is to be shown: on a terminal, and unless it is to be quiet."""
    return sys.stderr.isatty() and not _is_quiet


def header(settings: Settings, pot: float = 0.0) -> str:
    """The line above the rows of a run; of a subgame of poker, if there is a pot."""
    hidden = {"% of the pot"} if not pot > 0 else set()
    hidden |= set() if settings.evaluate_last else {"last NashConv"}
    return _in_columns({name: name for name in _WIDTHS if name not in hidden})


def _in_columns(words: Mapping[str, str]) -> str:
    return " ".join(f"{word:>{_WIDTHS[name]}}" for name, word in words.items())


def show(text: str) -> None:
    """Prints a line. If that fails, for example because standard output is a closed
    pipe or a file on a full disk, the work goes on all the same."""
    with contextlib.suppress(OSError, ValueError):
        tqdm.write(text)
        sys.stdout.flush()


def warn(text: str) -> None:
    """Prints a line to standard error, as `show` does to standard output, with the ways
    out that there are on the command line."""
    for library, here in _WAYS_OUT.items():
        text = text.replace(library, here)
    with contextlib.suppress(OSError, ValueError):
        tqdm.write(text, file=sys.stderr)
        sys.stderr.flush()


def describe(solver: GameSolver, settings: Settings) -> str:
    """What is about to run, in a few lines."""
    tree = solver.tree
    parts = [f"{brief(tree.source)}: {tree.num_players} players"]
    if tree.is_complete:
        parts.append(f"{tree.num_nodes:,} nodes, {tree.num_infosets:,} infosets")
    elif tree.has_all_infosets:
        parts.append(f"{tree.num_infosets:,} infosets")
    method = settings.algorithm
    words = f"{name_of(method)}: {method!r}, seed={settings.seed}"
    lines = [", ".join(parts), words]
    if settings.evaluate == "exact" and not is_two_player_constant_sum(tree.game):
        lines.append(
            "Not a two-player zero-sum game: there is no exploitability, and NashConv "
            "may not approach 0."
        )
    return "\n".join(lines)


def format_row(row: dict[str, Any], pot: float = 0.0) -> str:
    """A row under `header`; exploitability is NashConv / 2, also in % of the pot."""

    def measure(value: float | None) -> str:
        return "-" if value is None else f"{value:.6g}"

    gap, last = row["nash_conv"], row["last_nash_conv"]
    words = {
        "iteration": f"{row['iteration']:,}",
        "nodes touched": f"{row['nodes_touched']:,}",
        "seconds": f"{row['seconds']:.3f}",
        "NashConv": measure(gap),
        "exploitability": measure(row["exploitability"]),
    }
    if pot > 0:
        words["% of the pot"] = measure(None if gap is None else 50 * gap / pot)
    if last is not None:
        words["last NashConv"] = measure(last)
    return _in_columns(words)


def show_estimates(result: dict[str, Any]) -> None:
    """Prints what `playing.evaluation` has estimated."""
    for player, estimates in enumerate(result["players"]):
        show(f"player {player}, 95% intervals from {result['plays']:,} plays:")
        for name, estimate in estimates.items():
            if not isinstance(estimate, dict):
                show(f"  {name.replace('_', ' ')}: {estimate:,}")
                continue
            shown = plus_minus(estimate["mean"], estimate["half_width"])
            show(f"  {name.replace('_', ' ')}: {shown}")
    if "gain_of_learned_response" in result["players"][0]:
        show("The gain is a lower bound of what a best response gains; not NashConv.")
    else:
        show("No response was learned, since the game has imperfect recall.")


# --- one run of the command line, from the flags to the files in its folder -----------


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
        request: what the user asks for, with the flags of a run that is resumed.
        settings: what is run.
        folder: for its files.
        solver: runs it.
        kept: the rows that the run had before it was resumed.
    """

    request: Request
    settings: Settings
    folder: pathlib.Path
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
        OSError: a file cannot be written. The newest checkpoint is good.
    """
    resume, overwrite = request.resume, request.overwrite
    if resume and overwrite:
        raise ValueError("--resume keeps results and --overwrite drops them; drop one.")
    if request.output_dir is not None:
        folder = pathlib.Path(request.output_dir)
    else:
        settings = named_settings(**request.flags)
        folder = results.default_folder(settings, fresh=not (overwrite or resume))
    resumed = resume and results.holds_run(folder)
    if resumed:
        flags = results.resumed_flags(folder, request.given, request.flags)
        request = request._replace(flags=flags)
    settings = named_settings(**request.flags)
    if resume and not settings.is_resumable:
        raise ValueError(
            f"{request.flags.get('algorithm')} makes no checkpoints; drop --resume."
        )
    check(settings)
    if not resumed:
        results.open_folder(folder, overwrite=overwrite, resume=resume)
        if resume:
            print(f"There is no run in {folder} yet: it begins.")
    try:
        with folders.held(folder):
            results.remove_unfinished(folder)
            return _run(_prepare(request, folder, resumed=resumed), signals)
    finally:
        with contextlib.suppress(OSError):
            folder.rmdir()  # if it is empty, because the run was not possible


def _prepare(request: Request, folder: pathlib.Path, *, resumed: bool) -> Work:
    """Makes the solver, new or from a checkpoint in the folder, and begins the files.

    Args:
        request: what the user asks for.
        folder: of the run; it is held.
        resumed: whether the folder has a run that goes on.
    """
    settings, cluster = named_settings(**request.flags), request.cluster
    if cluster is not None:
        runs.check_cluster(settings)
    whole = ", its whole tree for NashConv (not with --evaluate=sampled)"
    is_whole = settings.evaluate == "exact" and settings.store in ("auto", "tree")
    print(f"Preparing {brief(settings.game)}{whole * is_whole} ...", flush=True)
    about = description(settings, request.flags)
    if resumed:
        try:
            solver = results.load_solver(settings, folder / CHECKPOINT, cluster=cluster)
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
            kept = _kept_rows(settings, solver, folder / RESULTS)
            return Work(request, settings, folder, solver, kept)
    solver = runs.make_solver(settings, cluster=cluster)
    results.begin(folder, about)
    if isinstance(solver, Solver):
        solver.save(folder / CHECKPOINT)
    return Work(request, settings, folder, solver, [])


def _kept_rows(
    settings: Settings, solver: GameSolver, path: pathlib.Path
) -> list[dict[str, Any]]:
    """The rows of a run that is resumed; tells of those that are lost."""
    found = results.read_rows(path, settings, solver)
    if found.missing:
        warn(
            f"{path} lacks rows from before the checkpoint. The run goes on without "
            "them."
        )
    return found.rows


_SOON_WRITTEN = 50_000
"""So many infosets are written as a policy while somebody waits for the prompt."""

# --- the run ---------------------------------------------------------------------


def _run(work: Work, signals: Signals) -> int:
    """Runs the solver and writes what it finds; returns the exit code."""
    settings, solver, folder = work.settings, work.solver, work.folder
    # matplotlib is imported now, because importing it later would delay Ctrl-C.
    plotting = load_plotting()
    print(describe(solver, settings), flush=True)
    signals.wait = settings.is_iterative
    if not signals.wait:  # HiGHS ignores signals, and leaves nothing worth keeping
        signals.restore()
    recording = Recording(
        folder / RESULTS,
        folder / CHECKPOINT,
        settings,
        solver,
        work.kept,
        checkpoint_every=work.request.checkpoint_every,
    )
    with contextlib.closing(recording), _noting_the_checkpoint(work):
        error = _print_and_record(work, recording, signals)
        if signals.received is not None:
            done = counted(solver.num_iterations, "iteration")
            warn(f"Interrupted after {done}: writing the checkpoint.")
        try:
            recording.save()
            is_small = solver.tree.num_infosets <= _SOON_WRITTEN
            if signals.received is None or is_small:
                write_policy(folder, solver.average_policy())
            else:
                warn(
                    "The policy is large and not written; ms.load_policy reads it from "
                    f"the checkpoint in {folder}, and this command writes it: "
                    "mccfr-spiel solve --resume "
                    f"--output_dir={folder} --iterations={solver.num_iterations}"
                )
        except Exception as second:
            if error is None:
                raise
            words = words_of_error(second)
            error.add_note(f"Not all that was found could be written: {words}")
        signals.wait = False  # all that took long is on disk
        if error is None and signals.received is None:
            _evaluate(work)
        if plotting is not None:
            _draw(work, plotting)
        else:
            show("No picture: matplotlib is not installed (pip install matplotlib).")
    if error is not None:
        known = ValueError, OSError, MemoryError, pyspiel.SpielError
        if not isinstance(error, known):  # a bug, as a rule in the code of a game
            traceback.print_exception(error)
        done = f"{solver.num_iterations:,} iterations"
        warn(f"Error after {done}: {words_of_error(error)}")
    if (took := seconds_compiled()) > 1.0:
        show(f"Compiled in {took:.0f} s, not counted above; kept for the next run.")
    show(f"Results are in {folder}")
    if signals.received is not None:
        return 128 + signals.received
    return 1 if error is not None else 0


@contextlib.contextmanager
def _noting_the_checkpoint(work: Work) -> Iterator[None]:
    """Has an error that ends the run between two checkpoints say what there is."""
    try:
        yield
    except (OSError, KeyboardInterrupt) as error:
        if (work.folder / CHECKPOINT).exists():
            error.add_note(
                f"The newest checkpoint in {work.folder} is good: --resume goes on "
                "from it."
            )
        raise


def _print_and_record(
    work: Work, recording: Recording, signals: Signals
) -> Exception | None:
    """Runs the solver; each row goes to the screen and into the file as it comes.

    Returns the error that ended the run, if there was one after which what has been
    found can still be written.
    """
    settings, solver, kept = work.settings, work.solver, work.kept
    pot = pot_of(solver.tree.game)
    with tqdm(
        total=settings.until_nodes_touched or settings.iterations,
        disable=not has_bars(),
        unit="it" if settings.until_nodes_touched is None else "nodes",
        unit_scale=True,
        leave=False,
    ) as bar:

        def watch(done: int) -> bool:
            bar.update(done - bar.n)
            recording.save_if_due()
            return signals.received is not None

        show(header(settings, pot))
        for row in kept:
            show(format_row(row, pot))
        gap = kept[-1]["nash_conv"] if kept else None
        try:
            for row in runs.rows(solver, settings, watch, kept=kept):
                recording.add(row)
                show(format_row(row, pot))
                gap = row["nash_conv"]
                if gap is not None:
                    bar.set_postfix_str(f"NashConv {gap:.3g}, {in_words(resident())}")
        except LinearProgramError as error:
            path = results.write_unfinished(work.folder, error)
            raise ValueError(f"{error} The program is in {path}.") from error
        except OSError:
            raise
        except Exception as error:  # whatever it is, the results so far must be saved
            return error
    target = settings.target(pot)
    if target is not None and gap is not None:
        show(f"NashConv {target:g} was {'' if gap <= target else 'not '}reached.")
    return None


# --- the end ---------------------------------------------------------------------


def _evaluate(work: Work) -> None:
    """Prints and writes the results of a run that has come to its end, besides rows."""
    settings, solver = work.settings, work.solver
    if isinstance(solver, LinearProgramRun):
        summary = solver.summary()
        write_json(work.folder / SOLUTION, summary)
        show(f"Value for player 0: {summary['value']:.12g}")
    elif settings.evaluate == "exact":
        vector, threads = solver.average_vector(), settings.threads
        value = known_value(solver.tree, vector, threads=threads)
        if value is not None:
            show(f"Value for player 0: {value}")
    elif settings.evaluate == "sampled":
        _evaluate_by_play(work)


def _evaluate_by_play(work: Work) -> None:
    """Plays the average policy; the estimates go to the screen and into a file."""
    settings, solver, request = work.settings, work.solver, work.request
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
            forgets=settings.forgets,
        )
    except (ValueError, MemoryError, pyspiel.SpielError) as error:
        raise ValueError(f"The policy could not be played: {error}") from error
    write_json(work.folder / EVALUATION, result)
    show_estimates(result)


def _draw(work: Work, plotting: ModuleType) -> None:
    """Draws the rows if they make a curve, or what was estimated by playing."""
    settings, folder = work.settings, work.folder
    for one in work.request.figure_formats:
        picture = (folder / PICTURE).with_suffix(f".{one}")
        if settings.evaluate == "exact" and settings.is_iterative:
            label = name_of(settings.algorithm)
            figure = plotting.convergence_figure({label: folder}, title=settings.game)
            plotting.save_figure(figure, picture)
        elif (folder / EVALUATION).exists():
            result = json.loads((folder / EVALUATION).read_text())
            plotting.save_estimates(result, picture, brief(settings.game))
