"""Files are written whole or not at all."""

import os

import pytest

from mccfr_spiel.storage.atomic import write_file


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


def test_what_a_kill_left_is_written_over_and_the_file_is_put_as_asked(tmp_path):
    path = tmp_path / "file"
    (tmp_path / "file.part").write_bytes(b"half a file")
    moved = []

    def put(part, final):
        moved.append((part.name, final.name, part.read_bytes()))
        os.replace(part, final)

    write_file(path, b"new", put=put)
    assert moved == [("file.part", "file", b"new")]
    assert files_in(tmp_path) == {"file": b"new"}
