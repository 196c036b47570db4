"""Lists of worlds or of terminal worlds ("leaves"), and gradients computed from them.

An *entry* of a world is the private past of one player; a world has a list of entries
per player, and each pair of entries is a history (see the package's docstring).

| list | content | returns depend on |
|---|---|---|
| `Worlds` | edges between worlds, each with the acting player's *steps* | the world |
| `Leaves` | terminal worlds, each with both players' entries | two *classes* |

A step is the sequence that an entry of the acting player reaches along an edge. A class
is a small number that summarizes an entry for the payoff, such as the number of dice
that match the bid. A pass reads the list once from front to back.
"""

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

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
        steps: sequences of the acting player along the edges, edge after edge.
        lengths: number of steps per edge.
        ends: whether an edge leads to a terminal world.
        returns: returns of both players, valid for edges to terminal worlds.
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
    """The terminal worlds of a game.

    Shapes: Z terminal worlds, T entries (of both players in all these worlds), R pairs
    of classes. The entries of a world are stored together, first those of player 0,
    then those of player 1. Pairs of classes are ordered by the class of player 0, then
    by the class of player 1.

    Attributes:
        steps: last sequence of the player, per entry.
        classes: class per entry.
        weights: per entry, the probability of the private deals that it contains.
        lengths: number of entries per world and player.
        sizes: number of classes per world and player.
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
    """Returns the sum of a plan over the steps of an edge."""
    total, k, stop = 0.0, np.uint64(begin), np.uint64(begin + length)
    # With unsigned indices, numba omits the check for negative indices; see
    # `kernels.plans.add_rows`.
    while k < stop:
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
    """Adds a player's utility gradient from the payoffs of all terminal worlds.

    The *reach* of a world is the sum of the opponent's plan over the opponent's
    entries. These are the steps of the last edge along which the opponent moved. A
    terminal edge contributes its return times the reach, the same value for every entry
    of the player. This value belongs to the player's last sequence. It is *owed* until
    the pass returns over the player's last edge; then it is added to the gradient at
    each step of that edge.

    Args:
        worlds: the list.
        player: the player whose gradient is computed.
        plan: `[S]` plans of both players.
        gradient: `[S]` the values are added here.
    """
    steps, lengths, ends, returns, actors, edges, heights = worlds
    height = heights[0] + 1
    step_starts = np.zeros((height, MOST_ACTIONS), np.int64)
    first, next_edge = np.zeros(height, np.int64), np.zeros(height, np.int64)
    stop, is_mine = np.zeros(height, np.int64), np.zeros(height, np.bool_)
    reach, owed = np.ones(height), np.zeros(height)
    world, edge, at, level, is_new = 0, 0, 0, 0, True
    # Invariant: `world`, `edge` and `at` are the numbers of worlds, edges and steps
    # read so far; the lists are in depth-first order. The edges of a world are stored
    # together but followed one by one, so `step_starts` keeps the first step of each
    # edge, per level. Each pass of the loop reads the world on top of the stack if that
    # is new, and pays its terminal edges. Then the loop descends along the next edge
    # to a world that is not terminal. If no such edge is left, it returns to the level
    # above and passes the owed value on. It ends when it returns from the root, where
    # the remaining value belongs to the empty sequence of the player.
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
    """Adds a player's utility gradient from a list of terminal worlds.

    A return depends on the classes of both entries only. So at each terminal world the
    opponent's reach (weight of the deals times plan) is first summed per class of the
    opponent. Then the value of a class of the player is the sum of reach times return
    over the opponent's classes. Each entry of the player adds its weight times the
    value of its class to the gradient at its last sequence.

    Args:
        leaves: the list.
        player: the player whose gradient is computed.
        plan: `[S]` plans of both players.
        gradient: `[S]` the values are added here.
    """
    reach, pays = np.zeros(MOST_CLASSES), np.zeros(MOST_CLASSES)
    at, row = 0, 0
    # Each pass of the loop handles one terminal world, whose first entry is `at` and
    # whose first pair of classes is `row`. The cost is the number of entries plus the
    # number of pairs of classes, instead of the number of pairs of entries.
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


GRADIENTS: dict[type, Any] = {Worlds: add_gradient, Leaves: add_leaf_gradient}
"""Per kind of list, the compiled function that adds a gradient."""


def gradient_from(worlds: Worlds | Leaves) -> Callable[[np.ndarray, int], np.ndarray]:
    """Returns a function (plan, player) that computes the player's gradient `[S]`."""

    def gradient_of(plan: np.ndarray, player: int) -> np.ndarray:
        gradient = np.zeros_like(plan)
        GRADIENTS[type(worlds)](worlds, player, plan, gradient)
        return gradient

    return gradient_of
