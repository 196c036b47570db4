"""What the page shows of a state and of an information set, as values for JSON.

Strings of games go out as they are: the page writes them as text, never as HTML.

Histories and infosets are found without a pass over the tree. A player remembers its
own moves, so all histories of an infoset lie below the same moves of that player, and a
search from the root that follows these moves and tries all of the others' meets few
nodes besides.
"""

import bisect
import contextlib
import itertools
import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.common.arrays import TERMINAL
from mccfr_spiel.exploring.subjects import Candidate, Numbers
from mccfr_spiel.poker.study import Study
from mccfr_spiel.policies.names import (
    said,
    said_at,
    said_info_state,
)
from mccfr_spiel.tree.game_tree import GameTree
from mccfr_spiel.tree.loading import names_anywhere
from mccfr_spiel.tree.whole import TooManyError, levels

MOST_MOVES = 2_000
"""Moves that the page knows of a state: all 1,326 hands, among which it searches."""

MOST_HISTORIES = 60
"""Histories shown of an information set."""

_MOST_TEXT = 20_000


# --- where histories and infosets are -------------------------------------------------


def moves_of(state: pyspiel.State) -> list[int]:
    """The actions at a state, or chance's outcomes, in the order of a tree's nodes."""
    if state.is_terminal():
        return []
    if state.is_chance_node():
        return [action for action, _ in state.chance_outcomes()]
    return list(state.legal_actions())


def names_of(state: pyspiel.State, moves: Sequence[int]) -> list[str]:
    """All moves at a state as people say them, or their numbers."""
    try:
        return said_at(state, int(state.current_player()), moves)
    except Exception:  # games raise what they like
        return [*map(str, moves)]


def name_of(state: pyspiel.State, action: int) -> str:
    """A move as people say it, or its number."""
    moves = moves_of(state)
    return names_of(state, moves)[moves.index(action)]


def path_to(state: pyspiel.State) -> list[tuple[int, str]]:
    """For each move before a state the player, and its name."""
    at, path = state.get_game().new_initial_state(), []
    for action in state.history():
        path.append((int(at.current_player()), name_of(at, action)))
        at.apply_action(action)
    return path


def follow(
    game: pyspiel.Game, tree: GameTree | None, history: Sequence[int]
) -> tuple[pyspiel.State, int | None]:
    """The state after a history, and the number of the infoset if a player acts there
    and there is a tree.

    Raises:
        ValueError: a move of the history is not possible.
    """
    state, node = game.new_initial_state(), 0
    for action in history:
        moves = moves_of(state)
        if action not in moves:
            before = ", ".join(name for _, name in path_to(state)) or "the beginning"
            raise ValueError(
                f"{game} has no move {action} after {before}: the link may be of "
                "another game."
            )
        if tree is not None:
            node = int(tree.nodes[node]["first_child"]) + moves.index(action)
        state.apply_action(action)
    infoset = (
        tree.nodes[node]["infoset"] if tree and state.current_player() >= 0 else -1
    )
    return state, int(infoset) if infoset >= 0 else None


def histories_of(
    tree: GameTree, infoset: int, policy: np.ndarray, most: int
) -> tuple[list[tuple[int, float | None, pyspiel.State]], int]:
    """The `most` probable histories of an infoset, and how many there are besides.

    Of a history the tree's node; how likely the player should take it to be, None if
    the others and chance never play to the infoset; and the game's state.

    Raises:
        TooManyError: the search meets too many nodes.
    """
    infosets, player = tree.infosets, int(tree.infosets[infoset]["player"])
    taken, parent = [], int(infosets[infoset]["parent"])
    while parent >= tree.num_players:
        taken.append(parent)
        above = bisect.bisect_right(infosets["first_sequence"], parent) - 1
        parent = int(infosets[above]["parent"])
    hits: list[tuple[float, int]] = []
    for nodes, weights in levels(tree.arrays, 0, policy, player, taken):
        records = tree.nodes[nodes]
        is_hit = (records["player"] == player) & (records["infoset"] == infoset)
        hits += zip(weights[is_hit].tolist(), nodes[is_hit].tolist(), strict=True)
    hits.sort(key=lambda hit: -hit[0])
    total, found = sum(weight for weight, _ in hits), []
    for weight, node in hits[:most]:
        state, _ = tree.state_at(node)
        found.append((node, weight / total if total > 0 else None, state))
    return found, len(hits) - len(found)


def value_of_node(tree: GameTree, node: int, policy: np.ndarray) -> np.ndarray:
    """`[P]` what the players get on average from a node on.

    Raises:
        TooManyError: too many nodes of one level lie below it.
    """
    total = np.zeros(tree.num_players)
    for nodes, weights in levels(tree.arrays, node, policy):
        ends = tree.nodes["player"][nodes] == TERMINAL
        total += weights[ends] @ tree.utilities[tree.nodes["start"][nodes[ends]]]
    return total


def is_seen(state: pyspiel.State, action: int, seat: int) -> bool:
    """Whether a player can tell a move from another one that is possible."""
    other = next((move for move in moves_of(state) if move != action), None)
    if other is None:
        return True
    try:
        seen = [
            state.child(move).information_state_string(seat) for move in (action, other)
        ]
    except Exception:  # games without strings at some states
        return False
    return seen[0] != seen[1]


# --- what is shown of a state and of an information set -------------------------------


def plain(value: Any) -> Any:
    """An answer for JSON, which has no arrays, no infinity and no NaN. Texts of games
    are cut where they are endless."""
    if isinstance(value, str):
        value = value.encode("utf-8", "replace").decode("utf-8")
        return value if len(value) <= _MOST_TEXT else value[:_MOST_TEXT] + " ..."
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [*map(plain, value)]
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    return value


def known_to(state: pyspiel.State, player: int) -> str:
    """What a player knows at a state; nothing if the game does not say."""
    try:
        return state.information_state_string(player)
    except Exception:  # games raise what they like
        return ""


def knowledge(game: pyspiel.Game, player: int, info_state: str) -> dict[str, Any]:
    """An information state, as OpenSpiel has it and as people say it."""
    words = said_info_state(game, player, info_state)
    return {"player": player, "info_state": info_state, "words": words}


def words_known_to(state: pyspiel.State, player: int) -> str:
    """The same as people say it."""
    return said_info_state(state.get_game(), player, known_to(state, player))


def moves_view(state: pyspiel.State) -> list[dict[str, Any]]:
    """The moves at a state, with their probabilities where chance moves."""
    odds = dict(state.chance_outcomes()) if state.is_chance_node() else {}
    moves = moves_of(state)
    pairs = zip(moves, names_of(state, moves), strict=True)
    return [
        {"action": move, "name": name, "probability": odds.get(move)}
        for move, name in itertools.islice(pairs, MOST_MOVES)
    ]


def state_view(state: pyspiel.State) -> dict[str, Any]:
    """A state: how it was reached, what the game prints, who acts, the moves."""
    try:
        printed = str(state)
    except Exception:  # games raise what they like
        printed = ", ".join(map(str, state.history()))
    view: dict[str, Any] = {
        "history": state.history(),
        "path": path_to(state),
        "text": printed,
        "player": int(state.current_player()),
        "moves": moves_view(state),
        "left_out": max(len(moves_of(state)) - MOST_MOVES, 0),
    }
    if state.is_terminal():
        view["returns"] = state.returns()
    return view


def infoset_view(
    candidate: Candidate, state: pyspiel.State, infoset: int | None = None
) -> dict[str, Any]:
    """A policy at a state where a player acts, from the policy alone, with the
    solver's cumulative regrets if there are any.

    Args:
        candidate: the policy.
        state: where a player acts.
        infoset: its number in the tree, if there is a tree.
    """
    odds, player = candidate.probabilities(state), int(state.current_player())
    actions = moves_of(state)[:MOST_MOVES]
    view = {
        "number": infoset,
        **knowledge(state.get_game(), player, known_to(state, player)),
        "probabilities": None if odds is None else [odds.get(a, 0.0) for a in actions],
    }
    if candidate.regrets is not None:
        regrets = candidate.regrets(state)
        if regrets is not None:
            view["cumulative_regrets"] = regrets[:MOST_MOVES]
    return view


def values_view(tree: GameTree, numbers: Numbers, infoset: int) -> dict[str, Any]:
    """What is known of the actions at an infoset of a whole tree."""
    _, start, parent, size, _ = tree.infosets[infoset].item()
    policy = numbers.policy[start : start + size]
    values = numbers.values[start : start + size]
    reach, value = float(numbers.reach[infoset]), float(policy @ values)

    def once_there(counterfactual: np.ndarray) -> np.ndarray:
        """NaN for all if the others never lead there."""
        return counterfactual[:MOST_MOVES] / (reach if reach > 0 else np.nan)

    return {
        "visits": None if numbers.visits is None else float(numbers.visits[infoset]),
        "probabilities": policy[:MOST_MOVES],
        "reach": reach * float(numbers.plan[parent]),
        "others_reach": reach,
        "value": once_there(np.array([value]))[0],
        "values": once_there(values),
        "regrets": once_there(values - value),
        "best_values": once_there(numbers.best[start : start + size]),
        "gain": float(numbers.gains[infoset]),
    }


def belief_view(
    tree: GameTree, policy: np.ndarray, infoset: int, chosen: int = -1
) -> dict[str, Any]:
    """The histories of an infoset, and how likely the player should take each to be.

    Args:
        tree: the whole tree.
        policy: `[S]` over its sequences.
        infoset: its number.
        chosen: a move there; if it is given, each row has its value for the player.

    Raises:
        TooManyError: there are too many to search for.
    """
    found, left_out = histories_of(tree, infoset, policy, MOST_HISTORIES)
    player = int(tree.infosets[infoset]["player"])
    rows = []
    for node, belief, state in found:
        names = [name for _, name in path_to(state)]
        row = {"history": state.history(), "names": names, "belief": belief}
        if chosen >= 0:
            below = int(tree.nodes[node]["first_child"]) + chosen
            row["value"] = float(value_of_node(tree, below, policy)[player])
        rows.append(row)
    return {"rows": rows, "left_out": left_out}


def overview(returns: np.ndarray, best_returns: np.ndarray) -> dict[str, Any]:
    """A policy as a whole, by what the players get `[P]` and could get."""
    gains = np.maximum(best_returns - returns, 0.0)
    nash_conv = float(gains.sum())
    both = {"returns": returns, "best_returns": best_returns}
    return both | {"gains": gains, "nash_conv": nash_conv}


def hand_view(study: Study, state: pyspiel.State) -> dict[str, Any]:
    """A policy of a subgame of hold'em at a decision, with the hand that the player
    has there."""
    history = state.history()
    found = study.decision(history[2:])
    at = int(np.flatnonzero(found.hands == history[found.player])[0])
    value, values = float(found.evs[at]), found.action_evs[at]
    return {
        "number": int(found.infosets[at]),
        **knowledge(study.game, found.player, known_to(state, found.player)),
        "probabilities": found.frequencies[at],
        "value": value,
        "values": values,
        "regrets": values - value,
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
        string, player = tree.info_state(at), int(tree.infosets[at]["player"])
        words = said_info_state(tree.game, player, string)
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
    names = names_anywhere(tree.game, player, legal)
    if any(map(str.isdecimal, names)):  # a state of it may tell them
        with contextlib.suppress(TooManyError):
            names = names_of(histories_of(tree, infoset, policy, 1)[0][0][2], legal)
    else:
        names = said(tree.game, player, names)
    odds = policy[start : start + size]
    best = np.argsort(-odds, kind="stable")[:3]
    return {
        "infoset": infoset,
        **knowledge(tree.game, player, tree.info_state(infoset)),
        "visits": None if visits is None else float(visits[infoset]),
        "policy": [[names[i], float(odds[i])] for i in best],
        "left_out": max(size - 3, 0),
    }
