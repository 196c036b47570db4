"""Treeplexes of a two-player zero-sum game, its sparse payoff matrix, and its factors.

In the sequence form (Romanovskii 1962; von Stengel 1996) a player chooses a
realization plan x, a point of its *treeplex* {x >= 0, F x = f}, and the expected payoff
is bilinear: player 0 gets x' A y, player 1 a constant minus that. A treeplex numbers
its player's own sequences from 0, the empty one, in the order of the tree: an infoset's
actions are contiguous and come after the sequence that leads to it.
"""

from typing import Any, NamedTuple

import numpy as np
import pyspiel
import scipy.sparse
from scipy.sparse import csgraph

from mccfr_spiel.arenas.evaluating import complete_table, full_pass
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.common import refusals
from mccfr_spiel.common.arrays import INFOSET, TERMINAL, sequences_at
from mccfr_spiel.common.display import brief, counted, line, never_raises, title
from mccfr_spiel.common.limits import MaxMemory
from mccfr_spiel.kernels.evaluation import pass_up
from mccfr_spiel.kernels.jit import jit
from mccfr_spiel.kernels.passes import fill_plan

DEFAULT_MAX_LEAVES = 30_000_000
"""Assembling the payoff matrix of this many terminal histories takes about 4 GiB."""

_BYTES_OF_LEAF, _BYTES_OF_SEQUENCE = 120, 64

_ZERO_SUM_TOLERANCE = 1e-9
_ROUNDING = 1e-14


Csr = Any
"""A scipy.sparse.csr_array; type checkers believe that its shape may be None."""


def csr(data: Any, *, shape: tuple[int, int] | None = None) -> Csr:
    """Calls `scipy.sparse.csr_array`, hiding the type that checkers get wrong."""
    return scipy.sparse.csr_array(data, shape=shape)


class NotZeroSumError(ValueError):
    """The game is not a two-player zero-sum (or constant-sum) game."""


class TooLargeError(ValueError):
    """The game has more terminal histories than the payoff matrix may hold."""


class Treeplex(NamedTuple):
    """One player's n infosets and m sequences, numbered from 0 within the player.

    Attributes:
        player: the player they belong to.
        infosets: `[n]` their numbers in the tree, ancestors first.
        sequences: `[m]` their numbers in the tree; the first is the empty sequence.
        first_sequence: `[n]` each infoset's first sequence, numbered within the player.
        num_actions: `[n]` the number of actions at each infoset.
        parent: `[n]` the sequence that leads to each infoset, numbered within the
            player.
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
        """m, the number of the player's sequences, the empty one included."""
        return len(self.sequences)

    @property
    def infoset_of(self) -> np.ndarray:
        """`[m]` the infoset of each sequence, numbered within the player; -1 for the
        empty sequence."""
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
        tree: the complete tree it was made from.
        treeplexes: player 0's treeplex and player 1's.
        payoffs: `[m0, m1]` csr array A of player 0's payoffs times the probability of
            chance's moves, with duplicates merged and no zeros stored.
        constant: what both players' payoffs add up to at every terminal history.
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
    the actions at infoset i add up to that of the sequence that leads to it.
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
    """The constant that both players' payoffs add up to at every terminal history.

    Raises:
        NotZeroSumError: there are not two players, or the sum is not constant.
    """
    if tree.num_players != 2:
        raise NotZeroSumError(
            f"{brief(tree.source)} has {tree.num_players} players; the sequence-form "
            "saddle point needs two. Use a Solver, which takes any number of players."
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
        game: a game, its load string or its tree, which is expanded whole. Simultaneous
            moves become turns.
        max_leaves: games with more terminal histories than this are refused.
        max_memory: bytes, or words such as "4GiB", that the tree and the matrix may
            take, see `GameTree`. A tree that is passed in has a limit of its own.

    Raises:
        NotZeroSumError: the game does not have two players, or its payoffs do not have
            a constant sum.
        TooLargeError: the game has more than `max_leaves` terminal histories.
        TreeFullError, MemoryBudgetError: the tree or the matrix is too large.
        ValueError: the tree cannot be made (see GameTree).
    """
    if isinstance(game, SequenceForm):
        return game
    tree = complete_table(game, max_memory)
    constant = sum_of_payoffs(tree)
    leaves = int((tree.nodes["player"] == TERMINAL).sum())
    if leaves > refusals.number(max_leaves, "max_leaves", 0, np.inf):
        raise TooLargeError(
            f"{brief(tree.source)} has {leaves} terminal histories, more than the "
            f"payoff matrix may take (max_leaves={max_leaves}). Raise max_leaves if "
            "memory allows (about 120 bytes each), or use a Solver, which needs no "
            "matrix."
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
    # Payoffs that should cancel leave a rounding error. An entry counts as one if it is
    # far smaller than the terms that were added to make it.
    if matrix.nnz < len(values):
        sizes = csr((np.abs(values), places), shape=shape)
        sizes.sum_duplicates()
        matrix.data[np.abs(matrix.data) <= _ROUNDING * sizes.data] = 0
    matrix.eliminate_zeros()
    return matrix


# --- vectors over sequences --------------------------------------------------


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
    """The policy `[m]` of a plan `[m]`; uniform at infosets that it never reaches.

    Negative entries count as 0, and the plan need not satisfy the constraints exactly,
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


# --- the payoff matrix in factors, A = Ahat + U M^-1 V', with fewer nonzeros ----------
#
# A linear program can then use `Ahat' x + V w` with `M' w = U' x` in place of A' x, so
# its size depends on the number of nonzeros in all four factors together (Zhang,
# Sandholm 2020). There are two ways to find the factors:
#
# - `rank_one_factors` is the method of that paper. It greedily subtracts products u v',
#   and M is the identity.
# - `difference_factors` writes each row as a multiple of a similar row plus a
#   difference, and then does the same with the columns of the remainder. A minimum
#   spanning tree decides which row refers to which, and M = I - C, where C holds the
#   multiples along the tree's edges. On the win-lose matrix of poker this gives the
#   bidiagonal differences of Farina and Sandholm 2022.

_EQUAL = 1e-11
"""The relative difference up to which two ratios count as equal."""

_OVERHEAD = 2
"""The nonzeros that a reference from one row to another adds to the other factors."""

_MAX_CANDIDATES = 200
"""How many rows each row is compared with."""

_PATIENCE = 30
"""After this many products in a row that save nothing, the rank-one method ends."""

_MOST_PRODUCTS = 5_000

_ALTERNATIONS = 20
"""The most rounds of improving u for v and v for u."""


class Factorization(NamedTuple):
    """A factored matrix A `[m, n]` = residual + left middle^-1 right, in csr arrays.

    Attributes:
        residual: `[m, n]` Ahat.
        left: `[m, k]` U.
        middle: `[k, k]` M, triangular after a permutation.
        right: `[k, n]` V'.
    """

    residual: Csr
    left: Csr
    middle: Csr
    right: Csr

    @property
    def num_nonzeros(self) -> int:
        """The number of nonzeros in all four factors."""
        return sum(factor.nnz for factor in self)

    @property
    def rank(self) -> int:
        """k, the number of variables that the factorization adds to a program."""
        return self.middle.shape[0]


def trivial_factors(matrix: Csr) -> Factorization:
    """The factorization A = Ahat, in which nothing is factored out."""
    m, n = matrix.shape
    return Factorization(matrix, csr((m, 0)), csr((0, 0)), csr((0, n)))


# --- factors by differences -----------------------------------------------------------


@jit
def _most_common(ratios, count):
    """(value, frequency) of the most common of the first `count` ratios.

    The ratios are sorted, so equal ones form a run. Each pass extends the present run
    by one ratio or, if that is different, notes the run's length and begins the next.
    """
    best, most = ratios[0], 0
    begin = 0
    for end in range(1, count + 1):
        if end == count or ratios[end] - ratios[begin] > _EQUAL * abs(ratios[begin]):
            if end - begin > most:
                best, most = ratios[begin], end - begin
            begin = end
    return best, most


@jit
def _similar_rows(starts, columns, values, column_starts, column_rows, limit):
    """Finds pairs of rows i > k whose difference A_i - c A_k has few nonzeros.

    Each pass of the outer loop takes one row i. It first counts how many columns the
    row shares with every earlier row. It then compares it entry by entry with the rows
    that share the most, and the most common ratio of the entries becomes the factor c.

    Args:
        starts, columns, values: A in csr form with sorted columns.
        column_starts, column_rows: the rows that appear in each column, sorted.
        limit: at most this many rows k are compared with a row i.

    Returns:
        Arrays of i, k, c, and the number of nonzeros of each difference.
    """
    num_rows = len(starts) - 1
    shared = np.zeros(num_rows, np.int64)
    touched = np.empty(num_rows, np.int64)
    ratios = np.empty(len(column_starts))
    out_i = [0 for _ in range(0)]
    out_k = [0 for _ in range(0)]
    out_c = [0.0 for _ in range(0)]
    out_cost = [0 for _ in range(0)]
    for i in range(num_rows):
        size = starts[i + 1] - starts[i]
        met = 0
        for entry in range(starts[i], starts[i + 1]):
            column = columns[entry]
            for place in range(column_starts[column], column_starts[column + 1]):
                k = column_rows[place]
                if k >= i:
                    break
                if shared[k] == 0:
                    touched[met] = k
                    met += 1
                shared[k] += 1
        least = 2
        if met > limit:
            counts = np.sort(shared[touched[:met]])
            least = max(least, counts[met - limit])
        for t in range(met):
            k = touched[t]
            common = shared[k]
            shared[k] = 0
            other = starts[k + 1] - starts[k]
            # Skip a pair that would save nothing even if it matched perfectly.
            if common < least or size + other - 2 * common >= max(size, other):
                continue
            a, b, count = starts[i], starts[k], 0
            while a < starts[i + 1] and b < starts[k + 1]:
                if columns[a] < columns[b]:
                    a += 1
                elif columns[a] > columns[b]:
                    b += 1
                else:
                    ratios[count] = values[a] / values[b]
                    count += 1
                    a += 1
                    b += 1
            ordered = np.sort(ratios[:count])
            c, matches = _most_common(ordered, count)
            cost = size + other - common - matches
            if cost < max(size, other):
                out_i.append(i)
                out_k.append(k)
                out_c.append(c)
                out_cost.append(cost)
    return np.array(out_i), np.array(out_k), np.array(out_c), np.array(out_cost)


def _drop_rounding(difference: Csr, sizes: Csr) -> Csr:
    """Drops the entries of `difference` that are only rounding errors.

    `sizes` holds, for each entry, the magnitude of the terms that were subtracted.
    """
    return _without_zeros(difference * (abs(difference) > 10 * _EQUAL * sizes))


def _without_zeros(matrix: Csr) -> Csr:
    matrix = csr(matrix)
    matrix.eliminate_zeros()
    return matrix


def _difference_rows(matrix: Csr) -> Factorization:
    """Factors the matrix by one pass of differences over its rows."""
    matrix = csr(matrix)
    matrix.sort_indices()
    by_column = scipy.sparse.csc_array(matrix)
    by_column.sort_indices()
    num_rows = matrix.shape[0]
    first, second, factor, cost = _similar_rows(
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int64),
        matrix.data,
        by_column.indptr.astype(np.int64),
        by_column.indices.astype(np.int64),
        _MAX_CANDIDATES,
    )
    # Each row refers to its parent in a minimum spanning tree rooted at the zero row,
    # so a row that resembles no other refers to zero and stays as it is.
    sizes = np.diff(matrix.indptr)
    root = num_rows
    ends = np.concatenate((first, np.full(num_rows, root)))
    others = np.concatenate((second, np.arange(num_rows)))
    costs = np.concatenate((cost + _OVERHEAD, sizes + 0.5))
    shape = (num_rows + 1, num_rows + 1)
    tree = csgraph.minimum_spanning_tree(csr((costs, (ends, others)), shape=shape))
    _, parent = csgraph.breadth_first_order(tree, root, directed=False)
    parent = parent[:num_rows]
    refers = parent != root
    if not refers.any():
        return trivial_factors(matrix)
    ratio = csr(
        (
            np.concatenate((factor, 1 / factor)),
            (np.concatenate((first, second)), np.concatenate((second, first))),
        ),
        shape=(num_rows, num_rows),
    )
    rows = np.flatnonzero(refers)
    references = parent[rows]
    ratios = np.asarray(ratio[rows, references])
    combine = csr((ratios, (rows, references)), shape=(num_rows, num_rows))
    taken = combine @ matrix
    difference = _drop_rounding(
        matrix - taken, abs(matrix) + abs(combine) @ abs(matrix)
    )
    # The rows that others refer to, and of the factors only these, are inner ones.
    is_inner = np.zeros(num_rows, bool)
    is_inner[references] = True
    rest = scipy.sparse.diags_array((~is_inner).astype(float))
    inner = csr(scipy.sparse.eye_array(num_rows))[:, is_inner]
    return Factorization(
        _without_zeros(rest @ difference),
        _without_zeros(inner + rest @ combine @ inner),
        _without_zeros(inner.T @ (inner - combine @ inner)),
        csr(difference[is_inner]),
    )


def _difference_columns(factors: Factorization) -> Factorization:
    """Adds a pass of differences over the columns of Ahat and V' together."""
    stacked = scipy.sparse.vstack((factors.residual, factors.right), format="csr")
    inner = _difference_rows(csr(stacked.T))
    if not inner.rank:
        return factors
    m = factors.residual.shape[0]
    residual = csr(inner.residual.T)
    spread = csr(inner.right.T)
    block = scipy.sparse.block_array
    return Factorization(
        residual[:m],
        csr(scipy.sparse.hstack((factors.left, spread[:m]))),
        csr(
            block([[factors.middle, -spread[m:]], [None, inner.middle.T]])
            if factors.rank
            else inner.middle.T
        ),
        csr(scipy.sparse.vstack((residual[m:], inner.left.T))),
    )


def _transpose(factors: Factorization) -> Factorization:
    residual, left, middle, right = (csr(factor.T) for factor in factors)
    return Factorization(residual, right, middle, left)


def difference_factors(matrix: Csr) -> Factorization:
    """Factors by differences of similar rows, of similar columns, or of both.

    Returns:
        The candidate with the fewest nonzeros; the trivial factorization is among them.
    """
    matrix = csr(matrix)
    rows = _difference_rows(matrix)
    columns = _difference_rows(csr(matrix.T))
    choices = (
        trivial_factors(matrix),
        rows,
        _transpose(columns),
        _difference_columns(rows),
        _transpose(_difference_columns(columns)),
    )
    return min(choices, key=lambda factors: factors.num_nonzeros)


# --- factors of rank one --------------------------------------------------------------


def _best_multipliers(
    matrix: scipy.sparse.csc_array, columns: np.ndarray, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray, int]:
    """Finds the u that makes A - u v' sparsest for a given v.

    Row i takes the most common ratio A_ij / v_j, provided that this removes more
    nonzeros than it creates, the entry of u itself included.

    Returns:
        The rows and entries of u, and the number of nonzeros saved, net of those of u.
    """
    part = scipy.sparse.coo_array(matrix[:, columns])
    if not part.nnz:
        return np.empty(0, np.int64), np.empty(0), 0
    rows, place = part.coords
    ratios = part.data / values[place]
    order = np.lexsort((ratios, rows))
    rows, ratios = rows[order].astype(np.int64), ratios[order]
    is_new = np.ones(len(rows), bool)
    is_new[1:] = (rows[1:] != rows[:-1]) | (
        np.diff(ratios) > _EQUAL * np.abs(ratios[:-1])
    )
    begins = np.flatnonzero(is_new)
    counts = np.diff(np.append(begins, len(rows)))
    filled = np.bincount(rows)
    run_rows = rows[begins]
    order = np.lexsort((counts, run_rows))  # each row's best ratio comes last
    last = np.append(run_rows[order][1:] != run_rows[order][:-1], True)
    best = order[last]
    best_rows = run_rows[best]
    gains = counts[best] - (len(columns) - filled[best_rows]) - 1
    good = gains > 0
    return best_rows[good], ratios[begins[best[good]]], int(gains[good].sum())


def rank_one_factors(matrix: Csr) -> Factorization:
    """Subtracts products u v' greedily for as long as that removes nonzeros.

    Each pass of the loop looks for one product. It starts from v, a row of the
    remainder drawn with probability proportional to its number of nonzeros. Then the
    best u for v and the best v for u are found in turn until neither improves (Zhang,
    Sandholm 2020). The product is subtracted if that saves nonzeros, its own included.
    """
    rng = np.random.default_rng(0)
    residual = csr(matrix)
    m, n = residual.shape
    lefts, rights = [], []
    failures = 0
    by_column = scipy.sparse.csc_array(residual)
    while failures < _PATIENCE and len(lefts) < _MOST_PRODUCTS and residual.nnz:
        sizes = np.diff(residual.indptr).astype(float)
        row = rng.choice(m, p=sizes / sizes.sum())
        entries = slice(residual.indptr[row], residual.indptr[row + 1])
        columns, v = residual.indices[entries].astype(np.int64), residual.data[entries]
        pairs, best = [(columns, v), (columns[:0], v[:0])], -1
        sides = by_column, scipy.sparse.csc_array(residual.T)
        for turn in range(2 * _ALTERNATIONS):
            known = pairs[turn % 2]
            places, values, gain = _best_multipliers(sides[turn % 2], *known)
            gain -= len(known[0]) + 1
            if gain <= best or not len(places):
                break
            pairs[1 - turn % 2], best = (places, values), gain
        (columns, v), (rows, u) = pairs
        if best <= 0:
            failures += 1
            continue
        left = csr((u, (rows, np.zeros(len(rows), np.int64))), shape=(m, 1))
        right = csr((v, (np.zeros(len(columns), np.int64), columns)), shape=(1, n))
        product = left @ right
        taken = _drop_rounding(residual - product, abs(residual) + abs(product))
        if taken.nnz + left.nnz + right.nnz + 1 >= residual.nnz:
            failures += 1
            continue
        failures = 0
        residual = taken
        by_column = scipy.sparse.csc_array(residual)
        lefts.append(left)
        rights.append(right)
    if not lefts:
        return trivial_factors(residual)
    return Factorization(
        residual,
        csr(scipy.sparse.hstack(lefts)),
        csr(scipy.sparse.eye_array(len(lefts))),
        csr(scipy.sparse.vstack(rights)),
    )
