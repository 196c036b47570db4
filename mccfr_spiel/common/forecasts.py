"""Estimates of a tree's size before it is expanded (Knuth 1975)."""

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
"""A forecast may take so long, unless a single history takes longer."""

_FEW = 25
_FAR_BELOW = 100
"""If after `_FEW` histories the mean of the estimates is `_FAR_BELOW` times below what
fits, the tree is assumed to fit. Whether it does is seen while it is expanded."""

_DOUBT = 1e-7
_STAKES = (1 / 2, 1 / 8, 1 / 64, 1 / 1024)
NODE_BYTES = 20
_LARGE = 250.0
"""Estimates go up to ten to this power; not far beyond, doubles end."""


class Forecast(NamedTuple):
    """What some random histories tell about a tree.

    Attributes:
        nodes: an estimate by each history of how many nodes the tree has, which is
            infinite above 10^250.
        likely_bytes: estimates of the bytes that it takes, if every decision node has a
            string of its own, which is the worst case.
        endless: the state of a history that did not end within the moves that it may
            have; None if all histories ended, or time was up.
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
        new_state: makes the root's state.
        string_of: the string of a state where a player acts.
        tell_history: adds the history of a state to an error raised there.
        longest: the number of moves beyond which a history is not followed.
        per_infoset: the bytes that an infoset takes, besides its string.
        most_nodes: how many nodes fit. No more histories are followed once it is clear
            whether the tree has more.
    """
    generator = random.Random(0)
    found = Forecast([], [])
    end = time.monotonic() + SECONDS
    look_at = 1
    # One pass follows one history. The estimates are looked at when there are 1, 2, 4,
    # ... of them, since a look takes longer the more there are.
    while time.monotonic() < end or not found.nodes:
        state = new_state()
        try:
            nodes, strings = _probe(
                state, string_of, generator, longest, per_infoset, end
            )
        except Exception as error:  # games raise what they like
            tell_history(error, state)
            raise
        if len(state.history()) >= longest:
            return found._replace(endless=state)
        found.nodes.append(nodes)
        found.likely_bytes.append(NODE_BYTES * nodes + strings)
        if len(found.nodes) == look_at:
            if exceeds(found.nodes, most_nodes):
                break
            look_at *= 2
        if len(found.nodes) == _FEW and _FAR_BELOW * _mean(found.nodes) < most_nodes:
            break
    return found


def _probe(
    state: Any,
    string_of: Callable[[Any, int], str],
    generator: random.Random,
    longest: int,
    per_infoset: int,
    end: float,
) -> tuple[float, float]:
    """Estimates the nodes, and the bytes of strings, by following one history.

    Both estimates only grow along the history. So it may be left at any point, and what
    is estimated then is a part of the tree.
    """
    # A node of the history stands for `weight` nodes of the tree at its depth.
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
            # A game need not let chance do what it never does.
            moves = [move for move, prob in state.chance_outcomes() if prob > 0]
        if not moves:
            break
        weight *= len(moves)
        nodes += weight
        if weight > 10**_LARGE:  # followed further, only to see whether it ends
            weight = nodes = strings = math.inf
        state.apply_action(generator.choice(moves))
        length += 1
    return nodes, strings


def exceeds(estimates: Sequence[float], most: float) -> bool:
    """Whether unbiased, independent estimates show that the truth is above `most`.

    This is a test by betting. Let each estimate multiply a gambler's capital by 1 -
    stake + stake * estimate / most. If the truth were at most `most`, the gambler could
    not expect to win, so the capital would ever reach 10^7 times its beginning with
    probability at most 10^-7, however many estimates there are (Ville's inequality).
    Four gamblers with different stakes begin with a quarter of the capital each, since
    estimates may agree with each other or be dominated by a rare large one.
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
    found: Forecast, game: str, most_nodes: int, budget: Budget
) -> TreeFullError | None:
    """The error for a tree that is surely too large; None if it may fit."""
    if exceeds(found.nodes, most_nodes):
        kind, limit = TreeFullError, f"max_nodes={most_nodes}"
    elif exceeds(found.nodes, budget.limit / NODE_BYTES):
        kind, limit = MemoryBudgetError, budget.in_words()
    else:
        return None
    return kind(
        f"The whole tree of {brief(game)} has {found.in_words()}: far more than "
        f"{limit}. "
        "CFR, exact evaluation (nash_conv, exploitability) and linear programs need "
        "the whole tree. Outcome sampling and external sampling keep only what they "
        "meet; ms.sampled_returns and ms.learned_response evaluate by playing, as "
        "--evaluate=sampled does on the command line."
    )


def _mean(estimates: Sequence[float]) -> float:
    return sum(estimates) / len(estimates)


def _power(count: float) -> str:
    return f"10^{math.log10(count):.0f}" if count >= 1e6 else f"{count:,.0f}"
