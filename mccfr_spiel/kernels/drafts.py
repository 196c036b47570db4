"""A faster compiler pipeline for functions that are only called by compiled code.

Numba optimizes every compiled function together with all functions that it calls, and
generates machine code. An inlined helper never runs by itself, yet this work took a
third of the compile time of a loop. So helpers are only drafted: their code is linked
and optimized as a part of the loop.

The classes override private methods of numba. If a version of numba lacks one of these
methods, helpers are compiled the usual way, which is slower but otherwise the same.
"""

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

_Library: Any = JITCodeLibrary


class _Codegen:
    """A stub code generator: drafts have no Python environment to register.

    Helpers neither print nor raise, so they need no Python objects.
    """

    def set_env(self, env_name: str, env: object) -> None:
        """Does nothing."""


class _Draft(_Library):
    """The LLVM code of a helper and of the helpers that it calls."""

    @property
    def codegen(self) -> Any:
        return _Codegen()

    def _optimize_functions(self, ll_module: Any) -> None:
        # Numba sets the layout here; a draft omits the optimization that follows.
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        # Numba would also hand the module to the execution engine.
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
"""Numba options for a helper that LLVM inlines into compiled callers."""
