"""Expands the whole tree of a game with compiled rules, without Python at any node.

The compiled loop is in rules/kernel.py. This file has what surrounds it: arrays that
grow in place, messages for what can be wrong with the rules, and the names of infosets,
which stay information keys until somebody asks for their strings.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.arrays import (
    INFOSET,
    MAX_CHILDREN,
    NODE,
    InfosetNames,
    Name,
    grown_size,
)
from mccfr_spiel.limits.budget import Budget, MemoryBudgetError, TreeFullError
from mccfr_spiel.rules import kernel as kernel
from mccfr_spiel.rules.declared import Declared, GameError, check_returns
from mccfr_spiel.rules.description import (
    CHANCE,
    MAX_KEY_VALUES,
    TERMINAL,
    BoundRules,
    declared_by_rules,
    rule_pointers,
)

WHOLE = "the whole tree"
_SMALL = 2**20


def key_place(player: int, key: np.ndarray) -> int:
    """The place (see compiled/randomness.py) of the infoset with an information key.

    Games with compiled rules use it instead of `infoset_place`, because it needs no
    string. Both ways of making their tree do so and hence draw the same numbers.
    """
    row = np.array([player, *key], np.int64)
    return int(kernel.row_hash(row, len(row)))


class KeyNames:
    """The names of infosets, kept as keys and made into strings on demand.

    It takes the place of a dictionary from string to number, in the order of the
    numbers.
    """

    def __init__(self, rules: BoundRules, keys: kernel.Pool, count: int) -> None:
        """Takes the first `count` rows of `keys` for names."""
        self.rules = rules
        self.keys = keys
        self._count = count
        self._index: tuple[np.ndarray, np.ndarray] | None = None

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        return map(self.info_state, range(self._count))

    def strings(self) -> list[str]:
        """`[I]` the information-state strings."""
        return list(self)

    def stored(self, players: Sequence[int]) -> Iterable[str]:
        """`[I]` the names as files spell them; none needs a player's mark."""
        return self

    def shared(self, players: Sequence[int]) -> set[str]:
        """The strings that more than one player has: none, as each begins with its
        player."""
        return set()

    @property
    def nbytes(self) -> int:
        """The bytes of the keys, and of the index if it has been made."""
        arrays = *self.keys, *(self._index or ())
        return sum(array.nbytes for array in arrays)

    def key(self, infoset: int) -> tuple[int, np.ndarray]:
        """The player and the information key of an infoset."""
        start, stop = self.keys.rows["start"][infoset : infoset + 2]
        row = self.keys.values[start:stop].astype(np.int64)
        return int(row[0]), row[1:]

    def info_state(self, infoset: int) -> str:
        """The information-state string of an infoset."""
        if not 0 <= infoset < self._count:
            raise IndexError(f"There is no infoset {infoset} among {self._count}.")
        return self.rules.info_state(*self.key(infoset))

    def get(self, name: Name, default: int = -1) -> int:
        """The number of the infoset with that name, or the default.

        The first call makes an index, which takes 2-4 us an infoset. Strings of
        compiled rules begin with the player, so no two players share one.
        """
        if self._index is None:
            self._index = self._sorted_hashes()
        hashes, order = self._index
        hashed = hash(name)
        position = int(np.searchsorted(hashes, hashed))
        while position < self._count and hashes[position] == hashed:
            if self.info_state(order[position]) == name:
                return int(order[position])
            position += 1
        return default

    def _sorted_hashes(self) -> tuple[np.ndarray, np.ndarray]:
        """The hashes of the strings in ascending order, and the infoset of each.

        Raises:
            GameError: two infosets have the same string.
        """
        hashes = np.fromiter(map(hash, self), np.int64, self._count)
        order = np.argsort(hashes, kind="stable").astype(np.int32)
        hashes = hashes[order]
        for position in np.flatnonzero(hashes[1:] == hashes[:-1]).tolist():
            first, second = order[position : position + 2].tolist()
            if self.info_state(first) == self.info_state(second):
                raise GameError(
                    f"{self.rules.description.short_name}: Words.info_state gives two "
                    f"information keys of player {self.key(first)[0]} one string, "
                    f"{self.info_state(first)!r}: {self.key(first)[1].tolist()} and "
                    f"{self.key(second)[1].tolist()}. Give each key its own."
                )
        return hashes, order

    def find_key(self, player: int, key: np.ndarray) -> int:
        """The number of the infoset with that player and key; -1 if there is none."""
        if len(self.keys.table) == 0:  # walks have a table of another kind
            table = np.full(1 << (2 * self._count).bit_length(), -1, np.int32)
            kernel.fill_table(table, self.keys.rows, self._count)
            self.keys = self.keys._replace(table=table)
        row = np.array([player, *key], np.int64)
        hashed = np.uint64(kernel.row_hash(row, len(row)))
        return max(int(kernel.find_row(*self.keys, hashed, row, len(row))), -1)


class Expansion(NamedTuple):
    """A whole tree, whose arrays become GameTree's attributes of the same names.

    Attributes:
        distributions: where each chance distribution begins in `chance_probs`.
        names: of the infosets, kept as keys or mapped from disk.
    """

    nodes: np.ndarray
    infosets: np.ndarray
    actions: np.ndarray
    chance_probs: np.ndarray
    chance_cdf: np.ndarray
    utilities: np.ndarray
    distributions: dict[tuple[float, ...], int]
    names: InfosetNames


def expand_rules(
    rules: BoundRules, max_nodes: int, budget: Budget | None = None
) -> Expansion:
    """Expands the whole tree of a game with compiled rules.

    Args:
        rules: the game's rules.
        max_nodes: the most nodes that the tree may have.
        budget: the bytes that the tree may take and is charged with; None for no limit.

    Raises:
        TreeFullError: the tree has more nodes.
        MemoryBudgetError: the tree does not fit the budget, which is left as it was.
        GameError: the rules contradict themselves or what they declare; the message
            says how and where.
    """
    declared = declared_by_rules(rules)
    pointers = rule_pointers(rules.description.rules)
    key_sizes = np.array(rules.sizes.key, np.int64)
    path = _new_path(rules)
    store = _new_store(rules, max_nodes)
    cursor = np.zeros(kernel.CURSOR_SIZE, np.int64)
    cursor[kernel.NODES] = 1
    cursor[kernel.SEQUENCES] = rules.num_players
    stops = np.array([rules.sizes.num_actions, rules.sizes.max_chance_outcomes])
    num_checked = 0
    while True:
        status = kernel.expand(
            pointers, rules.settings, key_sizes, stops, max_nodes, cursor, path, store
        )
        declared = _check_outcomes(declared, rules, num_checked, cursor, store)
        num_checked = int(cursor[kernel.OUTCOMES])
        if status == kernel.DONE:
            whole = _trimmed(rules, cursor, store)
            if budget is not None:
                budget.measured(WHOLE, _bytes_of(store))
            return whole
        if status == kernel.TOO_MANY_NODES:
            raise TreeFullError(
                f"{rules.description.short_name} has more than max_nodes={max_nodes} "
                "nodes. Raise max_nodes if memory allows (16 bytes a node, 24 while it "
                "is expanded), or use external or outcome sampling, which keep only "
                "what they meet (on the command line with --evaluate=sampled)."
            )
        if status != kernel.NO_ROOM:
            history = _history_of_path(cursor, path)
            depth = int(cursor[kernel.DEPTH])
            said = complaint(status, rules, path.states[depth], depth)
            raise GameError(f"{said} {told(history)}")
        if budget is not None:
            _check_fits(rules, cursor, store, budget)
        store = _enlarged(rules, max_nodes, cursor, store)


def _check_outcomes(
    declared: Declared,
    rules: BoundRules,
    start: int,
    cursor: np.ndarray,
    store: kernel.Store,
) -> Declared:
    """Checks the vectors of returns met, from number `start` on, by `check_returns`."""
    players = rules.num_players
    values = store.outcomes.values[players * start : players * cursor[kernel.OUTCOMES]]
    for row, returns in enumerate(values.reshape(-1, players).tolist(), start):
        try:
            declared = check_returns(declared, returns)
        except GameError as error:
            nodes = store.nodes[: cursor[kernel.NODES]]
            history = _history_of_outcome(rules, nodes, row)
            raise GameError(f"{error} {told(history)}") from None
    return declared


def told(history: list[int]) -> str:
    """The end of a message: the history that led to an error."""
    return f"The history that led there: {history}."


def _history_of_path(cursor: np.ndarray, path: kernel.Path) -> list[int]:
    """The actions that lead to where the walk is."""
    depth = int(cursor[kernel.DEPTH])
    taken = path.frames["next"][:depth] - 1
    return path.actions[np.arange(depth), taken].tolist()


def _history_of_outcome(rules: BoundRules, nodes: np.ndarray, row: int) -> list[int]:
    """The actions that lead to the first terminal node with this row of returns."""
    is_it = (nodes["player"] == TERMINAL) & (nodes["start"] == row)
    node = int(np.flatnonzero(is_it)[0])
    inner = np.flatnonzero(nodes["num_children"])
    inner = inner[np.argsort(nodes["first_child"][inner], kind="stable")]
    first = nodes["first_child"][inner]
    children = []
    while node:
        parent = int(np.searchsorted(first, node, side="right")) - 1
        children.append(node - int(first[parent]))
        node = int(inner[parent])
    state, history = rules.start(), []
    for child in reversed(children):
        history.append(rules.legal_actions(state)[child])
        rules.apply_action(state, history[-1])
    return history


def _new_path(rules: BoundRules) -> kernel.Path:
    sizes = rules.sizes
    depth = sizes.max_moves + sizes.max_chance_moves + 1
    path = kernel.Path(
        states=np.zeros((depth + 1, sizes.state), np.int64)[:depth],
        sequences=np.zeros((depth, rules.num_players), np.int32),
        actions=np.zeros((depth + 1, sizes.max_children), np.int64)[:depth],
        frames=np.zeros(depth, kernel.FRAME),
    )
    path.states[0] = rules.start()
    path.sequences[0] = np.arange(rules.num_players)
    path.frames[0]["next"] = -1
    return path


def _new_pool(dtype: Any, longest: int) -> kernel.Pool:
    return kernel.Pool(
        values=np.zeros(256 + longest, dtype),
        rows=np.zeros(257, kernel.ROW),
        table=np.full(512, -1, np.int32),
    )


def _new_store(rules: BoundRules, max_nodes: int) -> kernel.Store:
    most = rules.sizes.max_children
    actions = np.zeros(1024 + rules.num_players + most, np.int64)
    actions[: rules.num_players] = -1
    return kernel.Store(
        nodes=np.zeros(min(1024 + most, max_nodes), NODE),
        infosets=np.zeros(256, INFOSET),
        actions=actions,
        chance_cdf=np.zeros(256 + most),
        keys=_new_pool(np.uint16, len(rules.sizes.key) + 1),
        chances=_new_pool(np.float64, most),
        outcomes=_new_pool(np.float64, rules.num_players),
    )


def _resize(array: np.ndarray, size: int) -> None:
    """Changes the length in place; the system moves large arrays without a copy."""
    array.resize((size, *array.shape[1:]), refcheck=False)


def _grow(array: np.ndarray, needed: int, most: int | None = None) -> None:
    """Makes an array that is shorter than needed longer, as `grown_size` says."""
    if len(array) < needed:
        size = grown_size(len(array), needed)
        _resize(array, size if most is None else max(needed, min(size, most)))


def _bytes_of(store: kernel.Store) -> int:
    """The bytes of all arrays of a store."""
    size = 0
    for part in store:
        arrays = (part,) if isinstance(part, np.ndarray) else part
        size += sum(array.nbytes for array in arrays)
    return size


def _check_fits(
    rules: BoundRules, cursor: np.ndarray, store: kernel.Store, budget: Budget
) -> None:
    """Raises MemoryBudgetError if there is no room for a larger store."""
    size = _bytes_of(store)
    # An array of a large store grows by an eighth. A hash table of keys grows to twice
    # its size, and the old one still exists meanwhile.
    needed = size * 9 // 8 + 2 * store.keys.table.nbytes
    if size > _SMALL and needed > budget.left:
        nodes, infosets = cursor[[kernel.NODES, kernel.INFOSETS]].tolist()
        raise MemoryBudgetError(
            f"{nodes:,} nodes and {infosets:,} infosets of "
            f"{rules.description.short_name} fill {budget.in_words()}. Use outcome "
            "sampling or external sampling, which keep only what they meet (on the "
            "command line with --evaluate=sampled), or raise max_memory if memory "
            "allows."
        )


def _grow_pool(pool: kernel.Pool, count: int, longest: int) -> kernel.Pool:
    _grow(pool.values, int(pool.rows[count]["start"]) + longest)
    _grow(pool.rows, count + 2)
    if 2 * count < len(pool.table):
        return pool
    table = np.full(2 * len(pool.table), -1, np.int32)
    kernel.fill_table(table, pool.rows, count)
    return pool._replace(table=table)


def _enlarged(
    rules: BoundRules, max_nodes: int, cursor: np.ndarray, store: kernel.Store
) -> kernel.Store:
    """Makes room in the store for one more node of any kind."""
    _, nodes, infosets, sequences, chances, outcomes = cursor.tolist()
    most = rules.sizes.max_children
    _grow(store.nodes, min(nodes + most, max_nodes), max_nodes)
    _grow(store.infosets, infosets + 1)
    _grow(store.actions, sequences + most)
    longest = len(rules.sizes.key) + 1
    chance_pool = _grow_pool(store.chances, chances, most)
    _grow(store.chance_cdf, len(chance_pool.values))
    return store._replace(
        keys=_grow_pool(store.keys, infosets, longest),
        chances=chance_pool,
        outcomes=_grow_pool(store.outcomes, outcomes, rules.num_players),
    )


def _trimmed(rules: BoundRules, cursor: np.ndarray, store: kernel.Store) -> Expansion:
    """Gives the unfilled part of the store back and returns the rest as a tree."""
    _, nodes, infosets, sequences, chances, outcomes = cursor.tolist()
    num_chance = int(store.chances.rows[chances]["start"])
    starts = store.chances.rows["start"][: chances + 1].tolist()
    probs = store.chances.values.tolist()
    distributions = {
        tuple(probs[start:stop]): start for start, stop in itertools.pairwise(starts)
    }
    _resize(store.nodes, nodes)
    _resize(store.infosets, infosets)
    _resize(store.actions, sequences)
    _resize(store.chance_cdf, num_chance)
    _resize(store.chances.values, num_chance)
    _resize(store.outcomes.values, outcomes * rules.num_players)
    _resize(store.keys.values, int(store.keys.rows[infosets]["start"]))
    _resize(store.keys.rows, infosets + 1)
    return Expansion(
        nodes=store.nodes,
        infosets=store.infosets,
        actions=store.actions,
        chance_probs=store.chances.values,
        chance_cdf=store.chance_cdf,
        utilities=store.outcomes.values.reshape(-1, rules.num_players),
        distributions=distributions,
        names=KeyNames(rules, store.keys, infosets),
    )


def complaint(status: int, rules: BoundRules, state: np.ndarray, longest: int) -> str:
    """Says what is wrong where a walk stopped, and what to do about it.

    Args:
        status: one of rules/kernel.py.
        rules: the game's.
        state: the state there.
        longest: the moves of the longest history, for TOO_LONG.
    """
    game = rules.description.short_name
    words = rules.description.words.state(rules.parameters, state)
    where = f"{game} at the state {words!r}"
    if status == kernel.TOO_LONG:
        return (
            f"{where}: the history is longer than Sizes.max_moves + "
            f"Sizes.max_chance_moves = {longest}."
        )
    player = rules.acting(state)
    if status == kernel.NO_ACTIONS and player == CHANCE:
        return (
            f"{where}: chance has no outcomes. legal_actions lists them, as it lists "
            "players' actions; chance_probs gives their probabilities."
        )
    if status == kernel.NO_ACTIONS:
        return f"{where}: player {player} has no legal action."
    if status == kernel.BAD_PLAYER:
        return f"{where}: player {player} acts, neither a player, CHANCE nor TERMINAL."
    if status == kernel.OVERRUN:
        return (
            f"{where}: legal_actions returns more than the {rules.sizes.max_children} "
            "actions that Sizes.num_actions and Sizes.max_chance_outcomes allow, and "
            "so writes outside of its memory."
        )
    if status == kernel.BAD_ACTIONS:
        stop, size = rules.sizes.num_actions, "num_actions"
        order = " ascending,"
        if player == CHANCE:
            stop, size = rules.sizes.max_chance_outcomes, "max_chance_outcomes"
            order = ""
        return (
            f"{where}: legal_actions lists {rules.legal_actions(state)}; they must be "
            f"different,{order} and in 0 .. {stop - 1} (Sizes.{size})."
        )
    if status == kernel.TOO_MANY_CHILDREN:
        return f"{where}: more than {MAX_CHILDREN} moves. Split the move into two."
    if status == kernel.BAD_CHANCE:
        outcomes = rules.chance_outcomes(state)
        return f"{where}: the probabilities are no distribution: {outcomes}."
    if status == kernel.BAD_RETURNS:
        return f"{where}: the returns are {rules.returns(state)}."
    key = rules.info_key(state, player)
    where = f"{where} with the information state {rules.info_state(player, key)!r}"
    if status == kernel.BAD_KEY:
        return (
            f"{where}: the information key {key.tolist()} exceeds Sizes.key = "
            f"{rules.sizes.key} (at most {MAX_KEY_VALUES} values each)."
        )
    if status == kernel.OTHER_ACTIONS:
        return (
            f"{where}: other states with it have other legal actions than "
            f"{rules.legal_actions(state)}."
        )
    return (
        f"{where}: player {player} reaches it after different own pasts (own moves or "
        "what was seen between them): the game has imperfect recall, for which these "
        "solvers have no guarantee. Let info_key remember all that the player did and "
        "saw."
    )
