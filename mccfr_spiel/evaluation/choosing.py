"""Recommends an algorithm for a game, and checks rules that users have written.

Recommendations go by what the league measured (docs/measured.md).
"""

import functools
import math
import pathlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyspiel

from mccfr_spiel import algorithms
from mccfr_spiel.algorithms import ALGORITHMS, DCFR, FULL, Algorithm, OwnRule
from mccfr_spiel.arenas.choosing import is_possible
from mccfr_spiel.arenas.needs import EVALUATION
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.common import refusals
from mccfr_spiel.common.display import title
from mccfr_spiel.common.folders import read_table
from mccfr_spiel.common.limits import MemoryBudgetError, TreeFullError
from mccfr_spiel.evaluation.exact import is_two_player_constant_sum
from mccfr_spiel.kernels.minimizers import compiled_alone

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


_READ: dict[Any, Any] = {bool: "True".__eq__}
"""What reads a field, if not its type."""


@functools.cache
def league() -> tuple[Place, ...]:
    """What the league measured."""
    table = read_table(pathlib.Path(__file__).with_name("league.csv"))
    kinds = Place.__annotations__.items()
    return tuple(
        Place(*(_READ.get(kind, kind)(row[name] or 0) for name, kind in kinds))
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


# --- trying out a user's rule --------------------------------------------------------


Textbook = Callable[
    [list[float], list[float], list[float], tuple[float, ...], int],
    tuple[Sequence[float], Sequence[float], float],
]
"""A rule on lists: (policy, memory, gradient, parameters, t) -> the next policy, the
next memory, and the value."""

_TOLERANCE = 1e-9


class RuleReport(NamedTuple):
    """What `check_rule` has found.

    Attributes:
        num_updates: how many updates were tried, for each number of actions.
        average_regrets: for 2, 3, ... actions, the largest regret against one action
            divided by the number of updates, with gradients in [-1, 1] of which the
            first action's is better than the others' by 0.1 on average. It falls with
            more updates if the rule minimizes regret.
    """

    num_updates: int
    average_regrets: tuple[float, ...]


def check_rule(
    rule: OwnRule,
    textbook: Textbook | None = None,
    *,
    num_updates: int = 1000,
    most_actions: int = 4,
    seed: int = 0,
) -> RuleReport:
    """Plays a rule of `algorithms.own_rule` against random gradients and checks it.

    After each update the policy must be one, the value finite, and the gradient and the
    parameters as they were. Compiled and as plain Python the rule must give the same,
    and, if there is a textbook, what that gives, up to 1e-9. What it does in a game is
    not checked: the whole tree's loop is the same for all rules.

    Args:
        rule: the rule.
        textbook: the same rule as plain lists, written apart from it.
        num_updates: how many updates follow each other.
        most_actions: the most actions of an infoset that is tried.
        seed: of the gradients.

    Raises:
        ValueError: the rule breaks one of these; the message says at which update. Or
            an argument is out of range, or the rule is none of `own_rule`.
    """
    if not isinstance(rule, OwnRule):
        raise ValueError(f"{rule!r} is no rule of your own; give own_rule(function).")
    num_updates = refusals.integer(num_updates, "num_updates", 1)
    most_actions = refusals.integer(most_actions, "most_actions", 1)
    seed = refusals.integer(seed, "seed", 0)
    function: Any = compiled_alone(rule.update) if rule.compiled else rule.update
    regrets = []
    for count in range(1, most_actions + 1):
        generator = np.random.default_rng([seed, count])
        mine, plain = _start(count), _start(count)
        policy, memory = [1.0 / count] * count, [0.0] * count
        gained = np.zeros(count)
        for t in range(1, num_updates + 1):
            gradient = generator.uniform(-1.0, 0.9, count)
            gradient[0] += 0.1
            gained += gradient - mine[0] @ gradient
            value = _update(rule, function, mine, gradient, t)
            if rule.compiled:
                other = _update(rule, rule.update, plain, gradient, t)
                _check_same("as plain Python", (*mine, value), (*plain, other), t)
            if textbook is not None:
                policy, memory, theirs = textbook(
                    list(policy), list(memory), gradient.tolist(), rule.numbers, t
                )
                _check_same(
                    "by the textbook", (*mine, value), (policy, memory, theirs), t
                )
        regrets.append(float(gained.max()) / num_updates)
    return RuleReport(num_updates, tuple(regrets[1:]))


def _start(count: int) -> tuple[np.ndarray, np.ndarray]:
    return np.full(count, 1.0 / count), np.zeros(count)


def _update(
    rule: OwnRule,
    function: Callable[..., float],
    tables: tuple[np.ndarray, np.ndarray],
    gradient: np.ndarray,
    t: int,
) -> float:
    """One update of a policy and a memory, and what must hold after it."""
    policy, memory = tables
    given, numbers = gradient.copy(), np.array(rule.numbers, np.float64)
    value = function(policy, memory, given, numbers, t)
    where = f"{rule.name} with {len(policy)} actions, update {t}"
    if not isinstance(value, int | float | np.floating) or not np.isfinite(value):
        raise ValueError(f"{where} returns {value!r}, which is no finite number.")
    sums = abs(policy.sum() - 1.0)
    if not (np.isfinite(memory).all() and policy.min() >= 0.0 and sums < _TOLERANCE):
        raise ValueError(
            f"{where} leaves the policy {policy.tolist()}, with memory "
            f"{memory.tolist()}: no probabilities that add up to 1, or not finite."
        )
    if (given != gradient).any() or numbers.tolist() != list(rule.numbers):
        raise ValueError(f"{where} changes the gradient or the parameters.")
    return float(value)


def _check_same(
    how: str, mine: tuple[Any, ...], theirs: tuple[Any, ...], t: int
) -> None:
    for name, one, other in zip(
        ("policy", "memory", "value"), mine, theirs, strict=True
    ):
        if not np.allclose(one, other, rtol=_TOLERANCE, atol=_TOLERANCE):
            raise ValueError(f"Update {t}: the {name} is {one}, but {how} {other}.")
