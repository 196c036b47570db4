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

import dis
import functools
import pathlib
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import config as numba_config
from numba.core.compiler import Compiler
from numba.core.errors import NumbaError
from numba.core.registry import CPUDispatcher

from mccfr_spiel.kernels.code_cache import CodeCache
from mccfr_spiel.kernels.compile_time import timed
from mccfr_spiel.kernels.drafts import PASTED
from mccfr_spiel.kernels.interruptions import signals_deferred
from mccfr_spiel.kernels.sources import package_digest, stamp_of, users_stamps

# --- numba.njit with a disk cache that forgets everything when the package changes ----


config: Any = numba_config  # its attributes are made at run time

IS_COMPILED = not config.DISABLE_JIT
"""Whether `jit` compiles; with NUMBA_DISABLE_JIT kernels run as plain Python."""


_Numbas: Any = CPUDispatcher  # its base classes are made at run time


class _Dispatcher(_Numbas):
    """Numba's compiled function, whose compilation Ctrl-C does not interrupt.

    Calls of versions that are compiled or loaded already do not come through here.
    """

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:
        with signals_deferred(), timed():
            return super()._compile_for_args(*args, **kws)

    def compile(self, sig: Any) -> Any:
        with signals_deferred(), timed():
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
    if views_only is not None and not users_stamps():
        options["_nrt"] = not views_only
    made = _dispatcher(function, options)
    # The files are read now, since they might be edited before the first call.
    sources = [package_digest(), stamp_of(function), *users_stamps()]
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
    if stamp_of(function) != "":  # a function of the user's, which may print
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
