"""Finds the worlds of a game, and keeps what was found while the process lives.

It also proves by enumeration that what players know in secret is independent, given a
world. All histories are followed from world to world, as far as there are not too many.
At each world on the way, of every private past of one player and every one of the other
the pair must occur, with a weight that is a product, and these must be the same for all
of them: who acts, and, where the game ends, the returns, or what they are for two
classes. What a player knows must depend on the world and the own past alone, where
chance deals nothing. Then a sum over histories at a world is a product of two sums.

Where a game declares positions, they must tell in all worlds alike who acts, where each
action leads, and what is returned; and `heard` with the own past, what a player knows.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.arenas.rules.description import WORLD_SIGNATURES, BoundRules
from mccfr_spiel.arenas.rules.kernel import RowTable
from mccfr_spiel.arenas.rules.store import RuleStore
from mccfr_spiel.arenas.worlds import checking, places
from mccfr_spiel.arenas.worlds.histories import Histories, HistoryPass
from mccfr_spiel.arenas.worlds.places import Places
from mccfr_spiel.arenas.worlds.sliced_walk import NoRoomError, SlicedWalk
from mccfr_spiel.arenas.worlds.world_lists import MOST_ACTIONS, Leaves, Worlds
from mccfr_spiel.arenas.worlds.world_walks import LeafSearch, PlaceWalk
from mccfr_spiel.common.limits import Budget, MemoryBudgetError
from mccfr_spiel.kernels.frame import new_record

_FEW_ENTRIES = 2048
"""The entries of a world that there is room for at first."""

_SHARE_LISTED = 0.5
"""Worlds are listed if that takes at most this share of the memory that is left, and
made again by each pass else, which takes ten times as long."""

_FEW_LISTED = 64
"""As `_FEW_ENTRIES`, where leaves are listed; there is room for 1 / 16 as many edges of
each action."""

_FEW_SLOTS = 64


class Found(NamedTuple):
    """What was found of a game.

    Attributes:
        infosets: `[I]` of dtype INFOSET, ancestors first.
        actions: `[S]` the action of each sequence.
        keys: of the infosets, each with the player before it.
        worlds: the worlds.
        histories: `[I, H]` how many moves lead to a state of each infoset, and which;
            none if they are not wanted.
        start_pass: begins a pass, given all plans, for some players, where passes go
            over histories or make worlds again.
    """

    infosets: np.ndarray
    actions: np.ndarray
    keys: RowTable
    worlds: Worlds | Leaves | Histories | Places
    histories: np.ndarray
    start_pass: Callable[[np.ndarray, range], SlicedWalk] | None = None

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays, and of the gradient of a pass that needs one."""
        parts = *self, *self.keys, *self.worlds
        size = sum(part.nbytes for part in parts if isinstance(part, np.ndarray))
        return size + 8 * len(self.actions) * (self.start_pass is not None)


def why_no_worlds(rules: BoundRules | None) -> str:
    """Why worlds cannot be found by rules, behind the name of the game; else ""."""
    if rules is None or rules.description.world_key is None:
        return "declares no worlds (Description.world_key)"
    if rules.num_players != 2:
        return "is not a game of two players"
    if rules.sizes.max_chance_moves and rules.description.leaf_class is None:
        return "has chance, but declares no classes (Description.leaf_class)"
    if rules.sizes.num_actions > MOST_ACTIONS:
        return f"has more than {MOST_ACTIONS} actions"
    return ""


_kept: dict[tuple[Any, ...], Found] = {}
"""What was found, by what makes a game, as long as the process lives."""

_KEPT = "worlds and their infosets"
"""Under this name a budget holds what is kept."""


def find_histories(
    rules: BoundRules, budget: Budget, *, with_histories: bool = False
) -> Found:
    """As `find_worlds`, by a pass over all histories, of a game that needs no worlds.

    Errors are those of `find_worlds`.
    """
    store = RuleStore(rules, _own(budget))
    walk = HistoryPass(store)
    walk.finish("information sets of", with_histories=with_histories)
    return _found(walk, lambda plan, players: HistoryPass(store).given(plan, players))


def _own(budget: Budget) -> Budget:
    """A budget of its own for a search, so that one that fails has taken nothing."""
    return Budget(max(budget.left, 1), note=", which others left")


def _found(
    walk: SlicedWalk, start: Callable[[np.ndarray, range], SlicedWalk] | None = None
) -> Found:
    """What a walk that is over found, without the room that arrays have to spare."""
    walk.trim()
    store, noted = walk.store, walk.walk.noted
    actions, keys = store.known.actions, store.keys()
    return Found(store.infosets, actions, keys, walk.found, noted, start)


def known_worlds(
    rules: BoundRules,
    budget: Budget,
    find: Callable[..., Found],
    *,
    with_histories: bool = False,
) -> Found:
    """What `find` gives; taken from what the process keeps, if it was found before.

    What is kept of other games is forgotten if there is no room for this one otherwise.

    Args:
        rules, budget, with_histories: arguments of `find`.
        find: `find_worlds` or `find_histories`.
    """
    description = rules.description
    declared = [getattr(description, name) for name in WORLD_SIGNATURES]
    made_of = description.short_name, description.rules, rules.settings.tobytes()
    game = find, *made_of, *declared
    found = _kept.get(game)
    if found is None or (with_histories and not len(found.histories)):
        try:
            again = find(rules, budget, with_histories=with_histories)
        except MemoryBudgetError:
            if not (budget.is_default and _kept.keys() - {game}):
                raise
            _kept.clear()
            again = find(rules, budget, with_histories=with_histories)
        found = again
        if game in _kept:  # whose arrays others have
            found = _kept[game]._replace(histories=again.histories)
    budget.hold(_KEPT, found.nbytes)
    _kept[game] = found
    return found


def find_worlds(
    rules: BoundRules, budget: Budget, *, with_histories: bool = False
) -> Found:
    """Finds all worlds of a game.

    Args:
        rules: with a `world_key`.
        budget: the bytes that the search, and what is found, may take.
        with_histories: whether to note a history for each infoset.

    Raises:
        MemoryBudgetError: the worlds do not fit the budget, which is left as it was.
        GameError: the rules contradict themselves, their `world_key` or their classes.
    """
    checking.check_declared_returns(rules)
    by_places = rules.description.position_key is not None
    find = _find_places if by_places else _find_leaves
    room = {"entries": _FEW_ENTRIES if by_places else _FEW_LISTED, "answers": 2}
    while True:
        own = _own(budget)
        try:
            found = find(RuleStore(rules, own), own, with_histories, **room)
            break
        except NoRoomError as error:
            room[error.args[0]] *= 4
    if isinstance(found.worlds, Worlds | Leaves) and found.start_pass is None:
        name, num_sequences = rules.description.short_name, len(found.actions)
        checking.check_probabilities(
            found.worlds, found.infosets, num_sequences, own, name
        )
    return found


def _find_places(
    store: RuleStore, own: Budget, with_histories: bool, entries: int, answers: int
) -> Found:
    """Finds the places of a game, and lists its worlds if the lists fit.

    Raises:
        NoRoomError: there must be room for more entries, or answers.
    """
    kept: Places = new_record(
        Places,
        S=0,
        H=answers,
        I=0,
        P=0,
        A=store.rules.sizes.num_actions,
        V=0,
        T=_FEW_SLOTS,
    )
    # The arrays by infoset and sequence grow with those of the store.
    own.set_rates(own.per_infoset + 16, own.per_sequence + 4 * answers + 4)
    walk = PlaceWalk(store, kept, entries, own)
    walk.make_room()
    kept = walk.finish("worlds of", with_histories=with_histories).found
    counts = kept.counts.tolist()
    sizes = {
        "T": counts[places.NUM_STEPS],
        "E": counts[places.ALL_EDGES],
        "W": counts[places.NUM_WORLDS],
    }

    def start(plan: np.ndarray, players: range) -> SlicedWalk:
        return PlaceWalk(store, kept, entries).given(plan, players)

    found = _found(walk, start)
    if 4 * sizes["T"] + 21 * sizes["E"] + 2 * sizes["W"] < _SHARE_LISTED * own.left:
        listing = PlaceWalk(store, kept, entries)
        listing.worlds = new_record(Worlds, **sizes)
        listing.worlds.height[0] = counts[places.HEIGHT]
        worlds = listing.finish("the lists of").worlds
        found = found._replace(worlds=worlds, start_pass=None)
    return found


def _find_leaves(
    store: RuleStore, own: Budget, with_histories: bool, entries: int, answers: int
) -> Found:
    """Finds the leaves of a game; `NoRoomError` as for `_find_places`."""
    walk = LeafSearch(store, entries, own)
    return _found(walk.finish("worlds of", with_histories=with_histories))
