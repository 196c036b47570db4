"""Linear programs as MPS files, which other solvers read."""

import io
import os
from collections.abc import Iterator

import numpy as np
import scipy.sparse

from mccfr_spiel.offline.program import LinearProgram
from mccfr_spiel.storage.folders import write_file


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
    text = io.StringIO()
    text.writelines(f"{line}\n" for line in _mps_lines(program, name))
    write_file(path, text.getvalue().encode("ascii"))


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
