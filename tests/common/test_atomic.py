"""Files are written whole or not at all."""

import errno
import os
import pathlib
import resource
import secrets
import subprocess
import sys

import pytest

from mccfr_spiel.common.atomic_files import write_file
from mccfr_spiel.common.cache_folder import UnsafeFolderError, make_private


def files_in(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("error", [OSError(28, "full"), KeyboardInterrupt()])
@pytest.mark.parametrize("step", ["content", "fsync", "replace"])
def test_error_at_any_step_keeps_the_old_file(tmp_path, monkeypatch, error, step):
    path = tmp_path / "file"
    path.write_bytes(b"older")

    def fail(*_):
        raise error

    def content(file):
        file.write(b"half")
        if step == "content":
            fail()

    if step != "content":
        monkeypatch.setattr(os, step, fail)
    with pytest.raises(type(error)):
        write_file(path, content, lasting=True)
    assert files_in(tmp_path) == {"file": b"older"}


def test_file_has_the_users_default_permissions(tmp_path):
    before = os.umask(0o027)
    try:
        write_file(tmp_path / "file", b"new")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640


def test_link_at_the_temporary_name_is_not_followed(tmp_path, monkeypatch):
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    for ending in (".part", ".new", f".part-{'0' * 16}"):
        (tmp_path / f"file{ending}").symlink_to(victim)
    monkeypatch.setattr(secrets, "token_hex", lambda size: "0" * 2 * size)
    with pytest.raises(FileExistsError):
        write_file(tmp_path / "file", b"new")
    assert victim.read_bytes() == b"precious"
    assert (tmp_path / f"file.part-{'0' * 16}").is_symlink()
    monkeypatch.undo()
    write_file(tmp_path / "file", b"new")
    assert victim.read_bytes() == b"precious"


def test_full_disk_error_names_file_and_remedy(tmp_path):
    path = tmp_path / "file"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        with pytest.raises(OSError, match="free some space or use") as caught:
            write_file(path, bytes(20))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert caught.value.errno == errno.EFBIG
    assert str(caught.value).endswith(f": '{path}'")
    with pytest.raises(FileNotFoundError, match=r"no/folder'$"):
        write_file(tmp_path / "no" / "folder", b"new")


# --- the cache folder ---

needs_modes = pytest.mark.skipif(
    not hasattr(os, "geteuid"), reason="Windows shows no owners and modes"
)
needs_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0,
    reason="only root can give a folder to another user",
)
ANOTHER_USER = 12345


@needs_modes
@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o707, 0o722])
def test_folder_writable_by_others_is_refused(tmp_path, mode):
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(UnsafeFolderError, match="shared"):
        make_private(folder)


@needs_modes
def test_parent_writable_by_others_is_refused_unless_sticky(tmp_path):
    parent = tmp_path / "shared"
    inner = parent / "one" / "two"
    inner.mkdir(parents=True, mode=0o700)
    parent.chmod(0o777)
    with pytest.raises(UnsafeFolderError, match=f"others may write to {parent}"):
        make_private(inner)
    parent.chmod(0o1777)
    assert make_private(inner) == inner.resolve()


@needs_root
@pytest.mark.parametrize("above", [0, 1, 2])
def test_folder_of_another_user_is_refused_at_any_height(tmp_path, above):
    folder = tmp_path / "one" / "two" / "three"
    folder.mkdir(parents=True, mode=0o700)
    place = [folder, *folder.parents][above]
    os.chown(place, ANOTHER_USER, -1)
    with pytest.raises(UnsafeFolderError, match=f"{place} belongs to user"):
        make_private(folder)


def elsewhere(before="", **environment):
    """The user's cache folder in a process with another environment."""
    given = {"HOME": None, "XDG_CACHE_HOME": None, "MCCFR_SPIEL_CACHE": None}
    variables = os.environ | given | environment
    program = f"""
import os
from mccfr_spiel.common.cache_folder import user_cache_folder
{before}
print(user_cache_folder())
"""
    return subprocess.run(
        [sys.executable, "-c", program],
        env={name: value for name, value in variables.items() if value is not None},
        cwd=pathlib.Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


@pytest.mark.skipif(sys.platform != "linux", reason="the names are those of Linux")
def test_environment_variables_move_the_cache_folder(tmp_path):
    home, other = str(tmp_path / "home"), str(tmp_path / "other")
    assert elsewhere(HOME=home) == f"{home}/.cache/mccfr_spiel"
    assert elsewhere(HOME=home, XDG_CACHE_HOME=other) == f"{other}/mccfr_spiel"
    assert elsewhere(XDG_CACHE_HOME=other, MCCFR_SPIEL_CACHE=home) == home
