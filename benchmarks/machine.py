"""What benchmarks share: the games of the tables of speed, and what a table says.

Above each table stand the command, the machine and the versions.
"""

import importlib.metadata
import os
import pathlib
import platform
import sys

import numpy as np
import pyspiel

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

_GOOFSPIEL = (
    "turn_based_simultaneous_game(game=goofspiel(imp_info=True,num_cards={},"
    "points_order=descending))"
)
LARGE_GAMES = {
    **{f"goofspiel_{cards}": _GOOFSPIEL.format(cards) for cards in range(7, 14)},
    "liars_dice": "liars_dice(numdice=2)",
    "dark_hex": "dark_hex",
    "dark_hex_numturns": "dark_hex(obstype=reveal-numturns)",
    "phantom_ttt": "phantom_ttt",
    "battleship_3x2": (
        "battleship(board_width=3,board_height=2,ship_sizes=[2],ship_values=[1],"
        "num_shots=3,allow_repeated_shots=false)"
    ),
    "battleship": "battleship",
    "limit_holdem": pyspiel.hulh_game_string("fcpa"),
    "leduc_poker": "leduc_poker(players=3)",
}
"""Games whose whole tree nobody makes."""


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


def deliver(text: str, path: str | None) -> None:
    """Writes a report into a file, or to standard output if there is no path."""
    if path:
        pathlib.Path(path).write_text(text, encoding="utf-8")
    else:
        print(text)


def per_second(value: float) -> str:
    """Three digits, with thousands separated."""
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f}"


def resident() -> float:
    """MiB of memory that the process holds now (Linux)."""
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def touch_memory(mebibytes: int) -> None:
    """Writes to so much new memory and gives it back.

    A virtual machine may get memory from its host only when it is first written to, and
    lose it again some seconds after it was given back. That takes up to 40 times as
    long as all that the system itself does for new memory, and differs from second to
    second. Whoever runs next finds memory that the machine has.
    """
    np.zeros(mebibytes << 17)[:: 4096 // 8] = 1
