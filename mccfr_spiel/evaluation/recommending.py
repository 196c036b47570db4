"""Which algorithm to take, from what the league measured (docs/measured.md)."""

import functools
import math
import pathlib
from typing import NamedTuple

import pyspiel

from mccfr_spiel import algorithms
from mccfr_spiel.algorithms import ALGORITHMS, FULL, Algorithm
from mccfr_spiel.common import refusals
from mccfr_spiel.common.display import title
from mccfr_spiel.common.folders import read_table
from mccfr_spiel.common.limits import MemoryBudgetError, TreeFullError
from mccfr_spiel.evaluation.exact import is_two_player_constant_sum
from mccfr_spiel.tree.game_tree import GameTree

HORIZON = 1000
"""Of the schedules in the league. Beyond it their parameters stay."""

MOST_NODES = 2_000_000
"""Games with more are not expanded to be measured: they are too large for passes."""


def _entrants() -> dict[str, Algorithm]:
    found = {name: one for name, one in ALGORITHMS.items() if name != "omd"}
    for gamma in (8.0, 30.0):
        found[f"hs_dcfr gamma={gamma:g}"] = algorithms.hs_dcfr(HORIZON, gamma=gamma)
    found["hs_pcfr_plus"] = algorithms.hs_pcfr_plus(HORIZON)
    found["dcfr alpha=2"] = algorithms.DCFR._replace(
        minimizer=algorithms.discounted_regret_matching(2.0, 0.0)
    )
    found["regret-based pruning"] = algorithms.CFR._replace(
        sampling=algorithms.full(prune="regret")
    )
    external = algorithms.external(baseline="learned")
    outcome = algorithms.outcome(0.6, baseline="learned")
    found["external with baselines"] = algorithms.EXTERNAL_SAMPLING._replace(
        sampling=external
    )
    found["outcome with baselines"] = algorithms.OUTCOME_SAMPLING._replace(
        sampling=outcome
    )
    found["external dcfr"] = algorithms.DCFR._replace(sampling=algorithms.EXTERNAL)
    found["optimistic_ftrl step=10"] = Algorithm(
        FULL, algorithms.optimistic_ftrl(10.0), algorithms.LINEAR
    )
    mmd = algorithms.magnetic_mirror_descent(0.5, 1.0, temperature_power=0.5)
    found["mmd step=0.5"] = Algorithm(FULL, mmd)
    return found


ENTRANTS = _entrants()
"""The online algorithms of the league by the names in its tables. (OMD is FTRL with a
constant step.)"""


class Place(NamedTuple):
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


@functools.cache
def league() -> tuple[Place, ...]:
    """What the league measured."""
    table = read_table(pathlib.Path(__file__).with_name("league.csv"))
    return tuple(
        Place(
            row["game"],
            int(row["nodes"]),
            row["zero_sum"] == "True",
            float(row["nash_conv"]),
            row["place"],
            row["algorithm"],
            int(row["nodes_touched"] or 0),
            float(row["seconds"] or 0),
        )
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
        return _for_a_large_game(tree)
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


def _for_a_large_game(tree: GameTree) -> Recommendation:
    return Recommendation(
        "external_sampling",
        algorithms.EXTERNAL_SAMPLING,
        f"{title(tree.source)} has more than {MOST_NODES:,} nodes, or than fit in "
        "memory, so passes over the whole tree are out of the question, and so is "
        "NashConv. External sampling needs little of the tree at a time, and no "
        "tuning; if a player has so many actions that following all of them is too "
        "slow, take outcome sampling.",
    )
