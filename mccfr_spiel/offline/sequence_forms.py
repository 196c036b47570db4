"""Two-player zero-sum games in sequence form: treeplexes, payoff matrix, plans.

In the sequence form (Romanovskii 1962; von Stengel 1996) a player chooses a realization
plan x from a *treeplex* {x >= 0, F x = f}, and expected payoffs are bilinear: player 0
gets x' A y, player 1 a constant minus that. A treeplex numbers the player's sequences
from 0, the empty sequence, in the order of the tree: the actions of an infoset are
contiguous and come after the sequence that leads to the infoset.
"""

from typing import NamedTuple

import numpy as np
import pyspiel

from mccfr_spiel.arenas.evaluating import complete_table, full_pass
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.common import refusals
from mccfr_spiel.common.arrays import INFOSET, TERMINAL, sequences_at
from mccfr_spiel.common.budget import MaxMemory
from mccfr_spiel.common.display import brief, counted, line, never_raises, title
from mccfr_spiel.kernels.evaluation import pass_up
from mccfr_spiel.kernels.plans import fill_plan
from mccfr_spiel.offline.factorization import Csr, csr

DEFAULT_MAX_LEAVES = 30_000_000
"""Assembling the payoff matrix of this many terminal histories needs about 4 GiB."""

_BYTES_OF_LEAF, _BYTES_OF_SEQUENCE = 120, 64

_ZERO_SUM_TOLERANCE = 1e-9

_ROUNDING = 1e-14


class NotZeroSumError(ValueError):
    """The game is not a two-player zero-sum (or constant-sum) game."""


class TooLargeError(ValueError):
    """The game has more terminal histories than `max_leaves`."""


class Treeplex(NamedTuple):
    """One player's n infosets and m sequences, numbered from 0 within the player.

    Attributes:
        player: the player.
        infosets: `[n]` infoset numbers in the tree, ancestors first.
        sequences: `[m]` sequence numbers in the tree; the first is the empty sequence.
        first_sequence: `[n]` first sequence of each infoset, numbered within the
            player.
        num_actions: `[n]` number of actions at each infoset.
        parent: `[n]` sequence that leads to each infoset, numbered within the player.
    """

    player: int
    infosets: np.ndarray
    sequences: np.ndarray
    first_sequence: np.ndarray
    num_actions: np.ndarray
    parent: np.ndarray

    @property
    def num_infosets(self) -> int:
        """n, the number of the player's infosets."""
        return len(self.infosets)

    @property
    def num_sequences(self) -> int:
        """m, the number of the player's sequences, including the empty sequence."""
        return len(self.sequences)

    @property
    def infoset_of(self) -> np.ndarray:
        """`[m]` infoset of each sequence, numbered within the player; -1 for the empty
        sequence."""
        owners = np.repeat(np.arange(self.num_infosets), self.num_actions)
        return np.concatenate(([-1], owners))

    @property
    def records(self) -> np.ndarray:
        """`[n]` of dtype INFOSET, numbered within the player, for compiled loops."""
        records = np.zeros(self.num_infosets, INFOSET)
        records["first_sequence"], records["parent"] = self.first_sequence, self.parent
        records["num_actions"] = self.num_actions
        return records


class SequenceForm(NamedTuple):
    """A two-player constant-sum game as a bilinear saddle-point problem.

    Attributes:
        tree: the whole tree.
        treeplexes: treeplexes of player 0 and player 1.
        payoffs: `[m0, m1]` csr array A of player 0's payoffs times the probability of
            chance moves, without duplicates and stored zeros.
        constant: sum of both players' payoffs at every terminal history.
    """

    tree: GameTree
    treeplexes: tuple[Treeplex, Treeplex]
    payoffs: Csr
    constant: float

    @never_raises
    def __repr__(self) -> str:
        rows, columns = self.payoffs.shape
        return line(
            self,
            title(self.tree.source),
            f"{rows:,} x {columns:,} sequences",
            counted(self.payoffs.nnz, "payoff"),
        )


def treeplex(tree: GameTree, player: int) -> Treeplex:
    """The treeplex of one player of a complete tree."""
    infosets = tree.infosets
    mine = np.flatnonzero(infosets["player"] == player)
    counts = infosets["num_actions"][mine].astype(np.int64)
    sequences = np.append(player, sequences_at(infosets[mine]))
    # `sequences` is sorted, so a parent's number is found by bisection.
    parent = np.searchsorted(sequences, infosets["parent"][mine])
    firsts = 1 + np.cumsum(counts) - counts
    return Treeplex(player, mine, sequences, firsts, counts, parent)


def constraints(treeplex: Treeplex) -> tuple[Csr, np.ndarray]:
    """F `[n + 1, m]` and f `[n + 1]` such that the treeplex is {x >= 0 : F x = f}.

    Row 0 says that the empty sequence has weight 1. Row 1 + i says that the weights of
    the actions at infoset i add up to the weight of the sequence that leads to the
    infoset.
    """
    n, m = treeplex.num_infosets, treeplex.num_sequences
    rows = np.concatenate(([0], 1 + treeplex.infoset_of[1:], np.arange(1, n + 1)))
    columns = np.concatenate((np.arange(m), treeplex.parent))
    values = np.concatenate((np.ones(m), -np.ones(n)))
    matrix = csr((values, (rows, columns)), shape=(n + 1, m))
    right = np.zeros(n + 1)
    right[0] = 1
    return matrix, right


def sum_of_payoffs(tree: GameTree) -> float:
    """The sum of both players' payoffs, equal at every terminal history.

    Raises:
        NotZeroSumError: there are not two players, or the sum is not constant.
    """
    if tree.num_players != 2:
        raise NotZeroSumError(
            f"{brief(tree.source)} has {tree.num_players} players; the sequence-form "
            "saddle point needs two. Use a Solver, which accepts any number of players."
        )
    sums = tree.utilities.sum(axis=1)
    if np.ptp(sums) > _ZERO_SUM_TOLERANCE * np.abs(tree.utilities).max():
        raise NotZeroSumError(
            f"{brief(tree.source)} is neither zero-sum nor constant-sum: the players' "
            f"payoffs add up to {sums.min():.6g} at one end, to {sums.max():.6g} at "
            "another. Use a Solver, but note that its average need not be an "
            "equilibrium then."
        )
    return float(sums[0]) if np.ptp(sums) == 0 else float(np.mean(sums))


def sequence_form(
    game: pyspiel.Game | str | GameTree,
    *,
    max_leaves: int = DEFAULT_MAX_LEAVES,
    max_memory: MaxMemory = None,
) -> SequenceForm:
    """Makes the treeplexes and the payoff matrix of a two-player constant-sum game.

    Args:
        game: a game, its load string or its tree, which is expanded completely.
            Simultaneous moves become turns.
        max_leaves: the largest number of terminal histories.
        max_memory: memory limit of the tree and the matrix, in bytes or as text such as
            "4GiB", see `GameTree`. A tree that is passed in keeps the limit with which
            it was made.

    Raises:
        NotZeroSumError: the game does not have two players, or the payoffs do not have
            a constant sum.
        TooLargeError: the game has more than `max_leaves` terminal histories.
        TreeFullError, MemoryBudgetError: the tree or the matrix is too large.
        ValueError: the tree cannot be expanded (see GameTree).
    """
    if isinstance(game, SequenceForm):
        return game
    tree = complete_table(game, max_memory)
    constant = sum_of_payoffs(tree)
    leaves = int((tree.nodes["player"] == TERMINAL).sum())
    if leaves > refusals.number(max_leaves, "max_leaves", 0, np.inf):
        raise TooLargeError(
            f"{brief(tree.source)} has {leaves} terminal histories, more than "
            f"max_leaves={max_leaves}. Raise max_leaves if memory allows (about 120 "
            "bytes each), or use a Solver, which needs no matrix."
        )
    size = _BYTES_OF_LEAF * leaves + _BYTES_OF_SEQUENCE * tree.num_sequences
    tree.budget.require(size, "Assembling the payoff matrix takes")
    treeplexes = (treeplex(tree, 0), treeplex(tree, 1))
    return SequenceForm(tree, treeplexes, _payoffs(tree, treeplexes), constant)


def _payoffs(tree: GameTree, treeplexes: tuple[Treeplex, Treeplex]) -> Csr:
    ends, others, values, *_ = full_pass(tree).arrays
    sequences = np.repeat(np.arange(tree.num_sequences), np.diff(ends))
    mine = np.isin(sequences, treeplexes[0].sequences)
    sequences, others, values = sequences[mine], others[mine], values[mine]
    own = np.empty(tree.num_sequences, np.int32)
    for plex in treeplexes:
        own[plex.sequences] = np.arange(plex.num_sequences)
    shape = (treeplexes[0].num_sequences, treeplexes[1].num_sequences)
    places = (own[sequences], own[others[:, 0]])
    matrix = csr((values, places), shape=shape)
    matrix.sum_duplicates()
    # Payoffs that should cancel leave rounding errors. An entry counts as a rounding
    # error if it is far smaller than the terms whose sum it is.
    if matrix.nnz < len(values):
        sizes = csr((np.abs(values), places), shape=shape)
        sizes.sum_duplicates()
        matrix.data[np.abs(matrix.data) <= _ROUNDING * sizes.data] = 0
    matrix.eliminate_zeros()
    return matrix


def best_response_value(treeplex: Treeplex, gradient: np.ndarray) -> float:
    """The maximum of `<gradient, x>` over the treeplex; `gradient` is `[m]`."""
    values = gradient.copy()
    pass_up(treeplex.records, gradient, np.zeros(treeplex.num_infosets, bool), values)
    return float(values[0])


def saddle_point_gap(form: SequenceForm, x: np.ndarray, y: np.ndarray) -> float:
    """The saddle-point gap max_x' x' A y - min_y' x A y' of plans x `[m0]`, y `[m1]`.

    It equals NashConv.
    """
    best_x = best_response_value(form.treeplexes[0], form.payoffs @ y)
    best_y = best_response_value(form.treeplexes[1], -(form.payoffs.T @ x))
    return max(best_x + best_y, 0.0)  # below 0 is rounding


def plan_to_policy(treeplex: Treeplex, plan: np.ndarray) -> np.ndarray:
    """The policy `[m]` of a plan `[m]`; uniform at infosets that the plan never
    reaches.

    Negative entries count as 0, and the plan may violate the constraints slightly,
    because the policy is normalized at every infoset.
    """
    policy = np.maximum(plan, 0.0)
    policy[0] = 1.0
    if not treeplex.num_infosets:
        return policy
    totals = np.add.reduceat(policy, treeplex.first_sequence)
    uniform = np.repeat(1.0 / treeplex.num_actions, treeplex.num_actions)
    totals = np.repeat(totals, treeplex.num_actions)
    played = totals > 0
    policy[1:] = np.where(played, policy[1:] / np.where(played, totals, 1), uniform)
    return policy


def policy_to_plan(treeplex: Treeplex, policy: np.ndarray) -> np.ndarray:
    """The plan `[m]` of a policy `[m]`."""
    plan = np.ones(treeplex.num_sequences)
    fill_plan(treeplex.records, policy, plan)
    return plan


def joint_vector(
    form: SequenceForm, plans: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """`[S]` the policy of both players' plans `[m0]`, `[m1]` over all sequences."""
    joint = np.ones(form.tree.num_sequences)
    for plex, plan in zip(form.treeplexes, plans, strict=True):
        joint[plex.sequences] = plan_to_policy(plex, plan)
    return joint
