"""Nodes: the node records of a tree and the path from each node to the root.

States of the game are not stored; `state_at` replays the history of a node.
"""

import itertools
import struct
from collections.abc import Sequence

import numpy as np
import pyspiel

from mccfr_spiel.arenas.rules.state_checks import tell_history
from mccfr_spiel.arenas.tree.met_infosets import Infosets, hold_list, refuse_children
from mccfr_spiel.common import forecasts
from mccfr_spiel.common.arrays import (
    MAX_CHILDREN,
    NODE,
    UNEXPANDED,
    grown_size,
    reserve,
)
from mccfr_spiel.common.budget import (
    Budget,
    MemoryBudgetError,
    budget_full,
    too_many_nodes,
)
from mccfr_spiel.common.display import brief

NODES, UNCOUNTED = "nodes", "what cannot be counted"
"""Names under which the budget counts node records, and memory that is not counted in
advance but measured by the growth of the process."""
OUTCOMES = "the outcomes of chance at nodes with many"
"""Name under which the budget counts the outcome lists of large chance nodes."""

_pack = struct.Struct("<iiiHh").pack_into
_unpack = struct.Struct("<iiiHh").unpack_from
_SIZE = NODE.itemsize

_FEW, _MANY_OUTCOMES = 1024, 1000
"""Initial capacity in nodes, and number of outcomes above which a chance node is large.
"""


class Nodes:
    """The nodes of a tree; node 0 is the root.

    Records are written through `memoryview`s, which is several times faster than
    through NumPy. `_set` replaces an array together with its view.

    A *huge* node has more than MAX_CHILDREN children, which the field `num_children` of
    a record cannot store, see `common.arrays.NODE`.

    Attributes:
        records: `[N]` records of dtype NODE, followed by unused records.
        count: N, the number of nodes, expanded or not.
        generation: number of times that all nodes have been dropped. Afterwards new
            nodes reuse the numbers, so a node number is only valid together with its
            generation.
    """

    def __init__(
        self, game: pyspiel.Game, max_nodes: int, budget: Budget, infosets: Infosets
    ) -> None:
        """Creates a store with one node, the unexpanded root.

        Args:
            game: game in messages.
            max_nodes: maximum number of nodes.
            budget: memory budget of the tree.
            infosets: infosets of the tree, whose number appears in messages.
        """
        self._game, self._max_nodes = game, max_nodes
        self._budget, self._infosets = budget, infosets
        self.count = 1
        self.generation = 0
        self._is_whole = self._takes_everything = False
        # The children of each huge node, as a range.
        self._huge: list[range] = []
        self._outcomes: dict[int, np.ndarray] = {}  # see `keep_outcomes`
        self._set(*_unexpanded(_FEW))

    def _set(self, records: np.ndarray, origins: np.ndarray) -> None:
        """Replaces the arrays.

        Args:
            records: records of dtype NODE.
            origins: 1 + the number of the parent at each node that is a first child; 0
                at other nodes. Siblings are contiguous, so this suffices to find the
                parent of any node.
        """
        room = min(len(records), self._max_nodes)
        buffers = records.view(np.uint8).data, origins.data
        # There are no calls below this line. So Ctrl-C cannot interrupt between the
        # assignments.
        self.records, self._origins = records, origins
        self._bytes, self._origin_of = buffers
        self._room = room

    def used(self) -> np.ndarray:
        """`[N]` the records in use."""
        # Count before array: a concurrent thread enlarges the array, then increases
        # the count, so the array has at least `count` rows.
        count = self.count
        return self.records[:count]

    @property
    def are_complete(self) -> bool:
        """Whether every node is expanded."""
        if self._is_whole or self._huge:
            return self._is_whole
        return bool((self.used()["player"] != UNEXPANDED).all())

    def record(self, node: int) -> tuple[int, int, int, int, int]:
        """The fields `first_child`, `start`, `infoset`, `num_children` and `player` of
        a node."""
        return _unpack(self._bytes, _SIZE * node)

    # --- adding nodes --------------------------------------------------------

    def end(self, node: int, row: int, player: int) -> None:
        """Writes the record of a terminal node.

        Args:
            node: the node.
            row: row of its returns in `Payoffs.values`.
            player: TERMINAL.
        """
        _pack(self._bytes, _SIZE * node, 0, row, -1, 0, player)

    def branch(
        self, node: int, start: int, infoset: int, num_children: int, player: int
    ) -> int:
        """Writes the record of an inner node and adds its children, unexpanded.

        Args:
            node: the node.
            start: first sequence of the infoset, or first entry of the chance
                distribution.
            infoset: number of the infoset; -1 at a chance node.
            num_children: number of children.
            player: acting player, or CHANCE_NODE.

        Returns:
            The number of the first child.

        Raises:
            TreeFullError: the children exceed the limits of the tree.
            ValueError: a whole tree is being expanded, and the node is huge. Only trees
                that grow with walks may have huge chance nodes.
        """
        if num_children > MAX_CHILDREN:
            if self._takes_everything:
                raise refuse_children(self._game, num_children)
            num_children, infoset = 0, -num_children
        first = self.count
        stop = first + (num_children or -infoset)
        if stop > self._room:
            self._reserve(stop)
        # The record is written at the end. If Ctrl-C interrupts earlier, the node is
        # still unexpanded, and the added children belong to no node.
        if num_children == 0:
            self._huge.append(range(first, stop))
        self._origin_of[first] = node + 1
        self.count = stop
        _pack(self._bytes, _SIZE * node, first, start, infoset, num_children, player)
        return first

    def take_everything(self, is_wanted: bool) -> None:
        """Sets whether nodes may use the whole remaining budget, as in the expansion of
        a whole tree.

        In a tree that grows with walks, nodes use at most half of the memory that
        infosets do not use, because nodes can be dropped and expanded again, but
        infosets cannot.
        """
        self._takes_everything = is_wanted

    def _reserve(self, size: int) -> None:
        if size > self._max_nodes:
            raise too_many_nodes(self._game, self._max_nodes)
        room = len(self.records)
        if size > room:
            self._hold(size)
        records = reserve(self.records, size)
        records["player"][room:] = UNEXPANDED
        self._set(records, reserve(self._origins, len(records)))

    def _hold(self, size: int) -> None:
        """Counts the bytes of arrays for at least `size` nodes in the budget.

        Raises:
            MemoryBudgetError: the arrays do not fit.
        """
        budget = self._budget
        needed = forecasts.NODE_BYTES * grown_size(len(self.records), size)
        # Old and new array exist at the same time for a moment. So the new array must
        # fit the remaining bytes, although the old one will be freed.
        most = budget.left
        if not self._takes_everything:
            most = min(most, (budget.left + budget.held[NODES]) // 2)
        if needed > most:
            raise self.full()
        budget.hold(NODES, needed)

    def full(self, what: str = "") -> MemoryBudgetError:
        """The error for a budget that nodes and infosets have filled.

        Args:
            what: text that follows "... nodes and ... infosets of GAME" in the message
                and names other memory.
        """
        counted = f"{self.count:,} nodes and {len(self._infosets):,} infosets"
        return budget_full(f"{counted} of {brief(self._game)}{what}", self._budget)

    def take_over(self, records: np.ndarray) -> None:
        """Adopts the `[N]` node records of a complete tree without copying."""
        self._set(records, np.zeros(0, np.int32))  # `_way_to` computes the origins
        self.count = len(records)
        self._is_whole = True

    def forget(self) -> None:
        """Drops all nodes except the root, which becomes unexpanded, and begins a new
        generation. The memory remains allocated for new nodes, see `give_back`."""
        self.generation += 1
        self._is_whole, self._huge, self._outcomes = False, [], {}
        self._budget.record(OUTCOMES, 0)
        # If Ctrl-C interrupts below this line, all nodes are unexpanded.
        self.records["player"] = UNEXPANDED
        self._set(self.records, np.zeros(len(self.records), np.int32))
        self.count = 1

    def give_back(self) -> None:
        """Frees the memory of dropped nodes; otherwise new nodes reuse it.

        Does nothing if new nodes exist already.
        """
        if self.count > 1:
            return
        self._set(*_unexpanded(_FEW))
        self._budget.record(NODES, _FEW * forecasts.NODE_BYTES)

    # --- paths to the root ---------------------------------------------------

    def infosets_above(self, node: int) -> list[int]:
        """Infosets of the ancestors of a node, from its parent up to the root; negative
        numbers at chance nodes."""
        return [self.record(above)[2] for above in self._way_to(node)[1:]]

    def state_at(
        self, node: int, state: pyspiel.State, actions: Sequence[int]
    ) -> tuple[pyspiel.State, list[int]]:
        """The state of a node, and each player's last sequence before the node.

        Args:
            node: the node.
            state: a new state at the root, to which the moves are applied.
            actions: `[S]` OpenSpiel's action of each sequence.
        """
        sequences = list(range(state.num_players()))
        # Apply the moves along the path.
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
                tell_history(error, state)
                raise
        return state, sequences

    def keep_outcomes(self, node: int, outcomes: Sequence[tuple[int, float]]) -> None:
        """Stores the outcomes of a chance node if it has more than `_MANY_OUTCOMES`.

        `state_at` then need not call the game's `chance_outcomes`, which is slow for
        such nodes.

        Args:
            node: the chance node.
            outcomes: pairs of outcome and probability.

        Raises:
            MemoryBudgetError: the outcomes do not fit.
        """
        if len(outcomes) > _MANY_OUTCOMES:
            hold_list(self._budget, OUTCOMES, len(outcomes), 8)
            self._outcomes[node] = np.array([action for action, _ in outcomes])

    def _way_to(self, node: int) -> list[int]:
        """The nodes on the path from a node up to the root, including both."""
        if len(self._origins) < self.count:  # after `take_over`
            self._set(self.records, _origins_of(self.used()))
        origin_of, path = self._origin_of, [node]
        # Each pass replaces `node` by the parent and appends the parent to the path.
        # Siblings are contiguous, so a search backwards for a nonzero origin finds the
        # first sibling. The siblings below a huge node are skipped in one step, because
        # the search would be long. The loop ends at the root, node 0.
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
    """Records and origins (see `Nodes._set`) of `count` unexpanded nodes."""
    records = np.zeros(count, NODE)
    records["player"] = UNEXPANDED
    return records, np.zeros(count, np.int32)


def _origins_of(records: np.ndarray) -> np.ndarray:
    """Origins (see `Nodes._set`) of all nodes of a complete tree."""
    inner = np.flatnonzero(records["num_children"])
    origins = np.zeros(len(records), np.int32)
    origins[records["first_child"][inner]] = inner + 1
    return origins
