"""Two-player zero-sum games in sequence form: treeplexes, payoff matrix, plans.

In the sequence form (Romanovskii 1962; von Stengel 1996), a player chooses a
realization plan from a polytope {x : x >= 0, F x = f}, called *treeplex*. For plans x
of player 0 and y of player 1, the expected payoff of player 0 is x' A y. The payoff of
player 1 is a constant minus this number.

In a treeplex, the player's sequences are numbered from 0, the empty sequence, in the
order of the tree: the sequences of an infoset are contiguous, and come after the
sequence that leads to the infoset.
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
"""Default limit on terminal histories. Making the payoff matrix then needs about 4
GiB."""

_BYTES_OF_LEAF, _BYTES_OF_SEQUENCE = 120, 64
"""Bytes needed to make the payoff matrix, per terminal history and per sequence."""

_ZERO_SUM_TOLERANCE = 1e-9
"""The sum of the players' payoffs counts as constant if it varies by at most this
factor times the largest payoff."""

_ROUNDING = 1e-14
"""An entry of the payoff matrix counts as a rounding error of 0 if it is at most this
factor times the sum of its terms' absolute values."""


class NotZeroSumError(ValueError):
    """The game is not a two-player zero-sum (or constant-sum) game."""


class TooLargeError(ValueError):
    """The game has more terminal histories than `max_leaves`."""


class Treeplex(NamedTuple):
    """The n infosets and m sequences of a player.

    "Numbered within the player" means: infosets from 0 to n - 1, and sequences from 0
    to m - 1, where 0 is the empty sequence.

    Attributes:
        player: the player.
        infosets: `[n]` the tree's number of each infoset, ancestors first.
        sequences: `[m]` the tree's number of each sequence.
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
        """`[n]` the infosets as records of dtype INFOSET, for compiled loops.

        Sequences in the records are numbered within the player.
        """
        records = np.zeros(self.num_infosets, INFOSET)
        records["first_sequence"], records["parent"] = self.first_sequence, self.parent
        records["num_actions"] = self.num_actions
        return records


class SequenceForm(NamedTuple):
    """A two-player constant-sum game as a bilinear saddle-point problem.

    Attributes:
        tree: the whole tree.
        treeplexes: treeplexes of player 0 and player 1.
        payoffs: `[m0, m1]` csr array A, for the m0 and m1 sequences of the players. An
            entry is the sum, over the terminal histories with this pair of last
            sequences, of player 0's payoff times the probability of chance moves. It
            has no duplicates and no stored zeros.
        constant: sum of both players' payoffs, equal at all terminal histories.
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
    own = np.flatnonzero(infosets["player"] == player)
    counts = infosets["num_actions"][own].astype(np.int64)
    sequences = np.append(player, sequences_at(infosets[own]))
    # `sequences` is sorted, so a parent's number is found by bisection.
    parent = np.searchsorted(sequences, infosets["parent"][own])
    firsts = 1 + np.cumsum(counts) - counts
    return Treeplex(player, own, sequences, firsts, counts, parent)


def constraints(treeplex: Treeplex) -> tuple[Csr, np.ndarray]:
    """Returns F `[n + 1, m]` and f `[n + 1]`, so that the treeplex is {x >= 0 : F x =
    f}.

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
    """Returns the sum of both players' payoffs, which is equal at all terminal
    histories.

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
            f"{brief(tree.source)} is neither zero-sum nor constant-sum: the sum of "
            f"payoffs is between {sums.min():.6g} and {sums.max():.6g}. Use a Solver, "
            "but its average may not be an equilibrium."
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
            Simultaneous moves are converted to turns. A SequenceForm is returned
            unchanged.
        max_leaves: the largest number of terminal histories.
        max_memory: memory limit of the tree and the matrix, in bytes or as text such as
            "4GiB", see `GameTree`. If `game` is a tree, the limit with which this tree
            was made applies instead.

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
    is_first = np.isin(sequences, treeplexes[0].sequences)
    sequences, others, values = sequences[is_first], others[is_first], values[is_first]
    own = np.empty(tree.num_sequences, np.int32)
    for plex in treeplexes:
        own[plex.sequences] = np.arange(plex.num_sequences)
    shape = (treeplexes[0].num_sequences, treeplexes[1].num_sequences)
    places = (own[sequences], own[others[:, 0]])
    matrix = csr((values, places), shape=shape)
    matrix.sum_duplicates()
    # Entries whose terms cancel may differ from 0 by a rounding error. An entry counts
    # as 0 if it is far smaller than its terms.
    if matrix.nnz < len(values):
        sizes = csr((np.abs(values), places), shape=shape)
        sizes.sum_duplicates()
        matrix.data[np.abs(matrix.data) <= _ROUNDING * sizes.data] = 0
    matrix.eliminate_zeros()
    return matrix


def best_response_value(treeplex: Treeplex, gradient: np.ndarray) -> float:
    """Returns the maximum of `<gradient, x>` over the plans x of a treeplex.

    Args:
        treeplex: the treeplex.
        gradient: `[m]` the gradient.
    """
    values = gradient.copy()
    pass_up(treeplex.records, gradient, np.zeros(treeplex.num_infosets, bool), values)
    return float(values[0])


def saddle_point_gap(form: SequenceForm, x: np.ndarray, y: np.ndarray) -> float:
    """Returns the saddle-point gap of a plan of each player, which equals NashConv.

    It is the maximum of player 0's payoff over all plans against y, minus the minimum
    of player 0's payoff over all plans of player 1 against x.

    Args:
        form: the sequence form.
        x: `[m0]` player 0's plan.
        y: `[m1]` player 1's plan.
    """
    best_x = best_response_value(form.treeplexes[0], form.payoffs @ y)
    best_y = best_response_value(form.treeplexes[1], -(form.payoffs.T @ x))
    return max(best_x + best_y, 0.0)  # negative only by rounding


def plan_to_policy(treeplex: Treeplex, plan: np.ndarray) -> np.ndarray:
    """Converts a plan `[m]` to a policy `[m]`, uniform at infosets that the plan does
    not reach.

    The plan may violate the constraints slightly: negative elements count as 0, and the
    policy is normalized at every infoset.
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
    """Converts a policy `[m]` to its plan `[m]`."""
    plan = np.ones(treeplex.num_sequences)
    fill_plan(treeplex.records, policy, plan)
    return plan


def joint_vector(
    form: SequenceForm, plans: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """Converts the plans of both players to a policy `[S]` over the tree's sequences.

    Args:
        form: the sequence form.
        plans: (player 0's plan `[m0]`, player 1's plan `[m1]`).
    """
    joint = np.ones(form.tree.num_sequences)
    for plex, plan in zip(form.treeplexes, plans, strict=True):
        joint[plex.sequences] = plan_to_policy(plex, plan)
    return joint
