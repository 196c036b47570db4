"""Nash equilibria of two-player zero-sum games by linear programming.

The sequence-form program (Koller, Megiddo, von Stengel 1994), for player 0's plan x and
player 1's values v at its infosets:

    maximize f2' v   subject to   A' x - F2' v >= 0,   F1 x = f1,   x >= 0;

player 1's plan and player 0's values are its dual solution. The *sparsified* program
replaces A' x by `Ahat' x + V w` with `M' w = U' x` (Zhang, Sandholm 2020).
"""

import io
import os
import pathlib
import time
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyspiel
import scipy.sparse

from mccfr_spiel.game_tree import GameTree
from mccfr_spiel.policy import SequencePolicy
from mccfr_spiel.sequence_form import (
    Csr,
    SequenceForm,
    constraints,
    csr,
    joint_vector,
    plan_to_policy,
    policy_to_plan,
    saddle_point_gap,
    sequence_form,
)
from mccfr_spiel.sparsification import (
    Factorization,
    difference_factors,
    rank_one_factors,
    trivial_factors,
)

METHODS = {"simplex": "highs-ds", "interior_point": "highs-ipm"}
SPARSIFICATIONS = {"differences": difference_factors, "rank_one": rank_one_factors}

_STATUS = {
    1: "it reached the limit of time or iterations",
    2: "it found the program infeasible, which a game's is not: rounding",
    3: "it found the program unbounded, which a game's is not: rounding",
    4: "it met numerical difficulties",
}
_TOLERANCE = 1e-10
_GOOD_ENOUGH = 1e-10


class LinearProgram(NamedTuple):
    """minimize cost' z subject to inequalities z >= 0, equalities z = right.

    z = (x, v, w): player 0's plan `[m0]`, at least 0; player 1's values `[n1 + 1]`,
    free; the variables of the factorization `[k]`, free.

    Attributes:
        cost: `[m0 + n1 + 1 + k]`; the optimum is minus the value of the game.
        inequalities: `[m1, ...]` csr array; its multipliers are player 1's plan.
        equalities: `[n0 + 1 + k, ...]` csr array; the first multipliers are player 0's
            values.
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

    @property
    def num_nonzeros(self) -> int:
        """Of both constraint matrices."""
        return self.inequalities.nnz + self.equalities.nnz

    @property
    def num_variables(self) -> int:
        """Columns of the program."""
        return len(self.cost)

    @property
    def num_constraints(self) -> int:
        """Rows of the program."""
        return self.inequalities.shape[0] + self.equalities.shape[0]


class LPSolution(NamedTuple):
    """An equilibrium by linear programming, and what it took.

    Attributes:
        policy: both players' policy, one joint object.
        value: player 0's expected return; player 1's is the game's constant minus it.
        duals: player 0's `[n0 + 1]` and player 1's `[n1 + 1]`, multipliers of the
            constraints F1 x = f1 and F2 y = f2: entry 0 is the player's value of the
            game, entry 1 + i what its i-th infoset adds to it (times the probability
            that chance and the opponent play to it).
        nash_conv: of `policy`, computed from the payoffs, not by the solver.
        program: the linear program.
        payoff_nonzeros: of A.
        factor_nonzeros: of its factors together; the same if not sparsified.
        iterations: of simplex or of the interior point method, all solves together.
        build_seconds, solve_seconds: the program's making (with the factorization, if
            any) and its solution.
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


class LinearProgramError(ValueError):
    """HiGHS could not finish the program.

    Attributes:
        status: scipy's number for it (1 limit, 2 infeasible, 3 unbounded, 4 numerical).
        form: the sequence form, to go on with.
        program: the program, sparsified if it was to be.
        plans: `[m0]`, `[m1]` the players' plans of a first solve that was not accurate
            enough, if it was the second that did not finish; else None (HiGHS hands
            over nothing of a solve that it did not finish).
    """

    def __init__(
        self, message: str, status: int, form: SequenceForm, program: LinearProgram
    ) -> None:
        super().__init__(message)
        self.status = status
        self.form = form
        self.program = program
        self.plans: tuple[np.ndarray, np.ndarray] | None = None


def linear_program(
    form: SequenceForm, factors: Factorization | None = None
) -> LinearProgram:
    """The sequence-form program, sparsified by the factors of `form.payoffs`."""
    if factors is None:
        factors = trivial_factors(form.payoffs)
    own, own_right = constraints(form.treeplexes[0])
    other, other_right = constraints(form.treeplexes[1])
    rank = factors.rank
    block = scipy.sparse.block_array
    transpose = factors.residual.T, -other.T
    if rank:
        empty = csr((rank, other.shape[0]))
        inequalities = csr(block([[*transpose, factors.right.T]]))
        equalities = block(
            [
                [own, None, None],
                [-factors.left.T, empty, factors.middle.T],
            ]
        )
    else:
        empty = csr((own.shape[0], other.shape[0]))
        inequalities = csr(block([transpose]))
        equalities = block([[own, empty]])
    num_plan = own.shape[1]
    cost = np.zeros(inequalities.shape[1])
    cost[num_plan : num_plan + len(other_right)] = -other_right
    return LinearProgram(
        cost,
        csr(inequalities),
        csr(equalities),
        np.concatenate((own_right, np.zeros(rank))),
        num_plan,
        len(other_right),
    )


def _run(
    form: SequenceForm, program: LinearProgram, method: str, time_limit: float | None
):
    """scipy's result of the program; raises LinearProgramError unless optimal."""
    import scipy.optimize  # here: it takes longer than all else that the package needs

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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", scipy.optimize.OptimizeWarning)
        result = scipy.optimize.linprog(
            program.cost,
            A_ub=-program.inequalities,
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
            f"HiGHS ({method}) did not solve the program of {form.tree.game} with "
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
    """Raises ValueError for what `solve_lp` does not take."""
    if method not in METHODS:
        raise ValueError(f"method={method!r} is none of {', '.join(METHODS)}.")
    if factorization not in SPARSIFICATIONS:
        raise ValueError(
            f"factorization={factorization!r} is none of {', '.join(SPARSIFICATIONS)}."
        )
    if time_limit is not None and not time_limit > 0:
        raise ValueError(f"time_limit={time_limit} is not a number of seconds above 0.")


def _mirrored(form: SequenceForm) -> SequenceForm:
    """The same game with the players exchanged."""
    first, second = form.treeplexes
    payoffs = csr(-form.payoffs.T)
    return SequenceForm(form.tree, (second, first), payoffs, form.constant)


def _swap(factors: Factorization) -> Factorization:
    residual, left, middle, right = (csr(factor.T) for factor in factors)
    return Factorization(-residual, right, middle, -left)


def solve_lp(
    game: pyspiel.Game | str | GameTree | SequenceForm,
    *,
    method: str = "simplex",
    sparsify: bool = False,
    factorization: str = "differences",
    time_limit: float | None = None,
) -> LPSolution:
    """A Nash equilibrium of a two-player zero-sum game, exact up to rounding.

    One program gives both plans, player 1's as the multipliers. Where they turn out
    less accurate than 1e-10 of the payoffs' range, a second one is solved with the
    players exchanged and each player gets its better plan.

    Args:
        game: a game, its load string, its tree or its sequence form.
        method: "simplex" (HiGHS's dual simplex) or "interior_point" (with crossover).
        sparsify: solve the sparsified program; the answer is the same.
        factorization: how to sparsify: "differences" or "rank_one" (see
            sparsification.py).
        time_limit: seconds for each solve.

    Raises:
        NotZeroSumError, TooLargeError: see `sequence_form`.
        LinearProgramError: HiGHS stopped before the optimum; it holds what there is.
        ValueError: an argument that is none of the above.
    """
    check_options(method, time_limit, factorization)
    form = sequence_form(game)
    begin = time.perf_counter()
    factors = SPARSIFICATIONS[factorization](form.payoffs) if sparsify else None
    program = linear_program(form, factors)
    built = time.perf_counter()
    result = _run(form, program, method, time_limit)
    iterations = int(result.nit)
    num_plan, num_values = program.num_plan, program.num_values
    num_own = form.treeplexes[0].num_infosets + 1
    x = _clean(form, 0, result.x[:num_plan])
    y = _clean(form, 1, -result.ineqlin.marginals)
    own_values = -result.eqlin.marginals[:num_own]
    other_values = -result.x[num_plan : num_plan + num_values]
    gap = saddle_point_gap(form, x, y)
    spread = float(np.ptp(form.tree.utilities[:, 0])) or 1.0
    if gap > _GOOD_ENOUGH * spread:
        mirrored = _mirrored(form)
        swapped = linear_program(mirrored, _swap(factors) if factors else None)
        try:
            result = _run(mirrored, swapped, method, time_limit)
        except LinearProgramError as error:
            error.plans = x, y
            raise
        iterations += int(result.nit)
        choices = [
            (saddle_point_gap(form, first, second), first, second)
            for first in (x, _clean(form, 0, -result.ineqlin.marginals))
            for second in (y, _clean(form, 1, result.x[: swapped.num_plan]))
        ]
        gap, x, y = min(choices, key=lambda choice: choice[0])
    solved = time.perf_counter()
    first, second = (
        plan_to_policy(plex, plan)
        for plex, plan in zip(form.treeplexes, (x, y), strict=True)
    )
    vector = joint_vector(form, (first, second))
    other_values[0] += form.constant
    return LPSolution(
        policy=SequencePolicy(form.tree, vector),
        value=float(x @ (form.payoffs @ y)),
        duals=(own_values, other_values),
        nash_conv=gap,
        program=program,
        payoff_nonzeros=form.payoffs.nnz,
        factor_nonzeros=factors.num_nonzeros if factors else form.payoffs.nnz,
        iterations=iterations,
        build_seconds=built - begin,
        solve_seconds=solved - built,
    )


def _clean(form: SequenceForm, player: int, plan: np.ndarray) -> np.ndarray:
    """The plan made exactly feasible: no entry below 0, every infoset normalized."""
    plex = form.treeplexes[player]
    return policy_to_plan(plex, plan_to_policy(plex, plan))


# --- MPS ---------------------------------------------------------------------


def write_mps(
    game: pyspiel.Game | str | GameTree | SequenceForm,
    path: str | pathlib.Path,
    *,
    sparsify: bool = False,
    factorization: str = "differences",
) -> LinearProgram:
    """Writes the program in free MPS form, for other solvers.

    It minimizes; the optimum is minus the value of the game for player 0. Columns x0,
    x1, ... are player 0's plan, in the order of its Treeplex, v0, v1, ... player 1's
    values, w0, w1, ... the factorization's variables. The multipliers of rows y0, y1,
    ... are player 1's plan.

    Returns:
        the program written.

    Raises:
        NotZeroSumError, TooLargeError, ValueError: as `solve_lp`.
        OSError: the file cannot be written.
    """
    check_options(factorization=factorization)
    form = sequence_form(game)
    factors = SPARSIFICATIONS[factorization](form.payoffs) if sparsify else None
    program = linear_program(form, factors)
    write_program(program, path, form.tree.game.get_type().short_name)
    return program


def write_program(
    program: LinearProgram, path: str | os.PathLike[str], name: str
) -> None:
    """Writes a program that there is already, such as that of a LinearProgramError.

    Args:
        program: as `write_mps` describes it.
        path: of the file.
        name: of the program, in the file.

    Raises:
        OSError: the file cannot be written.
    """
    text = io.StringIO()
    text.writelines(f"{line}\n" for line in _mps_lines(program, name))
    pathlib.Path(path).write_text(text.getvalue(), encoding="ascii")


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
