"""Descriptions of a solver: one line of text, and a table for notebooks."""

from typing import Any

from mccfr_spiel.common import display


def in_words(solver: Any) -> str:
    """A solver's game, algorithm, finished iterations and last recorded NashConv."""
    parts = [display.title(solver.tree.source), str(solver.algorithm)]
    if solver.tree.abstraction is not None:
        parts.append("with an abstraction")
    parts.append(display.counted(solver.num_iterations, "iteration"))
    nash_conv = _last_nash_conv(solver)
    if nash_conv:
        parts.append(f"NashConv {nash_conv}")
    return ", ".join(parts)


def as_html(solver: Any) -> str:
    """A solver as an HTML table of its properties."""
    rows = [
        ("game", display.title(solver.tree.source)),
        ("algorithm", str(solver.algorithm)),
        ("seed", str(solver.seed)),
        ("iterations", f"{solver.num_iterations:,}"),
        ("nodes touched", f"{solver.nodes_touched:,}"),
        ("seconds", f"{solver.seconds:.2f}"),
        ("infosets", f"{solver.tree.num_infosets:,}"),
        ("NashConv", _last_nash_conv(solver) or "not computed yet"),
    ]
    return display.html_table(("", ""), rows, (), caption="Solver")


def _last_nash_conv(solver: Any) -> str:
    """The NashConv in the last row of the history, as text.

    Empty if the row has no NashConv. If the solver has run further since, the iteration
    of the row is added.
    """
    row = solver.history[-1] if solver.history else {}
    if "nash_conv" not in row:
        return ""
    iteration, value = row["iteration"], display.short(row["nash_conv"])
    is_current = iteration == solver.num_iterations
    return value if is_current else f"{value} after {iteration:,}"
