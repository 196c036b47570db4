"""What the command line prints of a run: its description, its rows, its estimates."""

import contextlib
import sys
from typing import Any

from tqdm import tqdm

from mccfr_spiel.evaluation.exact import is_two_player_constant_sum
from mccfr_spiel.experiments.flag_words import in_flags
from mccfr_spiel.experiments.settings import Settings, algorithm_parts
from mccfr_spiel.policies.game_solver import GameSolver

_COMMON = (
    f"{'iteration':>12} {'nodes touched':>15} {'seconds':>9} {'NashConv':>12} "
    f"{'exploitability':>14}"
)


def header(settings: Settings) -> str:
    """The line above the rows of a run."""
    return _COMMON + f" {'last NashConv':>14}" * settings.evaluate_last


def show(text: str) -> None:
    """Prints a line. If that fails, for example because standard output is a closed
    pipe or a file on a full disk, the work goes on all the same."""
    with contextlib.suppress(OSError, ValueError):
        tqdm.write(text)
        sys.stdout.flush()


def warn(text: str) -> None:
    """Prints a line in the words of the command line to standard error, as `show` does
    to standard output."""
    with contextlib.suppress(OSError, ValueError):
        tqdm.write(in_flags(text), file=sys.stderr)
        sys.stderr.flush()


def describe(solver: GameSolver, settings: Settings) -> str:
    """What is about to run, in a few lines."""
    tree = solver.tree
    parts = [f"{tree.source}: {tree.num_players} players"]
    if tree.is_complete:
        parts.append(f"{tree.num_nodes:,} nodes, {tree.num_infosets:,} infosets")
    chosen = algorithm_parts(settings)
    name = chosen.pop("name")
    values = ", ".join(f"{part}={value}" for part, value in chosen.items())
    lines = [", ".join(parts), f"{name} ({values}), seed={settings.seed}"]
    if settings.evaluate == "exact" and not is_two_player_constant_sum(tree.game):
        lines.append(
            "Not a two-player zero-sum game: there is no exploitability, and NashConv "
            "may not approach 0."
        )
    return "\n".join(lines)


def format_row(row: dict[str, Any]) -> str:
    """A row under `header`; exploitability is NashConv / 2."""

    def measure(value: float | None) -> str:
        return "-" if value is None else f"{value:.6g}"

    last = row["last_nash_conv"]
    return (
        f"{row['iteration']:>12,} {row['nodes_touched']:>15,} {row['seconds']:>9.3f} "
        f"{measure(row['nash_conv']):>12} {measure(row['exploitability']):>14}"
    ) + ("" if last is None else f" {measure(last):>14}")


def show_estimates(result: dict[str, Any]) -> None:
    """Prints what `playing.evaluation` has estimated."""
    for player, estimates in enumerate(result["players"]):
        show(f"player {player}, 95% intervals from {result['plays']:,} plays:")
        for name, estimate in estimates.items():
            if not isinstance(estimate, dict):
                show(f"  {name.replace('_', ' ')}: {estimate:,}")
                continue
            mean, half_width = estimate["mean"], estimate["half_width"]
            show(f"  {name.replace('_', ' ')}: {mean:.5g} +- {half_width:.2g}")
    if "gain_of_learned_response" in result["players"][0]:
        show("The gain is a lower bound of what a best response gains; not NashConv.")
    else:
        show("No response was learned, since the game has imperfect recall.")
