"""Passes over all histories of a game, by its compiled rules: nothing is stored.

The first pass finds the infosets. The others add gradients. They go depth first and
keep one state for each move on the way down. An infoset is found by its key, as in
walks over rules; but most lookups end in a small cache, since a walk that goes depth
first soon comes back to an infoset, or never.

This takes a time for each history, so it is for games without worlds whose trees do not
fit, and a check of worlds.
"""

import warnings
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from numba.core.errors import NumbaExperimentalFeatureWarning
from tqdm import tqdm

from mccfr_spiel.common.arrays import CHANCE_NODE, NODE, TERMINAL
from mccfr_spiel.kernels.frame import Entry, Layout, new_record
from mccfr_spiel.kernels.jit import IS_COMPILED, inlined, jit
from mccfr_spiel.kernels.tables import DONE, FLOAT, GROW, INT, LONG, TreeArrays
from mccfr_spiel.rules.description import GameError
from mccfr_spiel.rules.kernel import (
    APPLY_ACTION,
    INFO_KEY,
    INFOSETS,
    MOST_USED,
    SEQUENCES,
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
    move_on,
    who_acts,
)
from mccfr_spiel.rules.store import RuleStore, resize

SHORT, BYTE = np.dtype(np.int16), np.dtype(np.int8)

MANY_ENTRIES, NOT_SHARED, OUT_OF_TIME, MANY_ANSWERS = range(50, 54)
"""Statuses besides those of the kernels: a world has more entries or edges than there
is room for; two entries do not fit each other, or a class is out of range; the pass is
to go on; `heard` gives a number for which there is no room."""

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
    """What is kept of a game whose passes go over histories, besides its infosets.

    Attributes:
        size: how many nodes; how many are ends.
        payoffs: least and largest returns.
    """

    size: Annotated[np.ndarray, Entry(LONG, "[2]")]
    payoffs: Annotated[np.ndarray, Entry(FLOAT, "[2, P]")]


class Pass(NamedTuple):
    """Where a pass is: the nodes on the way there, by level.

    D is one more than the longest history, A the most moves, n the length of a state.
    `noted` has how many moves lead to a state of each infoset, and which, if they are
    wanted.

    Attributes:
        states: the states.
        last: each player's last sequence.
        chance: the probability of all chance.
        nodes: see _NEXT.
        moves: of chance.
        probs: of these.
        cache: infosets, by their slots.
        noted: histories of infosets.
        plan: all plans; none to find infosets.
        gradient: of those who get one.
        bounds: as `Histories.payoffs`.
        at: see _LEVEL.
    """

    states: Annotated[np.ndarray, Entry(LONG, "[D, n]")]
    last: Annotated[np.ndarray, Entry(INT, "[D, P]")]
    chance: Annotated[np.ndarray, Entry(FLOAT, "[D]")]
    nodes: Annotated[np.ndarray, Entry(LONG, "[D, 4]")]
    moves: Annotated[np.ndarray, Entry(LONG, "[D, A]")]
    probs: Annotated[np.ndarray, Entry(FLOAT, "[D, A]")]
    cache: Annotated[np.ndarray, Entry(INT, "[_CACHED]")]
    noted: Annotated[np.ndarray, Entry(SHORT, "[I, D]")]
    plan: Annotated[np.ndarray, Entry(FLOAT, "[S]")]
    gradient: Annotated[np.ndarray, Entry(FLOAT, "[S]")]
    bounds: Annotated[np.ndarray, Entry(FLOAT, "[2, P]")]
    at: Annotated[np.ndarray, Entry(LONG, "[5]")]


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


_BITS = tuple(
    np.int64(x) for x in (0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F)
)
_ONES = np.int64(0x0101010101010101)


@inlined
def num_bits(actions):
    """The size of a set of less than 63 actions."""
    pairs, nibbles, bytes_ = _BITS
    actions -= (actions >> 1) & pairs
    actions = (actions & nibbles) + ((actions >> 2) & nibbles)
    return (((actions + (actions >> 4)) & bytes_) * _ONES) >> 56


@inlined
def has_room(tree, known, path, noted, entries, num_actions):
    """Whether the infosets of so many more entries fit all arrays of a store."""
    infosets = known.counts[INFOSETS] + entries
    sequences = known.counts[SEQUENCES] + entries * num_actions
    key_begins = known.rows[infosets - entries]["start"]
    return (
        infosets < len(tree.infosets)
        and infosets < MOST_USED * len(known.table)
        and sequences < len(known.actions)
        and key_begins + entries * len(path.key) < len(known.values)
        and not 0 < len(noted) <= infosets
    )


@inlined
def meet(rules, game, path, tree, known, noted, player):
    """Finds the infoset of a player where the path is, or adds it; returns a status,
    the infoset, and its actions as a set."""
    before, legal = known.counts[INFOSETS], np.int64(0)
    status, count, infoset = arrive(rules, game, path, tree, known, player, 1 << 40)
    if status == DONE:
        for k in range(count):
            legal |= np.int64(1) << path.moves[k]
        if len(noted) > 0 and infoset == before:
            note(noted, infoset, path.history, path.position[NUM_MOVES])
    return np.int64(status), infoset, legal


@inlined
def replay(rules, game, path, start, first, second, owners):
    """Puts the path where the own moves and deals of both players meet.

    Args:
        rules, game, path: tell what comes next.
        start: the first state.
        first, second: what player 0 and player 1 have done, and were dealt, in order.
        owners: who sees each deal.

    Returns:
        Whether the two fit each other, as they do if the declaration is right.
    """
    if len(first) + len(second) > len(path.history) - 2:
        return False
    for k in range(len(path.state)):
        path.state[k] = start[k]
    path.position[NUM_MOVES] = 0
    of_first, of_second, deals = np.int64(0), np.int64(0), np.int64(0)
    while of_first < len(first) or of_second < len(second):
        acting = who_acts(rules, game, path)
        if acting == CHANCE_NODE and deals < len(owners):
            acting = owners[deals]
            deals += 1
        if acting == 0 and of_first < len(first):
            action = first[of_first]
            of_first += 1
        elif acting == 1 and of_second < len(second):
            action = second[of_second]
            of_second += 1
        else:
            return False
        move_on(rules, game, path, action)
    return True


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
        pass  # it has no children for this pass
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
def follow_histories(frame, rules, most):
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


class NoRoomError(Exception):
    """A world has more "entries", or a player hears more "answers", than there is room
    for."""


class SlicedPass:
    """A pass that is made in slices, between which Ctrl-C is noticed.

    Attributes:
        store: the infosets.
        path: where the rules are asked.
        walk: where the pass is; `walk.gradient` is what it makes. `walk.noted` has the
            histories of infosets, if they are wanted.
        entries: for how many entries of a world there is room.
    """

    walk: Any

    def __init__(self, store: RuleStore, entries: int = 0) -> None:
        self.store, self.path = store, store.new_path(is_counted=False)
        self.entries, self._one = entries, store.node_arrays()

    def frame_of(self, layout: Layout, *records: Any) -> np.ndarray:
        """A frame with the infosets met, one node, and some records."""
        store = self.store
        nodes = np.zeros(0, NODE)
        tree = TreeArrays(nodes=nodes, infosets=store.infosets, **self._one)
        return layout.frame_of(tree, store.game, store.known, self.path, *records)

    def follow(self) -> int:
        """Makes one more slice, or as much of it as there is room for; returns a
        status."""
        raise NotImplementedError

    def share(self) -> float:
        """The share that is over, as `share_over` tells it."""
        raise NotImplementedError

    def outlook(self, share: float) -> str:
        """What can be told of the end when a share is over."""
        return ""

    @property
    def num_nodes(self) -> int:
        """What the pass has touched so far."""
        raise NotImplementedError

    def make_room(self) -> None:
        """Makes room for what the next node or world may add."""
        store, entries, sizes = self.store, self.entries, self.store.rules.sizes
        longest = len(sizes.key) + 1
        num_sequences = entries * sizes.num_actions
        store.ask_for(entries + 1, num_sequences + 1, entries * longest + 1)
        store.grow()
        if len(self.walk.noted):
            resize(self.walk.noted, len(store.infosets))

    def trim(self) -> None:
        """Gives back the room that infosets and notes have to spare."""
        self.store.trim()
        if len(self.walk.noted):
            resize(self.walk.noted, len(self.store.infosets))

    def go_on(self) -> bool:
        """Makes one more slice; returns whether the pass is over.

        Raises:
            MemoryBudgetError: what is found does not fit the budget.
            GameError: the rules contradict themselves or what they declare.
            NoRoomError: there must be room for more entries, or answers.
        """
        while (status := self.follow()) == GROW:
            self.make_room()
        if status >= BROKEN:
            self.store.raise_broken(status - BROKEN, self.path)
        if status in (MANY_ENTRIES, MANY_ANSWERS):
            raise NoRoomError("entries" if status == MANY_ENTRIES else "answers")
        if status == NOT_SHARED:
            raise GameError(
                f"{self.store.rules.description.short_name}: Description.world_key "
                "gives one world to states that differ in who acts, or in what their "
                "moves mean, or leaf_class is not between 0 and 63, or position_key or "
                "heard is wrong. ms.check_game shows two histories on a smaller board."
            )
        return status == DONE

    def finish(self, what: str) -> Self:
        """Goes on to the end, with a bar on a terminal; returns itself."""
        bar = tqdm(
            desc=f"{what} {self.store.rules.description.short_name}",
            total=1.0,
            delay=2,
            disable=None,
            leave=False,
            bar_format=_BAR,
        )
        with bar:
            while not self.go_on():
                bar.n = self.share()
                bar.set_postfix_str(self.outlook(bar.n))
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
        super().__init__(store)
        sizes = store.rules.sizes
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
        walk.states[0], walk.last[0] = store.rules.start(), self.path.last
        walk.chance[0], walk.nodes[0, _NEXT] = 1.0, -1
        walk.at[_FIRST], walk.at[_END] = first, end
        walk.bounds[0], walk.bounds[1] = np.inf, -np.inf

    @property
    def num_nodes(self) -> int:
        """The nodes visited so far."""
        return int(self.walk.at[_NODES])

    def follow(self) -> int:
        """Visits at most SLICE more nodes."""
        walk, called = self.walk, self.store.called
        if IS_COMPILED and walk.at[_NODES] >= _WORTH_COMPILING:
            called = *self.store.rules.description.rules, 0
        frame = self.frame_of(_LAYOUT, walk)
        with warnings.catch_warnings():  # of functions that are arguments
            warnings.simplefilter("ignore", NumbaExperimentalFeatureWarning)
            status = follow_histories(frame, called, self.num_nodes + SLICE)
        if status >= BROKEN:
            self.path.state[:] = walk.states[walk.at[_LEVEL]]
        return status

    def share(self) -> float:
        """As in SlicedPass."""
        on_the_way = self.walk.nodes[: self.walk.at[_LEVEL]].T
        return share_over(on_the_way[_COUNT], on_the_way[_NEXT])

    def found(self) -> Histories:
        """What a pass that found the infosets knows besides."""
        return Histories(self.walk.at[_NODES : _ENDS + 1].copy(), self.walk.bounds)
