"""What benchmarks share: the games of the tables of speed, and what a table says.

Above each table stand the command, the machine and the versions.
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
"""The games on which speed is measured, by the names that the tables give them."""


def cpu_model() -> str:
    """The processor's name, as far as the system tells."""
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = (line.split(":", 1)[1].strip() for line in lines if "model name" in line)
    return next(names, platform.processor() or platform.machine())


def describe(script: str) -> str:
    """Lines of markdown about this run of a script of this folder."""
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
    """A markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def per_second(value: float) -> str:
    """Three digits, with thousands separated."""
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f}"


def repeat(step: Callable[[], Any]) -> Callable[[int], None]:
    """A function that calls another so many times."""

    def run(count: int) -> None:
        for _ in range(count):
            step()

    return run


def count_for(seconds: float, seconds_of: Callable[[int], float]) -> int:
    """How many steps take about so many seconds.

    Args:
        seconds: of a spell.
        seconds_of: makes so many steps, and returns how long they took.
    """
    count = 1
    while (took := seconds_of(count)) < seconds / 4:
        count *= 2
    return max(1, round(count * seconds / took))
