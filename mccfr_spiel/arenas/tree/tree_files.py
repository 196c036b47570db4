"""Whole trees on disk, which processes of one machine share by mapping their files.

A saved tree is a folder: the arrays of a `GameTree`, of its infosets' names and of the
list of its leaves as .npy files, and `tree.json`, which says of which game they are.
"""

import json
import os
import pathlib
import shutil
import tempfile
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.arenas.infosets.loading import (
    content_print,
    has_name,
    load_game,
    saved_game,
)
from mccfr_spiel.arenas.infosets.names import InfosetNames, KeyNames, TextNames
from mccfr_spiel.arenas.rules.kernel import RowTable
from mccfr_spiel.arenas.rules.store import Expansion
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.common.arrays import MAX_INDEX
from mccfr_spiel.common.checkpoint import CheckpointError, DamagedError, pack_strings
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.limits import MaxMemory, TreeFullError
from mccfr_spiel.kernels.tables import Passes

HEADER = "tree.json"

_VERSION = 1
_ARRAYS = Expansion._fields[:-1]


def save_tree(tree: GameTree, folder: str | os.PathLike[str]) -> None:
    """Writes a whole tree into a new folder, from which `load_tree` maps it.

    The folder appears whole or not at all.

    Args:
        tree: a complete tree without an abstraction.
        folder: the path, at which nothing may be yet.

    Raises:
        ValueError: the tree is not complete, or has an abstraction.
        OSError: the folder exists already, or cannot be written.
    """
    if tree.abstraction is not None or not tree.is_complete:
        raise ValueError(
            f"{tree!r} cannot be saved: give a complete tree without an abstraction, "
            "such as GameTree(game).expand_all()."
        )
    path = pathlib.Path(folder)
    if path.exists():
        raise FileExistsError(f"{path} exists already; save the tree elsewhere.")
    arrays = {name: getattr(tree, name) for name in _ARRAYS}
    leaves = tree.list_leaves()
    arrays |= {f"pass_{name}": array for name, array in leaves._asdict().items()}
    names = tree.infoset_names
    if tree.rules is not None and isinstance(names, KeyNames):
        arrays |= {f"keys_{n}": array for n, array in names.keys._asdict().items()}
    else:
        arrays |= pack_strings(names)
    header = {"version": _VERSION, "game": str(tree.source)}
    header["identity"] = content_print(tree.source)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = tempfile.mkdtemp(prefix=f"{path.name}.part-", dir=path.parent)
    try:
        for name, array in arrays.items():
            np.save(f"{unfinished}/{name}.npy", array, allow_pickle=False)
        pathlib.Path(unfinished, HEADER).write_text(json.dumps(header))
        os.rename(unfinished, path)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def load_tree(
    folder: str | os.PathLike[str],
    game: pyspiel.Game | str | None = None,
    *,
    max_memory: MaxMemory = None,
) -> GameTree:
    """Maps a whole tree that `save_tree` wrote into memory.

    It equals the saved tree in every number, and its leaves are listed already. What a
    process writes into its arrays is seen by that process only. The numbers in the
    files are trusted, so load trees from folders that nobody else can write to.

    Args:
        folder: the path.
        game: the game, if its load string is not enough to make it.
        max_memory: the bytes, or words such as "4GiB", that the tree may take, see
            `GameTree`. Mapped files count in full.

    Raises:
        MemoryBudgetError: the files are larger than that.
        CheckpointError: the folder has no tree, or one of another game or version.
        ValueError: the game cannot be loaded.
        OSError: a file cannot be read.
    """
    path = pathlib.Path(folder)
    try:
        header = json.loads((path / HEADER).read_bytes())
        version, name, identity = (header[k] for k in ("version", "game", "identity"))
    except (ValueError, KeyError, TypeError, FileNotFoundError) as error:
        raise DamagedError(f"{path} has no tree: {error!r}.") from error
    source = saved_game(name) if game is None else load_game(game)
    is_its = version == _VERSION and has_name(source, name)
    if not is_its or identity != content_print(source):
        raise CheckpointError(
            f"The tree in {path} is of {name}, version {version}, and not of "
            f"{brief(source)}, version {_VERSION}. Expand and save the tree again."
        )
    tree = GameTree(source, max_nodes=MAX_INDEX, max_memory=max_memory)
    files = sorted(path.glob("*.npy"))
    tree.budget.hold("its files", sum(file.stat().st_size for file in files))
    try:
        # Writable and no `np.memmap`, so that compiled functions take them like any
        # other arrays; each process may change its own copy.
        maps = {file.stem: np.load(file, mmap_mode="c") for file in files}
        _fill(tree, {name: np.asarray(array) for name, array in maps.items()})
    except (TreeFullError, MemoryError):
        raise
    except Exception as error:  # a file is missing, cut, or none of ours
        raise DamagedError(
            f"The tree in {path} cannot be read: {error!r}. Expand and save it again."
        ) from error
    return tree


def _fill(tree: GameTree, arrays: dict[str, np.ndarray]) -> None:
    """Gives a new tree the arrays of files."""
    players = arrays["infosets"]["player"]
    of_tree: Any = (arrays[name] for name in _ARRAYS)
    names: InfosetNames = (
        TextNames(arrays["text"], arrays["ends"], players)
        if tree.rules is None
        else KeyNames(
            tree.rules,
            RowTable(*(arrays[f"keys_{name}"] for name in RowTable._fields)),
            players,
        )
    )
    leaves = Passes(*(arrays[f"pass_{name}"] for name in Passes._fields))
    tree.take_over(Expansion(*of_tree), names, leaves)
