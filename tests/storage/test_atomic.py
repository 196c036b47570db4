"""Files are written whole or not at all."""

import errno
import os
import secrets

import pytest

from mccfr_spiel.storage.atomic import unused_beside, write_file


def files_in(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_file_is_replaced_by_bytes_or_by_what_a_function_writes(tmp_path):
    path = tmp_path / "file"
    write_file(path, b"first")
    assert files_in(tmp_path) == {"file": b"first"}

    def write(file):
        file.write(b"__cond")
        assert file.tell() == 6
        file.seek(0)
        file.write(b"se")

    write_file(path, write, lasting=True)
    assert files_in(tmp_path) == {"file": b"second"}


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


def test_the_file_is_put_as_asked_and_others_unfinished_files_stay(tmp_path):
    path = tmp_path / "file"
    (tmp_path / "file.0.part").write_bytes(b"half a file")
    moved = []

    def put(part, final):
        moved.append((part.name, final.name, part.read_bytes()))
        os.replace(part, final)

    write_file(path, b"new", put=put)
    [(part, final, content)] = moved
    assert part.startswith("file.")
    assert part.endswith(".part")
    assert (final, content) == ("file", b"new")
    assert files_in(tmp_path) == {"file": b"new", "file.0.part": b"half a file"}


def test_a_planted_link_is_not_followed(tmp_path, monkeypatch):
    monkeypatch.setattr(secrets, "token_hex", lambda size: "0" * size)
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    unused_beside(tmp_path / "file").symlink_to(victim)
    with pytest.raises(FileExistsError):
        write_file(tmp_path / "file", b"new")
    assert victim.read_bytes() == b"precious"


def test_a_full_disk_is_an_error_that_names_the_file(tmp_path):
    def full(file):
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="make room") as caught:
        write_file(tmp_path / "file", full)
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == str(tmp_path / "file")
    assert files_in(tmp_path) == {}
