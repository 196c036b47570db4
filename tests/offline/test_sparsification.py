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
    trivial_factors,
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


@pytest.mark.compiled
def test_differences_of_a_triangle_are_linear_in_its_size():
    # Zhang and Sandholm's Example 1, of full rank: n (n + 1) / 2 nonzeros.
    for size in (20, 200):
        factors = difference_factors(triangle(size))
        assert factors.num_nonzeros <= 4 * size


def test_rank_one_factors_of_a_triangle_are_n_log_n():
    factors = rank_one_factors(triangle(200))
    assert factors.num_nonzeros <= 2 * 200 * np.log2(200)


@pytest.mark.parametrize("method", METHODS)
def test_an_outer_product_becomes_its_vectors(method):
    rng = np.random.default_rng(0)
    u, v = rng.random(40), rng.random(50)
    factors = method(scipy.sparse.csr_array(np.outer(u, v)))
    assert factors.num_nonzeros <= 2 * (40 + 50)
    np.testing.assert_allclose(dense(factors), np.outer(u, v), rtol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_unstructured_matrix_is_left_alone(method):
    matrix = scipy.sparse.random_array((30, 30), density=0.2, rng=0).tocsr()
    factors = method(matrix)
    assert factors.rank == 0
    assert factors.num_nonzeros == matrix.nnz


@pytest.mark.parametrize("method", [*METHODS, trivial_factors])
def test_the_product_of_the_factors_is_that_of_the_matrix(method):
    matrix = sequence_form("leduc_poker").payoffs
    vector = np.random.default_rng(0).random(matrix.shape[1])
    residual, left, middle, right = method(matrix)
    product = residual @ vector
    if middle.shape[0]:
        product += left @ scipy.sparse.linalg.spsolve(middle.tocsc(), right @ vector)
    np.testing.assert_allclose(product, matrix @ vector, atol=1e-13)


@pytest.mark.parametrize("method", METHODS)
def test_matrices_without_entries_are_taken(method):
    factors = method(scipy.sparse.csr_array((3, 4)))
    assert factors.num_nonzeros == 0
    assert factors.residual.shape == (3, 4)


def test_leduc_and_liars_dice_shrink():
    # Measured; a factorization that found less would be a step back.
    assert difference_factors(sequence_form("leduc_poker").payoffs).num_nonzeros <= 4168
    assert rank_one_factors(sequence_form("leduc_poker").payoffs).num_nonzeros <= 4100
