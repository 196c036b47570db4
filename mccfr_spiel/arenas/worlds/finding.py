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

import collections
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.arenas.rules.description import (
    CHANCE,
    SPARE,
    TERMINAL,
    WORLD_SIGNATURES,
    BoundRules,
    GameError,
)
from mccfr_spiel.arenas.rules.kernel import MOST_USED, RowTable, larger_table
from mccfr_spiel.arenas.rules.store import RuleStore, resize
from mccfr_spiel.arenas.worlds import checking, places, search
from mccfr_spiel.arenas.worlds.histories import (
    VISITED,
    Histories,
    HistoryPass,
    NoRoomError,
    SlicedPass,
)
from mccfr_spiel.arenas.worlds.passes import MOST_ACTIONS, MOST_CLASSES, Leaves, Worlds
from mccfr_spiel.arenas.worlds.places import Places, Way
from mccfr_spiel.common.limits import Budget, MemoryBudgetError, in_words
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

_PLACES_OF_SLICE = 1_000_000
"""Worlds that a walk over places goes to between two looks for Ctrl-C, in about a tenth
of a second, or one where they are found."""

_LEAVES_OF_SLICE = 5_000
"""Worlds that a search for leaves goes to in a slice, in less than a second."""

_TELLING = 0.05
"""From this share of the search on, its size at the end can be told from it."""

SEARCH = "the search for worlds"
"""Under this name a budget holds what `Search` takes."""


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
    start_pass: Callable[[np.ndarray, range], SlicedPass] | None = None

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
    walk: SlicedPass, start: Callable[[np.ndarray, range], SlicedPass] | None = None
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

    def start(plan: np.ndarray, players: range) -> SlicedPass:
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


class PlaceWalk(SlicedPass):
    """A walk over worlds under way.

    Attributes:
        found: the places, with the counts of this walk.
        worlds: the lists that it writes, if they are not empty.
    """

    called, by_rates = "the places of worlds", ("behind", "above", "spots")

    def __init__(
        self, store: RuleStore, kept: Places, entries: int, budget: Budget | None = None
    ) -> None:
        """Stands at the root; `kept` are the places, see `SlicedPass` for others."""
        moves = store.rules.sizes.max_moves
        sizes = {"D": moves + 3, "M": moves + SPARE, "K": moves + 2 + SPARE}
        super().__init__(store, Way, entries, budget, **sizes)
        self.found: Places = kept._replace(counts=np.zeros_like(kept.counts))
        self.found.counts[places.NUM_PLACES] = kept.counts[places.NUM_PLACES]
        self.worlds: Worlds = new_record(Worlds, T=0, E=0, W=0)
        way: Way = self.walk
        way.start[:] = store.rules.start()
        way.sequences[1] = way.firsts[1, 0] = 1  # the empty sequences are 0 and 1
        way.counts[:, 0], way.reach[:] = 1, 1.0

    @property
    def num_nodes(self) -> int:
        """The steps made so far."""
        return int(self.found.counts[places.NUM_STEPS])

    def follow(self) -> int:
        """Goes to at most `_PLACES_OF_SLICE` more worlds."""
        frame = self.frame_of(places.LAYOUT, self.worlds, self.found)
        most = int(self.walk.at[VISITED]) + _PLACES_OF_SLICE
        status = places.follow_worlds(frame, self.functions, most)
        self.found.counts[places.NUM_WORLDS] = self.walk.at[VISITED]
        return status

    def rows(self) -> dict[str, tuple[int, int]]:
        """As in SlicedPass; those by infoset and sequence follow the store."""
        (infosets, sequences), room = self.store.sizes(), self.store.room()
        count, key = int(self.found.counts[places.NUM_PLACES]), len(self.walk.key)
        actions = self.store.rules.sizes.num_actions
        most = count + count // 2 + actions + 1
        return {
            "behind": (sequences, room[1]),
            "above": (sequences, room[1]),
            "spots": (infosets, room[0]),
            "places": (count, most),
            "edges": (count * actions, most * actions),
            "returns": (count, most),
            "values": (count * key, most * key),
            "rows": (count + 1, most + 1),
        }

    def make_room(self) -> None:
        """As in SlicedPass; the table of places, too."""
        super().make_room()
        room, table = len(self.found.places), self.found.table
        if room > MOST_USED * len(table):
            self.found = self.found._replace(table=larger_table(table, room))

    def trim(self) -> None:
        """As in SlicedPass; infosets are looked up no more, and all are behind their
        sequences."""
        super().trim()
        resize(self.store.known.table, 0)
        resize(self.found.above, 0)


class LeafSearch(SlicedPass):
    """A search under way, which lists the worlds where the game ends."""

    called = "the lists of worlds"

    def __init__(self, store: RuleStore, entries: int, budget: Budget) -> None:
        """Stands before the first world; see `SlicedPass`."""
        sizes, moves = store.rules.sizes, store.longest
        height, edges = moves + 2, sizes.num_actions * max(entries // 16, 1)
        size = height * entries * (8 * moves + 80 + 4 * sizes.num_actions)
        budget.hold(SEARCH, size + 24 * edges * height)
        super().__init__(
            store,
            search.Search,
            entries,
            budget,
            D=height,
            A=sizes.num_actions,
            E=edges,
            K=sizes.max_moves + SPARE,
            M=moves,
        )
        self.found: Leaves = new_record(Leaves, T=0, Z=0, R=0)
        walk: search.Search = self.walk
        walk.start[:] = store.rules.start()
        walk.weights[:] = 1.0
        walk.firsts[1, 0] = height * entries
        walk.sequences[height * entries] = 1  # the empty sequences are 0 and 1
        walk.counts[:, 0] = 1

    def follow(self) -> int:
        """Finds at most `_LEAVES_OF_SLICE` more worlds."""
        frame = self.frame_of(search.LAYOUT, self.found)
        most = int(self.walk.at[VISITED]) + _LEAVES_OF_SLICE
        return search.find(frame, self.functions, most)

    def outlook(self, share: float) -> str:
        """What the end may be, which is no reason to refuse it: in liar's dice the
        first of twenty subtrees is half of the game."""
        if share < _TELLING:
            return ""
        assert self.budget is not None
        size = in_words((self.budget.taken - self.budget.held(SEARCH)) / share)
        return f"about {self.walk.at[search.NUM_STEPS] / share:.2g} steps, {size}"

    def rows(self) -> dict[str, tuple[int, int]]:
        """As in SlicedPass."""
        at = self.walk.at.tolist()

        def with_room(used: int, more: int) -> tuple[int, int]:
            return used, (used + more + 1) * 5 // 4

        steps = with_room(at[search.NUM_STEPS], 2 * self.entries)
        leaves = with_room(at[search.NUM_LEAVES], 1)
        return {
            **dict.fromkeys(("steps", "classes", "weights"), steps),
            **dict.fromkeys(("lengths", "sizes"), leaves),
            "returns": with_room(at[search.NUM_RETURNS], MOST_CLASSES**2),
        }


# --- the proof by enumeration that a declaration is right -----------------------------

_OFF = 1e-12

World = tuple[int, ...]
Past = tuple[tuple[World, int], ...]


class History(NamedTuple):
    """A history: its moves, the state, what each player knew and did, `[2]`, and the
    probability of the deals."""

    moves: tuple[int, ...]
    state: np.ndarray
    pasts: tuple[Past, Past]
    weight: float = 1.0


def check_independence(rules: BoundRules, most: int) -> int:
    """Checks the worlds nearest to the root, following at most `most` histories.

    Each pass of the loop checks the worlds that are reached by one more change of the
    world. A private move stays in the world, so its histories are those of the changes
    before and of all private moves after them.

    Returns:
        How many worlds were checked.

    Raises:
        GameError: the declaration is wrong; the message has the histories that show it.
    """
    checked = followed = 0
    told: dict[Any, tuple[Any, History]] = {}
    worlds = {_key(rules, rules.start()): [History((), rules.start(), ((), ()))]}
    while worlds:
        behind: dict[World, list[History]] = {}
        for world, entered in worlds.items():
            inside = list(entered)
            leads: dict[tuple[Any, ...], tuple[World, History]] = {}
            for history in inside:  # to which private moves append
                followed += 1
                if followed > most:
                    return checked
                afters = _moves_from(rules, history)
                if rules.description.position_key is not None:
                    _check_position(rules, told, history, afters)
                for after in afters:
                    key = _key(rules, after.state)
                    action = after.moves[-1]
                    # All deals lead to one world. An answer to a move may depend on
                    # the entry of who does not act, if there are classes.
                    player, move = rules.acting(history.state), (action, None)
                    if player == CHANCE:
                        move = CHANCE, None
                    elif rules.description.leaf_class is not None:
                        move = action, _entry(rules, history, 1 - player)
                    there, first = leads.setdefault(move, (key, history))
                    if there != key:
                        what = f"action {action} leads to {list(there)} and {list(key)}"
                        _refuse(rules, world, first, history, what)
                    group = inside if key == world else behind.setdefault(key, [])
                    group.append(after)
            _check_world(rules, world, inside)
            checked += 1
        worlds = behind
    return checked


def _key(rules: BoundRules, state: np.ndarray, name: str = "world_key") -> World:
    key = np.zeros(rules.sizes.max_moves + SPARE, np.int64)
    length = getattr(rules.description, name)(rules.settings, state, key)
    if not 0 <= length <= rules.sizes.max_moves:
        raise GameError(
            f"{rules.description.short_name}: Description.{name} returns the length "
            f"{length}; it must be in 0 .. Sizes.max_moves = {rules.sizes.max_moves}."
        )
    return tuple(key[:length].tolist())


def _check_position(
    rules: BoundRules,
    told: dict[Any, tuple[Any, History]],
    history: History,
    afters: list[History],
) -> None:
    """Raises GameError unless a position tells what follows, as it did before.

    Args:
        rules: with a `position_key`.
        told: what positions told so far, and by which history; is extended.
        history: the history, in any world.
        afters: those with one more move.
    """

    def place(state: np.ndarray) -> tuple[World, list[int]]:
        heard = [rules.description.heard(rules.settings, state, p) for p in (0, 1)]
        return _key(rules, state, "position_key"), heard

    player, (position, heard) = rules.acting(history.state), place(history.state)
    facts: dict[Any, Any] = {position: _seen(rules, history, history)}
    if player >= 0:
        knows = rules.info_key(history.state, player).tolist()
        facts["knows", player, history.pasts[player], heard[player]] = knows
    for after in afters:
        behind = position, heard[1 - player], after.moves[-1]
        facts["behind", *behind] = place(after.state)
    for fact, value in facts.items():
        before, first = told.setdefault(fact, (value, history))
        if before != value:
            raise GameError(
                f"{rules.description.short_name}: Description.position_key and heard "
                f"make no difference between the histories {list(first.moves)} and "
                f"{list(history.moves)}, at {position}, but {before} and {value} "
                "follow. Let them tell the two apart."
            )


def _moves_from(rules: BoundRules, history: History) -> list[History]:
    """The histories with one more move."""
    player = rules.acting(history.state)
    if player == TERMINAL:
        return []
    moves = [(action, 1.0) for action in rules.legal_actions(history.state)]
    if player == CHANCE:
        moves = rules.chance_outcomes(history.state)
    found = []
    for action, prob in moves:
        state = history.state.copy()
        rules.apply_action(state, action)
        pasts = list(history.pasts)
        if player != CHANCE:
            knows = tuple(rules.info_key(history.state, player).tolist())
            pasts[player] = (*pasts[player], (knows, action))
        found.append(
            History(
                (*history.moves, action),
                state,
                (pasts[0], pasts[1]),
                history.weight * prob,
            )
        )
    return found


def _entry(rules: BoundRules, history: History, player: int) -> tuple[Any, ...]:
    """What a player did, and knows by deals."""
    key: World = ()
    if rules.sizes.max_chance_moves:
        key = tuple(rules.info_key(history.state, player).tolist())
    return history.pasts[player], key


def _check_world(rules: BoundRules, world: World, inside: list[History]) -> None:
    """Raises GameError unless a world with these histories is as it must be."""
    one = inside[0]
    expected = _seen(rules, one, one)
    for other in inside[1:]:
        if (seen := _seen(rules, other, one)) != expected:
            _refuse(rules, world, one, other, f"{expected} and {seen}")
    for player in (0, 1):
        known: dict[Any, tuple[Any, History]] = {}
        for history in inside:
            found = _known(rules, history, player)
            entry = _entry(rules, history, player)
            before, first = known.setdefault(entry, (found, history))
            if before != found:
                what = f"player {player} knows {before} and {found}, though "
                what += "all own moves were the same"
                _refuse(rules, world, first, history, what)
    _check_product(rules, world, inside)


def _check_product(rules: BoundRules, world: World, inside: list[History]) -> None:
    """Raises GameError unless the weights of all pairs of entries are a product."""
    pairs: dict[Any, float] = collections.defaultdict(float)
    sums: list[dict[Any, float]] = [collections.defaultdict(float) for _ in range(2)]
    firsts: list[dict[Any, History]] = [{}, {}]
    for history in inside:
        pair = _entry(rules, history, 0), _entry(rules, history, 1)
        pairs[pair] += history.weight
        for player in (0, 1):
            sums[player][pair[player]] += history.weight
            firsts[player][pair[player]] = history
    total = sum(pairs.values())
    for (one, row), (other, column) in itertools.product(*(x.items() for x in sums)):
        if abs(pairs.get((one, other), 0.0) * total - row * column) > _OFF * total**2:
            what = "player 0 does not have moved as in the one, while player 1 has as "
            what += "in the other, with the product of the probabilities, so that "
            what += "their secrets are not independent"
            _refuse(rules, world, firsts[0][one], firsts[1][other], what)


def _seen(rules: BoundRules, history: History, other: History) -> str:
    """What must be the same for all histories of a world, in words.

    Where returns depend on classes, it must be so that those of two classes are the
    same in the state of any `other` history.
    """
    player = rules.acting(history.state)
    if player != TERMINAL:
        return f"player {player} acts"
    description, returns = rules.description, rules.returns(history.state)
    if description.leaf_class is None or rules.acting(other.state) != TERMINAL:
        return f"the game ends with the returns {returns}"
    pays, classes = np.zeros(2 + SPARE), [_class(rules, history, p) for p in (0, 1)]
    description.class_returns(rules.settings, other.state, *classes, pays)
    if np.abs(pays[:2] - returns).max() > _OFF:
        return f"class_returns gives {pays[:2].tolist()} in place of {returns}"
    return "the game ends"


def _class(rules: BoundRules, history: History, player: int) -> int:
    return rules.description.leaf_class(rules.settings, history.state, player)


def _known(rules: BoundRules, history: History, player: int) -> list[int]:
    """What must be the same for all histories with an entry: what the player knows and
    the class."""
    key = rules.info_key(history.state, player).tolist()
    if rules.description.leaf_class is None or rules.acting(history.state) != TERMINAL:
        return key
    return [*key, _class(rules, history, player)]


def _refuse(
    rules: BoundRules, world: World, one: History, other: History, what: str
) -> None:
    raise GameError(
        f"{rules.description.short_name}: Description.world_key gives the histories "
        f"{list(one.moves)} and {list(other.moves)} one world, {list(world)}, but "
        f"{what}. Let the key tell them apart."
    )
