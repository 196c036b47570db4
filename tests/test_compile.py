"""The compile cache never runs an old version of a function."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import mccfr_spiel
from mccfr_spiel.compile import sources_digest

PACKAGE = pathlib.Path(mccfr_spiel.__file__).parent

PROGRAM = """
import numpy as np
from mccfr_spiel import kernels
from mccfr_spiel.compile import jit

infosets = np.zeros(1, [(n, "i8") for n in ("place", "first_sequence", "parent",
                                            "num_actions", "player")])
infosets[0] = 5, 0, 0, 2, 0
tables = kernels.Tables(*(np.zeros(2) for _ in kernels.Tables._fields))
kernels.start_infosets(infosets, 0, tables, 0, np.uint64(1), 1.0)
print(repr(tables.policy.tolist()))
stats = kernels.start_infosets.stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


def run(folder):
    """In a new process: what a kernel of the copy gives, its cache hits and misses."""
    environment = os.environ | {
        "PYTHONPATH": str(folder),
        "NUMBA_CACHE_DIR": str(folder / "cache"),
        "NUMBA_DISABLE_JIT": "0",
    }
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    policy, counts = result.stdout.splitlines()
    return policy, tuple(int(count) for count in counts.split())


@pytest.mark.slow
def test_an_edit_in_a_callees_file_is_compiled_and_no_edit_is_not(tmp_path):
    ignored = shutil.ignore_patterns("__pycache__")
    copy = tmp_path / "mccfr_spiel"
    shutil.copytree(PACKAGE, copy, ignore=ignored)
    first, counts = run(tmp_path)
    assert counts == (0, 1)
    again, counts = run(tmp_path)
    assert (again, counts) == (first, (1, 0))
    # `kernels.start_infosets` calls `uniform`, which is in another file.
    callee = copy / "randomness.py"
    source = callee.read_text()
    edited = source.replace("return np.float64(", "return 1.0 - np.float64(")
    assert edited != source
    callee.write_text(edited)
    other, counts = run(tmp_path)
    assert counts == (0, 1)
    assert other != first
    callee.write_text(source)
    assert run(tmp_path) == (first, (1, 0))


def test_a_digest_sees_every_name_and_byte(tmp_path):
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    one.write_text("x = 1\n")
    two.write_text("y = 2\n")
    before = sources_digest([one, two])
    assert sources_digest([two, one]) == before
    one.write_text("x = 2\n")
    assert sources_digest([one, two]) != before
    one.write_text("x = 1\n")
    assert sources_digest([one, two]) == before
    assert sources_digest([one.rename(tmp_path / "three.py"), two]) != before
    assert sources_digest([two]) != before
