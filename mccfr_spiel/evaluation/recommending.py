"""`recommend`: recommends the algorithm that was fastest in a similar game.

The measurements are those of the league, in which every algorithm ran on twelve games
(docs/measured.md). They are in league.csv.
"""

import functools
import math
import pathlib
from typing import Any, NamedTuple

import pyspiel

from mccfr_spiel import algorithms
from mccfr_spiel.arenas.choosing import is_possible
from mccfr_spiel.arenas.needs import EVALUATION
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.common import refusals
from mccfr_spiel.common.budget import (
    MemoryBudgetError,
    TreeFullError,
)
from mccfr_spiel.common.csv_files import (
    read_table,
)
from mccfr_spiel.common.display import title
from mccfr_spiel.evaluation.exact import is_two_player_constant_sum

HORIZON = 1000
"""Horizon of the algorithms with a schedule in the league, in iterations. Their
parameters are constant after the horizon."""

MOST_NODES = 2_000_000
"""The largest number of nodes of a tree to expand. Algorithms that pass over the whole
tree are not recommended for larger games."""

ENTRANTS: dict[str, algorithms.Algorithm] = {
    **{name: value for name, value in algorithms.ALGORITHMS.items() if name != "omd"},
    "hs_dcfr gamma=8": algorithms.hs_dcfr(HORIZON, gamma=8.0),
    "hs_dcfr gamma=30": algorithms.hs_dcfr(HORIZON, gamma=30.0),
    "hs_pcfr_plus": algorithms.hs_pcfr_plus(HORIZON),
    "dcfr alpha=2": algorithms.DCFR._replace(
        minimizer=algorithms.discounted_regret_matching(2.0, 0.0)
    ),
    "regret-based pruning": algorithms.Algorithm(
        algorithms.full(prune="regret"), algorithms.regret_matching()
    ),
    "external with baselines": algorithms.Algorithm(
        algorithms.external(baseline="learned"), algorithms.regret_matching()
    ),
    "outcome with baselines": algorithms.Algorithm(
        algorithms.outcome(0.6, baseline="learned"), algorithms.regret_matching()
    ),
    "external dcfr": algorithms.DCFR._replace(sampling=algorithms.EXTERNAL),
    "optimistic_ftrl step=10": algorithms.Algorithm(
        algorithms.FULL, algorithms.optimistic_ftrl(10.0), algorithms.LINEAR
    ),
    "mmd step=0.5": algorithms.Algorithm(
        algorithms.FULL, algorithms.mmd(0.5, 1.0, temperature_power=0.5)
    ),
}
"""Name in league.csv -> algorithm, without offline methods. OMD is missing, because
with a constant step size it is the same as FTRL."""


class LeagueRow(NamedTuple):
    """A row of league.csv, which `python -m benchmarks.league --write` writes.

    A target is a NashConv that algorithms try to reach. For each game and target, the
    file has a row for each of the two fastest algorithms. If no algorithm reached some
    target of a game, there is one more row for the game, for the algorithm that came to
    the lowest NashConv.

    Attributes:
        game: title of the game.
        nodes: number of nodes of the game's tree.
        zero_sum: whether the game is a two-player zero-sum game.
        nash_conv: the target; if `place` is "lowest", the lowest NashConv that any
            algorithm reached.
        place: "1" or "2" for the first and second algorithm to reach the target, or
            "lowest".
        algorithm: name of the algorithm.
        nodes_touched, seconds: cost until the target was reached; 0 for "lowest".
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
"""Type of a field -> function that converts text to it, if the type itself cannot."""


@functools.cache
def league() -> tuple[LeagueRow, ...]:
    """All rows of the league."""
    table = read_table(pathlib.Path(__file__).with_name("league.csv"))
    fields = LeagueRow.__annotations__.items()
    return tuple(
        LeagueRow(*(_READ.get(of, of)(row[name] or 0) for name, of in fields))
        for row in table.rows
    )


class Recommendation(NamedTuple):
    """A recommended algorithm.

    Attributes:
        name: name of the algorithm in the league.
        algorithm: the algorithm, for `Solver`; None for an offline method, such as
            `solve_lp`.
        reason: the reason for the recommendation, as text.
    """

    name: str
    algorithm: algorithms.Algorithm | None
    reason: str


def recommend(game: pyspiel.Game | str | GameTree, target: float) -> Recommendation:
    """Recommends the algorithm that was the first to reach a NashConv in a similar
    game.

    The similar game is the game of the league with the most similar number of nodes,
    among the games of the same kind (two-player zero-sum, or not). Each algorithm ran
    for only three seconds, sampling algorithms with three seeds, so other algorithms
    may be almost as fast.

    Args:
        game: the game. It is expanded up to MOST_NODES nodes to count them.
        target: the desired NashConv, in the game's payoffs.

    Raises:
        ValueError: `target` is not positive, or the game cannot be expanded; see
            `GameTree`.
    """
    target = refusals.number(target, "target", 0, math.inf, open_low=True)
    tree = game if isinstance(game, GameTree) else GameTree(game)
    try:
        tree.expand_all(most=MOST_NODES)
    except (TreeFullError, MemoryBudgetError):
        size = (
            f"{title(tree.source)} has more than {MOST_NODES:,} nodes, or does not fit "
            "in memory, "
        )
        if is_possible(tree, EVALUATION, "worlds"):
            return Recommendation(
                "dcfr",
                algorithms.DCFR,
                f"{size}but it can be solved and evaluated world by world: pass "
                "store='worlds' to Solver, unless its worlds do not fit either.",
            )
        return Recommendation(
            "external_sampling",
            algorithms.EXTERNAL_SAMPLING,
            f"{size}so passes over the whole tree and NashConv are impossible. "
            "External sampling visits a small part of the tree per iteration and needs "
            "no tuning. If a player has too many actions to follow all of them, use "
            "outcome sampling.",
        )
    zero_sum = is_two_player_constant_sum(tree.game)
    alike = [row for row in league() if row.zero_sum == zero_sum]
    near = min(alike, key=lambda row: abs(math.log(row.nodes / tree.num_nodes)))
    category = "two-player zero-sum game" if zero_sum else "game without a theorem"
    sentences = [
        f"{near.game} ({near.nodes:,} nodes) is the {category} of the league closest "
        f"in size to {title(tree.source)} ({tree.num_nodes:,} nodes)."
    ]
    if not zero_sum:
        sentences.append(
            "With more than two players or general sums NashConv need not fall to 0."
        )
    name, reason = _first(near.game, target)
    sentences.append(reason)
    return Recommendation(name, ENTRANTS.get(name), " ".join(sentences))


def _first(game: str, target: float) -> tuple[str, str]:
    """The algorithm that was the first to reach a target in a game of the league.

    Args:
        game: title of the game.
        target: the desired NashConv. The closest target of the league that is at most
            this number is used, or the smallest target if there is none.

    Returns:
        The name of the algorithm, and the reason as text. If no algorithm reached the
        target, the algorithm that came to the lowest NashConv is returned.
    """
    targets = {row.nash_conv for row in league() if row.place == "1"}
    within = [value for value in targets if value <= target * (1 + 1e-9)]
    league_target = max(within, default=min(targets))
    rows = [row for row in league() if row.game == game]
    reached = {row.place: row for row in rows if row.nash_conv == league_target}
    if "1" not in reached:
        lowest = next(row for row in rows if row.place == "lowest")
        return lowest.algorithm, (
            f"No algorithm reached NashConv {league_target:g} there in the time of the "
            f"league; {lowest.algorithm} came lowest, to {lowest.nash_conv:g}."
        )
    name, nodes, seconds = reached["1"][-3:]
    sentences = (
        f"There {name} was first at NashConv {league_target:g}, after {nodes:,} nodes "
        f"touched and {seconds:g} s of solving."
    )
    if "2" in reached:
        other, nodes, seconds = reached["2"][-3:]
        sentences += f" Second was {other}, after {nodes:,} nodes and {seconds:g} s."
    if name not in ENTRANTS:
        use = {"lp": "ms.solve_lp(game)"}.get(name, f"--algorithm={name}")
        sentences += f" It is an offline method: use {use}."
    return name, sentences
