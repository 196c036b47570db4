"""The expansion through pyspiel, of a whole tree or where walks go, and the watch over
that of a whole tree.

Compiled rules do not come here: rules/expansion.py expands them with no Python per
node.

The pieces into which passes over a complete tree are cut for several threads.

`kernels/passes.py` explains the cut.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.common import refusals
from mccfr_spiel.common.arrays import UNEXPANDED
from mccfr_spiel.common.limits import num_cores, refusal, resident, too_many_nodes
from mccfr_spiel.kernels.passes import (
    INNER,
    MOST_BLOCKS,
    ROOT,
    WORK_OF_SEQUENCE,
    find_blocks,
    find_cuts,
    mark_kinds,
)
from mccfr_spiel.kernels.sampling import count_sequences
from mccfr_spiel.kernels.shared_walks import Cut
from mccfr_spiel.kernels.tables import Blocks, Passes
from mccfr_spiel.rules.description import tell_history
from mccfr_spiel.tree.levels import members_of
from mccfr_spiel.tree.outcomes import UNCOUNTED
from mccfr_spiel.tree.readable import ReadableTree

_CHECKED = 1024
"""The expansion looks every so many nodes at what cannot be counted."""


class _Watch:
    """Looks at an expansion every now and then, for what counting does not show."""

    def __init__(self, tree: ReadableTree, most: int, most_memory: int | None) -> None:
        self._tree, self._most = tree, most
        self._most_memory = tree.budget.limit if most_memory is None else most_memory
        self._resident, self._taken = resident(), tree.budget.taken
        self._is_forecast = False

    def look(self, state: pyspiel.State) -> None:
        """Checks a history's length, the size of the tree to come, and the process.

        Raises:
            ValueError: the history is endless.
            TreeFullError: the tree is by far too large.
            MemoryBudgetError: the process has grown by more than the budget.
        """
        self._tree.check_length(state)
        if not self._is_forecast:
            self._is_forecast = True
            self._check_forecast()
        budget = self._tree.budget
        uncounted = budget.held(UNCOUNTED)
        counted = budget.taken - uncounted - self._taken
        grown = resident() - self._resident
        budget.measured(UNCOUNTED, max(grown - counted, 0))
        if budget.left < 0 or budget.taken - self._taken > self._most_memory:
            raise self._tree.node_store.full(", with the states on the way,")

    def _check_forecast(self) -> None:
        tree, most = self._tree, self._most
        found = tree.forecast(most)
        if found.endless is not None:
            tree.check_length(found.endless)
        error = refusal(found, str(tree.source), most, tree.budget)
        if error is not None:
            raise error


Place = tuple[pyspiel.State, list[int]]
"""A node's state, and each player's last sequence before it."""

Opened = list[Any]
"""A node that was expanded: its next child, its moves, who acts, its first child, where
the moves begin, its state, and each player's last sequence before it."""


def child_of(opened: Opened, child: int, *, is_last: bool) -> Place:
    """The place of a child.

    Args:
        opened: the parent.
        child: which one.
        is_last: whether nobody needs the parent's any more, which then becomes this.
    """
    _, moves, acting, _, start, state, sequences = opened
    move, before = moves[child] if acting >= 0 else moves[child][0], state
    try:
        if is_last:
            state.apply_action(move)
        else:
            state, sequences = state.child(move), sequences.copy()
    except Exception as error:
        tell_history(error, before, move)
        raise
    if acting >= 0:
        sequences[acting] = start + child
    return state, sequences


def expand_below(
    tree: ReadableTree,
    expand: Callable[..., tuple[Sequence[Any], int, int, int, int]],
    node: int,
    place: Place,
    draws: Sequence[bool],
    look_at: int,
    look: Callable[[pyspiel.State], int],
) -> list[Opened]:
    """Expands a node and all below it that is unexpanded, under the tree's lock.

    Args:
        tree: the tree.
        expand: its `GameTree.expand_held`.
        node: where to begin.
        place: of that node.
        draws: by who acts, chance last, whether to stop there.
        look_at: how many nodes there may be before the first look.
        look: is asked for the next such number at a node's state; -1 to stop there.

    Returns:
        The nodes above where it stopped that have children to come, the lowest last.
    """
    nodes, stack, (state, sequences) = tree.node_store, [], place
    old = nodes.count  # of these nodes some may be expanded
    # One pass visits one node: it expands the node if need be, puts it on the stack if
    # it has children, and goes on to the next child of the node on top. A node's last
    # child takes over its state, since nobody else needs that any more.
    while True:
        if node >= old or nodes.record(node)[4] == UNEXPANDED:
            moves, acting, first, start, _ = expand(node, state, sequences)
        else:
            first, start, _, _, acting = nodes.record(node)
            moves = _moves(state)
        if moves:
            stack.append([0, moves, acting, first, start, state, sequences])
        if nodes.count > look_at:
            look_at = look(state)
        if not stack or look_at < 0 or (moves and draws[acting]):
            return stack
        opened = stack[-1]
        child = opened[0]
        opened[0] = child + 1
        is_last = child + 1 == len(opened[1])
        if is_last:
            stack.pop()
        state, sequences = child_of(opened, child, is_last=is_last)
        node = opened[3] + child


def expand_depth_first(
    tree: ReadableTree,
    expand: Callable[..., tuple[Sequence[Any], int, int, int, int]],
    most: int,
    most_memory: int | None,
) -> None:
    """Expands every node of a tree that is unexpanded, under the tree's lock.

    Args:
        tree, expand: as in `expand_below`.
        most: how many nodes there may be.
        most_memory: how many bytes the expansion may take, all of the budget by
            default.

    Raises:
        TreeFullError, MemoryBudgetError: there are more.
        ValueError: see `GameTree.expand`.
    """
    nodes = tree.node_store
    watch = _Watch(tree, most, most_memory)

    def look(state: pyspiel.State) -> int:
        if nodes.count > most:
            raise too_many_nodes(tree.game, most)
        watch.look(state)
        return min(most, nodes.count + _CHECKED)

    root = tree.new_state(), list(range(tree.num_players))
    follows_all = [False] * (tree.num_players + 1)
    first_look = min(most, nodes.count + _CHECKED)
    expand_below(tree, expand, 0, root, follows_all, first_look, look)


def _moves(state: pyspiel.State) -> Sequence[Any]:
    """What leads from a state, as `GameTree.expand` returns it."""
    return state.chance_outcomes() if state.is_chance_node() else state.legal_actions()


# --- the pieces into which passes over a complete tree are cut for several threads ----


LEAST_WORK = 2**17
"""The work for each thread of a pass from which on sharing gains something, in rows of
leaves: about a quarter of a millisecond."""

LEAST_WORK_AT_ONCE = 2**20
"""The same for a single pass, for which the threads must be woken each time."""

LEAST_BLOCK = 2**14
"""The least work of a block on average, in rows of leaves."""

NUM_BLOCKS_OF_BATCH, LEAST_BLOCK_OF_BATCH = 32, 64
"""How many blocks each player should have for a batch of walks, and the least work of
one."""


def work_of(passes: Passes) -> int:
    """The work of a pass for all players, in rows of leaves."""
    return len(passes.payoffs) + WORK_OF_SEQUENCE * (len(passes.ends) - 1)


def one_block(passes: Passes) -> Blocks:
    """All infosets in one block, for one thread."""
    num_players = len(passes.member_ends) - 1
    return Blocks(
        ends=np.array((0, len(passes.members)), np.int64),
        starts=passes.member_ends,
        kinds=np.zeros(0, np.uint8),
        top=np.zeros(0, np.int32),
        top_ends=np.zeros(num_players + 1, np.int64),
    )


def cut_into_blocks(infosets: np.ndarray, passes: Passes) -> Blocks:
    """Cuts the infosets of a complete tree.

    Args:
        infosets: of the tree.
        passes: the list of its leaves.
    """
    owner = _owners(infosets, len(passes.member_ends) - 1)
    stops = infosets["first_sequence"] + infosets["num_actions"]
    work = passes.ends[stops] + WORK_OF_SEQUENCE * stops
    total = int(work[-1]) if len(infosets) else 0
    most = max(min(MOST_BLOCKS, total // LEAST_BLOCK), 1)
    return cut_at(infosets, passes, find_cuts(owner[infosets["parent"]], work, most))


def _owners(infosets: np.ndarray, num_players: int) -> np.ndarray:
    """`[S]` the infoset of each sequence, -1 for the empty ones."""
    owner = np.repeat(np.arange(len(infosets), dtype=np.int32), infosets["num_actions"])
    return np.append(np.full(num_players, -1, np.int32), owner)


def cut_at(infosets: np.ndarray, passes: Passes, ends: np.ndarray) -> Blocks:
    """Cuts the infosets of a complete tree at these, the first of each block and their
    number."""
    kinds = np.zeros(len(infosets), np.uint8)
    mark_kinds(infosets, _owners(infosets, len(passes.member_ends) - 1), ends, kinds)
    starts = [np.zeros(1, np.int64)]
    for first, last in itertools.pairwise(passes.member_ends):
        starts.append(first + np.searchsorted(passes.members[first:last], ends[1:]))
    top = passes.members[kinds[passes.members] != INNER]
    tops = np.cumsum(np.append(0, kinds[passes.members] != INNER))
    is_root = kinds[top] == ROOT
    return Blocks(
        ends=ends,
        starts=np.concatenate(starts),
        kinds=kinds,
        top=np.where(is_root, ~top, top),
        top_ends=tops[passes.member_ends],
    )


def cut_for_batches(infosets: np.ndarray, num_players: int, num_sequences: int) -> Cut:
    """Cuts the infosets of a complete tree for batches of walks.

    Args:
        infosets: of the tree.
        num_players: how many players there are.
        num_sequences: of all of them.
    """
    counts = np.ones(num_sequences)
    count_sequences(infosets, counts)
    starts = infosets["first_sequence"]
    work = (WORK_OF_SEQUENCE * np.add.reduceat(counts, starts)).astype(np.int64)
    total = WORK_OF_SEQUENCE * int(counts[:num_players].sum() - num_players)
    most = max(total // (num_players * NUM_BLOCKS_OF_BATCH), LEAST_BLOCK_OF_BATCH)
    members, member_ends = members_of(infosets, num_players)
    owner = _owners(infosets, num_players)
    block_of = np.empty(len(infosets), np.int32)
    is_root = np.zeros(len(infosets), np.bool_)
    player_ends = np.zeros(num_players + 1, np.int64)
    find_blocks(
        infosets,
        members,
        member_ends,
        work,
        most,
        owner,
        block_of,
        is_root,
        player_ends,
    )
    home = np.where(block_of < 0, -1, 2 * block_of + is_root).astype(np.int32)
    counts = np.bincount(block_of[block_of >= 0], minlength=player_ends[-1])
    ends = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    num_top = int(np.count_nonzero((block_of < 0) | is_root))
    return Cut(
        home=np.where(owner < 0, np.int32(-1), home[owner]),
        player_ends=player_ends,
        ends=ends,
        met=np.zeros(ends[-1], np.int32),
        num_met=np.zeros(player_ends[-1], np.int64),
        top=np.zeros(num_top, np.int32),
    )


def bytes_of_blocks(num_infosets: int, num_sequences: int) -> int:
    """The bytes of the blocks, and of what is needed to find them."""
    return 64 * num_infosets + 4 * num_sequences


STORES = "auto", "tree", "none", "worlds"
"""What `store` may be."""


def check_store(store: Any) -> None:
    """Raises ValueError unless a value is one of STORES."""
    if store not in STORES:
        raise ValueError(f"store={store!r} is not one of {', '.join(STORES)}.")


def checked_threads(threads: Any) -> int | None:
    """The number of threads that was given, None for one for each core.

    Raises:
        ValueError: it is no number above 0.
    """
    return None if threads is None else refusals.integer(threads, "threads", 1)


def useful_threads(threads: int | None, passes: Passes, least_work: int) -> int:
    """How many threads a pass should have.

    Args:
        threads: at most so many; None for one for each core.
        passes: of the tree.
        least_work: of each thread, such as LEAST_WORK.
    """
    most = num_cores() if threads is None else threads
    return max(min(most, work_of(passes) // least_work), 1)
