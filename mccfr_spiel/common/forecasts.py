"""Estimates of a tree's size before its expansion (Knuth 1975).

A random history with uniform moves gives an unbiased estimate of the number of nodes:
each node on it represents as many nodes as the product of the branching factors above
it. A single estimate is unreliable, usually far too low and rarely far too high.
`exceeds` therefore combines several estimates; the probability of refusing a tree that
fits is at most 10^-7.
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
"""Time limit of a forecast in seconds, exceeded only by a single long history."""

_FEW = 25
_FAR_BELOW = 100
"""After `_FEW` histories a tree is assumed to fit if the mean estimate is `_FAR_BELOW`
times below the limit. The expansion itself checks the limit again."""

_DOUBT = 1e-7
_STAKES = (1 / 2, 1 / 8, 1 / 64, 1 / 1024)
NODE_BYTES = 20
_LARGE = 250.0
"""The exponent of the largest estimate, a power of ten. Doubles overflow not far
above."""


class Forecast(NamedTuple):
    """Estimates of a tree's size from random histories.

    Attributes:
        nodes: per history, an estimate of the number of nodes; infinite above 10^250.
        likely_bytes: per history, an estimate of the bytes of the tree in the worst
            case, in which all decision nodes have different strings.
        endless: the state of a history that exceeded the allowed number of moves; None
            if there was none.
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
        new_state: returns the initial state.
        string_of: returns the information-state string of a state and a player.
        tell_history: adds the history of a state to an error raised there.
        longest: the largest number of moves of a history.
        per_infoset: bytes per infoset, string excluded.
        most_nodes: the limit on nodes. The forecast stops once the decision is clear.
    """
    generator = random.Random(0)
    result = Forecast([], [])
    end = time.monotonic() + SECONDS
    look_at = 1
    # Each pass follows a history. `exceeds` reads all estimates, so it is called for 1,
    # 2, 4, ... histories only. The loop ends with a clear decision or when the time
    # limit is reached.
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
    """Follows one history; returns estimates of the nodes and of the bytes of strings.

    Both estimates grow along the history. A history that stops early underestimates the
    tree.
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
    """Tests whether unbiased, independent estimates prove a mean above `most`.

    This is a test by betting. Each estimate multiplies a gambler's capital by 1 - stake
    + stake * estimate / most. For a mean of at most `most`, the capital is a
    nonnegative supermartingale. By Ville's inequality, the probability that it ever
    reaches 10^7 times the initial capital is at most 10^-7, for any number of
    estimates. The capital is divided among four gamblers with different stakes: small
    stakes suit estimates dominated by a rare large value, large stakes suit estimates
    that agree.
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
