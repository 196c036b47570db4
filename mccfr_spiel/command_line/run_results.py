"""Results at the end of a run: values, estimates by play, and the figure."""

import importlib
import json
import pathlib
from types import ModuleType

import pyspiel

from mccfr_spiel.command_line.program_flags import FLAGS
from mccfr_spiel.command_line.terminal import show
from mccfr_spiel.common.atomic_files import write_json
from mccfr_spiel.common.display import brief, player_name, plus_minus
from mccfr_spiel.evaluation import metrics
from mccfr_spiel.evaluation.play_reports import evaluated_by_play
from mccfr_spiel.experiments import run_files
from mccfr_spiel.experiments.algorithm_names import name_of
from mccfr_spiel.experiments.run_recording import Recording
from mccfr_spiel.experiments.settings import Settings
from mccfr_spiel.offline import GameSolver, LinearProgramRun


def load_plotting() -> ModuleType | None:
    """Imports `experiments.plotting`; returns None without matplotlib."""
    try:
        return importlib.import_module("mccfr_spiel.experiments.plotting")
    except ImportError:
        return None


def evaluate(recording: Recording, folder: pathlib.Path) -> None:
    """Prints and writes the final evaluation of a complete run."""
    settings, solver = recording.settings, recording.solver
    first = player_name(solver.tree.game, 0)
    if isinstance(solver, LinearProgramRun):
        summary = solver.summary()
        write_json(folder / run_files.SOLUTION, summary)
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
    """Plays the average policy; prints the estimates and writes evaluation.json."""
    show("Playing the average policy ...")
    solver.tree.forget_nodes()  # the policy needs no nodes
    solver.tree.give_back()
    # A learned response may use the memory that the solver left, and the quarter that
    # `budget_of` reserved.
    budget = solver.tree.budget
    try:
        result = evaluated_by_play(
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
    write_json(folder / run_files.EVALUATION, result)
    for player, estimates in enumerate(result["players"]):
        name = player_name(solver.tree.game, player)
        show(f"{name}, 95% intervals from {result['plays']:,} plays:")
        for name, estimate in estimates.items():
            if isinstance(estimate, dict):
                shown = plus_minus(estimate["mean"], estimate["half_width"])
            else:
                shown = f"{estimate:,}"
            show(f"  {name.replace('_', ' ')}: {shown}")
    if settings.forgets:
        show("No response was learned, because the game has imperfect recall.")
    else:
        show("The gain is a lower bound on the gain of a best response, not NashConv.")


def draw(settings: Settings, folder: pathlib.Path, plotting: ModuleType) -> None:
    """Draws the curve of the rows, or the estimates by play."""
    for ending in FLAGS.figure_format or ("png",):
        picture = folder / run_files.PICTURES[ending]
        if settings.evaluate == "exact" and settings.is_iterative:
            label = name_of(settings.algorithm)
            figure = plotting.convergence_figure({label: folder}, title=settings.game)
            plotting.save_figure(figure, picture)
        elif (folder / run_files.EVALUATION).exists():
            result = json.loads((folder / run_files.EVALUATION).read_text())
            plotting.save_estimates(result, picture, brief(settings.game))
