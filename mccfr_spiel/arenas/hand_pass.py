"""HandPass: gradients of games of cards, by passes over the blocks of a public tree.

A pass reads the opponent's realization plan from a table in blocks, and writes the
player's gradient into the player's blocks of the same table, in float64.
"""

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np

from mccfr_spiel.arenas.arena import Engine, GradientPass
from mccfr_spiel.arenas.full_pass import FullPass, Gradient, GradientEngine
from mccfr_spiel.arenas.hand_sweeps import (
    BlockTables,
    HandSweeps,
    bytes_of_buffers,
    numbers_of,
)
from mccfr_spiel.arenas.tree import cutting
from mccfr_spiel.arenas.worlds.hand_blocks import HandBlocks
from mccfr_spiel.kernels.hand_decisions import GRADIENT, MODE, UPDATED
from mccfr_spiel.kernels.hand_vectors import PLAYER, gather_reaches, spread_gradient
from mccfr_spiel.kernels.interruptions import signals_deferred
from mccfr_spiel.kernels.tables import DONE, Blocks


class HandPass(FullPass):
    """Passes over vectors of hands at the nodes of a public tree."""

    def __init__(self, table: Any, num_threads: int, *, pays_one: bool = False) -> None:
        """Stores the arguments.

        Args:
            table: the arena.
            num_threads: maximum number of threads.
            pays_one: whether to replace all returns by 1.
        """
        super().__init__(table, num_threads)
        self._pays_one = pays_one

    @functools.cached_property
    def _gradients(self) -> "_HandGradients":
        return _HandGradients(
            self.table.blocks, self.num_threads, pays_one=self._pays_one
        )

    @property
    def lists(self) -> Iterable[np.ndarray]:
        """See FullPass: the layout and the weights of hands."""
        return *self.table.blocks.layout, *self.table.blocks.weights

    @functools.cached_property
    def blocks(self) -> Blocks:
        """See FullPass."""
        if self.num_threads == 1:
            return cutting.one_block(self.arrays)
        return cutting.cut_into_blocks(self.table.infosets, self.arrays)

    def engine(self, rule: str) -> Engine:
        """See FullPass."""
        return HandEngine(self, rule)

    def start_gradient(self, plan: np.ndarray, players: range) -> GradientPass:
        """See FullPass; the gradient is complete when this returns."""
        gradient = np.zeros_like(plan)
        return Gradient(gradient, self.write_gradients(plan, players, gradient))

    def write_gradients(
        self, plan: np.ndarray, players: range, gradient: np.ndarray
    ) -> int:
        """Writes the sequences of some players in a gradient `[S]`.

        Returns:
            The number of nodes touched: each leaf of the public tree counts once per
                player.
        """
        for player in players:
            self._gradients.write(plan, player, gradient)
        return 2 * self._num_leaves * len(players)

    @functools.cached_property
    def _num_leaves(self) -> int:
        return int((self.table.blocks.public.num_children == 0).sum())

    def reaches(self, plan: np.ndarray) -> np.ndarray:
        """See FullPass.

        Raises:
            MemoryBudgetError: the gradients do not fit the arena's budget.
        """
        table = self.table
        table.budget.require(3 * plan.nbytes, "The reaches of information sets take")
        passes = HandPass(table, self.num_threads, pays_one=True)
        return self.reaches_of(passes.gradients(plan, range(table.num_players)))


class HandEngine(GradientEngine):
    """Runs iterations whose gradients are written directly into the solver's tables."""

    full_pass: HandPass

    def run(self, state: Any, kernel: Any, frame: np.ndarray) -> int:
        """Makes one update.

        Returns:
            DONE if the limits in the job allow no update; otherwise the status of the
                update.
        """
        players, tables = state.next_players(), state.tables
        if not players:
            return DONE
        plan, gradient = tables.plan, tables.gradient
        with signals_deferred():
            touched = self.full_pass.write_gradients(plan, players, gradient)
            return self.apply(state, kernel, frame, gradient, touched)


def bytes_of_gradients(blocks: HandBlocks) -> int:
    """Bytes that a HandPass with one thread takes."""
    return 8 * blocks.num_entries + bytes_of_buffers(blocks, 1)


class _HandGradients:
    """The table and the constants of passes that compute gradients.

    Shapes as in `HandLayout`.
    """

    def __init__(self, blocks: HandBlocks, num_threads: int, *, pays_one: bool) -> None:
        layout, public = blocks.layout, blocks.public
        if pays_one:
            pays = np.ones_like(layout.pays)
            blocks = blocks._replace(layout=layout._replace(pays=pays))
        self._sweeps = HandSweeps(blocks, num_threads)
        is_of = [blocks.places[:, PLAYER] == p for p in (0, 1)]
        self._places = [blocks.places[rows] for rows in is_of]
        self._chances = [blocks.chances[rows] for rows in is_of]
        self._table = np.zeros(blocks.num_entries)
        shape = layout.rep_cards.shape[:2]
        self._weights, self._masses = np.zeros(shape), np.zeros(shape)
        num_boards = len(blocks.boards.lists)
        for p in (0, 1):
            members = blocks.boards.members[p * num_boards : (p + 1) * num_boards]
            reps, starts = np.concatenate(members), layout.hand_starts[p]
            self._weights[p, : len(reps)] = public.weights[p, reps]
            first = np.repeat(layout.rep_starts[p, :-1], np.diff(starts))
            rep = first + layout.hand_rep[p, : starts[-1]]
            sizes = np.bincount(rep, minlength=shape[1])
            self._masses[p] = self._weights[p] * sizes / blocks.total

    def write(self, plan: np.ndarray, player: int, gradient: np.ndarray) -> None:
        """Writes a player's gradient.

        Args:
            plan: `[S]` realization plans of both players.
            player: the player.
            gradient: `[S]` sequences of the player are written.
        """
        places, table, sweeps = self._places, self._table, self._sweeps
        other = 1 - player
        gather_reaches(places[other], self._weights[other], plan, table)
        weights = sweeps.blocks.weights
        own = np.zeros(len(weights[player]))
        sweeps.start(0, player, plan[other] * weights[other], own)
        numbers = numbers_of()
        numbers[MODE], numbers[UPDATED] = GRADIENT, player
        tables = BlockTables(table, table, table[:0], np.zeros(0, np.uint8))
        sweeps.run(tables, numbers[None])
        rest = self._masses[player], self._chances[player], table, gradient
        spread_gradient(places[player], *rest)
        gradient[player] = sweeps.return_of(player)
