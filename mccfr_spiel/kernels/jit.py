"""Decorators around numba.njit, with a disk cache and faster compilation of helpers.

| decorator | for | callers |
|---|---|---|
| jit | kernels; cached on disk (code_cache.py) | Python and compiled code |
| inlined | steps of kernels; LLVM, numba's backend, inlines them | compiled code |
| pasted | small loops over actions; numba inlines them before LLVM | compiled code |
| uncached | functions without a source file | Python and compiled code |

With NUMBA_DISABLE_JIT=1 all of them return Python functions.
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

config: Any = numba_config  # attributes are created at run time

IS_COMPILED = not config.DISABLE_JIT
"""Whether `jit` compiles. With NUMBA_DISABLE_JIT=1 kernels run as Python code."""


_Numbas: Any = CPUDispatcher  # base classes are created at run time


class _Dispatcher(_Numbas):
    """Numba's dispatcher, but Ctrl-C cannot interrupt a compilation.

    The overridden methods only run if no code for the argument types is in memory yet.
    """

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:
        with signals_deferred(), timed():
            return super()._compile_for_args(*args, **kws)

    def compile(self, sig: Any) -> Any:
        with signals_deferred(), timed():
            return super().compile(sig)

    def keep(self, cache: CodeCache) -> None:
        """Sets the disk cache that numba uses for this function."""
        self._cache: Any = cache


class _Helper(_Dispatcher):
    """A compiled function for compiled callers.

    It is compiled without the wrappers for calls from Python and C. The wrappers would
    take a third of the compile time of a loop with its helpers. If Python calls the
    function nevertheless, it is compiled once more, with wrappers.
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
    """Compiles a function with a disk cache; usable with or without arguments.

    NUMBA_CACHE_DIR sets the folder of the cache. If nothing can be written, a
    `CompileCacheWarning` appears at the first compilation. The cached code of a
    function outside the package is invalidated when its source file changes. A function
    without a source file is compiled in each process. With NUMBA_DISABLE_JIT=1 the
    result is the Python function, in which integers wrap around without a warning.

    Args:
        function: the function to compile.
        nogil: whether other Python threads run during a call.
        views_only: True if the function and its helpers allocate no arrays and only use
            arrays that own no memory, such as the views of frame.py. Then numba
            generates no reference counts, which saves an eighth of the compile time of
            a loop. Other callers may use the same helpers, so no helper may return an
            array that owns memory. False if the function allocates arrays, even where
            its caller is compiled with True. None for numba's default. The argument has
            no effect inside `made_with`, because a user's function may allocate arrays.
    """
    if function is None:
        return functools.partial(jit, nogil=nogil, views_only=views_only)
    if config.DISABLE_JIT:
        # Hashes in randomness.py rely on overflow.
        return np.errstate(over="ignore")(function)
    # With NumPy's error model a division by 0 raises no exception.
    options: dict[str, Any] = {"error_model": "numpy"}
    if nogil:
        options["nogil"] = True
    if views_only is not None and not users_stamps():
        # numba's runtime (NRT) counts references.
        options["_nrt"] = not views_only
    dispatcher = _dispatcher(function, options)
    # Files are read now, because the code in memory is the code that was imported. An
    # edit before the first call must not change the digest.
    sources = [package_digest(), stamp_of(function), *users_stamps()]
    if None not in sources:
        folder, *digests = map(str, sources)
        dispatcher.keep(CodeCache(function, f"code-{folder}", " ".join(digests)))
    return dispatcher


def inlined(function: Callable[..., Any]) -> Any:
    """Compiles a helper that LLVM, numba's backend, inlines into compiled callers.

    So a loop can be written in short named steps at no cost: LLVM sees one function,
    removes branches that constants exclude, and keeps values in registers. Arrays that
    own memory are an exception: each call with such an array changes its reference
    count. The views of frame.py own no memory. Helpers of this package must neither
    print nor raise, see drafts.py.
    """
    if config.DISABLE_JIT:
        return function
    options = {"error_model": "numpy", **PASTED}
    if stamp_of(function) != "":  # a user's function, which may print
        options["pipeline_class"] = Compiler
    return _dispatcher(function, options, _Helper)


def pasted(function: Callable[..., Any]) -> Any:
    """Compiles a helper that numba copies into the code of its callers.

    It is for small functions that loop over the few actions of an infoset. LLVM
    optimizes an `inlined` helper separately, before its caller, and prepares its loops
    for many passes; this costs a tenth of the instructions of a walk. A pasted helper
    has no code of its own, so LLVM optimizes it only as a part of the caller. Numba
    needs more time to compile pasted helpers.

    A function that builds records, for example by `frame.Layout.viewer`, must not call
    pasted helpers. In such a function, numba's dead code elimination would remove the
    assignment `record.array[i] = x`, because it does not see that other variables refer
    to the same array. Assignments are kept if the record is an argument. So such a
    function calls an `inlined` step with the record, which calls the pasted helpers.
    """
    if config.DISABLE_JIT:
        return function
    return _dispatcher(function, {"inline": "always", "error_model": "numpy"})


def uncached(function: Callable[..., Any]) -> Any:
    """Compiles a function without a cache, for functions that have no source file."""
    return function if config.DISABLE_JIT else _dispatcher(function, {})


def _dispatcher(
    function: Callable[..., Any],
    options: dict[str, Any],
    dispatcher_class: type[_Dispatcher] = _Dispatcher,
) -> _Dispatcher:
    """Does the same as `numba.njit`, but returns a dispatcher of the given class."""
    options = {"nopython": True, "boundscheck": None, **options}
    pipeline = options.pop("pipeline_class", Compiler)
    return dispatcher_class(function, {}, options, pipeline)


def why_not(error: NumbaError, function: Callable[..., Any]) -> str:
    """Returns a one-line summary of a numba error for a message.

    It consists of the reason, and in parentheses the function, the file and, if known,
    the line.
    """
    text = re.sub(r"\x1b\[\d+m", "", str(error))
    lines = [line.strip() for line in text.splitlines()]
    reason = next(line for line in lines if line and not line.startswith("Failed in"))
    if reason.endswith("signature:"):
        reason += next(line for line in lines if line.startswith(">>>"))[3:]
    source = re.search(r'File "([^"]+)", line (\d+):\s*def (\w+)', text)
    if source is not None:
        return f"{reason.rstrip(':.')} ({source[3]}, {source[1]}, line {source[2]})"
    # Without a location, look for the first instruction that uses a quoted name.
    code, quoted = function.__code__, {*re.findall(r"'(\w+)'", reason)}
    where = f"{code.co_name}, {pathlib.Path(code.co_filename).name}"
    for step in dis.get_instructions(code):
        if step.argval in quoted and step.positions is not None:
            return f"{reason.rstrip(':.')} ({where}, line {step.positions.lineno})"
    return f"{reason.rstrip(':.')} ({where})"
