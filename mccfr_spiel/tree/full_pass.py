"""Whole passes over a complete tree: plans, gradients, best responses.

A pass visits no node. It reads a list of the leaves (tree/whole.py), which is made
once, from its beginning to its end.
"""

import functools
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pyspiel

from mccfr_spiel.common.arrays import INFOSET
from mccfr_spiel.common.limits import in_words, num_cores
from mccfr_spiel.kernels import passes, teams
from mccfr_spiel.kernels.evaluation import Evaluation, evaluate, pass_up, respond
from mccfr_spiel.kernels.frame import Layout
from mccfr_spiel.kernels.tables import BYTES_OF_TABLES, LAYOUT, Blocks, Passes
from mccfr_spiel.tree import whole
from mccfr_spiel.tree.game_tree import GameTree
from mccfr_spiel.tree.loading import load_game
from mccfr_spiel.worlds.hand_lists import sizes_of
from mccfr_spiel.worlds.passes import GRADIENTS, LAYOUTS, Hands, make_world_iterate
from mccfr_spiel.worlds.public_tree import has_public_tree, read_public_tree

_NO_CHOICE = np.zeros(0, np.int32)


class Response(NamedTuple):
    """A best response of one player.

    Attributes:
        value: what the player gets by playing it.
        choice: `[I]` the sequence that it plays at each of the player's infosets; at
            those of others, what a best response of theirs plays.
    """

    value: float
    choice: np.ndarray


class FullPass:
    """Passes over a complete tree.

    Attributes:
        tree: the tree.
        num_threads: the threads that share it. They change no bit of it.
    """

    def __init__(self, tree: GameTree, num_threads: int = 1) -> None:
        """Makes nothing yet."""
        self.tree = tree
        self.num_threads = num_threads

    @functools.cached_property
    def arrays(self) -> Passes:
        """The list of the leaves."""
        return self.tree.list_leaves()

    @functools.cached_property
    def blocks(self) -> Blocks:
        """How the work of `values` and `respond` is cut."""
        return whole.one_block(self.arrays) if self.num_threads == 1 else self._cut()

    def _cut(self) -> Blocks:
        return self.tree.list_blocks()

    # --- iterations, each of which makes a pass ------------------------------

    @property
    def layout(self) -> Layout:
        """Of the frame for `make_iterate`: a solver's records, and then `records`."""
        return LAYOUT

    def make_iterate(self, rule: str) -> Any:
        """The compiled loop over iterations of a local rule."""
        return passes.make_passes(rule)

    def records(self) -> tuple[Any, ...]:
        """What the loop reads besides a solver's records."""
        return self.arrays, self.blocks

    # --- single passes -------------------------------------------------------

    def plan(self, policy: np.ndarray) -> np.ndarray:
        """`[S]` all players' realization plans under a policy vector."""
        plan = np.ones_like(policy)
        passes.fill_plan(self.tree.infosets, policy, plan)
        return plan

    def gradient(self, plan: np.ndarray, player: int) -> np.ndarray:
        """`[S]` a player's utility gradient, 0 at the sequences of others.

        Its inner product with the plan is the player's expected return.
        """
        gradient = np.zeros_like(plan)
        passes.fill_gradient(self.tree.infosets, self.arrays, player, plan, gradient)
        return gradient

    def reaches(self, plan: np.ndarray) -> np.ndarray:
        """`[I]` how chance and the others play to each infoset, summed over its
        histories."""
        reaches = np.zeros(self.tree.num_infosets)
        passes.add_reaches(self.tree.arrays, plan, reaches)
        return reaches

    def best_within(self, policy: np.ndarray, fixed: Iterable[int]) -> np.ndarray:
        """`[P]` what best responses get that keep to a policy at some infosets."""
        is_fixed = np.zeros(self.tree.num_infosets, np.bool_)
        is_fixed[list(fixed)] = True
        plan, players = self.plan(policy), range(self.tree.num_players)
        values = sum((self.gradient(plan, p) for p in players), np.zeros_like(plan))
        pass_up(self.tree.infosets, policy, is_fixed, values)
        return values[: self.tree.num_players].copy()

    def respond(self, policy: np.ndarray, player: int) -> Response:
        """The player's best response to a policy vector of all players."""
        choice = np.zeros(self.tree.num_infosets, np.int32)
        return Response(float(self._evaluate(policy, choice)[2][player]), choice)

    def values(self, policy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Each player's expected return, and that of a best response, both `[P]`."""
        _, got, best = self._evaluate(policy)
        players = self.tree.num_players
        return got[:players].copy(), best[:players].copy()

    def after_sequences(self, policy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """`[S]` what each sequence brings its player, counterfactually, by the policy
        and by a best response."""
        alone = full_pass(self.tree)  # threads leave other numbers at roots of blocks
        return alone._evaluate(policy)[1:]

    def _evaluate(
        self, policy: np.ndarray, choice: np.ndarray = _NO_CHOICE
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Three vectors `[S]`, of which the last two are those of `after_sequences`;
        see `Evaluation` for `choice`."""
        policy, infosets = np.ascontiguousarray(policy, np.float64), self.tree.infosets
        vectors = np.empty_like(policy), np.empty_like(policy), np.empty_like(policy)
        work = Evaluation(infosets, self.arrays, self.blocks, policy, *vectors, choice)
        teams.run(evaluate, self.num_threads, work, notes=passes.NUM_NOTES)
        return vectors

    def nash_conv(self, policy: np.ndarray) -> float:
        """The sum of all players' gains from a best response."""
        return float(self.gains(policy).sum())

    def gains(self, policy: np.ndarray) -> np.ndarray:
        """`[P]` each player's gain from a best response.

        A best response gets at least what the policy gets. A negative gain can only
        come from rounding two equal sums, so it counts as 0.
        """
        on_policy, best = self.values(policy)
        return np.maximum(best - on_policy, 0.0)


class WorldPass(FullPass):
    """Passes over the worlds of a tree of which no nodes are kept.

    Each player's gradient may have a thread of its own, or each block's.
    """

    @functools.cached_property
    def arrays(self) -> Passes:
        """The infosets by player, and no rows."""
        return _without_rows(self.tree.infosets, self.tree.num_players)

    def _cut(self) -> Blocks:
        worlds = self.tree.worlds
        if not isinstance(worlds, Hands):
            return whole.one_block(self.arrays)
        return whole.cut_at(self.tree.infosets, self.arrays, worlds.cuts)

    @property
    def layout(self) -> Layout:
        """As in FullPass. Passes in slices only hand their gradients to the loop."""
        return LAYOUTS.get(type(self.tree.worlds), LAYOUT)

    def make_iterate(self, rule: str) -> Any:
        """As in FullPass."""
        if self.tree.start_pass is not None:
            return passes.make_passes(rule, estimated=True)
        return make_world_iterate(rule, type(self.tree.worlds))

    def records(self) -> tuple[Any, ...]:
        """As in FullPass."""
        more = (self.tree.worlds,) if self.tree.start_pass is None else ()
        return *super().records(), *more

    def gradient(self, plan: np.ndarray, player: int) -> np.ndarray:
        """As in FullPass."""
        return self._gradients(plan, player, player + 1)

    def _gradients(self, plan: np.ndarray, player: int, end: int) -> np.ndarray:
        """The sum of the gradients of the players from `player` to `end - 1`, which
        differ from 0 at different sequences."""
        if self.tree.start_pass is not None:
            passing = self.tree.start_pass(plan, range(player, end))
            return passing.finish("a pass over").walk.gradient
        worlds: Any = self.tree.worlds
        gradient, add = np.zeros_like(plan), GRADIENTS[type(worlds)]
        each = blocks_of(self.tree)

        def add_for(part: tuple[int, int]) -> None:
            for piece in range(each * player + part[0], each * player + part[1]):
                add(worlds, piece, plan, gradient)

        teams.in_parts(self.num_threads, each * (end - player), add_for)
        return gradient

    def _evaluate(
        self, policy: np.ndarray, choice: np.ndarray = _NO_CHOICE
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As in FullPass, see worlds/passes.py."""
        plan = self.plan(policy)
        got = self._gradients(plan, 0, self.tree.num_players)
        best = plan  # which is of no more use, so its memory is taken
        best[:] = got
        nothing = _without_rows(np.zeros(0, INFOSET), self.tree.num_players)
        parts = self.tree.infosets, nothing, whole.one_block(nothing)
        policy = np.ascontiguousarray(policy, np.float64)
        respond(Evaluation(*parts, policy, plan, got, best, choice))
        return best, got, best


def _without_rows(infosets: np.ndarray, num_players: int) -> Passes:
    nothing = np.zeros(1, np.int64), np.zeros((0, 1), np.int32), np.zeros(0)
    return Passes(*nothing, *whole.members_of(infosets, num_players))


def blocks_of(tree: GameTree) -> int:
    """Into how many pieces each player's gradient over worlds is cut."""
    return tree.worlds.num_blocks if isinstance(tree.worlds, Hands) else 1


def full_pass(
    tree: GameTree, threads: int | None = 1, *, updated: int | None = None
) -> FullPass:
    """The passes over a complete tree, which keeps the list of its leaves.

    The tree must not keep the FullPass itself: the two would hold each other, and only
    the garbage collector could free them, which does not notice memory of NumPy's.

    Args:
        tree: the tree.
        threads: the most threads that share a pass; None for one for each core. The
            result is the same, bit for bit, with any number of them. A pass uses
            fewer where more would gain nothing.
        updated: the players whom each pass of a solver updates; None for single
            passes, each of which is for all players.

    Raises:
        MemoryBudgetError: the list does not fit the tree's `max_memory`.
        ValueError: the tree is not complete, or `threads` no number of threads.
    """
    threads = whole.checked_threads(threads)
    if tree.worlds is not None:
        most = (updated or tree.num_players) * blocks_of(tree)
        is_sliced = tree.start_pass is not None  # which one thread makes
        return WorldPass(tree, 1 if is_sliced else min(threads or num_cores(), most))
    least_work = whole.LEAST_WORK_AT_ONCE if updated is None else whole.LEAST_WORK
    return FullPass(tree, whole.useful_threads(threads, tree.list_leaves(), least_work))


# --- what it takes to solve a game of cards by hands, known before that is made -------


_BYTES_OF_DISCOUNTS = 18
"""The bytes that DCFR takes for an infoset in addition to BYTES_OF_TABLES."""

_SECONDS_OF_STEP, _SECONDS_OF_SEQUENCE = 7e-9, 11e-9
"""Seconds of one core of about 2023 for a hand at a leaf, and for an update of DCFR."""


class Cost(NamedTuple):
    """What DCFR needs for a game of cards; CFR and CFR+ need no more.

    Attributes:
        infosets, sequences: how many there are; suits that change nothing are one.
        bytes: of the lists and tables at most, as a solver asks `max_memory` for them.
        seconds: of an iteration on one core, about. DCFR takes about 90 iterations to
            0.3 % of the pot.
    """

    infosets: int
    sequences: int
    bytes: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.infosets:,} infosets, {self.sequences:,} sequences: up to "
            f"{in_words(self.bytes)}, about {self.seconds:.2g} s an iteration"
        )


def cost(game: pyspiel.Game | str) -> Cost:
    """What it takes to solve a game of cards, such as a subgame of hold'em.

        print(ms.poker.cost(game))

    Its public tree is made, but nothing for each hand.

    Raises:
        ValueError: the game is not taken by hands, see `read_public_tree`.
    """
    game = load_game(game)
    if not has_public_tree(game):
        raise ValueError(f"{game} is no game of hands of cards.")
    infosets, sequences, size, steps = sizes_of(read_public_tree(game))
    per_infoset, per_sequence = BYTES_OF_TABLES
    per_infoset += _BYTES_OF_DISCOUNTS
    return Cost(
        infosets,
        sequences,
        size + per_infoset * infosets + per_sequence * sequences,
        _SECONDS_OF_STEP * steps + _SECONDS_OF_SEQUENCE * sequences,
    )
