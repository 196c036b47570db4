"""Passes over all histories of a game, by its compiled rules: nothing is stored.

The first pass finds the infosets. The others add gradients. They go depth first and
keep one state for each move on the way down. An infoset is found by its key, as in
walks over rules.

This takes a time for each history, so it is for games without worlds whose trees do not
fit, and a check of worlds.
"""

import warnings
from typing import Annotated, NamedTuple

import numpy as np
from numba.core.errors import NumbaExperimentalFeatureWarning

from mccfr_spiel.arenas.rules import played
from mccfr_spiel.arenas.rules.kernel import INFOSETS, find_key
from mccfr_spiel.arenas.rules.store import RuleStore
from mccfr_spiel.arenas.worlds.sliced_walk import SlicedWalk
from mccfr_spiel.arenas.worlds.traversal import (
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

SLICE = 5_000_000
"""Nodes that a pass visits between two looks for Ctrl-C, in about a quarter of a
second."""

_WORTH_COMPILING = 100_000_000
"""The least nodes for which a pass is compiled together with the rules that it calls:
that takes 10 s in each process and halves the time of a node."""


SIZE_OF_AT = NUM_AT


class Histories(NamedTuple):
    """What is kept of a game whose passes go over histories, besides its infosets.

    Attributes:
        size: how many nodes; how many are ends.
        payoffs: least and largest returns.
    """

    size: Annotated[np.ndarray, Entry(LONG, "[2]")]
    payoffs: Annotated[np.ndarray, Entry(FLOAT, "[2, P]")]


class Pass(NamedTuple):
    """Where a pass is: the nodes on the way there, by level, whose states are those of
    `Path`.

    H is one more than the longest history, D one more than that, A the most moves.
    `noted` has how many moves lead to a state of each infoset, and which, if they are
    wanted.

    Attributes:
        next_edge: the next child.
        num_edges: how many children there are.
        chance: the probability of all chance.
        probs: of the moves of chance.
        noted: histories of infosets.
        plan: all plans; none to find infosets.
        gradient: of those who get one.
        at: see SIZE_OF_AT.
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
    """How likely a node is if the player goes there: chance times the others' plans."""
    walk, last = scene.walk, scene.path.last
    weight = walk.chance[level]
    for other in range(len(last)):
        if other != player:
            weight *= walk.plan[last[other]]
    return weight


@inlined
def _pay(scene, level, returns):
    """Pays for an end of the game, or, to find infosets, looks at its returns."""
    walk, found = scene.walk, scene.listed
    found.size[1] += 1
    if len(walk.plan) == 0:
        for p in range(len(returns)):
            found.payoffs[0, p] = min(found.payoffs[0, p], returns[p])
            found.payoffs[1, p] = max(found.payoffs[1, p], returns[p])
    for p in range(walk.at[FIRST], walk.at[END]):
        walk.gradient[scene.path.last[p]] += returns[p] * _weight(scene, level, p)


@inlined
def _is_reached(scene, level):
    """Whether anything may be paid below a node."""
    at = scene.walk.at
    player = at[FIRST]
    while player < at[END] and _weight(scene, level, player) == 0.0:
        player += 1
    return len(scene.walk.plan) == 0 or player < at[END]


@inlined
def _has_room(scene):
    """Whether the history of one more infoset can be noted."""
    return not 0 < len(scene.walk.noted) <= scene.known.counts[INFOSETS]


@inlined
def _enter(scene, level):
    """Goes to the next child of the node above, and pays if the game ends there; else
    saves its state if it has children for this pass. Returns a status."""
    rules, game, path, walk = scene.rules, scene.game, scene.path, scene.walk
    node, chance = np.int64(0), 1.0
    if level > 0:
        above = level - 1
        child = walk.next_edge[above] - 1
        node, chance = played.stacked(above) + 1 + child, walk.chance[above]
        if path.branches[above, played.WHO] == CHANCE_NODE:
            chance *= walk.probs[above, child]
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
        known, key = scene.known, path.key  # all infosets have been found
        length, hashed = played.key_of(rules, game, path, known, acting)
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
    """Goes on at each child, which is made when it is entered."""
    return np.int64(DONE), True


_LAYOUT = layout_of(Pass, Histories)

follow_histories = make_follow(_LAYOUT, _has_room, _enter, _go_along)


class HistoryPass(SlicedWalk):
    """A pass over histories under way."""

    def __init__(self, store: RuleStore) -> None:
        """Stands at the root."""
        sizes = {"D": store.longest + 2, "A": store.rules.sizes.max_children}
        super().__init__(store, Pass, 0, None, **sizes)
        self.found: Histories = new_record(Histories, P=store.rules.num_players)
        self.found.payoffs[:] = np.array([[np.inf], [-np.inf]])

    @property
    def num_nodes(self) -> int:
        """The nodes visited so far."""
        return int(self.walk.at[VISITED])

    def follow(self) -> int:
        """Visits at most SLICE more nodes."""
        functions = self.functions
        if IS_COMPILED and self.num_nodes >= _WORTH_COMPILING:
            functions = *self.store.rules.description.rules, 0
        frame = self.frame_of(_LAYOUT, self.found)
        with warnings.catch_warnings():  # of functions that are arguments
            warnings.simplefilter("ignore", NumbaExperimentalFeatureWarning)
            most = self.num_nodes + SLICE
            status = follow_histories(frame, functions, most)
        self.found.size[0] = self.num_nodes
        return status
