"""WalkSizes: estimates the size of a walk, so that a walk that exceeds the limits fails
early instead of after hours."""

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
"""Maximum number of random histories for estimating the number of nodes of a walk, and
for estimating the bytes of its infosets. The second estimate must be more accurate,
because it decides about walks that are only a little too large."""

Rates = tuple[int, int]
"""Bytes per infoset, and bytes per sequence."""

_ENOUGH = 10**9
"""The estimate from one random history is cut off above this multiple of the limit."""


class WalkTooLargeError(TreeFullError):
    """A single walk visits more nodes or infosets than the limits on nodes, memory or
    time allow."""


class WalkSizes:
    """Estimates the size of walks under one sampling scheme from random histories.

    Attributes:
        follows_one: whether a walk follows a single history.
        draws_one_own: whether a walk samples a single action at each node of the
            updated player.
        draws: a list of flags for each updated player. Flag p tells whether a walk
            samples the actions of player p, and the last flag whether it samples chance
            outcomes. A walk follows all moves that it does not sample.
    """

    def __init__(self, table: Any, sampled: Sampled, epsilon: float) -> None:
        """Stores the arguments.

        Args:
            table: table of infosets with the attributes `new_state` and
                `longest_history`: a GameTree or a RuleArena.
            sampled: sampling scheme.
            epsilon: exploration rate of the updated player.
        """
        self._tree, self._epsilon = table, epsilon
        self.follows_one = sampled.draws_others and sampled.draws_one_action
        # In such algorithms, walks follow a random subset of the updated player's
        # actions, or the actions with regrets above a threshold. How many actions they
        # follow is not known in advance.
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
        """Whether the current walk is surely larger than a limit.

        The size is estimated from random histories. For half a second after the first
        history, new histories are followed. (The first history may take longer, because
        it may have to build the index of names.) The probability that a walk within the
        limit is called too large is at most 10^-7.

        Args:
            limit: number of nodes, or of bytes if `rates` is given.
            tables, walk: records of the solver.
            probes: maximum number of histories.
            rates: if given, estimate the bytes of the updated player's infosets instead
                of the number of nodes.

        Returns:
            True if the walk is surely larger. False if this is unknown: in particular
            for walks that follow a single history, and for all walks but the first in
            algorithms that select some of the updated player's actions. (The first walk
            follows all actions, because there are no regrets and no average yet.)
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
        """Estimates the size of a walk without bias from one random history (Knuth
        1975).

        Args:
            tables: tables of the solver.
            player: the updated player.
            generator: source of random numbers.
            limit: the estimate is cut off when it exceeds this number.
            rates: see `surely_exceed`.

        Returns:
            The estimated number of nodes, or the estimated bytes of the updated
            player's infosets if `rates` is given.
        """
        state = self._tree.new_state()
        size, weight = int(rates is None), 1
        length, longest = 0, self._tree.longest_history
        # Each pass descends by one node. `weight` is the product, over the nodes above,
        # of the number of children that the walk follows there. So each node of the
        # history represents `weight` nodes of the walk at the same depth. The loop ends
        # at a terminal state, when the estimate exceeds `limit`, or when the history is
        # too long.
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
            # If infosets are counted, all moves of chance and other players count as
            # sampled. Otherwise an infoset could be counted several times. The estimate
            # is then a lower bound on the infosets of the walk.
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
        """The probabilities with which a walk samples the actions at a state.

        Args:
            tables: tables of the solver, with the current policy.
            player: the updated player of the walk.
            state: state where a player acts.
            count: number of legal actions.
        """
        acting = state.current_player()
        infoset = self._tree.find_at(state, acting)
        probs = [0.0]
        if infoset >= 0:
            first = self._tree.infosets[infoset]["first_sequence"]
            probs = tables.policy[first : first + count].tolist()
        # The infoset is new, or the tables have no rows for it yet.
        if len(probs) < count or not sum(probs) > 0:
            probs = [1 / count] * count
        if acting == player:
            epsilon = self._epsilon
            probs = [(1 - epsilon) * b + epsilon / count for b in probs]
        return probs


def infosets_fill(table: Any) -> MemoryBudgetError:
    """The error for infosets of all walks so far that fill the memory budget.

    Args:
        table: table of infosets.
    """
    return MemoryBudgetError(
        f"The {table.num_infosets:,} infosets of {brief(table.source)} met so far, "
        f"their names and tables, fill {table.budget.in_words()}. The solver stopped "
        "before the walk that does not fit; its policies are available. To continue, "
        "save it and load it with a larger max_memory (on the command line: --resume "
        "--max_memory=...)."
    )


def present_walk(walk: layout.Walk) -> tuple[int, int, int]:
    """Identifies the current walk of a solver.

    Returns:
        Number of iterations begun, updated player, and index of the walk in its batch.
    """
    marks = walk.marks
    iteration = walk.cursor.item(layout.ITERATION)
    return iteration, marks.item(layout.WALKER), marks.item(layout.WALK)
