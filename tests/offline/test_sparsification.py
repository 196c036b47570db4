"""Factorizations give the matrix back and are as small as theory says they can be."""

import hypothesis
import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg
from hypothesis import strategies
from hypothesis.extra import numpy as arrays

from mccfr_spiel.offline.sequence_form import sequence_form
from mccfr_spiel.offline.sparsification import (
    difference_factors,
    rank_one_factors,
)

METHODS = [difference_factors, rank_one_factors]
GOOFSPIEL = "goofspiel(num_cards=4,imp_info=True,points_order=descending,players=2)"


def dense(factors):
    """The product, by dense linear algebra."""
    residual, left, middle, right = (factor.toarray() for factor in factors)
    if not factors.rank:
        return residual
    return residual + left @ np.linalg.solve(middle, right)


def triangle(size):
    return scipy.sparse.csr_array(np.triu(np.ones((size, size))))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("game", ["kuhn_poker", "leduc_poker", GOOFSPIEL, "matrix_rps"])
def test_factors_multiply_back_to_the_payoffs(game, method):
    matrix = sequence_form(game).payoffs
    factors = method(matrix)
    np.testing.assert_allclose(dense(factors), matrix.toarray(), atol=1e-14)
    assert factors.num_nonzeros <= matrix.nnz


@pytest.mark.parametrize("method", METHODS)
@hypothesis.settings(deadline=None, max_examples=60)
@hypothesis.given(
    matrix=arrays.arrays(
        np.float64,
        strategies.tuples(strategies.integers(1, 12), strategies.integers(1, 12)),
        elements=strategies.sampled_from([0.0, 0.0, 1.0, -1.0, 0.5, 3.0]),
    )
)
def test_factors_multiply_back_to_any_matrix(matrix, method):
    sparse = scipy.sparse.csr_array(matrix)
    factors = method(sparse)
    np.testing.assert_allclose(dense(factors), matrix, atol=1e-9)
    assert factors.num_nonzeros <= sparse.nnz


def test_rank_one_factors_of_a_triangle_are_n_log_n():
    factors = rank_one_factors(triangle(200))
    assert factors.num_nonzeros <= 2 * 200 * np.log2(200)


def test_leduc_and_liars_dice_shrink():
    # Measured; a factorization that found less would be a step back.
    assert difference_factors(sequence_form("leduc_poker").payoffs).num_nonzeros <= 4168
    assert rank_one_factors(sequence_form("leduc_poker").payoffs).num_nonzeros <= 4100
