"""numba.njit with a disk cache that forgets everything when the package changes."""

import contextlib
import dis
import functools
import hashlib
import pathlib
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

import numpy as np
from numba.core import config as numba_config
from numba.core.compiler import Compiler
from numba.core.errors import NumbaError
from numba.core.registry import CPUDispatcher

from mccfr_spiel.compiled.code_cache import CodeCache
from mccfr_spiel.compiled.drafts import PASTED
from mccfr_spiel.compiled.interruptions import signals_deferred
from mccfr_spiel.storage.folders import games_of_checkout

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
    once."""
    if _compiling.began is not None:
        yield
        return
    _compiling.began = time.perf_counter()
    try:
        yield
    finally:
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
    inline: Literal["never", "always"] = "never",
    nogil: bool = False,
    views_only: bool = False,
) -> Any:
    """`numba.njit` with the cache described above; usable with or without arguments.

    Where NUMBA_DISABLE_JIT turns it off, integers still wrap around without a warning.
    NUMBA_CACHE_DIR moves the cache; where nothing can be kept, a `CompileCacheWarning`
    says so at the first compilation. The code of a function outside the package is kept
    until its file changes, and one that comes from no file is compiled in each process.

    Args:
        function: the function to compile.
        inline: numba's option of that name.
        nogil: whether calls from Python let other threads run meanwhile.
        views_only: whether no array in it owns memory, as those of frame.py, and none
            is made. References are then not counted, neither here nor in what is
            compiled for this function; that would be an eighth of a loop's compilation.
            Other callers share those helpers, so no helper returns an array that owns
            memory. Inside of `made_with` references are counted, since a user's
            function may make arrays.
    """
    if function is None:
        return functools.partial(jit, inline=inline, nogil=nogil, views_only=views_only)
    if config.DISABLE_JIT:
        return np.errstate(over="ignore")(function)
    options: dict[str, Any] = {"inline": inline, "error_model": "numpy"}
    if nogil:
        options["nogil"] = True
    if views_only and not _made_with:
        options["_nrt"] = False
    made = _dispatcher(function, options)
    # The files are read now, since they might be edited before the first call.
    sources = [package_digest(), _stamp(function), *_made_with[-1:]]
    if inline == "never" and None not in sources:
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
    A helper of this package neither prints nor raises; see drafts.py.
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
    before the caller is (see drafts.py), that costs a tenth of all instructions of a
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
    """What `numba.njit` makes of a function, of our own class."""
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
