"""Whole trees that the processes of a sweep share."""

import contextlib
import functools
import hashlib
import pathlib
import re
import warnings

from mccfr_spiel.arenas.infosets.loading import load_game
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.arenas.tree.tree_files import load_tree, save_tree
from mccfr_spiel.common import folders
from mccfr_spiel.common.arrays import MAX_INDEX
from mccfr_spiel.common.checkpoint import CheckpointError
from mccfr_spiel.common.limits import MaxMemory


@functools.lru_cache(maxsize=8)
def shared_tree(
    game: str,
    folder: pathlib.Path | None,
    max_memory: MaxMemory = None,
    twin: bool | None = None,
) -> GameTree:
    """The whole tree of a game, mapped from a folder; expanded and kept there first if
    need be, by one process while the others wait.

    Args:
        game: a load string.
        folder: for trees; None keeps the tree in this process's memory.
        max_memory, twin: as in `GameTree`.
    """
    source = load_game(game)

    def new() -> GameTree:
        limits = {"max_nodes": MAX_INDEX, "max_memory": max_memory, "twin": twin}
        return GameTree(source, **limits).expand_all()

    if folder is None:
        return new()
    digest = hashlib.blake2b(str(source).encode(), digest_size=12).hexdigest()
    name = re.sub(r"\W", "_", source.get_type().short_name)[:64] + f"-{digest}"
    path = folder / name
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with folders.held(folder, f"{name}.lock", seconds=-1):
        if path.exists():
            with contextlib.suppress(CheckpointError):  # which is made anew
                return load_tree(path, source, max_memory=max_memory)
        tree = new()
        try:
            with contextlib.suppress(FileNotFoundError):
                path.rename(path.with_name(f"{name}.damaged"))
            save_tree(tree, path)
        except OSError as error:
            warnings.warn(
                f"The tree of {game} cannot be kept in {path}: {error}. It is in this "
                "process's memory alone.",
                stacklevel=2,
            )
            return tree
    return load_tree(path, source, max_memory=max_memory)
