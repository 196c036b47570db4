"""The cache folder: where it is, and who else could write to it."""

import os
import pathlib
import subprocess
import sys

import pytest

from mccfr_spiel.storage.folders import (
    UnsafeFolderError,
    make_private,
)

needs_modes = pytest.mark.skipif(
    not hasattr(os, "geteuid"), reason="Windows shows no owners and modes"
)
needs_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0,
    reason="only root can give a folder to another user",
)
ANOTHER_USER = 12345


@needs_modes
def test_a_folder_made_private_is_safe_whatever_the_umask(tmp_path):
    previous = os.umask(0)
    try:
        made = make_private(tmp_path / "one" / "two" / "three")
    finally:
        os.umask(previous)
    assert made.is_dir()
    for folder in (made, made.parent, made.parent.parent):
        assert folder.stat().st_mode & 0o777 == 0o700
    assert make_private(made) == made


@needs_modes
@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o707, 0o722, 0o770])
def test_a_folder_that_others_may_write_to_is_named(tmp_path, mode):
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(UnsafeFolderError, match=r"chmod go-w .*shared"):
        make_private(folder)


@needs_modes
def test_a_parent_that_others_may_write_to_is_named_unless_it_is_sticky(tmp_path):
    parent = tmp_path / "shared"
    inner = parent / "one" / "two"
    inner.mkdir(parents=True, mode=0o700)
    parent.chmod(0o777)
    with pytest.raises(UnsafeFolderError, match=f"write to {parent};"):
        make_private(inner)
    for mode in (0o1777, 0o775):
        parent.chmod(mode)
        assert make_private(inner) == inner


@needs_root
@pytest.mark.parametrize("above", [0, 1, 2])
def test_a_folder_of_another_user_is_named_at_any_height(tmp_path, above):
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
from mccfr_spiel.storage.folders import user_cache_folder
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
def test_variables_move_the_cache_folder(tmp_path):
    home, other = str(tmp_path / "home"), str(tmp_path / "other")
    assert elsewhere(HOME=home) == f"{home}/.cache/mccfr_spiel"
    assert elsewhere(HOME=home, XDG_CACHE_HOME=other) == f"{other}/mccfr_spiel"
    assert elsewhere(XDG_CACHE_HOME=other, MCCFR_SPIEL_CACHE=home) == home
