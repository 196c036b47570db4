"""Shared by benchmarks: games, formats, and the description of a run.

Each table is preceded by the command, the machine and the versions.
"""

import importlib.metadata
import os
import pathlib
import platform
import sys
from collections.abc import Callable
from typing import Any

GAMES = {
    "kuhn_poker": "kuhn_poker",
    "leduc_poker": "leduc_poker",
    "liars_dice": "liars_dice",
    "goofspiel": (
        "turn_based_simultaneous_game(game=goofspiel(imp_info=True,num_cards=4,"
        "points_order=descending))"
    ),
}
"""Games of the speed tables: name in the table -> load string."""


def cpu_model() -> str:
    """Name of the processor, if the system reports it."""
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = (line.split(":", 1)[1].strip() for line in lines if "model name" in line)
    return next(names, platform.processor() or platform.machine())


def describe(script: str) -> str:
    """Describes this run of a benchmark in lines of Markdown."""
    packages = ("open_spiel", "numba", "numpy")
    versions = ", ".join(
        f"{name} {importlib.metadata.version(name)}" for name in packages
    )
    command = " ".join(["python", "-m", f"benchmarks.{script}", *sys.argv[1:]])
    return (
        f"`{command}`\n\n{cpu_model()}, {os.cpu_count()} cores, {platform.system()}; "
        f"Python {platform.python_version()}, {versions}."
    )


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """Formats a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def per_second(value: float) -> str:
    """Formats a rate with three digits and separated thousands."""
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f}"


def repeat(step: Callable[[], Any]) -> Callable[[int], None]:
    """Returns a function that calls `step` a given number of times."""

    def run(count: int) -> None:
        for _ in range(count):
            step()

    return run


def count_for(seconds: float, seconds_of: Callable[[int], float]) -> int:
    """Number of steps that take about `seconds`.

    Args:
        seconds: length of a turn.
        seconds_of: runs a number of steps and returns their seconds.
    """
    count = 1
    while (took := seconds_of(count)) < seconds / 4:
        count *= 2
    return max(1, round(count * seconds / took))
