"""Nash equilibria of two-player zero-sum games by linear programming.

The sequence-form program (Koller, Megiddo, von Stengel 1994) has two sets of variables,
player 0's plan x and player 1's values v at its infosets:

    maximize f2' v   subject to   A' x - F2' v >= 0,   F1 x = f1,   x >= 0.

Its dual solution is player 1's plan and player 0's values. The *sparsified* program
replaces A' x by `Ahat' x + V w` with `M' w = U' x` (Zhang, Sandholm 2020). HiGHS solves
it, and an MPS file takes it to other solvers.
"""

import math
import os
import pathlib
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyspiel
import scipy.sparse

from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.common import refusals
from mccfr_spiel.common.display import counted, line, never_raises, short, title
from mccfr_spiel.common.folders import write_file
from mccfr_spiel.common.limits import MaxMemory
from mccfr_spiel.kernels.jit import working_clock
from mccfr_spiel.offline.sequence_forms import (
    Csr,
    Factorization,
    SequenceForm,
    constraints,
    csr,
    difference_factors,
    joint_vector,
    plan_to_policy,
    policy_to_plan,
    rank_one_factors,
    saddle_point_gap,
    sequence_form,
    trivial_factors,
)
from mccfr_spiel.policies.policy import SequencePolicy

# --- the program ----------------------------------------------------------------------


class LinearProgram(NamedTuple):
    """Minimize cost' z subject to inequalities z >= 0, equalities z = right.

    The variables are z = (x, v, w): player 0's plan `[m0]`, which is nonnegative;
    player 1's values `[n1 + 1]`; and the variables of the factorization `[k]`. The
    last two are free.

    Attributes:
        cost: `[m0 + n1 + 1 + k]`; the optimum is minus the value of the game.
        inequalities: `[m1, ...]` csr array whose multipliers are player 1's plan.
        equalities: `[n0 + 1 + k, ...]` csr array whose first n0 + 1 multipliers are
            player 0's values.
        right: `[n0 + 1 + k]`.
        num_plan: m0.
        num_values: n1 + 1.
    """

    cost: np.ndarray
    inequalities: Csr
    equalities: Csr
    right: np.ndarray
    num_plan: int
    num_values: int

    @never_raises
    def __repr__(self) -> str:
        return line(
            self,
            counted(self.num_constraints, "constraint"),
            counted(self.num_variables, "variable"),
            counted(self.num_nonzeros, "nonzero"),
        )

    @property
    def num_nonzeros(self) -> int:
        """The number of nonzeros in both constraint matrices."""
        return self.inequalities.nnz + self.equalities.nnz

    @property
    def num_variables(self) -> int:
        """The number of columns."""
        return len(self.cost)

    @property
    def num_constraints(self) -> int:
        """The number of rows."""
        return self.inequalities.shape[0] + self.equalities.shape[0]


def program_of(form: SequenceForm, factors: Factorization) -> LinearProgram:
    """Makes the sequence-form program, sparsified as A is factored."""
    own, own_right = constraints(form.treeplexes[0])
    other, other_right = constraints(form.treeplexes[1])
    rank = factors.rank
    block = scipy.sparse.block_array
    empty = csr((own.shape[0], other.shape[0]))
    inequalities = csr(block([[factors.residual.T, -other.T, factors.right.T]]))
    equalities = block([[own, empty, None], [-factors.left.T, None, factors.middle.T]])
    num_plan = own.shape[1]
    cost = np.zeros(inequalities.shape[1])
    cost[num_plan : num_plan + len(other_right)] = -other_right
    return LinearProgram(
        cost,
        inequalities,
        csr(equalities),
        np.concatenate((own_right, np.zeros(rank))),
        num_plan,
        len(other_right),
    )


def write_program(
    program: LinearProgram, path: str | os.PathLike[str], name: str
) -> None:
    """Writes a program that already exists, such as that of a LinearProgramError.

    Args:
        program: the program, laid out as `write_mps` describes.
        path: where to write it.
        name: the name that the file gives to the program.

    Raises:
        OSError: the file cannot be written.
    """
    text = "".join(f"{line}\n" for line in _mps_lines(program, name))
    write_file(path, text.encode("ascii"))


def _mps_lines(program: LinearProgram, name: str) -> Iterator[str]:
    num_inequalities = program.inequalities.shape[0]
    num_values = program.num_plan + program.num_values
    rows = [f"y{row}" for row in range(num_inequalities)]
    rows += [f"e{row}" for row in range(program.equalities.shape[0])]
    columns = [f"x{column}" for column in range(program.num_plan)]
    columns += [f"v{column}" for column in range(program.num_values)]
    columns += [f"w{column}" for column in range(program.num_variables - num_values)]
    yield f"NAME {name}"
    yield "ROWS"
    yield " N cost"
    for row, label in enumerate(rows):
        yield f" {'G' if row < num_inequalities else 'E'} {label}"
    yield "COLUMNS"
    matrix = scipy.sparse.csc_array(
        scipy.sparse.vstack((program.inequalities, program.equalities))
    )
    for column, label in enumerate(columns):
        if program.cost[column]:
            yield f" {label} cost {float(program.cost[column])!r}"
        for place in range(matrix.indptr[column], matrix.indptr[column + 1]):
            value = float(matrix.data[place])
            yield f" {label} {rows[matrix.indices[place]]} {value!r}"
    yield "RHS"
    for row in np.flatnonzero(program.right):
        yield f" RHS {rows[num_inequalities + row]} {float(program.right[row])!r}"
    yield "BOUNDS"
    for label in columns[program.num_plan :]:
        yield f" FR BOUND {label}"
    yield "ENDATA"


# --- its solution ---------------------------------------------------------------------


METHODS = {"simplex": "highs-ds", "interior_point": "highs-ipm"}
SPARSIFICATIONS = {"differences": difference_factors, "rank_one": rank_one_factors}

_STATUS = {
    1: "it reached the limit of time or iterations",
    2: "it called the program infeasible, which only rounding can cause for a game",
    3: "it called the program unbounded, which only rounding can cause for a game",
    4: "it ran into numerical difficulties",
}
_TOLERANCE = 1e-10
_ORDINARY = 2.0**-10, 2.0**40
"""The least and the greatest largest payoff with which HiGHS solves a program as it is.
"""
_BYTES_OF_NONZERO = 600
"""What scipy's and HiGHS's copies take; 410 to 570 were measured with both methods."""


class LPSolution(NamedTuple):
    """An equilibrium found by linear programming, and the work it took.

    Attributes:
        policy: one joint policy of both players.
        value: player 0's expected return; player 1's is the game's constant minus it.
        duals: player 0's `[n0 + 1]` and player 1's `[n1 + 1]` multipliers of the
            constraints F1 x = f1 and F2 y = f2. Entry 0 is the value of the game to the
            player; entry 1 + i is what its i-th infoset contributes, weighted by the
            probability that chance and the opponent play to it.
        nash_conv: NashConv of `policy`, computed from the payoffs rather than taken
            from the solver.
        program: the linear program.
        payoff_nonzeros: the number of nonzeros in A.
        factor_nonzeros: the number of nonzeros in its factors together, which is the
            same if the program was not sparsified.
        iterations: simplex or interior-point iterations.
        build_seconds: time to make the program, the factorization included.
        solve_seconds: time that HiGHS took.
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
    """HiGHS did not finish the program.

    Attributes:
        status: scipy's status (1 limit, 2 infeasible, 3 unbounded, 4 numerical).
        form: the sequence form, so that the work can continue from it.
        program: the program that was being solved.
    """

    def __init__(
        self, message: str, status: int, form: SequenceForm, program: LinearProgram
    ) -> None:
        super().__init__(message)
        self.status = status
        self.form = form
        self.program = program


def _unit_of(form: SequenceForm) -> float:
    """A power of two that makes payoffs ordinary numbers if they are not: HiGHS has
    absolute tolerances, takes entries below 1e-9 for 0, and refuses those of 1e15."""
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
    """Solves the program of payoffs times `unit` with scipy, whose values are then as
    many times as large; raises LinearProgramError unless the result is optimal."""
    import scipy.optimize  # imported here because that takes longer than all else

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

    One program gives both plans: player 1's are the multipliers. How accurate they are
    is the solution's `nash_conv`, mostly 1e-12 of the payoffs' range or less.

    Args:
        game: a game, its load string, its tree or its sequence form.
        method: "simplex" (HiGHS's dual simplex) or "interior_point" (with crossover).
        sparsify: solve the sparsified program, which has the same answer.
        factorization: "differences" (of similar rows) or "rank_one" (Zhang, Sandholm
            2020), the way in which the payoff matrix is factored.
        time_limit: the most seconds that a solve may take.
        max_memory: bytes, or words such as "4GiB", for all of it, see
            `sequence_form`. HiGHS is counted with 600 bytes for each nonzero of the
            program, which is more than simplex took in any game that was measured.
            What the factorization of an interior-point method takes is not known in
            advance.

    Raises:
        NotZeroSumError, TooLargeError, TreeFullError: see `sequence_form`.
        MemoryBudgetError: the program is too large for `max_memory`.
        LinearProgramError: HiGHS stopped before the optimum. The error holds the
            program.
        ValueError: an argument has none of the values above.
    """
    check_options(method, time_limit, factorization)
    form = sequence_form(game, max_memory=max_memory)
    import scipy.optimize  # noqa: F401  which takes longer than to solve a small game

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
    """Writes the program in free MPS form, which other solvers read.

    It is a minimization whose optimum is minus the value of the game to player 0.
    Columns x0, x1, ... are player 0's plan in the order of its Treeplex; v0, v1, ...
    are player 1's values; w0, w1, ... are the factorization's variables. The
    multipliers of rows y0, y1, ... are player 1's plan.

    Returns:
        The program that was written.

    Raises:
        NotZeroSumError, TooLargeError, ValueError: as `solve_lp`.
        OSError: the file cannot be written.
    """
    check_options(factorization=factorization)
    form = sequence_form(game, max_memory=max_memory)
    program = program_of(form, _factors(form, sparsify, factorization))
    write_program(program, path, form.tree.game.get_type().short_name)
    return program
