"""A faster compiler pipeline for functions that are only called by compiled code.

Numba optimizes each compiled function separately, together with all functions that it
calls, and generates machine code. A helper that is inlined into a loop never runs by
itself, yet this work took a third of the compile time of the loop. Therefore helpers
are only *drafted*: numba generates LLVM code for the helper, but this code is optimized
and translated to machine code only as a part of the loop.

The classes override private methods of numba. If a version of numba lacks one of these
methods, helpers are compiled the usual way, which takes longer but has the same result.
"""

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

_Library: Any = JITCodeLibrary


class _Codegen:
    """A code generator that does nothing.

    For functions that use Python objects, numba registers an environment with the code
    generator. Helpers neither print nor raise, so they have no such objects.
    """

    def set_env(self, env_name: str, env: object) -> None:
        """Does nothing."""


class _Draft(_Library):
    """The LLVM code of a helper and of the helpers that it calls."""

    @property
    def codegen(self) -> Any:
        return _Codegen()

    def _optimize_functions(self, ll_module: Any) -> None:
        # Numba's method sets the data layout and then optimizes; a draft skips the
        # optimization.
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        # Numba's method also passes the module to the execution engine, which a draft
        # does not need because it never runs.
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
"""The compiler pipeline for helpers; numba's own if it lacks an overridden method."""

PASTED: Any = {
    "forceinline": True,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": drafting,
}
"""Numba options for a helper that LLVM inlines into compiled callers.

The decorator `jit.inlined` and the overloads of this package use them. The decorator
`jit.pasted` does not: there numba itself inlines the helper.
"""
