"""The linear program of the sequence form, as matrices and as an MPS file.

The program (Koller, Megiddo, von Stengel 1994) has two sets of variables, player 0's
plan x and player 1's values v at infosets:

    maximize f2' v   subject to   A' x - F2' v >= 0,   F1 x = f1,   x >= 0.

A is the matrix of player 0's payoffs. F1 x = f1 and F2 y = f2 are the constraints on
plans x of player 0 and y of player 1, see `sequence_forms.constraints`. The multipliers
of the first constraints are player 1's plan, those of the second player 0's values. The
*sparsified* program replaces A' x by `Ahat' x + V w` with additional variables w and
constraints `M' w = U' x`, see factorization.py (Zhang, Sandholm 2020).
"""

import os
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse

from mccfr_spiel.common.atomic_files import (
    write_file,
)
from mccfr_spiel.common.display import counted, line, never_raises
from mccfr_spiel.offline.factorization import Csr, Factorization, csr
from mccfr_spiel.offline.sequence_forms import SequenceForm, constraints


class LinearProgram(NamedTuple):
    """A linear program: minimize cost' z subject to `inequalities z >= 0` and
    `equalities z = right`.

    Player p has n_p infosets and m_p sequences. The variables z consist of player 0's
    plan x `[m0]`, player 1's values v `[n1 + 1]`, and the variables w `[k]` of the
    factorization. Variables x are nonnegative; variables v and w have no bounds.

    Attributes:
        cost: `[m0 + n1 + 1 + k]` costs. The optimum is minus the value of the game to
            player 0.
        inequalities: `[m1, m0 + n1 + 1 + k]` csr array. The multipliers of the rows are
            player 1's plan.
        equalities: `[n0 + 1 + k, m0 + n1 + 1 + k]` csr array. The multipliers of the
            first n0 + 1 rows are player 0's values.
        right: `[n0 + 1 + k]` right-hand sides of the equalities.
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
        """The number of variables, which are the columns of the matrices."""
        return len(self.cost)

    @property
    def num_constraints(self) -> int:
        """The number of inequalities and equalities, the rows of the matrices."""
        return self.inequalities.shape[0] + self.equalities.shape[0]


def program_of(form: SequenceForm, factors: Factorization) -> LinearProgram:
    """Makes the linear program of a game.

    Args:
        form: the sequence form of the game.
        factors: the factored payoff matrix, see `trivial_factors` for no factorization.
    """
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
    """Writes a program in free MPS format, such as that of a LinearProgramError.

    Args:
        program: the program. `write_mps` describes rows and columns.
        path: the file.
        name: name of the program in the file.

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
        for entry in range(matrix.indptr[column], matrix.indptr[column + 1]):
            value = float(matrix.data[entry])
            yield f" {label} {rows[matrix.indices[entry]]} {value!r}"
    yield "RHS"
    for row in np.flatnonzero(program.right):
        yield f" RHS {rows[num_inequalities + row]} {float(program.right[row])!r}"
    yield "BOUNDS"
    for label in columns[program.num_plan :]:
        yield f" FR BOUND {label}"
    yield "ENDATA"
