"""The command `solve` without an algorithm: `ms.solve`, with files and a picture."""

import pathlib
from collections.abc import Iterator

import numpy as np
from absl import flags

from mccfr_spiel.arenas.infosets.loading import load_game
from mccfr_spiel.command_line.program_flags import CLUSTER, FLAGS, import_given
from mccfr_spiel.command_line.run_results import load_plotting
from mccfr_spiel.command_line.solve_command import held
from mccfr_spiel.command_line.terminal import Signals, has_bars, show
from mccfr_spiel.common.display import brief, short, text_table
from mccfr_spiel.experiments import run_files
from mccfr_spiel.experiments.load_strings import load_string
from mccfr_spiel.experiments.run_folders import new_folder, open_folder, run_name
from mccfr_spiel.experiments.setting_names import SETTINGS
from mccfr_spiel.experiments.setting_tables import Setting
from mccfr_spiel.kernels.compile_time import seconds_compiled
from mccfr_spiel.solutions.race import searched
from mccfr_spiel.solutions.solution import Solution, rounded_outwards
from mccfr_spiel.solutions.targets import Deadline, target_nash_conv
from mccfr_spiel.solving.status_line import Status

TARGETS = ("nash_conv", "exploitability", "relative")

TARGET_FLAGS = (
    Setting(
        "nash_conv",
        float,
        None,
        "Without --algorithm: choose algorithms until NashConv is at most this number.",
    ),
    Setting(
        "exploitability",
        float,
        None,
        "Without --algorithm: the same for NashConv divided by the number of players.",
    ),
    Setting(
        "relative",
        float,
        None,
        "Without --algorithm: the same for NashConv divided by the range of payoffs "
        "(default without a target: 0.001).",
    ),
    Setting(
        "seconds",
        float,
        None,
        "Without --algorithm: limit on the time of the search.",
    ),
)
"""Flags of a search for a target."""

ALLOWED = {"game", "players", "seed", "threads", "max_memory"}
"""Settings of a run that a search for a target also has."""


def chooses(values: flags.FlagValues) -> bool:
    """Whether the flags leave the choice of the algorithm to the program.

    That is so without any flag that describes a run of one algorithm.

    Raises:
        ValueError: flags of both kinds are given.
    """
    run_flags = [*SETTINGS, "resume", "checkpoint_every", "evaluation_plays"]
    run_flags += ["evaluation_seconds", *CLUSTER]
    given = [name for name in run_flags if FLAGS[name].present and name not in ALLOWED]
    own = [name for name in (*TARGETS, "seconds") if values[name].present]
    if given and own:
        raise ValueError(
            f"--{own[0]} leaves the choice of the algorithm to the program, but "
            f"--{given[0]} describes a run of one algorithm. Drop one. With "
            "--algorithm, the target is --until_nash_conv."
        )
    return not given


def solve_to_target(values: flags.FlagValues, signals: Signals) -> int:
    """Solves the game of the flags to a target; returns the exit code.

    The exit code is 0 if the target was reached or a limit ended the search.

    Raises:
        ValueError: a flag is wrong, or the game cannot be solved.
        OSError: a file cannot be written.
    """
    import_given()
    name = load_string(FLAGS.game, FLAGS.players)
    game = load_game(name)
    target = target_nash_conv(game, *(getattr(values, name) for name in TARGETS))
    deadline = Deadline.after(values.seconds, lambda: signals.received is not None)
    folder = new_folder(run_name(name, "solved"))
    if FLAGS.output_dir is not None:
        folder = pathlib.Path(FLAGS.output_dir)
    open_folder(folder, overwrite=FLAGS.overwrite)
    with held(folder):
        show(f"Solving {brief(game)} to NashConv {short(target)} ...")
        signals.wait = True
        with Status(has_bars()) as status:
            solution = searched(
                game,
                target,
                deadline,
                status,
                max_memory=FLAGS.max_memory,
                threads=FLAGS.threads,
                seed=FLAGS.seed,
            )
        for path in run_files.ALL_FILES:
            (folder / path).unlink(missing_ok=True)
        solution.save(folder)
        for text in _lines(solution):
            show(text)
        _draw(solution, name, folder)
        if (compiled := seconds_compiled()) > 1.0:
            show(f"Compilation took {compiled:.0f} s (not counted above, cached).")
        show(f"Results are in {folder}")
    return 0 if signals.received is None else 128 + signals.received


def _lines(solution: Solution) -> Iterator[str]:
    """The trace as a table, and the solution."""
    head = ("algorithm", "iterations", "nodes touched", "seconds", "NashConv", "value")
    if solution.nash_conv is None:
        head = (*head[:4], "NashConv at least", "value")
    rows: list[tuple[str, ...]] = []
    for step in solution.trace:
        has_bounds = np.isfinite(step.low)
        bounds = rounded_outwards(step.low, step.high) if has_bounds else ()
        value = f"{bounds[0]} to {bounds[1]}" if bounds else "-"
        counts = f"{step.iterations:,}", f"{step.nodes_touched:,}"
        times = f"{step.seconds:.2f}", short(step.nash_conv)
        rows.append((step.algorithm, *counts, *times, value))
    yield text_table(head, rows, {1, 2, 3, 4})
    yield str(solution)


def _draw(solution: Solution, game: str, folder: pathlib.Path) -> None:
    """Draws NashConv over time, with a line per algorithm and the target."""
    plotting = load_plotting()
    if plotting is None:
        show("No figure: matplotlib is not installed (pip install matplotlib).")
        return
    lines = {}
    for name in dict.fromkeys(step.algorithm for step in solution.trace):
        steps = [step for step in solution.trace if step.algorithm == name]
        seconds = np.array([step.seconds for step in steps])
        heights = np.array([step.nash_conv for step in steps])
        lines[name] = plotting.Line({"seconds": seconds}, heights)
    all_seconds = np.array([step.seconds for step in solution.trace])
    ends = np.array([all_seconds.min(), all_seconds.max()])
    level = np.full(2, solution.target)
    lines["target"] = plotting.Line({"seconds": ends}, level)
    figure = plotting.lines_figure({game: lines}, [("seconds", "log")])
    for ending in FLAGS.figure_format or ("png",):
        plotting.save_figure(figure, folder / run_files.PICTURES[ending])
