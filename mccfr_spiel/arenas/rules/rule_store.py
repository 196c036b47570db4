"""The infosets that walks over compiled rules have found so far: records, actions and
keys.

The compiled loop adds infosets one by one to arrays with unused rows at the end. When
an array is full, the loop returns to Python, and `RuleStore.grow` replaces all arrays
by larger copies. The old arrays are not changed, so existing views of them (in policies
and names) remain valid.
"""

from typing import Any, NoReturn

import numpy as np

from mccfr_spiel.arenas.rules import following, rule_faults, walks
from mccfr_spiel.arenas.rules.bound_rules import BoundRules, declared_by_rules
from mccfr_spiel.arenas.rules.declarations import GameError
from mccfr_spiel.arenas.rules.game_description import SPARE
from mccfr_spiel.arenas.rules.row_table import (
    MOST_USED,
    SLOT,
    RowTable,
    larger_table,
    number_row,
    row_hash,
)
from mccfr_spiel.arenas.rules.rule_calls import callable_rules
from mccfr_spiel.arenas.rules.rule_records import (
    INFOSETS,
    KEY,
    LEVEL_BITS,
    NUM_MOVES,
    SEQUENCES,
    GameArrays,
    Known,
    Path,
)
from mccfr_spiel.arenas.rules.state_checks import check_returns, limits_of
from mccfr_spiel.common.arrays import INFOSET, MAX_INDEX
from mccfr_spiel.common.budget import (
    Budget,
    MemoryBudgetError,
)
from mccfr_spiel.kernels.frame import new_record
from mccfr_spiel.kernels.jit import jit
from mccfr_spiel.kernels.switches import Sampled
from mccfr_spiel.kernels.tables import Tables, Task, TreeArrays, Walk

BYTES_PER_INFOSET, BYTES_PER_SEQUENCE = 96, 16
"""Bytes per infoset and per sequence that the budget counts for this store, without
keys and without the solver's tables. An infoset has a record, the start of its key, and
up to four slots of the hash table; a sequence has an action. The values include copies
during growth: one array at a time exists twice.
"""

_BYTES_PER_KEY_VALUE = 4

_FEW = 256
"""Initial capacity of infosets."""

_FACTORS = (256.0, 128.0, 64.0, 32.0, 16.0, 8.0, 4.0, 2.0, 1.5, 1.125, 1.015)
"""Growth factors; the first that fits the budget is used. Large factors save copies.
Unused rows take no physical memory but count in the budget.
"""

_LARGE_FACTOR, _LARGE_SHARE = 4.0, 0.5
"""Growth factors above `_LARGE_FACTOR` may claim at most `_LARGE_SHARE` of the
remaining budget, because other arrays need a part of it."""

_NO_TABLE = np.zeros(0, SLOT)
PATH = "the path of a walk over rules"
"""Name of the bytes of `Path` in a budget."""


class RuleStore:
    """The infosets found by walks over compiled rules, which several solvers may share.

    Attributes:
        rules: rules of the game.
        budget: budget that is charged for the infosets.
        game: declarations of the game, read by compiled walks.
        known: keys and actions of the infosets, filled by compiled walks.
        infosets: `[I]` INFOSET, records of the infosets, and unused rows.
        called: addresses of the rules from `callable_rules`.
        longest: declared length of the longest history.
        declared: declared bounds of returns and actions.
    """

    def __init__(self, rules: BoundRules, budget: Budget) -> None:
        """Makes a store with the empty sequences and no infosets.

        Raises:
            ValueError: a rule has a wrong type, or histories are too long.
            MemoryBudgetError: the initial arrays do not fit the budget.
        """
        self.rules, self.budget = rules, budget
        self.declared = declared_by_rules(rules)
        sizes = rules.sizes
        self.longest = sizes.max_moves + sizes.max_chance_moves
        max_moves = (MAX_INDEX >> LEVEL_BITS) - 2
        if self.longest > max_moves:
            raise ValueError(
                f"{rules.description.short_name} has histories of {self.longest:,} "
                f"moves (Sizes.max_moves + Sizes.max_chance_moves); walks over rules "
                f"follow at most {max_moves:,}. Correct the sizes, or use store='tree'."
            )
        self.called = callable_rules(rules)
        self.game = GameArrays(
            rules.settings,
            np.array(sizes.key, np.int64),
            np.array([sizes.num_actions, sizes.max_chance_outcomes], np.int64),
            np.array(limits_of(self.declared)),
            *rules.faced,
        )
        budget.per_infoset, budget.per_sequence = BYTES_PER_INFOSET, BYTES_PER_SEQUENCE
        room, num_sequences = _FEW, rules.num_players + sizes.num_actions + _FEW
        num_values = self._longest_key + _FEW
        self._take(np.array([room, num_sequences, num_values]))
        self.infosets = np.zeros(room, INFOSET)
        rows = {"I": room, "S": num_sequences, "V": num_values, "T": 2 * room}
        self.known: Known = new_record(Known, (), **rows)
        self.known.actions[: rules.num_players] = -1
        self.known.counts[SEQUENCES] = rules.num_players
        self._asked = np.zeros(3, np.int64)

    @property
    def _longest_key(self) -> int:
        """Largest number of values of a stored key, the player included."""
        return len(self.rules.sizes.key) + 1

    def sizes(self) -> tuple[int, int]:
        """Returns the number of infosets found so far, and the number of sequences."""
        counts = self.known.counts
        return counts.item(INFOSETS), counts.item(SEQUENCES)

    def room(self) -> tuple[int, int]:
        """Returns the capacity of the arrays: numbers of infosets and sequences."""
        return len(self.infosets), len(self.known.actions)

    def least_rates(self) -> tuple[int, int]:
        """Returns the smallest number of bytes that an infoset takes, with a key of one
        value, and the bytes per sequence. Both include the solver's tables.
        """
        budget = self.budget
        return budget.per_infoset + _BYTES_PER_KEY_VALUE, budget.per_sequence

    def bytes_used(self) -> int:
        """Returns the bytes that the budget counts for the infosets found so far, the
        solver's tables included.
        """
        return self._bytes_of(self._used())

    def bytes_that_fit(self) -> int:
        """Returns the largest number of bytes that the budget allows for infosets,
        those found so far included.
        """
        return self._bytes_of(self._room()) + self.budget.left

    # Sizes and capacities are vectors `[3]`: infosets, sequences and key values.

    def _used(self) -> np.ndarray:
        """Returns the numbers of infosets, sequences and key values in use."""
        num_infosets, num_sequences = self.sizes()
        num_values = self.known.rows[num_infosets]["start"]
        return np.array([num_infosets, num_sequences, num_values])

    def _room(self) -> np.ndarray:
        """Returns the numbers of infosets, sequences and key values that have room."""
        return np.array([*self.room(), len(self.known.values)])

    def _bytes_of(self, rows: np.ndarray) -> int:
        """Returns the bytes that the budget counts for `[3]` numbers of rows."""
        budget = self.budget
        per_row = budget.per_infoset, budget.per_sequence, _BYTES_PER_KEY_VALUE
        return int(rows @ np.array(per_row))

    def keys(self) -> RowTable:
        """Returns a table without slots whose rows are the player and the key of each
        infoset.
        """
        known, count = self.known, self.sizes()[0]
        rows = known.rows[: count + 1]
        return RowTable(known.values[: rows[-1]["start"]], rows, _NO_TABLE)

    def ask_for(self, infosets: int, sequences: int, values: int) -> None:
        """Requests that the next `grow` adds room for this many infosets, sequences and
        key values.
        """
        self._asked[:] = infosets, sequences, values

    def grow(self) -> None:
        """Enlarges the arrays for the requested infosets and one more of the largest
        size.

        Raises:
            MemoryBudgetError: larger arrays do not fit the budget. The arrays of
            infosets are unchanged.
        """
        used, room = self._used(), self._room()
        largest = 1, self.rules.sizes.num_actions, self._longest_key
        least = used + self._asked + largest
        self._fit_table(int(least[0]))
        # Each pass of the loop tries one growth factor, with at least the sizes
        # `least`. It ends at the first factor that fits the budget. If the smallest
        # factor does not fit either, the error is raised.
        for factor in _FACTORS if (least > room).any() else ():
            rows = np.maximum(room, ((factor - 1) * used).astype(np.int64) + least)
            share = _LARGE_SHARE if factor > _LARGE_FACTOR else 1.0
            try:
                if max(rows[:2]) > MAX_INDEX:
                    raise MemoryBudgetError(
                        f"{self.rules.description.short_name}: at most {MAX_INDEX:,} "
                        "sequences can be numbered."
                    )
                self._take(rows - room, share)
            except MemoryBudgetError:
                if factor == _FACTORS[-1]:
                    raise
            else:
                self._enlarge(rows)
                break
        self._asked[:] = 0

    def _take(self, rows: np.ndarray, share: float = 1.0) -> None:
        """Charges the budget for additional rows, the solver's tables included.

        Args:
            rows: `[3]` additional infosets, sequences and key values.
            share: largest share of the remaining bytes that the rows may take.

        Raises:
            MemoryBudgetError: the rows take more than this share.
        """
        budget, size = self.budget, self._bytes_of(rows)
        budget.require(int(size / share), "Arrays for more information sets take")
        budget.take(size)

    def _enlarge(self, rows: np.ndarray) -> None:
        """Replaces the arrays by copies with room for `[3]` numbers of rows."""
        known, used = self.known, self._used()
        larger = known._replace(
            actions=_enlarged(known.actions, rows[1], used[1]),
            values=_enlarged(known.values, rows[2], used[2]),
            rows=_enlarged(known.rows, rows[0] + 1, used[0] + 1),
        )
        infosets = _enlarged(self.infosets, rows[0], used[0])
        # No call separates the two assignments, so Ctrl-C cannot come between them.
        self.infosets, self.known = infosets, larger

    def _fit_table(self, num_infosets: int) -> None:
        """Enlarges the hash table, if it is too small for `num_infosets`."""
        table = self.known.table
        if num_infosets > MOST_USED * len(table):
            table = larger_table(table, num_infosets)
            self.known = self.known._replace(table=table)

    def trim(self) -> None:
        """Releases the unused rows of the arrays, which are resized in place.

        No infosets may be added afterwards, and no views of the arrays may exist.
        """
        known, (num_infosets, num_sequences, num_values) = self.known, self._used()
        resize(self.infosets, num_infosets)
        resize(known.actions, num_sequences)
        resize(known.values, num_values)
        resize(known.rows, num_infosets + 1)

    def saved(self) -> dict[str, np.ndarray]:
        """Returns the arrays that are saved in a file, without unused rows."""
        num_infosets, num_sequences = self.sizes()
        starts = self.known.rows["start"][: num_infosets + 1].copy()
        return {
            "infosets": self.infosets[:num_infosets],
            "actions": self.known.actions[:num_sequences],
            "keys": self.known.values[: starts[-1]],
            "key_ends": starts[1:],
        }

    def recall(self, arrays: dict[str, np.ndarray]) -> bool:
        """Restores the infosets of a file into an empty store.

        Args:
            arrays: result of `saved`. The caller has checked the infosets and actions.

        Returns:
            Whether the arrays contain a valid key for each infoset, and all keys
            differ.

        Raises:
            MemoryBudgetError: the infosets do not fit the budget.
        """
        infosets, actions = arrays["infosets"], arrays["actions"]
        keys, ends = arrays["keys"], arrays["key_ends"]
        count = len(infosets)
        types = keys.dtype, keys.ndim, ends.dtype, ends.shape
        if types != (KEY, 1, np.int64, (count,)):
            return False
        lengths = np.diff(ends, prepend=0)
        is_valid = (lengths > 0) & (lengths <= self._longest_key)
        if not is_valid.all() or (count and ends[-1] != len(keys)):
            return False
        needed = np.maximum(self._room(), (count, len(actions), len(keys)))
        self._take(needed - self._room())
        self._enlarge(needed)
        self._fit_table(count)
        known = self.known
        self.infosets[:count] = infosets
        known.actions[: len(actions)] = actions
        known.values[: len(keys)] = keys
        known.rows["start"][1 : count + 1] = ends
        key = np.zeros(self._longest_key, np.int64)
        rows = known.values, known.rows, known.table
        if not _enter(*rows, self.infosets, count, key):
            return False
        known.counts[INFOSETS] = count
        known.counts[SEQUENCES] = len(actions)
        return True

    def make_iterate(self, rule: str, sampled: Sampled) -> Any:
        """Returns the compiled loop over iterations, see `walks.make_rule_iterate`."""
        source = following.FACED if self.rules.faced else walks.PLAYED
        return walks.make_rule_iterate(rule, sampled, source)

    def frame_of(
        self,
        task: Task,
        node: TreeArrays,
        tables: Tables,
        walk: Walk,
        path: Path,
    ) -> np.ndarray:
        """Makes the frame for the loop of `make_iterate`.

        Args:
            task: settings of the solver.
            node: result of `tree_of_node`.
            tables: tables of the solver.
            walk: buffers of the walk.
            path: path of the walk.
        """
        tree = node._replace(infosets=self.infosets)
        return walks.frame_of(task, tree, tables, walk, self.game, self.known, path)

    def new_path(self, *, is_counted: bool = True) -> Path:
        """Makes a path at the root.

        Args:
            is_counted: whether to charge the budget for it.

        Raises:
            MemoryBudgetError: it does not fit the budget.
        """
        sizes, players = self.rules.sizes, self.rules.num_players
        depth, max_children = self.longest + 2, sizes.max_children
        if is_counted:
            size = 8 * depth * (sizes.state + max_children + players + 4)
            self.budget.hold(PATH, self.budget.held[PATH] + size)
        lengths = {"n": sizes.state, "A": max_children, "K": len(sizes.key)}
        path = new_record(Path, (), spare=SPARE, D=depth, P=players, **lengths)
        path.states[0] = self.rules.start()
        path.last[:] = path.lasts[0] = np.arange(players)
        return path

    def tree_of_node(self) -> TreeArrays:
        """Returns a `TreeArrays` with arrays for one node, and the infosets of the
        store.
        """
        max_children, players = self.rules.sizes.max_children, self.rules.num_players
        sizes = {"N": 0, "I": 0, "C": max_children, "L": 1, "P": players}
        node = new_record(TreeArrays, (), spare=SPARE, **sizes)
        return node._replace(infosets=self.infosets)

    def raise_broken(self, status: int, path: Path) -> NoReturn:
        """Raises a GameError about the error in the rules that stopped a walk.

        Args:
            status: a status of rules/rule_faults.py.
            path: path of the walk.
        """
        history = path.history[: path.position[NUM_MOVES]].tolist()
        where = f"The history that led there: {history}."
        if status == rule_faults.BAD_RETURNS:
            try:
                check_returns(self.declared, self.rules.returns(path.state))
            except GameError as error:
                raise GameError(f"{error} {where}") from None
        message = rule_faults.complaint(status, self.rules, path.state, self.longest)
        raise GameError(f"{message} {where}")


def resize(array: np.ndarray, size: int) -> None:
    """Resizes an array along its first axis in place.

    The operating system moves large arrays without copying them.
    """
    array.resize((size, *array.shape[1:]), refcheck=False)


def _enlarged(array: np.ndarray, size: int, used: int) -> np.ndarray:
    """Returns a copy of the first `used` rows, followed by zeros up to `size` rows."""
    larger = np.zeros((size, *array.shape[1:]), array.dtype)
    larger[:used] = array[:used]
    return larger


@jit
def _enter(values, rows, table, infosets, count, key):
    """Inserts the keys of infosets that were read from a file into an empty hash table.

    Args:
        values: concatenated keys, each with the player as its first element.
        rows: start of each key; the hashes are written.
        table: empty hash table, see row_table.py; written.
        infosets: INFOSET, records of the infosets.
        count: number of infosets.
        key: `[K + 1]` int64, a buffer for one key.

    Returns:
        True; False if two keys are equal, or if a key contradicts `place` (its hash) or
            `player` in the record of the infoset.
    """
    for number in range(count):
        start = rows[number]["start"]
        length = rows[number + 1]["start"] - start
        for k in range(length):
            key[k] = values[start + k]
        hashed = row_hash(key, length)
        agrees = hashed == infosets[number]["place"]
        agrees = agrees and key[0] == infosets[number]["player"]
        row = number_row(values, rows, table, number, hashed, key, length)
        if row != number or not agrees:
            return False
    return True
