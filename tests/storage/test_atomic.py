"""Files are written whole or not at all."""

import errno
import os
import re
import resource
import secrets

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


def test_the_file_is_put_as_asked_from_a_name_of_its_own(tmp_path):
    path = tmp_path / "file"
    moved = []

    def put(part, final):
        moved.append((part.name, final.name, part.read_bytes()))
        os.replace(part, final)

    write_file(path, b"new", put=put)
    write_file(path, b"newer", put=put)
    names = [name for name, _, _ in moved]
    assert [one[1:] for one in moved] == [("file", b"new"), ("file", b"newer")]
    assert all(re.fullmatch(r"file\.part-[0-9a-f]{16}", name) for name in names)
    assert len(set(names)) == 2
    assert files_in(tmp_path) == {"file": b"newer"}


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
