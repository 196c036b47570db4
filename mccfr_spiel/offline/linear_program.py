"""Nash equilibria of two-player zero-sum games by linear programming.

`solve_lp` solves the program that programs.py describes with HiGHS. `write_mps` writes
the program to a file for other solvers.
"""

import math
import pathlib
import warnings
from typing import NamedTuple

import numpy as np
import pyspiel

from mccfr_spiel.arenas.evaluating import full_pass
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.common import refusals
from mccfr_spiel.common.budget import MaxMemory
from mccfr_spiel.common.display import line, never_raises, short, title
from mccfr_spiel.kernels.compile_time import working_clock
from mccfr_spiel.offline.difference_factors import difference_factors
from mccfr_spiel.offline.factorization import (
    Factorization,
    trivial_factors,
)
from mccfr_spiel.offline.programs import LinearProgram, program_of, write_program
from mccfr_spiel.offline.rank_one_factors import rank_one_factors
from mccfr_spiel.offline.sequence_forms import (
    SequenceForm,
    joint_vector,
    plan_to_policy,
    policy_to_plan,
    saddle_point_gap,
    sequence_form,
)
from mccfr_spiel.offline.trembling_program import trembling_program_of
from mccfr_spiel.policies.policy import SequencePolicy

METHODS = {"simplex": "highs-ds", "interior_point": "highs-ipm"}
"""Value of the argument `method` -> name of the method in scipy."""


SPARSIFICATIONS = {"differences": difference_factors, "rank_one": rank_one_factors}
"""Value of the argument `factorization` -> function that factors a matrix."""


_STATUS = {
    1: "it reached the limit of time or iterations",
    2: "it called the program infeasible, which only rounding can cause for a game",
    3: "it called the program unbounded, which only rounding can cause for a game",
    4: "it ran into numerical difficulties",
}
"""Status code of scipy -> explanation."""

_TOLERANCE = 1e-10
"""Feasibility and optimality tolerance of HiGHS."""

_ORDINARY = 2.0**-10, 2.0**40
"""If the largest payoff is between these numbers, payoffs are not scaled for HiGHS."""

_BYTES_OF_NONZERO = 600
"""Bytes that scipy and HiGHS need per nonzero of a program. With the simplex method and
the interior-point method, 410 to 570 bytes were measured."""


class LPSolution(NamedTuple):
    """An equilibrium found by linear programming, with the cost of finding it.

    Attributes:
        policy: the policy of both players.
        value: player 0's expected return. Player 1's is the constant sum of the game's
            payoffs minus this number.
        duals: multipliers of the constraints F1 x = f1 and F2 y = f2 (see programs.py):
            `[n0 + 1]` of player 0, and `[n1 + 1]` of player 1, for n0 and n1 infosets.
            Element 0 is the value of the game to the player. Element 1 + i is the
            contribution of the player's i-th infoset, weighted by the probability that
            chance and the opponent reach the infoset.
        nash_conv: NashConv of `policy`, computed from the payoffs, not taken from
            HiGHS.
        program: the linear program.
        payoff_nonzeros: number of nonzeros in the payoff matrix A.
        factor_nonzeros: number of nonzeros in all factors of A. Without sparsification
            it equals `payoff_nonzeros`.
        iterations: number of simplex or interior-point iterations.
        build_seconds: time to make the program, including the factorization.
        solve_seconds: time of HiGHS.
    """

    policy: SequencePolicy
    value: float
    duals: tuple[np.ndarray, np.ndarray]
    nash_conv: float
    program: LinearProgram
    payoff_nonzeros: int
    factor_nonzeros: int
    iterations: int
    build_seconds: float
    solve_seconds: float

    def __str__(self) -> str:
        """The value and NashConv."""
        return f"value {self.value:.12g} for player 0, NashConv {short(self.nash_conv)}"

    @never_raises
    def __repr__(self) -> str:
        return line(self, title(self.policy.game), str(self))


class LinearProgramError(ValueError):
    """HiGHS did not solve the program.

    Attributes:
        status: scipy's status: 1 limit reached, 2 infeasible, 3 unbounded, 4 numerical
            difficulties.
        form: the sequence form.
        program: the program.
    """

    def __init__(
        self, message: str, status: int, form: SequenceForm, program: LinearProgram
    ) -> None:
        super().__init__(message)
        self.status = status
        self.form = form
        self.program = program


def _unit_of(form: SequenceForm) -> float:
    """Returns the power of two by which payoffs are multiplied for HiGHS.

    It is 1 unless payoffs are unusually small or large. Scaling is necessary because
    HiGHS has absolute tolerances, treats entries below 1e-9 as 0, and refuses entries
    of 1e15.
    """
    largest = float(np.abs(form.payoffs.data).max(initial=0.0))
    is_odd = largest > 0 and not _ORDINARY[0] <= largest <= _ORDINARY[1]
    return 0.5 ** round(math.log2(largest)) if is_odd else 1.0


def _run(
    form: SequenceForm,
    program: LinearProgram,
    unit: float,
    method: str,
    time_limit: float | None,
):
    """Solves a program with scipy, after multiplying payoffs by `unit`.

    Args:
        form: the sequence form, for messages.
        program: the program.
        unit: the number from `_unit_of`.
        method, time_limit: see `solve_lp`.

    Returns:
        The result of `scipy.optimize.linprog`. Values of infosets in it are multiplied
        by `unit`, too.

    Raises:
        LinearProgramError: HiGHS did not reach the optimum.
    """
    import scipy.optimize  # imported here because the import is slow

    options = {
        "primal_feasibility_tolerance": _TOLERANCE,
        "dual_feasibility_tolerance": _TOLERANCE,
    }
    if method == "interior_point":
        options["ipm_optimality_tolerance"] = _TOLERANCE
    if time_limit is not None:
        options["time_limit"] = float(time_limit)
    count = program.num_variables
    bounds = np.tile([-np.inf, np.inf], (count, 1))
    bounds[: program.num_plan, 0] = 0
    scales = np.full(count, unit)
    scales[program.num_plan : program.num_plan + program.num_values] = 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", scipy.optimize.OptimizeWarning)
        result = scipy.optimize.linprog(
            program.cost,
            A_ub=-program.inequalities @ scipy.sparse.diags_array(scales),
            b_ub=np.zeros(program.inequalities.shape[0]),
            A_eq=program.equalities,
            b_eq=program.right,
            bounds=bounds,
            method=METHODS[method],
            options=options,
        )
    if result.status != 0:
        reason = _STATUS.get(result.status, str(result.message))
        other = next(name for name in METHODS if name != method)
        raise LinearProgramError(
            f"HiGHS ({method}) did not solve the program of {form.tree.source} with "
            f"{program.num_constraints} constraints, {count} variables and "
            f"{program.num_nonzeros} nonzeros: {reason}. HiGHS says: {result.message} "
            f'Try method="{other}" or a larger time_limit.',
            int(result.status),
            form,
            program,
        )
    return result


def check_options(
    method: str = "simplex",
    time_limit: float | None = None,
    factorization: str = "differences",
) -> None:
    """Raises ValueError for an option that `solve_lp` does not accept."""
    refusals.choice(method, "method", METHODS)
    refusals.choice(factorization, "factorization", SPARSIFICATIONS)
    if time_limit is not None:
        refusals.number(time_limit, "time_limit", 0, float("inf"), open_low=True)


def solve_lp(
    game: pyspiel.Game | str | GameTree | SequenceForm,
    *,
    method: str = "simplex",
    sparsify: bool = False,
    factorization: str = "differences",
    time_limit: float | None = None,
    max_memory: MaxMemory = None,
    tremble: float = 0.0,
) -> LPSolution:
    """Computes a Nash equilibrium of a two-player zero-sum game, exact up to rounding.

    A single linear program determines the plans of both players: player 0's plan are
    its variables, and player 1's plan the multipliers of its constraints. The accuracy
    of the solution is its `nash_conv`, usually at most 1e-12 times the range of the
    payoffs.

    Args:
        game: a game, its load string, its tree or its sequence form.
        method: "simplex" (HiGHS's dual simplex) or "interior_point" (with crossover).
        sparsify: whether to solve a program with a factored payoff matrix, which has
            the same solution and may have far fewer nonzeros.
        factorization: how to factor the payoff matrix: "differences" of similar rows or
            columns, or "rank_one" products (Zhang, Sandholm 2020).
        time_limit: time limit of the solve in seconds.
        max_memory: memory limit in bytes or as text such as "4GiB", see
            `sequence_form`. For HiGHS, 600 bytes per nonzero of the program are
            counted, more than the simplex method needed in any measured game. The
            memory for the matrix factorizations of the interior-point method cannot be
            predicted and is not counted.
        tremble: if positive, solve the game in which every action has at least this
            probability, see `Minimizer.trembling`. The `nash_conv` of the solution is
            measured within the trembles.

    Raises:
        NotZeroSumError, TooLargeError, TreeFullError: see `sequence_form`.
        MemoryBudgetError: the program exceeds `max_memory`.
        LinearProgramError: HiGHS did not find the optimum. The error contains the
            program.
        ValueError: an argument is invalid.
    """
    check_options(method, time_limit, factorization)
    tremble = refusals.tremble(tremble)
    if tremble and sparsify:
        raise ValueError(
            f"sparsify=True does not support tremble={tremble:g}. Drop one of the two."
        )
    form = sequence_form(game, max_memory=max_memory)
    import scipy.optimize  # noqa: F401  before the clock starts: the import is slow

    begin = working_clock()
    factors = _factors(form, sparsify, factorization)
    unit = _unit_of(form)
    if tremble:
        scaled = form._replace(payoffs=form.payoffs * unit)
        program = trembling_program_of(scaled, tremble)
    else:
        program = program_of(form, factors)
    form.tree.budget.require(
        _BYTES_OF_NONZERO * program.num_nonzeros,
        f"Solving the linear program of {program.num_nonzeros:,} nonzeros takes about",
    )
    built = working_clock()
    result = _run(form, program, 1.0 if tremble else unit, method, time_limit)
    num_plan, num_values = program.num_plan, program.num_values
    num_own = form.treeplexes[0].num_infosets + 1
    x = _clean(form, 0, result.x[:num_plan])
    other_plan = -result.ineqlin.marginals
    if tremble:
        other_plan = result.eqlin.marginals[num_own:]
    y = _clean(form, 1, other_plan)
    own_values = -result.eqlin.marginals[:num_own] / unit
    other_values = -result.x[num_plan : num_plan + num_values] / unit
    solved = working_clock()
    other_values[0] += form.constant
    vector = joint_vector(form, (x, y))
    gap = saddle_point_gap(form, x, y)
    if tremble:
        gap = full_pass(form.tree).gains_within(vector, tremble).sum()
    return LPSolution(
        policy=SequencePolicy(form.tree, vector),
        value=float(x @ (form.payoffs @ y)),
        duals=(own_values, other_values),
        nash_conv=float(gap),
        program=program,
        payoff_nonzeros=form.payoffs.nnz,
        factor_nonzeros=factors.num_nonzeros,
        iterations=int(result.nit),
        build_seconds=built - begin,
        solve_seconds=solved - built,
    )


def _factors(form: SequenceForm, sparsify: bool, factorization: str) -> Factorization:
    factor = SPARSIFICATIONS[factorization] if sparsify else trivial_factors
    return factor(form.payoffs)


def _clean(form: SequenceForm, player: int, plan: np.ndarray) -> np.ndarray:
    """Returns a plan `[m]` after removing violations of the constraints by rounding.

    The returned plan is nonnegative and normalized at every infoset.
    """
    plex = form.treeplexes[player]
    return policy_to_plan(plex, plan_to_policy(plex, plan))


def write_mps(
    game: pyspiel.Game | str | GameTree | SequenceForm,
    path: str | pathlib.Path,
    *,
    sparsify: bool = False,
    factorization: str = "differences",
    max_memory: MaxMemory = None,
) -> LinearProgram:
    """Writes the linear program of a game in free MPS format, for other solvers.

    The program is a minimization. Its optimum is minus the value of the game to player
    0. programs.py describes the program.

    | label | meaning |
    |---|---|
    | columns x0, x1, ... | player 0's plan, in the order of the Treeplex |
    | columns v0, v1, ... | player 1's values at infosets |
    | columns w0, w1, ... | additional variables of the factorization |
    | rows y0, y1, ... | inequalities, whose multipliers are player 1's plan |
    | rows e0, e1, ... | equalities |

    The arguments except `path` are those of `solve_lp`.

    Returns:
        The program.

    Raises:
        NotZeroSumError, TooLargeError, ValueError: as `solve_lp`.
        OSError: the file cannot be written.
    """
    check_options(factorization=factorization)
    form = sequence_form(game, max_memory=max_memory)
    program = program_of(form, _factors(form, sparsify, factorization))
    write_program(program, path, form.tree.game.get_type().short_name)
    return program
