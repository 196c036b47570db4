"""Where histories and infosets are in a tree, found without a pass over all of it.

A node knows its children only. But a player remembers its own moves, so all histories
of an infoset lie below the same moves of that player, and a search from the root that
follows these moves and tries all of the others' meets few nodes besides.
"""

import bisect
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyspiel

from mccfr_spiel.arrays import CHANCE_NODE, TERMINAL
from mccfr_spiel.tree.game_tree import GameTree

MOST_SEARCHED = 2_000_000
"""A search gives up when so many nodes are open at once."""


class TooManyError(ValueError):
    """A search would meet too many nodes."""


class Place(NamedTuple):
    """A history.

    Attributes:
        state: the game's state.
        node: the tree's node; None without a tree.
        path: for each move the player, OpenSpiel's action and its name.
    """

    state: pyspiel.State
    node: int | None
    path: list[tuple[int, int, str]]


def moves_of(state: pyspiel.State) -> list[int]:
    """The actions at a state, or chance's outcomes, in the order of a tree's nodes."""
    if state.is_terminal():
        return []
    if state.is_chance_node():
        return [action for action, _ in state.chance_outcomes()]
    return list(state.legal_actions())


def name_of(state: pyspiel.State, action: int) -> str:
    """What the game calls a move, or its number."""
    try:
        return str(state.action_to_string(state.current_player(), action))
    except Exception:  # games raise what they like
        return str(action)


def follow(game: pyspiel.Game, tree: GameTree | None, history: Sequence[int]) -> Place:
    """The place after a history.

    Raises:
        ValueError: a move of the history is not possible.
    """
    state = game.new_initial_state()
    node = 0
    path: list[tuple[int, int, str]] = []
    for action in history:
        moves = moves_of(state)
        if action not in moves:
            before = ", ".join(name for *_, name in path) or "the beginning"
            raise ValueError(
                f"{game} has no move {action} after {before}: the link may be of "
                "another game."
            )
        path.append((state.current_player(), action, name_of(state, action)))
        if tree is not None:
            node = int(tree.nodes[node]["first_child"]) + moves.index(action)
        state.apply_action(action)
    return Place(state, None if tree is None else node, path)


class Histories(NamedTuple):
    """The histories of an infoset.

    Attributes:
        nodes: `[h]` their nodes, the most probable first.
        weights: `[h]` how the others and chance play to them.
        moves: `[h]` for each node which child was taken, from the root on.
    """

    nodes: np.ndarray
    weights: np.ndarray
    moves: list[list[int]]

    def actions(self, game: pyspiel.Game, which: int) -> list[int]:
        """The history of one of the nodes as OpenSpiel's actions."""
        state, found = game.new_initial_state(), []
        for move in self.moves[which]:
            found.append(moves_of(state)[move])
            state.apply_action(found[-1])
        return found


def histories_of(
    tree: GameTree, infoset: int, policy: np.ndarray, most: int | None = None
) -> Histories:
    """Finds the histories of an infoset, or the `most` probable ones.

    Raises:
        TooManyError: the search meets too many nodes.
    """
    nodes, infosets = tree.nodes, tree.infosets
    player = int(infosets[infoset]["player"])
    way = _way_to(tree, infoset)
    goals = [*(above for above, _ in way), infoset]
    taken = np.array([sequence for _, sequence in way] + [-1], np.int64)
    goal = np.array(goals, np.int64)
    chance_probs = tree.chance_probs
    at = np.zeros(1, np.int64)
    weight = np.ones(1)
    done = np.zeros(1, np.int64)  # own decisions that lie behind a node
    before: list[tuple[np.ndarray, np.ndarray]] = []  # of each level: origins, moves
    hits: list[tuple[int, int, int, float]] = []  # level, place there, node, weight
    # One pass goes from the nodes of a level to those of the next one. Of a node of the
    # player only the move towards the infoset is followed, of others all are.
    while len(at):
        if len(at) > MOST_SEARCHED:
            raise TooManyError(
                f"This information set lies below more than {MOST_SEARCHED:,} "
                "histories, too many to list."
            )
        records = nodes[at]
        acting = records["player"]
        own = acting == player
        right = records["infoset"] == goal[done]
        found = np.flatnonzero(own & right & (done == len(way)))
        hits += [(len(before), int(i), int(at[i]), float(weight[i])) for i in found]
        own_on = np.flatnonzero(own & right & (done < len(way)))
        others = np.flatnonzero(~own & (acting != TERMINAL))
        sizes = records["num_children"][others].astype(np.int64)
        starts = np.cumsum(sizes) - sizes
        which = np.arange(sizes.sum()) - np.repeat(starts, sizes)
        origin = np.repeat(others, sizes)
        entry = records["start"][origin] + which
        is_chance = acting[origin] == CHANCE_NODE
        factor = np.empty(len(origin))
        factor[is_chance] = chance_probs[entry[is_chance]]
        factor[~is_chance] = policy[entry[~is_chance]]
        own_move = taken[done[own_on]] - records["start"][own_on]
        origin = np.concatenate((own_on, origin))
        move = np.concatenate((own_move, which))
        factor = np.concatenate((np.ones(len(own_on)), factor))
        before.append((origin, move))
        at = records["first_child"][origin].astype(np.int64) + move
        weight = weight[origin] * factor
        done = done[origin] + own[origin]
    hits.sort(key=lambda hit: -hit[3])
    hits = hits[:most]
    return Histories(
        np.array([node for _, _, node, _ in hits], np.int64),
        np.array([weight for *_, weight in hits]),
        [_moves_to(before, level, place) for level, place, _, _ in hits],
    )


def _way_to(tree: GameTree, infoset: int) -> list[tuple[int, int]]:
    """The player's infosets before one, and the sequence taken at each."""
    infosets, num_players = tree.infosets, tree.num_players
    way = []
    parent = int(infosets[infoset]["parent"])
    while parent >= num_players:
        above = bisect.bisect_right(infosets["first_sequence"], parent) - 1
        way.append((above, parent))
        parent = int(infosets[above]["parent"])
    return way[::-1]


def _moves_to(
    before: list[tuple[np.ndarray, np.ndarray]], level: int, place: int
) -> list[int]:
    moves = []
    for origins, taken in reversed(before[:level]):
        moves.append(int(taken[place]))
        place = int(origins[place])
    return moves[::-1]


def value_of_node(
    tree: GameTree, node: int, policy: np.ndarray, most: int = MOST_SEARCHED
) -> np.ndarray:
    """`[P]` what the players get on average from a node on.

    Raises:
        TooManyError: more than `most` nodes of one level lie below it.
    """
    nodes = tree.nodes
    at, weight = np.array([node], np.int64), np.ones(1)
    total = np.zeros(tree.num_players)
    while len(at):  # one pass for each level
        if len(at) > most:
            raise TooManyError(f"More than {most:,} histories lie below this one.")
        records = nodes[at]
        ends = records["player"] == TERMINAL
        total += weight[ends] @ tree.utilities[records["start"][ends]]
        inner = np.flatnonzero(~ends)
        sizes = records["num_children"][inner].astype(np.int64)
        which = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        origin = np.repeat(inner, sizes)
        entry = records["start"][origin] + which
        is_chance = records["player"][origin] == CHANCE_NODE
        factor = np.empty(len(origin))
        factor[is_chance] = tree.chance_probs[entry[is_chance]]
        factor[~is_chance] = policy[entry[~is_chance]]
        at = records["first_child"][origin].astype(np.int64) + which
        weight = weight[origin] * factor
        keep = weight > 0
        at, weight = at[keep], weight[keep]
    return total
