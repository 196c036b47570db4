"""The tree on demand: expands the node at which a compiled walk stops.

Where the walk follows all moves at that node, their nodes surely come next and are
expanded at once. Where it draws a move, it says itself, by stopping again, where it
went.
"""

import operator
import random
import time
from typing import Any

import pyspiel

from mccfr_spiel.common.arrays import CHANCE_NODE
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.limits import (
    NODE_BYTES,
    SECONDS,
    MemoryBudgetError,
    TreeFullError,
    exceeds,
    resident,
)
from mccfr_spiel.kernels.tables import (
    ITERATION,
    NODE_TO_GROW,
    WALK,
    WALKER,
    Tables,
    Walk,
)
from mccfr_spiel.kernels.walk import Sampled, begin_again
from mccfr_spiel.tree.game_tree import GameTree
from mccfr_spiel.tree.lock import held_step
from mccfr_spiel.tree.sizes import NODES, UNCOUNTED
from mccfr_spiel.tree.whole import Opened, Place, child_of, expand_below

_FEW, _MANY = 2**10, 2**13
"""After `_FEW` nodes expanded for one walk, the length of its history is checked; after
`_MANY`, its size is estimated."""

PROBES, PROBES_OF_INFOSETS = 25, 400
"""The most histories that tell of a walk's nodes, for each `_MANY` of them, and of its
infosets. Those must tell a walk that does not fit from one that just fits."""

Rates = tuple[int, int]
"""The bytes that an infoset takes, and each of its sequences."""

_ENOUGH = 10**9
"""A probe stops when its estimate exceeds so many times what fits."""

_MOST_OPEN = 64
"""The most nodes whose states are kept because the walk goes to children of them."""

_SAMPLED = 64
"""At one of so many stops, the memory that cannot be counted is measured."""


class WalkTooLargeError(TreeFullError):
    """A single walk meets more nodes than the tree may have, or than fit in memory."""


class Growth:
    """Grows a tree for the walks of one kind of sampling.

    Its methods are called under the tree's lock.

    Attributes:
        lock: the tree's.
        generation: that of the nodes which the walk has on its stack.
        follows_all_own: whether a walk follows all actions of the updated player, and
            one of each other player and of chance. It then meets each of that player's
            infosets at most once.
    """

    def __init__(self, tree: GameTree, sampled: Sampled, epsilon: float) -> None:
        """Grows a tree.

        Args:
            tree: the tree.
            sampled: what the walks sample.
            epsilon: the share of the uniform policy in draws of the updated player.
        """
        self._tree, self._met_once = tree, sampled.meets_once
        self._epsilon, sampling = epsilon, sampled.sampling
        self.lock = tree.lock
        self.generation = tree.generation
        self._follows_one = (
            sampling.chance and sampling.opponents and sampling.draws_one_action
        )
        # Of some walks, which of the updated player's actions they follow is drawn.
        self._is_choosy = sampling.picks_actions or sampled.skips
        is_external = (
            sampling.chance and sampling.opponents and sampling.player == "all"
        )
        self.follows_all_own = is_external and not self._is_choosy
        # For each player: whether a walk that updates it draws among the moves of each
        # player and, last, of chance.
        self._draws: list[list[bool]] = []
        for player in range(tree.num_players):
            draws = [sampling.opponents] * tree.num_players + [sampling.chance]
            draws[player] = sampling.draws_one_action or self._is_choosy
            self._draws.append(draws)
        self._restarted: tuple[int, int, int] | None = None
        self._walk: tuple[int, int, int] | None = None
        self._look_at = self._began_at = self._many = 0
        self._open: list[Opened] = []
        self._stops = 0
        self._uncounted = 0

    def go_on(self) -> None:
        """Says that a walk which was left in the middle goes on.

        Others may have filled the tree meanwhile. Then it may be emptied a second time
        for the same walk.
        """
        self._restarted = None

    def fit(self, walk: Walk) -> None:
        """Begins the walk again, whose nodes were dropped since it stopped.

        Another solver on the tree has dropped them, and may have reused their numbers.
        """
        forgets = self._tree.abstraction is not None
        begin_again(walk, drops_met=self._met_once or forgets)
        self._open.clear()
        self.generation = self._tree.generation

    def must_finish(self, walk: Walk) -> bool:
        """Whether the tree was emptied for the present walk, which must end first.

        Otherwise others could fill the tree again, and the walk would never end.
        """
        return self._restarted == present_walk(walk)

    def grow(self, tables: Tables, walk: Walk) -> None:
        """Expands the node at which the walk stopped and what surely comes below.

        If the tree is full, all its nodes are dropped and the walk begins again.

        Raises:
            WalkTooLargeError: the walk alone meets more nodes than the tree's
                `max_nodes`, or than fit its `max_memory`. If there are far more, that
                is found out before they are expanded.
            MemoryBudgetError: the infosets met fill the tree's `max_memory`.
            ValueError: a history does not end; and see `GameTree.expand`.
        """
        if self._tree.rule_store is not None:
            raise ValueError(
                f"Another solver on this tree of {brief(self._tree.source)} walks over "
                "compiled rules, with which a tree cannot grow. Give each the game."
            )
        was_empty = self._tree.num_nodes == 1
        try:
            self._stops += 1
            if self._stops % _SAMPLED:
                self._expand(tables, walk)
            else:
                self._expand_measured(tables, walk)
        except WalkTooLargeError:
            raise
        except TreeFullError as error:
            is_bytes = isinstance(error, MemoryBudgetError)
            if was_empty or self.must_finish(walk):
                raise (self._full() if is_bytes else self._too_large("more")) from error
            self._tree.forget_nodes()
            if is_bytes:
                self._tree.give_back()
                self._uncounted = 0
            self._restarted = present_walk(walk)

    def _expand_measured(self, tables: Tables, walk: Walk) -> None:
        """As `_expand`, but also measures the memory that cannot be counted.

        That is mostly what the game keeps in states. The growth of the process counts
        only during such a stop, since between stops the process does other things, and
        each measured stop stands for `_SAMPLED` of them. If an array has grown, the
        growth of the process says nothing about states.
        """
        budget, storage = self._tree.budget, self._tree.storage
        if budget.left < 0:
            raise MemoryBudgetError("The process has grown by more than was counted.")
        before, left = resident(), budget.left
        self._expand(tables, walk)
        if all(map(operator.is_, storage, self._tree.storage)):
            uncounted = resident() - before - (left - budget.left)
            self._uncounted += _SAMPLED * uncounted
            budget.measured(UNCOUNTED, max(self._uncounted, 0))

    @held_step
    def _expand(self, tables: Tables, walk: Walk) -> None:
        tree, marks = self._tree, walk.marks
        if tree.generation != self.generation:
            return  # a signal handler dropped the nodes just now
        player, node = marks.item(WALKER), marks.item(NODE_TO_GROW)
        draws = self._draws[player]

        def look(state: pyspiel.State) -> int:
            self._look(tables, walk, state, player)
            # If others wait, the walk will stop again at what is left.
            return -1 if self.lock.waiting else self._look_at

        # The walk itself goes on where a move is drawn. So infosets are met in the
        # order of the walk, whatever part of the tree is there already.
        self._open += expand_below(
            tree,
            tree.expand_held,
            node,
            self._place_of(node, draws),
            draws,
            self._look_at,
            look,
        )
        del self._open[:-_MOST_OPEN]

    def _place_of(self, node: int, draws: list[bool]) -> Place:
        """The place of a node, mostly a child of one that was expanded just now."""
        opens = self._open
        for k in range(len(opens) - 1, -1, -1):
            opened = opens[k]
            child, count = node - opened[3], len(opened[1])
            if 0 <= child < count:
                # Where a move is drawn, the walk goes to one of the children only.
                is_last = draws[opened[2]] or child + 1 == count
                if is_last:
                    del opens[k]
                return child_of(opened, child, is_last=is_last)
        return self._tree.state_at_held(node)

    def _look(self, tables: Tables, walk: Walk, state: Any, player: int) -> None:
        """Looks, every `_FEW` nodes, whether the walk's histories end; and when it has
        expanded `_MANY`, and twice as many, and so on, whether it is far too large."""
        tree, present = self._tree, present_walk(walk)
        if present != self._walk:
            self._walk, self._many = present, _MANY
            self._began_at = tree.num_nodes
        else:
            tree.check_length(state)
            expanded = tree.num_nodes - self._began_at
            if expanded > self._many and not self._follows_one:
                self._check_size(tables, player)
                self._many *= 2
        self._look_at = tree.num_nodes + _FEW

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

    # --- walks that are too large ------------------------------------------

    def look(self, tables: Tables, walk: Walk) -> None:
        """Nothing: a walk that is too large is found out as the tree grows."""

    def _check_size(self, tables: Tables, player: int) -> None:
        """Raises WalkTooLargeError if a walk for a player is far too large."""
        tree = self._tree
        room = (tree.budget.left + tree.budget.held(NODES)) // 2
        most = max(min(tree.max_nodes, room // NODE_BYTES), 1)
        probes = PROBES * (self._many // _MANY)  # little beside so many expansions
        if self.surely_meets_more(most, tables, player, probes):
            raise self._too_large("far more", is_hopeless=True)

    def surely_meets_more(
        self,
        most: int,
        tables: Tables,
        player: int,
        probes: int,
        rates: Rates | None = None,
    ) -> bool:
        """Whether walks for a player visit more nodes than that, by all probability.

        It follows some random histories of such a walk, for half a second at most. Of
        walks that follow one history, or choose which actions to follow, it says no.

        Args:
            most: nodes, or bytes if there are `rates`.
            tables: those of the walk.
            player: the updated one.
            probes: the most histories to follow.
            rates: if given, what the player's infosets take that the walk meets is
                compared with `most`. Then it must have `follows_all_own`.
        """
        if self._follows_one or self._is_choosy:
            return False
        generator = random.Random(0)
        end = time.monotonic() + SECONDS
        estimates, look_at = [], 1
        while time.monotonic() < end and len(estimates) < probes:
            size = self._probe(tables, player, generator, _ENOUGH * most, rates)
            estimates.append(size)
            if len(estimates) == look_at:
                if exceeds(estimates, most):
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
            if not self._draws[player][acting]:
                weight *= len(actions)
                action = generator.choice(actions)
            else:
                (action,) = generator.choices(actions, probs)
            if rates is None:
                size += weight
            state.apply_action(action)
        return size

    def _too_large(self, size: str, *, is_hopeless: bool = False) -> WalkTooLargeError:
        tree = self._tree
        if self._follows_one:
            why = "although this sampling follows one history"
            advice = "Use a shorter game"
        else:
            why = "since this sampling follows all of a player's actions"
            advice = "Use outcome sampling, which follows one history"
        # Raising the limits is no way out for a walk of 10^250 nodes.
        larger = ""
        if not is_hopeless:
            larger = ", or raise max_nodes or max_memory if memory and time allow"
        return WalkTooLargeError(
            f"At most max_nodes={tree.max_nodes} nodes are kept, within "
            f"{tree.budget.in_words()}, but a single walk over {brief(tree.source)} "
            f"meets {size}, {why}. {advice}{larger}."
        )

    def _full(self) -> TreeFullError:
        """The error for a walk that does not fit although all nodes were dropped.

        Either the walk is too large, or the infosets met before it fill the budget.
        """
        tree, budget = self._tree, self._tree.budget
        nodes = budget.held(NODES) + budget.held(UNCOUNTED)
        if nodes + budget.left > budget.limit // 2:
            return self._too_large("more than fit")
        return infosets_fill(tree)


def infosets_fill(tree: GameTree) -> MemoryBudgetError:
    """The error for a walk that does not fit, as the infosets met take the budget."""
    return MemoryBudgetError(
        f"The {tree.num_infosets:,} infosets of {brief(tree.source)} met so far, their "
        f"names and tables, fill {tree.budget.in_words()}. The solver can be asked, "
        "saved, and loaded with a larger max_memory to go on (on the command line: "
        "--resume --max_memory=...). It stopped before the walk that does not fit."
    )


def present_walk(walk: Walk) -> tuple[int, int, int]:
    """What tells a walk from all others of its solver: the iterations begun, the player
    for whom it is, and its number in its batch."""
    marks = walk.marks
    iteration = walk.cursor.item(ITERATION)
    return iteration, marks.item(WALKER), marks.item(WALK)
