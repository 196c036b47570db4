"""Rec."""

import functools
import math
import pathlib
from typing import Any, NamedTuple

import pyspiel

from mccfr_spiel import algorithms
from mccfr_spiel.algorithms import ALGORITHMS, DCFR, FULL, Algorithm
from mccfr_spiel.arenas.choosing import is_possible
from mccfr_spiel.arenas.needs import EVALUATION
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.common import refusals
from mccfr_spiel.common.display import title
from mccfr_spiel.common.folders import read_table
from mccfr_spiel.common.limits import MemoryBudgetError, TreeFullError
from mccfr_spiel.evaluation.exact import is_two_player_constant_sum

HORIZON = 1000
"""Of the schedules in the league. Beyond it their parameters stay."""

MOST_NODES = 2_000_000
"""Games with more are not expanded to be measured: they are too large for passes."""

ENTRANTS: dict[str, Algorithm] = {
    **{name: one for name, one in ALGORITHMS.items() if name != "omd"},
    "hs_dcfr gamma=8": algorithms.hs_dcfr(HORIZON, gamma=8.0),
    "hs_dcfr gamma=30": algorithms.hs_dcfr(HORIZON, gamma=30.0),
    "hs_pcfr_plus": algorithms.hs_pcfr_plus(HORIZON),
    "dcfr alpha=2": DCFR._replace(
        minimizer=algorithms.discounted_regret_matching(2.0, 0.0)
    ),
    "regret-based pruning": Algorithm(
        algorithms.full(prune="regret"), algorithms.regret_matching()
    ),
    "external with baselines": Algorithm(
        algorithms.external(baseline="learned"), algorithms.regret_matching()
    ),
    "outcome with baselines": Algorithm(
        algorithms.outcome(0.6, baseline="learned"), algorithms.regret_matching()
    ),
    "external dcfr": DCFR._replace(sampling=algorithms.EXTERNAL),
    "optimistic_ftrl step=10": Algorithm(
        FULL, algorithms.optimistic_ftrl(10.0), algorithms.LINEAR
    ),
    "mmd step=0.5": Algorithm(FULL, algorithms.mmd(0.5, 1.0, temperature_power=0.5)),
}
"""The online algorithms of the league by the names in its tables. (OMD is FTRL with a
constant step.)"""


class LeagueRow(NamedTuple):
    """A line of league.csv, which `python -m benchmarks.league --write` measures.

    Attributes:
        game: its title on the page.
        nodes: of its tree.
        zero_sum: whether it is for two players and zero-sum.
        nash_conv: the one that was to be reached.
        place: "1" or "2" for the first algorithms that got there; "lowest" for the one
            that came lowest of all, to `nash_conv`.
        algorithm: its name.
        nodes_touched, seconds: what it took; 0 for "lowest".
    """

    game: str
    nodes: int
    zero_sum: bool
    nash_conv: float
    place: str
    algorithm: str
    nodes_touched: int
    seconds: float


_READ: dict[Any, Any] = {bool: "True".__eq__}
"""What reads a field, if not its type."""


@functools.cache
def league() -> tuple[LeagueRow, ...]:
    """What the league measured."""
    table = read_table(pathlib.Path(__file__).with_name("league.csv"))
    kinds = LeagueRow.__annotations__.items()
    return tuple(
        LeagueRow(*(_READ.get(kind, kind)(row[name] or 0) for name, kind in kinds))
        for row in table.rows
    )


class Recommendation(NamedTuple):
    """What `recommend` says.

    Attributes:
        name: as the league calls it.
        algorithm: for `Solver`; None for an offline method, such as the linear program
            of `solve_lp`.
        reason: why, in sentences.
    """

    name: str
    algorithm: Algorithm | None
    reason: str


def recommend(game: pyspiel.Game | str | GameTree, target: float) -> Recommendation:
    """The algorithm that was first at a NashConv in the league's most similar game.

    That is the game of the same kind (two players and zero-sum, or not) whose number of
    nodes is closest. The league ran each algorithm for three seconds, those that sample
    from three seeds, so the first is often ahead by little.

    Args:
        game: it is expanded, to count its nodes, up to MOST_NODES.
        target: the NashConv that is wanted, in the game's own payoffs.

    Raises:
        ValueError: `target` is not above 0, or the game cannot be expanded; see
            `GameTree`.
    """
    target = refusals.number(target, "target", 0, math.inf, open_low=True)
    tree = game if isinstance(game, GameTree) else GameTree(game)
    try:
        tree.expand_all(most=MOST_NODES)
    except (TreeFullError, MemoryBudgetError):
        size = (
            f"{title(tree.source)} has more than {MOST_NODES:,} nodes, or than fit in "
            "memory, "
        )
        if is_possible(tree, EVALUATION, "worlds"):
            return Recommendation(
                "dcfr",
                algorithms.DCFR,
                f"{size}but it is solved and evaluated world by world: give Solver "
                "store='worlds', if its worlds are not too many for that, too.",
            )
        return Recommendation(
            "external_sampling",
            algorithms.EXTERNAL_SAMPLING,
            f"{size}so passes over the whole tree are out of the question, and so is "
            "NashConv. External sampling needs little of the tree at a time, and no "
            "tuning; if a player has so many actions that following all of them is too "
            "slow, take outcome sampling.",
        )
    zero_sum = is_two_player_constant_sum(tree.game)
    alike = [place for place in league() if place.zero_sum == zero_sum]
    near = min(alike, key=lambda one: abs(math.log(one.nodes / tree.num_nodes)))
    kind = "two-player zero-sum game" if zero_sum else "game without a theorem"
    words = [
        f"{near.game} ({near.nodes:,} nodes) is the {kind} of the league closest in "
        f"size to {title(tree.source)} ({tree.num_nodes:,} nodes)."
    ]
    if not zero_sum:
        words.append(
            "With more than two players or general sums NashConv need not fall to 0."
        )
    name, more = _first(near.game, target)
    words.append(more)
    return Recommendation(name, ENTRANTS.get(name), " ".join(words))


def _first(game: str, target: float) -> tuple[str, str]:
    """Who was first at a target in a game of the league, and the sentence on it."""
    targets = {one.nash_conv for one in league() if one.place == "1"}
    within = [known for known in targets if known <= target * (1 + 1e-9)]
    known = max(within, default=min(targets))
    places = [one for one in league() if one.game == game]
    reached = {one.place: one for one in places if one.nash_conv == known}
    if "1" not in reached:
        lowest = next(one for one in places if one.place == "lowest")
        return lowest.algorithm, (
            f"There nobody came to NashConv {known:g} in the time of the league; "
            f"{lowest.algorithm} came lowest, to {lowest.nash_conv:g}."
        )
    name, nodes, seconds = reached["1"][-3:]
    words = (
        f"There {name} was first at NashConv {known:g}, after {nodes:,} nodes touched "
        f"and {seconds:g} s of solving."
    )
    if "2" in reached:
        other, nodes, seconds = reached["2"][-3:]
        words += f" Second was {other}, after {nodes:,} nodes and {seconds:g} s."
    if name not in ENTRANTS:
        use = {"lp": "ms.solve_lp(game)"}.get(name, f"--algorithm={name}")
        words += f" It is an offline method: use {use}."
    return name, words
