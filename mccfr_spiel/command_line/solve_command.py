"""The command `solve`: the folder of a run, a new or resumed solver, and its files.

`run_course.py` runs the solver and `run_results.py` writes its results.
"""

import contextlib
import functools
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mccfr_spiel.command_line.program_flags import CLUSTER, FLAGS, import_given
from mccfr_spiel.command_line.run_course import record
from mccfr_spiel.command_line.run_results import load_plotting
from mccfr_spiel.command_line.terminal import Signals, show, warn
from mccfr_spiel.common.atomic_files import PARTS, write_json
from mccfr_spiel.common.checkpoint import CHECKPOINT, PREVIOUS, DamagedError
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.folder_lock import locked_folder
from mccfr_spiel.experiments import run_files
from mccfr_spiel.experiments.importing import import_games
from mccfr_spiel.experiments.run_folders import (
    default_folder,
    open_folder,
    resumed_flags,
)
from mccfr_spiel.experiments.run_recording import Recording, read_rows
from mccfr_spiel.experiments.run_solvers import check, load_solver, make_solver
from mccfr_spiel.experiments.setting_names import SETTINGS, named_settings
from mccfr_spiel.experiments.settings import Flags, Settings
from mccfr_spiel.experiments.settings_files import description
from mccfr_spiel.solving.due_rows import (
    COUNTERS,
)
from mccfr_spiel.solving.reading import BINARY_POLICY, POLICY, RESULTS, kept_policies
from mccfr_spiel.solving.solver import Solver

if TYPE_CHECKING:
    from mccfr_spiel.solving.crews import (
        Cluster,
    )


def solve(signals: Signals) -> int:
    """Solves the game of the flags; returns the exit code.

    Raises:
        ValueError: flags contradict each other, or the game cannot be solved.
        OSError: a file cannot be written. The newest checkpoint is intact.
    """
    cluster = _cluster(import_given())
    resume, overwrite = FLAGS.resume, FLAGS.overwrite
    if resume and overwrite:
        raise ValueError("--resume and --overwrite exclude each other. Drop one.")
    given: Flags = {name: FLAGS[name].value for name in SETTINGS}
    folder = _folder_of(given)
    files = run_files.SETTINGS, CHECKPOINT, CHECKPOINT + PREVIOUS
    resumes = resume and any((folder / name).exists() for name in files)
    if resumes:
        present = {name: value for name, value in given.items() if FLAGS[name].present}
        given = resumed_flags(folder, present, given)
    settings = named_settings(**given)
    if resume and not settings.is_resumable:
        raise ValueError(
            f"{given.get('algorithm')} writes no checkpoints. Drop --resume."
        )
    check(settings, splits=cluster is not None)
    if not resumes:
        open_folder(folder, overwrite=overwrite, resume=resume)
        if resume:
            show(f"There is no run in {folder} yet. Starting a new run.")
    with held(folder):
        content = description(settings, given)
        recording = _recording(settings, content, folder, cluster, resumes=resumes)
        with contextlib.closing(recording):
            try:
                return record(recording, folder, signals)
            except (OSError, KeyboardInterrupt) as error:
                if (folder / CHECKPOINT).exists():
                    error.add_note(
                        f"The newest checkpoint in {folder} is intact. Use --resume to "
                        "continue from it."
                    )
                raise


def _folder_of(given: Flags) -> pathlib.Path:
    """The folder of --output_dir, or a default folder."""
    if FLAGS.output_dir is not None:
        return pathlib.Path(FLAGS.output_dir)
    fresh = not (FLAGS.overwrite or FLAGS.resume)
    return default_folder(named_settings(**given), fresh=fresh)


@contextlib.contextmanager
def held(folder: pathlib.Path) -> Iterator[None]:
    """Locks a folder of results, and deletes partial files of killed runs.

    At the end it deletes the folder if the folder is empty because the run failed.
    """
    try:
        with locked_folder(folder):
            for part in folder.glob("*" + PARTS):
                part.unlink(missing_ok=True)
            yield
    finally:
        with contextlib.suppress(OSError):
            folder.rmdir()


def _cluster(modules: Sequence[str]) -> "Cluster | None":
    """The cluster that splits batches, or None without --executor=ray.

    Args:
        modules: modules that register games, for the workers.

    Raises:
        ValueError: a flag of the cluster is given without --executor=ray.
    """
    if FLAGS.executor == "ray":
        from mccfr_spiel.solving.cluster import Ray

        prepare = functools.partial(import_games, tuple(modules))
        threads = FLAGS.threads or 1
        return Ray(FLAGS.workers, FLAGS.ray_address, threads, prepare=prepare)
    for name in CLUSTER:
        if FLAGS[name].present and name != "executor":
            raise ValueError(
                f"For a single run, --{name} needs --executor=ray. Use --threads for "
                "threads of this process."
            )
    return None


def _recording(
    settings: Settings,
    content: Mapping[str, Any],
    folder: pathlib.Path,
    cluster: "Cluster | None",
    *,
    resumes: bool,
) -> Recording:
    """Makes or loads the solver, and writes the first files of the run.

    Args:
        settings: the run.
        content: content of settings.json.
        folder: folder of the run, locked.
        cluster: where batches are split.
        resumes: whether the folder has a run to resume.
    """
    whole = ", including the whole tree for NashConv (not with --evaluate=sampled)"
    is_whole = settings.evaluate == "exact" and settings.store in ("auto", "tree")
    show(f"Preparing {brief(settings.game)}{whole * is_whole} ...")
    rows, checkpoint = folder / RESULTS, folder / CHECKPOINT
    kept, solver = [], None
    if resumes:
        try:
            solver = load_solver(settings, checkpoint, cluster=cluster)
        except FileNotFoundError:
            show("There is no checkpoint yet. Restarting the run.")
        except DamagedError as error:
            raise ValueError(
                f"{error} All checkpoints are damaged. Use --overwrite to restart the "
                "run."
            ) from error
    if solver is not None:
        kept, is_missing = read_rows(rows, settings, solver)
        _continue_files(settings, content, folder, solver)
        if is_missing:
            warn(
                f"{rows} lacks rows from before the checkpoint. The run continues "
                "without these rows."
            )
    else:
        solver = make_solver(settings, cluster=cluster)
        # The new run is possible, so delete the files of older runs.
        old = [folder / name for name in run_files.ALL_FILES]
        for path in [*old, *kept_policies(folder).values()]:
            path.unlink(missing_ok=True)
        write_json(folder / run_files.SETTINGS, content)
        if isinstance(solver, Solver):
            solver.save(checkpoint)
    # Import matplotlib now: a later import would delay Ctrl-C, and would count as time
    # between checkpoints.
    load_plotting()
    every = FLAGS.checkpoint_every
    return Recording(rows, checkpoint, settings, solver, kept, checkpoint_every=every)


def _continue_files(
    settings: Settings,
    content: Mapping[str, Any],
    folder: pathlib.Path,
    solver: Solver,
) -> None:
    """Updates settings.json and deletes results that the resumed run will replace."""
    write_json(folder / run_files.SETTINGS, content)
    show(f"Resumed after {solver.num_iterations:,} iterations.")
    if getattr(solver, COUNTERS[settings.progress_column]) < settings.last:
        for name in (POLICY, BINARY_POLICY, run_files.EVALUATION):
            (folder / name).unlink(missing_ok=True)
