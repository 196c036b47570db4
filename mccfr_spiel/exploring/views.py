"""What the page shows of a state and of an information set, as values for JSON.

Strings of games go out as they are: the page writes them as text, never as HTML.
"""

import itertools
import math
import time
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.exploring import places
from mccfr_spiel.exploring.numbers import Numbers
from mccfr_spiel.exploring.places import Candidate
from mccfr_spiel.poker.study import Study
from mccfr_spiel.policies.names import (
    names_anywhere,
    said,
    said_info_state,
)
from mccfr_spiel.tree.game_tree import GameTree

MOST_MOVES = 2_000
"""Moves that the page knows of a state: all 1,326 hands, among which it searches."""

MOST_HISTORIES = 60
"""Histories shown of an information set."""

_MOST_TEXT = 20_000


def number(value: float) -> float | None:
    """A number for JSON, which has no infinity and no NaN."""
    value = float(value)
    return value if math.isfinite(value) else None


def text(value: str) -> str:
    """A game's text, cut where it is endless."""
    value = value.encode("utf-8", "replace").decode("utf-8")
    return value if len(value) <= _MOST_TEXT else value[:_MOST_TEXT] + " ..."


def known_to(state: pyspiel.State, player: int) -> str:
    """What a player knows at a state; nothing if the game does not say."""
    try:
        return text(state.information_state_string(player))
    except Exception:  # games raise what they like
        return ""


def knowledge(game: pyspiel.Game, player: int, info_state: str) -> dict[str, Any]:
    """An information state, as OpenSpiel has it and as people say it."""
    words = said_info_state(game, player, info_state)
    return {"player": player, "info_state": text(info_state), "words": text(words)}


def words_known_to(state: pyspiel.State, player: int) -> str:
    """The same as people say it."""
    return said_info_state(state.get_game(), player, known_to(state, player))


def moves_view(state: pyspiel.State) -> list[dict[str, Any]]:
    """The moves at a state, with their probabilities where chance moves."""
    odds = dict(state.chance_outcomes()) if state.is_chance_node() else {}
    moves = places.moves_of(state)
    pairs = zip(moves, places.names_of(state, moves), strict=True)
    return [
        {
            "action": move,
            "name": text(name),
            "probability": number(odds[move]) if move in odds else None,
        }
        for move, name in itertools.islice(pairs, MOST_MOVES)
    ]


def state_view(place: places.Place) -> dict[str, Any]:
    """A state: how it was reached, what the game prints, who acts, the moves."""
    state = place.state
    try:
        printed = str(state)
    except Exception:  # games raise what they like
        printed = ", ".join(map(str, state.history()))
    view: dict[str, Any] = {
        "history": [action for _, action, _ in place.path],
        "path": [[who, text(name)] for who, _, name in place.path],
        "text": text(printed),
        "player": int(state.current_player()),
        "moves": moves_view(state),
        "left_out": max(len(places.moves_of(state)) - MOST_MOVES, 0),
    }
    if state.is_terminal():
        view["returns"] = [number(value) for value in state.returns()]
    return view


def infoset_view(
    candidate: Candidate, state: pyspiel.State, infoset: int | None
) -> dict[str, Any]:
    """A policy at a state where a player acts, from the policy alone, with the
    solver's cumulative regrets if there are any.

    Args:
        candidate: the policy.
        state: where a player acts.
        infoset: its number in the tree, if there is a tree.
    """
    odds, player = candidate.probabilities(state), int(state.current_player())
    actions = places.moves_of(state)[:MOST_MOVES]
    view = {
        "number": infoset,
        **knowledge(state.get_game(), player, known_to(state, player)),
        "probabilities": None if odds is None else [odds.get(a, 0.0) for a in actions],
    }
    regrets = candidate.regrets_at(state)
    if regrets is not None:
        view["cumulative_regrets"] = [number(one) for one in regrets[:MOST_MOVES]]
    return view


def values_view(tree: GameTree, numbers: Numbers, infoset: int) -> dict[str, Any]:
    """What is known of the actions at an infoset of a whole tree."""
    _, start, parent, size, player = tree.infosets[infoset].item()
    policy = numbers.policy[start : start + size]
    values = numbers.values[start : start + size]
    reach, value = float(numbers.reach[infoset]), float(policy @ values)

    def once_there(counterfactual: np.ndarray) -> list[float | None]:
        """None for all if the others never lead there."""
        shown = counterfactual[:MOST_MOVES].tolist()
        return [number(one / reach) if reach > 0 else None for one in shown]

    return {
        "number": infoset,
        **knowledge(tree.game, player, tree.info_state(infoset)),
        "visits": None if numbers.visits is None else float(numbers.visits[infoset]),
        "probabilities": policy[:MOST_MOVES].tolist(),
        "reach": reach * float(numbers.plan[parent]),
        "others_reach": reach,
        "value": once_there(np.array([value]))[0],
        "values": once_there(values),
        "regrets": once_there(values - value),
        "best_values": once_there(numbers.best[start : start + size]),
        "gain": float(numbers.gains[infoset]),
    }


def belief_view(
    tree: GameTree,
    policy: np.ndarray,
    infoset: int,
    chosen: int | None = None,
    player: int = 0,
) -> dict[str, Any]:
    """The histories of an infoset, and how likely the player should take each to be.

    Args:
        tree: the whole tree.
        policy: `[S]` over its sequences.
        infoset: its number.
        chosen: a move there; if it is given, each row has its value.
        player: whose value.

    Raises:
        TooManyError: there are too many to search for.
    """
    found, left_out = places.histories_of(tree, infoset, policy, MOST_HISTORIES)
    rows = []
    for node, belief, moves in found:
        history, names = places.named(tree.game, moves)
        row = {"history": history, "names": list(map(text, names)), "belief": belief}
        if chosen is not None:
            below = int(tree.nodes[node]["first_child"]) + chosen
            value = places.value_of_node(tree, below, policy)[player]
            row["value"] = float(value)
        rows.append(row)
    return {"rows": rows, "left_out": left_out}


def overview(returns: np.ndarray, best_returns: np.ndarray) -> dict[str, Any]:
    """A policy as a whole, by what the players get `[P]` and could get."""
    gains = np.maximum(best_returns - returns, 0.0)
    return {
        "returns": returns.tolist(),
        "best_returns": best_returns.tolist(),
        "gains": gains.tolist(),
        "nash_conv": float(gains.sum()),
    }


def hand_view(study: Study, place: places.Place) -> dict[str, Any]:
    """A policy of a subgame of hold'em at a decision, with the hand that the player
    has there."""
    history = [action for _, action, _ in place.path]
    found = study.decision(history[2:])
    at = int(np.flatnonzero(found.hands == history[found.player])[0])
    value, values = float(found.evs[at]), found.action_evs[at]
    return {
        "number": int(found.infosets[at]),
        **knowledge(study.game, found.player, known_to(place.state, found.player)),
        "probabilities": found.frequencies[at].tolist(),
        "value": number(value),
        "values": [*map(number, values)],
        "regrets": [*map(number, values - value)],
    }


# --- finding information sets: by text, and the first ones by some number -------------


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
    names = names_anywhere(tree.game, player, legal)
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
