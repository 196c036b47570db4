"""The arena in which a policy is evaluated, and the policy as a vector there."""

from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.arenas.choosing import Game, Limits, arena_of, choose_arena
from mccfr_spiel.arenas.full_pass import FullPass
from mccfr_spiel.arenas.hand_arena import HandArena
from mccfr_spiel.arenas.infosets.beside import kept_beside
from mccfr_spiel.arenas.infosets.loading import load_game
from mccfr_spiel.arenas.infosets.table import InfosetTable
from mccfr_spiel.arenas.needs import EVALUATION
from mccfr_spiel.arenas.policy_vectors import policy_vector
from mccfr_spiel.arenas.tree.game_tree import DEFAULT_MAX_NODES, GameTree
from mccfr_spiel.common.limits import MaxMemory
from mccfr_spiel.policies.names import Names
from mccfr_spiel.policies.policy import SequencePolicy, is_one_for_each, policy_of

_BYTES_OF_SEQUENCE, _BYTES_OF_INFOSET = 48, 320
"""Bytes that reading a policy takes for each: numpy's vectors, and Python's objects."""

_BYTES_OF_HANDS = 24
"""Bytes for each sequence of hands, once its policy is a vector: two vectors for the
passes, and one to spare."""


def is_arena(value: Any) -> bool:
    """Whether a value is the table of an arena, not that of a policy from a file."""
    return isinstance(value, InfosetTable) and not isinstance(value, Names)


def full_pass(table: Any, threads: int | None = 1) -> FullPass:
    """Passes over all of a game: returns, gradients and best responses.

    Args:
        table: an arena that knows all infosets, such as a complete GameTree.
        threads: the most threads that share a pass; None for one for each core. The
            result is the same, bit for bit, with any number of them. A pass uses
            fewer where more would gain nothing.

    Raises:
        MemoryBudgetError: what the passes read does not fit `max_memory`.
        ValueError: a tree is not complete, or `threads` is no number of threads.
    """
    return arena_of(table).passes(threads)


def complete_table(
    game: Game,
    max_memory: MaxMemory = None,
    *,
    twin: bool | None = None,
    store: str = "tree",
) -> Any:
    """An arena of a game that knows all infosets.

    A GameTree that consists of its root only is completed in place, within its own
    `max_nodes`. One that a solver has grown is left as it is, and an arena is made
    beside it, once.

    Args:
        game: a game, its load string, or an arena.
        max_memory: as in `GameTree`, for an arena that is made here. By default an
            arena beside another has the `max_memory` that the other was given.
        twin: likewise; by default an arena beside one that refuses its twin does, too.
        store: what must be kept, see `Solver`.

    Raises:
        TreeFullError, MemoryBudgetError, ValueError: see `choose_arena`; or the game is
            a GameTree with an abstraction.
    """
    if not isinstance(game, InfosetTable):
        limits = Limits(max_memory=max_memory, twin=twin)
        return choose_arena(game, EVALUATION, store, limits).table
    if game.abstraction is not None:
        raise ValueError(
            f"This tree of {game.source} has an abstraction, in which players may "
            "forget: there are no plans to optimize. Give the game itself; a policy "
            "with an abstraction is evaluated in that."
        )
    return table_beside(game, game.source, max_memory, twin=twin, store=store)


def table_beside(
    grown: Any,
    game: pyspiel.Game | str,
    max_memory: MaxMemory = None,
    *,
    max_nodes: int | None = None,
    twin: bool | None = None,
    store: str = "tree",
) -> Any:
    """An arena of a game that knows all infosets, kept beside a policy's arena.

    Args:
        grown: the policy's arena, which is not changed unless it is a new GameTree.
        game: in which to evaluate the policy, be it the arena's game or another.
        max_memory, twin, store: see `complete_table`.
        max_nodes: of a tree that is made here; by default as many as the policy's arena
            may have.

    Returns:
        `grown` itself if it knows all infosets and is surely of that game; else the
        arena that is kept with it, if that is surely of that game; else a new one.
    """
    source, is_new = load_game(game), isinstance(grown, GameTree) and grown.is_new

    def suits(table: InfosetTable) -> bool:
        return table.knows_all_infosets and store in ("auto", table.store)

    def make() -> Any:
        if is_new and source is grown.source:
            return choose_arena(grown, EVALUATION, store).table
        budget, most = grown.budget, max(DEFAULT_MAX_NODES, grown.max_nodes)
        limits = Limits(
            max_nodes=most if max_nodes is None else max_nodes,
            max_memory=max_memory if budget.is_default else max_memory or budget.limit,
            twin=False if twin is None and grown.twin is False else twin,
        )
        return choose_arena(source, EVALUATION, store, limits).table

    return kept_beside(grown, source, suits, make)


def read_policy(
    game: Game,
    policy: Any,
    max_memory: MaxMemory,
    twin: bool | None = None,
    store: str = "auto",
) -> tuple[Any, np.ndarray]:
    """An arena that knows all infosets, and the policy as a vector `[S]` over its
    sequences.

    A tree that a solver has grown is left as it is; a whole one is kept beside it.
    """
    policy = policy_of(policy)
    each = policy if is_one_for_each(policy) else [policy]
    tables = [one.tree for one in each if isinstance(one, SequencePolicy)]
    grown = next(filter(is_arena, tables), None)
    if grown is not None and not isinstance(game, InfosetTable):
        table = table_beside(grown, game, max_memory, twin=twin, store=store)
    else:
        table = complete_table(game, max_memory, twin=twin, store=store)
        if isinstance(game, InfosetTable) and table is not game:
            # It has other numbers, so vectors are read by strings.
            size = (game.num_sequences,)
            each = [
                SequencePolicy(game, one)
                if isinstance(one, np.ndarray) and one.shape == size
                else one
                for one in each
            ]
            policy = each if is_one_for_each(policy) else each[0]
    is_known = isinstance(table, HandArena) and tables == [table]
    size = _BYTES_OF_HANDS if is_known else _BYTES_OF_SEQUENCE
    size *= table.num_sequences
    if isinstance(table, GameTree) and not isinstance(policy, np.ndarray):
        size += _BYTES_OF_INFOSET * table.num_infosets
    table.budget.require(size, "Reading the policy and its plans takes")
    return table, policy_vector(table, policy)
