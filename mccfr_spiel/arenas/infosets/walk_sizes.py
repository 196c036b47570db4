"""WalkSizes: estimates the size of walks, so that walks that cannot fit fail early."""

import math
import random
import time
from typing import Any

from mccfr_spiel.common import forecasts
from mccfr_spiel.common.arrays import CHANCE_NODE
from mccfr_spiel.common.budget import MemoryBudgetError, TreeFullError
from mccfr_spiel.common.display import brief
from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.switches import Sampled

PROBES, PROBES_OF_INFOSETS = 25, 400
"""Maximum number of random histories for estimating a walk's nodes, and its infosets.
Infosets need more histories, because the estimate must distinguish walks that just fit.
"""

Rates = tuple[int, int]
"""Bytes per infoset, and per sequence."""

_ENOUGH = 10**9
"""A probe stops when its estimate exceeds this multiple of the limit."""


class WalkTooLargeError(TreeFullError):
    """A single walk visits more nodes than the tree may have, or than fit in memory."""


class WalkSizes:
    """Estimates the size of walks under one sampling scheme from random histories.

    Attributes:
        follows_one: whether a walk follows a single history.
        draws_one_own: whether a walk follows a single action of the updated player.
        draws: for each updated player, a list of flags: whether a walk samples the
            moves of player 0, 1, ..., and (last) of chance.
    """

    def __init__(self, table: Any, sampled: Sampled, epsilon: float) -> None:
        """Stores the arguments.

        Args:
            table: table of the game with `new_state` and `longest_history`.
            sampled: sampling scheme.
            epsilon: exploration rate of the updated player.
        """
        self._tree, self._epsilon = table, epsilon
        self.follows_one = sampled.draws_others and sampled.draws_one_action
        # Such walks follow a random subset of the updated player's actions, or the
        # actions with regrets above a threshold. The number is not known in advance.
        self._is_choosy = sampled.picks_actions or sampled.skips
        self.draws_one_own = sampled.draws_one_action
        self.draws: list[list[bool]] = []
        for player in range(table.num_players):
            draws = [sampled.opponents] * table.num_players + [sampled.chance]
            draws[player] = sampled.draws_one_action or self._is_choosy
            self.draws.append(draws)

    def surely_exceed(
        self,
        limit: int,
        tables: layout.Tables,
        walk: layout.Walk,
        probes: int,
        rates: Rates | None = None,
    ) -> bool:
        """Whether the current walk visits more than `limit` nodes, with error
        probability at most 10^-7.

        Follows random histories for half a second after the first history, which may
        have to build the index of names.

        Args:
            limit: number of nodes, or of bytes if `rates` is given.
            tables, walk: records of the solver.
            probes: maximum number of histories.
            rates: if given, compare the bytes of the updated player's infosets with
                `limit`.

        Returns:
            False also for walks that follow a single history, and for walks that select
                actions, except the first walk: it follows all actions, because there
                are no regrets and no average yet.
        """
        is_first = present_walk(walk) == (0, 0, 0)
        if self.follows_one or (self._is_choosy and not is_first):
            return False
        player = walk.marks.item(layout.WALKER)
        generator, end = random.Random(0), math.inf
        estimates, look_at = [], 1
        while time.monotonic() < end and len(estimates) < probes:
            size = self._probe(tables, player, generator, _ENOUGH * limit, rates)
            end = min(end, time.monotonic() + forecasts.SECONDS)
            estimates.append(size)
            if len(estimates) == look_at:
                if forecasts.exceeds(estimates, limit):
                    return True
                look_at *= 2
        return False

    def _probe(
        self,
        tables: layout.Tables,
        player: int,
        generator: random.Random,
        limit: int,
        rates: Rates | None,
    ) -> int:
        """Unbiased estimate of the nodes of a walk (Knuth 1975), or of the bytes of the
        updated player's infosets if `rates` is given.

        Follows one random history of the walk until the estimate exceeds `limit`.
        """
        state = self._tree.new_state()
        size, weight = int(rates is None), 1
        length, longest = 0, self._tree.longest_history
        # Each pass descends by one node. `weight` is the product of the numbers of
        # children that the walk would follow on the way, so that the node represents
        # `weight` nodes at this depth. The loop ends at a terminal state, when the
        # estimate exceeds `limit`, or when the history is too long.
        while size <= limit and not state.is_terminal() and length < longest:
            length += 1
            acting = state.current_player()
            if acting == CHANCE_NODE:
                actions, probs = zip(*state.chance_outcomes(), strict=True)
            else:
                actions = state.legal_actions()
                probs = self._probs(tables, player, state, len(actions))
            if rates is not None and acting == player:
                size += weight * (rates[0] + rates[1] * len(actions))
            # For infosets, all moves of others count as sampled, which yields a lower
            # bound on the infosets of the walk.
            is_drawn = rates is not None or self.draws[player][acting]
            if acting == player:
                is_drawn = self.draws_one_own
            if not is_drawn:
                weight *= len(actions)
                action = generator.choice(actions)
            else:
                (action,) = generator.choices(actions, probs)
            if rates is None:
                size += weight
            state.apply_action(action)
        return size

    def _probs(
        self, tables: layout.Tables, player: int, state: Any, count: int
    ) -> list[float]:
        """The probabilities with which a walk for `player` samples `count` actions."""
        acting = state.current_player()
        infoset = self._tree.find_at(state, acting)
        probs = [0.0]
        if infoset >= 0:
            first = self._tree.infosets[infoset]["first_sequence"]
            probs = tables.policy[first : first + count].tolist()
        if len(probs) < count or not sum(probs) > 0:  # infoset not in the tables yet
            probs = [1 / count] * count
        if acting == player:
            epsilon = self._epsilon
            probs = [(1 - epsilon) * b + epsilon / count for b in probs]
        return probs


def infosets_fill(table: Any) -> MemoryBudgetError:
    """The error for infosets that fill the memory budget."""
    return MemoryBudgetError(
        f"The {table.num_infosets:,} infosets of {brief(table.source)} met so far, "
        f"their names and tables, fill {table.budget.in_words()}. The solver stopped "
        "before the walk that does not fit; its policies are available. To continue, "
        "save it and load it with a larger max_memory (on the command line: --resume "
        "--max_memory=...)."
    )


def present_walk(walk: layout.Walk) -> tuple[int, int, int]:
    """Identifies a walk: the number of iterations, the updated player, and the walk's
    number in its batch."""
    marks = walk.marks
    iteration = walk.cursor.item(layout.ITERATION)
    return iteration, marks.item(layout.WALKER), marks.item(layout.WALK)
