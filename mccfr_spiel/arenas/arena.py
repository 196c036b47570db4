"""Arena: the common interface of all representations of a game.

An arena knows the game's information sets and offers walks, gradients, or both. A walk
traverses the histories that a sampling scheme selects; a gradient is computed from the
whole game.

    kind             class             walks  gradients  file
    growing tree     GrowingTree       yes    no         tree_arenas.py
    whole tree       WholeTree         yes    yes        tree_arenas.py
    compiled rules   RuleArena         yes    no         rule_arena.py
    listed worlds    WorldArena        no     yes        world_arenas.py
    remade worlds    RemadeWorldArena  no     yes        world_arenas.py (recomputed
                                                         in each pass, not stored)
    hands of cards   HandArena         no     yes        hand_arena.py
    blocks of hands  BlockArena        no     yes        hand_arena.py
    histories        HistoryArena      no     yes        world_arenas.py

`choose_arena` in choosing.py decides which arena an algorithm gets.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np
import pyspiel

from mccfr_spiel.arenas.infosets.loading import turn_based
from mccfr_spiel.arenas.infosets.table import InfosetTable
from mccfr_spiel.arenas.tree.game_tree import small_whole_tree, whole_tree_of
from mccfr_spiel.common.arrays import NODE
from mccfr_spiel.common.budget import Budget
from mccfr_spiel.kernels import tables as layout


class WalkSpec(NamedTuple):
    """Parameters of an algorithm's walks.

    Attributes:
        sampled: sampling scheme, see `kernels.switches.Sampled`.
        rule: name of the update rule in the kernels, such as regret matching.
        epsilon: exploration rate of the updated player.
        threads: maximum number of threads that divide the walks of a batch.
        shares: whether several threads may divide the walks of a batch.
        is_sampled: whether walks sample anything.
        is_batched: whether an iteration has several walks per player (a batch).
        splits: whether the processes of a cluster divide the walks of a batch.
        initial_regret: initial regret of every action.
    """

    sampled: Any
    rule: str
    epsilon: float
    threads: int
    shares: bool
    is_sampled: bool
    is_batched: bool
    splits: bool
    initial_regret: float


class GradientPass(Protocol):
    """Computation of a utility gradient that may pause between slices of its work."""

    def go_on(self) -> bool:
        """Performs one more slice of the work; returns whether the gradient is
        complete."""
        ...

    @property
    def gradient(self) -> np.ndarray:
        """`[S]` the gradient, valid once complete; 0 at sequences of players who are
        not updated."""
        ...

    @property
    def num_nodes(self) -> int:
        """Number of nodes visited so far."""
        ...


class Engine:
    """Runs the iterations of one solver in one arena.

    Attributes:
        kernel: compiled function that runs iterations.
        num_threads: number of threads of a pass.
        bytes_per_row: bytes per infoset and bytes per sequence that this engine
            allocates in addition to the solver's tables.
        stack_height: initial capacity of a walk's stack, in nodes.
        growth: object that provides missing nodes or infosets when a walk stops for
            them, such as `tree.growth.Growth`.
    """

    kernel: Any
    growth: Any
    num_threads = 1
    bytes_per_row = 0, 0
    stack_height = 0

    def tree_arrays(self) -> layout.TreeArrays:
        """The current arrays of the game that kernels read."""
        raise NotImplementedError

    @property
    def num_nodes(self) -> int:
        """Number of nodes that exist for the kernel; 1 without stored nodes."""
        return 1

    def held(self) -> tuple[Any, ...]:
        """The arrays, or records of arrays, that may be replaced by larger copies
        between two calls of the kernel. A frame contains their addresses, so it must be
        rebuilt when one of these objects changes."""
        return self.tree_arrays()

    def frame_of(
        self, task: layout.Task, tables: layout.Tables, walk: layout.Walk
    ) -> np.ndarray:
        """The frame for the kernel: an array with the addresses of all arrays that the
        kernel reads or writes."""
        raise NotImplementedError

    def run(self, state: Any, kernel: Any, frame: np.ndarray) -> int:
        """Runs iterations up to the limits in `state.job`.

        Args:
            state: SolverState of the solver.
            kernel: kernel of this engine.
            frame: result of `frame_of`.

        Returns:
            A status of `kernels.tables`, such as DONE, PAUSED or GROW.
        """
        raise NotImplementedError


class Arena:
    """A representation of a game in which a solver runs.

    Attributes:
        name: name of the kind of arena, for messages.
        has_gradients: whether the arena knows every infoset and implements `passes`.
    """

    name: str
    has_gradients = False

    @property
    def table(self) -> Any:
        """The information sets, available to users as `solver.tree`."""
        raise NotImplementedError

    def room(self) -> tuple[int, int]:
        """Numbers of infosets and sequences for which a solver's tables must have
        rows."""
        return self.table.sizes()

    def update(self) -> None:
        """Adds the infosets that walks have visited to `table`, if the arena stores
        them elsewhere. The caller holds the lock."""

    def walks(self, spec: WalkSpec) -> Engine:
        """A new engine that runs walks."""
        raise NotImplementedError

    def passes(self, threads: int | None, *, updated: int | None = None) -> Any:
        """A FullPass, which computes gradients and best responses over the whole game.

        Args:
            threads: maximum number of threads per pass; None for one thread per core.
                Fewer threads are used if more would not save time.
            updated: number of players that one pass of a solver updates; None for a
                single pass for all players, such as an evaluation.

        Raises:
            MemoryBudgetError: the arrays that passes read do not fit `max_memory`.
            ValueError: a tree is not complete, or `threads` is not a positive integer.
        """
        raise NotImplementedError

    def saved(
        self, *, is_made_whole: bool
    ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """The data that a checkpoint stores about the arena.

        Args:
            is_made_whole: whether the solver that loads the checkpoint expands the
                whole tree before its first iteration.

        Returns:
            Entries of the checkpoint's header, and arrays by name.
        """
        raise NotImplementedError


class ArenaTable(InfosetTable, Arena):
    """An arena without stored nodes, and at the same time its table of infosets.

    Attributes:
        budget: memory budget of the arena and of everything derived from it.
        twin: argument `twin` of auxiliary trees, see `GameTree`.
        max_nodes: maximum number of nodes of auxiliary trees, for example for
            evaluation.
    """

    num_nodes, is_complete = 1, False
    maker = staticmethod(small_whole_tree)

    def __init__(
        self,
        source: pyspiel.Game,
        budget: Budget,
        *,
        max_nodes: int,
        twin: bool | None = None,
    ) -> None:
        """Stores the game; subclasses add its infosets.

        Args:
            source: the game as the user passed it.
            budget: memory budget of the arena.
            max_nodes: maximum number of nodes of trees that are cached with the arena.
            twin: argument `twin` of these trees, see `GameTree`.
        """
        super().__init__(source, turn_based(source))
        self.budget, self.max_nodes, self.twin = budget, max_nodes, twin

    @property
    def table(self) -> Any:
        """The arena itself."""
        return self

    def whole(self, max_nodes: int) -> InfosetTable | None:
        """A complete GameTree of the game, cached with the arena; None if it cannot be
        built."""
        return whole_tree_of(self, max_nodes)

    def forget_nodes(self) -> None:
        """Does nothing, because no nodes are stored (see `GameTree.forget_nodes`)."""

    def give_back(self) -> None:
        """Does nothing, because no nodes are stored (see `GameTree.give_back`)."""

    @property
    def arrays(self) -> layout.TreeArrays:
        """The infosets as arrays for kernels, with a single zeroed node in place of a
        tree."""
        probs, returns = np.zeros(1), np.zeros((1, self.num_players))
        return layout.TreeArrays(
            nodes=np.zeros(1, NODE),
            infosets=self.infosets,
            chance_probs=probs,
            chance_cdf=probs,
            utilities=returns,
        )


class NoGrowth:
    """The attribute `growth` of engines whose kernels never stop for missing nodes."""

    def go_on(self) -> None:
        """Prepares the continuation of an interrupted walk; nothing to do here."""

    def refit(self, walk: layout.Walk) -> None:
        """Restarts a walk whose nodes were dropped; here there are no nodes."""

    def must_finish(self, walk: layout.Walk) -> bool:
        """Whether other solvers of the arena must wait until the walk has ended; here
        never."""
        return False

    def look(self, tables: layout.Tables, walk: layout.Walk) -> None:
        """Checks during a long walk whether it can finish; nothing to check here."""
