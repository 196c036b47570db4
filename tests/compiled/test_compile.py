"""The compile cache never runs an old version of a function."""

import os
import pathlib
import shutil
import subprocess
import sys
import time

import pytest

import mccfr_spiel
from mccfr_spiel.compiled.jit import (
    config,
    seconds_compiled,
    uncached,
    working_clock,
)

needs_jit = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")

PACKAGE = pathlib.Path(mccfr_spiel.__file__).parent


FOLDERS = sorted(
    str(folder.relative_to(PACKAGE))
    for folder in [PACKAGE, *PACKAGE.rglob("*")]
    if folder.is_dir() and any(folder.glob("*.py"))
)


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
