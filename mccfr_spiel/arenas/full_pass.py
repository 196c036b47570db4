"""FullPass: plans, gradients, returns and best responses over the whole game.

`FullPass` derives all results from gradients, and its subclasses implement the
gradient of an arena. The subclass `TreePass` in tree_pass.py reads the leaves of a
complete tree and overrides the derived methods with faster ones.

Engines of solvers whose iterations are passes:

    PassEngine       one kernel computes the gradient and the update
    GradientEngine   Python computes the gradient, then a kernel applies the update
    SlicedEngine     as GradientEngine, with pauses while the gradient is computed
    PrunedEngine     regret-based pruning (tree_pass.py)

Shapes: I infosets, S sequences of all players, P players.
"""

import functools
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.arenas.arena import Engine, GradientPass, NoGrowth
from mccfr_spiel.arenas.tree import cutting, whole_lists
from mccfr_spiel.common.arrays import INFOSET
from mccfr_spiel.kernels import passes, plans, teams
from mccfr_spiel.kernels.evaluation import Evaluation, pass_up, respond
from mccfr_spiel.kernels.frame import Layout
from mccfr_spiel.kernels.gap_pass import fill_gaps
from mccfr_spiel.kernels.interruptions import signals_deferred
from mccfr_spiel.kernels.tables import (
    DONE,
    LAYOUT,
    NODES_TOUCHED,
    PAUSED,
    Blocks,
    Passes,
    Tables,
    Task,
    TreeArrays,
    Walk,
)
from mccfr_spiel.policies.trembled_vectors import within_trembles
from mccfr_spiel.policies.vectors import uniform_vector

NO_CHOICE = np.zeros(0, np.int32)


class BestResponse(NamedTuple):
    """A best response of one player.

    Attributes:
        value: expected return of the player.
        choice: `[I]` sequence that a best response plays at each infoset. Only the
            entries at the player's infosets belong to this response; other entries are
            best responses of the other players.
    """

    value: float
    choice: np.ndarray


class Gradient(NamedTuple):
    """A gradient without further work, with the interface of GradientPass.

    Attributes:
        gradient: `[S]` the gradient.
        num_nodes: number of nodes visited to compute it.
    """

    gradient: np.ndarray
    num_nodes: int = 0

    def go_on(self) -> bool:
        """True: the gradient is complete."""
        return True


class FullPass:
    """Passes over the whole game.

    Attributes:
        table: information sets of the arena.
        num_threads: number of threads that divide the work of a pass; results do not
            depend on it.
    """

    def __init__(self, table: Any, num_threads: int = 1) -> None:
        """Stores the arguments; `arrays` and `blocks` are built on first use."""
        self.table, self.num_threads = table, num_threads

    @property
    def lists(self) -> Iterable[np.ndarray]:
        """The arrays that determine all payoffs, for a hash of the game's content."""
        return self.arrays

    @functools.cached_property
    def arrays(self) -> Passes:
        """The infosets of each player; subclasses for trees add the leaves."""
        return _without_rows(self.table.infosets, self.table.num_players)

    @functools.cached_property
    def blocks(self) -> Blocks:
        """Partition of the infosets into blocks, which threads process in parallel; by
        default a single block."""
        return cutting.one_block(self.arrays)

    def tree_arrays(self) -> TreeArrays:
        """The arrays of the game that kernels read."""
        return self.table.arrays

    def held(self) -> tuple[np.ndarray, ...]:
        """The arrays of `tree_arrays` that larger copies may replace, see
        `Engine.held`."""
        return (self.table.infosets,)

    # --- iterations ----------------------------------------------------------

    @property
    def layout(self) -> Layout:
        """Order of the arrays in the kernel's frame: the solver's records (Task,
        TreeArrays, Tables, Walk), then the result of `records`."""
        return LAYOUT

    def make_iterate(self, rule: str) -> Any:
        """The compiled loop over iterations.

        Args:
            rule: name of the update rule that infosets apply, such as regret matching.
        """
        return passes.make_passes(rule)

    def records(self) -> tuple[Any, ...]:
        """Records of arrays that the loop reads in addition to the solver's records."""
        return self.arrays, self.blocks

    def engine(self, rule: str) -> Engine:
        """A new engine that runs iterations of an update rule."""
        return PassEngine(self, self.make_iterate(rule))

    # --- gradients -----------------------------------------------------------

    def start_gradient(self, plan: np.ndarray, players: range) -> GradientPass:
        """Begins the computation of the gradients of some players.

        Args:
            plan: `[S]` realization plans of all players.
            players: updated players; sequences of other players have gradient 0.
        """
        raise NotImplementedError

    def gradients(self, plan: np.ndarray, players: range) -> np.ndarray:
        """`[S]` gradients of some players; 0 at sequences of other players."""
        started = self.start_gradient(plan, players)
        while not started.go_on():
            pass
        return started.gradient

    def gradient(self, plan: np.ndarray, player: int) -> np.ndarray:
        """`[S]` utility gradient of a player; 0 at sequences of other players.

        The inner product of gradient and plan is the player's expected return.
        """
        return self.gradients(plan, range(player, player + 1))

    # --- single passes -------------------------------------------------------

    def plan(self, policy: np.ndarray) -> np.ndarray:
        """`[S]` realization plans of all players for a policy vector `[S]`."""
        plan = np.ones_like(policy)
        plans.fill_plan(self.table.infosets, policy, plan)
        return plan

    def reaches(self, plan: np.ndarray) -> np.ndarray:
        """`[I]` probability that chance and the other players reach each infoset.

        Raises:
            ValueError: the arena recomputes its worlds or histories in each pass, so
                that their returns cannot be replaced.
        """
        raise ValueError(
            f"{self.table!r} recomputes its {self.table.name} in each pass and has no "
            "reach probabilities of information sets: use store='tree', or a larger "
            "max_memory, with which worlds are listed."
        )

    def reaches_of(self, masses: np.ndarray) -> np.ndarray:
        """`[I]` the result of `reaches`, from gradients of a game without payoffs.

        If every history pays 1, the counterfactual value of an infoset is its reach,
        whatever the player does afterwards.

        Args:
            masses: `[S]` gradients of all players in which every history pays 1. They
                are overwritten.
        """
        policy = uniform_vector(self.table)
        starts = self.table.infosets["first_sequence"]
        is_fixed = np.ones(len(starts), np.bool_)
        pass_up(self.table.infosets, policy, is_fixed, masses)
        return np.add.reduceat(policy * masses, starts) if len(starts) else masses[:0]

    def best_within(self, policy: np.ndarray, fixed: Iterable[int]) -> np.ndarray:
        """`[P]` returns of restricted best responses against a policy.

        Args:
            policy: `[S]` policy vector of all players.
            fixed: infosets at which the response must play according to the policy.
        """
        is_fixed = np.zeros(self.table.num_infosets, np.bool_)
        is_fixed[list(fixed)] = True
        plan, players = self.plan(policy), range(self.table.num_players)
        values = sum((self.gradient(plan, p) for p in players), np.zeros_like(plan))
        pass_up(self.table.infosets, policy, is_fixed, values)
        return values[: self.table.num_players].copy()

    def respond(self, policy: np.ndarray, player: int) -> BestResponse:
        """The best response of a player against a policy vector `[S]`."""
        choice = np.zeros(self.table.num_infosets, np.int32)
        return BestResponse(float(self.evaluated(policy, choice)[2][player]), choice)

    def values(self, policy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """`[P]` expected returns under a policy vector `[S]`, and `[P]` returns of best
        responses against it."""
        _, on_policy, best = self.evaluated(policy)
        players = self.table.num_players
        return on_policy[:players].copy(), best[:players].copy()

    def after_sequences(self, policy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """`[S]` counterfactual value of each sequence to its player if the player
        follows the policy afterwards, and `[S]` if the player plays a best response
        afterwards."""
        return self.evaluated(policy)[1:]

    def evaluated(
        self, policy: np.ndarray, choice: np.ndarray = NO_CHOICE
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Evaluates a policy and the best responses against it.

        Args:
            policy: `[S]` policy vector.
            choice: `[I]` output, the sequence that a best response plays at each
                infoset; empty if not needed.

        Returns:
            Three vectors `[S]`. The first vector is a by-product without meaning. The
            others are the two results of `after_sequences`; their entry p, at the empty
            sequence of player p, is the player's expected return.
        """
        plan = self.plan(policy)
        on_policy = self.gradients(plan, range(self.table.num_players))
        best = plan  # reuses the memory of the plan, which is not needed any more
        best[:] = on_policy
        nothing = _without_rows(np.zeros(0, INFOSET), self.table.num_players)
        parts = self.table.infosets, nothing, cutting.one_block(nothing)
        policy = np.ascontiguousarray(policy, np.float64)
        respond(Evaluation(*parts, policy, plan, on_policy, best, choice))
        return best, on_policy, best

    def nash_conv(self, policy: np.ndarray) -> float:
        """NashConv: the sum of all players' gains from a best response."""
        return float(self.gains(policy).sum())

    def gains_within(self, policy: np.ndarray, tremble: float) -> np.ndarray:
        """`[P]` gain of each player from a best response with trembles.

        Args:
            policy: `[S]` policy vector. Where it violates the trembles, it is replaced,
                see `within_trembles`.
            tremble: smallest probability of an action, also of a best response.
        """
        infosets, players = self.table.infosets, range(self.table.num_players)
        policy = np.ascontiguousarray(policy, np.float64)
        policy = within_trembles(infosets, policy, tremble)
        values = self.gradients(self.plan(policy), players)
        best, count = values.copy(), len(infosets)
        gap, choice = np.empty(count), np.empty(count, np.int32)
        no_reach = np.zeros(count)
        fill_gaps(infosets, policy, tremble, no_reach, values, best, gap, choice)
        gains = best[: len(players)] - values[: len(players)]
        return np.maximum(gains, 0.0)

    def gains(self, policy: np.ndarray) -> np.ndarray:
        """`[P]` gain of each player from a best response.

        Negative gains are set to 0. They are rounding errors, because a best response
        is worth at least as much as the policy.
        """
        on_policy, best = self.values(policy)
        return np.maximum(best - on_policy, 0.0)


def _without_rows(infosets: np.ndarray, num_players: int) -> Passes:
    nothing = np.zeros(1, np.int64), np.zeros((0, 1), np.int32), np.zeros(0)
    return Passes(*nothing, *whole_lists.members_of(infosets, num_players))


class PassEngine(Engine):
    """Runs iterations in which a kernel passes over the whole game."""

    def __init__(self, full_pass: FullPass, kernel: Any) -> None:
        """Combines a kernel with the arrays of a FullPass."""
        self.full_pass, self.kernel = full_pass, kernel
        self.num_threads = full_pass.num_threads
        self.growth = NoGrowth()
        self._records = full_pass.records()

    @property
    def num_nodes(self) -> int:
        """Number of visited nodes that the solver counts for a pass of one player."""
        return self.full_pass.table.num_nodes

    def tree_arrays(self) -> TreeArrays:
        """See Engine."""
        return self.full_pass.tree_arrays()

    def held(self) -> tuple[Any, ...]:
        """See Engine."""
        return self.full_pass.held()

    def frame_of(self, task: Task, tables: Tables, walk: Walk) -> np.ndarray:
        """See Engine."""
        own = task, self.tree_arrays(), tables, walk
        return self.full_pass.layout.frame_of(*own, *self._records)

    def run(self, state: Any, kernel: Any, frame: np.ndarray) -> int:
        """See Engine."""
        threads, notes = self.num_threads, passes.NUM_NOTES
        return teams.run(kernel, threads, frame, notes=notes, keep=state)


class GradientEngine(PassEngine):
    """Runs iterations whose gradients are computed before the kernel is called.

    The kernel then reads the gradients from the solver's tables and applies one update.
    """

    def __init__(self, full_pass: FullPass, rule: str) -> None:
        """Selects the kernel of an update rule, given by its name."""
        super().__init__(full_pass, passes.make_passes(rule, estimated=True))

    def apply(
        self,
        state: Any,
        kernel: Any,
        frame: np.ndarray,
        gradient: np.ndarray,
        num_nodes: int,
    ) -> int:
        """Writes a gradient into the solver's tables and runs the kernel's update.

        Args:
            state: SolverState of the solver.
            kernel: kernel of this engine.
            frame: frame for the kernel.
            gradient: `[S]` gradient of the updated players; it may be the table itself.
            num_nodes: number of nodes visited to compute the gradient.

        Returns:
            The status of the kernel.
        """
        # A signal handler between the two steps would find an unused gradient in the
        # tables, which must be zero between updates.
        with signals_deferred():
            for table in (state.tables.gradient, state.tables.ahead):
                if len(table) and table is not gradient:
                    table[: len(gradient)] = gradient
            status = super().run(state, kernel, frame)
            state.counts[NODES_TOUCHED] += num_nodes
        return status


class SlicedEngine(GradientEngine):
    """Runs iterations whose gradients take many slices, with pauses in between."""

    _started: GradientPass | None = None

    def run(self, state: Any, kernel: Any, frame: np.ndarray) -> int:
        """Computes one more slice of the gradient; applies the update once the gradient
        is complete.

        Returns:
            PAUSED if slices remain; DONE if the limits in the job allow no update;
            otherwise the status of the update.
        """
        players = state.next_players()
        if not players:
            return DONE
        if self._started is None:
            self._started = self.full_pass.start_gradient(state.tables.plan, players)
        started = self._started
        if not started.go_on():
            return PAUSED
        self._started = None
        return self.apply(state, kernel, frame, started.gradient, started.num_nodes)
