"""What the page shows of a state and of an information set, as values for JSON.

Strings of games go out as they are: the page writes them as text, never as HTML.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.exploring import places
from mccfr_spiel.exploring.candidates import Regrets, probabilities
from mccfr_spiel.exploring.numbers import Numbers
from mccfr_spiel.tree.game_tree import GameTree

MOST_MOVES = 400
"""Moves shown at a state."""

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


def state_view(place: places.Place) -> dict[str, Any]:
    """A state: how it was reached, what the game prints, who acts, the moves."""
    state = place.state
    player = int(state.current_player())
    view: dict[str, Any] = {
        "history": [action for _, action, _ in place.path],
        "path": [[who, text(name)] for who, _, name in place.path],
        "text": text(_printed(state)),
        "player": player,
        "moves": [],
        "left_out": 0,
    }
    if state.is_terminal():
        view["returns"] = [number(value) for value in state.returns()]
        return view
    moves = places.moves_of(state)
    view["left_out"] = max(len(moves) - MOST_MOVES, 0)
    odds = dict(state.chance_outcomes()) if state.is_chance_node() else {}
    view["moves"] = [
        {
            "action": move,
            "name": text(places.name_of(state, move)),
            "probability": number(odds[move]) if move in odds else None,
        }
        for move in moves[:MOST_MOVES]
    ]
    return view


def _printed(state: pyspiel.State) -> str:
    try:
        return str(state)
    except Exception:  # games raise what they like
        return ", ".join(map(str, state.history()))


def policy_view(
    policy: Any, state: pyspiel.State, infoset: int | None = None
) -> dict[str, Any]:
    """A policy at a state, from the policy alone: there are no values.

    Args:
        policy: any policy.
        state: where a player acts.
        infoset: its number in the tree, if there is a tree.
    """
    player = state.current_player()
    try:
        info_state = state.information_state_string(player)
    except Exception:  # games without such strings, with an abstraction
        info_state = ""
    odds = probabilities(policy, state)
    actions = places.moves_of(state)[:MOST_MOVES]
    return {
        "number": infoset,
        "player": player,
        "info_state": text(info_state),
        "probabilities": None if odds is None else [odds.get(a, 0.0) for a in actions],
    }


def infoset_view(tree: GameTree, numbers: Numbers, infoset: int) -> dict[str, Any]:
    """A policy at an infoset of a whole tree, with all that is known of its actions."""
    _, start, parent, size, player = tree.infosets[infoset].item()
    row = slice(start, start + min(size, MOST_MOVES))
    policy = numbers.policy[start : start + size]
    reach = float(numbers.reach[infoset])
    values, best = numbers.values[start : start + size], numbers.best[row]
    value = float(policy @ values)
    return {
        "number": infoset,
        "player": player,
        "info_state": text(tree.info_state(infoset)),
        "probabilities": policy[:MOST_MOVES].tolist(),
        "reach": reach * float(numbers.plan[parent]),
        "others_reach": reach,
        "value": _over(value, reach),
        "values": [_over(one, reach) for one in values[:MOST_MOVES]],
        "regrets": [_over(one - value, reach) for one in values[:MOST_MOVES]],
        "best_values": [_over(one, reach) for one in best],
        "gain": float(numbers.gains[infoset]),
    }


def regrets_view(regrets: Regrets | None, state: pyspiel.State) -> dict[str, Any]:
    """A solver's cumulative regrets at a state where a player acts, if it has any."""
    found = None if regrets is None else regrets.at(state)
    if found is None:
        return {}
    return {"cumulative_regrets": [number(one) for one in found[:MOST_MOVES]]}


def _over(value: float, reach: float) -> float | None:
    """A value once the infoset is reached; None if the others never lead there."""
    return number(value / reach) if reach > 0 else None


def belief_view(
    tree: GameTree, policy: np.ndarray, infoset: int, most: int = MOST_HISTORIES
) -> dict[str, Any]:
    """The histories of an infoset, and how likely the player should take each to be.

    Raises:
        TooManyError: there are too many to search for.
    """
    found = places.histories_of(tree, infoset, policy)
    total = float(found.weights.sum())
    namer = Namer(tree.game)
    rows = []
    for which in range(min(most, len(found.nodes))):
        history, names = namer.read(found.moves[which])
        weight = float(found.weights[which])
        rows.append(
            {
                "history": history,
                "names": [text(name) for name in names],
                "belief": weight / total if total > 0 else None,
            }
        )
    return {"rows": rows, "left_out": len(found.nodes) - len(rows)}


class Namer:
    """Turns the places of moves into actions and names; keeps the states on the way."""

    def __init__(self, game: pyspiel.Game) -> None:
        """Knows the root only."""
        self._states: dict[tuple[int, ...], pyspiel.State] = {}
        self._states[()] = game.new_initial_state()

    def read(self, moves: Sequence[int]) -> tuple[list[int], list[str]]:
        """The actions of a history, and what the game calls them.

        Args:
            moves: at each state, which of its moves is taken.
        """
        history: list[int] = []
        names: list[str] = []
        for move in moves:
            state = self._states[tuple(history)]
            action = places.moves_of(state)[move]
            names.append(places.name_of(state, action))
            history.append(action)
            if tuple(history) not in self._states:
                self._states[tuple(history)] = state.child(action)
        return history, names


def overview(numbers: Numbers) -> dict[str, Any]:
    """A policy as a whole."""
    gains = np.maximum(numbers.best_returns - numbers.returns, 0.0)
    return {
        "returns": numbers.returns.tolist(),
        "best_returns": numbers.best_returns.tolist(),
        "gains": gains.tolist(),
        "nash_conv": numbers.nash_conv,
    }
