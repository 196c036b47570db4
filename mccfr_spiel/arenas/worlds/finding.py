"""Finds the worlds or histories of a game, and caches them until the process ends.

The functions that the game declares determine the walk:

| declared in `Description` | walk | type of `SearchResult.worlds` |
|---|---|---|
| `position_key`, `heard` | `GraphWalk` | `Worlds`; a `PositionGraph` if too large |
| `world_key` only | `LeafSearch` | `Leaves` |
| nothing | `HistoryPass` | `Histories` |
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.arenas.rules.bound_rules import BoundRules
from mccfr_spiel.arenas.rules.game_description import WORLD_SIGNATURES
from mccfr_spiel.arenas.rules.row_table import RowTable
from mccfr_spiel.arenas.rules.rule_store import RuleStore
from mccfr_spiel.arenas.worlds import checking, position_graph
from mccfr_spiel.arenas.worlds.histories import Histories, HistoryPass
from mccfr_spiel.arenas.worlds.sliced_walk import NoRoomError, SlicedWalk
from mccfr_spiel.arenas.worlds.world_lists import (
    MOST_ACTIONS,
    Leaves,
    Worlds,
    gradient_from,
)
from mccfr_spiel.arenas.worlds.world_walks import GraphWalk, LeafSearch
from mccfr_spiel.common.budget import (
    Budget,
    MemoryBudgetError,
)
from mccfr_spiel.kernels.frame import new_record

_FIRST_ENTRIES = 2048
"""Initial capacity of entries (private pasts) per world in a `GraphWalk`."""

_LISTED_SHARE = 0.5
"""Worlds are listed if the lists take at most this share of the remaining budget.
Otherwise each pass rebuilds them, which takes ten times as long.
"""

_FIRST_LISTED = 64
"""Initial capacity of entries (private pasts) per world in a `LeafSearch`. Per action,
it allocates 1 / 16 as many edges.
"""

_FIRST_SLOTS = 64
"""Initial number of slots in the hash table of nodes."""


class SearchResult(NamedTuple):
    """The infosets of a game, and the data from which gradients are computed.

    Attributes:
        infosets: `[I]` of dtype INFOSET, ancestors first.
        actions: `[S]` action per sequence.
        keys: table with one row per infoset: the player, followed by the information
            key.
        worlds: lists of worlds; their graph, if the lists would be too large; or
            statistics of the histories, if the game has no worlds.
        histories: `[I, H]` per infoset, the length of a history that leads to it, and
            its actions; empty if histories were not requested.
        start_pass: None if gradients are computed from the lists in `worlds`. Otherwise
            a function of (plans of all players, range of updated players) that returns
            a new pass over the graph or over all histories; this pass adds gradients
            slice by slice.
    """

    infosets: np.ndarray
    actions: np.ndarray
    keys: RowTable
    worlds: Worlds | Leaves | Histories | position_graph.PositionGraph
    histories: np.ndarray
    start_pass: Callable[[np.ndarray, range], SlicedWalk] | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays, and of the gradient if passes run in slices."""
        parts = *self, *self.keys, *self.worlds
        size = sum(part.nbytes for part in parts if isinstance(part, np.ndarray))
        return size + 8 * len(self.actions) * (self.start_pass is not None)


def why_no_worlds(rules: BoundRules | None) -> str:
    """Returns why a game cannot be solved by worlds, or "" if it can.

    The reason is a predicate to follow the game's name in a message.
    """
    if rules is None or rules.description.world_key is None:
        return "declares no worlds (Description.world_key)"
    if rules.num_players != 2:
        return "is not a game of two players"
    if rules.sizes.max_chance_moves and rules.description.leaf_class is None:
        return "has chance, but declares no classes (Description.leaf_class)"
    if rules.sizes.num_actions > MOST_ACTIONS:
        return f"has more than {MOST_ACTIONS} actions"
    return ""


_cache: dict[tuple[Any, ...], SearchResult] = {}
"""Results of this process. The key consists of the search function, the game with its
parameters, and the declared functions.
"""

_CACHED = "worlds and their infosets"
"""Name of the cached results in a budget."""


def find_histories(
    rules: BoundRules, budget: Budget, *, with_histories: bool = False
) -> SearchResult:
    """Finds the infosets of any game with compiled rules by a walk over all histories.

    Arguments and errors are those of `find_worlds`.
    """
    store = RuleStore(rules, budget.rest())
    walk = HistoryPass(store)
    walk.finish("information sets of", with_histories=with_histories)
    return _result_of(
        walk, lambda plan, players: HistoryPass(store).with_plan(plan, players)
    )


def _result_of(
    walk: SlicedWalk, start: Callable[[np.ndarray, range], SlicedWalk] | None = None
) -> SearchResult:
    """Returns the result of a finished walk, whose arrays are trimmed.

    `start` becomes `SearchResult.start_pass`.
    """
    walk.trim()
    store, noted = walk.store, walk.walk.noted
    actions, keys = store.known.actions, store.keys()
    return SearchResult(store.infosets, actions, keys, walk.result, noted, start)


def cached_worlds(
    rules: BoundRules,
    budget: Budget,
    find: Callable[..., SearchResult],
    *,
    with_histories: bool = False,
) -> SearchResult:
    """Returns the result of `find`, from the cache if this process has already searched
    the game.

    If the search does not fit and the budget has the default limit, the cached results
    of other games are discarded and the search is repeated.

    Args:
        rules, budget, with_histories: arguments of `find`.
        find: `find_worlds` or `find_histories`.

    Raises:
        MemoryBudgetError: the result does not fit the budget.
        GameError: see `find_worlds`.
    """
    description = rules.description
    declared = [getattr(description, name) for name in WORLD_SIGNATURES]
    identity = description.short_name, description.rules, rules.settings.tobytes()
    # Games of one name may declare different functions, so these are part of the key.
    game = find, *identity, *declared
    result = _cache.get(game)
    if result is None or (with_histories and not len(result.histories)):
        try:
            fresh = find(rules, budget, with_histories=with_histories)
        except MemoryBudgetError:
            if not (budget.is_default and _cache.keys() - {game}):
                raise
            _cache.clear()
            fresh = find(rules, budget, with_histories=with_histories)
        result = fresh
        if game in _cache:
            # Solvers may share the cached arrays, so only the histories are added.
            result = _cache[game]._replace(histories=fresh.histories)
    budget.hold(_CACHED, result.nbytes)
    _cache[game] = result
    return result


def find_worlds(
    rules: BoundRules, budget: Budget, *, with_histories: bool = False
) -> SearchResult:
    """Finds all worlds of a game.

    Args:
        rules: rules with a `world_key`.
        budget: bytes for the search and the result.
        with_histories: whether to store a history per infoset.

    Raises:
        MemoryBudgetError: the worlds do not fit the budget, which stays unchanged.
        GameError: the rules, the `world_key` or the classes contradict themselves.
    """
    checking.check_declared_returns(rules)
    has_positions = rules.description.position_key is not None
    find = _find_by_positions if has_positions else _find_by_worlds
    room = {"entries": _FIRST_ENTRIES if has_positions else _FIRST_LISTED, "answers": 2}
    # The buffers of a search cannot grow while it runs. If a buffer is too small, the
    # search is repeated with a buffer of four times the size.
    while True:
        own = budget.rest()
        try:
            result = find(RuleStore(rules, own), own, with_histories, **room)
            break
        except NoRoomError as error:
            room[error.args[0]] *= 4
    if isinstance(result.worlds, Worlds | Leaves) and result.start_pass is None:
        name, num_sequences = rules.description.short_name, len(result.actions)
        checking.check_probabilities(
            gradient_from(checking.paying_one(result.worlds)),
            result.infosets,
            num_sequences,
            own,
            name,
        )
    return result


def _find_by_positions(
    store: RuleStore, own: Budget, with_histories: bool, entries: int, answers: int
) -> SearchResult:
    """Discovers the graph of positions, and lists the worlds if the lists are small
    enough (see _LISTED_SHARE).

    Raises:
        NoRoomError: a world has more than `entries` entries, or `heard` returns a
            number of at least `answers`.
    """
    graph: position_graph.PositionGraph = new_record(
        position_graph.PositionGraph,
        S=0,
        H=answers,
        I=0,
        N=0,
        A=store.rules.sizes.num_actions,
        V=0,
        T=_FIRST_SLOTS,
    )
    # These arrays grow with the store: 16 bytes of `options` per infoset; 4 bytes of
    # `parents` and of each column of `next_infoset` per sequence.
    own.per_infoset += 16
    own.per_sequence += 4 * answers + 4
    walk = GraphWalk(store, graph, entries, own)
    walk.make_room()
    graph = walk.finish("worlds of", with_histories=with_histories).result
    counts = graph.counts.tolist()
    sizes = {
        "T": counts[position_graph.NUM_STEPS],
        "E": counts[position_graph.ALL_EDGES],
        "W": counts[position_graph.NUM_WORLDS],
    }

    def start(plan: np.ndarray, players: range) -> SlicedWalk:
        return GraphWalk(store, graph, entries).with_plan(plan, players)

    result = _result_of(walk, start)
    # Bytes of `Worlds` per step, edge and world.
    if 4 * sizes["T"] + 21 * sizes["E"] + 2 * sizes["W"] < _LISTED_SHARE * own.left:
        listing = GraphWalk(store, graph, entries)
        listing.worlds = new_record(Worlds, **sizes)
        listing.worlds.height[0] = counts[position_graph.HEIGHT]
        worlds = listing.finish("the lists of").worlds
        result = result._replace(worlds=worlds, start_pass=None)
    return result


def _find_by_worlds(
    store: RuleStore, own: Budget, with_histories: bool, entries: int, answers: int
) -> SearchResult:
    """Lists the terminal worlds of a game.

    Raises:
        NoRoomError: a world has more entries or edges than the buffers hold.
    """
    walk = LeafSearch(store, entries, own)
    return _result_of(walk.finish("worlds of", with_histories=with_histories))
