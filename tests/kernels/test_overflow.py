"""No policy of NaN leaves a solver: what would overflow is refused in words."""

import math

import numpy as np
import pytest

import mccfr_spiel as ms
from mccfr_spiel.storage import checkpoint
from tests.small_games import leaf, move, small_game

SAMPLINGS = [ms.FULL, ms.CHANCE, ms.EXTERNAL, ms.OUTCOME]


def plain(solver):
    """Whether a solver's policies are distributions."""
    for vector in (solver.average_vector(), solver.current_vector()):
        first = solver.tree.infosets["first_sequence"]
        sums = np.add.reduceat(vector, first)
        if not (np.abs(sums - 1) < 1e-9).all() or (vector < 0).any():
            return False
    return True


@pytest.mark.parametrize("sampling", [ms.FULL, ms.OUTCOME])
def test_a_run_ends_in_words_before_its_weights_overflow(sampling):
    algorithm = ms.Algorithm(sampling, ms.regret_matching(), ms.polynomial(100))
    solver = ms.Solver("kuhn_poker", algorithm)
    solver.iterate(743)
    before = solver.average_vector()
    for more in (1, 10_000):
        with pytest.raises(ValueError, match=r"more than 743 iterations.*t \*\* 100"):
            solver.iterate(more)
    with pytest.raises(ValueError, match="more than 743 iterations"):
        solver.iterate_until(10**9)
    assert solver.num_iterations == 743
    assert (solver.average_vector() == before).all()  # and it can be asked and saved
    assert plain(solver)
    # The uniform policy has 11 / 12; the worst of these runs has 0.643.
    assert ms.nash_conv("kuhn_poker", solver.average_policy()) < 0.7


@pytest.mark.parametrize(
    "step",
    [1e-100, 1e100],
)
@pytest.mark.parametrize("rule", [ms.ftrl, ms.omd])
@pytest.mark.parametrize(
    ("sampling", "scale"), [*zip(SAMPLINGS, (1e-100, 3e99, 1.0, 3e99), strict=True)]
)
def test_the_extreme_step_sizes_and_payoffs_give_policies(step, rule, sampling, scale):
    solver = ms.Solver(scaled_pennies(scale), ms.Algorithm(sampling, rule(step)))
    solver.iterate(100)
    assert plain(solver)


def scaled_pennies(scale):
    replies = [
        move(1, "1", leaf(scale, -scale), leaf(-2 * scale, 2 * scale)),
        move(1, "1", leaf(-scale, scale), leaf(3 * scale, -3 * scale)),
    ]
    return small_game(
        move(0, "0", *replies), name="scaled_pennies", max_utility=3 * scale
    )


def test_sums_that_left_the_range_of_doubles_are_refused_not_handed_out():
    solver = ms.Solver("kuhn_poker", ms.CFR)
    solver.iterate(3)
    solver.state.tables.memory[5] = math.inf
    for ask in (solver.average_policy, solver.current_policy):
        with pytest.raises(ValueError, match="no longer fit"):
            ask()


@pytest.mark.parametrize(
    ("table", "value"),
    [("policy", math.nan), ("average", math.nan)],
)
def test_a_checkpoint_with_numbers_that_are_not_finite_is_refused(
    table, value, tmp_path
):
    solver = ms.Solver("kuhn_poker", seed=1)
    solver.iterate(5)
    header, arrays = solver.contents()
    odd = arrays[table].copy()
    odd[-1] = value
    contents = checkpoint.Contents(header, arrays | {table: odd})
    checkpoint.save(tmp_path / "solver", contents)
    with pytest.raises(checkpoint.DamagedError, match="not finite"):
        ms.Solver.load(tmp_path / "solver")
