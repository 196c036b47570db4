"""Passes over all histories of a game by compiled rules; no nodes are stored.

The first pass finds the infosets, and each later pass adds gradients. A pass keeps one
state per move on the path, and looks up infosets by information key in a hash table.
Every pass visits every history. So this is used for games that declare no worlds and
whose trees do not fit into memory, and to test walks over worlds.
"""

import warnings
from typing import Annotated, NamedTuple

import numpy as np
from numba.core.errors import NumbaExperimentalFeatureWarning

from mccfr_spiel.arenas.rules import played
from mccfr_spiel.arenas.rules.row_table import find_key
from mccfr_spiel.arenas.rules.rule_infosets import write_key
from mccfr_spiel.arenas.rules.rule_records import INFOSETS, WHO
from mccfr_spiel.arenas.rules.rule_store import RuleStore
from mccfr_spiel.arenas.worlds.sliced_walk import SlicedWalk
from mccfr_spiel.arenas.worlds.world_traversal import (
    END,
    FIRST,
    NUM_AT,
    VISITED,
    layout_of,
    make_follow,
    meet,
)
from mccfr_spiel.common.arrays import CHANCE_NODE, TERMINAL
from mccfr_spiel.kernels.frame import Entry, new_record
from mccfr_spiel.kernels.jit import IS_COMPILED, inlined
from mccfr_spiel.kernels.tables import DONE, FLOAT, LONG

SHORT = np.dtype(np.int16)
"""Type of the actions in `HistoryStack.noted`."""

SLICE = 5_000_000
"""Nodes visited between two checks for Ctrl-C, about a quarter of a second."""

_WORTH_COMPILING = 100_000_000
"""Number of visited nodes after which a pass is recompiled together with the rules, so
that they can be inlined. Compiling takes 10 s in each process and halves the time per
node.
"""


SIZE_OF_AT = NUM_AT


class Histories(NamedTuple):
    """Statistics of a game that a pass over all histories collects.

    Attributes:
        size: number of nodes, and number of terminal histories.
        payoffs: smallest and largest return of each of the P players.
    """

    size: Annotated[np.ndarray, Entry(LONG, "[2]")]
    payoffs: Annotated[np.ndarray, Entry(FLOAT, "[2, P]")]


class HistoryStack(NamedTuple):
    """Stack of a pass, with a level per node on the path. The states are in `Path`.

    Shapes: D levels, A largest number of moves, H longest history plus one, I infosets,
    S sequences.

    Attributes:
        next_edge: per level, the number of children already visited; -1 for a node not
            entered.
        num_edges: number of children per level.
        chance: per level, the product of the chance probabilities on the path to the
            node.
        probs: chance distribution per level, valid at chance nodes.
        noted: per infoset, a history that leads to it: its length, then its actions.
            Empty if histories are not requested.
        plan: plans of all players; empty while infosets are searched.
        gradient: gradients of the updated players.
        at: counters of the walk, see `world_traversal.LEVEL`.
    """

    next_edge: Annotated[np.ndarray, Entry(LONG, "[D]")]
    num_edges: Annotated[np.ndarray, Entry(LONG, "[D]")]
    chance: Annotated[np.ndarray, Entry(FLOAT, "[D]")]
    probs: Annotated[np.ndarray, Entry(FLOAT, "[D, A]")]
    noted: Annotated[np.ndarray, Entry(SHORT, "[I, H]")]
    plan: Annotated[np.ndarray, Entry(FLOAT, "[S]")]
    gradient: Annotated[np.ndarray, Entry(FLOAT, "[S]")]
    at: Annotated[np.ndarray, Entry(LONG, "[SIZE_OF_AT]")]


@inlined
def _weight(scene, level, player):
    """Returns the counterfactual reach of a node for a player: chance times the plans
    of all other players.
    """
    walk, last = scene.walk, scene.path.last
    weight = walk.chance[level]
    for other in range(len(last)):
        if other != player:
            weight *= walk.plan[last[other]]
    return weight


@inlined
def _pay(scene, level, returns):
    """Adds the returns of a terminal history to the gradients of the updated players.

    During a search it updates the range of the payoffs instead.
    """
    walk, facts = scene.walk, scene.listed
    facts.size[1] += 1
    if len(walk.plan) == 0:
        for p in range(len(returns)):
            facts.payoffs[0, p] = min(facts.payoffs[0, p], returns[p])
            facts.payoffs[1, p] = max(facts.payoffs[1, p], returns[p])
    for p in range(walk.at[FIRST], walk.at[END]):
        walk.gradient[scene.path.last[p]] += returns[p] * _weight(scene, level, p)


@inlined
def _is_reached(scene, level):
    """Returns whether the subtree of a node can contribute to a gradient.

    During a search for infosets, the result is always true.
    """
    at = scene.walk.at
    player = at[FIRST]
    while player < at[END] and _weight(scene, level, player) == 0.0:
        player += 1
    return len(scene.walk.plan) == 0 or player < at[END]


@inlined
def _has_room(scene):
    """Returns whether `noted`, if it is used, has room for one more infoset."""
    return not 0 < len(scene.walk.noted) <= scene.known.counts[INFOSETS]


@inlined
def _enter(scene, level):
    """Visits the next child of the node at the level above; returns a status.

    A terminal node is added to the gradients. At other nodes the state is saved and the
    children are listed, unless the subtree cannot contribute to any gradient.
    """
    rules, game, path, walk = scene.rules, scene.game, scene.path, scene.walk
    node, chance = np.int64(0), 1.0
    if level > 0:
        above = level - 1
        child = walk.next_edge[above] - 1
        node, chance = played.stacked(above) + 1 + child, walk.chance[above]
        if path.branches[above, WHO] == CHANCE_NODE:
            chance *= walk.probs[above, child]
    # `node` encodes the level above, whose saved state is restored, and the child to
    # which the state then moves. 0 stands for the initial state.
    played.go_to(rules, game, path, node)
    walk.chance[level] = chance
    acting, status = played.who_acts(rules, game, path), np.int64(DONE)
    count, infoset = np.int64(0), np.int64(-1)
    if acting == TERMINAL:
        status = np.int64(played.end_game(rules, game, path, scene.tree.utilities))
        if status == DONE:
            _pay(scene, level, scene.tree.utilities[0])
    elif not _is_reached(scene, level):
        pass  # with `count` = 0 the loop visits no children
    elif len(walk.plan) == 0 or acting == CHANCE_NODE:
        status, count, infoset = meet(scene, acting)
        if status == DONE and acting == CHANCE_NODE:
            for k in range(count):
                walk.probs[level, k] = scene.tree.chance_probs[k]
    else:
        # The search has found all infosets, so a later pass looks them up. To list the
        # legal moves with the rules again would be slower.
        known, key = scene.known, path.key
        length, hashed = write_key(rules, game, path, known, acting)
        infoset = find_key(known.values, known.rows, known.table, hashed, key, length)
        count = np.int64(scene.tree.infosets[infoset]["num_actions"])
    if status != DONE:
        return status
    start, actions = np.int64(0), path.moves
    if infoset >= 0:
        start = np.int64(scene.tree.infosets[infoset]["first_sequence"])
        actions = scene.known.actions[start:]
    if count > 0:
        played.save(path, level, acting, start, 0)
        for k in range(count):
            path.choices[level, k] = actions[k]
    walk.next_edge[level], walk.num_edges[level] = 0, count
    return status


@inlined
def _go_along(scene, level, edge):
    """Returns DONE and True: the walk descends to every child, see `_enter`."""
    return np.int64(DONE), True


_LAYOUT = layout_of(HistoryStack, Histories)

follow_histories = make_follow(_LAYOUT, _has_room, _enter, _go_along)


class HistoryPass(SlicedWalk):
    """A pass over all histories."""

    def __init__(self, store: RuleStore) -> None:
        """Places the pass at the root."""
        sizes = {"D": store.longest + 2, "A": store.rules.sizes.max_children}
        super().__init__(store, HistoryStack, 0, None, **sizes)
        self.result: Histories = new_record(Histories, P=store.rules.num_players)
        self.result.payoffs[:] = np.array([[np.inf], [-np.inf]])

    @property
    def num_nodes(self) -> int:
        """Number of nodes visited so far."""
        return int(self.walk.at[VISITED])

    def follow(self) -> int:
        """Visits at most SLICE more nodes; returns a status."""
        functions = self.functions
        if IS_COMPILED and self.num_nodes >= _WORTH_COMPILING:
            functions = *self.store.rules.description.rules, 0
        frame = self.frame_of(_LAYOUT, self.result)
        # Functions are passed as arguments here, about which numba warns.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NumbaExperimentalFeatureWarning)
            limit = self.num_nodes + SLICE
            status = follow_histories(frame, functions, limit)
        self.result.size[0] = self.num_nodes
        return status
