"""The compile cache never runs an old version of a function."""

import os
import pathlib
import shutil
import subprocess
import sys
import time

import pytest

import mccfr_spiel
from mccfr_spiel.compiled import jit
from mccfr_spiel.compiled.jit import (
    PASTED,
    config,
    inlined,
    seconds_compiled,
    uncached,
    working_clock,
)

needs_jit = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")

PACKAGE = pathlib.Path(mccfr_spiel.__file__).parent


PROGRAM = """
import numpy as np
from mccfr_spiel.kernels.minimizers import make_start_tables
from mccfr_spiel.kernels.tables import OPTIONAL, TreeArrays, empty_tables

infosets = np.zeros(1, [(n, "i8") for n in ("place", "first_sequence", "parent",
                                            "num_actions", "player")])
infosets[0] = 5, 0, 0, 2, 0
tree = TreeArrays(nodes=np.zeros(0), infosets=infosets,
                  chance_probs=np.zeros(0), chance_cdf=np.zeros(0),
                  utilities=np.zeros((0, 2)))
tables = empty_tables(1, 2, 1, OPTIONAL)
known = np.zeros(1, np.int64)
start_tables = make_start_tables("regret_matching")
start_tables(tree, tables, known, np.uint64(1), np.ones(1))
print(repr(tables.policy.tolist()))
stats = start_tables.stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


FOLDERS = sorted(
    str(folder.relative_to(PACKAGE))
    for folder in [PACKAGE, *PACKAGE.rglob("*")]
    if folder.is_dir() and any(folder.glob("*.py"))
)


def run(folder, program=PROGRAM):
    """In a new process: what a kernel of the copy gives, its cache hits and misses."""
    environment = os.environ | {
        "PYTHONPATH": str(folder),
        "NUMBA_CACHE_DIR": str(folder / "cache"),
        "NUMBA_DISABLE_JIT": "0",
    }
    result = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    policy, counts = result.stdout.splitlines()
    return policy, tuple(int(count) for count in counts.split())


def test_an_edit_in_a_callees_file_is_compiled_and_no_edit_is_not(tmp_path):
    ignored = shutil.ignore_patterns("__pycache__")
    copy = tmp_path / "mccfr_spiel"
    shutil.copytree(PACKAGE, copy, ignore=ignored)
    first, counts = run(tmp_path)
    assert counts == (0, 1)
    again, counts = run(tmp_path)
    assert (again, counts) == (first, (1, 0))
    # `start_tables` calls `uniform`, which is in another file.
    callee = copy / "compiled" / "randomness.py"
    source = callee.read_text()
    edited = source.replace("return np.float64(", "return 1.0 - np.float64(")
    assert edited != source
    callee.write_text(edited)
    other, counts = run(tmp_path)
    assert counts == (0, 1)
    assert other != first


def test_an_edit_in_any_folder_leads_to_another_cache(tmp_path):
    ignored = shutil.ignore_patterns("__pycache__")
    copy = tmp_path / "mccfr_spiel"
    shutil.copytree(PACKAGE, copy, ignore=ignored)
    # Its process imports the copy once, and forgets the digest after each edit.
    program = (
        "import pathlib, sys\n"
        "from mccfr_spiel.compiled import jit\n"
        "print(jit.package_digest())\n"
        "for folder in sys.argv[1:]:\n"
        "    module = max(pathlib.Path('mccfr_spiel', folder).glob('*.py'))\n"
        "    module.write_text(module.read_text() + '# edited\\n')\n"
        "    jit.package_digest.cache_clear()\n"
        "    print(jit.package_digest())\n"
    )
    printed = subprocess.check_output(
        [sys.executable, "-c", program, *FOLDERS],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        text=True,
    )
    assert len(set(printed.split())) == 1 + len(FOLDERS)


def triple(x):
    return 3 * x


@needs_jit
def test_python_can_call_a_helper_that_was_compiled_for_compiled_callers():
    helper = inlined(triple)

    @uncached
    def twice(x):
        return helper(helper(x))

    assert twice(2) == 18
    (compiled,) = helper.overloads.values()
    library = compiled.library
    assert not any("cpython" in f.name for f in library.get_defined_functions())
    assert helper(2) == 6
    assert helper(2.5) == 7.5


@needs_jit
@pytest.mark.parametrize("pipeline", [PASTED["pipeline_class"], jit.Compiler])
def test_a_helper_need_not_be_drafted(pipeline):
    """As where numba's own steps have other names."""
    how = PASTED | {"pipeline_class": pipeline}
    inner = jit._dispatcher(triple, how, jit._Helper)
    outer = jit._dispatcher(lambda x: inner(x) + 1, how, jit._Helper)

    @uncached
    def twice(x):
        return outer(x) + inner(outer(x))

    assert twice(2) == 7 + 21
    (compiled,) = inner.overloads.values()
    engine = compiled.library._codegen._engine
    is_ready = engine.is_symbol_defined(compiled.fndesc.llvm_func_name)
    assert is_ready == (pipeline is jit.Compiler)


@needs_jit
def test_the_clock_of_solvers_stands_still_while_a_thread_compiles():
    def doubled(x):
        return x + x

    began, compiled = working_clock(), seconds_compiled()
    before = time.perf_counter()
    assert uncached(doubled)(2) == 4
    took, passed = seconds_compiled() - compiled, time.perf_counter() - before
    assert 0.01 < took <= passed
    assert working_clock() - began < passed - took + 0.01
