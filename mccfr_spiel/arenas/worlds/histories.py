"""Passes over all histories of a game, by its compiled rules: nothing is stored.

The first pass finds the infosets. The others add gradients. They go depth first and
keep one state for each move on the way down. An infoset is found by its key, as in
walks over rules.

This takes a time for each history, so it is for games without worlds whose trees do not
fit, and a check of worlds.
"""

import math
import warnings
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from numba.core.errors import NumbaExperimentalFeatureWarning

from mccfr_spiel.arenas.rules import played
from mccfr_spiel.arenas.rules.description import GameError
from mccfr_spiel.arenas.rules.kernel import INFOSETS, callable_rules, find_key
from mccfr_spiel.arenas.rules.store import RuleStore, resize
from mccfr_spiel.common.arrays import CHANCE_NODE, TERMINAL, reserve
from mccfr_spiel.common.display import Bar, hides_bar
from mccfr_spiel.common.limits import Budget
from mccfr_spiel.kernels.frame import Entry, Layout, new_record
from mccfr_spiel.kernels.jit import IS_COMPILED, inlined, jit
from mccfr_spiel.kernels.stored import nothing
from mccfr_spiel.kernels.tables import DONE, FLOAT, GROW, LONG, TreeArrays

SHORT, BYTE = np.dtype(np.int16), np.dtype(np.int8)

MANY_ENTRIES, NOT_SHARED, OUT_OF_TIME, MANY_ANSWERS = range(50, 54)
"""Statuses besides those of the kernels: a world has more entries or edges than there
is room for; two entries do not fit each other, or a class is out of range; the pass is
to go on; `heard` gives a number for which there is no room."""

SLICE = 5_000_000
"""Nodes that a pass visits between two looks for Ctrl-C, in about a quarter of a
second."""

_WORTH_COMPILING = 100_000_000
"""The least nodes for which a pass is compiled together with the rules that it calls:
that takes 10 s in each process and halves the time of a node."""

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
        at: see NUM_AT.
    """

    next_edge: Annotated[np.ndarray, Entry(LONG, "[D]")]
    num_edges: Annotated[np.ndarray, Entry(LONG, "[D]")]
    chance: Annotated[np.ndarray, Entry(FLOAT, "[D]")]
    probs: Annotated[np.ndarray, Entry(FLOAT, "[D, A]")]
    noted: Annotated[np.ndarray, Entry(SHORT, "[I, H]")]
    plan: Annotated[np.ndarray, Entry(FLOAT, "[S]")]
    gradient: Annotated[np.ndarray, Entry(FLOAT, "[S]")]
    at: Annotated[np.ndarray, Entry(LONG, "[NUM_AT]")]


# --- what walks over histories and over worlds share ----------------------------------

LEVEL, VISITED, ROOM, FIRST, END, NUM_AT = range(6)
"""The first entries of `at` of each walk: the level where it is, -1 when it is over;
how many nodes or worlds it has entered; for how many entries of a world there is room;
the players who get gradients, from the first to the last but one."""


class Scene(NamedTuple):
    """All that the steps of a walk read and change.

    Attributes:
        rules: as `callable_rules` gives them.
        tree, game, known, path: as in walks over rules.
        walk: where the walk is, by level. The next edge of a node or world is -1 until
            it has been entered.
        listed: what the walk lists.
        kept: what it keeps of places, if it does.
    """

    rules: Any
    tree: TreeArrays
    game: played.Game
    known: played.Known
    path: played.Path
    walk: Any
    listed: Any
    kept: Any


def layout_of(walk: type, listed: type, *kept: type) -> Layout:
    """What the frame of a walk holds."""
    return Layout(
        TreeArrays, played.Game, played.Known, played.Path, walk, listed, *kept
    )


def make_follow(
    layout: Layout, has_room: Any, enter: Any, go_along: Any, come_back: Any = nothing
) -> Any:
    """Makes `follow(frame, rules, most)`, which goes on with a walk until it is
    over, or something stops it.

    Each turn of the loop enters the node or world where the walk is, unless it has done
    so, and then goes along its next edge or, if there is none, back to the one before.

    Args:
        layout: of the frame.
        has_room: (scene) -> whether all arrays have room for what is entered next.
        enter: (scene, level) -> a status; finds the edges.
        go_along: (scene, level, edge) -> a status, and whether the walk goes on there.
        come_back: (scene, level), which is -1 at the end.

    Returns:
        A function of a frame, what `callable_rules` gives, and how many nodes or worlds
        there may be before the walk is `OUT_OF_TIME`. It returns that, DONE, GROW if
        there must be more room first, another status of this file, or BROKEN + one of
        rules/kernel.py.
    """
    views = layout.viewer()
    walk_kind, listed_kind, kept_kind = *layout.kinds[4:6], layout.kinds[-1]

    @jit(nogil=True, views_only=True)
    def follow(frame, rules, most):
        tree, game = views(frame, TreeArrays), views(frame, played.Game)
        known, path = views(frame, played.Known), views(frame, played.Path)
        walk, listed = views(frame, walk_kind), views(frame, listed_kind)
        kept = views(frame, kept_kind)
        scene = Scene(rules, tree, game, known, path, walk, listed, kept)
        level, status = walk.at[LEVEL], np.int64(DONE)
        while level >= 0:
            walk.at[LEVEL] = level
            if walk.next_edge[level] < 0:
                if walk.at[VISITED] >= most:
                    return np.int64(OUT_OF_TIME)
                if not has_room(scene):
                    return np.int64(GROW)
                status = np.int64(enter(scene, level))
                if status != DONE:
                    return status
                walk.at[VISITED] += 1
            edge = walk.next_edge[level]
            if edge < walk.num_edges[level]:
                walk.next_edge[level] = edge + 1
                status, goes_on = go_along(scene, level, edge)
                if status != DONE:
                    return status
                if goes_on:
                    level += 1
                    walk.next_edge[level] = -1
            else:
                level -= 1
                come_back(scene, level)
        walk.at[LEVEL] = level
        return status

    return follow


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
def sequence_at(spots, entry, bit):
    """The sequence of an action, a set of one, at an entry's infoset, of which there
    are the set of actions and the first sequence."""
    return spots[entry, 1] + num_bits(spots[entry, 0] & (bit - 1))


@inlined
def has_room(scene):
    """Whether the infosets of as many more entries as there is room for fit all arrays
    of a store."""
    known, entries = scene.known, scene.walk.at[ROOM]
    sequences, values = entries * scene.game.stops[0], entries * len(scene.path.key)
    infosets = scene.tree.infosets
    fits = played.has_room_for(infosets, known, entries, sequences, values)
    return fits and not 0 < len(scene.walk.noted) <= known.counts[INFOSETS] + entries


@inlined
def meet(scene, player):
    """Finds the infoset of a player where the path is, or adds it; returns a status,
    how many moves there are, and the infoset, -1 for chance."""
    known, path, noted = scene.known, scene.path, scene.walk.noted
    before = known.counts[INFOSETS]
    room = np.int64(1) << 40
    nodes = played.nodes_of(scene.tree, scene.game, known, path, scene.rules)
    status, moves = played.arrive(nodes, 0, player, room)
    infoset = moves.infoset
    if status == DONE and infoset == before and len(noted) > 0:
        noted[infoset, 0] = path.position[played.NUM_MOVES]
        for k in range(path.position[played.NUM_MOVES]):
            noted[infoset, 1 + k] = path.history[k]
    return status, moves.count, infoset


@inlined
def as_set(path, count):
    """The moves of the path as a set."""
    moves = np.int64(0)
    for k in range(count):
        moves |= np.int64(1) << path.moves[k]
    return moves


@inlined
def replay(scene, first, second, owners):
    """Puts the path where the own moves and deals of both players meet.

    Args:
        scene: of a walk whose `start` is the first state.
        first, second: what player 0 and player 1 have done, and were dealt, in order.
        owners: who sees each deal.

    Returns:
        Whether the two fit each other, as they do if the declaration is right.
    """
    rules, game, path = scene.rules, scene.game, scene.path
    if len(first) + len(second) > len(path.history) - 2:
        return False
    for k in range(len(path.state)):
        path.state[k] = scene.walk.start[k]
    path.position[played.NUM_MOVES] = 0
    of_first, of_second, deals = np.int64(0), np.int64(0), np.int64(0)
    while of_first < len(first) or of_second < len(second):
        acting = played.who_acts(rules, game, path)
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
        played.move_on(rules, game, path, action)
    return True


# --- the steps of a pass over histories -----------------------------------------------


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


# --- a walk as Python sees it ---------------------------------------------------------


class NoRoomError(Exception):
    """A world has more "entries", or a player hears more "answers", than there is room
    for."""


class SlicedPass:
    """A pass that is made in slices, between which Ctrl-C is noticed.

    Attributes:
        store: the infosets.
        path: where the rules are asked.
        functions: the game's, with those that tell of worlds, see `callable_rules`.
        walk: where the pass is; `walk.gradient` is what it makes. `walk.noted` has the
            histories of infosets, if they are wanted.
        found: what it finds besides the infosets.
        entries: for how many entries of a world there is room.
        budget: holds the bytes of `found`; None if that does not grow.
        called: what messages call the arrays of `found`.
        by_rates: those that the budget counts with infosets and sequences.
    """

    walk: Any
    found: Any
    called: str = ""
    by_rates: tuple[str, ...] = ()

    def __init__(
        self,
        store: RuleStore,
        kind: type,
        entries: int = 0,
        budget: Budget | None = None,
        **sizes: int,
    ) -> None:
        """Stands at the root, and makes no gradients.

        Args:
            store, entries, budget: as in the attributes.
            kind: of `walk`.
            sizes: of its arrays, as for `new_record`.
        """
        self.store, self.path = store, store.new_path(is_counted=False)
        self.functions = callable_rules(store.rules, with_worlds=True)
        self.entries, self.budget, self._one = entries, budget, store.tree_of_node()
        sizes |= {"C": entries, "I": 0, "H": store.longest + 1, "S": 0}
        self.walk = new_record(kind, (), n=store.rules.sizes.state, **sizes)
        self.walk.next_edge[0], self.walk.at[ROOM] = -1, entries

    def given(self, plan: np.ndarray, players: range) -> Self:
        """Has the pass make gradients; returns itself.

        Args:
            plan: `[S]` all players' plans, which nobody may change before it is over.
            players: who gets gradients.
        """
        self.walk = self.walk._replace(plan=plan, gradient=np.zeros_like(plan))
        self.walk.at[FIRST], self.walk.at[END] = players.start, players.stop
        return self

    def frame_of(self, layout: Layout, *records: Any) -> np.ndarray:
        """A frame with the infosets met, one node, the walk, and other records."""
        store, tree = self.store, self._one._replace(infosets=self.store.infosets)
        others = self.path, self.walk, *records
        return layout.frame_of(tree, store.game, store.known, *others)

    def follow(self) -> int:
        """Makes one more slice, or as much of it as there is room for; returns a
        status."""
        raise NotImplementedError

    def share(self) -> float:
        """The share that is over, as if neighbouring subtrees were equally large."""
        walk, share, part = self.walk, 0.0, 1.0
        level = walk.at[LEVEL]
        on_the_way = walk.num_edges[:level].tolist(), walk.next_edge[:level].tolist()
        for count, after in zip(*on_the_way, strict=True):
            part /= count
            share += part * (after - 1)
        return share

    def outlook(self, share: float) -> str:
        """What can be told of the end when a share is over."""
        return ""

    @property
    def num_nodes(self) -> int:
        """The nodes, or steps between worlds, touched so far."""
        raise NotImplementedError

    @property
    def gradient(self) -> np.ndarray:
        """`[S]` the gradient as far as it has been made."""
        return self.walk.gradient

    def rows(self) -> dict[str, tuple[int, int]]:
        """Of arrays of `found` how many rows are used, and for how many there must be
        room."""
        return {}

    def make_room(self) -> None:
        """Makes room for what the next node or world may add."""
        store, entries, sizes = self.store, self.entries, self.store.rules.sizes
        longest = len(sizes.key) + 1
        num_sequences = entries * sizes.num_actions
        store.ask_for(entries + 1, num_sequences + 1, entries * longest + 1)
        store.grow()
        if len(self.walk.noted):
            resize(self.walk.noted, len(store.infosets))
        held, rows = 0, self.rows()
        for name, (_, needed) in rows.items():
            array = getattr(self.found, name)
            if name not in self.by_rates:
                size = max(len(array), needed)
                held += size * array.itemsize * math.prod(array.shape[1:])
        if self.budget is not None:
            self.budget.hold(self.called, held)
        for name, (used, needed) in rows.items():
            array = getattr(self.found, name)
            if needed > max(len(array), 2 * used):  # most of which takes no memory yet
                larger = reserve(array, needed, used)
                self.found = self.found._replace(**{name: larger})
            elif needed > len(array):
                resize(array, needed)

    def trim(self) -> None:
        """Gives back the room that arrays have to spare."""
        self.store.trim()
        if len(self.walk.noted):
            resize(self.walk.noted, len(self.store.infosets))
        for name, (used, _) in self.rows().items():
            resize(getattr(self.found, name), used)

    def go_on(self) -> bool:
        """Makes one more slice; returns whether the pass is over.

        Raises:
            MemoryBudgetError: what is found does not fit the budget.
            GameError: the rules contradict themselves or what they declare.
            NoRoomError: there must be room for more entries, or answers.
        """
        while (status := self.follow()) == GROW:
            self.make_room()
        if status >= played.BROKEN:
            self.store.raise_broken(status - played.BROKEN, self.path)
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

    def finish(self, what: str, *, with_histories: bool = False) -> Self:
        """Goes on to the end, with a bar on a terminal; returns itself.

        Args:
            what: stands on the bar.
            with_histories: whether to note a history to each infoset that is found.
        """
        resize(self.walk.noted, int(with_histories))
        bar = Bar(
            desc=f"{what} {self.store.rules.description.short_name}",
            total=1.0,
            delay=2,
            disable=hides_bar(),
            leave=False,
            bar_format=_BAR,
        )
        with bar:
            while not self.go_on():
                bar.n = self.share()
                bar.set_postfix_str(self.outlook(bar.n))
        return self


class HistoryPass(SlicedPass):
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
