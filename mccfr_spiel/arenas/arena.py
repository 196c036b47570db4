"""Arena: the interface behind which every kind of game representation is used.

An arena knows the game's information sets and offers walks, gradients, or both. Each
kind is a class of its own:

    kind             class             walks  gradients  file
    growing tree     GrowingTree       yes    no         tree_arenas.py
    whole tree       WholeTree         yes    yes        tree_arenas.py
    compiled rules   RuleArena         yes    no         rule_arena.py
    listed worlds    WorldArena        no     yes        world_arenas.py
    remade worlds    RemadeWorldArena  no     yes        world_arenas.py
    hands of cards   HandArena         no     yes        hand_arena.py
    histories        HistoryArena      no     yes        world_arenas.py

`choosing.py` is the only place where an arena is chosen.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np
import pyspiel

from mccfr_spiel.arenas.infosets.loading import turn_based
from mccfr_spiel.arenas.infosets.table import InfosetTable
from mccfr_spiel.arenas.tree.game_tree import small_whole_tree, whole_tree_of
from mccfr_spiel.common.arrays import NODE
from mccfr_spiel.common.limits import Budget
from mccfr_spiel.kernels import tables as layout


class WalkSpec(NamedTuple):
    """What an algorithm's walks are like.

    Attributes:
        sampled: what they sample, see `kernels.walk.Sampled`.
        rule: the name of the rule, as kernels know it.
        epsilon: the share of the uniform policy in draws of the updated player.
        threads: the most threads that may share a batch.
        shares: whether threads may share walks at all.
        is_sampled: whether they sample anything.
        is_batched: whether an iteration has several walks for each player.
        splits: whether processes of a cluster share batches.
        initial_regret: with which the rule starts each action.
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
    """The computation of a utility gradient, which may take long and can pause."""

    def go_on(self) -> bool:
        """Makes one more slice; returns whether the gradient is complete."""
        ...

    @property
    def gradient(self) -> np.ndarray:
        """`[S]` the gradient, 0 at sequences of players who get none."""
        ...

    @property
    def num_nodes(self) -> int:
        """The nodes touched so far."""
        ...


class Engine:
    """Runs the iterations of one solver in one arena.

    Attributes:
        kernel: the compiled function that runs iterations.
        num_threads: the threads of passes.
        bytes_per_row: what the engine takes for each infoset and each sequence.
        stack_height: the nodes for which a walk's stack needs room at first.
        growth: supplies what the kernel asks for in the middle of a walk.
    """

    kernel: Any
    growth: Any
    num_threads = 1
    bytes_per_row = 0, 0
    stack_height = 0

    def tree_arrays(self) -> layout.TreeArrays:
        """The records of the game that kernels read, as they are now."""
        raise NotImplementedError

    @property
    def num_nodes(self) -> int:
        """The nodes that the kernel may visit now."""
        return 1

    def held(self) -> tuple[Any, ...]:
        """The arrays in a frame that may be replaced between two calls."""
        return self.tree_arrays()

    def frame_of(
        self, task: layout.Task, tables: layout.Tables, walk: layout.Walk
    ) -> np.ndarray:
        """The frame of the kernel."""
        raise NotImplementedError

    def run(self, state: Any, kernel: Any, frame: np.ndarray) -> int:
        """Runs iterations up to the limits of the job; returns a status.

        Args:
            state: the SolverState.
            kernel: the engine's.
            frame: of that kernel.
        """
        raise NotImplementedError


class Arena:
    """Where a solver plays. `choosing.py` chooses one that offers what it is asked for.

    Attributes:
        name: of the kind, for messages.
        has_gradients: whether `passes` is offered, and every infoset is known.
    """

    name: str
    has_gradients = False

    @property
    def table(self) -> Any:
        """The information sets, which users hold as `solver.tree`."""
        raise NotImplementedError

    def room(self) -> tuple[int, int]:
        """The numbers of infosets and sequences for which tables need rows now."""
        return self.table.sizes()

    def update(self) -> None:
        """Takes over what walks have met, for a caller under the lock."""

    def walks(self, spec: WalkSpec) -> Engine:
        """The engine that runs walks."""
        raise NotImplementedError

    def passes(self, threads: int | None, *, updated: int | None = None) -> Any:
        """The FullPass over all of the game, by as many threads as are useful.

        Args:
            threads: the most threads that share a pass; None for one for each core.
            updated: the players whom each pass of a solver updates; None for single
                passes, which are for all players.

        Raises:
            MemoryBudgetError: what the passes read does not fit `max_memory`.
            ValueError: a tree is not complete, or `threads` is no number of threads.
        """
        raise NotImplementedError

    def saved(
        self, *, is_made_whole: bool
    ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """What a checkpoint records of the arena: entries of its header, and arrays.

        Args:
            is_made_whole: whether the solver that reads the checkpoint expands the
                whole tree before it begins.
        """
        raise NotImplementedError


class ArenaTable(InfosetTable, Arena):
    """An arena without nodes, which is its own table.

    Attributes:
        budget: the bytes that the arena and everything made of it may take.
        twin: whether the game's compiled twin may be used, see `GameTree`.
        max_nodes: the most nodes that a tree of the game may have.
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
        """Knows the game; subclasses find its infosets.

        Args:
            source: the game as it was given.
            budget: the bytes that the arena may take.
            max_nodes: of trees that are made beside it.
            twin: whether the twin may be used there.
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
        """Nothing, as no nodes are kept."""

    def give_back(self) -> None:
        """Nothing, as no nodes are kept."""

    @property
    def arrays(self) -> layout.TreeArrays:
        """The records of the game that kernels read, with no nodes but a root."""
        probs, returns = np.zeros(1), np.zeros((1, self.num_players))
        return layout.TreeArrays(
            nodes=np.zeros(1, NODE),
            infosets=self.infosets,
            chance_probs=probs,
            chance_cdf=probs,
            utilities=returns,
        )


class NoGrowth:
    """The growth of engines whose kernels ask for nothing."""

    def go_on(self) -> None:
        """Nothing was left in the middle."""

    def refit(self, walk: layout.Walk) -> None:
        """No nodes can have been dropped."""

    def must_finish(self, walk: layout.Walk) -> bool:
        """Others may always come in between."""
        return False

    def look(self, tables: layout.Tables, walk: layout.Walk) -> None:
        """Nothing grows."""
