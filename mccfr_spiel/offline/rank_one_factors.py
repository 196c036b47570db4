"""Rank one."""

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
"""After this many products in a row that save nothing, the rank-one method ends."""

_MOST_PRODUCTS = 5_000

_ALTERNATIONS = 20
"""The most rounds of improving u for v and v for u."""


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
        np.diff(ratios) > EQUAL * np.abs(ratios[:-1])
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
