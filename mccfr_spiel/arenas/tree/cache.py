"""Whole trees kept on disk, made once and shared by all processes of a machine.

A cached tree is a folder of .npy files, which are mapped into memory when the tree is
loaded: the arrays of the `GameTree`, its infosets' names and the list of its leaves.
Only trees of games that their load string determines are kept. The folder is named by a
hash of that string, of OpenSpiel's build and of all sources of this package. It appears
whole or not at all, by renaming.
"""

import contextlib
import hashlib
import importlib.metadata
import inspect
import os
import pathlib
import re
import shutil
import tempfile
import time
import warnings
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.arenas.infosets.loading import load_game, told_by_string
from mccfr_spiel.arenas.infosets.names import KeyNames, TextNames
from mccfr_spiel.arenas.rules.description import rules_of
from mccfr_spiel.arenas.rules.kernel import RowTable
from mccfr_spiel.arenas.rules.store import Expansion
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.common import folders
from mccfr_spiel.common.arrays import MAX_INDEX
from mccfr_spiel.common.checkpoint import pack_strings
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.folders import user_cache_folder
from mccfr_spiel.common.limits import Budget, MaxMemory, TreeFullError
from mccfr_spiel.kernels.jit import package_digest
from mccfr_spiel.kernels.tables import Passes

CODE = package_digest()
"""The code that makes trees: all of this package's, as its sources are when they are
imported. They may be edited later. None if they cannot be read."""

_ARRAYS = Expansion._fields[:-1]
_PART = ".part-"
_MONTH = 30 * 24 * 3600


class TreeCacheWarning(UserWarning):
    """A cached tree was not used, or could not be kept."""


class _UnusableError(Exception):
    """A folder does not hold the tree that it should; the message says why."""


def cached_tree(
    game: pyspiel.Game | str,
    folder: str | os.PathLike[str] | None = None,
    *,
    max_nodes: int = MAX_INDEX,
    max_memory: MaxMemory = None,
    twin: bool | None = None,
) -> GameTree:
    """The whole tree of a game, mapped from disk; made and kept there if need be.

    It equals `GameTree(game).expand_all()` in every number, and its leaves are listed
    already. What a process writes into its arrays is seen by that process only. If the
    tree must be made, one process of those that ask makes it while the others wait. A
    tree that cannot be read is made again, with a warning. If one cannot be kept, it is
    in memory, with a warning.

    Args:
        game: a game or its load string, which must determine the game: so it does for
            OpenSpiel's own games, unless they are made of files or payoffs, and for the
            games of `mccfr_spiel.games`.
        folder: where trees are kept: by default `trees` in the user's cache folder for
            this package, which the environment variable MCCFR_SPIEL_CACHE moves. Use a
            folder that nobody else can write to, since the numbers in it are trusted.
        max_nodes: how many nodes the tree may have.
        max_memory: the bytes, or words such as "4GiB", that the tree may take, on disk
            or while it is made, see `GameTree`.
        twin: whether the game's compiled twin may expand a tree that is made now, see
            `GameTree`.

    Raises:
        TreeFullError, MemoryBudgetError: the tree is larger than that.
        ValueError: the load string alone does not determine the game, or see
            `GameTree`.
    """
    source = load_game(game)
    reason = _why_not_kept(source)
    if reason is not None:
        raise ValueError(
            f"The tree of {brief(source)} is not kept on disk: {reason}. Use "
            "GameTree(game).expand_all()."
        )
    return _mapped_tree(source, folder, max_nodes, max_memory, twin)


def shared_tree(
    game: pyspiel.Game | str,
    folder: str | os.PathLike[str] | None = None,
    max_memory: MaxMemory = None,
    twin: bool | None = None,
) -> GameTree:
    """The whole tree of any game, as `cached_tree` where that is possible and else in
    this process's memory."""
    source = load_game(game)
    if _why_not_kept(source) is None:
        return _mapped_tree(source, folder, MAX_INDEX, max_memory, twin)
    tree = GameTree(source, max_nodes=MAX_INDEX, max_memory=max_memory, twin=twin)
    return tree.expand_all()


def _why_not_kept(game: pyspiel.Game) -> str | None:
    """Says in words why another process might not make the same tree of the game's load
    string; None if it surely would."""
    if CODE is None:
        return "the sources of mccfr_spiel cannot be read"
    rules = rules_of(game)
    if rules is not None:  # a part of this package, or of somebody's module
        module = rules.description.sizes.__module__
        is_told = module.partition(".")[0] == "mccfr_spiel"
    else:
        is_told = told_by_string(game)
    if is_told:
        return None
    return (
        "its load string alone does not determine the game, which is written in "
        "Python, or made of payoffs or of a file"
    )


def _mapped_tree(
    game: pyspiel.Game,
    folder: str | os.PathLike[str] | None,
    max_nodes: int,
    max_memory: MaxMemory,
    twin: bool | None,
) -> GameTree:
    if isinstance(max_memory, Budget):  # two trees are made here, one after the other
        max_memory = max_memory.limit

    def new() -> GameTree:
        return GameTree(game, max_nodes=max_nodes, max_memory=max_memory, twin=twin)

    base = user_cache_folder() / "trees" if folder is None else pathlib.Path(folder)
    place = base / _folder_name(game)
    with contextlib.suppress(FileNotFoundError, _UnusableError):
        return _load(new(), place)
    tree = new()
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # `_store` meets what is wrong with it
            base.mkdir(mode=0o700, parents=True, exist_ok=True)
            stack.enter_context(folders.held(base, f"{place.name}.lock", seconds=-1))
        try:
            return _load(new(), place)  # another process may have made it meanwhile
        except FileNotFoundError:
            pass
        except _UnusableError as error:
            _warn(f"The tree of {brief(game)} in {place} is made anew: {error}")
        tree.expand_all()
        tree.list_leaves()
        try:
            _store(tree, place)
            return _load(new(), place)
        except (_UnusableError, OSError) as error:
            _warn(
                f"The tree of {brief(game)} cannot be kept in {place}, it is in this "
                f"process's memory alone: {error}"
            )
    return tree


def _warn(message: str) -> None:
    warnings.warn(message, TreeCacheWarning, stacklevel=4)


def _folder_name(game: pyspiel.Game) -> str:
    """The name of the folder for a game's tree, by all that determines it."""
    build = pathlib.Path(inspect.getfile(pyspiel)).stat()
    version = importlib.metadata.version("open_spiel"), build.st_size, build.st_mtime_ns
    parts = CODE, version, np.__version__, str(game)
    digest = hashlib.blake2b(repr(parts).encode(), digest_size=12).hexdigest()
    name = re.sub(r"\W", "_", game.get_type().short_name)
    return f"{name[:64]}-{digest}"


# --- reading -----------------------------------------------------------------


def _load(tree: GameTree, place: pathlib.Path) -> GameTree:
    """Gives a new tree the arrays that a folder keeps, and returns it.

    Raises:
        FileNotFoundError: there is no such folder.
        _UnusableError: it cannot be read.
        TreeFullError: they are larger than the tree's limits.
    """
    if not place.is_dir():
        raise FileNotFoundError(place)
    try:
        files = sorted(place.glob("*.npy"))
        tree.budget.hold("its files", sum(path.stat().st_size for path in files))
        # Writable and no `np.memmap`, so that compiled functions take them like any
        # other arrays; each process may change its own copy.
        maps = {path.stem: np.load(path, mmap_mode="c") for path in files}
        arrays = {name: np.asarray(array) for name, array in maps.items()}
        num_nodes = len(arrays["nodes"])
        if num_nodes > tree.max_nodes:
            raise TreeFullError(
                f"{brief(tree.source)} has {num_nodes} nodes, more than "
                f"max_nodes={tree.max_nodes}."
            )
        _fill(tree, arrays)
    except (TreeFullError, MemoryError):
        raise
    except Exception as error:  # a file is missing, cut, or none of ours
        raise _UnusableError(f"it cannot be read: {error!r}.") from error
    with contextlib.suppress(OSError):  # notes when it was used, if we may
        os.utime(place)
    return tree


def _fill(tree: GameTree, arrays: dict[str, np.ndarray]) -> None:
    """Gives a new tree the arrays of files."""
    infosets = arrays["infosets"]
    of_tree: Any = (arrays[name] for name in _ARRAYS)
    whole = Expansion(*of_tree)
    if tree.rules is None:
        names = TextNames(arrays["text"], arrays["ends"], infosets["player"])
    else:
        keys = RowTable(*(arrays[f"keys_{name}"] for name in RowTable._fields))
        names = KeyNames(tree.rules, keys, infosets["player"])
    leaves = (arrays[f"pass_{name}"] for name in Passes._fields)
    tree.take_over(whole, names, Passes(*leaves))


# --- writing -----------------------------------------------------------------


def _store(tree: GameTree, place: pathlib.Path) -> None:
    """Writes a tree into a folder; replaces one that cannot be read.

    Raises:
        OSError: it cannot be written.
    """
    base = place.parent
    for folder in base.glob(f"*-{'[0-9a-f]' * 24}"):
        with contextlib.suppress(OSError):
            if time.time() - folder.stat().st_mtime > _MONTH:
                _remove(folder)  # nobody used it
    for folder in (place, *base.glob(f"{place.name}{_PART}*")):
        _remove(folder)  # what is damaged, or was left by a killed process
    unfinished = pathlib.Path(tempfile.mkdtemp(prefix=f"{place.name}{_PART}", dir=base))
    try:
        _write(tree, unfinished)
        os.rename(unfinished, place)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _remove(folder: pathlib.Path) -> None:
    """Removes a tree's folder, unless it is a link, or holds other files too."""
    with contextlib.suppress(OSError):
        if not folder.is_symlink():
            for path in folder.glob("*.npy"):
                path.unlink()
            folder.rmdir()


def _write(tree: GameTree, folder: pathlib.Path) -> None:
    arrays = {name: getattr(tree, name) for name in _ARRAYS}
    leaves = tree.list_leaves()
    arrays |= {f"pass_{name}": array for name, array in leaves._asdict().items()}
    names = tree.infoset_names
    has_keys = tree.rules is not None
    if has_keys and isinstance(names, KeyNames):
        arrays |= {f"keys_{n}": array for n, array in names.keys._asdict().items()}
    else:
        arrays |= pack_strings(names)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array, allow_pickle=False)
    for path in folder.iterdir():  # before the folder gets its name
        with path.open("rb+") as file:
            os.fsync(file.fileno())
