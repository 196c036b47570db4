"""Worlds and leaves of a game as lists, and the gradients that passes over them add."""

from typing import Annotated, NamedTuple

import numpy as np

from mccfr_spiel.kernels.frame import Entry
from mccfr_spiel.kernels.jit import inlined, jit
from mccfr_spiel.kernels.tables import FLAG, FLOAT, INT, LONG

MOST_ACTIONS = 62
"""The actions of a world are a set of bits."""

MOST_CLASSES = 64
"""The classes of one player's entries at a leaf."""


class Worlds(NamedTuple):
    """The worlds of a game, depth first; those where the game ends are edges only.

    An edge's steps are the mover's sequences along it.

    Attributes:
        steps: sequences along the edges.
        lengths: how many steps an edge has.
        ends: whether the game ends there.
        returns: the returns if it does.
        actors: who acts at a world.
        edges: how many edges it has.
        height: the most worlds on a path.
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
        """How many worlds are kept."""
        return len(self.edges)

    @property
    def payoffs(self) -> np.ndarray:
        """`[N, 2]` the returns that there are, each once."""
        return np.unique(self.returns[self.ends > 0], axis=0)


class Leaves(NamedTuple):
    """The worlds where a game ends. Z is how many, T how many entries they have.

    Of each world player 0's entries come first, and of its pairs of classes those of
    player 0's first class.

    Attributes:
        steps: the last sequences of the entries.
        classes: the classes of the entries.
        weights: how chance deals the entries.
        lengths: the players' entries there.
        sizes: one more than their classes.
        returns: what pairs of classes pay.
    """

    steps: Annotated[np.ndarray, Entry(INT, "[T]")]
    classes: Annotated[np.ndarray, Entry(FLAG, "[T]")]
    weights: Annotated[np.ndarray, Entry(FLOAT, "[T]")]
    lengths: Annotated[np.ndarray, Entry(INT, "[Z, 2]")]
    sizes: Annotated[np.ndarray, Entry(INT, "[Z, 2]")]
    returns: Annotated[np.ndarray, Entry(FLOAT, "[R, 2]")]

    @property
    def num_worlds(self) -> int:
        """How many worlds are kept."""
        return len(self.lengths)

    @property
    def payoffs(self) -> np.ndarray:
        """`[N, 2]` the returns that there are, each once."""
        return np.unique(self.returns, axis=0)


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


@jit(nogil=True, views_only=False)
def add_gradient(
    worlds: Worlds, player: int, plan: np.ndarray, gradient: np.ndarray
) -> None:
    """Adds a player's utility gradient at the leaves, given the other's plan `[S]`.

    Down to each world it carries the other player's *reach*: the sum of the plan over
    the steps of the last edge along which the other moved. What the leaves below pay is
    *owed* to the player's last sequences. It is paid to each of them once, on the way
    back over their edge.

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


@jit(nogil=True, views_only=False)
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
