"""Estimates of a tree's size before its expansion (Knuth 1975).

A random history with uniformly sampled moves gives an unbiased estimate of the number
of nodes. Each node of the history represents other nodes at its depth, in the number of
the product of the branching factors above the node. The sum of these products is the
estimate. It is unreliable: usually far too low, and rarely far too high. `exceeds`
therefore combines several estimates, so that a tree that fits is refused with a
probability of at most 10^-7.
"""

import math
import random
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from mccfr_spiel.common.budget import Budget, MemoryBudgetError, TreeFullError
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.memory import in_words

SECONDS = 0.5
"""Time limit of a forecast in seconds. The first history may exceed it slightly."""

_FEW = 25
_FAR_BELOW = 100
"""The forecast ends after `_FEW` histories if `_FAR_BELOW` times the mean estimate is
below the limit. The tree then probably fits; its expansion checks the limit again."""

_DOUBT = 1e-7
_STAKES = (1 / 2, 1 / 8, 1 / 64, 1 / 1024)
NODE_BYTES = 20
_LARGE = 250.0
"""Estimates above 10 ** _LARGE are set to infinity, because doubles overflow soon."""


class Forecast(NamedTuple):
    """Estimates of a tree's size from random histories.

    Attributes:
        nodes: for each history, an estimate of the number of nodes; infinite above
            10^250.
        likely_bytes: for each history, an estimate of the bytes of the tree in the
            worst case, in which all decision nodes have different strings.
        endless: the state of a history that reached the allowed number of moves; None
            if there was no such history.
    """

    nodes: list[float]
    likely_bytes: list[float]
    endless: Any = None

    def in_words(self) -> str:
        """The means of the estimates, for messages."""
        nodes, size = (_mean(e) for e in (self.nodes, self.likely_bytes))
        if math.isinf(nodes):
            return f"more than 10^{_LARGE:.0f} nodes"
        return f"about {_power(nodes)} nodes, up to {in_words(size)}"


def forecast(
    new_state: Callable[[], Any],
    string_of: Callable[[Any, int], str],
    tell_history: Callable[[Exception, Any], None],
    *,
    longest: int,
    per_infoset: int,
    most_nodes: float,
) -> Forecast:
    """Follows random histories from the root, for about half a second at most.

    Args:
        new_state: a function that returns the initial state.
        string_of: a function (state, player) that returns the information-state string.
        tell_history: a function (error, state) that adds the history of the state to an
            error that the game raised there.
        longest: the allowed number of moves of a history.
        per_infoset: bytes per infoset, without the string.
        most_nodes: the limit on nodes. The forecast stops early if the tree clearly
            exceeds this limit or is far below it.
    """
    generator = random.Random(0)
    result = Forecast([], [])
    end = time.monotonic() + SECONDS
    look_at = 1
    # Each iteration of this loop follows a history. `exceeds` reads all estimates, so
    # it is called after 1, 2, 4, ... histories only.
    while time.monotonic() < end or not result.nodes:
        state = new_state()
        try:
            nodes, strings = _probe(
                state, string_of, generator, longest, per_infoset, end
            )
        except Exception as error:  # games raise any type
            tell_history(error, state)
            raise
        if len(state.history()) >= longest:
            return result._replace(endless=state)
        result.nodes.append(nodes)
        result.likely_bytes.append(NODE_BYTES * nodes + strings)
        if len(result.nodes) == look_at:
            if exceeds(result.nodes, most_nodes):
                break
            look_at *= 2
        if len(result.nodes) == _FEW and _FAR_BELOW * _mean(result.nodes) < most_nodes:
            break
    return result


def _probe(
    state: Any,
    string_of: Callable[[Any, int], str],
    generator: random.Random,
    longest: int,
    per_infoset: int,
    end: float,
) -> tuple[float, float]:
    """Follows one random history.

    Both estimates grow along the history. If the history is stopped at the time `end`
    or at `longest` moves, they are too low.

    Returns:
        An estimate of the number of nodes of the tree, and an estimate of the bytes of
        its infosets and their strings.
    """
    # Each node of the history represents `weight` nodes at the same depth.
    nodes, strings, weight, length = 1.0, 0.0, 1.0, 0
    while not state.is_terminal() and length < longest:
        if length % 64 == 63 and time.monotonic() > end:
            break
        player = state.current_player()
        if player >= 0:
            if math.isfinite(nodes):
                size = sys.getsizeof(string_of(state, player))
                strings += weight * (size + per_infoset)
            moves = state.legal_actions()
        else:
            # Some games list outcomes of probability 0 that cannot be applied.
            moves = [move for move, prob in state.chance_outcomes() if prob > 0]
        if not moves:
            break
        weight *= len(moves)
        nodes += weight
        if weight > 10**_LARGE:  # continues only to detect endless games
            weight = nodes = strings = math.inf
        state.apply_action(generator.choice(moves))
        length += 1
    return nodes, strings


def exceeds(estimates: Sequence[float], most: float) -> bool:
    """Tests whether the mean of unbiased, independent estimates is certainly above
    `most`.

    This is a test by betting. Each estimate multiplies a gambler's capital by 1 - stake
    + stake * estimate / most. If the true mean is at most `most`, the capital is a
    nonnegative supermartingale. By Ville's inequality, the probability that it ever
    reaches 10^7 times the initial capital is then at most 10^-7, for any number of
    estimates. There are four gamblers with different stakes, each with a quarter of the
    capital. Small stakes win if a rare large value dominates the estimates, large
    stakes win if the estimates are similar.
    """
    goal = math.log(len(_STAKES) / _DOUBT)
    logarithms = [0.0] * len(_STAKES)
    for estimate in estimates:
        for gambler, stake in enumerate(_STAKES):
            logarithms[gambler] += math.log(1 - stake + stake * estimate / most)
        if max(logarithms) >= goal:
            return True
    return False


def refusal(
    estimate: Forecast, game: str, most_nodes: int, budget: Budget
) -> TreeFullError | None:
    """The error for a tree that is certainly too large; None if it may fit."""
    if exceeds(estimate.nodes, most_nodes):
        error_class, limit = TreeFullError, f"max_nodes={most_nodes}"
    elif exceeds(estimate.nodes, budget.limit / NODE_BYTES):
        error_class, limit = MemoryBudgetError, budget.in_words()
    else:
        return None
    return error_class(
        f"The whole tree of {brief(game)} has {estimate.in_words()}, far more than "
        f"{limit}. CFR, exact evaluation (nash_conv, exploitability) and linear "
        "programs need the whole tree. Outcome sampling and external sampling store "
        "only visited nodes; ms.sampled_returns and ms.learned_response evaluate by "
        "playing, as --evaluate=sampled does on the command line."
    )


def _mean(estimates: Sequence[float]) -> float:
    return sum(estimates) / len(estimates)


def _power(count: float) -> str:
    return f"10^{math.log10(count):.0f}" if count >= 1e6 else f"{count:,.0f}"
