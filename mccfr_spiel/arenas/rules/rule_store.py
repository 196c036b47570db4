"""The infosets that walks over compiled rules have met: their records and their keys.

The compiled loop of rules/played.py adds them one by one, in arrays with room to spare.
When one is full the loop returns, and `RuleStore.grow` makes all of them larger. It
makes new arrays and leaves the old ones as they are, so whoever has taken a view of
them (a policy, the tree's names) keeps what it has seen.

`expand_rules` expands the whole tree of a game. It goes depth first and numbers a
node's children when it writes the node. That is the order of `GameTree.expand_all`
through pyspiel, so both give equal arrays. It takes the steps of walks over rules
(played.py) and adds infosets to such a store.
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
from mccfr_spiel.common.limits import Budget, MemoryBudgetError
from mccfr_spiel.kernels.frame import new_record
from mccfr_spiel.kernels.jit import jit
from mccfr_spiel.kernels.switches import Sampled
from mccfr_spiel.kernels.tables import Tables, Task, TreeArrays, Walk

BYTES_PER_INFOSET, BYTES_PER_SEQUENCE = 96, 16
"""What the store takes for each, besides keys: its record, where its key is, up to four
slots of the hash table; its action. One array is there twice while it grows."""

_BYTES_PER_KEY_VALUE = 4
_FEW = 256
_FACTORS = (256.0, 128.0, 64.0, 32.0, 16.0, 8.0, 4.0, 2.0, 1.5, 1.125, 1.015)
"""The store grows by the first of these factors that fits. Room that is not used yet
takes no memory but the budget's, so copying less often is what counts."""

_LARGE_FACTOR, _LARGE_SHARE = 4.0, 0.5
"""A larger factor than the first number is used only if the room takes no more than the
second one of what the budget has left, since others may want a part of that."""

_NO_TABLE = np.zeros(0, SLOT)
PATH = "the way of a walk"
"""Under this name a budget holds what `Path` takes."""


class RuleStore:
    """What walks over the rules of a game share: the infosets met, and the game.

    Attributes:
        rules: the game's.
        game, known: what compiled walks read of the game, and fill.
        infosets: `[I + room]` of dtype INFOSET.
        called: the rules as compiled walks take them.
        longest: the most moves in a history, by the game's own words.
        declared: what the game says of itself.
    """

    def __init__(self, rules: BoundRules, budget: Budget) -> None:
        """No infosets, and each player's empty sequence.

        Raises:
            ValueError: a rule has a wrong type, or histories are too long.
            MemoryBudgetError: not even a few infosets fit the budget.
        """
        self.rules, self._budget = rules, budget
        self.declared = declared_by_rules(rules)
        sizes = rules.sizes
        self.longest = sizes.max_moves + sizes.max_chance_moves
        most = MAX_INDEX >> LEVEL_BITS
        if self.longest > most - 2:
            raise ValueError(
                f"{rules.description.short_name} has histories of {self.longest:,} "
                f"moves (Sizes.max_moves + Sizes.max_chance_moves); walks over rules "
                f"follow at most {most - 2:,}. Correct the sizes, or use store='tree'."
            )
        self.called = callable_rules(rules)
        self.game = GameArrays(
            rules.settings,
            np.array(sizes.key, np.int64),
            np.array([sizes.num_actions, sizes.max_chance_outcomes], np.int64),
            np.array(limits_of(self.declared)),
            *rules.faced,
        )
        budget.set_rates(BYTES_PER_INFOSET, BYTES_PER_SEQUENCE)
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
        return len(self.rules.sizes.key) + 1

    def sizes(self) -> tuple[int, int]:
        """How many infosets and sequences have been met."""
        counts = self.known.counts
        return counts.item(INFOSETS), counts.item(SEQUENCES)

    def room(self) -> tuple[int, int]:
        """How many infosets and sequences there is room for."""
        return len(self.infosets), len(self.known.actions)

    def least_rates(self) -> tuple[int, int]:
        """The least bytes of the budget that an infoset takes, its key and all tables
        included, and each of its sequences."""
        budget = self._budget
        return budget.per_infoset + _BYTES_PER_KEY_VALUE, budget.per_sequence

    def bytes_used(self) -> int:
        """The bytes of the budget for the infosets met, tables included."""
        return self._bytes_of(self._used())

    def bytes_that_fit(self) -> int:
        """The bytes that infosets, those met included, may take of the budget."""
        return self._bytes_of(self._room()) + self._budget.left

    # What there is, or is room for, is counted in a vector `[3]`: infosets, sequences,
    # and the numbers of keys.

    def _used(self) -> np.ndarray:
        num_infosets, num_sequences = self.sizes()
        num_values = self.known.rows[num_infosets]["start"]
        return np.array([num_infosets, num_sequences, num_values])

    def _room(self) -> np.ndarray:
        return np.array([*self.room(), len(self.known.values)])

    def _bytes_of(self, rows: np.ndarray) -> int:
        budget = self._budget
        per_row = budget.per_infoset, budget.per_sequence, _BYTES_PER_KEY_VALUE
        return int(rows @ np.array(per_row))

    def keys(self) -> RowTable:
        """The keys of the infosets met, each with the player before it; no table."""
        known, count = self.known, self.sizes()[0]
        rows = known.rows[: count + 1]
        return RowTable(known.values[: rows[-1]["start"]], rows, _NO_TABLE)

    # --- growing -------------------------------------------------------------

    def ask_for(self, infosets: int, sequences: int, values: int) -> None:
        """Has the next call of `grow` make room for at least these numbers more."""
        self._asked[:] = infosets, sequences, values

    def grow(self) -> None:
        """Makes room for more infosets: for those asked for, and one of any size.

        Raises:
            MemoryBudgetError: they do not fit the budget; nothing has changed.
        """
        used, room = self._used(), self._room()
        largest = 1, self.rules.sizes.num_actions, self._longest_key
        least = used + self._asked + largest
        self._fit_table(int(least[0]))
        # One pass tries one multiple of what is used, and at least `least`.
        for factor in _FACTORS if (least > room).any() else ():
            rows = np.maximum(room, ((factor - 1) * used).astype(np.int64) + least)
            share = _LARGE_SHARE if factor > _LARGE_FACTOR else 1.0
            try:
                if max(rows[:2]) > MAX_INDEX:
                    raise MemoryBudgetError(
                        f"{self.rules.description.short_name}: at most {MAX_INDEX:,} "
                        "sequences can be told apart."
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
        """Takes the bytes of that much more room, tables included, but at most a share
        of the bytes that are left."""
        budget, size = self._budget, self._bytes_of(rows)
        budget.require(int(size / share), "Room for more information sets takes")
        budget.take(size)

    def _enlarge(self, rows: np.ndarray) -> None:
        known, used = self.known, self._used()
        larger = known._replace(
            actions=_enlarged(known.actions, rows[1], used[1]),
            values=_enlarged(known.values, rows[2], used[2]),
            rows=_enlarged(known.rows, rows[0] + 1, used[0] + 1),
        )
        infosets = _enlarged(self.infosets, rows[0], used[0])
        self.infosets, self.known = infosets, larger  # no call in between

    def _fit_table(self, num_infosets: int) -> None:
        """Makes the hash table large enough for a number of infosets."""
        table = self.known.table
        if num_infosets > MOST_USED * len(table):
            table = larger_table(table, num_infosets)
            self.known = self.known._replace(table=table)

    def trim(self) -> None:
        """Gives back the room that arrays have to spare, after which no more infosets
        may be added. Nobody else may have a view of them."""
        known, (num_infosets, num_sequences, num_values) = self.known, self._used()
        resize(self.infosets, num_infosets)
        resize(known.actions, num_sequences)
        resize(known.values, num_values)
        resize(known.rows, num_infosets + 1)

    # --- files ---------------------------------------------------------------

    def saved(self) -> dict[str, np.ndarray]:
        """The arrays that a file keeps, without the room that they have to spare."""
        num_infosets, num_sequences = self.sizes()
        starts = self.known.rows["start"][: num_infosets + 1].copy()
        return {
            "infosets": self.infosets[:num_infosets],
            "actions": self.known.actions[:num_sequences],
            "keys": self.known.values[: starts[-1]],
            "key_ends": starts[1:],
        }

    def recall(self, arrays: dict[str, np.ndarray]) -> bool:
        """Takes over the infosets of a file; there must be none yet.

        Args:
            arrays: what `saved` gave, of which infosets and actions have been checked.

        Returns:
            Whether the keys are keys of this game, each a different one.

        Raises:
            MemoryBudgetError: they do not fit the budget.
        """
        infosets, actions = arrays["infosets"], arrays["actions"]
        keys, ends = arrays["keys"], arrays["key_ends"]
        count = len(infosets)
        found = keys.dtype, keys.ndim, ends.dtype, ends.shape
        if found != (KEY, 1, np.int64, (count,)):
            return False
        lengths = np.diff(ends, prepend=0)
        is_short = (lengths > 0) & (lengths <= self._longest_key)
        if not is_short.all() or (count and ends[-1] != len(keys)):
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

    # --- walks ---------------------------------------------------------------

    def make_iterate(self, rule: str, sampled: Sampled) -> Any:
        """The compiled loop over iterations, see `walks.make_rule_iterate`."""
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
        """The frame of that loop.

        Args:
            task, tables, walk: a solver's.
            node: what `tree_of_node` gave.
            path: where the walk is.
        """
        tree = node._replace(infosets=self.infosets)
        return walks.frame_of(task, tree, tables, walk, self.game, self.known, path)

    def new_path(self, *, is_counted: bool = True) -> Path:
        """A path that stands at the root.

        Args:
            is_counted: whether the budget holds its bytes.

        Raises:
            MemoryBudgetError: it does not fit the budget.
        """
        sizes, players = self.rules.sizes, self.rules.num_players
        depth, most = self.longest + 2, sizes.max_children
        if is_counted:
            size = 8 * depth * (sizes.state + most + players + 4)
            self._budget.hold(PATH, self._budget.held(PATH) + size)
        rows = {"n": sizes.state, "A": most, "K": len(sizes.key), "P": players}
        path = new_record(Path, (), spare=SPARE, D=depth, **rows)
        path.states[0] = self.rules.start()
        path.last[:] = path.lasts[0] = np.arange(players)
        return path

    def tree_of_node(self) -> TreeArrays:
        """What a walk knows of one node, and the infosets met."""
        most, players = self.rules.sizes.max_children, self.rules.num_players
        sizes = {"N": 0, "I": 0, "C": most, "L": 1, "P": players}
        node = new_record(TreeArrays, (), spare=SPARE, **sizes)
        return node._replace(infosets=self.infosets)

    def raise_broken(self, status: int, path: Path) -> NoReturn:
        """Raises the GameError that says what the rules do wrong where a walk stands.

        Args:
            status: one of rules/rule_faults.py.
            path: the walk's.
        """
        history = path.history[: path.position[NUM_MOVES]].tolist()
        where = f"The history that led there: {history}."
        if status == rule_faults.BAD_RETURNS:
            try:
                check_returns(self.declared, self.rules.returns(path.state))
            except GameError as error:
                raise GameError(f"{error} {where}") from None
        said = rule_faults.complaint(status, self.rules, path.state, self.longest)
        raise GameError(f"{said} {where}")


def resize(array: np.ndarray, size: int) -> None:
    """Changes the length in place; the system moves large arrays without a copy."""
    array.resize((size, *array.shape[1:]), refcheck=False)


def _enlarged(array: np.ndarray, size: int, used: int) -> np.ndarray:
    """A copy with more rows, of which the first `used` are taken over."""
    larger = np.zeros((size, *array.shape[1:]), array.dtype)
    larger[:used] = array[:used]
    return larger


@jit
def _enter(values, rows, table, infosets, count, key):
    """Enters the keys of a file's infosets into an empty hash table.

    Args:
        values, rows: the keys, whose rows know where they start.
        table: an empty hash table, see row_table.py.
        infosets: the records.
        count: how many there are.
        key: `[K + 1]` int64, is written to.

    Returns:
        Whether each key is new and has the place that its record says.
    """
    for number in range(count):
        start = rows[number]["start"]
        length = rows[number + 1]["start"] - start
        for k in range(length):
            key[k] = values[start + k]
        hashed = row_hash(key, length)
        is_its = hashed == infosets[number]["place"]
        is_its = is_its and key[0] == infosets[number]["player"]
        found = number_row(values, rows, table, number, hashed, key, length)
        if found != number or not is_its:
            return False
    return True
