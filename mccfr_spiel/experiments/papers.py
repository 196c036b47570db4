"""The experiments of the papers, and related ones, by name.

| name | experiment |
|---|---|
| lanctot2009_figure1 | Lanctot, Waugh, Zinkevich, Bowling 2009, figure 1 |
| farina2020_figure3, farina2020_figure4 | Farina, Kroer, Sandholm 2020, figures 3, 4 |
| offline | online and offline methods on the games of Farina et al. |
| bounds | NashConv and its theoretical bounds |
"""

import functools
from collections.abc import Callable, Iterator, Mapping

from mccfr_spiel import algorithms
from mccfr_spiel.experiments.panels import Curve, Experiment, Panel
from mccfr_spiel.experiments.settings import Settings
from mccfr_spiel.offline import EGT, LP, MIRROR_PROX, PRACTICAL_EGT


def _experiment(
    games: Mapping[str, tuple[str, int, *tuple[int, ...]]],
    curves: Callable[..., Iterator[Curve]],
    axes: tuple[tuple[str, str], ...],
    seeds: int = 1,
) -> Experiment:
    """Makes an experiment with a panel for each game.

    Args:
        games: title -> (game, number of nodes, ...).
        curves: makes the curves of a panel from this tuple.
        axes, seeds: see `Experiment`.
    """
    panels = (
        Panel(title, tuple(curves(*game)), game[1]) for title, game in games.items()
    )
    return Experiment(tuple(panels), axes, seeds)


# --- Lanctot, Waugh, Zinkevich, Bowling 2009 ---------------------------------------

LANCTOT_2009 = {
    "Goofspiel, 7 cards": ("python_goofspiel(num_cards=7)", 98_309_835, 5_000_000_000),
    "Latent Tic-Tac-Toe": ("latent_ttt", 58_086_835, 600_000_000),
    "One-Card Poker, 500 cards": ("python_one_card_poker(cards=500)", 2_246_001, 10**9),
    "Princess and Monster, 3x3": (
        "python_princess_and_monster(rows=3,cols=3,horizon=13)",
        91_803_132,
        500_000_000,
    ),
}
"""Title -> (game, number of nodes, right edge of the panel in nodes touched)."""

_CURVES_OF_2009 = {
    "CFR": algorithms.CFR,
    "CFR with pruning": algorithms.PRUNED_CFR,
    "outcome sampling": algorithms.OUTCOME_SAMPLING,
    "external sampling": algorithms.EXTERNAL_SAMPLING,
}
"""The curves of each panel."""


def _lanctot2009_figure1(game: str, _: int, budget: int) -> Iterator[Curve]:
    base = Settings(
        game, until_nodes_touched=budget, rows_per_decade=10, rows_from=100_000
    )
    for label, algorithm in _CURVES_OF_2009.items():
        yield Curve(label, base._replace(algorithm=algorithm))


# --- Farina, Kroer, Sandholm 2020 --------------------------------------------------

_STEP_SIZES = (0.1, 1.0, 10.0, 100.0)
"""The step sizes of FTRL and OMD in the comparison of Farina et al."""

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
"""Title -> (game, number of nodes)."""

_TRAVERSALS = 50
"""Length of a run in traversals of the whole tree."""


def _farina2020(
    sampling: algorithms.Sampling, game: str, num_nodes: int
) -> Iterator[Curve]:
    base = Settings(
        game,
        algorithms.Algorithm(sampling, algorithms.regret_matching()),
        until_nodes_touched=_TRAVERSALS * num_nodes,
        print_freq=num_nodes,
    )
    yield Curve("MCCFR", base)
    for rule, make in (("FTRL", algorithms.ftrl), ("OMD", algorithms.omd)):
        for step in _STEP_SIZES:
            algorithm = algorithms.Algorithm(sampling, make(step, weights="kroer"))
            label = f"{rule}, step size {step:g}"
            yield Curve(label, base._replace(algorithm=algorithm), rule)


# --- online and offline methods -------------------------------------------------------

_OFFLINE = {
    "CFR": (algorithms.CFR, 10_000),
    "CFR+": (algorithms.CFR_PLUS, 10_000),
    "EGT": (EGT, 3_000),
    "practical EGT": (PRACTICAL_EGT, 3_000),
    "mirror prox": (MIRROR_PROX, 3_000),
    "LP": (LP, 1),
}
"""The methods of Farina's lecture 10, and their numbers of iterations."""


def _offline(game: str, num_nodes: int) -> Iterator[Curve]:
    for label, (algorithm, iterations) in _OFFLINE.items():
        # HiGHS would need hours for the largest program.
        if label != "LP" or num_nodes < 700_000:
            yield Curve(label, Settings(game, algorithm, iterations=iterations))


# --- theoretical bounds ------------------------------------------------------------

_BOUNDED = {
    "Kuhn poker": ("kuhn_poker", 58),
    "Leduc poker": ("leduc_poker", 9_457),
    "Goofspiel, 4 cards": ("python_goofspiel(num_cards=4)", 2_229),
    "Liar's dice": ("liars_dice", 294_883),
}
"""Title -> (game, number of nodes)."""


def _bounds(game: str, _: int) -> Iterator[Curve]:
    """Yields curves with simultaneous updates, which the theorems require."""
    for label, algorithm, iterations in (
        ("CFR", algorithms.CFR, 10_000),
        ("external sampling", algorithms.EXTERNAL_SAMPLING, 1_000_000),
        ("outcome sampling", algorithms.OUTCOME_SAMPLING, 10_000_000),
    ):
        method = algorithm._replace(alternating=False)
        settings = Settings(game, method, iterations=iterations, bounds=True)
        yield Curve(label, settings)


_BY_NODES = ("nodes_touched", "linear")
_FARINA = {
    name: _experiment(
        _FARINA_2020, functools.partial(_farina2020, sampling), (_BY_NODES,), seeds=50
    )
    for name, sampling in (
        ("farina2020_figure3", algorithms.EXTERNAL),
        ("farina2020_figure4", algorithms.BALANCED_OUTCOME),
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
"""The experiments by name."""
