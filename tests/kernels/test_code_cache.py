"""Cached code is what was written, or is compiled again, also after any edit."""

import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

import mccfr_spiel
from mccfr_spiel.common.cache_folder import CompileCacheWarning
from mccfr_spiel.kernels import jit as made
from mccfr_spiel.kernels.jit import (
    config,
    jit,
    seconds_compiled,
    uncached,
    working_clock,
)

OLD = time.time() - 40 * 24 * 3600

pytestmark = pytest.mark.compiled
needs_jit = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")
needs_modes = pytest.mark.skipif(
    not hasattr(os, "geteuid"), reason="Windows shows no owners and modes"
)


@pytest.fixture
def base(tmp_path, monkeypatch):
    """A folder where code is kept that is made during a test."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(made, "_given_up", set())
    made._is_made.cache_clear()
    return tmp_path


def double(x):
    return 2 * x


def hits(function):
    return sum(function.stats.cache_hits.values())


def files(base):
    return sorted(base.glob("code-*/*.code*"))


@needs_jit
def test_every_signature_has_a_file_of_its_own(base):
    values = [3, 1.5, np.arange(3), np.zeros(2, "f4")]
    first, second = jit(double), jit(double)
    for value in values:
        expected = double(value)
        np.testing.assert_array_equal(first(value), expected)
        np.testing.assert_array_equal(second(value), expected)
    assert (hits(first), hits(second)) == (0, len(values))
    assert len(files(base)) == len(values)


@needs_jit
def test_a_file_with_any_changed_byte_is_compiled_again_and_replaced(base):
    jit(double)(3)
    (path,) = files(base)
    sound = path.read_bytes()
    middle = len(sound) // 2
    changed = sound[:middle] + bytes([sound[middle] ^ 1]) + sound[middle + 1 :]
    for bad in (b"", sound[:middle], sound[:-1], changed, sound + b"\0"):
        path.write_bytes(bad)
        again = jit(double)
        assert again(4) == 8
        assert hits(again) == 0
        assert path.read_bytes() != bad
    again = jit(double)
    assert again(4) == 8
    assert hits(again) == 1


@needs_jit
def test_loops_that_differ_in_a_compiled_function_or_a_value_share_no_file(base):
    def made(step, factor):
        @jit
        def loop(x):
            return factor * step(x)

        return loop

    loops = [made(jit(step), f) for step in (double, triple) for f in (1, 10)]
    assert [loop(1) for loop in loops] == [2, 20, 3, 30]
    again = [made(jit(step), f) for step in (double, triple) for f in (1, 10)]
    assert [loop(1) for loop in again] == [2, 20, 3, 30]
    assert [hits(loop) for loop in again] == [1] * 4


def triple(x):
    return 3 * x


@needs_jit
@needs_modes
@pytest.mark.parametrize("shared", [".", "..", "../.."])
def test_code_below_a_folder_that_others_may_write_to_is_not_run(
    monkeypatch, base, shared
):
    inner = base / "one" / "two"
    monkeypatch.setattr(config, "CACHE_DIR", str(inner))
    assert jit(double)(3) == 6
    (folder,) = inner.iterdir()
    (folder / shared).resolve().chmod(0o777)
    made._is_made.cache_clear()
    with pytest.warns(CompileCacheWarning, match="others may write to"):
        assert jit(double)(3) == 6
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = jit(double)
        assert again(3) == 6  # one warning is enough
    assert hits(again) == 0


@needs_jit
def test_code_that_nobody_used_for_a_month_goes_and_nothing_else(base):
    used, unused, foreign, new = (base / f"code-{digit * 24}" for digit in "1234")
    new.mkdir()  # by a process that is compiling its first function
    for folder in (used, unused, foreign):
        folder.mkdir()
        (folder / "f-1.code").write_bytes(b"machine code")
    (unused / "g-1.code.part-0123").write_bytes(b"left by a killed process")
    (foreign / "document.txt").write_bytes(b"chapter 1")
    for path in (*unused.iterdir(), *foreign.iterdir()):
        os.utime(path, (OLD, OLD))
    jit(double)(3)
    assert (unused.exists(), new.exists()) == (False, True)
    assert [path.name for path in used.iterdir()] == ["f-1.code"]
    assert [path.name for path in foreign.iterdir()] == ["document.txt"]


@needs_jit
def test_a_disk_that_fails_costs_one_warning_and_what_is_kept_is_used(
    base, monkeypatch
):
    def full(*arguments, **keywords):
        raise OSError(28, "No space left on device")

    jit(double)(3)
    monkeypatch.setattr("mccfr_spiel.common.atomic_files.os.replace", full)
    function = jit(double)
    with pytest.warns(CompileCacheWarning, match="No space left") as caught:
        assert function(1.5) == 3.0
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(function(np.arange(2)), [0, 2])
        assert function(3) == 6
    assert hits(function) == 1
    assert len(files(base)) == 1


PROGRAM = """
import warnings
{before}
import numpy as np
from mccfr_spiel.kernels.randomness import uniform

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    result = uniform(np.uint64(1), np.uint64(5))
    uniform(np.uint64(1), np.uint64(7))
print(result == 0.7173529370814654, *[w.category.__name__ for w in caught])
print(sum(uniform.stats.cache_hits.values()), sum(uniform.stats.cache_misses.values()))
"""


def elsewhere(base, before="", **variables):
    """In a new process: a compiled result, the warnings' names, hits and misses."""
    environment = os.environ | {"NUMBA_DISABLE_JIT": "0"} | variables
    for name in {"NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "MCCFR_SPIEL_CACHE"}:
        if name not in variables:
            environment.pop(name, None)
    if base is not None:
        environment["MCCFR_SPIEL_CACHE"] = str(base)
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(before=before)],
        cwd=pathlib.Path(__file__).parents[2],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    said, counts = result.stdout.splitlines()
    is_right, *warned = said.split()
    assert is_right == "True"
    return warned, tuple(int(count) for count in counts.split())


def test_processes_that_compile_at_once_leave_sound_files(tmp_path):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        first = list(pool.map(elsewhere, [tmp_path] * 2))
    assert {tuple(warned) for warned, _ in first} == {()}
    assert elsewhere(tmp_path) == ([], (1, 0))
    assert list(tmp_path.glob("code-*/*.part-*")) == []
    assert len(list(tmp_path.glob("code-*"))) == 1


# --- edits -------------------------------------------------------------------


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
        "from mccfr_spiel.kernels import jit\n"
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
