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
"""Estimated bytes per sequence and per infoset for converting a policy to a vector:
NumPy vectors and Python objects."""

_BYTES_OF_HANDS = 24
"""Bytes per sequence if the policy is already a vector over the sequences of a
HandArena: three vectors of 8-byte numbers."""


def is_arena(value: Any) -> bool:
    """Whether a value is the table of infosets of an arena, not of a policy file."""
    return isinstance(value, InfosetTable) and not isinstance(value, FrozenTable)


def full_pass(table: Any, threads: int | None = 1) -> FullPass:
    """A FullPass, which computes returns, gradients and best responses of a game.

    Args:
        table: an arena that knows all infosets, such as a complete GameTree.
        threads: maximum number of threads per pass; None for one thread per core. The
            result is bit-identical for any number. Fewer threads are used if more would
            not save time.

    Raises:
        MemoryBudgetError: the arrays that passes read do not fit `max_memory`.
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
    """Builds an arena of a game that knows all infosets, or finds it in a cache.

    A GameTree without expanded nodes is expanded in place, within its own `max_nodes`.
    A tree in which a solver has expanded nodes is not changed. Instead, a second arena
    of the game is built once and cached for the lifetime of that tree.

    Args:
        game: game, load string, or arena.
        max_memory: memory limit of a new arena, see `GameTree`. If it is None and
            `game` is an arena whose user has set a limit, the new arena has the same
            limit.
        twin: see `GameTree`; by default False if the given arena has twin=False.
        store: see `Solver`.

    Returns:
        The table of infosets of the arena.

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
    """Finds an arena of a game that knows all infosets in the cache of another arena,
    or builds it.

    Args:
        grown: arena of the policy to evaluate; only modified if it is a GameTree
            without expanded nodes.
        game: game in which to evaluate the policy; may differ from the game of `grown`.
        max_memory, twin, store: see `complete_table`.
        max_nodes: maximum number of nodes of a new tree; by default at least as many as
            `grown` allows.

    Returns:
        `grown` if it knows all infosets of this game; otherwise the arena cached with
        `grown` if it knows them; otherwise a new arena.
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
    """Finds or builds an arena for evaluating a policy, and converts the policy.

    Trees in which a solver has expanded nodes are not changed, see `complete_table`.

    Args:
        game: game, load string, or arena.
        policy: any policy that `policy_vector` accepts.
        max_memory, twin, store: see `complete_table`.

    Returns:
        The table of an arena that knows all infosets, and `[S]` the policy as a vector
        over its sequences.
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
            # `table` and `game` may number sequences differently. SequencePolicy makes
            # `policy_vector` match vectors by information-state strings.
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
