"""BlockArena: subgames of hold'em whose solvers keep tables of float32 in blocks.

A HandArena lists all infosets. A BlockArena lists them only when they are asked for,
because solvers need no list: their tables have a block `[actions, hands]` per public
decision (kernels/hand_layout.py). The numbering of infosets and sequences is that of a
HandArena.
"""

import functools
import hashlib
from typing import Any, NamedTuple

import numpy as np
import pyspiel

from mccfr_spiel.arenas.hand_arena import HandArena, HandNames
from mccfr_spiel.arenas.infosets.lock import reads
from mccfr_spiel.arenas.worlds.hand_blocks import HandBlocks, lay_out
from mccfr_spiel.arenas.worlds.hand_lists import HandInfosets, count_hands, list_hands
from mccfr_spiel.arenas.worlds.public_tree import DECISION
from mccfr_spiel.arenas.worlds.public_tree_reader import read_public_tree
from mccfr_spiel.common.arrays import MAX_INDEX
from mccfr_spiel.common.budget import Budget, MemoryBudgetError
from mccfr_spiel.common.display import brief
from mccfr_spiel.kernels.hand_layout import EDGE
from mccfr_spiel.kernels.hand_vectors import gather, spread, spread_policy

NOTHING = np.zeros(0, np.float32)
"""A table that is not needed."""

BLOCKS = "the segments of hands"
"""Name of the arrays of the layout in a budget."""


class Numbering(NamedTuple):
    """The numbers of infosets and sequences, without records.

    Attributes:
        first, members, rows: see `HandInfosets`.
        begins: `[N + 1]` first sequence of each public decision, and their number.
        records: the field "player" of `HandInfosets.records`.
    """

    first: np.ndarray
    members: list[np.ndarray]
    rows: np.ndarray
    begins: np.ndarray
    records: dict[str, "_Players"]

    node_and_hand = HandInfosets.node_and_hand


class _Players:
    """The player of each infoset, without a list of infosets."""

    def __init__(self, first: np.ndarray, player: np.ndarray, size: int) -> None:
        self._first, self._player, self._size = first, player, size

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, infoset: int) -> int:
        node = int(np.searchsorted(self._first, infoset, "right")) - 1
        return int(self._player[node])


class BlockArena(HandArena):
    """A subgame of hold'em, solved with a block of tables per public decision.

    Attributes:
        blocks: layout of the tables.
        places: `[decisions, 4]` where blocks are in vectors, see `hand_vectors`.
    """

    name, store = "blocks of hands", "blocks"

    def __init__(
        self,
        source: pyspiel.Game,
        budget: Budget,
        *,
        max_nodes: int,
        twin: bool | None = None,
    ) -> None:
        """Lays out the blocks; for the arguments see HandArena.

        Raises:
            ValueError: the game has no supported public tree, see `read_public_tree`.
            MemoryBudgetError: the game has too many sequences.
        """
        # HandArena would list the infosets.
        super(HandArena, self).__init__(source, budget, max_nodes=max_nodes, twin=twin)
        public = read_public_tree(self.game)
        boards, rows, first, begins = count_hands(public)
        if begins[-1] > MAX_INDEX:
            raise MemoryBudgetError(
                f"{brief(source)} has {begins[-1]:,} sequences of hands, more than "
                f"{MAX_INDEX:,}. Use fewer bet sizes or smaller ranges, or begin on a "
                "later street."
            )
        players = {"player": _Players(first[:-1], public.player, int(first[-1]))}
        self.numbering = Numbering(first[:-1], boards.members, rows, begins, players)
        self.infoset_names = HandNames(public, self.numbering)
        self._num_infosets = int(first[-1])
        self.blocks = lay_out(public, boards)
        self.places = _places(self.blocks, self.numbering)
        arrays = (*self.blocks.layout, self.blocks.segments.node, self.places)
        budget.record(BLOCKS, sum(array.nbytes for array in arrays))

    @functools.cached_property
    def _listed(self) -> HandInfosets:
        return list_hands(self.blocks.public, self.budget, brief(self.source))

    # Attributes of HandArena, which are listed when they are first used.

    @property
    def infosets(self) -> np.ndarray:
        """See InfosetTable; listed at the first use, after the memory is checked."""
        return self._listed.records

    @property
    def actions(self) -> np.ndarray:
        """See InfosetTable."""
        return self._listed.actions

    @property
    def worlds(self) -> Any:
        """See HandArena."""
        return self._listed.hands

    @functools.cached_property
    def utilities(self) -> np.ndarray:
        """See ArenaWithoutNodes."""
        pays = self.blocks.layout.pays.reshape(-1, 2)
        return np.unique(pays, axis=0)

    @property
    def num_infosets(self) -> int:
        """See InfosetTable."""
        return self._num_infosets

    @property
    def num_sequences(self) -> int:
        """See InfosetTable."""
        return int(self.numbering.begins[-1])

    def _kept_in_words(self) -> str:
        return f"{len(self.blocks.layout.board):,} segments"

    @reads
    def digest(self) -> str:
        """See InfosetTable; a hash of the public tree and of the listed hands, which
        determine the numbering."""
        public = self.blocks.public
        digest = hashlib.blake2b(digest_size=16)
        names = ("hole_cards", "kind", "player", "num_children", "action", "board")
        for name in names:
            array = np.ascontiguousarray(getattr(public, name))
            digest.update(array.view(np.uint8).data)
        for members in self.numbering.members:
            digest.update(members.astype(np.int64).view(np.uint8).data)
        return digest.hexdigest()

    # --- blocks and vectors ---------------------------------------------------

    def take_vectors(self, count: int) -> None:
        """Checks that vectors over all sequences fit.

        Raises:
            MemoryBudgetError: they do not fit.
        """
        size = 8 * count * self.num_sequences
        what = f"A vector over {self.num_sequences:,} sequences takes"
        self.budget.require(size, what)

    def vector_of(self, table: np.ndarray) -> np.ndarray:
        """`[S]` the entries of a table; 0 at empty sequences."""
        self.take_vectors(1)
        vector = np.zeros(self.num_sequences)
        spread(self.places, table, vector)
        return vector

    def policy_of(
        self,
        table: np.ndarray,
        ahead: np.ndarray = NOTHING,
        up: float = 1.0,
        predicts: float = 0.0,
    ) -> np.ndarray:
        """`[S]` the policy in proportion to a table, see `spread_policy`."""
        self.take_vectors(1)
        vector = np.ones(self.num_sequences)
        spread_policy(self.places, table, ahead, up, predicts, vector)
        return vector

    def table_of(self, vector: np.ndarray) -> np.ndarray:
        """The entries of a vector `[S]` as a table of float64."""
        table = np.zeros(self.blocks.num_entries)
        gather(self.places, np.asarray(vector, np.float64), table)
        return table

    def entries_of(self, infoset: int) -> np.ndarray:
        """The entries of an infoset's actions in a table."""
        node, _ = self.numbering.node_and_hand(infoset)
        row = np.searchsorted(self.places[:, 0], self.numbering.begins[node])
        _, base, count, hands = self.places[row].tolist()
        offset = infoset - int(self.numbering.first[node])
        return base + offset + hands * np.arange(count)

    def actions_at(self, infoset: int) -> list[int]:
        """OpenSpiel's legal actions at an infoset."""
        public = self.blocks.public
        node, _ = self.numbering.node_and_hand(infoset)
        first, count = public.first_child[node], public.num_children[node]
        return public.action[first : first + count].tolist()


def _places(blocks: HandBlocks, numbering: Numbering) -> np.ndarray:
    """`[decisions, 4]` where blocks are in vectors, see `hand_vectors.FIRST`."""
    public, layout = blocks.public, blocks.layout
    nodes = np.flatnonzero(public.kind == DECISION)
    segment, local = blocks.segments.node[nodes].T
    player, board = public.player[nodes], layout.board[segment]
    hands = layout.rep_starts[player, board + 1] - layout.rep_starts[player, board]
    rows = layout.starts[layout.template[segment]] + local
    edge = layout.nodes[rows, EDGE]
    base = layout.base[segment, player] + edge * hands
    columns = numbering.begins[nodes], base, public.num_children[nodes], hands
    places = np.column_stack(columns).astype(np.int64)
    return places[hands > 0]
