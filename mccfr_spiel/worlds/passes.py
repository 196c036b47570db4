"""Gradients, best responses and a solver's iterations by passes over worlds.

A pass reads the lists of `listing.Worlds` once, from the beginning to the end. For a
player's gradient it carries, down to each world, the other player's *reach*: the sum of
the plan over the steps of the last edge along which the other moved. What the leaves
below pay is *owed* to the player's last sequences. It is paid to each of them once,
when the pass comes back over their edge.
"""

from typing import Any

import numpy as np

from mccfr_spiel.kernels.frame import Layout
from mccfr_spiel.kernels.jit import inlined, jit
from mccfr_spiel.kernels.minimizers import Rule, for_rule
from mccfr_spiel.kernels.passes import WAY, make_loop, make_piece
from mccfr_spiel.kernels.tables import (
    LAYOUT,
    Blocks,
    Passes,
    Plans,
    Tables,
    Task,
    Walk,
    tree_in,
)
from mccfr_spiel.kernels.teams import share
from mccfr_spiel.worlds.hands import Hands, add_hand_gradient
from mccfr_spiel.worlds.listing import MOST_ACTIONS, MOST_CLASSES, Leaves, Worlds

AnyWorlds = Worlds | Leaves | Hands
"""What may be found of a game."""

LAYOUTS = {kind: Layout(*LAYOUT.kinds, kind) for kind in (Worlds, Leaves, Hands)}
"""What a frame of `make_world_iterate` holds. Its `Passes` have no rows."""

ACROSS = 2
"""The way in which a pass delivers gradients; see `kernels.passes.WAY` for the others.
"""


@inlined
def sum_of(plan, steps, begin, length):
    """The sum of a plan over the steps of an edge."""
    total, k, stop = 0.0, np.uint64(begin), np.uint64(begin + length)
    while k < stop:  # unsigned, see `kernels.passes.add_rows`
        total += plan[np.uint64(steps[k])]
        k += np.uint64(1)
    return total


@inlined
def pay(gradient, steps, begin, length, value):
    """Adds a value at all steps of an edge."""
    k, stop = np.uint64(begin), np.uint64(begin + length)
    while k < stop:
        gradient[np.uint64(steps[k])] += value
        k += np.uint64(1)


@jit(nogil=True)
def add_gradient(
    worlds: Worlds, player: int, plan: np.ndarray, gradient: np.ndarray
) -> None:
    """Adds a player's utility gradient at the leaves, given the other's plan `[S]`.

    Each pass of the loop is at one world. It enters the world and reads the edges that
    end the game, if it has not done so; then it goes along the next edge or, if there
    is none, back to the world before. `where` has, by level, where the steps of each
    edge begin.
    """
    steps, lengths, ends, returns, actors, edges, heights = worlds
    height = heights[0] + 1
    where = np.zeros((height, MOST_ACTIONS), np.int64)
    first, here = np.zeros(height, np.int64), np.zeros(height, np.int64)
    stop, is_mine = np.zeros(height, np.int64), np.zeros(height, np.bool_)
    reach, owed = np.ones(height), np.zeros(height)
    world, edge, at, level, enters = 0, 0, 0, 0, True
    while True:
        if enters:
            enters = False
            first[level] = here[level] = edge
            stop[level] = edge + np.int64(edges[world])
            is_mine[level] = actors[world] == player
            owed[level] = 0.0
            world += 1
            while edge < stop[level]:
                where[level, edge - first[level]] = at
                paid = returns[edge, player]
                if ends[edge] and paid != 0.0:
                    if is_mine[level]:
                        value = paid * reach[level]
                        pay(gradient, steps, at, lengths[edge], value)
                    else:
                        owed[level] += paid * sum_of(plan, steps, at, lengths[edge])
                at += lengths[edge]
                edge += 1
        while here[level] < stop[level] and ends[here[level]]:
            here[level] += 1
        if here[level] < stop[level]:
            along, below = here[level], reach[level]
            if not is_mine[level]:
                begin = where[level, along - first[level]]
                below = sum_of(plan, steps, begin, lengths[along])
            level += 1
            reach[level] = below
            enters = True
            continue
        below = owed[level]
        if level == 0:
            gradient[player] += below
            return
        level -= 1
        along = here[level]
        here[level] += 1
        if not is_mine[level]:
            owed[level] += below
        elif below != 0.0:
            begin = where[level, along - first[level]]
            pay(gradient, steps, begin, lengths[along], below)


@jit(nogil=True)
def add_leaf_gradient(
    leaves: Leaves, player: int, plan: np.ndarray, gradient: np.ndarray
) -> None:
    """As `add_gradient`: at each leaf the other player's entries are summed by class,
    then each of the player's own gets what its class is paid for these sums."""
    reach, pays = np.zeros(MOST_CLASSES), np.zeros(MOST_CLASSES)
    at, row = 0, 0
    for leaf in range(len(leaves.lengths)):
        num_first = np.int64(leaves.lengths[leaf, 0])
        middle, end = at + num_first, at + num_first + leaves.lengths[leaf, 1]
        num_rows, num_columns = leaves.sizes[leaf, 0], leaves.sizes[leaf, 1]
        own, others = (at, middle), (middle, end)
        if player == 1:
            own, others = others, own
        reach[:], pays[:] = 0.0, 0.0
        for k in range(others[0], others[1]):
            reach[leaves.classes[k]] += leaves.weights[k] * plan[leaves.steps[k]]
        for first in range(num_rows):
            for second in range(num_columns):
                mine, theirs = (first, second) if player == 0 else (second, first)
                pays[mine] += leaves.returns[row, player] * reach[theirs]
                row += 1
        for k in range(own[0], own[1]):
            gradient[leaves.steps[k]] += leaves.weights[k] * pays[leaves.classes[k]]
        at = end


GRADIENTS: dict[type, Any] = {
    Worlds: add_gradient,
    Leaves: add_leaf_gradient,
    Hands: add_hand_gradient,
}
"""What adds a gradient, by what was found of a game."""


@jit(nogil=True)
def respond(
    infosets: np.ndarray,
    policy: np.ndarray,
    got: np.ndarray,
    best: np.ndarray,
    choice: np.ndarray,
) -> None:
    """Turns gradients at the leaves into values, for both players.

    Args:
        infosets: `[I]`, ancestors first.
        policy: `[S]` of both players.
        got, best: `[S]` the gradients; each sequence gets what it brings its player by
            the policy, and by a best response.
        choice: as in `kernels.evaluation.Evaluation`.
    """
    for infoset in range(len(infosets) - 1, -1, -1):
        start = infosets[infoset]["first_sequence"]
        value, highest, chosen = 0.0, -np.inf, start
        for s in range(start, start + infosets[infoset]["num_actions"]):
            value += policy[s] * got[s]
            if best[s] > highest:
                highest, chosen = best[s], s
        if len(choice) > 0:
            choice[infoset] = chosen
        got[infosets[infoset]["parent"]] += value
        best[infosets[infoset]["parent"]] += highest


def _make_share(do_piece: Any, pieces_of_player: Any) -> Any:
    """Shares the players' gradients among threads, each player's a piece, or one for
    each block."""

    @inlined
    def share_players(frame, desk, first, end):
        desk[WAY], each = ACROSS, pieces_of_player(frame)
        share(do_piece, frame, desk, first * each, end * each)

    return share_players


@for_rule
def make_world_iterate(rule: Rule, kind: type) -> Any:
    """Makes `iterate(frame, desk, leads)` for algorithms that sample nothing.

    It does as the loop of `kernels.passes.make_passes` does, but a pass over worlds
    delivers the gradient. The nodes that an update touches are the steps.

    Args:
        rule: the local rule.
        kind: of what was found, a key of LAYOUTS.
    """
    views, add = LAYOUTS[kind].viewer(), GRADIENTS[kind]

    move, looks_ahead = make_piece(rule, has_rows=False), rule.looks_ahead

    @inlined
    def do_piece(frame, desk, piece):
        if desk[WAY] == ACROSS:
            plan, gradient = views(frame, Plans).plan, views(frame, Tables).gradient
            add(views(frame, kind), piece, plan, gradient)
        else:
            move(frame, desk, piece)

    has_blocks = kind is Hands

    @inlined
    def pieces_of_player(frame):
        return len(views(frame, Hands).cuts) - 1 if has_blocks else 1

    share_players = _make_share(do_piece, pieces_of_player)

    @inlined
    def deliver(frame, desk, tables, first, end):
        passes, task = views(frame, Passes), views(frame, Task)
        share_players(frame, desk, first, end)
        if looks_ahead:
            infosets = tree_in(frame, task.job).infosets
            for m in range(passes.member_ends[first], passes.member_ends[end]):
                start = infosets[passes.members[m]]["first_sequence"]
                count = infosets[passes.members[m]]["num_actions"]
                for s in range(start, start + count):
                    tables.ahead[s] += tables.gradient[s]

    loop = make_loop(rule, do_piece, deliver)

    @jit(nogil=True)
    def iterate(frame, desk, leads):
        task = views(frame, Task)
        return loop(
            frame,
            task,
            tree_in(frame, task.job),
            views(frame, Tables),
            views(frame, Walk),
            views(frame, Passes),
            views(frame, Blocks),
            len(views(frame, kind).steps),
            desk,
            leads,
        )

    return iterate
