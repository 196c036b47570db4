"""Compiled rules -> the whole tree's arrays, with no Python per node.

The compiled loop is in rules_kernel.py. Here is what is around it: arrays that grow in
place, errors in words, and infosets' names that stay keys until somebody asks.
"""

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel import rules_kernel as kernel
from mccfr_spiel.game_tree import INFOSET, MAX_CHILDREN, NODE, TreeFullError
from mccfr_spiel.rules import MAX_KEY_VALUES, BoundRules, rule_pointers


def key_place(player: int, key: np.ndarray) -> int:
    """The place (see randomness.py) of the infoset with an information key.

    Games with compiled rules have it instead of `infoset_place`, on both ways of making
    their tree: it needs no string.
    """
    row = np.array([player, *key], np.int64)
    return int(kernel.row_hash(row, len(row)))


class KeyNames:
    """The infosets' names, kept as keys and made into strings on demand.

    In place of a dictionary from string to number, in order.
    """

    def __init__(self, rules: BoundRules, keys: kernel.Pool, count: int) -> None:
        """Names of the first `count` rows of `keys`."""
        self.rules = rules
        self.keys = keys
        self._count = count
        self._index: tuple[np.ndarray, np.ndarray] | None = None

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        return map(self.info_state, range(self._count))

    @property
    def nbytes(self) -> int:
        """Bytes of the keys, and of the index if there is one."""
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

    def get(self, info_state: str, default: int = -1) -> int:
        """The infoset with that string; the first call makes an index, 2-4 us each."""
        if self._index is None:
            hashes = np.fromiter(map(hash, self), np.int64, self._count)
            order = np.argsort(hashes, kind="stable").astype(np.int32)
            self._index = hashes[order], order
        hashes, order = self._index
        hashed = hash(info_state)
        position = int(np.searchsorted(hashes, hashed))
        while position < self._count and hashes[position] == hashed:
            if self.info_state(order[position]) == info_state:
                return int(order[position])
            position += 1
        return default

    def find_key(self, player: int, key: np.ndarray) -> int:
        """The infoset with that player and key, -1 if there is none."""
        row = np.array([player, *key], np.int64)
        hashed = np.uint64(kernel.row_hash(row, len(row)))
        return max(int(kernel.find_row(*self.keys, hashed, row, len(row))), -1)


class Expansion(NamedTuple):
    """A whole tree; the arrays are GameTree's attributes of the same names.

    Attributes:
        distributions: where each chance distribution begins in `chance_probs`.
        names: the infosets' names: KeyNames, or StoredNames of a cache.
    """

    nodes: np.ndarray
    infosets: np.ndarray
    actions: np.ndarray
    chance_probs: np.ndarray
    chance_cdf: np.ndarray
    utilities: np.ndarray
    distributions: dict[tuple[float, ...], int]
    names: Any


def expand_rules(rules: BoundRules, max_nodes: int) -> Expansion:
    """The whole tree of a game with compiled rules.

    Args:
        rules: of the game.
        max_nodes: an error beyond this many nodes.

    Raises:
        TreeFullError: there are more nodes.
        ValueError: the rules contradict themselves; the message says how.
    """
    pointers = rule_pointers(rules.description.rules)
    key_sizes = np.array(rules.sizes.key, np.int64)
    path = _new_path(rules)
    store = _new_store(rules, max_nodes)
    cursor = np.zeros(kernel.CURSOR_SIZE, np.int64)
    cursor[kernel.NODES] = 1
    cursor[kernel.SEQUENCES] = rules.num_players
    while True:
        status = kernel.expand(
            pointers, rules.settings, key_sizes, max_nodes, cursor, path, store
        )
        if status == kernel.DONE:
            return _trimmed(rules, cursor, store)
        if status == kernel.TOO_MANY_NODES:
            raise TreeFullError(
                f"{rules.description.short_name} has more than max_nodes={max_nodes} "
                "nodes. Raise max_nodes if memory allows (16 bytes a node, 24 while it "
                "is expanded), or use external or outcome sampling, which keep only "
                "what they meet."
            )
        if status != kernel.NO_ROOM:
            raise ValueError(_complaint(status, rules, cursor, path))
        store = _enlarged(rules, max_nodes, cursor, store)


def _new_path(rules: BoundRules) -> kernel.Path:
    sizes = rules.sizes
    depth = sizes.max_moves + sizes.max_chance_moves + 1
    path = kernel.Path(
        states=np.zeros((depth, sizes.state), np.int64),
        sequences=np.zeros((depth, rules.num_players), np.int32),
        actions=np.zeros((depth, sizes.max_children), np.int64),
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
    """Changes the length in place; the system moves large arrays without copying."""
    array.resize((size, *array.shape[1:]), refcheck=False)


def _grow(array: np.ndarray, needed: int, most: int | None = None) -> None:
    """Makes the array half as long again if it is shorter than needed."""
    if len(array) < needed:
        size = max(needed, len(array) * 3 // 2)
        _resize(array, size if most is None else max(needed, min(size, most)))


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
    """The store with room for one more node of any kind."""
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
    """The filled part of the store, the rest given back."""
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


def _complaint(
    status: int, rules: BoundRules, cursor: np.ndarray, path: kernel.Path
) -> str:
    """What is wrong where the walk stopped, and what to do."""
    game = rules.description.short_name
    depth = int(cursor[kernel.DEPTH])
    state = path.states[depth]
    words = rules.description.words.state(rules.parameters, state)
    where = f"{game} at the state {words!r}"
    if status == kernel.TOO_LONG:
        return (
            f"{where}: the history is longer than Sizes.max_moves + "
            f"Sizes.max_chance_moves = {depth}."
        )
    player = rules.acting(state)
    if status == kernel.NO_ACTIONS:
        return f"{where}: player {player} has no legal action."
    if status == kernel.BAD_PLAYER:
        return f"{where}: player {player} acts, neither a player, CHANCE nor TERMINAL."
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
