"""Passes over all histories of a game by compiled rules; no nodes are stored.

The first pass finds the infosets, and each later pass adds gradients. A pass keeps a
state per move on the path and looks up infosets by key, as walks over rules do. Every
history is visited in every pass, so this is for games without worlds whose trees do not
fit into memory, and for tests of worlds.
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
"""Type of noted histories."""

SLICE = 5_000_000
"""Nodes visited between two checks for Ctrl-C, about a quarter of a second."""

_WORTH_COMPILING = 100_000_000
"""Nodes from which a pass is compiled together with the rules. Compiling takes 10 s in
each process and halves the time per node.
"""


SIZE_OF_AT = NUM_AT


class Histories(NamedTuple):
    """Facts about a game whose passes visit all histories.

    Attributes:
        size: number of nodes, and of terminal histories.
        payoffs: smallest and largest return per player.
    """

    size: Annotated[np.ndarray, Entry(LONG, "[2]")]
    payoffs: Annotated[np.ndarray, Entry(FLOAT, "[2, P]")]


class HistoryStack(NamedTuple):
    """Stack of a pass, with a level per node on the path. The states are in `Path`.

    Shapes: D levels, A largest number of moves, H longest history plus one, I infosets,
    S sequences.

    Attributes:
        next_edge: next child per node.
        num_edges: number of children per node.
        chance: product of the chance probabilities on the path to each node.
        probs: chance distribution per chance node.
        noted: per infoset, the length and moves of a history; empty if not wanted.
        plan: plans of all players; empty while infosets are searched.
        gradient: gradients of the updated players.
        at: see `world_traversal.LEVEL`.
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
    """The reach of a node without one player: chance times the others' plans."""
    walk, last = scene.walk, scene.path.last
    weight = walk.chance[level]
    for other in range(len(last)):
        if other != player:
            weight *= walk.plan[last[other]]
    return weight


@inlined
def _pay(scene, level, returns):
    """Adds a terminal history to the gradients; a search updates the payoffs' range."""
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
    """Whether a gradient can be non-zero below a node; always true during a search."""
    at = scene.walk.at
    player = at[FIRST]
    while player < at[END] and _weight(scene, level, player) == 0.0:
        player += 1
    return len(scene.walk.plan) == 0 or player < at[END]


@inlined
def _has_room(scene):
    """Whether another history can be noted."""
    return not 0 < len(scene.walk.noted) <= scene.known.counts[INFOSETS]


@inlined
def _enter(scene, level):
    """Enters the next child of the node above: pays if it is terminal, else saves the
    state and lists the children. Returns a status.

    Children of nodes that contribute nothing to any gradient are skipped.
    """
    rules, game, path, walk = scene.rules, scene.game, scene.path, scene.walk
    node, chance = np.int64(0), 1.0
    if level > 0:
        above = level - 1
        child = walk.next_edge[above] - 1
        node, chance = played.stacked(above) + 1 + child, walk.chance[above]
        if path.branches[above, WHO] == CHANCE_NODE:
            chance *= walk.probs[above, child]
    # Children start from the state saved at the level above. The root has no such
    # level; node 0 is the saved initial state.
    played.go_to(rules, game, path, node)
    walk.chance[level] = chance
    acting, status = played.who_acts(rules, game, path), np.int64(DONE)
    count, infoset = np.int64(0), np.int64(-1)
    if acting == TERMINAL:
        status = np.int64(played.end_game(rules, game, path, scene.tree.utilities))
        if status == DONE:
            _pay(scene, level, scene.tree.utilities[0])
    elif not _is_reached(scene, level):
        pass  # it has no children for this pass
    elif len(walk.plan) == 0 or acting == CHANCE_NODE:
        status, count, infoset = meet(scene, acting)
        if status == DONE and acting == CHANCE_NODE:
            for k in range(count):
                walk.probs[level, k] = scene.tree.chance_probs[k]
    else:
        # Gradients only look up infosets, because the search has found all of them.
        # Listing the legal moves again would be slower.
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
    """Descends to every child; `_enter` makes the state."""
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
        # Numba warns about functions as arguments, which are meant here.
        with warnings.catch_warnings():  # of functions that are arguments
            warnings.simplefilter("ignore", NumbaExperimentalFeatureWarning)
            limit = self.num_nodes + SLICE
            status = follow_histories(frame, functions, limit)
        self.result.size[0] = self.num_nodes
        return status
