"""Factors of a payoff matrix by differences of similar rows or columns.

The factors are those of `Factorization`: A = Ahat + U M^-1 V'.

Each row of A is written as a multiple of a similar row plus a difference with few
nonzeros. A minimum spanning tree decides which row refers to which other row. The
matrix C holds the multiples: C_ik is c if row i is c times row k plus a difference.
Then M = I - C. The columns of the result can be treated in the same way. For the
win-lose matrix of poker, the result is the bidiagonal differences of Farina and
Sandholm 2022.
"""

import numpy as np
import scipy.sparse
from scipy.sparse import csgraph

from mccfr_spiel.kernels.jit import jit
from mccfr_spiel.offline.factorization import (
    EQUAL,
    Csr,
    Factorization,
    csr,
    drop_rounding,
    trivial_factors,
    without_zeros,
)

_OVERHEAD = 2
"""Number of nonzeros in U and M for a row that refers to another row."""

_MAX_CANDIDATES = 200
"""Largest number of rows with which each row is compared."""


@jit
def _most_common(ratios, count):
    """Returns the most common of the first `count` ratios, and its frequency.

    The ratios are sorted. Ratios whose relative difference is at most EQUAL count as
    equal.
    """
    # Equal ratios form a run, `begin .. end - 1`. Each iteration of this loop extends
    # the current run by one ratio. If the ratio differs, it compares the length of the
    # run with the longest run so far, and begins the next run.
    best, frequency = ratios[0], 0
    begin = 0
    for end in range(1, count + 1):
        if end == count or ratios[end] - ratios[begin] > EQUAL * abs(ratios[begin]):
            if end - begin > frequency:
                best, frequency = ratios[begin], end - begin
            begin = end
    return best, frequency


@jit
def _similar_rows(starts, columns, values, column_starts, column_rows, limit):
    """Finds pairs of rows i > k of a matrix A for which A_i - c A_k has few nonzeros.

    Args:
        starts, columns, values: A in csr form with sorted columns.
        column_starts, column_rows: the numbers of the rows with a nonzero in each
            column, in csc form, sorted.
        limit: the largest number of rows k to compare with a row i.

    Returns:
        Four arrays with an element per pair: i, k, the number c, and the number of
        nonzeros of A_i - c A_k.
    """
    num_rows = len(starts) - 1
    shared = np.zeros(num_rows, np.int64)
    touched = np.empty(num_rows, np.int64)
    ratios = np.empty(len(column_starts))
    out_i = [0 for _ in range(0)]
    out_k = [0 for _ in range(0)]
    out_c = [0.0 for _ in range(0)]
    out_cost = [0 for _ in range(0)]
    # Each iteration of this loop handles a row i. First it counts, for each earlier
    # row k, the columns in which both rows have nonzeros (`shared`). Then it compares
    # row i with the rows that share the most columns. The factor c is the most common
    # ratio of two entries in the same column. The pair is kept if its difference has
    # fewer nonzeros than the longer of the two rows.
    for i in range(num_rows):
        size = starts[i + 1] - starts[i]
        met = 0
        for entry in range(starts[i], starts[i + 1]):
            column = columns[entry]
            for position in range(column_starts[column], column_starts[column + 1]):
                k = column_rows[position]
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
            # Skips the pair if it would save nothing even if all ratios were equal.
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


def _difference_rows(matrix: Csr) -> Factorization:
    """Factors a matrix by differences of similar rows.

    Returns:
        The factorization; the trivial factorization if no rows are similar.
    """
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
    # Rows are the nodes of a graph with one more node, the root, for a row of zeros.
    # The costs of edges are numbers of nonzeros. Each row refers to its parent in a
    # minimum spanning tree. A row that refers to the root stays unchanged.
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
    difference = drop_rounding(matrix - taken, abs(matrix) + abs(combine) @ abs(matrix))
    # Inner rows are the rows to which other rows refer. Only inner rows become rows of
    # V'.
    is_inner = np.zeros(num_rows, bool)
    is_inner[references] = True
    rest = scipy.sparse.diags_array((~is_inner).astype(float))
    inner = csr(scipy.sparse.eye_array(num_rows))[:, is_inner]
    return Factorization(
        without_zeros(rest @ difference),
        without_zeros(inner + rest @ combine @ inner),
        without_zeros(inner.T @ (inner - combine @ inner)),
        csr(difference[is_inner]),
    )


def _difference_columns(factors: Factorization) -> Factorization:
    """Factors the columns of Ahat and V', stacked on each other, by differences.

    Returns:
        A factorization of the original matrix with more factors; the argument if no
        columns are similar.
    """
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
    """Factors a matrix by differences of similar rows, of similar columns, or of both.

    Returns:
        The factorization with the fewest nonzeros, which may be the trivial one.
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
