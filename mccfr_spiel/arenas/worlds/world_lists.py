"""Lists of worlds or of leaves, and the gradients that passes over them add.

| list | content | returns depend on |
|---|---|---|
| `Worlds` | edges between worlds, each with the mover's *steps* | the world |
| `Leaves` | terminal worlds, each with both players' entries | two *classes* |

A step is the sequence of one entry along an edge. A class is a small number that
summarizes an entry, such as the number of its dice that match the bid. A pass reads the
list once from front to back.
"""

from typing import Annotated, NamedTuple

import numpy as np

from mccfr_spiel.kernels.frame import Entry
from mccfr_spiel.kernels.jit import inlined, jit
from mccfr_spiel.kernels.tables import FLAG, FLOAT, INT, LONG

MOST_ACTIONS = 62
"""Largest number of actions, because sets of actions are bits of one integer."""

MOST_CLASSES = 64
"""Largest number of classes per player at a leaf."""


class Worlds(NamedTuple):
    """The worlds of a game in depth-first order. Terminal worlds appear as edges only.

    Shapes: T steps, E edges, W worlds.

    Attributes:
        steps: the mover's sequences along the edges, edge after edge.
        lengths: number of steps per edge.
        ends: whether an edge ends the game.
        returns: returns of both players for edges that end the game; else zero.
        actors: acting player per world.
        edges: number of edges per world.
        height: largest number of worlds on a path.
    """

    steps: Annotated[np.ndarray, Entry(INT, "[T]")]
    lengths: Annotated[np.ndarray, Entry(INT, "[E]")]
    ends: Annotated[np.ndarray, Entry(FLAG, "[E]")]
    returns: Annotated[np.ndarray, Entry(FLOAT, "[E, 2]")]
    actors: Annotated[np.ndarray, Entry(FLAG, "[W]")]
    edges: Annotated[np.ndarray, Entry(FLAG, "[W]")]
    height: Annotated[np.ndarray, Entry(LONG, "[1]")]

    @property
    def num_worlds(self) -> int:
        """Number of listed worlds."""
        return len(self.edges)

    @property
    def payoffs(self) -> np.ndarray:
        """`[N, 2]` the distinct returns."""
        return np.unique(self.returns[self.ends > 0], axis=0)


class Leaves(NamedTuple):
    """The worlds where a game ends.

    Shapes: Z worlds, T entries, R pairs of classes. The entries of player 0 precede
    those of player 1. Pairs of classes are ordered by player 0's class, then by player
    1's.

    Attributes:
        steps: last sequence per entry.
        classes: class per entry.
        weights: probability of the deals that each entry has seen.
        lengths: number of entries per player per world.
        sizes: number of classes per player per world.
        returns: returns of both players per pair of classes.
    """

    steps: Annotated[np.ndarray, Entry(INT, "[T]")]
    classes: Annotated[np.ndarray, Entry(FLAG, "[T]")]
    weights: Annotated[np.ndarray, Entry(FLOAT, "[T]")]
    lengths: Annotated[np.ndarray, Entry(INT, "[Z, 2]")]
    sizes: Annotated[np.ndarray, Entry(INT, "[Z, 2]")]
    returns: Annotated[np.ndarray, Entry(FLOAT, "[R, 2]")]

    @property
    def num_worlds(self) -> int:
        """Number of listed worlds."""
        return len(self.lengths)

    @property
    def payoffs(self) -> np.ndarray:
        """`[N, 2]` the distinct returns."""
        return np.unique(self.returns, axis=0)


@inlined
def sum_of(plan, steps, begin, length):
    """The sum of a plan over the steps of an edge."""
    total, k, stop = 0.0, np.uint64(begin), np.uint64(begin + length)
    # Unsigned indices spare the check for negative ones, see `kernels.passes.add_rows`.
    while k < stop:  # unsigned, see `kernels.passes.add_rows`
        total += plan[np.uint64(steps[k])]
        k += np.uint64(1)
    return total


@inlined
def pay(gradient, steps, begin, length, value):
    """Adds a value to a gradient at all steps of an edge."""
    k, stop = np.uint64(begin), np.uint64(begin + length)
    while k < stop:
        gradient[np.uint64(steps[k])] += value
        k += np.uint64(1)


@jit(nogil=True, views_only=False)
def add_gradient(
    worlds: Worlds, player: int, plan: np.ndarray, gradient: np.ndarray
) -> None:
    """Adds a player's utility gradient `[S]` at the leaves, given the plans `[S]`.

    The *reach* of a world is the sum of the opponent's plan over the steps of the last
    edge along which the opponent moved. The value *owed* at a world is the sum over the
    terminal edges below it that has not yet been paid to a sequence of the player. It
    is the same for all entries of the player, and every entry receives it once, when
    the pass returns over their last edge.
    """
    steps, lengths, ends, returns, actors, edges, heights = worlds
    height = heights[0] + 1
    step_starts = np.zeros((height, MOST_ACTIONS), np.int64)
    first, next_edge = np.zeros(height, np.int64), np.zeros(height, np.int64)
    stop, is_mine = np.zeros(height, np.int64), np.zeros(height, np.bool_)
    reach, owed = np.ones(height), np.zeros(height)
    world, edge, at, level, is_new = 0, 0, 0, 0, True
    # Invariant: `world`, `edge` and `at` are the numbers of worlds, edges and steps
    # read so far, since lists are in the order of the walk. `step_starts` holds, per
    # level, the first step of each edge, because a world's edges are stored together
    # but entered separately. An iteration enters a new world and pays its terminal
    # edges, then descends along an edge that continues the game, or returns to the
    # level above and passes on the owed value. The pass ends when it returns from the
    # root, where the rest belongs to the empty sequence.
    while True:
        if is_new:
            is_new = False
            first[level] = next_edge[level] = edge
            stop[level] = edge + np.int64(edges[world])
            is_mine[level] = actors[world] == player
            owed[level] = 0.0
            world += 1
            while edge < stop[level]:
                step_starts[level, edge - first[level]] = at
                paid = returns[edge, player]
                if ends[edge] and paid != 0.0:
                    if is_mine[level]:
                        value = paid * reach[level]
                        pay(gradient, steps, at, lengths[edge], value)
                    else:
                        owed[level] += paid * sum_of(plan, steps, at, lengths[edge])
                at += lengths[edge]
                edge += 1
        while next_edge[level] < stop[level] and ends[next_edge[level]]:
            next_edge[level] += 1
        if next_edge[level] < stop[level]:
            along, below = next_edge[level], reach[level]
            if not is_mine[level]:
                begin = step_starts[level, along - first[level]]
                below = sum_of(plan, steps, begin, lengths[along])
            level += 1
            reach[level] = below
            is_new = True
            continue
        below = owed[level]
        if level == 0:
            gradient[player] += below
            return
        level -= 1
        along = next_edge[level]
        next_edge[level] += 1
        if not is_mine[level]:
            owed[level] += below
        elif below != 0.0:
            begin = step_starts[level, along - first[level]]
            pay(gradient, steps, begin, lengths[along], below)


@jit(nogil=True, views_only=False)
def add_leaf_gradient(
    leaves: Leaves, player: int, plan: np.ndarray, gradient: np.ndarray
) -> None:
    """As `add_gradient`, for a list of leaves.

    At each leaf the opponent's reach is summed by class; each own entry then receives
    the sum over these classes of reach times return.
    """
    reach, pays = np.zeros(MOST_CLASSES), np.zeros(MOST_CLASSES)
    at, row = 0, 0
    # An iteration handles a leaf: `at` is the first entry and `row` the first pair of
    # classes. Per leaf this costs the number of entries plus the number of pairs of
    # classes, instead of the number of pairs of entries.
    for leaf in range(len(leaves.lengths)):
        num_first = np.int64(leaves.lengths[leaf, 0])
        boundary, end = at + num_first, at + num_first + leaves.lengths[leaf, 1]
        num_rows, num_columns = leaves.sizes[leaf, 0], leaves.sizes[leaf, 1]
        own, others = (at, boundary), (boundary, end)
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
