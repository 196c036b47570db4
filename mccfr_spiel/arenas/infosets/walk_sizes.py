"""Estimates how large the walks of a solver are, and refuses those that cannot end."""

import math
import random
import time
from typing import Any

from mccfr_spiel.common import limits
from mccfr_spiel.common.arrays import CHANCE_NODE
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.limits import MemoryBudgetError
from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.switches import Sampled
from mccfr_spiel.kernels.tables import Tables, Walk

PROBES, PROBES_OF_INFOSETS = 25, 400
"""The most histories that tell of a walk's nodes, and of its
infosets. Those must tell a walk that does not fit from one that just fits."""

Rates = tuple[int, int]
"""The bytes that an infoset takes, and each of its sequences."""

_ENOUGH = 10**9
"""A probe stops when its estimate exceeds this multiple of what fits."""


class WalkTooLargeError(limits.TreeFullError):
    """A single walk meets more nodes than the tree may have, or than fit in memory."""


class WalkSizes:
    """Estimates of walks of one kind of sampling, by random histories.

    Attributes:
        follows_one: whether a walk follows one history.
        draws_one_own: whether a walk follows one of the updated player's actions.
        draws: for each player, whether a walk that updates it draws among the moves of
            each player and, last, of chance.
    """

    def __init__(self, table: Any, sampled: Sampled, epsilon: float) -> None:
        """Estimates walks over a game.

        Args:
            table: of the game, with `new_state` and `longest_history`.
            sampled: what the walks sample.
            epsilon: the share of the uniform policy in draws of the updated player.
        """
        self._tree, self._epsilon = table, epsilon
        self.follows_one = sampled.draws_others and sampled.draws_one_action
        # Some walks follow only those of the updated player's actions that are drawn,
        # or whose regrets are not too low; how many these are cannot be foreseen.
        self._is_choosy = sampled.picks_actions or sampled.skips
        self.draws_one_own = sampled.draws_one_action
        self.draws: list[list[bool]] = []
        for player in range(table.num_players):
            draws = [sampled.opponents] * table.num_players + [sampled.chance]
            draws[player] = sampled.draws_one_action or self._is_choosy
            self.draws.append(draws)

    def surely_exceed(
        self,
        most: int,
        tables: Tables,
        walk: Walk,
        probes: int,
        rates: Rates | None = None,
    ) -> bool:
        """Whether the present walk visits more nodes than `most`, except with a
        probability of at most 10^-7.

        The test follows random histories of such a walk, for half a second after the
        first one, which may have to index the names of infosets.

        Args:
            most: nodes, or bytes if there are `rates`.
            tables, walk: those of the solver.
            probes: the most histories to follow.
            rates: if given, the bytes of the updated player's infosets that the walk
                meets are compared with `most`.

        Returns:
            False also for walks that follow one history, and for those that choose
            which actions to follow. The first walk of all follows all actions, because
            it has no regrets and no average to choose by.
        """
        is_first = present_walk(walk) == (0, 0, 0)
        if self.follows_one or (self._is_choosy and not is_first):
            return False
        player = walk.marks.item(layout.WALKER)
        generator, end = random.Random(0), math.inf
        estimates, look_at = [], 1
        while time.monotonic() < end and len(estimates) < probes:
            size = self._probe(tables, player, generator, _ENOUGH * most, rates)
            end = min(end, time.monotonic() + limits.SECONDS)
            estimates.append(size)
            if len(estimates) == look_at:
                if limits.exceeds(estimates, most):
                    return True
                look_at *= 2
        return False

    def _probe(
        self,
        tables: Tables,
        player: int,
        generator: random.Random,
        most: int,
        rates: Rates | None,
    ) -> int:
        """Estimates without bias how many nodes a walk visits (Knuth 1975), or what the
        updated player's infosets take by `rates`.

        It follows a random history of the walk, until the estimate is above `most`.
        """
        state = self._tree.new_state()
        size, weight = int(rates is None), 1
        length, longest = 0, self._tree.longest_history
        # One pass goes down by one node, which stands for `weight` nodes of the walk.
        while size <= most and not state.is_terminal() and length < longest:
            length += 1
            acting = state.current_player()
            if acting == CHANCE_NODE:
                actions, probs = zip(*state.chance_outcomes(), strict=True)
            else:
                actions = state.legal_actions()
                probs = self._probs(tables, player, state, len(actions))
            if rates is not None and acting == player:
                size += weight * (rates[0] + rates[1] * len(actions))
            # Infosets along drawn moves of the others are at most those of the walk.
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
        self, tables: Tables, player: int, state: Any, count: int
    ) -> list[float]:
        """The probabilities with which a walk for a player samples `count` actions."""
        acting = state.current_player()
        infoset = self._tree.find_at(state, acting)
        probs = [0.0]
        if infoset >= 0:
            first = self._tree.infosets[infoset]["first_sequence"]
            probs = tables.policy[first : first + count].tolist()
        if len(probs) < count or not sum(probs) > 0:  # met just now
            probs = [1 / count] * count
        if acting == player:
            epsilon = self._epsilon
            probs = [(1 - epsilon) * b + epsilon / count for b in probs]
        return probs


def infosets_fill(table: Any) -> MemoryBudgetError:
    """The error for a walk that does not fit, as the infosets met take the budget."""
    return MemoryBudgetError(
        f"The {table.num_infosets:,} infosets of {brief(table.source)} met so far, "
        f"their names and tables, fill {table.budget.in_words()}. The solver can be "
        "asked, saved, and loaded with a larger max_memory to go on (on the command "
        "line: --resume --max_memory=...). It stopped before the walk that does not "
        "fit."
    )


def present_walk(walk: Walk) -> tuple[int, int, int]:
    """Identifies a walk of a solver by the iterations begun, the player for whom it is
    made, and its number in its batch."""
    marks = walk.marks
    iteration = walk.cursor.item(layout.ITERATION)
    return iteration, marks.item(layout.WALKER), marks.item(layout.WALK)
