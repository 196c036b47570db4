"""The tree on demand: expands the nodes at which a compiled walk stops.

Where the walk follows all moves at a node, their nodes surely come next and are
expanded at once. Where it draws a move, it says itself, by stopping again, where it
went. A walk that adds to each sequence once has no order to keep, so it goes on
elsewhere when it comes to a missing node, and stops when it has met some (see
`sampling.MOST_ASIDE`).

A walk over compiled rules stops where there is no room for the infoset that it meets.
"""

import bisect
import operator
import random
import time
from typing import Any, NoReturn

import pyspiel

from mccfr_spiel.common import limits
from mccfr_spiel.common.arrays import CHANCE_NODE
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.limits import MemoryBudgetError
from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.iterations import begin_again
from mccfr_spiel.kernels.switches import Sampled
from mccfr_spiel.kernels.tables import Tables, Walk
from mccfr_spiel.rules import played
from mccfr_spiel.rules.store import RuleStore
from mccfr_spiel.tree.game_tree import GameTree, Opened, Place, child_of
from mccfr_spiel.tree.lock import steps
from mccfr_spiel.tree.nodes import NODES, UNCOUNTED

_FEW, _MANY = 2**10, 2**13
"""After `_FEW` nodes expanded for one walk, the length of its history is checked; after
`_MANY`, its size is estimated."""

_PROBES, _PROBES_OF_INFOSETS = 25, 400
"""The most histories that tell of a walk's nodes, for each `_MANY` of them, and of its
infosets. Those must tell a walk that does not fit from one that just fits."""

Rates = tuple[int, int]
"""The bytes that an infoset takes, and each of its sequences."""

_ENOUGH = 10**9
"""A probe stops when its estimate exceeds this multiple of what fits."""

_MOST_OPEN = 1024
"""The most nodes whose states are kept because the walk goes to children of them; for
children of others the moves are made again from the root on."""

_SAMPLED = 64
"""The number of stops for each one at which uncounted memory is measured."""


class WalkTooLargeError(limits.TreeFullError):
    """A single walk meets more nodes than the tree may have, or than fit in memory."""


class Growth:
    """Grows a tree for the walks of one kind of sampling.

    Its methods are called under the tree's lock.

    Attributes:
        lock: the tree's.
        generation: that of the nodes which the walk has on its stack.
    """

    def __init__(self, tree: GameTree, sampled: Sampled, epsilon: float) -> None:
        """Grows a tree.

        Args:
            tree: the tree.
            sampled: what the walks sample.
            epsilon: the share of the uniform policy in draws of the updated player.
        """
        self._tree, self._met_once = tree, sampled.meets_once
        self._epsilon = epsilon
        self.lock = tree.lock
        self.generation = tree.generation
        self._follows_one = sampled.draws_others and sampled.draws_one_action
        # Some walks follow only those of the updated player's actions that are drawn,
        # or whose regrets are not too low; how many these are cannot be foreseen.
        self._is_choosy = sampled.picks_actions or sampled.skips
        # One that follows all of them, and one move of each other player and of chance,
        # meets each of that player's infosets at most once.
        is_external = sampled.draws_others and sampled.player == "all"
        self._follows_all_own = is_external and not self._is_choosy
        # For each player: whether a walk that updates it draws among the moves of each
        # player and, last, of chance.
        self._draws: list[list[bool]] = []
        for player in range(tree.num_players):
            draws = [sampled.opponents] * tree.num_players + [sampled.chance]
            draws[player] = sampled.draws_one_action or self._is_choosy
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
        """Expands the nodes at which the walk stopped and what surely comes below.

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
        was_empty = self._tree.node_store.count == 1
        try:
            self._stops += 1
            if self._stops % _SAMPLED:
                self._expand(tables, walk)
            else:
                self._expand_measured(tables, walk)
        except WalkTooLargeError:
            raise
        except limits.TreeFullError as error:
            is_bytes = isinstance(error, MemoryBudgetError)
            if was_empty or self.must_finish(walk):
                # Either the walk is too large, or the infosets met before it fill the
                # budget.
                budget = self._tree.budget
                nodes = budget.held(NODES) + budget.held(UNCOUNTED)
                if not is_bytes:
                    raise self._too_large("more") from error
                if nodes + budget.left > budget.limit // 2:
                    raise self._too_large("more than fit") from error
                raise infosets_fill(self._tree) from error
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
        before, left = limits.resident(), budget.left
        self._expand(tables, walk)
        if all(map(operator.is_, storage, self._tree.storage)):
            uncounted = limits.resident() - before - (left - budget.left)
            self._uncounted += _SAMPLED * uncounted
            budget.measured(UNCOUNTED, max(self._uncounted, 0))

    @steps
    def _expand(self, tables: Tables, walk: Walk) -> None:
        tree, opens, marks = self._tree, self._open, walk.marks
        player, top = marks.item(layout.WALKER), marks.item(layout.TOP)
        draws = self._draws[player]
        missing = walk.node[top - marks.item(layout.TO_GROW) : top].tolist()

        def look(state: pyspiel.State) -> int:
            self._look(tables, walk, state, player)
            # If others wait, the walk will stop again at what is left.
            return -1 if self.lock.waiting else self._look_at

        if tree.node_store.generation != self.generation:
            return  # a signal handler dropped the nodes just now
        for node in reversed(missing):
            place = self._place_of(node, draws)
            tree.expand_below(node, place, draws, self._look_at, look, opens)
            if self.lock.waiting:
                break
        if len(opens) > _MOST_OPEN:
            del opens[:-_MOST_OPEN]

    def _place_of(self, node: int, draws: list[bool]) -> Place:
        """The place of a node, mostly a child of one that was expanded just now."""
        opens = self._open
        k = bisect.bisect(opens, [node + 1]) - 1
        if k >= 0:
            opened = opens[k]
            child, count = node - opened[0], len(opened[2])
            if child < count:
                # Where a move is drawn, the walk goes to one of the children only.
                is_last = draws[opened[3]] or child + 1 == count
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
        most = max(min(tree.max_nodes, room // limits.NODE_BYTES), 1)
        probes = _PROBES * (self._many // _MANY)  # cheap beside the expansions
        if self._surely_meets_more(most, tables, player, probes):
            raise self._too_large("far more", is_hopeless=True)

    def _surely_meets_more(
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
                compared with `most`. Then walks must follow all of its actions.
        """
        if self._follows_one or self._is_choosy:
            return False
        generator = random.Random(0)
        end = time.monotonic() + limits.SECONDS
        estimates, look_at = [], 1
        while time.monotonic() < end and len(estimates) < probes:
            size = self._probe(tables, player, generator, _ENOUGH * most, rates)
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


def infosets_fill(tree: GameTree) -> MemoryBudgetError:
    """The error for a walk that does not fit, as the infosets met take the budget."""
    return MemoryBudgetError(
        f"The {tree.num_infosets:,} infosets of {brief(tree.source)} met so far, their "
        f"names and tables, fill {tree.budget.in_words()}. The solver can be asked, "
        "saved, and loaded with a larger max_memory to go on (on the command line: "
        "--resume --max_memory=...). It stopped before the walk that does not fit."
    )


def present_walk(walk: Walk) -> tuple[int, int, int]:
    """Identifies a walk of a solver by the iterations begun, the player for whom it is
    made, and its number in its batch."""
    marks = walk.marks
    iteration = walk.cursor.item(layout.ITERATION)
    return iteration, marks.item(layout.WALKER), marks.item(layout.WALK)


# --- walks over compiled rules, which keep no nodes -----------------------------------


_LARGE_WALK, _MOST_NODES = 10_000_000, 10**12
"""The nodes after which a walk is examined, which take it some seconds; and the nodes
that would take it days."""

_SMALL_SHARE = 1 / 64
"""Once the infosets met take this share of the memory that they may take, the size of a
walk is estimated, if that walk has met most of them."""


class RuleGrowth(Growth):
    """Makes room for the infosets that walks over rules meet, which keep no nodes."""

    def __init__(
        self,
        tree: GameTree,
        sampled: Sampled,
        epsilon: float,
        store: RuleStore,
        path: played.Path,
    ) -> None:
        """Grows the store of a tree.

        Args:
            tree: on which a solver walks over rules.
            sampled, epsilon: see Growth.
            store: that of the tree.
            path: where the walk is.
        """
        super().__init__(tree, sampled, epsilon)
        self._store, self._path = store, path
        self._is_forecast = self._is_measured = False

    def fit(self, walk: Walk) -> None:
        """As in Growth; a walk over rules needs no nodes."""
        self.generation = self._tree.generation

    def look(self, tables: Tables, walk: Walk) -> None:
        """Looks once, in the middle of the first large walk, whether it is hopeless.

        Raises:
            WalkTooLargeError: it would visit more than `_MOST_NODES`, or meet more than
                fits, or it is one of the first and has visited more than the tree's
                `walk_limit`.
        """
        visited = _visited(walk)
        limit = self._tree.walk_limit
        # A limit on later walks would let the clock, which cuts slices, decide.
        if limit is not None and visited > limit and walk.cursor[layout.ITERATION] == 0:
            raise _hopeless(self._tree, f"visits more than {limit:,} nodes")
        self._measure(tables, walk)
        if self._is_forecast or visited < _LARGE_WALK:
            return
        self._is_forecast = True
        tree, player = self._tree, walk.marks.item(layout.WALKER)
        tree.note_met()
        if self._surely_meets_more(_MOST_NODES, tables, player, _PROBES):
            self._is_forecast = False
            which = f"{_MOST_NODES:,} nodes, which would take days"
            raise _hopeless(tree, f"surely visits more than {which}")

    def _measure(self, tables: Tables, walk: Walk) -> None:
        """Looks once, in the middle of the first walk that takes much memory, whether
        what it meets surely does not fit.

        All that is certain is that a walk meets each of the updated player's infosets
        at most once, so that all of them that it meets must be in memory in the end.

        Raises:
            WalkTooLargeError: they are too many.
        """
        if self._is_measured or not self._follows_all_own:
            return
        if self._tree.walk_limit is not None:  # which ends a walk long before
            return
        store, tree = self._store, self._tree
        most = store.bytes_that_fit()
        if (
            2 * _visited(walk) < store.sizes()[0]
            or store.bytes_used() < _SMALL_SHARE * most
        ):
            return
        self._is_measured, budget = True, tree.budget
        tree.note_met()
        player, rates = walk.marks.item(layout.WALKER), store.least_rates()
        probes = _PROBES_OF_INFOSETS
        if self._surely_meets_more(most, tables, player, probes, rates):
            self._is_measured = False
            what = f"surely meets more information sets than fit {budget.in_words()}"
            raise _hopeless(tree, what)

    def grow(self, tables: Tables, walk: Walk) -> None:
        """Makes room for the infoset at which the walk stopped, and more.

        Raises:
            WalkTooLargeError: the infosets that the first walk meets do not fit, or
                those that a walk would meet surely do not.
            MemoryBudgetError: the infosets met fill the tree's `max_memory`.
        """
        self._measure(tables, walk)
        self._make_room(walk)

    @steps
    def _make_room(self, walk: Walk) -> None:
        tree = self._tree
        try:
            self._store.grow()
        except MemoryBudgetError as error:
            tree.note_met()
            if present_walk(walk) != (0, 0, 0):
                raise infosets_fill(tree) from error
            raise WalkTooLargeError(
                f"A single walk over {brief(tree.source)} meets more than the "
                f"{tree.num_infosets:,} information sets that fit "
                f"{tree.budget.in_words()}. Use outcome sampling, which follows one "
                "history, or raise max_memory if memory allows."
            ) from error
        tree.note_met()

    def raise_broken(self, status: int) -> NoReturn:
        """Raises the GameError for a status from `played.BROKEN` on."""
        self._store.raise_broken(status - played.BROKEN, self._path)


def _visited(walk: Walk) -> int:
    """The nodes that the present walk has visited."""
    marks = walk.marks
    return marks.item(layout.TOUCHED) - marks.item(layout.TOUCHED_BEFORE)


def _hopeless(tree: GameTree, how: str) -> WalkTooLargeError:
    return WalkTooLargeError(
        f"A single walk over {brief(tree.source)} {how}, since this sampling follows "
        "all of a player's actions. Use outcome sampling, which follows one history."
    )
