"""Whole trees kept on disk, made once and shared by all processes of a machine.

A cached tree is a folder of .npy files, which are mapped into memory when the tree is
loaded: the arrays of the `GameTree`, its infosets' names and the list of its leaves.
The folder's name has a hash of everything that determines the tree: the game
(tree/fingerprint.py) and all sources of this package. The manifest is written last; it
holds the size and the checksums (storage/checksums.py) of each file, and a checksum of
its own. A folder appears whole or not at all, by renaming.
"""

import contextlib
import hashlib
import itertools
import json
import math
import os
import pathlib
import random
import re
import shutil
import stat
import tempfile
import time
import warnings
import zlib
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel import kernels
from mccfr_spiel.arrays import CHANCE_NODE, MAX_INDEX, TERMINAL
from mccfr_spiel.compiled.jit import package_digest
from mccfr_spiel.limits.budget import Budget, MaxMemory, TreeFullError
from mccfr_spiel.rules.expansion import Expansion
from mccfr_spiel.rules.key_table import RowTable, new_row_table
from mccfr_spiel.storage import locks
from mccfr_spiel.storage.checksums import NOTE, WrongFileError, check, checksums
from mccfr_spiel.storage.folders import remove_own, user_cache_folder, why_unsafe
from mccfr_spiel.tree.fingerprint import UnprovenError, file_prints, fingerprint
from mccfr_spiel.tree.game_tree import GameTree
from mccfr_spiel.tree.loading import load_game
from mccfr_spiel.tree.names import KeyNames, TextNames

FORMAT = 2
"""Of the manifest and the files that it names."""

CODE = package_digest()
"""The code that makes trees: all of this package's, as its sources are when they are
imported. They may be edited later. None if they cannot be read."""

MANIFEST = "mccfr_spiel_tree.json"
"""This file also marks a folder as one that may be removed when it is old."""

_PLAYOUTS = 20
_HOUR, _MONTH = 3600, 30 * 24 * 3600
_UNFINISHED = ".mccfr_spiel-unfinished-"


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
    verify: bool = False,
    twin: bool | None = None,
) -> GameTree:
    """The whole tree of a game, mapped from disk; made and kept there if need be.

    It equals `GameTree(game).expand_all()` in every number, and its leaves are listed
    already. What a process writes into its arrays is seen by that process only. A
    damaged tree is made again, with a warning. If a tree cannot be kept, it is in
    memory, with a warning.

    A tree is only used for a game that is surely the one that it was made of: one with
    the same load string, OpenSpiel and Python, and the same files that its parameters
    name; and if it is a Python game, with the same code, attributes and data in all
    modules that it uses. Installed packages count by their versions, and this package
    by its sources. If that cannot be known, as for `pyspiel.load_efg_game` or for code
    that reads files, the tree is not kept, and a warning says why. Besides, some random
    histories are played at each load.

    Trees of up to 128 MiB are compared with their checksums at each load. A larger one
    is read as a whole (0.5 s a GB) if it was never read in this place, or if its files'
    sizes, times or numbers on the disk have changed. At other loads 128 MiB at random
    places are read. So a bit that a disk flips later, without a trace, in a tree of
    several GB is not found at once by most loads, but with `verify`.

    Args:
        game: a game or its load string. For a C++ game made of files or of a Python
            game the load string is needed.
        folder: where trees are kept: by default `trees` in the user's cache folder for
            this package, which the environment variable MCCFR_SPIEL_CACHE moves. Use a
            folder that nobody else can write to, since the numbers in it are trusted;
            otherwise there is a warning.
        max_nodes: how many nodes the tree may have.
        max_memory: the bytes, or words such as "4GiB", that the tree may take, on disk
            or while it is made, see `GameTree`.
        verify: whether to compare all of a large tree with its checksums, too.
        twin: whether the game's compiled twin may expand a tree that is made now, see
            `GameTree`.

    Raises:
        TreeFullError, MemoryBudgetError: the tree is larger than that.
        ValueError: see `GameTree`.
    """
    try:
        key = _key(game)
    except UnprovenError as error:
        tree = GameTree(game, max_nodes=max_nodes, max_memory=max_memory, twin=twin)
        _warn(f"The tree of {tree.source} is not kept: {error}")
        return tree.expand_all()
    tree = GameTree(game, max_nodes=max_nodes, max_memory=max_memory, twin=twin)
    base = user_cache_folder() / "trees" if folder is None else pathlib.Path(folder)
    place = base / key
    try:
        _warn_if_unsafe(place)
        return _load(tree, place, verify=verify)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (_UnusableError, OSError) as error:
        _warn(f"The tree of {tree.source} in {place} is made anew: {error}")
    tree.expand_all()
    if file_prints(tree.source) and _key(game) != key:
        _warn(f"The tree of {tree.source} is not kept: its files changed meanwhile.")
        return tree
    leaves = tree.list_leaves()
    try:
        _store(tree, leaves, place, verify=verify)
        return _load(tree, place)
    except (_UnusableError, OSError) as error:
        _warn(
            f"The tree of {tree.source} cannot be kept in {place}, it is in this "
            f"process's memory alone: {error}"
        )
        return tree


def cached_in_turn(
    game: pyspiel.Game | str,
    folder: str | os.PathLike[str] | None = None,
    max_memory: MaxMemory = None,
    twin: bool | None = None,
) -> GameTree:
    """As `cached_tree`. If the tree must be made, one process of those that ask makes
    it while the others wait."""
    with contextlib.ExitStack() as stack:
        base = user_cache_folder() / "trees" if folder is None else pathlib.Path(folder)
        with contextlib.suppress(OSError):  # `cached_tree` says what is wrong with it
            base.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = locks.acquire(base / ".sweeps.lock", seconds=math.inf)
            stack.callback(locks.release, lock)
        return cached_tree(game, folder, max_memory=max_memory, twin=twin)


def _warn(message: str) -> None:
    warnings.warn(message, TreeCacheWarning, stacklevel=3)


def _warn_if_unsafe(place: pathlib.Path) -> None:
    """Warns if others can change a tree, or the folders above it."""
    folder = place
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    try:
        reason = why_unsafe(folder) or _open_file(place)
    except OSError as error:
        reason = str(error)
    if reason is not None:
        warnings.warn(
            f"Others could change the trees in {place.parent}, which are trusted: "
            f"{reason}. Use a folder of your own.",
            TreeCacheWarning,
            stacklevel=3,
        )


def _open_file(place: pathlib.Path) -> str | None:
    """Says in words which file of a tree others can change; None if they cannot."""
    if not place.is_dir() or not hasattr(os, "geteuid"):
        return None
    for path in place.iterdir():
        status = path.stat()
        if status.st_uid not in (os.geteuid(), 0):
            return f"{path} belongs to another user (number {status.st_uid})"
        if status.st_mode & stat.S_IWOTH:
            return f"every user may write to {path}"
    return None


# --- what determines a tree -----------------------------------------------------


def _key(game: pyspiel.Game | str) -> str:
    """The name of the folder for a game's tree.

    Raises:
        UnprovenError: something that determines the tree cannot be seen.
        ValueError: the game cannot be loaded.
    """
    if CODE is None:
        raise UnprovenError("the sources of mccfr_spiel cannot be read.")
    parts = f"{FORMAT} {CODE} {fingerprint(game)}"
    digest = hashlib.blake2b(parts.encode(), digest_size=12).hexdigest()
    name = re.sub(r"\W", "_", load_game(game).get_type().short_name)
    return f"{name[:64]}-{digest}"


# --- reading -----------------------------------------------------------------


def _load(like: GameTree, place: pathlib.Path, *, verify: bool = False) -> GameTree:
    """Loads the tree that a folder keeps.

    Args:
        like: a tree with the same game, and with the limits to keep to.
        place: the folder.
        verify: as in `cached_tree`.

    Raises:
        FileNotFoundError: there is none.
        _UnusableError: it is damaged, or not of this game.
        TreeFullError: it is larger than the limits.
    """
    budget = Budget(like.budget.limit)  # the other tree's bytes are its own
    tree = GameTree(
        like.source, max_nodes=like.max_nodes, max_memory=budget, twin=like.twin
    )
    manifest = _read_manifest(place)
    if manifest["num_nodes"] > tree.max_nodes:
        raise TreeFullError(
            f"{tree.source} has {manifest['num_nodes']} nodes, more than "
            f"max_nodes={tree.max_nodes}."
        )
    files = manifest["files"]
    budget.hold("its files", sum(about["bytes"] for about in files.values()))
    try:
        check(place, files, everything=verify)
        arrays = {name.removesuffix(".npy"): _mapped(place / name) for name in files}
        _fill(tree, arrays)
        _check_playouts(tree)
    except (TreeFullError, MemoryError):
        raise
    except (WrongFileError, _UnusableError) as error:
        raise _UnusableError(str(error)) from error
    except OSError as error:
        raise _UnusableError(f"it cannot be read: {error}.") from error
    except Exception as error:  # the arrays, or the game that is played on them
        raise _UnusableError(f"its arrays do not fit together: {error!r}.") from error
    # The time of the manifest says when the tree was used, if we are its owner.
    with contextlib.suppress(OSError):
        os.utime(place / MANIFEST)
    return tree


def _read_manifest(place: pathlib.Path) -> dict[str, Any]:
    """Reads the manifest and compares its own checksum.

    Raises:
        FileNotFoundError: there is none.
        _UnusableError: it is damaged, or of another format.
    """
    try:
        data = (place / MANIFEST).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError as error:
        raise _UnusableError(f"its {MANIFEST} cannot be read: {error}.") from error
    try:
        manifest = json.loads(data)
        version, crc = manifest["format"], manifest.pop("crc32", None)
        is_whole = crc == _manifest_crc(manifest)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise _UnusableError(f"its {MANIFEST} is damaged: {error!r}.") from error
    if version != FORMAT:
        raise _UnusableError(f"it is of format {version}, not {FORMAT}.")
    if not is_whole:
        raise _UnusableError(
            f"its {MANIFEST} is damaged: what it says and its checksum do not fit "
            "together."
        )
    return manifest


def _manifest_crc(manifest: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(manifest, sort_keys=True).encode())


def _mapped(path: pathlib.Path) -> np.ndarray:
    """Maps a file's array, of which each process may change its own copy.

    The array is writable and no `np.memmap`, so compiled functions take it like any
    other array and are not compiled again.
    """
    try:
        return np.asarray(np.load(path, mmap_mode="c", allow_pickle=False))
    except Exception as error:  # of a header that is none
        raise _UnusableError(f"{path} is damaged: {error!r}") from error


def _fill(tree: GameTree, arrays: dict[str, np.ndarray]) -> None:
    """Gives a new tree the arrays of files."""
    infosets = arrays["infosets"]
    keys = new_row_table(np.uint16, 0)
    if tree.rules is None:
        names = TextNames(arrays["text"], arrays["ends"], infosets["player"])
    else:
        keys = RowTable(*(arrays[f"keys_{name}"] for name in RowTable._fields))
        names = KeyNames(tree.rules, keys, infosets["player"])
    probs = arrays["chance_probs"].tolist()
    bounds = [*arrays["chance_starts"].tolist(), len(probs)]
    whole = Expansion(
        nodes=arrays["nodes"],
        infosets=infosets,
        actions=arrays["actions"],
        chance_probs=arrays["chance_probs"],
        chance_cdf=arrays["chance_cdf"],
        utilities=arrays["utilities"],
        distributions={
            tuple(probs[start:stop]): start
            for start, stop in itertools.pairwise(bounds)
        },
        keys=keys,
    )
    leaves = (arrays[f"pass_{name}"] for name in kernels.Passes._fields)
    tree.take_over(whole, names, kernels.Passes(*leaves))


def _check_playouts(tree: GameTree) -> None:
    """Raises _UnusableError if some random histories differ in the game and the tree.

    Each load plays other histories, so that the next may find what this one misses.
    """
    generator = random.Random()
    for _ in range(_PLAYOUTS):
        state = tree.new_state()
        node, sequences = 0, list(range(tree.num_players))
        while not state.is_terminal():
            first, start, _, count, player = tree.nodes[node].item()
            _check_node(tree, node, state, sequences)
            child = generator.randrange(count)
            if player == CHANCE_NODE:
                state.apply_action(state.chance_outcomes()[child][0])
            else:
                sequences[player] = start + child
                state.apply_action(state.legal_actions()[child])
            node = first + child
        _check_node(tree, node, state, sequences)


def _check_node(
    tree: GameTree, node: int, state: pyspiel.State, sequences: list[int]
) -> None:
    """Raises _UnusableError unless a node's record says what its state says."""
    _, start, infoset, count, player = tree.nodes[node].item()
    acting = state.current_player()
    if acting == TERMINAL:
        kept, real = tree.utilities[start].tolist(), list(state.returns())
    elif acting == CHANCE_NODE:
        kept = tree.chance_probs[start : start + count].tolist()
        real = [prob for _, prob in state.chance_outcomes()]
    else:
        info_state = state.information_state_string(acting)
        legal = state.legal_actions()
        kept = (
            *tree.infosets[infoset].item()[1:],
            tree.info_state(infoset),
            tree.actions[start : start + count].tolist(),
            infoset,
        )
        record = (start, sequences[acting], len(legal), acting)
        real = (*record, info_state, legal, tree.find_at(state, acting))
    if (player, kept) != (acting, real):
        raise _UnusableError(
            f"after the moves {state.history()} it has {(player, kept)}, but "
            f"the game {(acting, real)}."
        )


# --- writing -----------------------------------------------------------------


def _store(
    tree: GameTree, leaves: kernels.Passes, place: pathlib.Path, *, verify: bool
) -> None:
    """Writes a tree into a folder, unless another process has just done so.

    Raises:
        OSError: it cannot be written.
    """
    base = place.parent
    base.mkdir(mode=0o700, parents=True, exist_ok=True)
    _remove_old(base)
    unfinished = pathlib.Path(
        tempfile.mkdtemp(prefix=f"{place.name}{_UNFINISHED}", dir=base)
    )
    try:
        _write(tree, leaves, unfinished)
        try:
            _load(tree, place, verify=verify)
            return
        except FileNotFoundError:
            is_damaged = place.exists() and not (place / MANIFEST).exists()
        except _UnusableError:
            is_damaged = True
        if is_damaged:
            _remove(place)
        try:
            os.rename(unfinished, place)
        except OSError:
            if not (place / MANIFEST).exists():
                raise  # otherwise another process was faster
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _write(tree: GameTree, leaves: kernels.Passes, folder: pathlib.Path) -> None:
    arrays = {
        "nodes": tree.nodes,
        "infosets": tree.infosets,
        "actions": tree.actions,
        "chance_probs": tree.chance_probs,
        "chance_cdf": tree.chance_cdf,
        "chance_starts": tree.chance_starts,
        "utilities": tree.utilities,
    }
    arrays |= {f"pass_{n}": array for n, array in leaves._asdict().items()}
    names = tree.infoset_names
    has_keys = tree.rules is not None
    if has_keys and isinstance(names, KeyNames):
        arrays |= {f"keys_{n}": array for n, array in names.keys._asdict().items()}
    for name, array in arrays.items():
        with (folder / f"{name}.npy").open("wb") as file:
            np.save(file, array, allow_pickle=False)
    if not has_keys:
        _write_names(tree.info_states, tree.num_infosets, folder)
    files = {}
    for path in sorted(folder.iterdir()):
        with path.open("rb+") as file:
            os.fsync(file.fileno())
        files[path.name] = checksums(path)
    manifest = {
        "format": FORMAT,
        "game": str(tree.source),
        "num_nodes": tree.num_nodes,
        "files": files,
    }
    manifest["crc32"] = _manifest_crc(manifest)
    (folder / MANIFEST).write_text(json.dumps(manifest, sort_keys=True) + "\n")


_NAMES_AT_ONCE = 1 << 18


def _write_names(names: Any, count: int, folder: pathlib.Path) -> None:
    """Writes names as one text and the ends of each in it, a batch at a time."""
    lengths = (len(name.encode("utf-8", "surrogateescape")) for name in names)
    ends = np.cumsum(np.fromiter(lengths, np.int64, count))
    np.save(folder / "ends.npy", ends, allow_pickle=False)
    size = int(ends[-1]) if count else 0
    header = {"descr": "|u1", "fortran_order": False, "shape": (size,)}
    rest = iter(names)
    with (folder / "text.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        while batch := "".join(itertools.islice(rest, _NAMES_AT_ONCE)):
            file.write(batch.encode("utf-8", "surrogateescape"))


def _remove(place: pathlib.Path) -> None:
    """Removes a tree's folder in such a way that nobody sees a part of it.

    A folder with foreign files in it stays, and so does a link to a folder.
    """
    aside = place.with_name(f"{place.name}{_UNFINISHED}{os.getpid()}-{time.time_ns()}")
    with contextlib.suppress(FileNotFoundError):
        if not place.is_symlink() and all(map(_is_own_file, os.listdir(place))):
            os.rename(place, aside)
            remove_own(aside, _is_own_file, MANIFEST)


def _is_own_file(name: str) -> bool:
    is_note = name == NOTE or name.startswith(f"{NOTE}.")  # finished or not
    return is_note or name == MANIFEST or name.endswith(".npy")


def _remove_old(base: pathlib.Path) -> None:
    """Removes what killed processes left, and trees that nobody used for a month."""
    now = time.time()
    for folder in base.iterdir():
        with contextlib.suppress(OSError):
            if _UNFINISHED in folder.name:
                newest = max(p.stat().st_mtime for p in (folder, *folder.iterdir()))
                if newest < now - _HOUR:
                    remove_own(folder, _is_own_file)
            elif (folder / MANIFEST).stat().st_mtime < now - _MONTH:
                _remove(folder)
