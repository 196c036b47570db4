"""save_tree and load_tree: complete trees on disk.

Processes that load the same saved tree map its files into memory, so they share one
copy in physical memory.

The folder of a saved tree contains .npy files and `tree.json`, which identifies the
game. The arrays are those of the `GameTree`, the names of its infosets, and the list of
its leaves.
"""

import json
import os
import pathlib
import shutil
import tempfile
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.arenas.infosets.identity import content_print, has_name
from mccfr_spiel.arenas.infosets.loading import load_game, saved_game
from mccfr_spiel.arenas.infosets.names import InfosetNames, KeyNames, TextNames
from mccfr_spiel.arenas.rules.row_table import RowTable
from mccfr_spiel.arenas.rules.rule_expansion import Expansion
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.common.arrays import MAX_INDEX
from mccfr_spiel.common.budget import MaxMemory, TreeFullError
from mccfr_spiel.common.checkpoint import CheckpointError, DamagedError
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.infoset_arrays import pack_strings
from mccfr_spiel.kernels.tables import Passes

HEADER = "tree.json"

_VERSION = 1
_ARRAYS = Expansion._fields[:-1]


def save_tree(tree: GameTree, folder: str | os.PathLike[str]) -> None:
    """Writes a complete tree into a new folder, which `load_tree` reads.

    The folder is created atomically: it appears with all files or not at all.

    Args:
        tree: complete tree without an abstraction.
        folder: path of the new folder.

    Raises:
        ValueError: the tree is not complete or has an abstraction.
        OSError: the folder exists already or cannot be written.
    """
    if tree.abstraction is not None or not tree.is_complete:
        raise ValueError(
            f"{tree!r} cannot be saved: expected a complete tree without an "
            "abstraction, such as GameTree(game).expand_all()."
        )
    path = pathlib.Path(folder)
    if path.exists():
        raise FileExistsError(f"{path} exists already; use another folder.")
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
    """Loads a complete tree that `save_tree` wrote, by mapping its files into memory.

    The loaded tree has the same arrays as the saved tree, including the list of leaves.
    If a program changes the arrays, the files and other processes are not affected.
    Numbers in the files are not checked, and wrong numbers can crash the process, so
    only load trees from folders that nobody else can write to.

    Args:
        folder: path of the saved tree.
        game: the game, if it cannot be loaded from its string.
        max_memory: maximum number of bytes, or a string such as "4GiB", see `GameTree`.
            Mapped files count in full.

    Raises:
        MemoryBudgetError: the files are larger than `max_memory`.
        CheckpointError: the folder has no tree, or a tree of another game or version.
        ValueError: the game cannot be loaded.
        OSError: a file cannot be read.
    """
    path = pathlib.Path(folder)
    try:
        header = json.loads((path / HEADER).read_bytes())
        version, name, identity = (header[k] for k in ("version", "game", "identity"))
    except (ValueError, KeyError, TypeError, FileNotFoundError) as error:
        raise DamagedError(
            f"{path} has no tree: {error!r}. Expected a folder written by save_tree."
        ) from error
    source = saved_game(name) if game is None else load_game(game)
    has_same_name = version == _VERSION and has_name(source, name)
    if not has_same_name or identity != content_print(source):
        raise CheckpointError(
            f"The tree in {path} is of {name}, version {version}; expected "
            f"{brief(source)}, version {_VERSION}. Save it again with save_tree."
        )
    tree = GameTree(source, max_nodes=MAX_INDEX, max_memory=max_memory)
    files = sorted(path.glob("*.npy"))
    tree.budget.hold("its files", sum(file.stat().st_size for file in files))
    try:
        # Mode "c" is copy-on-write. The maps are converted to plain arrays, because
        # numba would compile functions again for the type `np.memmap`.
        maps = {file.stem: np.load(file, mmap_mode="c") for file in files}
        _fill(tree, {name: np.asarray(array) for name, array in maps.items()})
    except (TreeFullError, MemoryError):
        raise
    except Exception as error:  # a file is missing, truncated or foreign
        raise DamagedError(
            f"The tree in {path} cannot be read: {error!r}. Save it again with "
            "save_tree."
        ) from error
    return tree


def _fill(tree: GameTree, arrays: dict[str, np.ndarray]) -> None:
    """Passes the arrays of a saved tree to a new GameTree.

    Args:
        tree: tree without expanded nodes.
        arrays: arrays of the files by name.

    Raises:
        KeyError: an array is missing.
    """
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
