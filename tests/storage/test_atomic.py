"""Files are written whole or not at all."""

import errno
import os
import resource
import secrets
import time

import pytest

from mccfr_spiel.storage.folders import write_file


def files_in(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("error", [OSError(28, "full"), KeyboardInterrupt()])
@pytest.mark.parametrize("step", ["content", "fsync", "replace"])
def test_an_error_at_any_step_leaves_the_older_file_alone(
    tmp_path, monkeypatch, error, step
):
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


def test_only_what_killed_writers_of_this_file_left_long_ago_is_removed(
    tmp_path, monkeypatch
):
    path, number = tmp_path / "a[1]file", "0123456789abcdef"
    others = [f"{path.name}.part-1", f"a1file.part-{number}", f"x{path.name}"]
    for name in (f"{path.name}.part-{number}", *others):
        (tmp_path / name).write_bytes(b"half")
    write_file(path, b"new")
    assert len(files_in(tmp_path)) == 5  # its writer may be alive
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 3601)
    write_file(path, b"new")
    assert set(files_in(tmp_path)) == {path.name, *others}


def test_a_file_has_the_permissions_that_the_user_gives_new_files(tmp_path):
    before = os.umask(0o027)
    try:
        write_file(tmp_path / "file", b"new")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640


def test_a_link_in_the_place_of_the_unfinished_file_is_not_followed(
    tmp_path, monkeypatch
):
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


def test_a_full_disk_is_an_error_that_names_the_file_and_what_helps(tmp_path):
    path = tmp_path / "file"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        with pytest.raises(OSError, match="make room or choose") as caught:
            write_file(path, bytes(20))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert caught.value.errno == errno.EFBIG
    assert str(caught.value).endswith(f": '{path}'")
    with pytest.raises(FileNotFoundError, match=r"no/folder'$"):
        write_file(tmp_path / "no" / "folder", b"new")
