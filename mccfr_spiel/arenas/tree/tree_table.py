"""TreeTable: read access to the nodes and infosets of a tree.

`GameTree` in game_tree.py adds the expansion.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.arenas.infosets.loading import turn_based
from mccfr_spiel.arenas.infosets.lock import reads, steps
from mccfr_spiel.arenas.infosets.names import InfosetNames
from mccfr_spiel.arenas.infosets.table import Abstraction, InfosetTable
from mccfr_spiel.arenas.rules.bound_rules import (
    rules_of,
)
from mccfr_spiel.arenas.rules.declarations import (
    declared_by,
)
from mccfr_spiel.arenas.rules.row_table import (
    key_place,
)
from mccfr_spiel.arenas.tree.chance_and_returns import Distributions, Payoffs
from mccfr_spiel.arenas.tree.met_infosets import Infosets
from mccfr_spiel.arenas.tree.met_names import MetNames
from mccfr_spiel.arenas.tree.nodes import Nodes
from mccfr_spiel.arenas.tree.tree_description import TreeDescription, describe
from mccfr_spiel.common import display
from mccfr_spiel.common.budget import (
    MaxMemory,
    make_budget,
)
from mccfr_spiel.kernels import plans, traversal
from mccfr_spiel.kernels.randomness import infoset_place
from mccfr_spiel.kernels.tables import TreeArrays

_FEW_NODES = 1_000_000
"""Maximum number of nodes of a tree for which `repr` determines whether every node is
expanded, which takes time."""

NewState = Callable[[], Any]
"""A function without arguments that returns a new state at the root."""


class TreeTable(InfosetTable):
    """The expanded part of a tree, in arrays.

    Shapes: N nodes, I infosets, S sequences of all players, P players.

    Attributes:
        budget: memory budget of the tree and of everything derived from it.
        max_nodes: maximum number of nodes.
        may_use_twin: whether compiled rules are possible: False if the tree has an
            abstraction or an argument `new_state`.
        rules: compiled rules of the game itself; None if there are none or they must
            not be used.
        declared: the numbers that the game declares about itself.
        met: the infosets found so far.
        node_store: the nodes.
        distributions: the chance distributions.
        payoffs: the returns of terminal nodes.

    Only methods of the tree and its expansion modify `met`, `node_store`,
    `distributions` and `payoffs`.
    """

    store = "tree"

    def __init__(
        self,
        source: pyspiel.Game,
        abstraction: Abstraction | None,
        new_state: NewState | None,
        *,
        max_nodes: int,
        max_memory: MaxMemory,
    ) -> None:
        """Creates a tree with one unexpanded node, see `GameTree`."""
        super().__init__(source, turn_based(source), abstraction)
        self.max_nodes = max_nodes
        self.budget = make_budget(max_memory)
        self._new_state = new_state or self.game.new_initial_state
        self.may_use_twin = abstraction is None and new_state is None
        self.rules = rules_of(self.game) if self.may_use_twin else None
        self.declared = declared_by(self.game)
        self.met = Infosets(
            self.game,
            self.num_players,
            self.budget,
            may_forget=abstraction is not None,
        )
        self.node_store = Nodes(self.game, self.max_nodes, self.budget, self.met)
        self.distributions = Distributions(self.declared.name, self.budget)
        self.payoffs = Payoffs(self.declared, self.budget)

    # --- display -------------------------------------------------------------

    @display.never_raises
    def __repr__(self) -> str:
        return display.line(
            self,
            display.title(self.source),
            display.counted(self.num_nodes, "node"),
            display.counted(self.num_infosets, "infoset"),
            self._kept_in_words(),
            "" if self.abstraction is None else "with an abstraction",
        )

    def _kept_in_words(self) -> str:
        if not self.num_infosets:
            return "nothing expanded yet"
        if self.num_nodes > _FEW_NODES:
            return ""
        return "complete" if self.is_complete else "as far as met"

    @display.never_raises
    def _repr_html_(self) -> str:
        if self.num_nodes > _FEW_NODES:
            return display.html_line(repr(self))
        return self.describe()._repr_html_()

    @reads
    def describe(self) -> TreeDescription:
        """Returns the number of nodes of each type, the depth, the numbers of infosets
        and sequences, and the memory.

        Counting takes about a tenth of a second per million nodes.
        """
        return describe(self.source, self.nodes, self.infosets, self.budget.taken)

    # --- sizes and arrays ----------------------------------------------------

    @property
    def num_nodes(self) -> int:
        """N, the number of nodes, expanded or not."""
        return self.node_store.count

    @property
    def infosets(self) -> np.ndarray:
        """`[I]` infoset records of dtype INFOSET."""
        return self.met.used()

    @property
    @reads
    def actions(self) -> np.ndarray:
        """`[S]` OpenSpiel's action of each sequence; -1 for empty sequences."""
        return self.met.action_array()

    @property
    def infoset_names(self) -> InfosetNames:
        """The information-state strings of the infosets, with lookup by string."""
        return self.met.names

    @property
    @reads
    def info_states(self) -> list[str]:
        """`[I]` information-state strings, cached between calls."""
        return self.met.strings()

    @property
    def num_infosets(self) -> int:
        """I, the number of infosets found so far."""
        return len(self.met.parents)

    @property
    def num_sequences(self) -> int:
        """S, the number of sequences of all players, including empty ones."""
        return len(self.met.actions)

    @property
    def is_new(self) -> bool:
        """Whether nothing has been expanded: there is one node and no infoset."""
        return self.num_nodes == 1 and not self.num_infosets

    @property
    def is_complete(self) -> bool:
        """Whether every node is expanded."""
        return self.node_store.are_complete

    @property
    def knows_all_infosets(self) -> bool:
        """Whether the tree is complete."""
        return self.is_complete

    @property
    def is_repeatable(self) -> bool:
        """Whether expanding a new tree of this game by `expand_all` surely gives the
        same numbering of infosets.

        True if compiled rules expanded the whole tree, or if the tree was read from a
        file.
        """
        return not isinstance(self.met.names, MetNames)

    @property
    def generation(self) -> int:
        """Number of times that all nodes have been dropped, see `Nodes.generation`."""
        return self.node_store.generation

    @property
    def nodes(self) -> np.ndarray:
        """`[N]` node records of dtype NODE, read-only."""
        view = self.node_store.used().view()
        view.flags.writeable = False
        return view

    @property
    def chance_probs(self) -> np.ndarray:
        """`[C]` concatenated chance distributions."""
        # Count before array: a concurrent thread enlarges the array, then increases
        # the count.
        count = self.distributions.count
        return self.distributions.probs[:count]

    @property
    def chance_cdf(self) -> np.ndarray:
        """`[C]` cumulative sums within each distribution, exactly 1 from its last
        outcome of positive probability on."""
        count = self.distributions.count
        return self.distributions.cdf[:count]

    @property
    @reads
    def chance_starts(self) -> np.ndarray:
        """Index in `chance_probs` at which each distribution starts, ascending."""
        return np.array(sorted(self.distributions.starts.values()), np.int64)

    @property
    def utilities(self) -> np.ndarray:
        """`[U, P]` the U distinct vectors of returns."""
        count = len(self.payoffs.rows)
        return self.payoffs.values[:count]

    @property
    def arrays(self) -> TreeArrays:
        """The arrays that kernels read, without unused rows."""
        return TreeArrays(
            nodes=self.node_store.used(),
            infosets=self.met.used(),
            chance_probs=self.chance_probs,
            chance_cdf=self.chance_cdf,
            utilities=self.utilities,
        )

    @property
    def storage(self) -> tuple[np.ndarray, ...]:
        """The fields of `TreeArrays`, with unused rows at the ends of the arrays.

        An array that must grow is replaced by a larger copy. Callers compare the
        objects by identity to find out whether that has happened.
        """
        met, chance = self.met, self.distributions
        return (
            self.node_store.records,
            met.records,
            chance.probs,
            chance.cdf,
            self.payoffs.values,
        )

    # --- states and reaches of infosets --------------------------------------

    def place(self, info_state: str, player: int, state: pyspiel.State) -> int:
        """64-bit hash that seeds random draws at the infoset of a state, see
        kernels/randomness.py.

        Args:
            info_state: information-state string of the player.
            player: acting player.
            state: the state.
        """
        if self.rules is None:
            return infoset_place(player, info_state)
        vector = getattr(state, "vector", None)
        # A wrapper of OpenSpiel around the game hides the state vector.
        if vector is None:
            vector = self.rules.state_after(state.history())
        return key_place(player, self.rules.info_key(vector, player))

    def new_state(self) -> pyspiel.State:
        """A new state at the root."""
        return self._new_state()

    def first_nodes(self) -> np.ndarray:
        """`[I]` lowest number of a node of each infoset; -1 if the infoset has no
        nodes, because they were dropped or the infoset was read from a file."""
        nodes, first = self.nodes, np.full(self.num_infosets, -1, np.int64)
        deciding = np.flatnonzero(nodes["player"] >= 0)[::-1]
        # `deciding` is in descending order. NumPy writes repeated indices in order, so
        # the lowest node of each infoset remains.
        first[nodes["infoset"][deciding]] = deciding
        return first

    def states(self, infosets: Iterable[int]) -> Iterator[pyspiel.State | None]:
        """A state of each given infoset; None if the tree has no node of it."""
        first = self.first_nodes().tolist()
        for infoset in infosets:
            node = first[infoset]
            yield self.state_at(node)[0] if node >= 0 else None

    def reaches(self, policy: np.ndarray) -> np.ndarray | None:
        """`[I]` probability of reaching each infoset if all players follow a policy
        `[S]`.

        Returns:
            None if the tree is not complete or has an abstraction.
        """
        if self.abstraction is not None or not self.is_complete:
            return None
        plan, reaches = np.ones_like(policy), np.zeros(self.num_infosets)
        plans.fill_plan(self.infosets, policy, plan)
        traversal.add_reaches(self.arrays, plan, reaches)
        return reaches * plan[self.infosets["parent"]]

    @steps
    def state_at(self, node: int) -> tuple[pyspiel.State, list[int]]:
        """The state of a node, and `[P]` each player's last sequence before it."""
        return self.state_at_held(node)

    def state_at_held(self, node: int) -> tuple[pyspiel.State, list[int]]:
        """Same as `state_at`, for callers that hold the lock of the tree."""
        return self.node_store.state_at(node, self.new_state(), self.met.actions)
