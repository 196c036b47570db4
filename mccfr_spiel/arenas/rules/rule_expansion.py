"""The expansion of the whole tree of a game with compiled rules."""

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
from mccfr_spiel.common import limits
from mccfr_spiel.common.arrays import NODE, TERMINAL, grown_size, reserve
from mccfr_spiel.common.limits import Budget, MemoryBudgetError
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
"""Under this name a budget holds what an expansion takes."""

_FEW_NODES = 1024
_FIRST, _COUNT, _NEXT = range(3)
_NODE, _NODES, _CHANCES, _OUTCOMES = range(4)


class Whole(NamedTuple):
    """What an expansion fills besides nodes and infosets; D is that of `Path`.

    Rows are kept as in `row_table.RowTable`; their values are the bits of doubles.

    Attributes:
        counts: the node to write next; nodes and rows so far.
        trail: of each node above: its first child, how many, the next.
        cdf: running sums of `chances`.
        chances: the distributions of chance.
        chance_rows: of them.
        chance_table: of them.
        outcomes: the vectors of returns.
        outcome_rows: of them.
        outcome_table: of them.
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
    """A whole tree, whose arrays become GameTree's attributes of the same names.

    Attributes:
        keys: of the infosets, from which compiled rules make their names.
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
        """The bytes of all arrays."""
        parts = *self, *self.keys
        return sum(part.nbytes for part in parts if isinstance(part, np.ndarray))


@jit
def _number_outcome(whole, returns):
    """The row of a vector of returns; -1 if there must be more room first."""
    count, bits = whole.counts[_OUTCOMES], returns.view(np.int64)
    hashed = row_hash(bits, len(bits))
    rows = whole.outcomes, whole.outcome_rows, whole.outcome_table
    number = number_row(*rows, count, hashed, bits, len(bits))
    whole.counts[_OUTCOMES] += int(number == count)
    return number


@jit
def _start_of_chances(whole, probs, cdf, length):
    """Where a distribution begins; -1 if there must be more room first."""
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
    """Writes nodes until the tree is whole or something stops the walk.

    Each pass writes the node where the walk is and goes to the next one that is not
    written: the first child, or the next child of the lowest node above that has one.
    Nothing is counted before all of a node fits, so after a stop the same node is
    written again.

    Args:
        frame: of `_LAYOUT`; of `nodes` and infosets there is room to spare, and of
            chance and returns in TreeArrays there are those of one node.
        rules: of `rule_calls.callable_rules`.

    Returns:
        DONE, GROW if there must be more room for infosets or rows, STACK_FULL for
        nodes, or BROKEN + a status of rules/rule_faults.py.
    """
    tree, game = _views(frame, TreeArrays), _views(frame, GameArrays)
    known, path = _views(frame, Known), _views(frame, Path)
    whole = _views(frame, Whole)
    source = nodes_of(tree, game, known, path, rules)
    nodes, counts, trail = tree.nodes, whole.counts, whole.trail
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
        rules: the game's rules.
        max_nodes: the most nodes that the tree may have.
        budget: the bytes that the tree may take and is charged with.

    Raises:
        TreeFullError: the tree has more nodes.
        MemoryBudgetError: the tree does not fit the budget, which is left as it was.
        GameError: the rules contradict themselves or what they declare; the message
            says how and where.
    """
    # Of its own, so that an expansion that fails has taken nothing.
    own, name = Budget(max(budget.left, 1)), rules.description.short_name
    store = RuleStore(rules, own)
    path, one = store.new_path(), store.tree_of_node()
    path.state[:] = rules.start()
    most, players = rules.sizes.max_children, rules.num_players
    nodes = np.zeros(min(_FEW_NODES + most, max_nodes), NODE)
    chances = new_row_table(np.int64, most)
    outcomes = new_row_table(np.int64, players)
    cdf, counts = np.zeros(most), np.array([0, 1, 0, 0])
    trail = np.zeros((len(path.history), 3), np.int32)
    # One pass writes nodes as far as there is room, and makes room for one more.
    while True:
        whole = Whole(counts, trail, cdf, *chances, *outcomes)
        tree = one._replace(nodes=nodes, infosets=store.infosets)
        frame = _LAYOUT.frame_of(tree, store.game, store.known, path, whole)
        status = expand(frame, store.called)
        if status not in (GROW, STACK_FULL):
            break
        try:
            if status == STACK_FULL:
                if len(nodes) == max_nodes:
                    raise limits.too_many_nodes(name, max_nodes)
                size = grown_size(len(nodes), int(counts[_NODES]) + most)
                own.hold(WHOLE, NODE.itemsize * min(size, max_nodes))
                resize(nodes, min(size, max_nodes))
                continue
            store.grow()
        except MemoryBudgetError as error:
            met = f"{counts[_NODES]:,} nodes and {store.sizes()[0]:,} infosets"
            raise limits.budget_full(f"{met} of {name}", budget) from error
        chances = with_room(chances, counts.item(_CHANCES), most)
        outcomes = with_room(outcomes, counts.item(_OUTCOMES), players)
        cdf = reserve(cdf, len(chances.values))
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
    if declared.is_openspiels:  # whose range may be wrong, of which this warns
        for returns in expansion.utilities.tolist():
            declared = check_returns(declared, returns)
    budget.measured(WHOLE, expansion.nbytes)
    return expansion
