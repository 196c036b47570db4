"""Factored payoff matrices A = Ahat + U M^-1 V', which make linear programs sparser.

In a linear program with the variables x, the product A' x can be replaced by `Ahat' x +
V w`, with additional variables w and the constraints `M' w = U' x`. The size of the
program is then determined by the number of nonzeros in all four factors together,
which can be much smaller than that in A (Zhang, Sandholm 2020).

| file | method |
|---|---|
| rank_one_factors.py | products u v' of rank one; M is the identity |
| difference_factors.py | differences of similar rows or columns |
"""

from typing import Any, NamedTuple

import scipy.sparse

Csr = Any
"""A scipy.sparse.csr_array. Its type is Any, because type checkers infer a wrong
shape."""


def csr(data: Any, *, shape: tuple[int, int] | None = None) -> Csr:
    """Calls `scipy.sparse.csr_array` with a result that type checkers accept."""
    return scipy.sparse.csr_array(data, shape=shape)


EQUAL = 1e-11
"""Largest relative difference of two ratios that count as equal."""


class Factorization(NamedTuple):
    """A factored matrix A = Ahat + U M^-1 V' of shape `[m, n]`.

    All factors are csr arrays.

    Attributes:
        residual: `[m, n]` the matrix Ahat.
        left: `[m, k]` the matrix U.
        middle: `[k, k]` the matrix M, which is triangular after a permutation of rows
            and columns.
        right: `[k, n]` the matrix V'.
    """

    residual: Csr
    left: Csr
    middle: Csr
    right: Csr

    @property
    def num_nonzeros(self) -> int:
        """Number of nonzeros in all four factors."""
        return sum(factor.nnz for factor in self)

    @property
    def rank(self) -> int:
        """k, the number of variables that the factorization adds to a program."""
        return self.middle.shape[0]


def trivial_factors(matrix: Csr) -> Factorization:
    """The factorization A = Ahat, in which the other factors are empty."""
    m, n = matrix.shape
    return Factorization(matrix, csr((m, 0)), csr((0, 0)), csr((0, n)))


def drop_rounding(difference: Csr, sizes: Csr) -> Csr:
    """Removes the entries of a difference of matrices that are only rounding errors.

    Args:
        difference: the difference.
        sizes: for each entry, the sum of the absolute values of the terms of which the
            entry is the difference.
    """
    return without_zeros(difference * (abs(difference) > 10 * EQUAL * sizes))


def without_zeros(matrix: Csr) -> Csr:
    """A copy of the matrix without stored zeros."""
    matrix = csr(matrix)
    matrix.eliminate_zeros()
    return matrix
