"""The expansion of the whole tree of a game with compiled rules.

The expansion is depth first. The children of a node get consecutive numbers when the
node is written. `GameTree.expand_all` numbers the nodes of pyspiel's games in the same
order, so both produce equal arrays. The loop is compiled and executes no Python code:
it consists of the functions in played.py and adds infosets to a `RuleStore`.
"""

from typing import Annotated, NamedTuple

import numpy as np

from mccfr_spiel.arenas.rules import played
from mccfr_spiel.arenas.rules.bound_rules import BoundRules
from mccfr_spiel.arenas.rules.row_table import (
    ROW,
    SLOT,
    RowTable,
    new_row_table,
    number_row,
    row_hash,
    with_room,
)
from mccfr_spiel.arenas.rules.rule_records import (
    BROKEN,
    LEVEL,
    GameArrays,
    Known,
    Path,
    nodes_of,
)
from mccfr_spiel.arenas.rules.rule_store import RuleStore, resize
from mccfr_spiel.arenas.rules.state_checks import check_returns
from mccfr_spiel.common.arrays import NODE, TERMINAL, grown_size, reserve
from mccfr_spiel.common.budget import (
    Budget,
    MemoryBudgetError,
    budget_full,
    too_many_nodes,
)
from mccfr_spiel.kernels.frame import Entry, Layout
from mccfr_spiel.kernels.jit import jit
from mccfr_spiel.kernels.tables import (
    DONE,
    FLOAT,
    GROW,
    INT,
    LONG,
    STACK_FULL,
    TreeArrays,
)

WHOLE = "the whole tree"
"""Name under which a budget holds the bytes of an expansion."""

_FEW_NODES = 1024
"""Initial capacity of nodes."""

_FIRST, _COUNT, _NEXT = range(3)
"""Columns of `Whole.trail`:

_FIRST: number of the saved node's first child.
_COUNT: number of children of the saved node.
_NEXT: index of the next child to expand.
"""

_NODE, _NODES, _CHANCES, _OUTCOMES = range(4)
"""Indices of `Whole.counts`:

_NODE: node to write next.
_NODES: number of nodes so far.
_CHANCES: number of distinct chance distributions so far.
_OUTCOMES: number of distinct vectors of returns so far.
"""


class Whole(NamedTuple):
    """Arrays that an expansion fills, apart from nodes and infosets.

    The distinct chance distributions are the rows of a `row_table.RowTable`, whose
    integer values have the bits of the doubles. So are the distinct vectors of returns,
    called outcomes. Shapes: D as in `Path`, C and U values, R rows, T slots.

    Attributes:
        counts: see `_NODE`.
        trail: facts about the saved node of each level, see `_FIRST`.
        cdf: cumulative sums of `chances`.
        chances: concatenated chance distributions.
        chance_rows: hash and start of each distribution.
        chance_table: hash table of the distributions.
        outcomes: concatenated vectors of returns.
        outcome_rows: hash and start of each vector.
        outcome_table: hash table of the vectors.
    """

    counts: Annotated[np.ndarray, Entry(LONG, "[4]")]
    trail: Annotated[np.ndarray, Entry(INT, "[D, 3]")]
    cdf: Annotated[np.ndarray, Entry(FLOAT, "[C]")]
    chances: Annotated[np.ndarray, Entry(LONG, "[C]")]
    chance_rows: Annotated[np.ndarray, Entry(ROW, "[R + 1]")]
    chance_table: Annotated[np.ndarray, Entry(SLOT, "[T]")]
    outcomes: Annotated[np.ndarray, Entry(LONG, "[U]")]
    outcome_rows: Annotated[np.ndarray, Entry(ROW, "[R + 1]")]
    outcome_table: Annotated[np.ndarray, Entry(SLOT, "[T]")]


_LAYOUT = Layout(TreeArrays, GameArrays, Known, Path, Whole)
_views = _LAYOUT.viewer()


class Expansion(NamedTuple):
    """The arrays of a whole tree, which become the attributes of a `GameTree` with the
    same names.

    Attributes:
        nodes: `[N]` NODE.
        infosets: `[I]` INFOSET.
        actions: `[S]` action of each sequence.
        utilities: `[U, P]` distinct vectors of returns.
        chance_probs: `[C]` concatenated distinct chance distributions.
        chance_cdf: `[C]` cumulative sums of each distribution.
        chance_starts: start of each distribution in `chance_probs`.
        keys: player and information key of each infoset; strings are made of them.
    """

    nodes: np.ndarray
    infosets: np.ndarray
    actions: np.ndarray
    utilities: np.ndarray
    chance_probs: np.ndarray
    chance_cdf: np.ndarray
    chance_starts: np.ndarray
    keys: RowTable = new_row_table(np.uint16, 0)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        parts = *self, *self.keys
        return sum(part.nbytes for part in parts if isinstance(part, np.ndarray))


@jit
def _number_outcome(whole, returns):
    """Returns the row number of a vector of returns, which is added if it is new; -1 if
    the arrays are full.
    """
    count, bits = whole.counts[_OUTCOMES], returns.view(np.int64)
    hashed = row_hash(bits, len(bits))
    rows = whole.outcomes, whole.outcome_rows, whole.outcome_table
    number = number_row(*rows, count, hashed, bits, len(bits))
    whole.counts[_OUTCOMES] += int(number == count)
    return number


@jit
def _start_of_chances(whole, probs, cdf, length):
    """Returns the start of a distribution in `chances`, where it is added if it is new;
    -1 if the arrays are full.
    """
    count, bits = whole.counts[_CHANCES], probs.view(np.int64)
    hashed = row_hash(bits, length)
    rows = whole.chances, whole.chance_rows, whole.chance_table
    number = number_row(*rows, count, hashed, bits, length)
    if number < 0:
        return number
    start = whole.chance_rows[number]["start"]
    if number == count:
        whole.counts[_CHANCES] += 1
        for k in range(length):
            whole.cdf[start + k] = cdf[k]
    return start


@jit
def expand(frame, rules):
    """Writes nodes until the tree is complete or an array is full.

    Args:
        frame: frame of `_LAYOUT`. In `TreeArrays`, the arrays of nodes and infosets
            have unused entries, and the chance distribution and returns are those of
            one node.
        rules: addresses from `rule_calls.callable_rules`.

    Returns:
        DONE; GROW if the arrays of infosets, distributions or outcomes must be
            enlarged; STACK_FULL if the array of nodes must be enlarged; or BROKEN + a
            status of rules/rule_faults.py. After GROW or STACK_FULL, call again with
            larger arrays.
    """
    tree, game = _views(frame, TreeArrays), _views(frame, GameArrays)
    known, path = _views(frame, Known), _views(frame, Path)
    whole = _views(frame, Whole)
    source = nodes_of(tree, game, known, path, rules)
    nodes, counts, trail = tree.nodes, whole.counts, whole.trail
    # Invariant: the path is at the unwritten node counts[_NODE], and trail[: level + 1]
    # lists the saved ancestors with the next child to expand. Each pass of the loop
    # writes the node, saves the state if there are children, and moves the path to the
    # next unwritten node: a child of the deepest saved ancestor that has unexpanded
    # children. The loop ends if no ancestor has any, or if an array is full. Counters
    # change only if the whole node fits, so the next call can repeat the node.
    while True:
        node, first, count, infoset = counts[_NODE], counts[_NODES], 0, -1
        acting = played.who_acts(rules, game, path)
        if acting == TERMINAL:
            first = 0
            status = played.end_game(rules, game, path, tree.utilities)
            start = np.int64(0)
            if status == DONE:
                start = _number_outcome(whole, tree.utilities[0])
        else:
            free = len(nodes) - first
            status, moves = played.arrive(source, node, acting, free)
            start, count, infoset = moves.start, moves.count, moves.infoset
            if status == DONE and infoset < 0:
                probs, cdf = tree.chance_probs, tree.chance_cdf
                start = _start_of_chances(whole, probs, cdf, count)
        if status != DONE or start < 0:
            return status if status != DONE else GROW
        nodes[node]["first_child"] = first
        nodes[node]["start"] = start
        nodes[node]["infoset"] = infoset
        nodes[node]["num_children"] = count
        nodes[node]["player"] = acting
        level = path.position[LEVEL]
        if count > 0:
            counts[_NODES] += count
            played.keep(source, played.moves_at(path, acting, infoset, start, count))
            level = path.position[LEVEL]
            trail[level, _FIRST], trail[level, _COUNT] = first, count
            trail[level, _NEXT] = 0
        while level >= 0 and trail[level, _NEXT] == trail[level, _COUNT]:
            level -= 1
        if level < 0:
            return DONE
        child = trail[level, _NEXT]
        trail[level, _NEXT] = child + 1
        counts[_NODE] = trail[level, _FIRST] + child
        below = played.stacked(level) + 1 + child
        played.go_to(rules, game, path, below)


def expand_rules(rules: BoundRules, max_nodes: int, budget: Budget) -> Expansion:
    """Expands the whole tree of a game with compiled rules.

    Args:
        rules: rules of the game.
        max_nodes: largest number of nodes.
        budget: budget that is charged for the tree.

    Raises:
        TreeFullError: the tree has more than `max_nodes` nodes.
        MemoryBudgetError: the tree does not fit the budget, which is left unchanged.
        GameError: the rules contradict themselves or their declarations. The message
            names the error and the history.
    """
    # A separate budget, so that a failed expansion leaves the given one unchanged.
    own, name = budget.rest(), rules.description.short_name
    store = RuleStore(rules, own)
    path, node_arrays = store.new_path(), store.tree_of_node()
    path.state[:] = rules.start()
    max_children, players = rules.sizes.max_children, rules.num_players
    nodes = np.zeros(min(_FEW_NODES + max_children, max_nodes), NODE)
    chances = new_row_table(np.int64, max_children)
    outcomes = new_row_table(np.int64, players)
    cdf, counts = np.zeros(max_children), np.array([0, 1, 0, 0])
    trail = np.zeros((len(path.history), 3), np.int32)
    # Each pass of the loop writes nodes until an array is full, then enlarges arrays.
    # The loop ends when the tree is complete, or at an error in the rules.
    while True:
        whole = Whole(counts, trail, cdf, *chances, *outcomes)
        tree = node_arrays._replace(nodes=nodes, infosets=store.infosets)
        frame = _LAYOUT.frame_of(tree, store.game, store.known, path, whole)
        status = expand(frame, store.called)
        if status not in (GROW, STACK_FULL):
            break
        try:
            if status == STACK_FULL:
                if len(nodes) == max_nodes:
                    raise too_many_nodes(name, max_nodes)
                size = grown_size(len(nodes), int(counts[_NODES]) + max_children)
                own.hold(WHOLE, NODE.itemsize * min(size, max_nodes))
                resize(nodes, min(size, max_nodes))
                continue
            store.grow()
        except MemoryBudgetError as error:
            met = f"{counts[_NODES]:,} nodes and {store.sizes()[0]:,} infosets"
            raise budget_full(f"{met} of {name}", budget) from error
        chances = with_room(chances, counts.item(_CHANCES), max_children)
        outcomes = with_room(outcomes, counts.item(_OUTCOMES), players)
        cdf = reserve(cdf, len(chances.values))
    # All other statuses report errors in the rules.
    if status != DONE:
        store.raise_broken(status - BROKEN, path)
    resize(nodes, counts.item(_NODES))
    store.trim()
    starts = chances.rows["start"][: counts[_CHANCES] + 1]
    utilities = outcomes.values[: players * counts[_OUTCOMES]].view(np.float64)
    expansion = Expansion(
        nodes=nodes,
        infosets=store.infosets,
        actions=store.known.actions,
        utilities=utilities.reshape(-1, players),
        chance_probs=chances.values[: starts[-1]].view(np.float64),
        chance_cdf=cdf[: starts[-1]],
        chance_starts=starts[:-1].copy(),
        keys=store.keys(),
    )
    declared = store.declared
    if declared.is_openspiels:  # warns if the declared range is wrong
        for returns in expansion.utilities.tolist():
            declared = check_returns(declared, returns)
    budget.record(WHOLE, expansion.nbytes)
    return expansion
