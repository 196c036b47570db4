"""A hash of all that determines a game, its code included, for use across processes.

Equal fingerprints prove that two games are the same. The fingerprint of a C++ game
comes from its load string, the binary and the files that its parameters name. That of a
Python game comes from everything that its class can reach in memory: code, class
attributes, closures, the globals that functions name, helper modules, and the
instance's own attributes. Installed packages count by their versions. Code is hashed as
it is in memory and not as it is on disk, since the file may have been edited after it
was imported. A game that depends on something which cannot be seen is refused.
"""

import dis
import enum
import functools
import hashlib
import importlib
import importlib.metadata
import importlib.util
import inspect
import logging
import pathlib
import random
import re
import sys
import types
import zlib
from collections.abc import Iterable, Iterator, Set
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.rules.description import rules_of
from mccfr_spiel.tree import identity
from mccfr_spiel.tree.loading import load_game

_PACKAGE = __name__.partition(".")[0]

_READS = frozenset(
    (
        *("open", "eval", "exec", "__import__", "globals", "import_module"),
        *("environ", "getenv", "read_text", "read_bytes", "urlopen"),
        *("fromfile", "genfromtxt", "loadtxt", "memmap", "read_csv"),
    )
)
"""If a function's code uses one of these names, it may read what cannot be seen."""

_MOST_VALUES = 1_000_000
"""Beyond so many values in a game, looking at them takes more than a second."""

_NOT_OF_CLASS = frozenset(
    (
        *("__doc__", "__module__", "__qualname__", "__dict__", "__weakref__"),
        *("__annotations__", "__annotate__", "__annotate_func__"),
        *("__annotations_cache__", "__abstractmethods__", "_abc_impl"),
        *("__dataclass_fields__", "__dataclass_params__", "__parameters__"),
        *("__orig_bases__", "__firstlineno__", "__static_attributes__"),
    )
)
"""Attributes of a class that determine nothing, or that follow from its other parts."""


class UnprovenError(Exception):
    """A game depends on something that cannot be seen; the message says on what."""


def fingerprint(game: pyspiel.Game | str) -> str:
    """The hash of a game.

    Args:
        game: a game or its load string. The string proves more: a C++ game that was
            made of a file, or around a Python game, may not be as these are now.

    Raises:
        UnprovenError: something that the game depends on cannot be seen.
        ValueError: the game cannot be loaded.
    """
    source = load_game(game)
    encoder = _Encoder()
    parts = [sys.byteorder, str(source), *_versions(), *file_prints(source)]
    if identity.is_compiled_into_pyspiel(source):
        parts += _parts_of_compiled(source, encoder, is_string=isinstance(game, str))
    else:
        parts.append(encoder.hash_game(source))
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=12).hexdigest()


def file_prints(game: pyspiel.Game) -> list[str]:
    """Hashes of the files that a game's parameters name.

    Raises:
        UnprovenError: one is a folder, or cannot be read.
    """
    prints = []
    for text in _strings(game.get_parameters()):
        if text and identity.is_path(text):
            try:
                data = pathlib.Path(text).read_bytes()
            except OSError as error:
                raise UnprovenError(f"it reads {text}: {error}.") from error
            prints.append(hashlib.blake2b(data, digest_size=16).hexdigest())
    return prints


def _strings(parameters: dict[str, Any]) -> Iterator[str]:
    for _, value in sorted(parameters.items()):
        if isinstance(value, dict):
            yield from _strings(value)
        elif isinstance(value, str):
            yield value


def _parts_of_compiled(
    game: pyspiel.Game, encoder: "_Encoder", *, is_string: bool
) -> list[str]:
    """What determines a C++ game besides its string and its files."""
    if isinstance(game, pyspiel.NormalFormGame):
        return [encoder.encode(identity.normal_form(game)).hex()]
    if identity.told_by_string(game):
        return []
    if not is_string:
        raise UnprovenError(
            "its string does not tell what it was made of in code: give the load "
            "string itself, if it has one."
        )
    inner = [v for v in game.get_parameters().values() if isinstance(v, dict)]
    games = [identity.inner_game(parameters) for parameters in inner]
    if None in games:
        raise UnprovenError("it is a game around one that cannot be loaded alone.")
    return [fingerprint(str(inside)) for inside in games]


@functools.cache
def _versions() -> tuple[str, ...]:
    """Of Python and OpenSpiel, whose binary may have been built here."""
    binary = pathlib.Path(inspect.getfile(pyspiel)).read_bytes()
    version = importlib.metadata.version("open_spiel")
    return sys.version, version, str(len(binary)), str(zlib.crc32(binary))


@functools.cache
def _installed(module: str) -> str | None:
    """The version of the installed package that has a module; None if none has it."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names or top in ("pyspiel", "pybind11_builtins"):
        return "with Python or OpenSpiel"
    if top == _PACKAGE:
        return "this package"  # whoever keeps something adds its own code
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:
        try:
            spec = importlib.util.find_spec(top)
        except (ImportError, ValueError):  # what was typed in has no specification
            return None
        file = spec.origin if spec is not None else None
    parts = pathlib.Path(file or "").parts
    if "site-packages" not in parts and "dist-packages" not in parts:
        return None
    try:
        distribution = importlib.metadata.distribution(top)
    except importlib.metadata.PackageNotFoundError:
        names = importlib.metadata.packages_distributions().get(top)
        if not names:
            return None
        distribution = importlib.metadata.distribution(names[0])
    # Installed from somebody's folder: the version stays while the code changes.
    origin = distribution.read_text("direct_url.json") or ""
    return None if '"dir_info"' in origin else distribution.version


class _Encoder:
    """Turns objects into bytes that are the same in every process.

    The bytes of a container are a hash of its items' bytes, and are remembered. A
    container that contains itself is encoded, inside, as a reference upward.
    """

    def __init__(self) -> None:
        self._known: dict[int, bytes] = {}
        self._kept: list[Any] = []  # alive, so that no `id` is given to another one
        self._above: dict[int, int] = {}
        self._roots: set[str] = set()
        self._where = ""  # for messages

    def hash_game(self, game: pyspiel.Game) -> str:
        """The hash of a Python game.

        Raises:
            UnprovenError: something that it depends on cannot be seen.
        """
        classes = [type(game), type(game.new_initial_state())]
        for owner in (owner for cls in classes for owner in cls.__mro__):
            module = owner.__module__
            if _installed(module) in ("with Python or OpenSpiel", "this package"):
                continue
            if getattr(sys.modules.get(module), "__file__", None) is None:
                raise UnprovenError(f"its class {owner.__name__} comes from no file.")
            self._roots.add(module)
        rules = rules_of(game)
        described = None if rules is None else rules.description
        try:
            parts = [classes, described, game.get_parameters(), vars(game)]
            return self.encode(parts).hex()
        except RecursionError as error:
            raise UnprovenError("its attributes are nested too deeply.") from error

    def encode(self, value: Any) -> bytes:
        """The bytes of any object; raises UnprovenError."""
        kind = type(value)
        if value is None or kind in (bool, int, float, complex, str, bytes):
            text = f"{kind.__name__}:{value!r}"
            return hashlib.blake2b(text.encode(), digest_size=16).digest()
        number = id(value)
        if number in self._known:
            return self._known[number]
        if number in self._above:
            return b"above %d" % (len(self._above) - self._above[number])
        if len(self._kept) >= _MOST_VALUES:
            raise UnprovenError(f"it has more than {_MOST_VALUES} values to look at.")
        self._above[number] = len(self._above)
        digest = hashlib.blake2b(digest_size=16)
        for part in self._parts(value):
            data = part.encode() if isinstance(part, str) else part
            digest.update(b"%d:" % len(data))
            digest.update(data)
        del self._above[number]
        self._kept.append(value)
        self._known[number] = digest.digest()
        return self._known[number]

    def _parts(self, value: Any) -> Iterable[str | bytes]:
        kind = type(value)
        if kind in (tuple, list):
            return kind.__name__, *map(self.encode, value)
        if kind is dict:
            pairs = (self.encode(part) for pair in value.items() for part in pair)
            return "dict", *pairs
        if kind in (set, frozenset):
            return kind.__name__, *sorted(map(self.encode, value))
        if isinstance(value, np.ndarray):
            return self._parts_of_array(value)
        if isinstance(value, np.generic):
            return "number", value.dtype.str, value.tobytes()
        if isinstance(value, type):
            return self._parts_of_class(value)
        if isinstance(value, types.FunctionType):
            return self._parts_of_function(value)
        if isinstance(value, types.MethodType):
            return "method", self.encode(value.__func__), self.encode(value.__self__)
        return self._parts_of_rest(value)

    def _parts_of_array(self, array: np.ndarray) -> Iterable[str | bytes]:
        about = ("array", repr(array.dtype), repr(array.shape))
        if array.dtype.hasobject:
            return *about, self.encode(array.tolist())
        return *about, np.ascontiguousarray(array).tobytes()

    def _parts_of_rest(self, value: Any) -> Iterable[str | bytes]:
        kind = type(value)
        if isinstance(value, types.ModuleType):
            return "module", value.__name__
        if hasattr(value, "py_func"):  # compiled by numba
            return "compiled", self.encode(value.py_func)
        if isinstance(value, staticmethod | classmethod):
            return kind.__name__, self.encode(value.__func__)
        if isinstance(value, property):
            return "property", self.encode([value.fget, value.fset, value.fdel])
        if isinstance(value, types.BuiltinFunctionType | type(len)):
            return self._parts_of_builtin(value)
        if isinstance(value, types.MemberDescriptorType | types.GetSetDescriptorType):
            return "slot", value.__name__
        if isinstance(value, pyspiel.Game):
            if identity.is_compiled_into_pyspiel(value):
                return "game", fingerprint(value)
            return "game", str(value), self.encode([type(value), vars(value)])
        if isinstance(value, pyspiel.GameType | pyspiel.GameInfo):
            names = [name for name in dir(value) if not name.startswith("_")]
            read = [(name, getattr(value, name)) for name in names]
            return kind.__name__, self.encode([r for r in read if not callable(r[1])])
        if isinstance(value, enum.Enum):
            return "enum", self.encode(kind), value.name
        if kind.__module__.startswith(("pyspiel", "typing")):  # such as enumerations
            return kind.__name__, repr(value)
        if isinstance(value, logging.Logger):
            return "logger", value.name
        if isinstance(value, re.Pattern):
            return "pattern", repr((value.pattern, value.flags))
        if isinstance(
            value, random.Random | np.random.Generator | np.random.RandomState
        ):
            raise UnprovenError(f"{self._where} draws from a random generator.")
        wrapped = getattr(value, "__wrapped__", None)
        if wrapped is not None:  # such as functools.cache
            return "wrapper", self.encode(kind), self.encode(wrapped)
        return self._parts_by_pickling(value)

    def _parts_by_pickling(self, value: Any) -> Iterable[str | bytes]:
        """The parts by which pickle would write any other object."""
        kind = type(value)
        try:
            reduced = value.__reduce_ex__(2)
        except Exception as error:
            raise UnprovenError(
                f"{self._where} uses a {kind.__module__}.{kind.__qualname__}, of which "
                f"nothing can be seen: {error}."
            ) from error
        if isinstance(reduced, str):
            return "global", self.encode(kind), reduced
        make, arguments, state, items, pairs, *_ = (*reduced, None, None, None, None)
        every = [kind, make, arguments, state, list(items or ()), list(pairs or ())]
        return "object", *map(self.encode, every)

    def _parts_of_builtin(self, value: Any) -> Iterable[str | bytes]:
        module = value.__module__ or ""
        owner = getattr(value, "__self__", None)
        if owner is not None and not isinstance(owner, types.ModuleType):
            return "bound", value.__qualname__, self.encode(owner)
        version = _installed(module) if module else "with Python or OpenSpiel"
        if version is None:
            raise UnprovenError(
                f"{module}.{value.__qualname__} is no Python code, and of no installed "
                "package."
            )
        return "builtin", module, value.__qualname__, version

    def _parts_of_class(self, cls: type) -> Iterable[str | bytes]:
        module = cls.__module__
        about = ("class", module, cls.__qualname__)
        version = _installed(module)
        if version is not None and module not in self._roots:
            return *about, version
        where, self._where = self._where, cls.__qualname__
        parts: list[str | bytes] = [*about, self.encode(list(cls.__bases__))]
        if type(cls) is not type:
            parts.append(self.encode(type(cls)))
        for name, item in sorted(vars(cls).items()):
            if name not in _NOT_OF_CLASS:
                parts += [name, self.encode(item)]
        self._where = where
        return parts

    def _parts_of_function(self, function: Any) -> Iterable[str | bytes]:
        space = function.__globals__
        module = space.get("__name__", "")
        about = ("function", module, function.__qualname__)
        version = _installed(module)
        if version is not None and module not in self._roots:
            wrapped = getattr(function, "__wrapped__", None)
            return *about, version, self.encode(wrapped)
        where, self._where = self._where, f"{module}.{function.__qualname__}"
        cells = [_cell(cell) for cell in function.__closure__ or ()]
        own = [function.__defaults__, function.__kwdefaults__, vars(function), cells]
        parts = [
            *about,
            self.encode(own),
            *self._code(function.__code__, function.__doc__),
            *self._reached(function.__code__, space),
        ]
        self._where = where
        return parts

    def _code(self, code: types.CodeType, doc: str | None) -> Iterator[str | bytes]:
        """A code object without its docstrings and line numbers."""
        yield code.co_code
        yield code.co_exceptiontable if sys.version_info >= (3, 11) else b""
        shape = (code.co_argcount, code.co_kwonlyargcount, code.co_posonlyargcount)
        yield repr((*shape, code.co_names, code.co_varnames, code.co_freevars))
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                inner = constant.co_consts[:1]
                is_doc = inner and isinstance(inner[0], str)
                yield from self._code(constant, inner[0] if is_doc else None)
            elif not (isinstance(constant, str) and constant == doc):
                yield self.encode(constant)

    def _reached(self, code: types.CodeType, space: Any) -> Iterator[str | bytes]:
        """What code can reach through globals and through attributes of modules."""
        builtins = space.get("__builtins__", {})
        builtins = builtins if isinstance(builtins, dict) else vars(builtins)
        names, imports, attributes = _names_in(code)
        reads = _READS & (attributes | {n for n in names if n not in space})
        if "sys" in names:
            reads |= {"modules"} & attributes
        if reads:
            raise UnprovenError(
                f"{self._where} uses {sorted(reads)[0]}; what it reads cannot be seen. "
                "Read it where the module is imported, into a global."
            )
        for name in sorted(names):
            if name in space:
                yield name
                yield from self._attributes(space[name], attributes, 0)
            elif name not in builtins:
                yield f"no {name}"
        for level, name, wanted in sorted(imports):
            package = space.get("__package__") or ""
            full = importlib.util.resolve_name("." * level + name, package or None)
            yield full
            if _installed(full) is None:
                found = self._imported(full)
                yield from self._attributes(found, attributes | set(wanted), 0)

    def _imported(self, module: str) -> types.ModuleType:
        try:
            return importlib.import_module(module)
        except Exception as error:
            raise UnprovenError(
                f"{self._where} imports {module}, which fails: {error}."
            ) from error

    def _attributes(
        self, value: Any, names: Set[str], depth: int
    ) -> Iterator[str | bytes]:
        """An object and, if it is a module of the user's, what code names in it."""
        yield self.encode(value)
        if not isinstance(value, types.ModuleType) or depth > 8:
            return
        name = value.__name__
        if _installed(name) is not None and name not in self._roots:
            return
        if not hasattr(value, "__file__"):
            raise UnprovenError(f"{self._where} uses {name}, which comes from no file.")
        if names & {"__dict__", "getattr", "vars"}:
            names = set(vars(value))
        for attribute in sorted(names & set(vars(value))):
            if not attribute.startswith("__"):
                yield attribute
                yield from self._attributes(vars(value)[attribute], names, depth + 1)


def _cell(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # empty
        return "no contents"


@functools.cache
def _names_in(
    code: types.CodeType,
) -> tuple[frozenset[str], frozenset[tuple[int, str, tuple[str, ...]]], frozenset[str]]:
    """What code names, the code inside it included.

    Returns:
        The globals; the imports as (level, module, names); the attributes.
    """
    names, imports, attributes = set(), set(), set()
    before: list[Any] = [None, None]
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL"):
            names.add(step.argval)
        elif step.opname == "IMPORT_NAME":
            wanted = before[1] if isinstance(before[1], tuple) else ()
            imports.add((before[0], step.argval, wanted))
        elif "ATTR" in step.opname or "METHOD" in step.opname:
            attributes.add(step.argval)
        before = [before[1], step.argval]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner = _names_in(constant)
            names |= inner[0]
            imports |= inner[1]
            attributes |= inner[2]
    attributes |= names & {"getattr", "vars"}
    return frozenset(names), frozenset(imports), frozenset(attributes)
