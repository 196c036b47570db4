"""What the command line prints of a run: its description, its rows, its estimates."""

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

from tqdm import tqdm

from mccfr_spiel.display.lines import brief
from mccfr_spiel.evaluation.exact import is_two_player_constant_sum
from mccfr_spiel.experiments.algorithm_names import parts_of
from mccfr_spiel.experiments.settings import Settings
from mccfr_spiel.policies.game_solver import GameSolver
from mccfr_spiel.solving.files import GAME_WAY_OUT
from mccfr_spiel.tree.infosets import RECALL_WAY_OUT
from mccfr_spiel.tree.loading import IMPORT_WAY_OUT
from mccfr_spiel.tree.readable import STRINGS_WAY_OUT

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

_COMMON = (
    f"{'iteration':>12} {'nodes touched':>15} {'seconds':>9} {'NashConv':>12} "
    f"{'exploitability':>14}"
)


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
    line = _COMMON + f" {'% of the pot':>14}" * (pot > 0)
    return line + f" {'last NashConv':>14}" * settings.evaluate_last


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
    chosen = parts_of(settings.algorithm)
    name = chosen.pop("name")
    values = ", ".join(f"{part}={value}" for part, value in chosen.items())
    lines = [", ".join(parts), f"{name} ({values}), seed={settings.seed}"]
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

    last, gap = row["last_nash_conv"], row["nash_conv"]
    share = None if gap is None or not pot > 0 else 50 * gap / pot
    return (
        f"{row['iteration']:>12,} {row['nodes_touched']:>15,} {row['seconds']:>9.3f} "
        f"{measure(row['nash_conv']):>12} {measure(row['exploitability']):>14}"
        + f" {measure(share):>14}"
        * (pot > 0)
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
