"""HandArena and BlockArena: card games solved for all private hands at once.

The public tree of a card game has a node for each sequence of public events: bets and
public cards. A pass keeps a vector over private hands at each public node.

Solvers in a HandArena keep vectors of float64 over all sequences, and every algorithm
without sampling can use it. Solvers in a BlockArena keep tables of float32 with a block
`[actions, hands]` per public decision (kernels/hand_layout.py), and no list of infosets
is needed. Both arenas number infosets and sequences in the same way.
"""

import functools
import hashlib
from collections.abc import Iterable, Iterator

import numpy as np
import pyspiel

from mccfr_spiel.arenas.full_pass import FullPass
from mccfr_spiel.arenas.hand_pass import HandPass, bytes_of_gradients
from mccfr_spiel.arenas.infosets.lock import reads
from mccfr_spiel.arenas.infosets.names import InfosetNames
from mccfr_spiel.arenas.rules.game import replayed
from mccfr_spiel.arenas.tree import cutting
from mccfr_spiel.arenas.world_arenas import ArenaWithoutNodes
from mccfr_spiel.arenas.worlds.checking import check_probabilities
from mccfr_spiel.arenas.worlds.hand_blocks import lay_out
from mccfr_spiel.arenas.worlds.hand_lists import (
    Numbering,
    bytes_of_infosets,
    list_infosets,
    number_hands,
)
from mccfr_spiel.arenas.worlds.public_tree import (
    DECISION,
    FOLD,
    SHOWDOWN,
    WINS,
    PublicTree,
)
from mccfr_spiel.arenas.worlds.public_tree_reader import read_public_tree
from mccfr_spiel.common.arrays import MAX_INDEX
from mccfr_spiel.common.budget import Budget, MemoryBudgetError
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.memory import num_cores
from mccfr_spiel.kernels.hand_vectors import gather, spread, spread_policy

NOTHING = np.zeros(0, np.float32)
"""A table that is not needed."""

BLOCKS, INFOSETS = "the segments of hands", "the infosets of hands"
"""Names of the arrays of the layout, and of the infosets, in a budget."""


class HandArena(ArenaWithoutNodes):
    """A card game for two players, solved for all private hands at once.

    An infoset is a decision node of the public tree together with a hand.

    Attributes:
        infoset_names: information-state strings, which the public tree generates.
        numbering: numbers of the infosets and sequences.
        blocks: layout of the tables that passes use.
        lists_at_once: whether the infosets are listed and checked when the arena is
            made, not at the first use.
    """

    name, store, lists_at_once = "hands of cards", "worlds", True
    infoset_names: "HandNames"

    def __init__(
        self,
        source: pyspiel.Game,
        budget: Budget,
        *,
        max_nodes: int,
        twin: bool | None = None,
    ) -> None:
        """Lists the possible hands at each public node; for the arguments see
        ArenaTable.

        Raises:
            ValueError: the game has no supported public tree, see `read_public_tree`.
            MemoryBudgetError: the arrays do not fit the budget, or the game has too
                many sequences.
            GameError: the public tree contradicts itself.
        """
        super().__init__(source, budget, max_nodes=max_nodes, twin=twin)
        public = read_public_tree(self.game)
        boards, self.numbering = number_hands(public)
        if self.numbering.num_sequences > MAX_INDEX:
            raise MemoryBudgetError(f"{self._summary(public)} are too many.")
        self.blocks = lay_out(public, boards, self.numbering)
        size, more = self.blocks.nbytes, 0
        if self.lists_at_once:
            size += bytes_of_gradients(self.blocks)
            more = bytes_of_infosets(self.numbering)
        budget.require(size + more, f"{self._summary(public)} take")
        budget.record(BLOCKS, size)
        self.infoset_names = HandNames(public, self.numbering)
        if self.lists_at_once:
            gradient_of = HandPass(self, 1, pays_one=True).gradient
            rest = self.num_sequences, budget, brief(source)
            check_probabilities(gradient_of, self.infosets, *rest)

    def _summary(self, public: PublicTree) -> str:
        """The beginning of a message that the infosets do not fit."""
        numbering, count = self.numbering, int((public.kind == DECISION).sum())
        return (
            f"{numbering.num_infosets:,} infosets of hands at {count:,} public "
            f"decisions of {brief(self.source)} have {numbering.num_sequences:,} "
            "sequences. Use fewer bet sizes or smaller ranges, or begin on a later "
            "street. They"
        )

    @functools.cached_property
    def _listed(self) -> tuple[np.ndarray, np.ndarray]:
        size = bytes_of_infosets(self.numbering)
        blocks = self.blocks
        self.budget.require(size, f"{self._summary(blocks.public)} take")
        self.budget.record(INFOSETS, size)
        return list_infosets(blocks.public, blocks.boards, self.numbering)

    @property
    def infosets(self) -> np.ndarray:
        """See InfosetTable."""
        return self._listed[0]

    @property
    def actions(self) -> np.ndarray:
        """See InfosetTable."""
        return self._listed[1]

    @property
    def num_infosets(self) -> int:
        """See InfosetTable."""
        return self.numbering.num_infosets

    @property
    def num_sequences(self) -> int:
        """See InfosetTable."""
        return self.numbering.num_sequences

    @functools.cached_property
    def utilities(self) -> np.ndarray:
        """See ArenaWithoutNodes."""
        kind, pays = self.blocks.public.kind, self.blocks.public.pays
        showdowns = pays[kind == SHOWDOWN].reshape(-1, 2)
        payoffs = np.concatenate((pays[kind == FOLD, WINS], showdowns))
        return np.unique(payoffs, axis=0)

    def _kept_in_words(self) -> str:
        return f"{len(self.blocks.layout.board):,} segments"

    def states(self, infosets: Iterable[int]) -> Iterator[pyspiel.State]:
        """A state of each given infoset."""
        for infoset in infosets:
            node, hand = self.numbering.node_and_hand(infoset)
            yield replayed(self.game, self.blocks.public.history(node, hand))

    def passes(self, threads: int | None, *, updated: int | None = None) -> FullPass:
        """See Arena."""
        return HandPass(self, cutting.checked_threads(threads) or num_cores())


class BlockArena(HandArena):
    """A card game, solved with a block of tables per public decision."""

    name, store, lists_at_once = "blocks of hands", "blocks", False

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
        spread(self.blocks.places, table, vector)
        return vector

    def policy_of(
        self,
        table: np.ndarray,
        ahead: np.ndarray = NOTHING,
        up: float = 1.0,
        predicts: float = 0.0,
        tremble: float = 0.0,
    ) -> np.ndarray:
        """`[S]` the policy in proportion to a table, see `spread_policy`."""
        self.take_vectors(1)
        vector = np.ones(self.num_sequences)
        rest = up, predicts, tremble
        spread_policy(self.blocks.places, table, ahead, *rest, vector)
        return vector

    def table_of(self, vector: np.ndarray) -> np.ndarray:
        """The entries of a vector `[S]` as a table of float32."""
        table = np.zeros(self.blocks.num_entries, np.float32)
        gather(self.blocks.places, np.asarray(vector, np.float64), table)
        return table

    def entries_of(self, infoset: int) -> np.ndarray:
        """The entries of an infoset's actions in a table."""
        node, _ = self.numbering.node_and_hand(infoset)
        places = self.blocks.places
        row = np.searchsorted(places[:, 0], self.numbering.begins[node])
        _, base, count, hands = places[row, :4].tolist()
        offset = infoset - int(self.numbering.first[node])
        return base + offset + hands * np.arange(count)

    def actions_at(self, infoset: int) -> list[int]:
        """OpenSpiel's legal actions at an infoset."""
        public = self.blocks.public
        node, _ = self.numbering.node_and_hand(infoset)
        first, count = public.first_child[node], public.num_children[node]
        return public.action[first : first + count].tolist()


class HandNames(InfosetNames):
    """Names of the infosets of a public tree.

    Attributes:
        public: the public tree.
        numbering: maps an infoset to a node and a hand.
    """

    def __init__(self, public: PublicTree, numbering: Numbering) -> None:
        super().__init__(_Players(numbering))
        self.public, self.numbering = public, numbering

    def __iter__(self) -> Iterator[str]:
        return map(self.info_state, range(len(self)))

    def info_state(self, infoset: int) -> str:
        """The information-state string of an infoset."""
        return self.public.info_state(*self.numbering.node_and_hand(infoset))

    def find(self, info_state: str, player: int | None = None) -> int:
        """See InfosetNames. If the public tree can parse strings, no index of strings
        is built."""
        if self.public.locate is None:
            return super().find(info_state, player)
        try:
            node, hand = self.public.locate(info_state)
        except ValueError:
            return -1
        numbering = self.numbering
        places = np.flatnonzero(numbering.members[numbering.rows[node]] == hand)
        is_its = player in (None, self.public.player[node]) and len(places) > 0
        if not is_its or self.public.kind[node] != DECISION:
            return -1
        infoset = int(numbering.first[node] + places[0])
        return infoset if self.info_state(infoset) == info_state else -1

    def shared(self) -> set[str]:
        """The strings that infosets of several players have in common; assumed to be
        none if the public tree can parse strings."""
        return super().shared() if self.public.locate is None else set()


class _Players:
    """The player of each infoset, without a list of infosets."""

    def __init__(self, numbering: Numbering) -> None:
        self._numbering = numbering

    def __len__(self) -> int:
        return self._numbering.num_infosets

    def __iter__(self) -> Iterator[int]:
        counts = np.diff(self._numbering.first)
        return iter(np.repeat(self._numbering.player, counts).tolist())

    def __getitem__(self, infoset: int) -> int:
        node, _ = self._numbering.node_and_hand(infoset)
        return int(self._numbering.player[node])
