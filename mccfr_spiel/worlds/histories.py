"""Passes over all histories of a game, by its compiled rules: nothing is stored.

The first pass finds the infosets. The others add gradients. They go depth first and
keep one state for each move on the way down. An infoset is found by its key, as in
walks over rules; but most lookups end in a small cache, since a walk that goes depth
first soon comes back to an infoset, or never.

This takes a time for each history, so it is for games without worlds whose trees do not
fit, and a check of worlds.
"""

import warnings
from typing import Annotated, Any, NamedTuple, NoReturn, Self

import numpy as np
from numba.core.errors import NumbaExperimentalFeatureWarning
from tqdm import tqdm

from mccfr_spiel.common.arrays import CHANCE_NODE, NODE, TERMINAL
from mccfr_spiel.kernels.frame import Entry, Layout, new_record
from mccfr_spiel.kernels.jit import IS_COMPILED, inlined, jit
from mccfr_spiel.kernels.tables import DONE, FLOAT, GROW, INT, LONG, TreeArrays
from mccfr_spiel.rules.kernel import (
    APPLY_ACTION,
    INFO_KEY,
    INFOSETS,
    call,
    find_key,
    row_hash,
)
from mccfr_spiel.rules.played import (
    BROKEN,
    NUM_MOVES,
    Game,
    Known,
    Path,
    arrive,
    end_game,
    who_acts,
)
from mccfr_spiel.rules.store import RuleStore, resize

SHORT = np.dtype(np.int16)

OUT_OF_TIME = 52
"""The status of a pass that is to go on."""

SLICE = 5_000_000
"""Nodes that a pass visits between two looks for Ctrl-C, in about a quarter of a
second."""

_WORTH_COMPILING = 100_000_000
"""From so many nodes on a pass is compiled together with the rules that it calls, which
takes 10 s in each process and saves half of the time of a node."""

_CACHED = 1 << 15
"""The infosets in the cache of a pass; a power of two."""

_BAR = "{desc}: {percentage:.0f}% [{elapsed}<{remaining}{postfix}]"


class Histories(NamedTuple):
    """What is kept of a game whose passes go over histories, besides its infosets."""

    size: Annotated[np.ndarray, Entry(LONG, "[2]", "how many nodes; how many are ends")]
    payoffs: Annotated[
        np.ndarray, Entry(FLOAT, "[2, P]", "each player's least return, and largest")
    ]


class Pass(NamedTuple):
    """Where a pass is: the nodes on the way there, by level.

    D is one more than the longest history, A the most moves, n the length of a state.
    """

    states: Annotated[np.ndarray, Entry(LONG, "[D, n]", "the states")]
    last: Annotated[np.ndarray, Entry(INT, "[D, P]", "each player's last sequence")]
    chance: Annotated[np.ndarray, Entry(FLOAT, "[D]", "the probability of all chance")]
    nodes: Annotated[np.ndarray, Entry(LONG, "[D, 4]", "see _NEXT")]
    moves: Annotated[np.ndarray, Entry(LONG, "[D, A]", "of chance")]
    probs: Annotated[np.ndarray, Entry(FLOAT, "[D, A]", "of these")]
    cache: Annotated[np.ndarray, Entry(INT, "[_CACHED]", "infosets, by their slots")]
    noted: Annotated[
        np.ndarray,
        Entry(
            SHORT,
            "[I, D]",
            "how many moves lead to a state of each infoset, and which; none if they "
            "are not wanted",
        ),
    ]
    plan: Annotated[np.ndarray, Entry(FLOAT, "[S]", "all plans; none to find infosets")]
    gradient: Annotated[np.ndarray, Entry(FLOAT, "[S]", "of those who get one")]
    bounds: Annotated[np.ndarray, Entry(FLOAT, "[2, P]", "as `Histories.payoffs`")]
    at: Annotated[np.ndarray, Entry(LONG, "[5]", "see _LEVEL")]


class _Spot(NamedTuple):
    """Of a Path and a level of a Pass, what the steps of walks over rules look at."""

    state: np.ndarray
    moves: np.ndarray
    last: np.ndarray
    key: np.ndarray
    history: np.ndarray
    position: np.ndarray


_NEXT, _COUNT, _START, _WHO = range(4)
"""The columns of `Pass.nodes`: the next child, -1 if the node was not entered yet; how
many children there are; the first sequence behind it; who acts."""

_LEVEL, _NODES, _ENDS, _FIRST, _END = range(5)
"""The entries of `Pass.at`: the level; the nodes and the ends so far; the players who
get gradients, from the first to the last but one."""

_LAYOUT = Layout(TreeArrays, Game, Known, Path, Pass)
_views = _LAYOUT.viewer()


@inlined
def _weight(walk, level, player):
    """How likely a node is if the player goes there: chance times the others' plans."""
    weight = walk.chance[level]
    for other in range(walk.last.shape[1]):
        if other != player:
            weight *= walk.plan[walk.last[level, other]]
    return weight


@inlined
def note(noted, infoset, history, length):
    """Notes the way to the first state of an infoset."""
    noted[infoset, 0] = length
    for k in range(length):
        noted[infoset, 1 + k] = history[k]


@inlined
def _pay(walk, returns, level):
    """Pays for an end of the game, or, to find infosets, looks at its returns."""
    walk.at[_ENDS] += 1
    if len(walk.plan) == 0:
        for p in range(len(returns)):
            walk.bounds[0, p] = min(walk.bounds[0, p], returns[p])
            walk.bounds[1, p] = max(walk.bounds[1, p], returns[p])
    for p in range(walk.at[_FIRST], walk.at[_END]):
        walk.gradient[walk.last[level, p]] += returns[p] * _weight(walk, level, p)


@inlined
def _known_infoset(rules, game, tree, known, walk, spot, acting):
    """The infoset of a decision, all of which have been found."""
    key, last = spot.key, spot.last[acting]
    key[0] = acting
    arguments = game.settings, spot.state, acting, key[1:]
    length = 1 + call(rules[INFO_KEY], INFO_KEY, arguments)
    slot = (last * 5 + key[length - 1] * 3 + length) & (len(walk.cache) - 1)
    infoset = np.int64(walk.cache[slot])
    start, k = known.rows[infoset]["start"], length
    is_long = known.rows[infoset + 1]["start"] - start == length
    if is_long and tree.infosets[infoset]["parent"] == last:
        while k > 0 and np.int64(known.values[start + k - 1]) == key[k - 1]:
            k -= 1
    if k > 0:
        hashed = row_hash(key, length)
        infoset = find_key(known.values, known.rows, known.table, hashed, key, length)
        walk.cache[slot] = infoset
    return infoset


@inlined
def _is_reached(walk, level):
    """Whether anything may be paid below a node."""
    player = walk.at[_FIRST]
    while player < walk.at[_END] and _weight(walk, level, player) == 0.0:
        player += 1
    return len(walk.plan) == 0 or player < walk.at[_END]


@inlined
def _enter(rules, game, tree, known, path, walk, level):
    """Learns of a node, and pays if the game ends there; returns a status."""
    path.position[NUM_MOVES] = level
    spot = _Spot(
        walk.states[level],
        path.moves,
        walk.last[level],
        path.key,
        path.history,
        path.position,
    )
    acting, status, count = who_acts(rules, game, spot), np.int64(DONE), np.int64(0)
    infoset, finds = np.int64(-1), len(walk.plan) == 0
    if acting == TERMINAL:
        status = np.int64(end_game(rules, game, spot, tree.utilities))
        if status == DONE:
            _pay(walk, tree.utilities[0], level)
    elif not _is_reached(walk, level):
        walk.nodes[level, _COUNT] = 0
    elif finds or acting == CHANCE_NODE:
        before = known.counts[INFOSETS]
        status, count, infoset = arrive(
            rules, game, spot, tree, known, acting, np.int64(1) << 40
        )
        if status == DONE and acting == CHANCE_NODE:
            for k in range(count):
                walk.moves[level, k] = path.moves[k]
                walk.probs[level, k] = tree.chance_probs[k]
        elif status == DONE and infoset == before and len(walk.noted) > 0:
            note(walk.noted, infoset, spot.history, level)
    else:
        infoset = _known_infoset(rules, game, tree, known, walk, spot, acting)
        count = np.int64(tree.infosets[infoset]["num_actions"])
    if status != DONE:
        return status
    if infoset >= 0:
        walk.nodes[level, _START] = tree.infosets[infoset]["first_sequence"]
    walk.nodes[level, _COUNT], walk.nodes[level, _WHO] = count, acting
    walk.nodes[level, _NEXT] = 0
    walk.at[_NODES] += 1
    return status


@inlined
def _go_down(rules, game, known, path, walk, level, child):
    """Makes the move to a child of the node at a level."""
    below, acting = level + 1, walk.nodes[level, _WHO]
    for k in range(walk.states.shape[1]):
        walk.states[below, k] = walk.states[level, k]
    for p in range(walk.last.shape[1]):
        walk.last[below, p] = walk.last[level, p]
    walk.chance[below] = walk.chance[level]
    if acting == CHANCE_NODE:
        action = walk.moves[level, child]
        walk.chance[below] *= walk.probs[level, child]
    else:
        sequence = walk.nodes[level, _START] + child
        walk.last[below, acting] = sequence
        action = known.actions[sequence]
    path.history[level] = action
    arguments = game.settings, walk.states[below], action
    call(rules[APPLY_ACTION], APPLY_ACTION, arguments)
    walk.nodes[below, _NEXT] = -1


@jit(nogil=True)
def follow(frame, rules, most):
    """Goes on with a pass until it is over, or something stops it.

    Each turn of the loop enters the node where the walk is, unless it has done so, and
    then goes down to its next child or, if there is none, back up.

    Args:
        frame: of TreeArrays, Game, Known, Path and Pass.
        rules: as `callable_rules` gives them.
        most: how many nodes there may be before the pass is `OUT_OF_TIME`.

    Returns:
        DONE, OUT_OF_TIME, GROW if there must be more room for infosets first, or BROKEN
        + a status of rules/kernel.py.
    """
    tree, game = _views(frame, TreeArrays), _views(frame, Game)
    known, path = _views(frame, Known), _views(frame, Path)
    walk = _views(frame, Pass)
    level, has_notes = walk.at[_LEVEL], len(walk.noted) > 0
    while level >= 0:
        if walk.nodes[level, _NEXT] < 0:
            status = np.int64(DONE)
            if walk.at[_NODES] >= most:
                status = np.int64(OUT_OF_TIME)
            elif has_notes and known.counts[INFOSETS] >= len(walk.noted):
                status = np.int64(GROW)
            else:
                status = _enter(rules, game, tree, known, path, walk, level)
            if status != DONE:
                walk.at[_LEVEL] = level
                return status
        child = walk.nodes[level, _NEXT]
        if child == walk.nodes[level, _COUNT]:
            level -= 1
            continue
        walk.nodes[level, _NEXT] = child + 1
        _go_down(rules, game, known, path, walk, level, child)
        level += 1
    walk.at[_LEVEL] = level
    return DONE


def tree_of(store: RuleStore, one: dict[str, Any]) -> TreeArrays:
    """The infosets met, and the arrays of one node, as `store.node_arrays` gives."""
    return TreeArrays(nodes=np.zeros(0, NODE), infosets=store.infosets, **one)


def bar_for(what: str) -> "tqdm[NoReturn]":
    """A bar on a terminal for what takes seconds; `n` is the share that is over."""
    return tqdm(
        desc=what, total=1.0, delay=2, disable=None, leave=False, bar_format=_BAR
    )


def share_over(counts: np.ndarray, following: np.ndarray) -> float:
    """The share of a depth-first walk that is over, as if subtrees beside each other
    were equally large.

    Args:
        counts, following: `[L]` of the nodes on the way to where the walk is, how many
            children each has, and the number of the child after the one gone to.
    """
    share, part = 0.0, 1.0
    for count, after in zip(counts.tolist(), following.tolist(), strict=True):
        part /= count
        share += part * (after - 1)
    return share


class SlicedPass:
    """A pass that is made in slices, between which Ctrl-C is noticed.

    Attributes:
        walk: where it is; `walk.gradient` is what it makes.
    """

    walk: Any
    _store: RuleStore

    def go_on(self) -> bool:
        """Makes one more slice; returns whether the pass is over."""
        raise NotImplementedError

    def share(self) -> float:
        """The share that is over, as `share_over` tells it."""
        raise NotImplementedError

    @property
    def num_nodes(self) -> int:
        """What the pass has touched so far."""
        raise NotImplementedError

    def finish(self, what: str) -> Self:
        """Goes on to the end, with a bar on a terminal; returns itself."""
        with bar_for(f"{what} {self._store.rules.description.short_name}") as bar:
            while not self.go_on():
                bar.n = self.share()
                bar.refresh()
        return self


class HistoryPass(SlicedPass):
    """A pass over histories under way.

    Attributes:
        walk: where it is, and the gradient that it makes.
    """

    def __init__(
        self,
        store: RuleStore,
        plan: np.ndarray,
        first: int = 0,
        end: int = 0,
        *,
        with_histories: bool = False,
    ) -> None:
        """Stands at the root.

        Args:
            store: the infosets.
            plan: `[S]` all players' plans, which nobody may change before the pass is
                over; empty for the pass that finds the infosets.
            first, end: the players `first .. end - 1` get gradients.
            with_histories: whether a history to each infoset is noted.
        """
        self._store, sizes = store, store.rules.sizes
        self._path = store.new_path(is_counted=False)
        self._one = store.node_arrays()
        record = new_record(
            Pass,
            D=store.longest + 2,
            A=sizes.max_children,
            P=store.rules.num_players,
            S=0,
            I=int(with_histories),
            n=sizes.state,
            _CACHED=_CACHED,
        )
        walk = record._replace(plan=plan, gradient=np.zeros_like(plan))
        self.walk: Pass = walk
        walk.states[0], walk.last[0] = store.rules.start(), self._path.last
        walk.chance[0], walk.nodes[0, _NEXT] = 1.0, -1
        walk.at[_FIRST], walk.at[_END] = first, end
        walk.bounds[0], walk.bounds[1] = np.inf, -np.inf

    @property
    def num_nodes(self) -> int:
        """The nodes visited so far."""
        return int(self.walk.at[_NODES])

    def go_on(self) -> bool:
        """Visits at most SLICE more nodes; returns whether the pass is over.

        Raises:
            MemoryBudgetError: the infosets do not fit the budget.
            GameError: the rules contradict themselves.
        """
        store, walk, called = self._store, self.walk, self._store.called
        limit = int(walk.at[_NODES]) + SLICE
        if IS_COMPILED and walk.at[_NODES] >= _WORTH_COMPILING:
            called = *store.rules.description.rules, 0
        while True:
            tree = tree_of(store, self._one)
            frame = _LAYOUT.frame_of(tree, store.game, store.known, self._path, walk)
            with warnings.catch_warnings():  # of functions that are arguments
                warnings.simplefilter("ignore", NumbaExperimentalFeatureWarning)
                status = follow(frame, called, limit)
            if status != GROW:
                break
            store.grow()
            if len(walk.noted):
                resize(walk.noted, len(store.infosets))
        if status >= BROKEN:
            self._path.state[:] = walk.states[walk.at[_LEVEL]]
            store.raise_broken(status - BROKEN, self._path)
        return status == DONE

    def share(self) -> float:
        """As in SlicedPass."""
        on_the_way = self.walk.nodes[: self.walk.at[_LEVEL]].T
        return share_over(on_the_way[_COUNT], on_the_way[_NEXT])

    def found(self) -> tuple[Histories, np.ndarray]:
        """What a pass that found the infosets knows besides, and `Pass.noted`; frees
        the room that both they and the notes have to spare."""
        store, walk = self._store, self.walk
        store.trim()
        if len(walk.noted):
            resize(walk.noted, len(store.infosets))
        return Histories(walk.at[_NODES : _ENDS + 1].copy(), walk.bounds), walk.noted
