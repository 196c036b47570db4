"""Finds the worlds of a game: a walk over worlds by the game's compiled rules.

At each world the walk has the entries of both players, each with one state that shows
it. An action means the same for all entries of a world, so one state tells where it
leads: to the same world, as a private move that makes another entry of the mover; or
along an *edge* to the next. There the mover has an entry for each entry and action that
lead along the edge, and the other player's entries stay, their states moved on.

What is kept of an edge is the list of the mover's sequences that go along it (its
*steps*), in the order in which a pass meets them. Passes call no rules.
"""

import functools
from typing import Annotated, Any, NamedTuple, NoReturn

import numpy as np

from mccfr_spiel.arrays import NODE, TERMINAL
from mccfr_spiel.compiled.frame import Entry, Layout
from mccfr_spiel.compiled.jit import inlined, jit
from mccfr_spiel.kernels.tables import DONE, FLAG, FLOAT, GROW, INT, LONG, TreeArrays
from mccfr_spiel.limits.budget import Budget, MemoryBudgetError
from mccfr_spiel.rules.calls import (
    ACTING,
    APPLY_ACTION,
    LEGAL_ACTIONS,
    WORLD_KEY,
    address_of,
    call,
)
from mccfr_spiel.rules.declared import GameError
from mccfr_spiel.rules.description import SPARE, WORLD_KEY_SIGNATURE, BoundRules
from mccfr_spiel.rules.kernel import INFOSETS, SEQUENCES
from mccfr_spiel.rules.key_table import MOST_USED, RowTable
from mccfr_spiel.rules.store import RuleStore, resize
from mccfr_spiel.rules.walks import BROKEN, Game, Known, Path, arrive, end_game

BYTE = np.dtype(np.int8)

MOST_ACTIONS = 62
"""The actions of a world are a set of bits."""

_FEW_ENTRIES = 2048
"""The entries of a world that there is room for at first."""

_SLICE = 200_000
"""Worlds that are found between two looks for Ctrl-C, in about a second."""

_MANY_ENTRIES, _NOT_SHARED, _PAUSED = range(50, 53)
"""Statuses besides those of the kernels: a world has more entries than there is room
for; an entry has no move of those that the world allows."""

WORLDS, LISTS = "the lists of worlds", "the search for worlds"
"""Under these names a budget holds what `Worlds` takes, and `Search`."""


class Worlds(NamedTuple):
    """The worlds of a game, depth first; those where the game ends are edges only."""

    steps: Annotated[
        np.ndarray, Entry(INT, "[T]", "the mover's sequences along each edge")
    ]
    lengths: Annotated[np.ndarray, Entry(INT, "[E]", "how many steps an edge has")]
    ends: Annotated[np.ndarray, Entry(FLAG, "[E]", "whether the game ends there")]
    returns: Annotated[np.ndarray, Entry(FLOAT, "[E, 2]", "the returns if it does")]
    actors: Annotated[np.ndarray, Entry(FLAG, "[W]", "who acts at a world")]
    edges: Annotated[np.ndarray, Entry(FLAG, "[W]", "how many edges it has")]
    height: Annotated[np.ndarray, Entry(LONG, "[1]", "the most worlds on a path")]


class Search(NamedTuple):
    """Where the walk is: the worlds on the way there, by level.

    D is the most levels, C the room for entries, A the number of actions, M the most
    moves, K the room for a world's key. Rows of entries are those of `_row`; rows of
    edges are `A level + edge`.
    """

    states: Annotated[
        np.ndarray, Entry(LONG, "[2 D C, n]", "a state that shows the entry")
    ]
    sequences: Annotated[
        np.ndarray, Entry(INT, "[2 D C]", "the player's last sequence there")
    ]
    pasts: Annotated[
        np.ndarray, Entry(BYTE, "[2 D C, M]", "the moves to the state, if wanted")
    ]
    lengths: Annotated[np.ndarray, Entry(INT, "[2 D C]", "how many moves they are")]
    counts: Annotated[np.ndarray, Entry(LONG, "[2, D]", "how many entries there are")]
    infosets: Annotated[np.ndarray, Entry(INT, "[D C]", "of the entries of who acts")]
    legal: Annotated[np.ndarray, Entry(LONG, "[D C]", "the actions there, as sets")]
    keys: Annotated[np.ndarray, Entry(LONG, "[D, K]", "of the worlds")]
    key_lengths: Annotated[np.ndarray, Entry(LONG, "[D]", "of these")]
    acting: Annotated[np.ndarray, Entry(LONG, "[D]", "who acts")]
    next_edge: Annotated[np.ndarray, Entry(LONG, "[D]", "which edge comes next")]
    num_edges: Annotated[np.ndarray, Entry(LONG, "[D]", "how many there are")]
    edge_keys: Annotated[
        np.ndarray, Entry(LONG, "[D A, K]", "of the worlds behind the edges")
    ]
    edge_lengths: Annotated[np.ndarray, Entry(LONG, "[D A]", "of these keys")]
    edge_actions: Annotated[
        np.ndarray, Entry(LONG, "[D A]", "the sets of actions that lead along them")
    ]
    edge_ends: Annotated[
        np.ndarray, Entry(FLAG, "[D A]", "whether the game ends there")
    ]
    histories: Annotated[
        np.ndarray,
        Entry(
            BYTE,
            "[I, M + 1]",
            "how many moves lead to a state of each infoset, and which; none if they "
            "are not wanted",
        ),
    ]
    key: Annotated[np.ndarray, Entry(LONG, "[K]", "a buffer")]
    at: Annotated[np.ndarray, Entry(LONG, "[NUM_AT]", "see NUM_AT")]


(LEVEL, ENTERS, NUM_WORLDS, NUM_EDGES, NUM_STEPS, HISTORIES, HEIGHT, ROOM, NUM_AT) = (
    range(9)
)
"""The entries of `Search.at`: the level; whether its world is to be entered; what has
been found so far, terminal histories among it; the most levels so far; C."""

_LAYOUT = Layout(TreeArrays, Game, Known, Path, Worlds, Search)
_views = _LAYOUT.viewer()


@inlined
def _row(search, player, level):
    """The row of the first entry of a player at a level."""
    return (player * len(search.key_lengths) + level) * search.at[ROOM]


@inlined
def _copy_entry(search, row, to_row):
    """Copies an entry's state, and the moves to it if they are wanted."""
    for k in range(search.states.shape[1]):
        search.states[to_row, k] = search.states[row, k]
    length = search.lengths[row]
    search.lengths[to_row] = length
    if len(search.histories) > 0:
        for k in range(length):
            search.pasts[to_row, k] = search.pasts[row, k]


@inlined
def _move(rules, settings, search, row, action):
    """Makes a move in an entry's state."""
    call(rules[APPLY_ACTION], APPLY_ACTION, (settings, search.states[row], action))
    length = search.lengths[row]
    search.lengths[row] = length + 1
    if len(search.histories) > 0:
        search.pasts[row, length] = action


@inlined
def _are_equal(one, other, length):
    k = 0
    while k < length and one[k] == other[k]:
        k += 1
    return k == length


@inlined
def _edge_to(search, level, first, length):
    """The edge to the world whose key is in the buffer; -1 for the world itself, and
    the number of edges if it is a new one. `first` is the row of the first edge."""
    key, count = search.key, search.num_edges[level]
    if length == search.key_lengths[level] and _are_equal(
        key, search.keys[level], length
    ):
        return np.int64(-1)
    edge = np.int64(0)
    while edge < count and not (
        search.edge_lengths[first + edge] == length
        and _are_equal(key, search.edge_keys[first + edge], length)
    ):
        edge += 1
    return edge


@inlined
def _find_entry(rules, game, path, tree, known, search, player, row, here):
    """Finds the infoset of an entry of who acts, or adds it; returns a status.

    Args:
        row: of the entry.
        here: its row among those of who acts.
    """
    for k in range(len(path.state)):
        path.state[k] = search.states[row, k]
    path.last[player] = search.sequences[row]
    before = known.counts[INFOSETS]
    status, count, infoset = arrive(rules, game, path, tree, known, player, 1 << 40)
    if status == DONE:
        search.infosets[here] = infoset
        legal = np.int64(0)
        for k in range(count):
            legal |= np.int64(1) << path.moves[k]
        search.legal[here] = legal
        if len(search.histories) > 0 and infoset == before:
            length = search.lengths[row]
            search.histories[infoset, 0] = length
            for k in range(length):
                search.histories[infoset, 1 + k] = search.pasts[row, k]
    return status


@inlined
def _sequence(tree, search, here, action):
    """The sequence of an action at an entry of who acts."""
    below = search.legal[here] & ((np.int64(1) << action) - 1)
    sequence = np.int64(tree.infosets[search.infosets[here]]["first_sequence"])
    while below:
        below &= below - 1
        sequence += 1
    return sequence


@inlined
def _look_along(rules, world_key, game, path, tree, worlds, search, level, action):
    """Where an action leads that no entry of the world had before.

    `path.state` is that of an entry. Returns a status, and the edge or -1 for the world
    itself.
    """
    call(rules[APPLY_ACTION], APPLY_ACTION, (game.settings, path.state, action))
    arguments = game.settings, path.state, search.key
    length = call(world_key, WORLD_KEY, arguments)
    first, status = level * game.stops[0], np.int64(DONE)
    edge = _edge_to(search, level, first, length)
    if edge == search.num_edges[level]:
        search.num_edges[level] += 1
        search.edge_lengths[first + edge] = length
        search.edge_actions[first + edge] = 0
        for k in range(length):
            search.edge_keys[first + edge, k] = search.key[k]
        is_end = call(rules[ACTING], ACTING, (game.settings, path.state)) == TERMINAL
        search.edge_ends[first + edge] = is_end
        row = search.at[NUM_EDGES] + edge
        worlds.ends[row] = is_end
        if is_end:
            status = np.int64(end_game(rules, game, path, tree.utilities))
            worlds.returns[row, 0] = tree.utilities[0, 0]
            worlds.returns[row, 1] = tree.utilities[0, 1]
    if edge >= 0:
        search.edge_actions[first + edge] |= np.int64(1) << action
    return status, edge


@inlined
def _enter(rules, world_key, game, path, tree, known, worlds, search, level):
    """Finds the infosets and the edges of a world; returns a status.

    Private moves append entries to the list of the mover that is read here.
    """
    shown = search.states[_row(search, 0, level)]
    player = call(rules[ACTING], ACTING, (game.settings, shown))
    if player < 0 or player > 1:
        return _NOT_SHARED
    search.acting[level], search.num_edges[level] = player, 0
    first, first_here = _row(search, player, level), _row(search, 0, level)
    seen, private, entry = np.int64(0), np.int64(0), np.int64(0)
    while entry < search.counts[player, level]:
        row, here = first + entry, first_here + entry
        status = _find_entry(rules, game, path, tree, known, search, player, row, here)
        if status != DONE:
            return status
        legal = search.legal[here]
        for action in range(game.stops[0]):
            bit = np.int64(1) << action
            if legal & bit == 0:
                continue
            if seen & bit == 0:
                seen |= bit
                for k in range(len(path.state)):
                    path.state[k] = search.states[row, k]
                status, edge = _look_along(
                    rules, world_key, game, path, tree, worlds, search, level, action
                )
                if status != DONE:
                    return status
                if edge < 0:
                    private |= bit
            if private & bit:
                count = search.counts[player, level]
                if count == search.at[ROOM]:
                    return _MANY_ENTRIES
                search.counts[player, level] = count + 1
                _copy_entry(search, row, first + count)
                _move(rules, game.settings, search, first + count, action)
                search.sequences[first + count] = _sequence(tree, search, here, action)
        entry += 1
    return DONE


@inlined
def _list_edges(tree, worlds, search, level, num_actions):
    """Writes a world and the steps along its edges."""
    at, player, first = search.at, search.acting[level], _row(search, 0, level)
    worlds.actors[at[NUM_WORLDS]] = player
    worlds.edges[at[NUM_WORLDS]] = search.num_edges[level]
    at[NUM_WORLDS] += 1
    for edge in range(search.num_edges[level]):
        begin, behind = at[NUM_STEPS], level * num_actions + edge
        for here in range(first, first + search.counts[player, level]):
            going, action = search.legal[here] & search.edge_actions[behind], 0
            while going >> action:
                if going >> action & 1:
                    sequence = _sequence(tree, search, here, action)
                    worlds.steps[at[NUM_STEPS]] = sequence
                    at[NUM_STEPS] += 1
                action += 1
        length = at[NUM_STEPS] - begin
        worlds.lengths[at[NUM_EDGES]] = length
        at[NUM_EDGES] += 1
        if search.edge_ends[behind]:
            at[HISTORIES] += length * search.counts[1 - player, level]
    search.next_edge[level] = 0
    at[HEIGHT] = max(at[HEIGHT], level + 1)


@inlined
def _go_along(rules, game, path, tree, search, level, behind):
    """Makes the entries of the world behind an edge; returns a status."""
    player, actions = search.acting[level], search.edge_actions[behind]
    first, count = _row(search, player, level + 1), np.int64(0)
    here = _row(search, 0, level)
    for row in range(
        _row(search, player, level),
        _row(search, player, level) + search.counts[player, level],
    ):
        going, action = search.legal[here] & actions, np.int64(0)
        while going >> action:
            if going >> action & 1:
                if count == search.at[ROOM]:
                    return _MANY_ENTRIES
                _copy_entry(search, row, first + count)
                _move(rules, game.settings, search, first + count, action)
                search.sequences[first + count] = _sequence(tree, search, here, action)
                count += 1
            action += 1
        here += 1
    search.counts[player, level + 1] = count
    other = 1 - player
    search.counts[other, level + 1] = search.counts[other, level]
    first, row = _row(search, other, level + 1), _row(search, other, level)
    for entry in range(search.counts[other, level]):
        search.sequences[first + entry] = search.sequences[row + entry]
        _copy_entry(search, row + entry, first + entry)
        arguments = game.settings, search.states[first + entry], path.moves
        count = call(rules[LEGAL_ACTIONS], LEGAL_ACTIONS, arguments)
        k = 0
        while k < count and not actions >> path.moves[k] & 1:
            k += 1
        if k >= count:
            return _NOT_SHARED
        _move(rules, game.settings, search, first + entry, path.moves[k])
    search.key_lengths[level + 1] = search.edge_lengths[behind]
    for k in range(search.edge_lengths[behind]):
        search.keys[level + 1, k] = search.edge_keys[behind, k]
    return DONE


@inlined
def _has_room(infosets, known, worlds, search, num_actions, longest):
    """Whether the next world fits all arrays, whatever it has."""
    at, entries = search.at, search.at[ROOM]
    num_infosets, num_sequences = known.counts[INFOSETS], known.counts[SEQUENCES]
    is_kept = len(search.histories) > 0
    return (
        num_infosets + entries < len(infosets)
        and num_sequences + entries * num_actions < len(known.actions)
        and known.rows[num_infosets]["start"] + entries * longest < len(known.values)
        and num_infosets + entries < MOST_USED * len(known.table)
        and at[NUM_WORLDS] < len(worlds.edges)
        and at[NUM_EDGES] + num_actions < len(worlds.ends)
        and at[NUM_STEPS] + entries * num_actions < len(worlds.steps)
        and not (is_kept and num_infosets + entries >= len(search.histories))
    )


@jit
def find(frame, rules, world_key, most):
    """Finds worlds until all are found, `most` are, or something stops the walk.

    Each pass enters a world that the walk has come to, or goes along the next edge of
    the world where it is, or back to the world before.

    Returns:
        DONE, `_PAUSED`, GROW if there must be more room first, `_MANY_ENTRIES`,
        `_NOT_SHARED`, or BROKEN + a status of rules/kernel.py.
    """
    tree, game = _views(frame, TreeArrays), _views(frame, Game)
    known, path = _views(frame, Known), _views(frame, Path)
    worlds, search = _views(frame, Worlds), _views(frame, Search)
    at, num_actions, longest = search.at, game.stops[0], len(path.key)
    while at[LEVEL] >= 0:
        level = at[LEVEL]
        if at[ENTERS]:
            if at[NUM_WORLDS] >= most:
                return _PAUSED
            if not _has_room(
                tree.infosets, known, worlds, search, num_actions, longest
            ):
                return GROW
            status = _enter(
                rules, world_key, game, path, tree, known, worlds, search, level
            )
            if status != DONE:
                return status
            _list_edges(tree, worlds, search, level, num_actions)
            at[ENTERS] = 0
        edge, first = search.next_edge[level], level * num_actions
        while edge < search.num_edges[level] and search.edge_ends[first + edge]:
            edge += 1
        search.next_edge[level] = edge + 1
        if edge >= search.num_edges[level]:
            at[LEVEL] = level - 1
            continue
        status = _go_along(rules, game, path, tree, search, level, first + edge)
        if status != DONE:
            return status
        at[LEVEL], at[ENTERS] = level + 1, 1
    return DONE


# --- from Python -----------------------------------------------------------------


class Found(NamedTuple):
    """What was found of a game.

    Attributes:
        infosets: `[I]` of dtype INFOSET, ancestors first.
        actions: `[S]` the action of each sequence.
        keys: of the infosets, each with the player before it.
        worlds: the worlds.
        num_histories: how many histories end the game.
        histories: as in `Search`.
    """

    infosets: np.ndarray
    actions: np.ndarray
    keys: RowTable
    worlds: Worlds
    num_histories: int
    histories: np.ndarray

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays."""
        parts = *self, *self.keys, *self.worlds
        return sum(part.nbytes for part in parts if isinstance(part, np.ndarray))


def why_no_worlds(rules: BoundRules | None) -> str:
    """Why worlds cannot be found by rules, behind the name of the game; else ""."""
    if rules is None or rules.description.world_key is None:
        return "declares no worlds (Description.world_key)"
    if rules.num_players != 2 or rules.sizes.max_chance_moves:
        return "is not a game of two players without chance"
    if rules.sizes.num_actions > MOST_ACTIONS:
        return f"has more than {MOST_ACTIONS} actions"
    return ""


def check_declares_worlds(rules: BoundRules | None, source: object) -> None:
    """Raises ValueError unless worlds can be found by these rules.

    Args:
        rules: the game's, or its twin's; None if it has none that may be used.
        source: the game, for the message.
    """
    why = why_no_worlds(rules)
    if why:
        raise ValueError(
            f"store='worlds' takes a game world by world, but {source} {why}. Use "
            "store='tree', or an algorithm that samples."
        )


_kept: dict[tuple[Any, ...], Found] = {}
"""What was found, by what makes a game, as long as the process lives."""

_KEPT = "worlds and their infosets"
"""Under this name a budget holds what is kept."""


def known_worlds(
    rules: BoundRules, budget: Budget, *, with_histories: bool = False
) -> Found:
    """As `find_worlds`, but of a game whose worlds were found before they are taken.

    What the process keeps of other games is forgotten if these do not fit else.
    """
    description = rules.description
    game = description.short_name, description.rules, rules.settings.tobytes()
    found = _kept.get(game)
    if found is None or (with_histories and not len(found.histories)):
        try:
            again = find_worlds(rules, budget, with_histories=with_histories)
        except MemoryBudgetError:
            if not (budget.is_default and _kept.keys() - {game}):
                raise
            _kept.clear()
            again = find_worlds(rules, budget, with_histories=with_histories)
        found = again
        if game in _kept:  # whose arrays others have
            found = _kept[game]._replace(histories=again.histories)
    budget.hold(_KEPT, found.nbytes)
    _kept[game] = found
    return found


def find_worlds(
    rules: BoundRules,
    budget: Budget,
    *,
    with_histories: bool = False,
) -> Found:
    """Finds all worlds of a game.

    Args:
        rules: with a `world_key`.
        budget: the bytes that the search, and what is found, may take.
        with_histories: whether to note a history for each infoset.

    Raises:
        MemoryBudgetError: the worlds do not fit the budget, which is left as it was.
        GameError: the rules contradict themselves or their `world_key`.
    """
    entries = _FEW_ENTRIES
    while True:
        search = _Finding(rules, budget, entries, with_histories)
        found = search.run()
        if found is not None:
            return found
        entries *= 4


class _Finding:
    """A search under way."""

    def __init__(
        self, rules: BoundRules, budget: Budget, entries: int, with_histories: bool
    ) -> None:
        self._rules = rules
        # Of its own, so that a search that fails has taken nothing.
        self._budget = Budget(max(budget.left, 1), note=", which others left")
        self._store = RuleStore(rules, self._budget)
        self._path = self._store.new_path()
        self._one = self._store.node_arrays()
        self._world_key = address_of(
            "world_key", rules.description.world_key, WORLD_KEY_SIGNATURE
        )
        self._entries = entries
        moves = rules.sizes.max_moves
        height = moves + 2
        size = 2 * height * entries * (8 * rules.sizes.state + moves + 32)
        self._budget.hold(LISTS, size)
        self._search = _new_search(rules, height, entries, with_histories)
        state, of_player_1 = rules.start(), height * entries
        self._search.states[0] = self._search.states[of_player_1] = state
        self._search.sequences[of_player_1] = 1  # the empty sequences are 0 and 1
        key = self._search.key
        length = rules.description.world_key(rules.settings, state, key)
        self._search.key_lengths[0] = length
        self._search.keys[0, :length] = key[:length]
        self._worlds = Worlds(
            steps=np.zeros(0, INT),
            lengths=np.zeros(0, INT),
            ends=np.zeros(0, FLAG),
            returns=np.zeros((0, 2), FLOAT),
            actors=np.zeros(0, FLAG),
            edges=np.zeros(0, FLAG),
            height=np.zeros(1, LONG),
        )

    def run(self) -> Found | None:
        """Finds the worlds; None if one has more entries than there is room for."""
        most = _SLICE
        while True:
            status = self._go_on(most)
            if status == DONE:
                return self._trimmed()
            if status == _MANY_ENTRIES:
                return None
            if status == GROW:
                self._make_room()
            elif status == _PAUSED:
                most += _SLICE
            elif status == _NOT_SHARED:
                self._refuse()
            else:
                self._store.raise_broken(status - BROKEN, self._path)

    def _go_on(self, most: int) -> int:
        store = self._store
        tree = TreeArrays(
            nodes=np.zeros(0, NODE),
            infosets=store.infosets,
            ties=np.zeros((0, 3), np.int32),
            **self._one,
        )
        frame = _LAYOUT.frame_of(
            tree, store.game, store.known, self._path, self._worlds, self._search
        )
        return find(frame, store.called, self._world_key, most)

    def _refuse(self) -> NoReturn:
        level = int(self._search.at[LEVEL])
        key = self._search.keys[level, : self._search.key_lengths[level]].tolist()
        raise GameError(
            f"{self._rules.description.short_name}: Description.world_key gives the "
            f"world {key} to states that differ in who acts, or in what their moves "
            "mean. ms.check_game shows two histories on a smaller board."
        )

    def _make_room(self) -> None:
        """Makes room for the next world, whatever it has."""
        rules, store, at = self._rules, self._store, self._search.at.tolist()
        entries, actions = self._entries, rules.sizes.num_actions
        longest = len(rules.sizes.key) + 1
        store.ask_for(entries + 1, entries * actions + 1, entries * longest + 1)
        store.grow()
        needed = {
            "steps": at[NUM_STEPS] + entries * actions + 1,
            "edges": at[NUM_WORLDS] + 1,
            "actors": at[NUM_WORLDS] + 1,
        }
        needed |= dict.fromkeys(
            ("lengths", "ends", "returns"), at[NUM_EDGES] + actions + 1
        )
        sizes = {name: len(getattr(self._worlds, name)) for name in needed}
        grown = {
            name: sizes[name] if size <= sizes[name] else size + size // 4
            for name, size in needed.items()
        }
        rows = self._worlds._asdict()
        self._budget.hold(
            WORLDS,
            sum(
                size * rows[name].itemsize * int(np.prod(rows[name].shape[1:]))
                for name, size in grown.items()
            ),
        )
        for name, size in grown.items():
            if size > sizes[name]:
                resize(rows[name], size)
        histories = self._search.histories
        if len(histories) and store.sizes()[0] + entries >= len(histories):
            resize(histories, len(store.infosets))

    def _trimmed(self) -> Found:
        """What was found, without the room that arrays have to spare."""
        at, store, worlds = self._search.at.tolist(), self._store, self._worlds
        store.trim()
        for name, array in worlds._asdict().items():
            if name != "height":
                size = at[NUM_EDGES]
                if name == "steps":
                    size = at[NUM_STEPS]
                elif name in ("actors", "edges"):
                    size = at[NUM_WORLDS]
                resize(array, size)
        worlds.height[0] = at[HEIGHT]
        histories = self._search.histories
        if len(histories):
            resize(histories, len(store.infosets))
        return Found(
            infosets=store.infosets,
            actions=store.known.actions,
            keys=store.keys(),
            worlds=worlds,
            num_histories=at[HISTORIES],
            histories=histories,
        )


def _new_search(
    rules: BoundRules, height: int, entries: int, with_histories: bool
) -> Search:
    """A search that stands before the first world."""
    actions, moves = rules.sizes.num_actions, rules.sizes.max_moves
    key = moves + SPARE
    integers = functools.partial(np.zeros, dtype=np.int64)
    rows = 2 * height * entries
    search = Search(
        states=integers((rows, rules.sizes.state)),
        sequences=np.zeros(rows, INT),
        pasts=np.zeros((rows, moves if with_histories else 0), BYTE),
        lengths=np.zeros(rows, INT),
        counts=integers((2, height)),
        infosets=np.zeros(height * entries, INT),
        legal=integers(height * entries),
        keys=integers((height, key)),
        key_lengths=integers(height),
        acting=integers(height),
        next_edge=integers(height),
        num_edges=integers(height),
        edge_keys=integers((height * actions, key)),
        edge_lengths=integers(height * actions),
        edge_actions=integers(height * actions),
        edge_ends=np.zeros(height * actions, FLAG),
        histories=np.zeros((int(with_histories), moves + 1), BYTE),
        key=integers(key),
        at=integers(NUM_AT),
    )
    search.at[ROOM] = entries
    search.counts[:, 0] = 1
    search.at[ENTERS] = 1
    return search
