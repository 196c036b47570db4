"""Whole trees kept on disk, made once and shared by all processes of a machine.

A cached tree is a folder of .npy files, mapped into memory when it is loaded: the
arrays of the `GameTree`, its infosets' names and the leaves of its full pass. Its name
holds a hash of everything that decides the tree. The manifest, written last, holds each
file's size and CRC-32. A folder appears whole or not at all, by renaming.
"""

import ast
import bisect
import contextlib
import hashlib
import importlib.metadata
import inspect
import itertools
import json
import os
import pathlib
import random
import shutil
import sys
import tempfile
import textwrap
import time
import types
import warnings
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel import game_tree, kernels, randomness, rules_expansion, rules_kernel
from mccfr_spiel.compile import user_cache_folder
from mccfr_spiel.full_pass import FullPass, _list_leaves, full_pass
from mccfr_spiel.game_tree import (
    CHANCE_NODE,
    MAX_INDEX,
    TERMINAL,
    GameTree,
    TreeFullError,
)
from mccfr_spiel.rules import rules_of
from mccfr_spiel.rules_expansion import Expansion, KeyNames

FORMAT = 1
"""Raise it when the files change in a way that `_CODE` does not show."""

MANIFEST = "mccfr_spiel_tree.json"
"""By this name, too, a folder is known as one that may be removed when it is old."""

_CODE: tuple[Callable[..., Any] | types.ModuleType, ...] = (
    GameTree.expand,
    GameTree.expand_all,
    GameTree.place,
    GameTree._meet,
    GameTree._add_infoset,
    GameTree._add_distribution,
    GameTree._add_outcome,
    game_tree.turn_based,
    game_tree._moves,
    game_tree._with_player,
    randomness,
    rules_expansion,
    rules_kernel,
    kernels.walk_leaves,
    _list_leaves,
)
"""The code that decides what a tree's arrays are."""

_NOT_RULES = {"builtins", "pybind11_builtins", "pyspiel", "mccfr_spiel.rules_game"}
"""Modules of which games' classes are made, with no game's rules in them."""

_PLAYOUTS = 20
_HOUR, _MONTH = 3600, 30 * 24 * 3600
_BLOCK = 1 << 24
_BATCH = 1 << 18
_UNFINISHED = ".mccfr_spiel-unfinished-"


class TreeCacheWarning(UserWarning):
    """A cached tree was not used, or could not be kept."""


class _UnusableError(Exception):
    """A folder does not hold the tree that it should; the text says why."""


def cached_tree(
    game: pyspiel.Game | str,
    folder: str | os.PathLike[str] | None = None,
    *,
    max_nodes: int = MAX_INDEX,
    verify: bool = False,
) -> GameTree:
    """The whole tree of a game, mapped from the disk; made and kept there if need be.

    Equal to `GameTree(game).expand_all()` in every number, and its full pass is ready.
    What processes write into its arrays stays their own. A damaged or outdated tree is
    made anew, with a warning; where none can be kept, it is in memory, with a warning.

    Args:
        game: a game or its load string.
        folder: where trees are kept: by default `trees` in the user's cache folder for
            this package, which the environment variable MCCFR_SPIEL_CACHE moves. Only
            use a folder that nobody else can write: the numbers in it are trusted.
        max_nodes: an error beyond this many nodes.
        verify: read all files to compare them to their checksums (1 s per GB), not only
            their sizes.

    Raises:
        TreeFullError: the tree has more nodes.
        ValueError: see `GameTree`.
    """
    tree = GameTree(game, max_nodes=max_nodes)
    try:
        key = _key(tree.source)
    except OSError as error:
        _warn(f"{tree.source} comes from no file whose changes could be seen: {error}")
        return tree.expand_all()
    base = user_cache_folder() / "trees" if folder is None else pathlib.Path(folder)
    place = base / key
    try:
        return _load(tree, place, verify=verify)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (_UnusableError, OSError) as error:
        _warn(f"The tree of {tree.source} in {place} is made anew: {error}")
    tree.expand_all()
    passes = full_pass(tree)
    try:
        _store(tree, passes, place, verify=verify)
        return _load(tree, place)
    except (_UnusableError, OSError) as error:
        _warn(
            f"The tree of {tree.source} cannot be kept in {place}, it is in this "
            f"process's memory alone: {error}"
        )
        return tree


def _warn(message: str) -> None:
    warnings.warn(message, TreeCacheWarning, stacklevel=3)


# --- what decides a tree -----------------------------------------------------


def _key(game: pyspiel.Game) -> str:
    """The name of the folder for a game's tree.

    Raises:
        OSError: the game's source cannot be read.
    """
    parts = [
        sys.byteorder,
        str(FORMAT),
        str(game),
        importlib.metadata.version("open_spiel"),
        str(os.stat(inspect.getfile(pyspiel)).st_size),
        *(_code(inspect.getsource(getattr(item, "py_func", item))) for item in _CODE),
        *(_content(file) for file in sorted(_files_of(game))),
    ]
    digest = hashlib.blake2b("\0".join(parts).encode(), digest_size=12).hexdigest()
    return f"{game.get_type().short_name}-{digest}"


def _content(file: pathlib.Path) -> str:
    data = file.read_bytes()
    if file.suffix == ".py":
        return _code(data.decode())
    return hashlib.blake2b(data, digest_size=12).hexdigest()


def _code(source: str) -> str:
    """Python code without its comments and docstrings, which decide nothing."""
    parsed = ast.parse(textwrap.dedent(source))
    for part in ast.walk(parsed):
        body = getattr(part, "body", None)
        if isinstance(body, list):
            body[:] = [statement for statement in body if not _is_string(statement)]
    return ast.unparse(parsed)


def _is_string(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _files_of(game: pyspiel.Game) -> set[pathlib.Path]:
    """The files that define a game: its Python sources, and those its parameters name.

    Raises:
        OSError: a class of the game was typed in, or its file is gone.
    """
    files = set()
    owners = [*type(game).__mro__, *type(game.new_initial_state()).__mro__]
    modules = {owner.__module__ for owner in owners}
    rules = rules_of(game)
    if rules is not None:
        functions = [*rules.description.rules, *rules.description.words]
        modules |= {getattr(f, "py_func", f).__module__ for f in functions}
    for name in modules - _NOT_RULES:
        source = getattr(sys.modules.get(name), "__file__", None)
        if source is None:
            raise OSError(f"the module {name!r} has no file.")
        files.add(pathlib.Path(source))
    for value in game.get_parameters().values():
        if isinstance(value, str) and value and pathlib.Path(value).is_file():
            files.add(pathlib.Path(value))
    return files


# --- names -------------------------------------------------------------------


class StoredNames:
    """The infosets' names in one text, found by their places.

    In place of the dictionary of a tree made through pyspiel, and like KeyNames.
    """

    def __init__(
        self,
        text: np.ndarray,
        ends: np.ndarray,
        order: np.ndarray,
        infosets: np.ndarray,
        num_players: int,
    ) -> None:
        """Names of all infosets.

        Args:
            text: uint8, the names one after the other.
            ends: `[I]` int64, where each ends.
            order: `[I]` int32, the infosets by ascending place.
            infosets: `[I]` of the tree.
            num_players: of the game.
        """
        self.text, self.ends, self.order = text, ends, order
        self._places = infosets["place"]
        self._num_players = num_players

    def __len__(self) -> int:
        return len(self.ends)

    def __iter__(self) -> Iterator[str]:
        for first in range(0, len(self), _BATCH):
            ends = self.ends[first : first + _BATCH]
            start = self._start(first)
            data = self.text[start : ends[-1]].tobytes()
            for begin, end in itertools.pairwise([0, *(ends - start).tolist()]):
                yield data[begin:end].decode("utf-8", "surrogateescape")

    def _start(self, infoset: int) -> int:
        return int(self.ends[infoset - 1]) if infoset else 0

    def _name(self, infoset: int) -> str:
        data = self.text[self._start(infoset) : self.ends[infoset]].tobytes()
        return data.decode("utf-8", "surrogateescape")

    def info_state(self, infoset: int) -> str:
        """The information-state string of an infoset."""
        if not 0 <= infoset < len(self):
            raise IndexError(f"There is no infoset {infoset} among {len(self)}.")
        return game_tree._without_player(self._name(infoset))

    def get(self, name: str, default: int = -1) -> int:
        """The infoset with that name (see `GameTree.names`)."""
        info_state, players = name, range(self._num_players)
        if name[:1] == "\0":
            _, player, info_state = name.split("\0", 2)
            players = [int(player)]
        for player in players:
            place = randomness.infoset_place(player, info_state)
            position = bisect.bisect_left(self.order, place, key=self._place)
            while position < len(self) and self._place(self.order[position]) == place:
                if self._name(int(self.order[position])) == name:
                    return int(self.order[position])
                position += 1
        return default

    def _place(self, infoset: int) -> int:
        return int(self._places[infoset])


# --- reading -----------------------------------------------------------------


def _load(like: GameTree, place: pathlib.Path, *, verify: bool = False) -> GameTree:
    """The tree that is kept in a folder, with the game and `max_nodes` of another.

    Raises:
        FileNotFoundError: there is none.
        _UnusableError: it is damaged, or not of this game.
        TreeFullError: it has more than `max_nodes` nodes.
    """
    tree = GameTree(like.source, max_nodes=like.max_nodes)
    manifest = _read_manifest(place)
    if manifest["num_nodes"] > tree.max_nodes:
        raise TreeFullError(
            f"{tree.source} has {manifest['num_nodes']} nodes, more than "
            f"max_nodes={tree.max_nodes}."
        )
    arrays = {}
    for name, about in manifest["files"].items():
        path = place / f"{name}.npy"
        size = path.stat().st_size
        if size != about["bytes"]:
            raise _UnusableError(f"{path} has {size} bytes, not {about['bytes']}.")
        if verify and _crc(path) != about["crc32"]:
            raise _UnusableError(f"{path} was changed: its checksum is another.")
        arrays[name] = _mapped(path)
    try:
        _fill(tree, arrays)
        _check_playouts(tree)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise _UnusableError(f"its arrays do not fit together: {error!r}.") from error
    with contextlib.suppress(OSError):  # of the owner alone; says when it was used
        os.utime(place / MANIFEST)
    return tree


def _read_manifest(place: pathlib.Path) -> dict[str, Any]:
    text = (place / MANIFEST).read_text()
    try:
        manifest = json.loads(text)
        version = manifest["format"]
    except (ValueError, TypeError, KeyError) as error:
        raise _UnusableError(f"its {MANIFEST} is damaged: {error!r}.") from error
    if version != FORMAT:
        raise _UnusableError(f"it is of format {version}, not {FORMAT}.")
    return manifest


def _mapped(path: pathlib.Path) -> np.ndarray:
    """A file's array, of which every process may change its own copy.

    Not a memmap and writable, so that compiled functions take it as any other array.
    """
    try:
        return np.asarray(np.load(path, mmap_mode="c", allow_pickle=False))
    except ValueError as error:
        raise _UnusableError(f"{path} is damaged: {error}") from error


def _fill(tree: GameTree, arrays: dict[str, np.ndarray]) -> None:
    rules = tree._rules
    infosets = arrays["infosets"]
    if rules is None:
        text, ends, order = (arrays[name] for name in ("text", "ends", "order"))
        names = StoredNames(text, ends, order, infosets, tree.num_players)
    else:
        pool = rules_kernel.Pool
        keys = pool(*(arrays[f"keys_{name}"] for name in pool._fields))
        names = KeyNames(rules, keys, len(infosets))
    probs = arrays["chance_probs"].tolist()
    bounds = [*arrays["chance_starts"].tolist(), len(probs)]
    tree.take_over(
        Expansion(
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
            names=names,
        )
    )
    passes = kernels.Passes(*(arrays[f"pass_{n}"] for n in kernels.Passes._fields))
    tree.passes = FullPass(tree, passes)


def _check_playouts(tree: GameTree) -> None:
    """Raises _UnusableError unless the game is played as some histories in the tree."""
    generator = random.Random(0)
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
    """Raises _UnusableError unless a node is that of a state."""
    _, start, infoset, count, player = tree.nodes[node].item()
    acting = state.current_player()
    if acting == TERMINAL:
        kept, real = tree.utilities[start].tolist(), list(state.returns())
    elif acting == CHANCE_NODE:
        kept = tree.chance_probs[start : start + count].tolist()
        real = [prob for _, prob in state.chance_outcomes()]
    else:
        info_state, legal = state.information_state_string(), state.legal_actions()
        kept = (
            *tree.infosets[infoset].item()[1:],
            tree.info_state(infoset),
            tree.actions[start : start + count].tolist(),
            infoset,
        )
        found = _find(tree, info_state, acting, state)
        record = (start, sequences[acting], len(legal), acting)
        real = (*record, info_state, legal, found)
    if (player, kept) != (acting, real):
        raise _UnusableError(
            f"after the moves {state.history()} it has {(player, kept)}, but "
            f"the game {(acting, real)}."
        )


def _find(tree: GameTree, info_state: str, player: int, state: pyspiel.State) -> int:
    names = tree._numbers
    if isinstance(names, KeyNames):  # whose index of strings is not made for this
        return names.find_key(player, names.rules.info_key(state.vector, player))
    return tree.find(info_state, player)


def _crc(path: pathlib.Path) -> int:
    crc = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            crc = zlib.crc32(block, crc)
    return crc


# --- writing -----------------------------------------------------------------


def _store(
    tree: GameTree, passes: FullPass, place: pathlib.Path, *, verify: bool
) -> None:
    """Writes a tree into a folder, unless another process was faster.

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
        _write(tree, passes, unfinished)
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
                raise  # else another process was faster just now
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _write(tree: GameTree, passes: FullPass, folder: pathlib.Path) -> None:
    arrays = {
        "nodes": tree.nodes,
        "infosets": tree.infosets,
        "actions": tree.actions,
        "chance_probs": tree.chance_probs,
        "chance_cdf": tree.chance_cdf,
        "chance_starts": np.array(sorted(tree._distributions.values()), np.int64),
        "utilities": tree.utilities,
    }
    arrays |= {f"pass_{n}": array for n, array in passes.arrays._asdict().items()}
    names = tree._numbers
    if isinstance(names, KeyNames):
        arrays |= {f"keys_{n}": array for n, array in names.keys._asdict().items()}
    else:
        order = np.argsort(tree.infosets["place"], kind="stable")
        arrays["order"] = order.astype(np.int32)
    for name, array in arrays.items():
        with (folder / f"{name}.npy").open("wb") as file:
            np.save(file, array, allow_pickle=False)
    if not isinstance(names, KeyNames):
        _write_names(names, len(names), folder)
    files = {}
    for path in sorted(folder.iterdir()):
        with path.open("rb+") as file:
            os.fsync(file.fileno())
        files[path.stem] = {"bytes": path.stat().st_size, "crc32": _crc(path)}
    manifest = {
        "format": FORMAT,
        "game": str(tree.source),
        "num_nodes": tree.num_nodes,
        "files": files,
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")


def _write_names(names: Any, count: int, folder: pathlib.Path) -> None:
    """Writes the text and the ends of names, a batch at a time."""
    lengths = (len(name.encode("utf-8", "surrogateescape")) for name in names)
    ends = np.cumsum(np.fromiter(lengths, np.int64, count))
    np.save(folder / "ends.npy", ends, allow_pickle=False)
    size = int(ends[-1]) if count else 0
    header = {"descr": "|u1", "fortran_order": False, "shape": (size,)}
    rest = iter(names)
    with (folder / "text.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        while batch := "".join(itertools.islice(rest, _BATCH)):
            file.write(batch.encode("utf-8", "surrogateescape"))


def _remove(place: pathlib.Path) -> None:
    """Removes a folder so that nobody sees a part of it."""
    aside = place.with_name(f"{place.name}{_UNFINISHED}{os.getpid()}-{time.time_ns()}")
    with contextlib.suppress(FileNotFoundError):
        os.rename(place, aside)
        shutil.rmtree(aside, ignore_errors=True)


def _remove_old(base: pathlib.Path) -> None:
    """Removes what killed writers left, and trees that nobody used for a month."""
    now = time.time()
    for folder in base.iterdir():
        with contextlib.suppress(OSError):
            if _UNFINISHED in folder.name:
                newest = max(p.stat().st_mtime for p in (folder, *folder.iterdir()))
                if newest < now - _HOUR:
                    shutil.rmtree(folder, ignore_errors=True)
            elif (folder / MANIFEST).stat().st_mtime < now - _MONTH:
                _remove(folder)
