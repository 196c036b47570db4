"""Full passes: plans, gradients, returns and best responses over all of a game.

`FullPass` computes everything from gradients, which its arena makes. `TreePass` reads
the list of a complete tree's leaves instead, from beginning to end.
"""

import functools
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.arenas.arena import Engine, GradientPass, NoGrowth
from mccfr_spiel.arenas.tree import whole
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.common.arrays import INFOSET
from mccfr_spiel.kernels import passes, regret_pruning, teams
from mccfr_spiel.kernels.evaluation import Evaluation, evaluate, pass_up, respond
from mccfr_spiel.kernels.frame import Layout
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

_NO_CHOICE = np.zeros(0, np.int32)


class Response(NamedTuple):
    """A best response of one player.

    Attributes:
        value: the player's return.
        choice: `[I]` the sequence that the response plays at each of the player's
            infosets; at those of others, what a best response of theirs plays.
    """

    value: float
    choice: np.ndarray


class Gradient(NamedTuple):
    """A gradient that is complete at once, as a GradientPass."""

    gradient: np.ndarray
    num_nodes: int = 0

    def go_on(self) -> bool:
        """Always complete."""
        return True


class FullPass:
    """Passes over all of a game.

    Attributes:
        table: of the arena.
        num_threads: the threads that share a pass. They change no bit of it.
    """

    def __init__(self, table: Any, num_threads: int = 1) -> None:
        """Makes nothing yet."""
        self.table, self.num_threads = table, num_threads

    @property
    def lists(self) -> Iterable[np.ndarray]:
        """The arrays that passes read, which determine all payoffs."""
        return self.arrays

    @functools.cached_property
    def arrays(self) -> Passes:
        """The infosets by player, and rows of leaves if there are any."""
        return _without_rows(self.table.infosets, self.table.num_players)

    @functools.cached_property
    def blocks(self) -> Blocks:
        """The pieces into which the work on infosets is cut."""
        return whole.one_block(self.arrays)

    def tree_arrays(self) -> TreeArrays:
        """The records of the game that kernels read."""
        return self.table.arrays

    def held(self) -> tuple[np.ndarray, ...]:
        """The arrays of these records that may be replaced."""
        return (self.table.infosets,)

    # --- iterations, each of which makes a pass ------------------------------

    @property
    def layout(self) -> Layout:
        """Of the frame for `make_iterate`: a solver's records, and then `records`."""
        return LAYOUT

    def make_iterate(self, rule: str) -> Any:
        """The compiled loop over iterations of a local rule."""
        return passes.make_passes(rule)

    def records(self) -> tuple[Any, ...]:
        """What the loop reads besides a solver's records."""
        return self.arrays, self.blocks

    def engine(self, rule: str) -> Engine:
        """Runs iterations of a local rule."""
        return PassEngine(self, self.make_iterate(rule))

    # --- gradients -----------------------------------------------------------

    def start_gradient(self, plan: np.ndarray, players: range) -> GradientPass:
        """Begins to compute the gradients of some players.

        Args:
            plan: `[S]` all players' realization plans.
            players: who get gradients; sequences of others have 0.
        """
        raise NotImplementedError

    def gradients(self, plan: np.ndarray, players: range) -> np.ndarray:
        """`[S]` the gradients of some players, 0 at the sequences of others."""
        started = self.start_gradient(plan, players)
        while not started.go_on():
            pass
        return started.gradient

    def gradient(self, plan: np.ndarray, player: int) -> np.ndarray:
        """`[S]` a player's utility gradient, 0 at the sequences of others.

        Its inner product with the plan is the player's expected return.
        """
        return self.gradients(plan, range(player, player + 1))

    # --- single passes -------------------------------------------------------

    def plan(self, policy: np.ndarray) -> np.ndarray:
        """`[S]` all players' realization plans under a policy vector."""
        plan = np.ones_like(policy)
        passes.fill_plan(self.table.infosets, policy, plan)
        return plan

    def reaches(self, plan: np.ndarray) -> np.ndarray:
        """`[I]` the probability that chance and the others play to each infoset, summed
        over its histories, which only a tree has.

        Raises:
            ValueError: there is no tree.
        """
        raise ValueError(f"{self.table!r} has no histories to sum over.")

    def best_within(self, policy: np.ndarray, fixed: Iterable[int]) -> np.ndarray:
        """`[P]` the returns of best responses that keep to a policy somewhere.

        Args:
            policy: `[S]`.
            fixed: the infosets where it stays.
        """
        is_fixed = np.zeros(self.table.num_infosets, np.bool_)
        is_fixed[list(fixed)] = True
        plan, players = self.plan(policy), range(self.table.num_players)
        values = sum((self.gradient(plan, p) for p in players), np.zeros_like(plan))
        pass_up(self.table.infosets, policy, is_fixed, values)
        return values[: self.table.num_players].copy()

    def respond(self, policy: np.ndarray, player: int) -> Response:
        """The player's best response to a policy vector of all players."""
        choice = np.zeros(self.table.num_infosets, np.int32)
        return Response(float(self.evaluated(policy, choice)[2][player]), choice)

    def values(self, policy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Each player's expected return, and that of a best response, both `[P]`."""
        _, got, best = self.evaluated(policy)
        players = self.table.num_players
        return got[:players].copy(), best[:players].copy()

    def after_sequences(self, policy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """`[S]` the counterfactual value of each sequence to its player, under the
        policy and under a best response."""
        return self.evaluated(policy)[1:]

    def evaluated(
        self, policy: np.ndarray, choice: np.ndarray = _NO_CHOICE
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Three vectors `[S]`: scratch, and those of `after_sequences`.

        See `Evaluation` for `choice`.
        """
        plan = self.plan(policy)
        got = self.gradients(plan, range(self.table.num_players))
        best = plan  # which is of no more use, so its memory is taken
        best[:] = got
        nothing = _without_rows(np.zeros(0, INFOSET), self.table.num_players)
        parts = self.table.infosets, nothing, whole.one_block(nothing)
        policy = np.ascontiguousarray(policy, np.float64)
        respond(Evaluation(*parts, policy, plan, got, best, choice))
        return best, got, best

    def nash_conv(self, policy: np.ndarray) -> float:
        """The sum of all players' gains from a best response."""
        return float(self.gains(policy).sum())

    def gains(self, policy: np.ndarray) -> np.ndarray:
        """`[P]` each player's gain from a best response.

        A best response gets at least what the policy gets. A negative gain can only
        come from rounding two equal sums, so it counts as 0.
        """
        on_policy, best = self.values(policy)
        return np.maximum(best - on_policy, 0.0)


def _without_rows(infosets: np.ndarray, num_players: int) -> Passes:
    nothing = np.zeros(1, np.int64), np.zeros((0, 1), np.int32), np.zeros(0)
    return Passes(*nothing, *whole.members_of(infosets, num_players))


class TreePass(FullPass):
    """Passes over the leaves of a complete tree."""

    table: GameTree

    @functools.cached_property
    def arrays(self) -> Passes:
        """The list of the leaves."""
        return self.table.list_leaves()

    @functools.cached_property
    def blocks(self) -> Blocks:
        """The pieces into which the work of `values` and `respond` is cut."""
        if self.num_threads == 1:
            return whole.one_block(self.arrays)
        return self.table.list_blocks()

    def tree_arrays(self) -> TreeArrays:
        """The tree's arrays with room to spare."""
        return TreeArrays(*self.table.storage)

    def held(self) -> tuple[np.ndarray, ...]:
        """As in FullPass."""
        return self.table.storage

    def start_gradient(self, plan: np.ndarray, players: range) -> GradientPass:
        """As in FullPass; complete at once."""
        gradient = np.zeros_like(plan)
        for player in players:
            infosets = self.table.infosets
            passes.fill_gradient(infosets, self.arrays, player, plan, gradient)
        return Gradient(gradient, len(players) * self.table.num_nodes)

    def reaches(self, plan: np.ndarray) -> np.ndarray:
        """As in FullPass."""
        reaches = np.zeros(self.table.num_infosets)
        passes.add_reaches(self.table.arrays, plan, reaches)
        return reaches

    def after_sequences(self, policy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As in FullPass, by one thread: several leave other numbers at the roots of
        blocks."""
        return TreePass(self.table).evaluated(policy)[1:]

    def evaluated(
        self, policy: np.ndarray, choice: np.ndarray = _NO_CHOICE
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As in FullPass, in one pass over the leaves."""
        policy, infosets = np.ascontiguousarray(policy, np.float64), self.table.infosets
        vectors = np.empty_like(policy), np.empty_like(policy), np.empty_like(policy)
        work = Evaluation(infosets, self.arrays, self.blocks, policy, *vectors, choice)
        teams.run(evaluate, self.num_threads, work, notes=passes.NUM_NOTES)
        return vectors


# --- engines of solvers whose iterations make passes ----------------------------------


class PassEngine(Engine):
    """Runs iterations that pass over all of a game."""

    def __init__(self, full_pass: FullPass, kernel: Any) -> None:
        """Runs a kernel over the lists of a FullPass."""
        self.full_pass, self.kernel = full_pass, kernel
        self.num_threads = full_pass.num_threads
        self.growth = NoGrowth()
        self._records = full_pass.records()

    @property
    def num_nodes(self) -> int:
        """The nodes that a pass for one player counts as touched."""
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

    The kernel then makes one update of the gradients in the tables.
    """

    def __init__(self, full_pass: FullPass, rule: str) -> None:
        """Updates by a local rule."""
        super().__init__(full_pass, passes.make_passes(rule, estimated=True))

    def apply(
        self,
        state: Any,
        kernel: Any,
        frame: np.ndarray,
        gradient: np.ndarray,
        num_nodes: int,
    ) -> int:
        """Makes the update of a gradient `[S]`, for which so many nodes were touched;
        returns a status."""
        with signals_deferred():  # between the gradient and its update
            for table in (state.tables.gradient, state.tables.ahead):
                if len(table):
                    table[: len(gradient)] = gradient
            status = super().run(state, kernel, frame)
            state.counts[NODES_TOUCHED] += num_nodes
        return status


class SlicedEngine(GradientEngine):
    """Runs iterations whose gradients take many slices, between which it pauses."""

    _started: GradientPass | None = None

    def run(self, state: Any, kernel: Any, frame: np.ndarray) -> int:
        """Makes one more slice of the next gradient, and the update when it is
        complete."""
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


class PrunedEngine(PassEngine):
    """Runs passes over a complete tree of two players that prune by regret."""

    full_pass: TreePass

    def __init__(self, full_pass: Any) -> None:
        """Lists the ceilings of the tree of a TreePass."""
        super().__init__(full_pass, regret_pruning.iterate_pruned)
        ceilings = full_pass.table.list_ceilings()
        self.stack_height = int(ceilings.height[0])
        self._records = *self._records, ceilings

    def frame_of(self, task: Task, tables: Tables, walk: Walk) -> np.ndarray:
        """See Engine."""
        own = task, self.tree_arrays(), tables, walk
        return regret_pruning.LAYOUT.frame_of(*own, *self._records)
