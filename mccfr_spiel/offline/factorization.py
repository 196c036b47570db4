"""Factorization."""

from typing import Any, NamedTuple

import scipy.sparse

Csr = Any
"""A scipy.sparse.csr_array; type checkers believe that its shape may be None."""


def csr(data: Any, *, shape: tuple[int, int] | None = None) -> Csr:
    """Calls `scipy.sparse.csr_array`, hiding the type that checkers get wrong."""
    return scipy.sparse.csr_array(data, shape=shape)


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
EQUAL = 1e-11
"""The relative difference up to which two ratios count as equal."""


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


def drop_rounding(difference: Csr, sizes: Csr) -> Csr:
    """Drops the entries of `difference` that are only rounding errors.

    `sizes` holds, for each entry, the magnitude of the terms that were subtracted.
    """
    return without_zeros(difference * (abs(difference) > 10 * EQUAL * sizes))


def without_zeros(matrix: Csr) -> Csr:
    """A copy of the matrix without stored zeros."""
    matrix = csr(matrix)
    matrix.eliminate_zeros()
    return matrix
