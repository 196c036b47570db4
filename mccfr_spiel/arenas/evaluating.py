"""Chooses the arena for evaluating a policy and converts the policy to a vector."""

from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.arenas.choosing import arena_of, choose_arena
from mccfr_spiel.arenas.full_pass import FullPass
from mccfr_spiel.arenas.hand_arena import HandArena
from mccfr_spiel.arenas.infosets.companions import kept_beside
from mccfr_spiel.arenas.infosets.loading import load_game
from mccfr_spiel.arenas.infosets.table import InfosetTable
from mccfr_spiel.arenas.needs import EVALUATION
from mccfr_spiel.arenas.policy_vectors import policy_vector
from mccfr_spiel.arenas.request import Game, Limits
from mccfr_spiel.arenas.tree.game_tree import DEFAULT_MAX_NODES, GameTree
from mccfr_spiel.common.budget import MaxMemory
from mccfr_spiel.common.display import brief
from mccfr_spiel.policies.adapter import is_one_for_each, policy_of
from mccfr_spiel.policies.frozen_table import FrozenTable
from mccfr_spiel.policies.policy import SequencePolicy

_BYTES_OF_SEQUENCE, _BYTES_OF_INFOSET = 48, 320
"""Bytes per sequence and per infoset for reading a policy: NumPy vectors and Python
objects."""

_BYTES_OF_HANDS = 24
"""Bytes per sequence if the policy is already a vector over hands: two vectors for the
passes and one spare."""


def is_arena(value: Any) -> bool:
    """Whether a value is the table of an arena rather than of a policy file."""
    return isinstance(value, InfosetTable) and not isinstance(value, FrozenTable)


def full_pass(table: Any, threads: int | None = 1) -> FullPass:
    """Full passes over a game, for returns, gradients and best responses.

    Args:
        table: an arena that knows all infosets, such as a complete GameTree.
        threads: maximum number of threads per pass; None for one thread per core. The
            result is bit-identical for any number. Fewer threads are used if more would
            not save time.

    Raises:
        MemoryBudgetError: the lists for passes do not fit `max_memory`.
        ValueError: a tree is not complete, or `threads` is not a positive integer.
    """
    return arena_of(table).passes(threads)


def complete_table(
    game: Game,
    max_memory: MaxMemory = None,
    *,
    twin: bool | None = None,
    store: str = "tree",
) -> Any:
    """Builds or finds an arena of a game that knows all infosets.

    A new GameTree is expanded in place, within its own `max_nodes`. A tree that a
    solver has grown is not changed; another arena is built once and cached with it.

    Args:
        game: game, load string, or arena.
        max_memory: see `GameTree`; for a new arena. By default an arena that is cached
            with another one has the same limit.
        twin: see `GameTree`; by default False if the given arena has twin=False.
        store: see `Solver`.

    Raises:
        TreeFullError, MemoryBudgetError, ValueError: see `choose_arena`; or the game is
            a GameTree with an abstraction.
    """
    if not isinstance(game, InfosetTable):
        limits = Limits(max_memory=max_memory, twin=twin)
        return choose_arena(game, EVALUATION, store, limits).table
    if game.abstraction is not None:
        raise ValueError(
            f"This tree of {brief(game.source)} has an abstraction, under which "
            "players may forget, so it has no realization plans. Pass the game "
            "itself; it also evaluates policies with an abstraction."
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
    """Finds or builds an arena of a game that knows all infosets, cached with another
    arena.

    Args:
        grown: arena of the policy; only modified if it is a new GameTree.
        game: game in which to evaluate the policy; may differ from the arena's game.
        max_memory, twin, store: see `complete_table`.
        max_nodes: maximum number of nodes of a new tree; by default at least as many as
            the policy's arena allows.

    Returns:
        `grown` if it knows all infosets of this game, else the arena cached with it if
        that one does, else a new arena.
    """
    source, is_new = load_game(game), isinstance(grown, GameTree) and grown.is_new

    def suits(table: InfosetTable) -> bool:
        return table.knows_all_infosets and store in ("auto", table.store)

    def make() -> Any:
        if is_new and source is grown.source:
            return choose_arena(grown, EVALUATION, store).table
        budget, node_limit = grown.budget, max(DEFAULT_MAX_NODES, grown.max_nodes)
        limits = Limits(
            max_nodes=node_limit if max_nodes is None else max_nodes,
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
    """An arena that knows all infosets, and `[S]` the policy as a vector over its
    sequences.

    Trees that a solver has grown are not changed, see `complete_table`.
    """
    policy = policy_of(policy)
    each = policy if is_one_for_each(policy) else [policy]
    tables = [part.tree for part in each if isinstance(part, SequencePolicy)]
    grown = next(filter(is_arena, tables), None)
    if grown is not None and not isinstance(game, InfosetTable):
        table = table_beside(grown, game, max_memory, twin=twin, store=store)
    else:
        table = complete_table(game, max_memory, twin=twin, store=store)
        if isinstance(game, InfosetTable) and table is not game:
            # The new table numbers its sequences differently, so vectors over `game`
            # are matched by information-state string.
            size = (game.num_sequences,)
            each = [
                SequencePolicy(game, part)
                if isinstance(part, np.ndarray) and part.shape == size
                else part
                for part in each
            ]
            policy = each if is_one_for_each(policy) else each[0]
    is_known = isinstance(table, HandArena) and tables == [table]
    size = _BYTES_OF_HANDS if is_known else _BYTES_OF_SEQUENCE
    size *= table.num_sequences
    if isinstance(table, GameTree) and not isinstance(policy, np.ndarray):
        size += _BYTES_OF_INFOSET * table.num_infosets
    table.budget.require(size, "Reading the policy and its plans takes")
    return table, policy_vector(table, policy)
