"""The course of a run: rows on the screen and in the file, errors and interruptions."""

import contextlib
import pathlib
import shlex
import signal
import traceback
from collections.abc import Mapping
from typing import Any

from mccfr_spiel.arenas.infosets.string_checks import pot_of
from mccfr_spiel.command_line.run_results import draw, evaluate, load_plotting
from mccfr_spiel.command_line.terminal import (
    OverdueError,
    Signals,
    has_bars,
    show,
    warn,
)
from mccfr_spiel.common.display import Bar, brief, counted
from mccfr_spiel.common.memory import (
    in_words,
    resident,
)
from mccfr_spiel.evaluation import exact
from mccfr_spiel.experiments import run_files
from mccfr_spiel.experiments.algorithm_names import name_of
from mccfr_spiel.experiments.errors import USER_ERRORS, message_of
from mccfr_spiel.experiments.run_recording import Recording
from mccfr_spiel.experiments.settings import Settings
from mccfr_spiel.kernels.compile_time import seconds_compiled
from mccfr_spiel.offline import GameSolver
from mccfr_spiel.offline.linear_program import (
    LinearProgramError,
)
from mccfr_spiel.offline.programs import (
    write_program,
)
from mccfr_spiel.solving.reading import write_policy
from mccfr_spiel.solving.solver import Solver

_WIDTHS = {
    **{"iteration": 12, "nodes touched": 15, "seconds": 9, "NashConv": 12},
    **{"exploitability": 14, "% of the pot": 14, "last NashConv": 14},
}
"""Column on the screen -> width."""

_MAX_INFOSETS, _MAX_BYTES = 50_000, 10**8
"""Largest policy (infosets) and solver (bytes) that are written on a signal, while
the user waits for the prompt."""


def record(recording: Recording, folder: pathlib.Path, signals: Signals) -> int:
    """Runs the solver and writes its results; returns the exit code."""
    settings, solver = recording.settings, recording.solver
    show(_described(solver, settings))
    signals.wait = settings.is_iterative
    if not signals.wait:  # HiGHS ignores signals, and has no intermediate results
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
        error.add_note(f"Some results could not be written: {message_of(second)}")
    signals.wait = False  # the expensive results are on disk
    if error is None and signals.received is None:
        evaluate(recording, folder)
    if (plotting := load_plotting()) is None:
        show("No figure: matplotlib is not installed (pip install matplotlib).")
    elif has_results:
        draw(settings, folder, plotting)
    if error is not None:
        if not isinstance(error, USER_ERRORS):  # a bug, usually in the game's code
            traceback.print_exception(error)
        done = f"{solver.num_iterations:,} iterations"
        warn(f"Error after {done}: {message_of(error)}")
    if (seconds := seconds_compiled()) > 1.0:
        show(f"Compilation took {seconds:.0f} s (not counted above, cached).")
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
    """Writes the checkpoint, and a small policy, after a signal.

    Within an iteration, a large solver is not saved: the sender of the signal may not
    wait that long.
    """
    settings, solver = recording.settings, recording.solver
    done = counted(solver.num_iterations, "iteration")
    if signals.was_overdue and solver.tree.budget.taken > _MAX_BYTES:
        recording.sync()
        warn(
            f"Interrupted after {done}, within a long iteration. The solver is too "
            f"large to save now; the previous checkpoint in {folder} is kept."
        )
        return
    warn(f"Interrupted after {done}: writing the checkpoint.")
    recording.save()
    if not solver.num_iterations:
        return
    if solver.tree.num_infosets <= _MAX_INFOSETS:
        write_policy(folder, solver.average_policy())
        return
    limit = f"iterations={solver.num_iterations}"
    if settings.until_nodes_touched is not None:
        limit = f"until_nodes_touched={solver.nodes_touched}"
    warn(
        f"The policy is too large to write now. ms.load_policy({str(folder)!r}) reads "
        "it from the checkpoint, and this command writes it: "
        f"mccfr-spiel solve --resume --output_dir={shlex.quote(str(folder))} "
        f"--{limit}"
    )


def _described(solver: GameSolver, settings: Settings) -> str:
    """A description of the run in a few lines."""
    tree = solver.tree
    parts = [f"{brief(tree.source)}: {tree.num_players} players"]
    if tree.is_complete:
        parts.append(f"{tree.num_nodes:,} nodes, {tree.num_infosets:,} infosets")
    elif tree.knows_all_infosets:
        parts.append(f"{tree.num_infosets:,} infosets")
    method = settings.algorithm
    algorithm = f"{name_of(method)}: {method!r}, seed={settings.seed}"
    lines = [", ".join(parts), algorithm]
    if settings.evaluate == "exact" and not exact.is_two_player_constant_sum(tree.game):
        lines.append(
            "This is not a two-player zero-sum game: exploitability is undefined, and "
            "NashConv may not converge to 0."
        )
    return "\n".join(lines)


def _show_rows(
    recording: Recording, folder: pathlib.Path, signals: Signals
) -> Exception | None:
    """Runs the solver; prints and writes each row at once.

    Returns:
        The error that ended the run, if the results so far can still be written.
    """
    settings, solver, kept = recording.settings, recording.solver, recording.kept
    pot = pot_of(solver.tree.game)
    optional = {"% of the pot": pot > 0, "last NashConv": settings.evaluate_last}
    widths = {name: n for name, n in _WIDTHS.items() if optional.get(name, True)}

    def show_row(cells: Mapping[str, str]) -> None:
        show(" ".join(f"{cells[name]:>{width}}" for name, width in widths.items()))

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

        show_row({name: name for name in widths})
        for row in kept:
            show_row(cells_of(row, pot))
        gap = kept[-1]["nash_conv"] if kept else None
        # Only `Solver` may be interrupted within an iteration.
        is_safe = isinstance(solver, Solver)
        try:
            with signals.interrupting() if is_safe else contextlib.nullcontext():
                for row in recording.rows(watch):
                    show_row(cells_of(row, pot))
                    gap = row["nash_conv"]
                    if gap is not None:
                        postfix = f"NashConv {gap:.3g}, {in_words(resident())}"
                        bar.set_postfix_str(postfix)
        except OverdueError:
            return None  # an interrupted walk has not changed the learned state
        except LinearProgramError as error:
            # Write the program for other solvers.
            path, game = folder / run_files.PROGRAM, error.form.tree.game
            write_program(error.program, path, game.get_type().short_name)
            raise ValueError(f"{error} The program is in {path}.") from error
        except OSError:
            raise
        except Exception as error:  # the results so far must be saved in any case
            return error
    target = settings.target(pot)
    if target is not None and gap is not None:
        reached = "was reached" if gap <= target else "was not reached"
        percent = settings.until_pot_percent
        is_percent = percent is not None and settings.until_nash_conv is None
        name = f"{percent:g} % of the pot" if is_percent else f"NashConv {target:g}"
        show(f"The target {name} {reached}.")
    return None


def cells_of(row: dict[str, Any], pot: float) -> dict[str, str]:
    """Formats a row: name of the column -> text.

    Args:
        row: a row with the keys `runs.COLUMNS`.
        pot: the pot at the start of a poker subgame, or 0.
    """
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
