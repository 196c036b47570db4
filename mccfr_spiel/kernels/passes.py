"""Passes over a complete tree: the loop for algorithms that sample nothing.

Where nothing is sampled no node is walked to. The leaves are listed once, by
`leaves_walk`, as rows grouped by the sequence that led a player there. Then
a player's gradient is a sum over rows: what a leaf pays, times the probability that the
others and chance play to it. The plans of all players, which say that, are kept from
one update to the next.

An update goes up through a player's infosets, where policies move, and down, where
plans follow. Threads share both ways (`go_up` and `go_down`) by taking tickets, see
teams.py, for pieces into which the infosets are cut as follows.

A *block* has infosets of neighbouring numbers, so that a thread reads the leaves, the
infosets and the policy in the order in which they lie in memory. Of these infosets, a
player's are the *piece* of a pass that is about this player. An infoset that has an
infoset of another block anywhere below it is in the *top*, which one thread does. A
*root* is an infoset below the top, or below nothing, that is not in the top itself. The
cut follows the tree's shape alone, never the number of threads.

A pass goes up through all pieces at once, since no infoset of a piece is above or below
one of another piece. A root does not add its value to its parent sequence, which
belongs to the top, but leaves it in its own first sequence, of which nobody needs to
know anything more. Then one thread goes up through the top, and adds the roots' values
where their turn comes. So every sum has the same terms in the same order as in a pass
over a single block, and the same bits. Downward it goes through the top first, then
through all pieces at once.

Batches of walks are cut in another way, see `find_blocks`. What a pass cannot read from
the list of leaves, a depth-first walk over the tree finds (`walk_whole`).
"""

# pyright: reportPossiblyUnboundVariable=false

from typing import Any

import numpy as np
from numba.core import types

from mccfr_spiel.common.arrays import CHANCE_NODE, TERMINAL
from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.apply import begin_update, end_update, is_at_end
from mccfr_spiel.kernels.jit import IS_COMPILED, inlined, jit, pasted
from mccfr_spiel.kernels.minimizers import Rule, for_rule, make_start
from mccfr_spiel.kernels.tables import Passes, Tables, Task, Walk, tree_in, views
from mccfr_spiel.kernels.teams import FAILED, NOTES, load, share, take_pieces

# --- how passes over a complete tree are cut into pieces of work for threads ----------


INNER, ROOT, IN_TOP = range(3)
"""The kinds of infosets."""

THE_TOP = -1
"""The piece that is the top."""

MOST_BLOCKS = 32
"""The most blocks there should be. The more blocks, the more infosets are in the top or
are roots, whose values one thread passes on."""

_WINDOW = 0.25
"""How far a cut may be from where it should be, in lengths of an average block."""


def find_cuts(above: np.ndarray, work: np.ndarray, most: int) -> np.ndarray:
    """Cuts a list of items, such as infosets, into blocks.

    The first blocks have three times the work of the last ones, so that all threads end
    at about the same time. Each cut is moved to where the fewest items behind it come
    from an item before it.

    Args:
        above: `[N]` the earlier item from which each comes, -1 for none.
        work: `[N]` of each item and all before it.
        most: the most blocks.

    Returns:
        `[B + 1]` the first item of each block, and N.
    """
    count, total = len(above), int(work[-1]) if len(work) else 0
    jumps = np.bincount(above[above >= 0] + 1, minlength=count + 1)
    jumps[1:] -= above >= 0
    jumps = np.cumsum(jumps)
    cuts = {0, count}
    for k in range(1, most):
        goal = (1.5 - 0.5 * k / most) * k / most
        window = total * np.array((goal - _WINDOW / most, goal + _WINDOW / most))
        first, last = np.searchsorted(work, window)
        if first < last:
            cuts.add(int(first + np.argmin(jumps[first:last])))
    return np.array(sorted(cuts), np.int64)


@jit
def mark_kinds(
    infosets: np.ndarray, owner: np.ndarray, ends: np.ndarray, kinds: np.ndarray
) -> None:
    """Finds which infosets are in the top, and which are roots.

    Args:
        infosets: of a whole tree.
        owner: `[S]` the infoset of each sequence, -1 for the empty ones.
        ends: see `Blocks`.
        kinds: `[I]` zeros; see `Blocks`.
    """
    # Upward: when an infoset's turn comes, all below it have told it whether they are
    # in the top or in another block.
    for block in range(len(ends) - 2, -1, -1):
        for infoset in range(ends[block + 1] - 1, ends[block] - 1, -1):
            above = owner[infosets[infoset]["parent"]]
            if above >= 0 and (kinds[infoset] == IN_TOP or above < ends[block]):
                kinds[above] = IN_TOP
    for infoset in range(len(infosets)):
        above = owner[infosets[infoset]["parent"]]
        if kinds[infoset] != IN_TOP and (above < 0 or kinds[above] == IN_TOP):
            kinds[infoset] = ROOT


# --- for batches of walks ----------------------------------------------------------


@jit
def find_blocks(
    infosets: np.ndarray,
    members: np.ndarray,
    member_ends: np.ndarray,
    work: np.ndarray,
    most: int,
    owner: np.ndarray,
    block_of: np.ndarray,
    is_root: np.ndarray,
    player_ends: np.ndarray,
) -> None:
    """Finds blocks of whole subtrees, of one player each, for batches of walks.

    Where a subtree has little work it goes into a block as a whole, with its neighbours
    until the block has enough work. What has more work lies in the player's top.

    What is found is not returned, since a signal's exception would end as a SystemError
    if it came while numba makes objects of Python of the arrays.

    Args:
        infosets: of a whole tree.
        members, member_ends: see `Passes`.
        work: `[I]` of an infoset and all below it.
        most: subtrees of more work are cut.
        owner: `[S]` the infoset of each sequence, -1 for the empty ones.
        block_of: `[I]` int32; gets the block, -1 for the top.
        is_root: `[I]` bool, false at first; true where a block's subtree begins.
        player_ends: `[P + 1]` is set; player p has the blocks from its entry to the
            next one.
    """
    num_blocks = 0
    player_ends[0] = 0
    for player in range(len(member_ends) - 1):
        room = 0
        for m in range(member_ends[player], member_ends[player + 1]):
            infoset = members[m]
            above = owner[infosets[infoset]["parent"]]
            if above >= 0 and block_of[above] >= 0:
                block_of[infoset] = block_of[above]
            elif work[infoset] > most:
                block_of[infoset] = -1
            else:
                if work[infoset] > room:
                    num_blocks += 1
                    room = most
                room -= work[infoset]
                block_of[infoset] = num_blocks - 1
                is_root[infoset] = True
        player_ends[player + 1] = num_blocks


# --- passes over a complete tree: the loop for algorithms that sample nothing ---------


WAY, NUM_NOTES = NOTES, 1
"""The leader's one note: the way of the pass."""

UPWARD, DOWNWARD = range(2)
"""The ways."""


@pasted
def go_up(
    do: Any, what: Any, blocks: layout.Blocks, desk: np.ndarray, first: int, end: int
) -> None:
    """Has the pieces `first .. end - 1` done from the last infoset up, then the top."""
    desk[WAY] = UPWARD
    share(do, what, desk, first, end)
    if len(blocks.top) > 0:
        do(what, desk, np.int64(THE_TOP))


@pasted
def go_down(
    do: Any, what: Any, blocks: layout.Blocks, desk: np.ndarray, first: int, end: int
) -> None:
    """Has the top done from the first infoset down, then pieces `first .. end - 1`."""
    desk[WAY] = DOWNWARD
    if len(blocks.top) > 0:
        do(what, desk, np.int64(THE_TOP))
    share(do, what, desk, first, end)


@pasted
def add_rows(
    passes: Passes, plan: np.ndarray, sequence: int, num_others: int, value: float
) -> float:
    """`value` plus what the leaves after a sequence pay, given the other players'
    plans.

    The rows are added to `value` one by one. Their sum, made apart, would be rounded
    differently.
    """
    ends, others, payoffs = passes.ends, passes.others, passes.payoffs
    # An unsigned index is used as it is. Of a signed one each use asks whether it is
    # negative and counts from the end, which takes a third of the time here.
    place = np.uint64(sequence)
    row, stop = np.uint64(ends[place]), np.uint64(ends[place + np.uint64(1)])
    if num_others == 1:  # the same as below, without the inner loop's cost
        while row < stop:
            value += payoffs[row] * plan[np.uint64(others[row, 0])]
            row += np.uint64(1)
    else:
        while row < stop:
            reach = payoffs[row]
            for other in range(num_others):
                reach *= plan[np.uint64(others[row, other])]
            value += reach
            row += np.uint64(1)
    return value


@inlined
def move_plans(
    infosets: np.ndarray, tables: Tables, infoset: int, weight: float
) -> None:
    """Adds an infoset's old plan to the average, and makes that of its new policy."""
    start, plan = infosets[infoset]["first_sequence"], tables.plan
    mass = plan[infosets[infoset]["parent"]]
    for s in range(start, start + infosets[infoset]["num_actions"]):
        tables.average[s] += weight * plan[s]
        plan[s] = mass * tables.policy[s]


@inlined
def take_value(
    tree: layout.TreeArrays, tables: Tables, root: int, looks_ahead: bool
) -> None:
    """Adds the value that a block's root has left to its parent sequence's."""
    start, parent = tree.infosets[root]["first_sequence"], tree.infosets[root]["parent"]
    tables.gradient[parent] += tables.gradient[start]
    tables.gradient[start] = 0.0
    if looks_ahead:
        tables.ahead[parent] += tables.ahead[start]
        tables.ahead[start] = 0.0


def make_piece(rule: Rule, *, has_rows: bool) -> Any:
    """Compiles `do_piece(frame, desk, piece)`, which goes the leader's way through a
    piece, or through the top.

    If there are no rows of leaves, their payoffs must be in the gradient already; and
    in `Tables.ahead` if the rule looks ahead.
    """
    looks_ahead, update, rates_at = rule.looks_ahead, rule.update, rule.rates

    @inlined
    def update_infoset(task, tree, tables, passes, infoset, parent, rates):
        """Adds the leaves' payoffs to an infoset's gradient and moves its policy; adds
        its value at `parent`, the sequence before it."""
        infosets, gradient, plan = tree.infosets, tables.gradient, tables.plan
        start = infosets[infoset]["first_sequence"]
        stop = start + infosets[infoset]["num_actions"]
        if has_rows:
            for s in range(start, stop):
                below = gradient[s]
                gradient[s] = add_rows(passes, plan, s, passes.others.shape[1], below)
                if looks_ahead:
                    tables.ahead[s] += gradient[s] - below
        value = 0.0
        if len(tables.locked) > 0 and tables.locked[infoset] != 0:
            for s in range(start, stop):  # the policy stays
                value += tables.policy[s] * gradient[s]
                gradient[s] = 0.0
        else:
            numbers = task.parameters
            value = update(tables, infoset, parent, start, stop, numbers, rates)
        gradient[parent] += value

    @jit(nogil=True, views_only=True)
    def do_piece(frame, desk, piece):
        task = views(frame, Task)
        tree, tables = tree_in(frame, task.job), views(frame, Tables)
        passes, blocks = views(frame, Passes), views(frame, layout.Blocks)
        walk, infosets = views(frame, Walk), tree.infosets
        if piece == THE_TOP:
            order, is_cut = blocks.top, False
            begin = blocks.top_ends[walk.cursor[layout.PLAYER]]
            end = blocks.top_ends[walk.marks[layout.WALKER] + 1]
        else:
            order, is_cut = passes.members, len(blocks.kinds) > 0
            begin, end = blocks.starts[piece], blocks.starts[piece + 1]
        if desk[WAY] == UPWARD:
            rates = rates_at(task.parameters, walk.cursor[layout.ITERATION])
            for visit in range(end - 1, begin - 1, -1):
                infoset = order[visit]
                if infoset < 0:  # a root, seen from the top
                    take_value(tree, tables, ~infoset, looks_ahead)
                    continue
                kind = blocks.kinds[infoset] if is_cut else np.uint8(INNER)
                if kind == IN_TOP:
                    continue
                parent = infosets[infoset]["parent"]
                if kind == ROOT:
                    parent = infosets[infoset]["first_sequence"]
                update_infoset(task, tree, tables, passes, infoset, parent, rates)
        else:
            weight = walk.clock[layout.AVERAGE_WEIGHT]
            for visit in range(begin, end):
                infoset = order[visit]
                if infoset < 0 or (is_cut and blocks.kinds[infoset] == IN_TOP):
                    continue
                move_plans(infosets, tables, infoset, weight)

    return do_piece


def make_loop(rule: Rule, do_piece: Any, deliver: Any, *, once: bool = False) -> Any:
    """Makes `iterate(frame, desk, leads)` for algorithms that sample nothing.

    It starts the tables of infosets that are new, then runs whole iterations until the
    job's limits. What the frame holds is said in tables.py. `teams.run` calls it in
    some threads, with NUM_NOTES notes; the leader returns DONE.

    Args:
        rule: the local rule.
        do_piece: see `make_piece`.
        deliver: `deliver(frame, desk, tables, first, end)` may write into the gradient,
            before an update of the players `first .. end - 1`, what the leaves pay
            them; returns how many nodes it touches.
        once: whether a call makes at most one update.
    """
    rates, looks_ahead, start_tables = rule.rates, rule.looks_ahead, make_start(rule)

    @inlined
    def begin(task, tables, walk, num_players):
        """Begins the next update; returns whether the job allows one."""
        if is_at_end(task, walk):
            return False
        first, is_alone = walk.cursor[layout.PLAYER], task.job[layout.ALTERNATING] != 0
        walk.marks[layout.WALKER] = first if is_alone else num_players - 1
        begin_update(task, tables, walk, rates, False)
        return True

    @inlined
    def loop(frame, task, tree, tables, walk, blocks, desk, leads):
        if not leads:
            take_pieces(do_piece, frame, desk, False)
            return layout.DONE
        cursor, num_blocks = walk.cursor, len(blocks.ends) - 1
        num_players = tree.utilities.shape[1]
        start_tables(task, tree.infosets, tables, walk.known)

        # One pass of this loop is the update of one player, or of all players at once.
        # Before and after it, all plans are those of the policies, and the gradient is
        # 0.
        while begin(task, tables, walk, num_players):
            first, end = cursor[layout.PLAYER], walk.marks[layout.WALKER] + 1
            walk.marks[layout.TOUCHED] += deliver(frame, desk, tables, first, end)
            begin_piece, end_piece = first * num_blocks, end * num_blocks
            go_up(do_piece, frame, blocks, desk, begin_piece, end_piece)
            go_down(do_piece, frame, blocks, desk, begin_piece, end_piece)
            if load(desk, FAILED) != 0:  # which raises in the thread's stead
                break
            end_update(task, tables, walk, num_players)
            if looks_ahead:
                for sequence in range(num_players):
                    tables.ahead[sequence] = 0.0
            if once:
                break
        return layout.DONE

    @jit(nogil=True, views_only=True)
    def iterate(frame, desk, leads):
        task, tables = views(frame, Task), views(frame, Tables)
        tree, walk = tree_in(frame, task.job), views(frame, Walk)
        blocks = views(frame, layout.Blocks)
        return loop(frame, task, tree, tables, walk, blocks, desk, leads)

    return iterate


@for_rule
def make_passes(rule: Rule, *, estimated: bool = False) -> Any:
    """Makes the loop of `make_loop` for passes over the rows of leaves.

    If the gradients are `estimated`, a call makes one update, before which they have
    been written into the tables, and counts no nodes.
    """

    @inlined
    def count_nodes(frame, desk, tables, first, end):
        """Delivers nothing, since pieces read the rows of leaves."""
        if estimated:
            return 0
        return (end - first) * np.int64(views(frame, Task).job[layout.NUM_NODES])

    do_piece = make_piece(rule, has_rows=not estimated)
    return make_loop(rule, do_piece, count_nodes, once=estimated)


def compile_for_threads(kernel: Any) -> None:
    """Compiles a kernel for passes before threads meet in it.

    The seconds of the first iteration hold no compiler then.
    """
    if IS_COMPILED:
        kernel.compile((types.int64[::1], types.int64[::1], types.boolean))


# --- over the whole tree, once ---------------------------------------------------


@jit(nogil=True)
def fill_gradient(
    infosets: np.ndarray,
    passes: Passes,
    player: int,
    plan: np.ndarray,
    gradient: np.ndarray,
) -> None:
    """Writes a player's utility gradient at the leaves, given all plans `[S]`."""
    num_others = passes.others.shape[1]
    gradient[player] = add_rows(passes, plan, player, num_others, 0.0)
    for m in range(passes.member_ends[player], passes.member_ends[player + 1]):
        start = infosets[passes.members[m]]["first_sequence"]
        for s in range(start, start + infosets[passes.members[m]]["num_actions"]):
            gradient[s] = add_rows(passes, plan, s, num_others, 0.0)


@jit(nogil=True)
def fill_plan(infosets, policy, plan):
    """Writes the plans of all players from their policies."""
    for infoset in range(len(infosets)):
        fill_plan_at(infosets, policy, plan, infoset)


@inlined
def fill_plan_at(
    infosets: np.ndarray, policy: np.ndarray, plan: np.ndarray, infoset: int
) -> None:
    """Writes the plan at an infoset whose parent has one."""
    start = infosets[infoset]["first_sequence"]
    mass = plan[infosets[infoset]["parent"]]
    for s in range(start, start + infosets[infoset]["num_actions"]):
        plan[s] = mass * policy[s]


# --- walks over a complete tree, depth first, which take no memory for a node ---------


def _make_walk(of_leaves: bool) -> Any:
    """Compiles `walk(tree, notes, stack)`, which does its work where it meets a node;
    returns whether the stack was high enough.

    The work at a node stands in the loop, since a call that hands over the arrays of
    the stack would count references and take as long as the rest.

    Args:
        of_leaves: whether the work is done at leaves, which are counted or, with
            `fill`, written: the notes are then `[S]` the count of each sequence's rows
            or where its next one goes, `others` and `payoffs` of `Passes`, and `fill`.
            Otherwise the notes are those of `add_reaches`.
    """

    @jit(nogil=True)
    def walk(tree, notes, stack):
        nodes, utilities = tree.nodes, tree.utilities
        chance_probs = tree.chance_probs
        if of_leaves:
            next_row, others, payoffs, fill = notes
        else:
            reach, plan = notes
        num_players = utilities.shape[1]
        stack_node, stack_prob, stack_sequences = stack
        mine = stack_sequences[len(stack_node)]
        stack_node[0] = 0
        stack_prob[0] = 1.0
        for player in range(num_players):
            stack_sequences[0, player] = player
        top = 1
        # One pass takes a node off the stack, works on it, and puts its children on.
        # `prob` is the probability of chance before the node. `mine` has each player's
        # last sequence there, whose plan says how the player plays to it. It is copied
        # one by one: rows that do not fit would have numba compile a message, for 1 s.
        while top > 0:
            top -= 1
            prob = stack_prob[top]
            for player in range(num_players):
                mine[player] = stack_sequences[top, player]
            record = nodes[stack_node[top]]
            acting = record["player"]
            start = record["start"]
            if acting == TERMINAL:
                if of_leaves:
                    for player in range(num_players):
                        row = next_row[mine[player]]
                        next_row[mine[player]] += 1
                        if fill:
                            payoffs[row] = prob * utilities[start, player]
                            for p in range(num_players):
                                if p != player:
                                    others[row, p - (p > player)] = mine[p]
                continue
            if not of_leaves and acting != CHANCE_NODE:
                reached = prob
                for player in range(num_players):
                    if player != acting:
                        reached *= plan[mine[player]]
                reach[record["infoset"]] += reached
            count = np.int64(record["num_children"])
            first = record["first_child"]
            if top + count > len(stack_node):
                return False
            for child in range(count - 1, -1, -1):
                stack_node[top] = first + child
                stack_prob[top] = prob
                for player in range(num_players):
                    stack_sequences[top, player] = mine[player]
                if acting == CHANCE_NODE:
                    stack_prob[top] = prob * chance_probs[start + child]
                else:
                    stack_sequences[top, acting] = start + child
                top += 1
        return True

    return walk


leaves_walk, reaches_walk = _make_walk(of_leaves=True), _make_walk(of_leaves=False)


HEIGHT = 1024
"""The height of the stack at first."""


def walk_whole(
    walk: Any, tree: layout.TreeArrays, changed: np.ndarray, *notes: Any
) -> None:
    """Walks a tree with notes, of which the first one counts or adds up."""
    height, before, num_players = HEIGHT, changed.copy(), tree.utilities.shape[1]
    while True:
        sequences = np.empty((height + 1, num_players), np.int32)
        stack = np.empty(height, np.int32), np.empty(height), sequences
        if walk(tree, (changed, *notes), stack):
            return
        changed[:] = before
        height *= 4


def add_reaches(tree: layout.TreeArrays, plan: np.ndarray, reach: np.ndarray) -> None:
    """Adds up over the nodes of each infoset how the others and chance play to them.

    Times the player's own plan at the infoset's parent, that is the probability that a
    play reaches the infoset.

    Args:
        tree: the arrays of a complete tree.
        plan: `[S]` all players' realization plans.
        reach: `[I]` to which the reaches are added.
    """
    walk_whole(reaches_walk, tree, reach, plan)
