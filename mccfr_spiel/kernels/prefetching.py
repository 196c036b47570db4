"""Memory prefetches from compiled code.

A random draw at a node decides which child a walk visits next. In a tree much larger
than the processor's caches, the walk would wait at each step until the child is loaded
from memory. So the walk requests all children before it draws, and they are loaded
while it works on the node.
"""

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

from mccfr_spiel.kernels.drafts import PASTED


def prefetch(array, index):
    """Asks the processor to load `array[index]` into its cache; no other effect."""


def _emit(context: Any, array: Any, index: Any) -> Any:
    integer = ir.IntType(32)
    function_type = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, *[integer] * 3])
    to_read, to_be_kept, data = 0, 3, 1

    def generate(context, builder, signature, arguments):
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        entry = builder.gep(view.data, [arguments[1]])
        function = cgutils.get_or_insert_function(
            builder.module, function_type, "llvm.prefetch.p0i8"
        )
        hints = [ir.Constant(integer, hint) for hint in (to_read, to_be_kept, data)]
        builder.call(function, [builder.bitcast(entry, cgutils.voidptr_t), *hints])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


_prefetch: Any = intrinsic(_emit)


@overload(prefetch, jit_options=PASTED)
def _compiled_prefetch(array, index):
    return lambda array, index: _prefetch(array, index)
