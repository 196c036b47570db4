"""Finds the worlds of a game, and keeps what was found while the process lives."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import numpy as np
from tqdm import tqdm

from mccfr_spiel.common.display import brief
from mccfr_spiel.common.limits import Budget, MemoryBudgetError, in_words
from mccfr_spiel.kernels.frame import new_record
from mccfr_spiel.kernels.tables import DONE, GROW
from mccfr_spiel.rules.description import SPARE, WORLD_SIGNATURES, BoundRules
from mccfr_spiel.rules.kernel import callable_world_rules
from mccfr_spiel.rules.key_table import RowTable
from mccfr_spiel.rules.played import BROKEN
from mccfr_spiel.rules.store import RuleStore, resize
from mccfr_spiel.worlds import entries as slots
from mccfr_spiel.worlds.entries import Search
from mccfr_spiel.worlds.histories import (
    OUT_OF_TIME,
    Histories,
    HistoryPass,
    SlicedPass,
    bar_for,
    share_over,
    tree_of,
)
from mccfr_spiel.worlds.passes import MOST_ACTIONS, MOST_CLASSES, Leaves, Worlds
from mccfr_spiel.worlds.place_walk import NoRoomError, PlaceWalk, not_shared
from mccfr_spiel.worlds.places import (
    ALL_EDGES,
    HEIGHT,
    HISTORIES,
    MANY_ENTRIES,
    NUM_STEPS,
    NUM_WORLDS,
    Places,
)
from mccfr_spiel.worlds.search import LAYOUT, NOT_SHARED, find

_FEW_ENTRIES = 2048
"""The entries of a world that there is room for at first."""

_SHARE_LISTED = 0.5
"""Worlds are listed if that takes at most this share of the memory that is left, and
made again by each pass else, which takes ten times as long."""

_FEW_LISTED = 64
"""The same where leaves are listed, and four times the edges for each action."""

_SLICE = 5_000
"""Worlds that are found between two looks for Ctrl-C, in less than a second."""

_TELLING = 0.05
"""From this share of the search on, its size at the end can be told from it."""

WORLDS, LISTS = "the lists of worlds", "the search for worlds"
"""Under these names a budget holds what `Worlds` takes, and `Search`."""


class Found(NamedTuple):
    """What was found of a game.

    Attributes:
        infosets: `[I]` of dtype INFOSET, ancestors first.
        actions: `[S]` the action of each sequence.
        keys: of the infosets, each with the player before it.
        worlds: the worlds.
        num_histories: how many histories end the game.
        histories: as in `Search`.
        start_pass: begins a pass, given all plans, for the players from the first to
            the last but one, where passes go over histories or make worlds again.
    """

    infosets: np.ndarray
    actions: np.ndarray
    keys: RowTable
    worlds: Worlds | Leaves | Histories | Places
    num_histories: int
    histories: np.ndarray
    start_pass: Callable[[np.ndarray, int, int], SlicedPass] | None = None

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


def check_declares_worlds(rules: BoundRules | None, source: object) -> None:
    """Raises ValueError unless worlds can be found by these rules.

    Args:
        rules: the game's, or its twin's; None if it has none that may be used.
        source: the game, for the message.
    """
    why = why_no_worlds(rules)
    if why:
        raise ValueError(
            f"store='worlds' takes a game world by world, but {brief(source)} {why}. "
            "Use store='tree', or an algorithm that samples."
        )


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
    # Of its own, so that a search that fails has taken nothing.
    store = RuleStore(rules, Budget(max(budget.left, 1), note=", which others left"))
    walk = HistoryPass(store, np.zeros(0), with_histories=with_histories)
    histories, noted = walk.finish("information sets of").found()
    ends, actions = int(histories.size[1]), store.known.actions
    start = functools.partial(HistoryPass, store)
    return Found(store.infosets, actions, store.keys(), histories, ends, noted, start)


def known_worlds(
    rules: BoundRules,
    budget: Budget,
    find: Callable[..., Found],
    *,
    with_histories: bool = False,
) -> Found:
    """As `find`, but of a game of which this was found before it is taken.

    What the process keeps of other games is forgotten if these do not fit else.

    Args:
        find: `find_worlds` or `find_histories`.
        rules, budget, with_histories: its arguments.
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
    entries, answers = _FEW_ENTRIES, 2
    if rules.description.position_key is not None:
        while True:
            try:
                return _find_places(rules, budget, entries, answers, with_histories)
            except NoRoomError as error:
                if error.args[0] == MANY_ENTRIES:
                    entries *= 4
                else:
                    answers *= 4
    entries = _FEW_LISTED
    while True:
        search = _Finding(rules, budget, entries, with_histories)
        found = search.run()
        if found is not None:
            return found
        entries *= 4


def _find_places(
    rules: BoundRules, budget: Budget, entries: int, answers: int, with_histories: bool
) -> Found:
    """Finds the places of a game, and lists its worlds if the lists fit.

    Raises:
        NoRoomError: there must be room for more entries, or answers.
    """
    # Of its own, so that a search that fails has taken nothing.
    own = Budget(max(budget.left, 1), note=", which others left")
    store, what = RuleStore(rules, own), "worlds of"
    walk = PlaceWalk.to_find(
        store, own, entries, answers, with_histories=with_histories
    ).finish(what)
    walk.trim()
    counts = walk.kept.counts.tolist()
    sizes = {"T": counts[NUM_STEPS], "E": counts[ALL_EDGES], "W": counts[NUM_WORLDS]}
    kept, start = walk.kept, functools.partial(PlaceWalk, store, walk.kept, entries)
    if 4 * sizes["T"] + 21 * sizes["E"] + 2 * sizes["W"] < _SHARE_LISTED * own.left:
        listing = PlaceWalk(store, kept, entries, np.zeros(0))
        listing.worlds = new_record(Worlds, **sizes)
        listing.worlds.height[0] = counts[HEIGHT]
        kept, start = listing.finish("the lists of").worlds, None
    return Found(
        store.infosets,
        store.known.actions,
        store.keys(),
        kept,
        counts[HISTORIES],
        walk.walk.noted,
        start,
    )


class _Finding:
    """A search under way, which finds the worlds."""

    compiled: Any = staticmethod(find)

    def __init__(
        self, rules: BoundRules, budget: Budget, entries: int, with_histories: bool
    ) -> None:
        self._rules = rules
        # Of its own, so that a search that fails has taken nothing.
        self._budget = Budget(max(budget.left, 1), note=", which others left")
        self._store = RuleStore(rules, self._budget)
        self._path = self._store.new_path()
        self._one = self._store.node_arrays()
        self._more = callable_world_rules(rules.description)
        self._entries = entries
        self._leaves: Leaves = new_record(Leaves, T=0, Z=0, R=0)
        self._search = self._begin(with_histories)

    def _begin(self, with_histories: bool) -> Search:
        """The search before its first world."""
        rules, entries, sizes = self._rules, self._entries, self._rules.sizes
        moves, actions = sizes.max_moves + sizes.max_chance_moves, sizes.num_actions
        height, key = moves + 2, sizes.max_moves + SPARE
        edges = actions * max(entries // 16, 1)
        size = height * entries * (8 * moves + 80 + 4 * actions)
        self._budget.hold(LISTS, size + 8 * edges * height * (key + 2))
        search: Search = new_record(
            Search,
            D=height,
            C=entries,
            A=actions,
            E=edges,
            K=key,
            M=moves,
            H=moves + 1,
            I=int(with_histories),
            n=sizes.state,
            NUM_AT=slots.NUM_AT,
        )
        search.start[:] = rules.start()
        search.weights[:] = search.ways[:] = 1
        search.firsts[1, 0] = height * entries
        search.sequences[height * entries] = 1  # the empty sequences are 0 and 1
        search.counts[:, 0] = search.at[slots.ENTERS] = 1
        search.at[slots.ROOM] = entries
        return search

    def _rows(self) -> dict[str, tuple[int, int]]:
        """How many rows of each array are used, and how many a world may add."""
        at = self._search.at.tolist()
        steps = at[slots.NUM_STEPS], 2 * self._entries
        return {
            **dict.fromkeys(("steps", "classes", "weights"), steps),
            **dict.fromkeys(("lengths", "sizes"), (at[slots.NUM_LEAVES], 1)),
            "returns": (at[slots.NUM_RETURNS], MOST_CLASSES**2),
        }

    def run(self) -> Found | None:
        """Finds the worlds; None if one has more entries than there is room for.

        A bar on a terminal shows what a search of some seconds will come to.
        """
        most = _SLICE
        what = f"worlds of {self._rules.description.short_name}"
        with bar_for(what) as bar:
            while True:
                status = self._go_on(most)
                if status == DONE:
                    return self._trimmed()
                if status == MANY_ENTRIES:
                    return None
                if status == GROW:
                    self._make_room()
                elif status == OUT_OF_TIME:
                    most += _SLICE
                    self._tell(bar)
                elif status == NOT_SHARED:
                    self._refuse()
                else:
                    self._store.raise_broken(status - BROKEN, self._path)

    def _tell(self, bar: "tqdm[NoReturn]") -> None:
        """Shows how far the search is, and what its end may be, which is no reason to
        refuse it: in liar's dice the first of twenty subtrees is half of the game."""
        share, steps = self._share(), int(self._search.at[slots.NUM_STEPS])
        bar.n = share
        if share >= _TELLING:
            size = in_words((self._budget.taken - self._budget.held(LISTS)) / share)
            bar.set_postfix_str(f"about {steps / share:.2g} steps, {size}")

    def _share(self) -> float:
        search, level = self._search, self._search.at[slots.LEVEL]
        return share_over(search.num_edges[:level], search.next_edge[:level])

    def _go_on(self, most: int) -> int:
        store = self._store
        tree = tree_of(store, self._one)
        kept = self._leaves, self._search
        frame = LAYOUT.frame_of(tree, store.game, store.known, self._path, *kept)
        return self.compiled(frame, store.called, self._more, most)

    def _refuse(self) -> NoReturn:
        raise not_shared(self._rules.description.short_name)

    def _make_room(self) -> None:
        """Makes room for the next world, whatever it has."""
        rules, store = self._rules, self._store
        entries, actions = self._entries, rules.sizes.num_actions
        longest = len(rules.sizes.key) + 1
        store.ask_for(entries + 1, entries * actions + 1, entries * longest + 1)
        store.grow()
        arrays, sizes = self._leaves._asdict(), {}
        for name, (used, more) in self._rows().items():
            size, needed = len(arrays[name]), used + more + 1
            sizes[name] = size if needed <= size else needed + needed // 4
        self._budget.hold(
            WORLDS,
            sum(
                size * arrays[name].itemsize * int(np.prod(arrays[name].shape[1:]))
                for name, size in sizes.items()
            ),
        )
        for name, size in sizes.items():
            if size > len(arrays[name]):
                resize(arrays[name], size)
        histories = self._search.histories
        if len(histories) and store.sizes()[0] + entries >= len(histories):
            resize(histories, len(store.infosets))

    def _trimmed(self) -> Found:
        """What was found, without the room that arrays have to spare."""
        at, store, kept = self._search.at.tolist(), self._store, self._leaves
        store.trim()
        for name, (used, _) in self._rows().items():
            resize(getattr(kept, name), used)
        histories = self._search.histories
        if len(histories):
            resize(histories, len(store.infosets))
        return Found(
            infosets=store.infosets,
            actions=store.known.actions,
            keys=store.keys(),
            worlds=kept,
            num_histories=at[slots.HISTORIES],
            histories=histories,
        )
