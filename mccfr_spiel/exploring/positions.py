"""Positions."""

import bisect
import collections
from collections.abc import Sequence

import numpy as np
import pyspiel

from mccfr_spiel.arenas.infosets import loading
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.arenas.tree.whole import levels
from mccfr_spiel.common.arrays import TERMINAL


def names_of(state: pyspiel.State, moves: Sequence[int]) -> list[str]:
    """All moves at a state as people say them, or their numbers."""
    try:
        return loading.said_at(state, int(state.current_player()), moves)
    except Exception:  # games raise what they like
        return [*map(str, moves)]


def name_of(state: pyspiel.State, action: int) -> str:
    """A move as people say it, or its number."""
    moves = state.legal_actions()
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
        moves = state.legal_actions()
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


def seen_moves(state: pyspiel.State, seat: int) -> list[bool]:
    """For each possible move, whether a player can tell it from all others; of very
    many moves none is said to be seen."""
    moves = state.legal_actions()
    if len(moves) > MAX_TOLD_MOVES:
        return [False] * len(moves)
    known = [known_to(state.child(move), seat) for move in moves]
    times = collections.Counter(known)
    return [times[one] == 1 for one in known]


def known_to(state: pyspiel.State, player: int) -> str:
    """What a player knows at a state; nothing if the game does not say."""
    if not state.get_game().get_type().provides_information_state_string:
        return ""  # asked all the same, OpenSpiel would complain on the terminal
    try:
        return state.information_state_string(player)
    except Exception:  # games raise what they like
        return ""


# A deal is a move of chance at the beginning that one player alone sees. The grid keeps
# all later moves of a history and replaces the deals.
MAX_TOLD_MOVES = 4_000
"""Hands that a grid has at most, and moves that are told from one another."""
