"""Lists of infosets: search by text, and rankings by a number."""

import contextlib
import time
from typing import Any

import numpy as np

from mccfr_spiel.arenas.infosets import action_names, phrases
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.arenas.tree.levels import (
    TooManyError,
)
from mccfr_spiel.exploring.policy_numbers import Numbers
from mccfr_spiel.exploring.positions import histories_of, names_of
from mccfr_spiel.exploring.views import gap_view, knowledge

SHOWN = 25
"""Rows of a list and of one search."""

LISTS = {
    "reached": "Most reached",
    "gain": "Largest gain of a best response",
    "gap": "Largest conditional gap",
    "mixed": "Most mixed",
    "changed": "Differ most from the other policy",
}
"""Headings of the lists, by the names that the page uses."""

_SECONDS = 0.3
"""Time limit of one search request; the page continues with another request."""

_AT_ONCE = 256
"""Infosets searched between two looks at the clock."""


def search(tree: GameTree, text: str, first: int = 0) -> dict[str, Any]:
    """The infosets with a text in their information state, as string or display text.

    The comparison ignores case. The search starts at infoset `first` and stops after
    SHOWN rows or some time; `next` is the infoset to continue from, None at the end.
    """
    text = text.casefold()
    matches: list[int] = []
    count, infoset = tree.num_infosets, first
    end = time.monotonic() + _SECONDS
    while infoset < count and len(matches) < SHOWN:
        if infoset % _AT_ONCE == 0 and time.monotonic() > end:
            break
        string, player = tree.info_state(infoset), int(tree.infosets[infoset]["player"])
        display_text = phrases.said_info_state(tree.game, player, string)
        if text in f"{string}\n{display_text}".casefold():
            matches.append(infoset)
        infoset += 1
    next_infoset = infoset if infoset < count else None
    return {"infosets": matches, "next": next_infoset, "total": count}


def listed(
    numbers: Numbers, tree: GameTree, name: str, other: Numbers | None
) -> list[tuple[int, float]]:
    """The first infosets of a list, each with the number that ranks it.

    | list | ranked by |
    |---|---|
    | "reached" | probability of reaching the infoset |
    | "gain" | gain of a best response from the action there |
    | "gap" | conditional gap, see `gap_view` |
    | "mixed" | entropy of the action probabilities in bits |
    | "changed" | total variation distance between two policies |

    Args:
        numbers: the numbers of the policy.
        tree: the whole tree.
        name: a key of LISTS.
        other: the numbers of the policy to compare with, for "changed".

    Raises:
        ValueError: the list is unknown, or `other` is missing.
    """
    if name not in LISTS:
        raise ValueError(f"Unknown list {name!r}: expected one of {', '.join(LISTS)}.")
    chosen = numbers.policy[tree.num_players :]
    starts = tree.infosets["first_sequence"] - tree.num_players
    if name == "reached":
        amounts = numbers.reach * numbers.plan[tree.infosets["parent"]]
    elif name == "gain":
        amounts = numbers.gains
    elif name == "gap":
        amounts = np.nan_to_num(numbers.gap)
    elif name == "mixed":  # by the entropy in bits
        logs = np.log2(chosen, out=np.zeros_like(chosen), where=chosen > 0)
        amounts = np.add.reduceat(-chosen * logs, starts)
    elif other is None:
        raise ValueError("Choose a second policy to see where the two differ.")
    else:  # by the total variation distance
        apart = np.abs(chosen - other.policy[tree.num_players :]) / 2
        amounts = np.add.reduceat(apart, starts)
    # A stable sort keeps the tree's order among equal amounts.
    first = np.argsort(-amounts, kind="stable")[:SHOWN]
    return [(int(i), float(amounts[i])) for i in first if amounts[i] > 0]


def row_of(
    tree: GameTree, policy: np.ndarray, infoset: int, numbers: Numbers | None
) -> dict[str, Any]:
    """An infoset in a list: player, string, the three most probable actions; and visits
    and the conditional gap if there are numbers."""
    _, start, _, size, player = tree.infosets[infoset].item()
    legal = tree.actions[start : start + size].tolist()
    names = action_names.names_anywhere(tree.game, player, legal)
    if any(map(str.isdecimal, names)):  # a state of the infoset may have names
        with contextlib.suppress(TooManyError):
            names = names_of(histories_of(tree, infoset, policy, 1)[0][0][2], legal)
    else:
        names = phrases.said(tree.game, player, names)
    odds = policy[start : start + size]
    best = np.argsort(-odds, kind="stable")[:3]
    visits = None if numbers is None else numbers.visits
    return {
        "infoset": infoset,
        **knowledge(tree.game, player, tree.info_state(infoset)),
        "visits": None if visits is None else float(visits[infoset]),
        **({} if numbers is None else gap_view(tree, numbers, infoset)),
        "policy": [[names[i], float(odds[i])] for i in best],
        "left_out": max(size - 3, 0),
    }
