"""The disk cache returns valid code, and compiles again after edits or damage."""

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
from mccfr_spiel.common.cache_folder import (
    CompileCacheWarning,
)
from mccfr_spiel.kernels import code_cache
from mccfr_spiel.kernels.compile_time import seconds_compiled, working_clock
from mccfr_spiel.kernels.jit import config, jit, uncached

OLD = time.time() - 40 * 24 * 3600

pytestmark = pytest.mark.compiled
needs_jit = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="requires the JIT")
needs_modes = pytest.mark.skipif(
    not hasattr(os, "geteuid"), reason="requires POSIX owners and modes"
)


@pytest.fixture
def base(tmp_path, monkeypatch):
    """An empty cache folder."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(code_cache, "_given_up", set())
    code_cache._is_made.cache_clear()
    return tmp_path


def double(x):
    return 2 * x


def hits(function):
    return sum(function.stats.cache_hits.values())


def files(base):
    return sorted(base.glob("code-*/*.code*"))


@needs_jit
def test_each_signature_has_its_own_file(base):
    values = [3, 1.5, np.arange(3), np.zeros(2, "f4")]
    first, second = jit(double), jit(double)
    for value in values:
        expected = double(value)
        np.testing.assert_array_equal(first(value), expected)
        np.testing.assert_array_equal(second(value), expected)
    assert (hits(first), hits(second)) == (0, len(values))
    assert len(files(base)) == len(values)


@needs_jit
def test_damaged_file_is_compiled_again_and_replaced(base):
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
def test_loops_with_different_closures_share_no_file(base):
    def make_loop(step, factor):
        @jit
        def loop(x):
            return factor * step(x)

        return loop

    loops = [make_loop(jit(step), f) for step in (double, triple) for f in (1, 10)]
    assert [loop(1) for loop in loops] == [2, 20, 3, 30]
    again = [make_loop(jit(step), f) for step in (double, triple) for f in (1, 10)]
    assert [loop(1) for loop in again] == [2, 20, 3, 30]
    assert [hits(loop) for loop in again] == [1] * 4


def triple(x):
    return 3 * x


@needs_jit
@needs_modes
@pytest.mark.parametrize("shared", [".", "..", "../.."])
def test_code_in_folders_writable_by_others_is_not_run(monkeypatch, base, shared):
    inner = base / "one" / "two"
    monkeypatch.setattr(config, "CACHE_DIR", str(inner))
    assert jit(double)(3) == 6
    (folder,) = inner.iterdir()
    (folder / shared).resolve().chmod(0o777)
    code_cache._is_made.cache_clear()
    with pytest.warns(CompileCacheWarning, match="others may write to"):
        assert jit(double)(3) == 6
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = jit(double)
        assert again(3) == 6  # without a second warning
    assert hits(again) == 0


@needs_jit
def test_only_code_unused_for_a_month_is_removed(base):
    used, unused, foreign, new = (base / f"code-{digit * 24}" for digit in "1234")
    new.mkdir()  # as by a process that compiles its first function
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
def test_full_disk_warns_once_and_cached_code_is_used(base, monkeypatch):
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
    """Runs PROGRAM in a new process.

    Returns:
        The names of the warnings, and the numbers of cache hits and misses.
    """
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
    status, counts = result.stdout.splitlines()
    is_right, *warned = status.split()
    assert is_right == "True"
    return warned, tuple(int(count) for count in counts.split())


def test_concurrent_processes_leave_valid_files(tmp_path):
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


def test_edit_in_any_folder_changes_the_digest(tmp_path):
    ignored = shutil.ignore_patterns("__pycache__")
    copy = tmp_path / "mccfr_spiel"
    shutil.copytree(PACKAGE, copy, ignore=ignored)
    # The process imports the copy once, and clears the cached digest after each edit.
    program = (
        "import pathlib, sys\n"
        "from mccfr_spiel.kernels.sources import package_digest\n"
        "print(package_digest())\n"
        "for folder in sys.argv[1:]:\n"
        "    module = max(pathlib.Path('mccfr_spiel', folder).glob('*.py'))\n"
        "    module.write_text(module.read_text() + '# edited\\n')\n"
        "    package_digest.cache_clear()\n"
        "    print(package_digest())\n"
    )
    printed = subprocess.check_output(
        [sys.executable, "-c", program, *FOLDERS],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        text=True,
    )
    assert len(set(printed.split())) == 1 + len(FOLDERS)


@needs_jit
def test_working_clock_excludes_compilation():
    def doubled(x):
        return x + x

    began, compiled = working_clock(), seconds_compiled()
    before = time.perf_counter()
    assert uncached(doubled)(2) == 4
    took, passed = seconds_compiled() - compiled, time.perf_counter() - before
    assert 0.01 < took <= passed
    assert working_clock() - began < passed - took + 0.01
