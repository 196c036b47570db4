"""A numba pipeline that compiles inlined helpers quickly."""

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

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
