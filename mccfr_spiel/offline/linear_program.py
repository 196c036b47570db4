"""Nash equilibria of two-player zero-sum games by linear programming.

HiGHS solves the program of `programs`; `write_mps` writes it for other solvers.
"""

import math
import pathlib
import warnings
from typing import NamedTuple

import numpy as np
import pyspiel

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
from mccfr_spiel.policies.policy import SequencePolicy

METHODS = {"simplex": "highs-ds", "interior_point": "highs-ipm"}
"""Name of each method in scipy."""


SPARSIFICATIONS = {"differences": difference_factors, "rank_one": rank_one_factors}
"""Function of each factorization."""


_STATUS = {
    1: "it reached the limit of time or iterations",
    2: "it called the program infeasible, which only rounding can cause for a game",
    3: "it called the program unbounded, which only rounding can cause for a game",
    4: "it ran into numerical difficulties",
}

_TOLERANCE = 1e-10

_ORDINARY = 2.0**-10, 2.0**40
"""The range of the largest payoff in which HiGHS solves a program without scaling."""

_BYTES_OF_NONZERO = 600
"""Memory of scipy's and HiGHS's copies per nonzero; 410 to 570 were measured with both
methods."""


class LPSolution(NamedTuple):
    """An equilibrium found by linear programming, with the cost of finding it.

    Attributes:
        policy: one joint policy of both players.
        value: player 0's expected return; player 1's is the game's constant minus this.
        duals: multipliers of the constraints F1 x = f1 and F2 y = f2: player 0's `[n0 +
            1]` and player 1's `[n1 + 1]`. Entry 0 is the value of the game to the
            player. Entry 1 + i is the contribution of the player's i-th infoset,
            weighted by the probability that chance and the opponent play to it.
        nash_conv: NashConv of `policy`, computed from the payoffs, not taken from
            HiGHS.
        program: the linear program.
        payoff_nonzeros: number of nonzeros in A.
        factor_nonzeros: number of nonzeros in all factors of A; equal to
            `payoff_nonzeros` without sparsification.
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
        status: scipy's status (1 limit, 2 infeasible, 3 unbounded, 4 numerical).
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
    """A power of two by which payoffs are multiplied if they are unusually small or
    large.

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
    """Solves the program of payoffs times `unit` with scipy.

    The values in the result are multiplied by `unit`, too.

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
) -> LPSolution:
    """Computes a Nash equilibrium of a two-player zero-sum game, exact up to rounding.

    One program gives both plans: player 1's plan consists of multipliers. The accuracy
    is the solution's `nash_conv`, usually 1e-12 of the payoffs' range or less.

    Args:
        game: a game, its load string, its tree or its sequence form.
        method: "simplex" (HiGHS's dual simplex) or "interior_point" (with crossover).
        sparsify: whether to solve the sparsified program, which has the same solution.
        factorization: how to factor the payoff matrix: by "differences" of similar
            rows, or by "rank_one" products (Zhang, Sandholm 2020).
        time_limit: time limit of the solve in seconds.
        max_memory: memory limit in bytes or as text such as "4GiB", see
            `sequence_form`. HiGHS counts as 600 bytes per nonzero of the program, more
            than simplex needed in any measured game. The memory of an interior-point
            factorization cannot be predicted and is not counted.

    Raises:
        NotZeroSumError, TooLargeError, TreeFullError: see `sequence_form`.
        MemoryBudgetError: the program exceeds `max_memory`.
        LinearProgramError: HiGHS stopped before the optimum. The error holds the
            program.
        ValueError: an argument is invalid.
    """
    check_options(method, time_limit, factorization)
    form = sequence_form(game, max_memory=max_memory)
    import scipy.optimize  # noqa: F401  before the clock starts: the import is slow

    begin = working_clock()
    factors = _factors(form, sparsify, factorization)
    program = program_of(form, factors)
    form.tree.budget.require(
        _BYTES_OF_NONZERO * program.num_nonzeros,
        f"Solving the linear program of {program.num_nonzeros:,} nonzeros takes about",
    )
    built = working_clock()
    unit = _unit_of(form)
    result = _run(form, program, unit, method, time_limit)
    num_plan, num_values = program.num_plan, program.num_values
    num_own = form.treeplexes[0].num_infosets + 1
    x = _clean(form, 0, result.x[:num_plan])
    y = _clean(form, 1, -result.ineqlin.marginals)
    own_values = -result.eqlin.marginals[:num_own] / unit
    other_values = -result.x[num_plan : num_plan + num_values] / unit
    solved = working_clock()
    other_values[0] += form.constant
    return LPSolution(
        policy=SequencePolicy(form.tree, joint_vector(form, (x, y))),
        value=float(x @ (form.payoffs @ y)),
        duals=(own_values, other_values),
        nash_conv=saddle_point_gap(form, x, y),
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
    """Makes a plan exactly feasible: nonnegative, and normalized at every infoset."""
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
    """Writes the program in free MPS format, which other solvers read.

    The program is a minimization whose optimum is minus the value of the game to player
    0.

    | label | meaning |
    |---|---|
    | columns x0, x1, ... | player 0's plan, in the order of the Treeplex |
    | columns v0, v1, ... | player 1's values |
    | columns w0, w1, ... | variables of the factorization |
    | rows y0, y1, ... | inequalities, whose multipliers are player 1's plan |
    | rows e0, e1, ... | equalities |

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
