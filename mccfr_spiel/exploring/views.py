"""Views."""

import itertools
import math
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.arenas.infosets import loading
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.exploring.policy_numbers import Numbers
from mccfr_spiel.exploring.positions import (
    histories_of,
    known_to,
    names_of,
    path_to,
    value_of_node,
)
from mccfr_spiel.exploring.shown_policies import ShownPolicy, part_at
from mccfr_spiel.poker.study import Study

MOST_MOVES = 2_000
"""Moves that the page knows of a state: all 1,326 hands, among which it searches."""


MOST_HISTORIES = 60
"""Histories shown of an information set."""


_MOST_TEXT = 20_000


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


def knowledge(game: pyspiel.Game, player: int, info_state: str) -> dict[str, Any]:
    """An information state, as OpenSpiel has it and as people say it."""
    words = loading.said_info_state(game, player, info_state)
    return {"player": player, "info_state": info_state, "words": words}


def words_known_to(state: pyspiel.State, player: int) -> str:
    """The same as people say it, or what the player sees if there is no more."""
    game, known = state.get_game(), known_to(state, player)
    if not known and game.get_type().provides_observation_string:
        known = state.observation_string(player)
    return loading.said_info_state(game, player, known)


def moves_view(state: pyspiel.State) -> list[dict[str, Any]]:
    """The moves at a state, with their probabilities where chance moves."""
    odds = dict(state.chance_outcomes()) if state.is_chance_node() else {}
    moves = state.legal_actions()
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
        "left_out": max(len(state.legal_actions()) - MOST_MOVES, 0),
    }
    if state.is_terminal():
        view["returns"] = state.returns()
    return view


def infoset_view(
    candidate: ShownPolicy, state: pyspiel.State, infoset: int | None = None
) -> dict[str, Any]:
    """A policy at a state where a player acts, from the policy alone, with the
    solver's cumulative regrets if there are any.

    Args:
        candidate: the policy.
        state: where a player acts.
        infoset: its number in the tree, if there is a tree.
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
    """What is known of the actions at an infoset of a whole tree."""
    policy, values, best = (
        part_at(tree, infoset, one)
        for one in (numbers.policy, numbers.values, numbers.best)
    )
    parent = tree.infosets[infoset]["parent"]
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
        "best_values": once_there(best),
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
