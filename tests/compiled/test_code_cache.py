"""Cached code is what was written, or is compiled again; foreign files stay."""

import concurrent.futures
import os
import pathlib
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
from numba.core import config

from mccfr_spiel.compiled.code_cache import (
    MARK,
    MARK_TEXT,
    CodeCache,
    CodeStore,
    CompileCacheWarning,
    is_supported,
)
from mccfr_spiel.compiled.jit import uncached
from mccfr_spiel.storage.folders import UnsafeFolderError

NAME = "code-" + "0" * 24
OLD = time.time() - 40 * 24 * 3600
ANOTHER_USER = 12345

needs_jit = pytest.mark.skipif(
    bool(config.DISABLE_JIT),  # pyright: ignore[reportAttributeAccessIssue]
    reason="nothing is compiled",
)
needs_modes = pytest.mark.skipif(
    not hasattr(os, "geteuid"), reason="Windows shows no owners and modes"
)
needs_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0,
    reason="only root can give a folder to another user",
)


def read(store, file="f.code"):
    content = store.read(NAME, file)
    return None if content is None else bytes(content)


def test_what_is_written_is_read_by_another_process_too(tmp_path):
    CodeStore(tmp_path).write(NAME, "f.code", b"machine code")
    assert read(CodeStore(tmp_path)) == b"machine code"
    assert read(CodeStore(tmp_path), "g.code") is None
    names = sorted(path.name for path in (tmp_path / NAME).iterdir())
    assert names == [MARK, "f.code"]


def test_no_changed_bit_and_no_other_length_is_taken_for_code(tmp_path):
    store = CodeStore(tmp_path)
    store.write(NAME, "f.code", b"machine code")
    path = tmp_path / NAME / "f.code"
    sound = path.read_bytes()
    flipped = [
        sound[:at] + bytes([sound[at] ^ 1 << bit]) + sound[at + 1 :]
        for at in range(len(sound))
        for bit in range(8)
    ]
    cut = [sound[:length] for length in range(len(sound))]
    for data in (*flipped, *cut, sound + b"\0", sound + sound):
        path.write_bytes(data)
        assert read(store) is None
        assert not path.exists()  # it is thrown away
    path.write_bytes(sound)
    assert read(store) == b"machine code"


def test_a_file_under_another_name_is_not_taken(tmp_path):
    store = CodeStore(tmp_path)
    store.write(NAME, "f.code", b"machine code")
    (tmp_path / NAME / "f.code").rename(tmp_path / NAME / "g.code")
    assert read(store, "g.code") is None


def test_something_else_in_the_place_of_a_file_is_replaced_or_left(tmp_path):
    store = CodeStore(tmp_path)
    store.write(NAME, "f.code", b"machine code")
    path, document = tmp_path / NAME / "f.code", tmp_path / "document"
    document.write_bytes(path.read_bytes())
    path.unlink()
    path.symlink_to(document)
    before = document.read_bytes()
    if hasattr(os, "O_NOFOLLOW"):
        assert read(store) is None
    store.write(NAME, "f.code", b"machine code")
    assert not path.is_symlink()
    assert document.read_bytes() == before
    path.unlink()
    path.mkdir()
    assert read(store) is None
    with pytest.raises(OSError, match=r"f\.code"):
        store.write(NAME, "f.code", b"machine code")
    assert path.is_dir()


@needs_modes
def test_a_file_that_others_could_write_is_not_run(tmp_path):
    store = CodeStore(tmp_path)
    store.write(NAME, "f.code", b"machine code")
    path = tmp_path / NAME / "f.code"
    assert path.stat().st_mode & 0o777 == 0o600
    for mode in (0o620, 0o602):
        path.chmod(mode)
        assert read(store) is None


@needs_root
def test_a_file_of_another_user_is_not_run(tmp_path):
    store = CodeStore(tmp_path)
    store.write(NAME, "f.code", b"machine code")
    os.chown(tmp_path / NAME / "f.code", ANOTHER_USER, -1)
    assert read(store) is None


@needs_modes
@pytest.mark.parametrize("shared", [".", "..", "../.."])
def test_code_below_a_folder_that_others_may_write_to_is_not_run(tmp_path, shared):
    base = tmp_path / "one" / "two"
    CodeStore(base).write(NAME, "f.code", b"machine code")
    (base / NAME / shared).resolve().chmod(0o777)
    store = CodeStore(base)
    with pytest.warns(CompileCacheWarning, match="every user may write to"):
        assert read(store) is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(store) is None  # one warning is enough
    with pytest.raises(UnsafeFolderError):
        store.write(NAME, "f.code", b"machine code")


@needs_root
@pytest.mark.parametrize("theirs", [".", "..", "../.."])
def test_code_below_another_users_folder_is_not_run(tmp_path, theirs):
    base = tmp_path / "one" / "two"
    CodeStore(base).write(NAME, "f.code", b"machine code")
    os.chown((base / NAME / theirs).resolve(), ANOTHER_USER, -1)
    with pytest.warns(CompileCacheWarning, match="belongs to another user"):
        assert read(CodeStore(base)) is None


# --- foreign and old folders ----------------------------------------------------


def snapshot(folder):
    """All files and links below a folder, with what they hold."""
    return {
        str(path.relative_to(folder)): os.readlink(path)
        if path.is_symlink()
        else path.read_bytes()
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }


def make_old(folder):
    for path in [*folder.rglob("*"), folder]:
        if not path.is_symlink():
            os.utime(path, (OLD, OLD))


def folder_with(place, **files):
    place.mkdir(parents=True)
    for name, data in files.items():  # a double underscore stands for a dot
        (place / name.replace("__", ".")).write_bytes(data)


def test_folders_without_our_mark_are_never_removed(tmp_path):
    base, elsewhere = tmp_path / "base", tmp_path / "elsewhere"
    folder_with(base / "numba-thesis", document__txt=b"chapter 1")
    folder_with(base / ("numba-" + "1" * 24), document__txt=b"chapter 2")
    folder_with(base / ("code-" + "1" * 24), document__txt=b"chapter 3")
    folder_with(base / ("code-" + "2" * 24), CACHEDIR__TAG=b"Signature: another")
    folder_with(base / "code-of-mine", CACHEDIR__TAG=MARK_TEXT)
    folder_with(elsewhere, CACHEDIR__TAG=MARK_TEXT, document__txt=b"chapter 4")
    (base / ("code-" + "3" * 24)).symlink_to(elsewhere)
    folder_with(base / ("code-" + "4" * 24))
    (base / ("code-" + "4" * 24) / MARK).symlink_to(elsewhere / MARK)
    (base / ("code-" + "5" * 24)).write_bytes(b"chapter 5")
    make_old(tmp_path)
    before = snapshot(tmp_path)
    CodeStore(base).write(NAME, "f.code", b"machine code")
    after = snapshot(tmp_path)
    assert {name: after.get(name) for name in before} == before


def test_our_own_folders_go_when_nobody_used_them_for_a_month(tmp_path):
    names = ["code-" + digit * 24 for digit in "123"]
    for name in names:
        CodeStore(tmp_path).write(name, f"f-{'0' * 32}.code", b"machine code")
    make_old(tmp_path)
    unused, used, with_document = (tmp_path / name for name in names)
    assert CodeStore(tmp_path).read(used.name, "g.code") is None  # it is looked into
    (with_document / "document.txt").write_bytes(b"chapter 1")
    CodeStore(tmp_path).write(NAME, "f.code", b"machine code")
    assert not unused.exists()
    assert len(list(used.iterdir())) == 2
    assert (with_document / "document.txt").read_bytes() == b"chapter 1"


def test_what_a_killed_process_left_goes_too(tmp_path):
    left = tmp_path / f"{NAME}.new-{'a' * 32}"
    folder_with(left, CACHEDIR__TAG=MARK_TEXT)
    make_old(left)
    CodeStore(tmp_path).write(NAME, "f.code", b"machine code")
    assert not left.exists()


# --- with numba -------------------------------------------------------------------


def cached(function, base):
    """A compiled function whose code is kept below a folder."""
    made = uncached(function)
    made.keep(CodeCache(function, CodeStore(base), NAME))
    return made


def double(x):
    return 2 * x


def hits(function):
    return sum(function.stats.cache_hits.values())


@needs_jit
def test_this_numba_is_supported():
    assert is_supported()


@needs_jit
def test_every_signature_has_a_file_of_its_own(tmp_path):
    values = [3, 1.5, np.arange(3), np.zeros(2, "f4")]
    first, second = cached(double, tmp_path), cached(double, tmp_path)
    for value in values:
        expected = first.py_func(value)
        np.testing.assert_array_equal(first(value), expected)
        np.testing.assert_array_equal(second(value), expected)
    assert hits(first) == 0
    assert hits(second) == len(values)
    assert len(list((tmp_path / NAME).glob("double-*.code"))) == len(values)


@needs_jit
def test_code_for_another_signature_is_not_run_under_a_false_name(tmp_path):
    first = cached(double, tmp_path)
    first(3)
    (integers,) = (tmp_path / NAME).glob("double-*.code")
    store = CodeStore(tmp_path)
    content = store.read(NAME, integers.name)
    first(1.5)
    (floats,) = set((tmp_path / NAME).glob("double-*.code")) - {integers}
    assert content is not None
    store.write(NAME, floats.name, bytes(content))
    second = cached(double, tmp_path)
    assert second(1.5) == 3.0
    assert hits(second) == 0


@needs_jit
def test_sound_files_that_numba_cannot_read_are_compiled_again(tmp_path):
    cached(double, tmp_path)(3)
    (path,) = (tmp_path / NAME).glob("double-*.code")
    store = CodeStore(tmp_path)
    content = bytes(store.read(NAME, path.name) or b"")
    for bad in (b"", content[: len(content) // 2], content[:-100]):
        store.write(NAME, path.name, bad)
        again = cached(double, tmp_path)
        assert again(4) == 8
        assert hits(again) == 0
        assert bytes(store.read(NAME, path.name) or b"") != bad


@needs_jit
def test_a_disk_that_fails_costs_one_warning(tmp_path, monkeypatch):
    def full(*arguments, **keywords):
        raise OSError(28, "No space left on device")

    function = cached(double, tmp_path)
    monkeypatch.setattr("mccfr_spiel.compiled.code_cache.os.replace", full)
    with pytest.warns(CompileCacheWarning, match="No space left") as caught:
        assert function(3) == 6
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert function(1.5) == 3.0
    names = [path.name for path in (tmp_path / NAME).iterdir()]
    assert names == [MARK]


PROGRAM = """
import warnings
{before}
import numpy as np
from mccfr_spiel.compiled.randomness import plain_uniform, uniform

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    result = uniform(np.uint64(1), np.uint64(5))
    uniform(np.uint64(1), np.uint64(7))
print(result == plain_uniform(1, 5), *[w.category.__name__ for w in caught])
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


@pytest.mark.slow
def test_damaged_files_are_compiled_again_without_a_word(tmp_path):
    assert elsewhere(tmp_path) == ([], (0, 1))
    assert elsewhere(tmp_path) == ([], (1, 0))
    files = list(tmp_path.glob("code-*/*.code"))
    assert files
    for number, path in enumerate(files):
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data[: len(data) // 3] if number % 2 else data)
    assert elsewhere(tmp_path) == ([], (0, 1))
    assert elsewhere(tmp_path) == ([], (1, 0))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="has no such limit")
@pytest.mark.parametrize("limit", [0, 100, 3000])
def test_a_full_disk_costs_one_warning_and_leaves_nothing(tmp_path, limit):
    full = f"import resource as r; r.setrlimit(r.RLIMIT_FSIZE, ({limit}, {limit}))"
    assert elsewhere(tmp_path, full) == (["CompileCacheWarning"], (0, 1))
    assert list(tmp_path.glob("code-*/*.code*")) == []
    assert elsewhere(tmp_path) == ([], (0, 1))


@pytest.mark.slow
@pytest.mark.parametrize("variable", ["MCCFR_SPIEL_CACHE", "NUMBA_CACHE_DIR", "HOME"])
def test_a_place_where_no_folder_can_be_made_costs_one_warning(tmp_path, variable):
    (tmp_path / "file").write_text("")
    place = {variable: str(tmp_path / "file" / "folder")}
    assert elsewhere(None, **place) == (["CompileCacheWarning"], (0, 1))


@pytest.mark.slow
def test_processes_that_compile_at_once_leave_sound_files(tmp_path):
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        first = list(pool.map(elsewhere, [tmp_path] * 4))
    assert {tuple(warned) for warned, _ in first} == {()}
    assert elsewhere(tmp_path) == ([], (1, 0))
    assert list(tmp_path.glob("code-*/*.new-*")) == []
    assert len(list(tmp_path.glob("code-*"))) == 1
