"""States and infosets as JSON.

Strings from games are passed on unchanged: the page inserts them as text, not as HTML.
"""

import itertools
import math
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.arenas.infosets import phrases
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.exploring.policy_numbers import (
    Numbers,
)
from mccfr_spiel.exploring.positions import (
    histories_of,
    known_to,
    names_of,
    path_to,
    value_of_node,
)
from mccfr_spiel.exploring.shown_policies import (
    ShownPolicy,
    part_at,
)
from mccfr_spiel.poker.study import Study

MOST_MOVES = 2_000
"""Moves of a state that the page receives; enough for all 1,326 hands of hold'em."""

MOST_HISTORIES = 60
"""Histories of an infoset that the page shows."""

LARGE_GAP = 0.02
"""A conditional gap is marked if it exceeds this share of the range of returns."""

_MOST_TEXT = 20_000
"""The largest length of a text in an answer."""


def plain(value: Any) -> Any:
    """Converts an answer to JSON: arrays to lists, infinities and NaN to None.

    Long texts are truncated.
    """
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
        return {key: plain(item) for key, item in value.items()}
    return value


def knowledge(game: pyspiel.Game, player: int, info_state: str) -> dict[str, Any]:
    """An information state as player, OpenSpiel's string, and display text."""
    text = phrases.said_info_state(game, player, info_state)
    return {"player": player, "info_state": info_state, "words": text}


def words_known_to(state: pyspiel.State, player: int) -> str:
    """Display text of a player's information state; as a fallback, of the
    observation."""
    game, string = state.get_game(), known_to(state, player)
    if not string and game.get_type().provides_observation_string:
        string = state.observation_string(player)
    return phrases.said_info_state(game, player, string)


def moves_view(state: pyspiel.State) -> list[dict[str, Any]]:
    """The legal moves at a state, with probabilities at a chance node."""
    odds = dict(state.chance_outcomes()) if state.is_chance_node() else {}
    moves = state.legal_actions()
    pairs = zip(moves, names_of(state, moves), strict=True)
    return [
        {"action": move, "name": name, "probability": odds.get(move)}
        for move, name in itertools.islice(pairs, MOST_MOVES)
    ]


def state_view(state: pyspiel.State) -> dict[str, Any]:
    """A state: the moves before it, the game's text, the acting player, the legal
    moves."""
    try:
        printed = str(state)
    except Exception:  # a game's code may raise any exception
        printed = ", ".join(map(str, state.history()))
    view: dict[str, Any] = {
        "history": state.history(),
        "path": path_to(state),
        "text": printed,
        "player": int(state.current_player()),
        "moves": moves_view(state),
        "left_out": max(len(state.legal_actions()) - MOST_MOVES, 0),
    }
    if state.is_terminal():
        view["returns"] = state.returns()
    return view


def infoset_view(
    candidate: ShownPolicy, state: pyspiel.State, infoset: int | None = None
) -> dict[str, Any]:
    """A policy at a decision, read from the policy alone, with cumulative regrets if
    known.

    Args:
        candidate: the policy.
        state: a state where a player acts.
        infoset: number of the infoset in the tree; None without a tree.
    """
    odds, player = candidate.probabilities(state), int(state.current_player())
    actions = state.legal_actions()[:MOST_MOVES]
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
    """The values of the actions at an infoset of a whole tree."""
    policy, values, best = (
        part_at(tree, infoset, vector)
        for vector in (numbers.policy, numbers.values, numbers.best)
    )
    parent = tree.infosets[infoset]["parent"]
    reach, value = float(numbers.reach[infoset]), float(policy @ values)

    def once_there(counterfactual: np.ndarray) -> np.ndarray:
        """Expected returns at the infoset; NaN if the others never play to it."""
        return counterfactual[:MOST_MOVES] / (reach if reach > 0 else np.nan)

    return {
        "visits": None if numbers.visits is None else float(numbers.visits[infoset]),
        "probabilities": policy[:MOST_MOVES],
        "reach": reach * float(numbers.plan[parent]),
        "others_reach": reach,
        "value": once_there(np.array([value]))[0],
        "values": once_there(values),
        "regrets": once_there(values - value),
        "best_values": once_there(best),
        "gain": float(numbers.gains[infoset]),
        **gap_view(tree, numbers, infoset),
    }


def gap_view(tree: GameTree, numbers: Numbers, infoset: int) -> dict[str, Any]:
    """The conditional gap of an infoset, and whether the page marks it as large."""
    gap = float(numbers.gap[infoset])
    span = tree.game.max_utility() - tree.game.min_utility()
    return {"gap": gap, "is_large_gap": gap > LARGE_GAP * span}


def belief_view(
    tree: GameTree, policy: np.ndarray, infoset: int, chosen: int = -1
) -> dict[str, Any]:
    """The histories of an infoset and the acting player's belief in each.

    Args:
        tree: the whole tree.
        policy: `[S]` the policy.
        infoset: the infoset's number.
        chosen: index of a move; if it is not negative, each row has the move's value.

    Raises:
        TooManyError: the search visits too many nodes.
    """
    histories, left_out = histories_of(tree, infoset, policy, MOST_HISTORIES)
    player = int(tree.infosets[infoset]["player"])
    rows = []
    for node, belief, state in histories:
        names = [name for _, name in path_to(state)]
        row = {"history": state.history(), "names": names, "belief": belief}
        if chosen >= 0:
            below = int(tree.nodes[node]["first_child"]) + chosen
            row["value"] = float(value_of_node(tree, below, policy)[player])
        rows.append(row)
    return {"rows": rows, "left_out": left_out}


def overview(returns: np.ndarray, best_returns: np.ndarray) -> dict[str, Any]:
    """Gains and NashConv from expected returns `[P]` and best responses' returns
    `[P]`."""
    gains = np.maximum(best_returns - returns, 0.0)
    nash_conv = float(gains.sum())
    both = {"returns": returns, "best_returns": best_returns}
    return both | {"gains": gains, "nash_conv": nash_conv}


def hand_view(study: Study, state: pyspiel.State) -> dict[str, Any]:
    """A policy of a hold'em subgame at a decision, for the acting player's hand."""
    history = state.history()
    decision = study.decision(history[2:])
    player = decision.player
    row = int(np.flatnonzero(decision.hands == history[player])[0])
    value, values = float(decision.evs[row]), decision.action_evs[row]
    return {
        "number": int(decision.infosets[row]),
        **knowledge(study.game, player, known_to(state, player)),
        "probabilities": decision.frequencies[row],
        "value": value,
        "values": values,
        "regrets": values - value,
    }
