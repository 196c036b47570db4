"""Lists."""

import contextlib
import time
from typing import Any

import numpy as np

from mccfr_spiel.arenas.infosets import loading
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.arenas.tree.whole import TooManyError
from mccfr_spiel.exploring.policy_numbers import Numbers
from mccfr_spiel.exploring.positions import histories_of, names_of
from mccfr_spiel.exploring.views import knowledge

SHOWN = 25
"""Rows of a list, and of one search."""


LISTS = {
    "reached": "Most reached",
    "gain": "Largest gain of a best response",
    "mixed": "Most mixed",
    "changed": "Differ most from the other policy",
}
"""The lists, by what the page calls them."""


_SECONDS = 0.3
"""Of one search; the page asks to go on."""


_AT_ONCE = 256


def search(tree: GameTree, wanted: str, first: int = 0) -> dict[str, Any]:
    """The infosets whose strings contain a text, as OpenSpiel has them or as people say
    them, capitals or not, from a number on.

    It stops after some rows, or some time, and says where to go on.
    """
    wanted = wanted.casefold()
    found: list[int] = []
    count, at = tree.num_infosets, first
    end = time.monotonic() + _SECONDS
    while at < count and len(found) < SHOWN:
        if at % _AT_ONCE == 0 and time.monotonic() > end:
            break
        string, player = tree.info_state(at), int(tree.infosets[at]["player"])
        words = loading.said_info_state(tree.game, player, string)
        if wanted in f"{string}\n{words}".casefold():
            found.append(at)
        at += 1
    return {"infosets": found, "next": at if at < count else None, "total": count}


def listed(
    numbers: Numbers, tree: GameTree, kind: str, other: Numbers | None
) -> list[tuple[int, float]]:
    """The first infosets by a number, and that number of each.

    Args:
        numbers: of the policy.
        tree: the whole tree.
        kind: of LISTS.
        other: the policy to compare with, for "changed".

    Raises:
        ValueError: there is no such list, or nothing to compare with.
    """
    if kind not in LISTS:
        raise ValueError(f"{kind!r} is none of the lists {', '.join(LISTS)}.")
    chosen = numbers.policy[tree.num_players :]
    starts = tree.infosets["first_sequence"] - tree.num_players
    if kind == "reached":
        amounts = numbers.reach * numbers.plan[tree.infosets["parent"]]
    elif kind == "gain":
        amounts = numbers.gains
    elif kind == "mixed":  # by the entropy in bits
        logs = np.log2(chosen, out=np.zeros_like(chosen), where=chosen > 0)
        amounts = np.add.reduceat(-chosen * logs, starts)
    elif other is None:
        raise ValueError("Choose a second policy to see where the two differ.")
    else:  # by the total variation distance
        apart = np.abs(chosen - other.policy[tree.num_players :]) / 2
        amounts = np.add.reduceat(apart, starts)
    # Of equal amounts the infosets that are met first come first.
    first = np.argsort(-amounts, kind="stable")[:SHOWN]
    return [(int(i), float(amounts[i])) for i in first if amounts[i] > 0]


def row_of(
    tree: GameTree, policy: np.ndarray, infoset: int, visits: np.ndarray | None
) -> dict[str, Any]:
    """An infoset in a list: whose it is, its string, its policy in words, and about how
    often walks came there, if that is known."""
    _, start, _, size, player = tree.infosets[infoset].item()
    legal = tree.actions[start : start + size].tolist()
    names = loading.names_anywhere(tree.game, player, legal)
    if any(map(str.isdecimal, names)):  # a state of it may tell them
        with contextlib.suppress(TooManyError):
            names = names_of(histories_of(tree, infoset, policy, 1)[0][0][2], legal)
    else:
        names = loading.said(tree.game, player, names)
    odds = policy[start : start + size]
    best = np.argsort(-odds, kind="stable")[:3]
    return {
        "infoset": infoset,
        **knowledge(tree.game, player, tree.info_state(infoset)),
        "visits": None if visits is None else float(visits[infoset]),
        "policy": [[names[i], float(odds[i])] for i in best],
        "left_out": max(size - 3, 0),
    }
