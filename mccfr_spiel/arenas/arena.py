"""Arena: the common interface of all representations of a game.

An arena knows the game's information sets and offers walks, gradients, or both:

    kind             class             walks  gradients  file
    growing tree     GrowingTree       yes    no         tree_arenas.py
    whole tree       WholeTree         yes    yes        tree_arenas.py
    compiled rules   RuleArena         yes    no         rule_arena.py
    listed worlds    WorldArena        no     yes        world_arenas.py
    remade worlds    RemadeWorldArena  no     yes        world_arenas.py
    hands of cards   HandArena         no     yes        hand_arena.py
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
        rule: name of the update rule in the kernels.
        epsilon: exploration rate of the updated player.
        threads: maximum number of threads that share a batch.
        shares: whether threads may share walks.
        is_sampled: whether walks sample anything.
        is_batched: whether an iteration has several walks per player.
        splits: whether cluster processes share batches.
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
    """Computation of a utility gradient that may pause between slices."""

    def go_on(self) -> bool:
        """Computes one more slice; returns whether the gradient is complete."""
        ...

    @property
    def gradient(self) -> np.ndarray:
        """`[S]` the gradient; 0 at sequences of players who are not updated."""
        ...

    @property
    def num_nodes(self) -> int:
        """Number of nodes touched so far."""
        ...


class Engine:
    """Runs the iterations of one solver in one arena.

    Attributes:
        kernel: compiled function that runs iterations.
        num_threads: number of threads of a pass.
        bytes_per_row: extra bytes per infoset and per sequence.
        stack_height: initial height of a walk's stack, in nodes.
        growth: supplies nodes or table rows that the kernel requests during a walk.
    """

    kernel: Any
    growth: Any
    num_threads = 1
    bytes_per_row = 0, 0
    stack_height = 0

    def tree_arrays(self) -> layout.TreeArrays:
        """The current arrays of the game for kernels."""
        raise NotImplementedError

    @property
    def num_nodes(self) -> int:
        """Number of nodes that the kernel may visit now."""
        return 1

    def held(self) -> tuple[Any, ...]:
        """The arrays in a frame that may be replaced between two calls."""
        return self.tree_arrays()

    def frame_of(
        self, task: layout.Task, tables: layout.Tables, walk: layout.Walk
    ) -> np.ndarray:
        """The frame of array addresses that the kernel reads."""
        raise NotImplementedError

    def run(self, state: Any, kernel: Any, frame: np.ndarray) -> int:
        """Runs iterations up to the limits in the job; returns a status.

        Args:
            state: SolverState of the solver.
            kernel: kernel of this engine.
            frame: frame for the kernel.
        """
        raise NotImplementedError


class Arena:
    """A representation of a game in which a solver runs.

    Attributes:
        name: name of the kind in messages.
        has_gradients: whether the arena offers `passes` and knows every infoset.
    """

    name: str
    has_gradients = False

    @property
    def table(self) -> Any:
        """The information sets, available to users as `solver.tree`."""
        raise NotImplementedError

    def room(self) -> tuple[int, int]:
        """Numbers of infosets and sequences for which tables currently need rows."""
        return self.table.sizes()

    def update(self) -> None:
        """Publishes infosets that walks have met; the caller holds the lock."""

    def walks(self, spec: WalkSpec) -> Engine:
        """The engine that runs walks."""
        raise NotImplementedError

    def passes(self, threads: int | None, *, updated: int | None = None) -> Any:
        """Full passes over the game.

        Args:
            threads: maximum number of threads per pass; None for one thread per core.
                Fewer threads are used if more would not save time.
            updated: number of players that one pass of a solver updates; None for
                single passes such as evaluations, which are for all players.

        Raises:
            MemoryBudgetError: the arrays that passes read do not fit `max_memory`.
            ValueError: a tree is not complete, or `threads` is not a positive integer.
        """
        raise NotImplementedError

    def saved(
        self, *, is_made_whole: bool
    ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header entries and arrays that a checkpoint stores about the arena.

        Args:
            is_made_whole: whether the solver that loads the checkpoint expands the
                whole tree before its first iteration.
        """
        raise NotImplementedError


class ArenaTable(InfosetTable, Arena):
    """An arena without nodes. It is its own table of information sets.

    Attributes:
        budget: memory budget of the arena and of everything derived from it.
        twin: whether the game's compiled twin may be used, see `GameTree`.
        max_nodes: maximum number of nodes of trees built for this game.
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
        """Stores the game; subclasses find its infosets.

        Args:
            source: the game as the user passed it.
            budget: memory budget of the arena.
            max_nodes: maximum number of nodes of trees that are cached with the arena.
            twin: whether these trees may use the game's twin.
        """
        super().__init__(source, turn_based(source))
        self.budget, self.max_nodes, self.twin = budget, max_nodes, twin

    @property
    def table(self) -> Any:
        """The arena itself."""
        return self

    def whole(self, max_nodes: int) -> InfosetTable | None:
        """See InfosetTable."""
        return whole_tree_of(self, max_nodes)

    def forget_nodes(self) -> None:
        """Does nothing, because the arena has no nodes."""

    def give_back(self) -> None:
        """Does nothing, because the arena has no nodes."""

    @property
    def arrays(self) -> layout.TreeArrays:
        """The arrays for kernels; the only node is the root."""
        probs, returns = np.zeros(1), np.zeros((1, self.num_players))
        return layout.TreeArrays(
            nodes=np.zeros(1, NODE),
            infosets=self.infosets,
            chance_probs=probs,
            chance_cdf=probs,
            utilities=returns,
        )


class NoGrowth:
    """Growth for engines whose kernels never request nodes or rows."""

    def go_on(self) -> None:
        """Does nothing: no walk was interrupted."""

    def refit(self, walk: layout.Walk) -> None:
        """Does nothing: no nodes were dropped."""

    def must_finish(self, walk: layout.Walk) -> bool:
        """False: other solvers may run before the next slice."""
        return False

    def look(self, tables: layout.Tables, walk: layout.Walk) -> None:
        """Does nothing: there is nothing to enlarge."""
