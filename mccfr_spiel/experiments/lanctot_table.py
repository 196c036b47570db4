"""Table 1 of Lanctot, Waugh, Zinkevich, Bowling 2009: published and measured
numbers."""

import concurrent.futures
import multiprocessing
import pathlib
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from mccfr_spiel import algorithms
from mccfr_spiel.common.atomic_files import (
    write_file,
)
from mccfr_spiel.common.csv_files import (
    write_rows,
)
from mccfr_spiel.evaluation.theory import longest_history, m_values
from mccfr_spiel.experiments.importing import import_module
from mccfr_spiel.experiments.papers import LANCTOT_2009
from mccfr_spiel.experiments.trees import shared_tree
from mccfr_spiel.solving.solver import Solver

TABLE_1 = "lanctot2009_table1"
"""The name of this table in the command line."""

PAPER = {
    "Goofspiel, 7 cards": ("98.3M | 3294k | 14 | 89884 / 89884", 110, 150e-6, 0.150),
    "Latent Tic-Tac-Toe": ("70.4M | 16039k | 18 | 1333630 / 1236660", 38, 62e-6, 0.070),
    "One-Card Poker, 500 cards": ("22.4M | 2k | 5 | 45 / 32", 28, 46e-6, 99e-6),
    "Princess and Monster, 3x3": ("91.8M | 20k | 13 | 9541 / 2930", 120, 85e-6, 0.028),
}
"""The rows of the published table: |H|, |I|, l and M1 / M2 as cells, then the seconds
per iteration of vanilla CFR, outcome sampling and external sampling."""

_TIMED = {
    "cfr": algorithms.CFR,
    "outcome": algorithms.OUTCOME_SAMPLING,
    "external": algorithms.EXTERNAL_SAMPLING,
}
_TIMED_SECONDS = 5.0


def make_table(
    folder: pathlib.Path,
    imports: Sequence[str] = (),
    trees: pathlib.Path | None = None,
    *,
    only: str = "",
) -> pathlib.Path:
    """Measures the games of Table 1; returns the path of a Markdown table.

    A CSV file has the same numbers. Each game is measured in a process of its own, one
    after the other, so that the peak memory is that of the game.

    Args:
        folder: folder of both files.
        imports: modules that register games, or paths of their files.
        trees: folder of shared trees; None for none.
        only: measure only games whose titles contain this text.

    Raises:
        ValueError: no title contains `only`.
    """
    chosen = {
        title: game
        for title, (game, *_) in LANCTOT_2009.items()
        if only.lower() in title.lower()
    }
    if not chosen:
        raise ValueError(
            f"only={only!r} matches no game. Expected a part of "
            f"{', '.join(LANCTOT_2009)}."
        )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "table1.md"
    rows = []
    for title, game in chosen.items():
        with concurrent.futures.ProcessPoolExecutor(
            1, multiprocessing.get_context("spawn")
        ) as pool:
            row = pool.submit(measure_game, game, tuple(imports), trees).result()
        rows.append({"game": title} | row)
        write_rows(folder / "table1.csv", rows)
        write_file(path, ("\n".join(_markdown(rows)) + "\n").encode())
    return path


def measure_game(
    game: str, imports: tuple[str, ...], trees: pathlib.Path | None
) -> dict[str, Any]:
    """Measures a game's row of Table 1: sizes, CPU seconds per iteration, and the peak
    memory of this process in GB."""
    for module in imports:
        import_module(module)
    tree = shared_tree(game, trees)
    players = tree.infosets["player"]
    row: dict[str, Any] = {
        "histories": tree.num_nodes,
        "infosets_0": int((players == 0).sum()),
        "infosets_1": int((players == 1).sum()),
        "longest_history": longest_history(tree),
    }
    row |= {f"m_value_{p}": value for p, value in enumerate(m_values(tree))}
    for name, algorithm in _TIMED.items():
        solver = Solver(tree, algorithm)
        solver.iterate(1)  # compiles the code and allocates the arrays
        began, first = time.process_time(), solver.num_iterations
        while time.process_time() < began + _TIMED_SECONDS:
            solver.iterate(max(solver.num_iterations, 1))
        iterations = solver.num_iterations - first
        row[f"{name}_seconds"] = (time.process_time() - began) / iterations
        del solver
    row["peak_gigabytes"] = _peak_bytes() / 1e9
    return row


def _peak_bytes() -> int:
    """Peak memory of this process in bytes, mapped files included."""
    import resource  # not available on Windows

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _markdown(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yields the lines of a table with the published and the measured row per game."""
    yield (
        "| game | histories | infosets | l | M | CFR s | outcome s | external s | "
        "peak GB |"
    )
    yield f"|{'---|' * 9}"
    for row in rows:
        sizes, *published = PAPER[row["game"]]
        measured = [row[f"{name}_seconds"] for name in _TIMED]
        yield (
            f"| {row['game']}, paper | {sizes} | "
            f"{' | '.join(f'{seconds:g}' for seconds in published)} | |"
        )
        times = " | ".join(
            f"{ours:.3g} ({theirs / ours:,.0f}x)"
            for ours, theirs in zip(measured, published, strict=True)
        )
        yield (
            f"| ours | {row['histories']:,} | "
            f"{row['infosets_0']:,} + {row['infosets_1']:,} | "
            f"{row['longest_history']} | "
            f"{row['m_value_0']:,.0f} / {row['m_value_1']:,.0f} | {times} | "
            f"{row['peak_gigabytes']:.1f} |"
        )
