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

from typing import Annotated, Any, NamedTuple, NoReturn

import numpy as np

from mccfr_spiel.arenas.rules import description, following, kernel, played, walks
from mccfr_spiel.arenas.rules.description import BoundRules, GameError
from mccfr_spiel.common import limits
from mccfr_spiel.common.arrays import (
    INFOSET,
    MAX_INDEX,
    NODE,
    TERMINAL,
    grown_size,
    reserve,
)
from mccfr_spiel.common.limits import Budget, MemoryBudgetError
from mccfr_spiel.kernels.frame import Entry, Layout, new_record
from mccfr_spiel.kernels.jit import jit
from mccfr_spiel.kernels.switches import Sampled
from mccfr_spiel.kernels.tables import (
    DONE,
    FLOAT,
    GROW,
    INT,
    LONG,
    STACK_FULL,
    Tables,
    Task,
    TreeArrays,
    Walk,
)

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

_NO_TABLE = np.zeros(0, kernel.SLOT)

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
        self.declared = description.declared_by_rules(rules)
        sizes = rules.sizes
        self.longest = sizes.max_moves + sizes.max_chance_moves
        most = MAX_INDEX >> played.LEVEL_BITS
        if self.longest > most - 2:
            raise ValueError(
                f"{rules.description.short_name} has histories of {self.longest:,} "
                f"moves (Sizes.max_moves + Sizes.max_chance_moves); walks over rules "
                f"follow at most {most - 2:,}. Correct the sizes, or use store='tree'."
            )
        self.called = kernel.callable_rules(rules)
        self.game = played.Game(
            rules.settings,
            np.array(sizes.key, np.int64),
            np.array([sizes.num_actions, sizes.max_chance_outcomes], np.int64),
            np.array(description.limits_of(self.declared)),
            *rules.faced,
        )
        budget.set_rates(BYTES_PER_INFOSET, BYTES_PER_SEQUENCE)
        room, num_sequences = _FEW, rules.num_players + sizes.num_actions + _FEW
        num_values = self._longest_key + _FEW
        self._take(np.array([room, num_sequences, num_values]))
        self.infosets = np.zeros(room, INFOSET)
        rows = {"I": room, "S": num_sequences, "V": num_values, "T": 2 * room}
        self.known: played.Known = new_record(played.Known, (), **rows)
        self.known.actions[: rules.num_players] = -1
        self.known.counts[kernel.SEQUENCES] = rules.num_players
        self._asked = np.zeros(3, np.int64)

    @property
    def _longest_key(self) -> int:
        return len(self.rules.sizes.key) + 1

    def sizes(self) -> tuple[int, int]:
        """How many infosets and sequences have been met."""
        counts = self.known.counts
        return counts.item(kernel.INFOSETS), counts.item(kernel.SEQUENCES)

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

    def keys(self) -> kernel.RowTable:
        """The keys of the infosets met, each with the player before it; no table."""
        known, count = self.known, self.sizes()[0]
        rows = known.rows[: count + 1]
        return kernel.RowTable(known.values[: rows[-1]["start"]], rows, _NO_TABLE)

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
        if num_infosets > kernel.MOST_USED * len(table):
            table = kernel.larger_table(table, num_infosets)
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
        if found != (played.KEY, 1, np.int64, (count,)):
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
        known.counts[kernel.INFOSETS] = count
        known.counts[kernel.SEQUENCES] = len(actions)
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
        path: played.Path,
    ) -> np.ndarray:
        """The frame of that loop.

        Args:
            task, tables, walk: a solver's.
            node: what `tree_of_node` gave.
            path: where the walk is.
        """
        tree = node._replace(infosets=self.infosets)
        return walks.frame_of(task, tree, tables, walk, self.game, self.known, path)

    def new_path(self, *, is_counted: bool = True) -> played.Path:
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
        path = new_record(played.Path, (), spare=description.SPARE, D=depth, **rows)
        path.states[0] = self.rules.start()
        path.last[:] = path.lasts[0] = np.arange(players)
        return path

    def tree_of_node(self) -> TreeArrays:
        """What a walk knows of one node, and the infosets met."""
        most, players = self.rules.sizes.max_children, self.rules.num_players
        sizes = {"N": 0, "I": 0, "C": most, "L": 1, "P": players}
        node = new_record(TreeArrays, (), spare=description.SPARE, **sizes)
        return node._replace(infosets=self.infosets)

    def raise_broken(self, status: int, path: played.Path) -> NoReturn:
        """Raises the GameError that says what the rules do wrong where a walk stands.

        Args:
            status: one of rules/kernel.py.
            path: the walk's.
        """
        history = path.history[: path.position[played.NUM_MOVES]].tolist()
        where = f"The history that led there: {history}."
        if status == kernel.BAD_RETURNS:
            try:
                description.check_returns(self.declared, self.rules.returns(path.state))
            except GameError as error:
                raise GameError(f"{error} {where}") from None
        said = kernel.complaint(status, self.rules, path.state, self.longest)
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
        table: an empty hash table, see kernel.py.
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
        hashed = kernel.row_hash(key, length)
        is_its = hashed == infosets[number]["place"]
        is_its = is_its and key[0] == infosets[number]["player"]
        found = kernel.number_row(values, rows, table, number, hashed, key, length)
        if found != number or not is_its:
            return False
    return True


# --- the whole tree of a game, expanded without Python at any node --------------------


WHOLE = "the whole tree"
"""Under this name a budget holds what an expansion takes."""

_FEW_NODES = 1024

_FIRST, _COUNT, _NEXT = range(3)
_NODE, _NODES, _CHANCES, _OUTCOMES = range(4)


class Whole(NamedTuple):
    """What an expansion fills besides nodes and infosets; D is that of `played.Path`.

    Rows are kept as in `kernel.RowTable`; their values are the bits of doubles.

    Attributes:
        counts: the node to write next; nodes and rows so far.
        trail: of each node above: its first child, how many, the next.
        cdf: running sums of `chances`.
        chances: the distributions of chance.
        chance_rows: of them.
        chance_table: of them.
        outcomes: the vectors of returns.
        outcome_rows: of them.
        outcome_table: of them.
    """

    counts: Annotated[np.ndarray, Entry(LONG, "[4]")]
    trail: Annotated[np.ndarray, Entry(INT, "[D, 3]")]
    cdf: Annotated[np.ndarray, Entry(FLOAT, "[C]")]
    chances: Annotated[np.ndarray, Entry(LONG, "[C]")]
    chance_rows: Annotated[np.ndarray, Entry(kernel.ROW, "[R + 1]")]
    chance_table: Annotated[np.ndarray, Entry(kernel.SLOT, "[T]")]
    outcomes: Annotated[np.ndarray, Entry(LONG, "[U]")]
    outcome_rows: Annotated[np.ndarray, Entry(kernel.ROW, "[R + 1]")]
    outcome_table: Annotated[np.ndarray, Entry(kernel.SLOT, "[T]")]


_LAYOUT = Layout(TreeArrays, played.Game, played.Known, played.Path, Whole)
_views = _LAYOUT.viewer()


class Expansion(NamedTuple):
    """A whole tree, whose arrays become GameTree's attributes of the same names.

    Attributes:
        keys: of the infosets, from which compiled rules make their names.
    """

    nodes: np.ndarray
    infosets: np.ndarray
    actions: np.ndarray
    utilities: np.ndarray
    chance_probs: np.ndarray
    chance_cdf: np.ndarray
    chance_starts: np.ndarray
    keys: kernel.RowTable = kernel.new_row_table(np.uint16, 0)

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays."""
        parts = *self, *self.keys
        return sum(part.nbytes for part in parts if isinstance(part, np.ndarray))


@jit
def _number_outcome(whole, returns):
    """The row of a vector of returns; -1 if there must be more room first."""
    count, bits = whole.counts[_OUTCOMES], returns.view(np.int64)
    hashed = kernel.row_hash(bits, len(bits))
    rows = whole.outcomes, whole.outcome_rows, whole.outcome_table
    number = kernel.number_row(*rows, count, hashed, bits, len(bits))
    whole.counts[_OUTCOMES] += int(number == count)
    return number


@jit
def _start_of_chances(whole, probs, cdf, length):
    """Where a distribution begins; -1 if there must be more room first."""
    count, bits = whole.counts[_CHANCES], probs.view(np.int64)
    hashed = kernel.row_hash(bits, length)
    rows = whole.chances, whole.chance_rows, whole.chance_table
    number = kernel.number_row(*rows, count, hashed, bits, length)
    if number < 0:
        return number
    start = whole.chance_rows[number]["start"]
    if number == count:
        whole.counts[_CHANCES] += 1
        for k in range(length):
            whole.cdf[start + k] = cdf[k]
    return start


@jit
def expand(frame, rules):
    """Writes nodes until the tree is whole or something stops the walk.

    Each pass writes the node where the walk is and goes to the next one that is not
    written: the first child, or the next child of the lowest node above that has one.
    Nothing is counted before all of a node fits, so after a stop the same node is
    written again.

    Args:
        frame: of `_LAYOUT`; of `nodes` and infosets there is room to spare, and of
            chance and returns in TreeArrays there are those of one node.
        rules: of `kernel.callable_rules`.

    Returns:
        DONE, GROW if there must be more room for infosets or rows, STACK_FULL for
        nodes, or BROKEN + a status of rules/kernel.py.
    """
    tree, game = _views(frame, TreeArrays), _views(frame, played.Game)
    known, path = _views(frame, played.Known), _views(frame, played.Path)
    whole = _views(frame, Whole)
    source = played.nodes_of(tree, game, known, path, rules)
    nodes, counts, trail = tree.nodes, whole.counts, whole.trail
    while True:
        node, first, count, infoset = counts[_NODE], counts[_NODES], 0, -1
        acting = played.who_acts(rules, game, path)
        if acting == TERMINAL:
            first = 0
            status = played.end_game(rules, game, path, tree.utilities)
            start = np.int64(0)
            if status == DONE:
                start = _number_outcome(whole, tree.utilities[0])
        else:
            free = len(nodes) - first
            status, moves = played.arrive(source, node, acting, free)
            start, count, infoset = moves.start, moves.count, moves.infoset
            if status == DONE and infoset < 0:
                probs, cdf = tree.chance_probs, tree.chance_cdf
                start = _start_of_chances(whole, probs, cdf, count)
        if status != DONE or start < 0:
            return status if status != DONE else GROW
        nodes[node]["first_child"] = first
        nodes[node]["start"] = start
        nodes[node]["infoset"] = infoset
        nodes[node]["num_children"] = count
        nodes[node]["player"] = acting
        level = path.position[played.LEVEL]
        if count > 0:
            counts[_NODES] += count
            played.keep(source, played.moves_at(path, acting, infoset, start, count))
            level = path.position[played.LEVEL]
            trail[level, _FIRST], trail[level, _COUNT] = first, count
            trail[level, _NEXT] = 0
        while level >= 0 and trail[level, _NEXT] == trail[level, _COUNT]:
            level -= 1
        if level < 0:
            return DONE
        child = trail[level, _NEXT]
        trail[level, _NEXT] = child + 1
        counts[_NODE] = trail[level, _FIRST] + child
        below = played.stacked(level) + 1 + child
        played.go_to(rules, game, path, below)


def expand_rules(rules: BoundRules, max_nodes: int, budget: Budget) -> Expansion:
    """Expands the whole tree of a game with compiled rules.

    Args:
        rules: the game's rules.
        max_nodes: the most nodes that the tree may have.
        budget: the bytes that the tree may take and is charged with.

    Raises:
        TreeFullError: the tree has more nodes.
        MemoryBudgetError: the tree does not fit the budget, which is left as it was.
        GameError: the rules contradict themselves or what they declare; the message
            says how and where.
    """
    # Of its own, so that an expansion that fails has taken nothing.
    own, name = Budget(max(budget.left, 1)), rules.description.short_name
    store = RuleStore(rules, own)
    path, one = store.new_path(), store.tree_of_node()
    path.state[:] = rules.start()
    most, players = rules.sizes.max_children, rules.num_players
    nodes = np.zeros(min(_FEW_NODES + most, max_nodes), NODE)
    chances = kernel.new_row_table(np.int64, most)
    outcomes = kernel.new_row_table(np.int64, players)
    cdf, counts = np.zeros(most), np.array([0, 1, 0, 0])
    trail = np.zeros((len(path.history), 3), np.int32)
    # One pass writes nodes as far as there is room, and makes room for one more.
    while True:
        whole = Whole(counts, trail, cdf, *chances, *outcomes)
        tree = one._replace(nodes=nodes, infosets=store.infosets)
        frame = _LAYOUT.frame_of(tree, store.game, store.known, path, whole)
        status = expand(frame, store.called)
        if status not in (GROW, STACK_FULL):
            break
        try:
            if status == STACK_FULL:
                if len(nodes) == max_nodes:
                    raise limits.too_many_nodes(name, max_nodes)
                size = grown_size(len(nodes), int(counts[_NODES]) + most)
                own.hold(WHOLE, NODE.itemsize * min(size, max_nodes))
                resize(nodes, min(size, max_nodes))
                continue
            store.grow()
        except MemoryBudgetError as error:
            met = f"{counts[_NODES]:,} nodes and {store.sizes()[0]:,} infosets"
            raise limits.budget_full(f"{met} of {name}", budget) from error
        chances = kernel.with_room(chances, counts.item(_CHANCES), most)
        outcomes = kernel.with_room(outcomes, counts.item(_OUTCOMES), players)
        cdf = reserve(cdf, len(chances.values))
    if status != DONE:
        store.raise_broken(status - played.BROKEN, path)
    resize(nodes, counts.item(_NODES))
    store.trim()
    starts = chances.rows["start"][: counts[_CHANCES] + 1]
    utilities = outcomes.values[: players * counts[_OUTCOMES]].view(np.float64)
    expansion = Expansion(
        nodes=nodes,
        infosets=store.infosets,
        actions=store.known.actions,
        utilities=utilities.reshape(-1, players),
        chance_probs=chances.values[: starts[-1]].view(np.float64),
        chance_cdf=cdf[: starts[-1]],
        chance_starts=starts[:-1].copy(),
        keys=store.keys(),
    )
    declared = store.declared
    if declared.is_openspiels:  # whose range may be wrong, of which this warns
        for returns in expansion.utilities.tolist():
            declared = description.check_returns(declared, returns)
    budget.measured(WHOLE, expansion.nbytes)
    return expansion
