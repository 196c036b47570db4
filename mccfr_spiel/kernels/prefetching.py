"""Memory prefetches from compiled code.

The draw at a node decides which node a walk visits next. In a tree much larger than the
processor's caches, the walk would wait for memory at each step. So it requests all
children before it draws, and they arrive meanwhile.
"""

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

from mccfr_spiel.kernels.drafts import PASTED


def prefetch(array, index):
    """Requests an entry of an array from memory, without any other effect."""


def _emit(context: Any, array: Any, index: Any) -> Any:
    integer = ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, *[integer] * 3])
    to_read, to_be_kept, data = 0, 3, 1

    def generate(context, builder, signature, arguments):
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        entry = builder.gep(view.data, [arguments[1]])
        function = cgutils.get_or_insert_function(
            builder.module, kind, "llvm.prefetch.p0i8"
        )
        hints = [ir.Constant(integer, hint) for hint in (to_read, to_be_kept, data)]
        builder.call(function, [builder.bitcast(entry, cgutils.voidptr_t), *hints])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


_prefetch: Any = intrinsic(_emit)


@overload(prefetch, jit_options=PASTED)
def _compiled_prefetch(array, index):
    return lambda array, index: _prefetch(array, index)
