"""numba.njit with a disk cache of its own and with helpers that compile quickly.

**The cache.** Numba compiles a cached function again only if its *own* file has
changed, so a caller would keep running the old version of a function that was edited in
another file. Here the folder is named by a hash of all sources of the package, and each
file by everything else that determines its machine code. Processes that compile at the
same time write the same files, and the last one replaces them as a whole. Code whose
file cannot be read is compiled again. If nothing can be written, a warning says so
once.

**Helpers.** Numba makes every compiled function ready to run: it optimizes the function
together with all that it calls, and makes machine code. A helper that is pasted into a
loop is never run by itself, yet this took a third of the time that the loop takes to
compile. So a helper is only drafted: its code is linked and optimized as a part of the
loop. This overrides private steps of numba. If a version of numba has no step of that
name, helpers are compiled in numba's own way, which is slower and otherwise the same.
"""

import contextlib
import dis
import functools
import gc
import hashlib
import os
import pathlib
import pickle
import re
import sys
import threading
import time
import types
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core import compiler, serialize
from numba.core import config as numba_config
from numba.core.caching import FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.errors import NumbaError
from numba.core.registry import CPUDispatcher

from mccfr_spiel.common.atomic_files import write_file
from mccfr_spiel.common.cache_folder import (
    CompileCacheWarning,
    make_private,
    user_cache_folder,
)
from mccfr_spiel.common.checkout import games_of_checkout
from mccfr_spiel.kernels.interruptions import signals_deferred

# --- helpers whose code is optimized where it is pasted, and nowhere else -------------


_Library: Any = JITCodeLibrary


class _Codegen:
    """Stands for numba's code generator where a drafted function would be told where
    its Python objects are. A helper has none, as it prints and raises nothing."""

    def set_env(self, env_name: str, env: object) -> None:
        """Does nothing."""


class _Draft(_Library):
    """The code of one helper and of those that it calls."""

    @property
    def codegen(self) -> Any:
        return _Codegen()

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class _Drafting(Compiler):
    def __init__(self, typingctx: Any, targetctx: Any, library: Any, *others: Any):
        if library is None:
            library = _Draft(targetctx.codegen(), "draft")
        super().__init__(typingctx, targetctx, library, *others)


_OVERRIDDEN = [name for name in vars(_Draft) if not name.startswith("__")]
drafting: type[Compiler] = (
    _Drafting if all(hasattr(_Library, name) for name in _OVERRIDDEN) else Compiler
)
"""The pipeline that compiles helpers."""

PASTED: Any = {
    "forceinline": True,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": drafting,
}
"""Numba's options for a helper that is pasted into its compiled callers."""


# --- numba's disk cache of compiled functions, with a key of our own ------------------


_DAY, _MONTH = 24 * 3600, 30 * 24 * 3600
_DIGEST = 16
_OPTIONS = (
    "BOUNDSCHECK",
    "DEBUGINFO_DEFAULT",
    "DISABLE_INTEL_SVML",
    "ENABLE_AVX",
    "LOOP_VECTORIZE",
    "OPT",
    "SLP_VECTORIZE",
)
"""Settings of numba that change machine code, though numba's own cache ignores them."""


class CodeCache(FunctionCache):
    """The cached versions of one function, each in a file of its own."""

    def __init__(self, function: Callable[..., Any], folder: str, made_of: str) -> None:
        """Reads and writes nothing yet; numba's own cache would make its folder here.

        Args:
            function: the Python function.
            folder: the name of the folder, which stands for the package's sources.
            made_of: stands for everything outside the package that the code is made of.
        """
        base: str = getattr(numba_config, "CACHE_DIR", "")
        self._base = pathlib.Path(base).absolute() if base else user_cache_folder()
        self._py_func, self._made_of = function, made_of
        self._cache_path = str(self._base / folder)
        self.enable()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Loads the function compiled for a signature; None if that is not possible."""
        target_context.refresh()
        path = self._path(sig, target_context.codegen())
        if not _is_made(self._base, path.parent):
            return None
        try:
            data = path.read_bytes()
            content = data[_DIGEST:]
            if data[:_DIGEST] != _digest(content):
                return None
            loaded = compiler.CompileResult._rebuild(
                target_context, *pickle.loads(content)
            )
            _touch(path)
        except Exception:  # none, or made by other versions of the libraries
            return None
        return loaded

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keeps a function compiled for a signature, or warns that it cannot."""
        path = self._path(sig, data.codegen)
        if self._base in _given_up or not _is_made(self._base, path.parent):
            return
        if data.library.has_dynamic_globals or not all(
            lifted.can_cache for lifted in data.lifted
        ):
            return  # it holds addresses of this process
        try:
            content = serialize.dumps(data._reduce())
            write_file(path, _digest(content) + content)
        except Exception as error:
            if not path.is_file():  # on Windows another process may have it open
                _give_up(self._base, error)

    def _path(self, sig: Any, codegen: Any) -> pathlib.Path:
        """The file for a signature, named by what determines its machine code."""
        cells = serialize.dumps(_cells(self._py_func))
        parts = (
            *(numba.__version__, llvmlite.__version__, np.__version__, sys.version),
            *(getattr(numba_config, name, None) for name in _OPTIONS),
            *_name(self._py_func),
            *(self._made_of, hashlib.sha256(cells).hexdigest()),
            *(sig, codegen.magic_tuple()),
        )
        digest = _digest(repr(parts).encode()).hex()
        return pathlib.Path(self._cache_path, f"{self._py_func.__name__}-{digest}.code")


def _name(function: Callable[..., Any]) -> tuple[Any, ...]:
    """Tells a function from all others of the same sources."""
    code = function.__code__
    return code.co_filename, code.co_firstlineno, function.__qualname__


def _cells(function: Callable[..., Any]) -> tuple[Any, ...]:
    """The values of a function's variables that belong to the function around it.

    A function among them, compiled or not, is told by its name and its own such values.
    Its pickle would differ from process to process.
    """
    cells = (cell.cell_contents for cell in function.__closure__ or ())
    values = (getattr(cell, "py_func", cell) for cell in cells)
    return tuple(
        (*_name(value), _cells(value))
        if isinstance(value, types.FunctionType)
        else value
        for value in values
    )


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST).digest()


# --- folders -------------------------------------------------------------------------

_given_up: set[pathlib.Path] = set()
"""The base folders in which something could not be written."""


@functools.cache
def _is_made(base: pathlib.Path, folder: pathlib.Path) -> bool:
    """Makes a folder that others cannot write to, since what is in it will be run."""
    try:
        if not folder.is_dir():
            _remove_old(make_private(base))
        make_private(folder)
    except OSError as error:
        _give_up(base, error)
        return False
    return True


def _give_up(base: pathlib.Path, error: Exception) -> None:
    """Keeps nothing more below a base folder, and warns of it the first time."""
    if base in _given_up:
        return
    _given_up.add(base)
    first = "NUMBA_CACHE_DIR"  # it comes before the other
    variable = first if os.environ.get(first) else "MCCFR_SPIEL_CACHE"
    warnings.warn(
        f"Compiled code cannot be kept in {base}, so every process compiles it again, "
        f"which takes seconds: {error}. Set the environment variable {variable} to a "
        "folder that only you can write to.",
        CompileCacheWarning,
        stacklevel=3,
    )


def _remove_old(base: pathlib.Path) -> None:
    """Removes code that nobody has used for a month, such as of earlier versions."""
    for path in base.glob("code-*/*.code*"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _MONTH:
                path.unlink()
                # Not just any empty folder: another process may have made it just now.
                path.parent.rmdir()


def _touch(path: pathlib.Path) -> None:
    """Notes that a file is in use, at most once a day."""
    with contextlib.suppress(OSError):  # some folders can only be read
        if time.time() - path.stat().st_mtime > _DAY:
            os.utime(path)


# --- numba.njit with a disk cache that forgets everything when the package changes ----


config: Any = numba_config  # its attributes are made at run time

IS_COMPILED = not config.DISABLE_JIT
"""Whether `jit` compiles; with NUMBA_DISABLE_JIT kernels run as plain Python."""

_PACKAGE = pathlib.Path(__file__).parents[1]


_Numbas: Any = CPUDispatcher  # its base classes are made at run time


class _Compiling(threading.local):
    """How long a thread has compiled.

    Attributes:
        seconds: in all.
        began: when it began with what it compiles now; None if it compiles nothing.
    """

    seconds: float = 0.0
    began: float | None = None


_compiling = _Compiling()


@contextlib.contextmanager
def _timed() -> Iterator[None]:
    """Adds to the thread's seconds; what one function compiles for another counts
    once.

    Numba makes millions of objects, of which few are garbage, so the garbage collector
    pauses meanwhile: that takes a seventh off the time.
    """
    if _compiling.began is not None:
        yield
        return
    _compiling.began = time.perf_counter()
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
            gc.collect(0)  # it would come with the next object that is made
        _compiling.seconds += time.perf_counter() - _compiling.began
        _compiling.began = None


def seconds_compiled() -> float:
    """The seconds that this thread has spent on compiling, or loading compiled code."""
    return _compiling.seconds


def working_clock() -> float:
    """`time.perf_counter()`, which stands still while this thread compiles."""
    return time.perf_counter() - _compiling.seconds


class _Dispatcher(_Numbas):
    """Numba's compiled function, whose compilation Ctrl-C does not interrupt.

    Calls of versions that are compiled or loaded already do not come through here.
    """

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:
        with signals_deferred(), _timed():
            return super()._compile_for_args(*args, **kws)

    def compile(self, sig: Any) -> Any:
        with signals_deferred(), _timed():
            return super().compile(sig)

    def keep(self, cache: CodeCache) -> None:
        """Sets where compiled versions are kept."""
        self._cache: Any = cache


class _Helper(_Dispatcher):
    """A compiled function that is meant for compiled callers.

    For them it is compiled without the two functions by which numba lets Python and C
    call it. They take a third of the time in which a loop is compiled with its helpers.
    For calls from Python the function is compiled once more.
    """

    def __call__(self, *args: Any, **kws: Any) -> Any:
        return self._from_python(*args, **kws)

    @functools.cached_property
    def _from_python(self) -> _Dispatcher:
        return _dispatcher(self.py_func, {"error_model": "numpy"})


def sources_digest(files: Iterable[pathlib.Path]) -> str:
    """A short hexadecimal hash of the names and contents of some source files."""
    digest = hashlib.blake2b(digest_size=12)
    for file in sorted(files):
        data = file.read_bytes()
        digest.update(f"{file.name}\0{len(data)}\0".encode())
        digest.update(data)
    return digest.hexdigest()


@functools.cache
def package_digest() -> str | None:
    """A hash of all sources of this package; None if they are not files.

    Compiled code and trees on disk are kept by it. Hashing everything is the rule that
    nobody can forget to extend when code moves or is added. A package in an archive, or
    without its sources, keeps neither, since a change of its code could not be seen.
    """
    files = list(_PACKAGE.rglob("*.py"))
    games = games_of_checkout()
    if files and games is not None:
        files += games.rglob("*.py")
    return sources_digest(files) if files else None


def _stamp(function: Callable[..., Any]) -> str | None:
    """Stands for a function's source file, as it is now, if that is not the package's.

    None if there is no file whose changes could be seen.
    """
    source = pathlib.Path(function.__code__.co_filename)
    if _PACKAGE in source.parents:
        return ""
    try:
        return sources_digest([source])
    except OSError:
        return None


_made_with: list[str | None] = []
"""What stands for the user's function inside of `made_with`; None for no cache."""


@contextlib.contextmanager
def made_with(function: Callable[..., Any]) -> Iterator[None]:
    """Says that code which is made in the block calls a user's function.

    Such code is kept by the function's source file and name. A function without a file,
    or one with variables of another function, may be another one next time, so code
    that calls it is not kept. Changes of other files that it uses go unnoticed.
    """
    stamp = _stamp(function) if function.__closure__ is None else None
    place = f"{function.__qualname__} {function.__code__.co_firstlineno}"
    _made_with.append(None if stamp is None else f"{stamp} {place}")
    try:
        yield
    finally:
        _made_with.pop()


def jit(
    function: Callable[..., Any] | None = None,
    *,
    nogil: bool = False,
    views_only: bool | None = None,
) -> Any:
    """`numba.njit` with the cache described above; usable with or without arguments.

    Where NUMBA_DISABLE_JIT turns it off, integers still wrap around without a warning.
    NUMBA_CACHE_DIR moves the cache; where nothing can be kept, a `CompileCacheWarning`
    says so at the first compilation. The code of a function outside the package is kept
    until its file changes, and one that comes from no file is compiled in each process.

    Args:
        function: the function to compile.
        nogil: whether calls from Python let other threads run meanwhile.
        views_only: whether no array in it owns memory, as those of frame.py, and none
            is made. References are then not counted, neither here nor in what is
            compiled for this function; that would be an eighth of a loop's compilation.
            Other callers share those helpers, so no helper returns an array that owns
            memory. False: it makes arrays, though its callers may have views only.
            Inside of `made_with` references are counted, since a user's function may
            make arrays.
    """
    if function is None:
        return functools.partial(jit, nogil=nogil, views_only=views_only)
    if config.DISABLE_JIT:
        return np.errstate(over="ignore")(function)
    options: dict[str, Any] = {"error_model": "numpy"}
    if nogil:
        options["nogil"] = True
    if views_only is not None and not _made_with:
        options["_nrt"] = not views_only
    made = _dispatcher(function, options)
    # The files are read now, since they might be edited before the first call.
    sources = [package_digest(), _stamp(function), *_made_with[-1:]]
    if None not in sources:
        folder, *others = map(str, sources)
        made.keep(CodeCache(function, f"code-{folder}", " ".join(others)))
    return made


def inlined(function: Callable[..., Any]) -> Any:
    """Compiles a helper whose code is pasted into every compiled function that calls
    it.

    A loop can then be written in short named steps at no cost: LLVM sees one function,
    drops the branches that a caller's constants rule out, and keeps what the steps hand
    to one another in registers. That holds as long as the arrays handed over own no
    memory, as the views of frame.py; for others, each call would count references.
    A helper of this package neither prints nor raises; see `_Draft`.
    """
    if config.DISABLE_JIT:
        return function
    options = {"error_model": "numpy", **PASTED}
    if _stamp(function) != "":  # a function of the user's, which may print
        options["pipeline_class"] = Compiler
    return _dispatcher(function, options, _Helper)


def pasted(function: Callable[..., Any]) -> Any:
    """Like `inlined`, but numba pastes the code before LLVM sees it.

    It is meant for small functions that loop over the two or three actions of an
    infoset. Where numba optimizes an inlined helper by itself, for loops of any length,
    before the caller is (see above), that costs a tenth of all instructions of a
    walk. Numba compiles pasted code more slowly.

    Into a function that makes records itself, such as by `frame.Layout.viewer`, nothing
    may be pasted: numba then looks for dead code, and takes `record.array[i] = x` for
    dead, since it does not see that others hold that array. Where the record is an
    argument it does. So a loop calls an `inlined` step, and pasted code goes there.
    """
    if config.DISABLE_JIT:
        return function
    return _dispatcher(function, {"inline": "always", "error_model": "numpy"})


def uncached(function: Callable[..., Any]) -> Any:
    """`numba.njit` without a cache, for functions that come from no file."""
    return function if config.DISABLE_JIT else _dispatcher(function, {})


def _dispatcher(
    function: Callable[..., Any],
    options: dict[str, Any],
    kind: type[_Dispatcher] = _Dispatcher,
) -> _Dispatcher:
    """Makes a dispatcher of our own class, as `numba.njit` makes one of its own."""
    options = {"nopython": True, "boundscheck": None, **options}
    pipeline = options.pop("pipeline_class", Compiler)
    return kind(function, {}, options, pipeline)


def why_not(error: NumbaError, function: Callable[..., Any]) -> str:
    """What numba found wrong, and in which function, file and line, if it says so."""
    text = re.sub(r"\x1b\[\d+m", "", str(error))
    lines = [line.strip() for line in text.splitlines()]
    reason = next(one for one in lines if one and not one.startswith("Failed in"))
    if reason.endswith("signature:"):
        reason += next(one for one in lines if one.startswith(">>>"))[3:]
    place = re.search(r'File "([^"]+)", line (\d+):\s*def (\w+)', text)
    if place is not None:
        return f"{reason.rstrip(':.')} ({place[3]}, {place[1]}, line {place[2]})"
    code, words = function.__code__, {*re.findall(r"'(\w+)'", reason)}
    where = f"{code.co_name}, {pathlib.Path(code.co_filename).name}"
    for step in dis.get_instructions(code):
        if step.argval in words and step.positions is not None:
            return f"{reason.rstrip(':.')} ({where}, line {step.positions.lineno})"
    return f"{reason.rstrip(':.')} ({where})"
