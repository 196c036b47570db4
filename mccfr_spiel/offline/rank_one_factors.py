"""Factors of a payoff matrix by greedily subtracting rank-one products u v'.

In the factorization A = Ahat + U M^-1 V', the vectors u are the columns of U, the
vectors v those of V, and M is the identity.
"""

import numpy as np
import scipy.sparse

from mccfr_spiel.offline.factorization import (
    EQUAL,
    Csr,
    Factorization,
    csr,
    drop_rounding,
    trivial_factors,
)

_PATIENCE = 30
"""The method stops after this number of consecutive products that save no nonzeros."""

_MOST_PRODUCTS = 5_000
"""The largest number of products."""


_ALTERNATIONS = 20
"""The largest number of times that u is computed for a fixed v, and then v for this
u."""


def _best_multipliers(
    matrix: scipy.sparse.csc_array, columns: np.ndarray, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray, int]:
    """Finds the vector u for which A - u v' has the fewest nonzeros, for a given v.

    The element of u in row i is the most common ratio A_ij / v_j. It is left out (0) if
    it would not save nonzeros, where the element itself counts as a nonzero.

    Args:
        matrix: A.
        columns, values: the indices and values of the nonzeros of v.

    Returns:
        The indices and the values of the nonzeros of u, and the number of saved
        nonzeros, minus the number of nonzeros of u.
    """
    part = scipy.sparse.coo_array(matrix[:, columns])
    if not part.nnz:
        return np.empty(0, np.int64), np.empty(0), 0
    rows, column_indices = part.coords
    ratios = part.data / values[column_indices]
    order = np.lexsort((ratios, rows))
    rows, ratios = rows[order].astype(np.int64), ratios[order]
    is_new = np.ones(len(rows), bool)
    is_new[1:] = (rows[1:] != rows[:-1]) | (
        np.diff(ratios) > EQUAL * np.abs(ratios[:-1])
    )
    begins = np.flatnonzero(is_new)
    counts = np.diff(np.append(begins, len(rows)))
    filled = np.bincount(rows)
    run_rows = rows[begins]
    order = np.lexsort((counts, run_rows))  # the best ratio of a row comes last
    last = np.append(run_rows[order][1:] != run_rows[order][:-1], True)
    best = order[last]
    best_rows = run_rows[best]
    gains = counts[best] - (len(columns) - filled[best_rows]) - 1
    good = gains > 0
    return best_rows[good], ratios[begins[best[good]]], int(gains[good].sum())


def rank_one_factors(matrix: Csr) -> Factorization:
    """Factors a matrix by subtracting products u v' for as long as this saves nonzeros
    (Zhang, Sandholm 2020)."""
    rng = np.random.default_rng(0)
    residual = csr(matrix)
    m, n = residual.shape
    lefts, rights = [], []
    failures = 0
    by_column = scipy.sparse.csc_array(residual)
    # Each iteration of this loop searches for a product u v'. The initial v is a row of
    # the residual, drawn with a probability proportional to the row's number of
    # nonzeros. Then the best u for v and the best v for u are computed in turn, until
    # neither saves more nonzeros. The product is subtracted if it saves more nonzeros
    # than u and v have.
    while failures < _PATIENCE and len(lefts) < _MOST_PRODUCTS and residual.nnz:
        sizes = np.diff(residual.indptr).astype(float)
        row = rng.choice(m, p=sizes / sizes.sum())
        entries = slice(residual.indptr[row], residual.indptr[row + 1])
        columns, v = residual.indices[entries].astype(np.int64), residual.data[entries]
        pairs, best = [(columns, v), (columns[:0], v[:0])], -1
        sides = by_column, scipy.sparse.csc_array(residual.T)
        for turn in range(2 * _ALTERNATIONS):
            fixed = pairs[turn % 2]
            indices, values, gain = _best_multipliers(sides[turn % 2], *fixed)
            gain -= len(fixed[0]) + 1
            if gain <= best or not len(indices):
                break
            pairs[1 - turn % 2], best = (indices, values), gain
        (columns, v), (rows, u) = pairs
        if best <= 0:
            failures += 1
            continue
        left = csr((u, (rows, np.zeros(len(rows), np.int64))), shape=(m, 1))
        right = csr((v, (np.zeros(len(columns), np.int64), columns)), shape=(1, n))
        product = left @ right
        taken = drop_rounding(residual - product, abs(residual) + abs(product))
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
