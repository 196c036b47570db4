"""States, histories and infosets of a tree, found without a pass over the tree.

Players remember the moves they made, so all histories of an infoset follow the same
moves of the acting player. A search from the root that takes these moves, and all moves
of the others, therefore visits few other nodes. Only a tree that was loaded from a file
reads all its nodes once, at the first request for the path to a node.
"""

import bisect
import collections
from collections.abc import Sequence

import numpy as np
import pyspiel

from mccfr_spiel.arenas.infosets import phrases
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.arenas.tree.levels import (
    levels,
)
from mccfr_spiel.common.arrays import TERMINAL

MAX_TOLD_MOVES = 4_000
"""With more legal moves, no move counts as identifiable."""


def names_of(state: pyspiel.State, moves: Sequence[int]) -> list[str]:
    """Display names of moves at a state; their numbers if the game fails to name
    them."""
    try:
        return phrases.said_at(state, int(state.current_player()), moves)
    except Exception:  # a game's code may raise any exception
        return [*map(str, moves)]  # the number is better than no page


def name_of(state: pyspiel.State, action: int) -> str:
    """Display name of one legal action at a state."""
    moves = state.legal_actions()
    return names_of(state, moves)[moves.index(action)]


def path_to(state: pyspiel.State) -> list[tuple[int, str]]:
    """Player and display name of each move before a state."""
    at, path = state.get_game().new_initial_state(), []
    for action in state.history():
        path.append((int(at.current_player()), name_of(at, action)))
        at.apply_action(action)
    return path


def follow(
    game: pyspiel.Game, tree: GameTree | None, history: Sequence[int]
) -> tuple[pyspiel.State, int | None]:
    """The state after a history, and the infoset of the player who acts there.

    Returns:
        (state, infoset). The infoset is None without a tree or an acting player.

    Raises:
        ValueError: a move of the history is illegal.
    """
    state, node = game.new_initial_state(), 0
    for action in history:
        moves = state.legal_actions()
        if action not in moves:
            before = ", ".join(name for _, name in path_to(state)) or "the beginning"
            raise ValueError(
                f"{game} has no move {action} after {before}: expected one of "
                f"{moves[:20]}. The link may be for another game."
            )
        if tree is not None:
            node = int(tree.nodes[node]["first_child"]) + moves.index(action)
        state.apply_action(action)
    infoset = (
        tree.nodes[node]["infoset"] if tree and state.current_player() >= 0 else -1
    )
    return state, int(infoset) if infoset >= 0 else None


def histories_of(
    tree: GameTree, infoset: int, policy: np.ndarray, limit: int
) -> tuple[list[tuple[int, float | None, pyspiel.State]], int]:
    """The `limit` most probable histories of an infoset, and the number of other
    histories.

    Each history is a tuple (node, probability, state). The probability is the belief of
    the acting player; None if chance and the others never play to the infoset.

    Raises:
        TooManyError: the search visits too many nodes.
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
    total, histories = sum(weight for weight, _ in hits), []
    for weight, node in hits[:limit]:
        state, _ = tree.state_at(node)
        histories.append((node, weight / total if total > 0 else None, state))
    return histories, len(hits) - len(histories)


def value_of_node(tree: GameTree, node: int, policy: np.ndarray) -> np.ndarray:
    """`[P]` the players' expected returns from a node on.

    Raises:
        TooManyError: a level below the node has too many nodes.
    """
    total = np.zeros(tree.num_players)
    for nodes, weights in levels(tree.arrays, node, policy):
        ends = tree.nodes["player"][nodes] == TERMINAL
        total += weights[ends] @ tree.utilities[tree.nodes["start"][nodes[ends]]]
    return total


def seen_moves(state: pyspiel.State, seat: int) -> list[bool]:
    """For each legal move, whether a player can identify it afterwards.

    All False for more than MAX_TOLD_MOVES moves.
    """
    moves = state.legal_actions()
    if len(moves) > MAX_TOLD_MOVES:
        return [False] * len(moves)
    strings = [known_to(state.child(move), seat) for move in moves]
    counts = collections.Counter(strings)
    return [counts[string] == 1 for string in strings]


def known_to(state: pyspiel.State, player: int) -> str:
    """The information state of a player at a state; "" if the game does not provide
    it."""
    if not state.get_game().get_type().provides_information_state_string:
        return ""  # calling the method would print an error on the terminal
    try:
        return state.information_state_string(player)
    except Exception:  # a game's code may raise any exception
        return ""
