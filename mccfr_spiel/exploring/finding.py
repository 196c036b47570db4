"""Finding information sets: by text, and the first ones by some number."""

import time
from typing import Any

import numpy as np

from mccfr_spiel.exploring import places
from mccfr_spiel.exploring.numbers import Numbers, owners
from mccfr_spiel.exploring.views import knowledge, text
from mccfr_spiel.policies.names import (
    names_without_state,
    plain_names,
    said,
    said_info_state,
)
from mccfr_spiel.tree.game_tree import GameTree

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
        string = tree.info_state(at)
        player = int(tree.infosets[at]["player"])
        if (
            wanted in string.casefold()
            or wanted in said_info_state(tree.game, player, string).casefold()
        ):
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
    if kind == "reached":
        amounts = numbers.reach * numbers.plan[tree.infosets["parent"]]
    elif kind == "gain":
        amounts = numbers.gains
    elif kind == "mixed":  # by the entropy in bits
        logs = np.log2(chosen, out=np.zeros_like(chosen), where=chosen > 0)
        amounts = np.bincount(owners(tree)[tree.num_players :], -chosen * logs)
    elif other is None:
        raise ValueError("Choose a second policy to see where the two differ.")
    else:  # by the total variation distance
        apart = np.abs(chosen - other.policy[tree.num_players :]) / 2
        amounts = np.bincount(owners(tree)[tree.num_players :], apart)
    few = min(SHOWN, len(amounts))
    first = np.argpartition(-amounts, few - 1)[:few] if few else np.zeros(0, int)
    # Of equal amounts the infosets that are met first come first.
    first = first[np.lexsort((first, -amounts[first]))]
    return [(int(i), float(amounts[i])) for i in first if amounts[i] > 0]


def row_of(
    tree: GameTree, policy: np.ndarray, infoset: int, visits: np.ndarray | None
) -> dict[str, Any]:
    """An infoset in a list: whose it is, its string, its policy in words, and about how
    often walks came there, if that is known."""
    _, start, _, size, player = tree.infosets[infoset].item()
    legal = tree.actions[start : start + size].tolist()
    names = names_without_state(tree.game, player, legal)
    if names is None:
        names = plain_names(tree.game, player, legal)
    if any(map(str.isdecimal, names)):  # a state of it may tell them
        state = places.state_of(tree, infoset, policy)
        names = names if state is None else places.names_of(state, legal)
    else:
        names = said(tree.game, player, names)
    odds = policy[start : start + size]
    best = np.argsort(-odds, kind="stable")[:3]
    return {
        "infoset": infoset,
        **knowledge(tree.game, player, tree.info_state(infoset)),
        "visits": None if visits is None else float(visits[infoset]),
        "policy": [[text(names[i]), float(odds[i])] for i in best],
        "left_out": max(size - 3, 0),
    }
