"""The experiments of the papers, and ours beside them, as data.

Each is an `Experiment`: which settings are run, in which panels, on which axes. The
command line runs one by its name in EXPERIMENTS.

Table 1 of Lanctot, Waugh, Zinkevich, Bowling 2009, measured beside theirs.
"""

import concurrent.futures
import functools
import importlib
import itertools
import multiprocessing
import pathlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from mccfr_spiel.algorithms import (
    BALANCED_OUTCOME,
    CFR,
    CFR_PLUS,
    EXTERNAL,
    EXTERNAL_SAMPLING,
    OUTCOME_SAMPLING,
    PRUNED_CFR,
    Algorithm,
    Sampling,
    ftrl,
    omd,
    regret_matching,
)
from mccfr_spiel.common.folders import write_file, write_rows
from mccfr_spiel.evaluation.theory import longest_history, m_values
from mccfr_spiel.experiments.panels import Curve, Experiment, Panel
from mccfr_spiel.experiments.settings import Settings
from mccfr_spiel.offline import EGT, LP, MIRROR_PROX, PRACTICAL_EGT
from mccfr_spiel.solving.solver import Solver
from mccfr_spiel.tree.cache import shared_tree

STEP_SIZES = (0.1, 1.0, 10.0, 100.0)
"""The step sizes of FTRL and OMD that Farina et al. compare."""

# --- Lanctot, Waugh, Zinkevich, Bowling 2009 ---------------------------------------

LANCTOT_2009 = {
    "Goofspiel, 7 cards": (
        "python_goofspiel(num_cards=7)",
        98_309_835,
        5_000_000_000,
    ),
    "Latent Tic-Tac-Toe": ("latent_ttt", 58_086_835, 600_000_000),
    "One-Card Poker, 500 cards": (
        "python_one_card_poker(cards=500)",
        2_246_001,
        1_000_000_000,
    ),
    "Princess and Monster, 3x3": (
        "python_princess_and_monster(rows=3,cols=3,horizon=13)",
        91_803_132,
        500_000_000,
    ),
}
"""The games, the number of their nodes, and the right edge of their panel."""

_FAMILY_OF_2009 = {
    "CFR": CFR,
    "CFR with pruning": PRUNED_CFR,
    "outcome sampling": OUTCOME_SAMPLING,
    "external sampling": EXTERNAL_SAMPLING,
}
"""The curves of each panel."""


Curves = Iterator[tuple[str, Settings] | tuple[str, Settings, str]]
"""Labels, settings and, for some, families."""


def _experiment(
    games: Mapping[str, tuple[str, int, *tuple[int, ...]]],
    curves: Callable[..., Curves],
    axes: tuple[tuple[str, str], ...],
    seeds: int = 1,
) -> Experiment:
    """A panel for each game: title -> (game, number of its nodes, ...), from which
    `curves` makes its curves."""
    panels = (
        Panel(title, tuple(itertools.starmap(Curve, curves(*game))), game[1])
        for title, game in games.items()
    )
    return Experiment(tuple(panels), axes, seeds)


def _lanctot2009_figure1(game: str, _: int, budget: int) -> Curves:
    base = Settings(
        game, until_nodes_touched=budget, rows_per_decade=10, rows_from=100_000
    )
    for label, algorithm in _FAMILY_OF_2009.items():
        yield label, base._replace(algorithm=algorithm)


# --- Farina, Kroer, Sandholm 2020 --------------------------------------------------

_FARINA_2020 = {
    "Leduc13": ("python_leduc_ranks(ranks=13)", 166_336),
    "Goofspiel, 4 cards": (
        "python_goofspiel(num_cards=4,imp_info=False,points_order=random,"
        "returns_type=point_difference)",
        54_421,
    ),
    "Search, 4 turns": ("python_search(turns=4)", 21_613),
    "Search, 5 turns": ("python_search(turns=5)", 87_927),
    "Battleship, 3x2": (
        "battleship(board_width=3,board_height=2,ship_sizes=[2],ship_values=[1],"
        "num_shots=3,allow_repeated_shots=false)",
        732_607,
    ),
}
"""The games, and the number of their nodes."""

_TRAVERSALS = 50
"""The budget of each run, in traversals of the whole tree."""


def _farina2020(sampling: Sampling, game: str, num_nodes: int) -> Curves:
    base = Settings(
        game,
        Algorithm(sampling, regret_matching()),
        until_nodes_touched=_TRAVERSALS * num_nodes,
        print_freq=num_nodes,
    )
    yield "MCCFR", base
    for rule, make in (("FTRL", ftrl), ("OMD", omd)):
        for step in STEP_SIZES:
            algorithm = Algorithm(sampling, make(step, weights="kroer"))
            label = f"{rule}, step size {step:g}"
            yield label, base._replace(algorithm=algorithm), rule


# --- beside each other -------------------------------------------------------------

_OFFLINE = {
    "CFR": (CFR, 10_000),
    "CFR+": (CFR_PLUS, 10_000),
    "EGT": (EGT, 3_000),
    "practical EGT": (PRACTICAL_EGT, 3_000),
    "mirror prox": (MIRROR_PROX, 3_000),
    "LP": (LP, 1),
}
"""The methods of Farina's lecture 10, and how many iterations of each are run."""


def _offline(game: str, num_nodes: int) -> Curves:
    for label, (algorithm, iterations) in _OFFLINE.items():
        # HiGHS would need hours for the largest program.
        if label != "LP" or num_nodes < 700_000:
            yield label, Settings(game, algorithm, iterations=iterations)


_BOUNDED = {
    "Kuhn poker": ("kuhn_poker", 58),
    "Leduc poker": ("leduc_poker", 9_457),
    "Goofspiel, 4 cards": ("python_goofspiel(num_cards=4)", 2_229),
    "Liar's dice": ("liars_dice", 294_883),
}
"""The games, and the number of their nodes."""


def _bounds(game: str, _: int) -> Curves:
    """The theorems are about simultaneous updates, so those are run."""
    for label, algorithm, iterations in (
        ("CFR", CFR, 10_000),
        ("external sampling", EXTERNAL_SAMPLING, 1_000_000),
        ("outcome sampling", OUTCOME_SAMPLING, 10_000_000),
    ):
        method = algorithm._replace(alternating=False)
        yield label, Settings(game, method, iterations=iterations, bounds=True)


_BY_NODES = ("nodes_touched", "linear")
_FARINA = {
    name: _experiment(
        _FARINA_2020, functools.partial(_farina2020, sampling), (_BY_NODES,), seeds=50
    )
    for name, sampling in (
        ("farina2020_figure3", EXTERNAL),
        ("farina2020_figure4", BALANCED_OUTCOME),
    )
}

EXPERIMENTS = {
    "lanctot2009_figure1": _experiment(
        LANCTOT_2009, _lanctot2009_figure1, (_BY_NODES, ("nodes_touched", "log"))
    ),
    **_FARINA,
    "offline": _experiment(
        _FARINA_2020, _offline, (("gradient_evaluations", "log"), ("seconds", "log"))
    ),
    "bounds": _experiment(_BOUNDED, _bounds, (("iteration", "log"),)),
}
"""The experiments, as the command line calls them."""

# --- Table 1 of Lanctot et al. ------------------------------------------------------

TABLE_1 = "lanctot2009_table1"
"""What the command line calls this table."""

PAPER = {
    "Goofspiel, 7 cards": ("98.3M", "3294k", "14", "89884 / 89884", 110, 150e-6, 0.150),
    "Latent Tic-Tac-Toe": (
        "70.4M",
        "16039k",
        "18",
        "1333630 / 1236660",
        38,
        62e-6,
        0.070,
    ),
    "One-Card Poker, 500 cards": ("22.4M", "2k", "5", "45 / 32", 28, 46e-6, 99e-6),
    "Princess and Monster, 3x3": (
        "91.8M",
        "20k",
        "13",
        "9541 / 2930",
        120,
        85e-6,
        0.028,
    ),
}
"""The rows of the paper's Table 1: |H|, |I|, l, M1 / M2, and the seconds per iteration
of vanilla CFR, outcome sampling and external sampling."""

_TIMED = {"cfr": CFR, "outcome": OUTCOME_SAMPLING, "external": EXTERNAL_SAMPLING}
_TIMED_SECONDS = 5.0


def make_table(
    folder: pathlib.Path,
    imports: Sequence[str] = (),
    trees: pathlib.Path | None = None,
    *,
    only: str = "",
) -> pathlib.Path:
    """Measures the games of Table 1; returns the path of a markdown table.

    A CSV file with the same numbers is beside it. Each game is measured in a process of
    its own, one after the other, so that peak memory is the game's alone.

    Args:
        folder: for both files.
        imports: modules that register games.
        trees: the folder of the tree cache; None for the user's.
        only: measure only the games whose names contain this.

    Raises:
        ValueError: no game's name contains `only`.
    """
    chosen = {
        title: game
        for title, (game, *_) in LANCTOT_2009.items()
        if only.lower() in title.lower()
    }
    if not chosen:
        raise ValueError(f"only={only!r} is part of none of {', '.join(LANCTOT_2009)}.")
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
    """A game's row of Table 1: its sizes, the CPU seconds of an iteration, and the peak
    memory of this process in GB."""
    for module in imports:
        importlib.import_module(module)
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
        solver.iterate(1)  # compiles, and makes the arrays
        began, first = time.process_time(), solver.num_iterations
        while time.process_time() < began + _TIMED_SECONDS:
            solver.iterate(max(solver.num_iterations, 1))
        iterations = solver.num_iterations - first
        row[f"{name}_seconds"] = (time.process_time() - began) / iterations
        del solver
    row["peak_gigabytes"] = _peak_bytes() / 1e9
    return row


def _peak_bytes() -> int:
    """The most memory that this process has ever used, mapped files included."""
    import resource  # here, because Windows has no such module

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _markdown(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The lines of a table that has the paper's row and ours for each game."""
    yield (
        "| game | histories | infosets | l | M | CFR s | outcome s | external s | "
        "peak GB |"
    )
    yield f"|{'---|' * 9}"
    for row in rows:
        *sizes, cfr, outcome, external = PAPER[row["game"]]
        theirs = (cfr, outcome, external)
        ours = [row[f"{name}_seconds"] for name in _TIMED]
        yield (
            f"| {row['game']}, paper | {' | '.join(sizes)} | "
            f"{' | '.join(f'{seconds:g}' for seconds in theirs)} | |"
        )
        times = " | ".join(
            f"{mine:.3g} ({paper / mine:,.0f}x)"
            for mine, paper in zip(ours, theirs, strict=True)
        )
        yield (
            f"| ours | {row['histories']:,} | "
            f"{row['infosets_0']:,} + {row['infosets_1']:,} | "
            f"{row['longest_history']} | "
            f"{row['m_value_0']:,.0f} / {row['m_value_1']:,.0f} | {times} | "
            f"{row['peak_gigabytes']:.1f} |"
        )
