"""The nodes of a tree: their records, the way from each to the root, and their room;
and the chance distributions and the payoffs that they refer to.

The states of nodes are not kept: their histories are replayed.
"""

import itertools
import struct
from collections.abc import Sequence

import numpy as np
import pyspiel

from mccfr_spiel.arenas.rules import description
from mccfr_spiel.arenas.tree.infosets import Infosets, hold_list, refuse_children
from mccfr_spiel.common import limits
from mccfr_spiel.common.arrays import (
    MAX_CHILDREN,
    NODE,
    TERMINAL,
    UNEXPANDED,
    grown_size,
    reserve,
)
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.limits import Budget

NODES, UNCOUNTED = "nodes", "what cannot be counted"
OUTCOMES = "the outcomes of chance at nodes with many"
"""Names under which a tree's budget holds bytes that are not those of infosets."""

_LISTS, _FLOAT_BYTES = "distributions and returns", 64
"""The budget's name for chance distributions and vectors of returns, and the bytes that
each of their numbers takes: in the tuple by which it is looked up, and in arrays."""

_pack = struct.Struct("<iiiHh").pack_into
_unpack = struct.Struct("<iiiHh").unpack_from
_SIZE = NODE.itemsize

_FEW, _FEW_ROWS, _MANY_OUTCOMES = 1024, 16, 1000


class Nodes:
    """A tree's nodes, of which the first is the root.

    The records are written through `memoryview`s, which is several times faster than
    through NumPy. `_set` replaces an array together with its view.

    Attributes:
        records: `[N + room]` of dtype NODE.
        count: N.
        generation: how often all nodes were dropped, after which a number means
            another node.
    """

    def __init__(
        self, game: pyspiel.Game, max_nodes: int, budget: Budget, infosets: Infosets
    ) -> None:
        """One unexpanded node, the root.

        Args:
            game, infosets: for messages.
            max_nodes: the most that there may be.
            budget: from which the bytes of nodes are taken.
        """
        self._game, self._max_nodes = game, max_nodes
        self._budget, self._infosets = budget, infosets
        self.count = 1
        self.generation = 0
        self._is_whole = self._takes_everything = False
        self._huge: list[range] = []  # the children of nodes with very many
        self._outcomes: dict[int, np.ndarray] = {}  # see `keep_outcomes`
        self._set(*_unexpanded(_FEW))

    def _set(self, records: np.ndarray, origins: np.ndarray) -> None:
        """Replaces the arrays.

        `origins` has, at each node that is a first child, its parent's number + 1, and
        0 elsewhere. With siblings being contiguous that is enough to go upward.
        """
        room = min(len(records), self._max_nodes)
        buffers = records.view(np.uint8).data, origins.data
        # No call in between, where Ctrl-C could come.
        self.records, self._origins = records, origins
        self._bytes, self._origin_of = buffers
        self._room = room

    def used(self) -> np.ndarray:
        """`[N]` the records."""
        count = self.count  # first: another thread may enlarge both
        return self.records[:count]

    @property
    def are_complete(self) -> bool:
        """Whether every node has been expanded."""
        if self._is_whole or self._huge:
            return self._is_whole
        return bool((self.used()["player"] != UNEXPANDED).all())

    def record(self, node: int) -> tuple[int, int, int, int, int]:
        """A node's `first_child`, `start`, `infoset`, `num_children` and `player`."""
        return _unpack(self._bytes, _SIZE * node)

    # --- growing -------------------------------------------------------------

    def end(self, node: int, row: int, player: int) -> None:
        """Writes the record of a terminal node, whose payoffs are in that row."""
        _pack(self._bytes, _SIZE * node, 0, row, -1, 0, player)

    def branch(
        self, node: int, start: int, infoset: int, num_children: int, player: int
    ) -> int:
        """Writes the record of an inner node; returns the first of its new children.

        Raises:
            TreeFullError: there is no room for the children.
            ValueError: a whole tree is being made, and its records cannot hold a
                number of children that large.
        """
        if num_children > MAX_CHILDREN:
            if self._takes_everything:
                raise refuse_children(self._game, num_children)
            num_children, infoset = 0, -num_children
        first = self.count
        stop = first + (num_children or -infoset)
        if stop > self._room:
            self._reserve(stop)
        # In this order Ctrl-C may come in between.
        if num_children == 0:
            self._huge.append(range(first, stop))
        self._origin_of[first] = node + 1
        self.count = stop
        _pack(self._bytes, _SIZE * node, first, start, infoset, num_children, player)
        return first

    def take_everything(self, is_wanted: bool) -> None:
        """Says whether nodes may take all of the budget, for a whole expansion.

        While walks decide what is expanded, nodes take at most half of what infosets
        leave, since nodes can be dropped and met again, and infosets cannot.
        """
        self._takes_everything = is_wanted

    def _reserve(self, size: int) -> None:
        if size > self._max_nodes:
            raise limits.too_many_nodes(self._game, self._max_nodes)
        room = len(self.records)
        if size > room:
            self._hold(size)
        records = reserve(self.records, size)
        records["player"][room:] = UNEXPANDED
        self._set(records, reserve(self._origins, len(records)))

    def _hold(self, size: int) -> None:
        """Takes the bytes of room for `size` nodes from the budget."""
        budget = self._budget
        needed = limits.NODE_BYTES * grown_size(len(self.records), size)
        most = budget.left  # the old array is there, too, for a moment
        if not self._takes_everything:
            most = min(most, (budget.left + budget.held(NODES)) // 2)
        if needed > most:
            raise self.full()
        budget.hold(NODES, needed)

    def full(self, what: str = "") -> limits.MemoryBudgetError:
        """The error that says that the nodes and infosets fill the budget.

        Args:
            what: names what else takes bytes; it is put behind the nodes and infosets.
        """
        counted = f"{self.count:,} nodes and {len(self._infosets):,} infosets"
        return limits.budget_full(
            f"{counted} of {brief(self._game)}{what}", self._budget
        )

    def take_over(self, records: np.ndarray) -> None:
        """Becomes the nodes of a whole tree, whose array they keep."""
        self._set(records, np.zeros(0, np.int32))  # no origins until somebody asks
        self.count = len(records)
        self._is_whole = True

    def forget(self) -> None:
        """Drops all nodes but the root, which is unexpanded then."""
        self.generation += 1
        self._is_whole, self._huge, self._outcomes = False, [], {}
        self._budget.measured(OUTCOMES, 0)
        self.records["player"] = UNEXPANDED  # first: Ctrl-C may come in between
        self._set(self.records, np.zeros(len(self.records), np.int32))
        self.count = 1

    def give_back(self) -> None:
        """Frees the memory of dropped nodes, which is otherwise kept for new nodes."""
        if self.count > 1:
            return
        self._set(*_unexpanded(_FEW))
        self._budget.measured(NODES, _FEW * limits.NODE_BYTES)

    # --- going up, and down again ----------------------------------------------

    def infosets_above(self, node: int) -> list[int]:
        """The infosets of the nodes above one, the lowest first; -1 for chance."""
        return [self.record(above)[2] for above in self._way_to(node)[1:]]

    def state_at(
        self, node: int, state: pyspiel.State, actions: Sequence[int]
    ) -> tuple[pyspiel.State, list[int]]:
        """A node's state, and each player's last sequence before it.

        Args:
            node: the node.
            state: that of the root, which is moved on.
            actions: of all sequences.
        """
        sequences = list(range(state.num_players()))
        # One pass makes the move from a node to the one below it on the way.
        for above, below in itertools.pairwise(reversed(self._way_to(node))):
            first, start, _, _, player = self.record(above)
            child = below - first
            try:
                if player >= 0:
                    sequences[player] = start + child
                    state.apply_action(int(actions[start + child]))
                elif above in self._outcomes:
                    state.apply_action(int(self._outcomes[above][child]))
                else:
                    state.apply_action(state.chance_outcomes()[child][0])
            except Exception as error:
                description.tell_history(error, state)
                raise
        return state, sequences

    def keep_outcomes(self, node: int, outcomes: Sequence[tuple[int, float]]) -> None:
        """Keeps chance's actions at a node where a game takes long to list them.

        Raises:
            MemoryBudgetError: they do not fit.
        """
        if len(outcomes) > _MANY_OUTCOMES:
            hold_list(self._budget, OUTCOMES, len(outcomes), 8)
            self._outcomes[node] = np.array([action for action, _ in outcomes])

    def _way_to(self, node: int) -> list[int]:
        """The nodes from one upward to the root, both included."""
        if len(self._origins) < self.count:  # taken over, and asked for the first time
            self._set(self.records, _origins_of(self.used()))
        origin_of, path = self._origin_of, [node]
        # One pass adds one node. Its siblings follow each other, so that the nearest
        # origin at or before it belongs to the first of them.
        while node:
            for children in self._huge:
                if node in children:
                    node = children.start
            while not origin_of[node]:
                node -= 1
            node = origin_of[node] - 1
            path.append(node)
        return path


def _unexpanded(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Records of unexpanded nodes, and the origins that go with them."""
    records = np.zeros(count, NODE)
    records["player"] = UNEXPANDED
    return records, np.zeros(count, np.int32)


def _origins_of(records: np.ndarray) -> np.ndarray:
    """The origins of a complete tree."""
    inner = np.flatnonzero(records["num_children"])
    origins = np.zeros(len(records), np.int32)
    origins[records["first_child"][inner]] = inner + 1
    return origins


# --- chance and payoffs, each different one kept once ---------------------------------


class Distributions:
    """The chance distributions met, one after the other.

    Attributes:
        starts: where each distribution begins in the arrays.
        probs: `[C + room]` the probabilities.
        cdf: `[C + room]` their running sums in each distribution, exactly 1 from the
            last possible outcome on.
        count: C.
    """

    def __init__(self, name: str, budget: Budget) -> None:
        """No distributions; `name` is what messages call the game."""
        self.starts: dict[tuple[float, ...], int] = {}
        self.probs, self.cdf = np.zeros(_FEW_ROWS), np.zeros(_FEW_ROWS)
        self.count = 0
        self._name, self._budget = name, budget

    def add(self, probs: tuple[float, ...]) -> int:
        """Keeps a new distribution; returns where it begins.

        Raises:
            GameError: it is no distribution.
            MemoryBudgetError: it does not fit the budget.
        """
        description.check_probs(self._name, probs)
        hold_list(self._budget, _LISTS, len(probs), _FLOAT_BYTES)
        values = np.array(probs, np.float64)
        start = self.count
        stop = self.count = start + len(probs)
        self.probs = reserve(self.probs, stop)
        self.cdf = reserve(self.cdf, stop)
        self.probs[start:stop] = values
        self.cdf[start:stop] = np.cumsum(values)
        # Rounding must leave no gap below 1, where a draw would find no outcome.
        last = start + np.flatnonzero(values)[-1]
        self.cdf[last:stop] = 1
        self.starts[probs] = start
        return start

    def take_over(self, probs: np.ndarray, cdf: np.ndarray, starts: np.ndarray) -> None:
        """Takes the distributions of a whole tree in place of its own."""
        values, bounds = probs.tolist(), [*starts.tolist(), len(probs)]
        self.starts = {
            tuple(values[start:stop]): start
            for start, stop in itertools.pairwise(bounds)
        }
        self.probs = np.ascontiguousarray(probs)
        self.cdf = np.ascontiguousarray(cdf)
        self.count = len(self.probs)


class Payoffs:
    """The different vectors of returns met.

    Attributes:
        rows: returns -> the row that holds them.
        values: `[U + room, P]` the returns.
    """

    def __init__(self, declared: description.Declared, budget: Budget) -> None:
        """No returns; those that come must keep to what the game declares."""
        self.rows: dict[tuple[float, ...], int] = {}
        self.values = np.zeros((_FEW_ROWS, declared.num_players))
        self._declared, self._budget = declared, budget

    def add(self, returns: tuple[float, ...], state: pyspiel.State) -> int:
        """Keeps the returns of a terminal state for the first time; gives their row.

        Raises:
            GameError: they are not as declared, or the state is not terminal.
            MemoryBudgetError: they do not fit the budget.
        """
        if not state.is_terminal():
            raise description.GameError(
                f"{self._declared.name} has a state where nobody acts "
                f"(current_player() is {TERMINAL}), but which is not terminal "
                "(is_terminal())."
            )
        self._declared = description.check_returns(self._declared, returns)
        hold_list(self._budget, _LISTS, len(returns), _FLOAT_BYTES)
        row = len(self.rows)
        self.values = reserve(self.values, row + 1)
        self.values[row] = returns
        self.rows[returns] = row
        return row

    def take_over(self, values: np.ndarray) -> None:
        """Takes the returns of a whole tree in place of its own."""
        self.values = values
        vectors: Sequence[Sequence[float]] = values.tolist()
        self.rows = {tuple(returns): row for row, returns in enumerate(vectors)}
