"""Calls of a game's rules by the addresses of their machine code.

Numba accepts functions as arguments, but it asks Python for their addresses at each
call, and Ctrl-C may interrupt this. So frequently called loops receive a tuple of
integers instead, the addresses of the functions, and call the rules by means of `call`.
"""

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.errors import TypingError
from numba.core.registry import CPUDispatcher
from numba.extending import intrinsic, overload

from mccfr_spiel.arenas.rules.bound_rules import BoundRules
from mccfr_spiel.arenas.rules.game_description import (
    SIGNATURES,
    SPELL_SIGNATURE,
    WORLD_SIGNATURES,
)
from mccfr_spiel.kernels.drafts import (
    PASTED,
)
from mccfr_spiel.kernels.jit import (
    IS_COMPILED,
    why_not,
)

ACTING, LEGAL_ACTIONS, APPLY_ACTION, INFO_KEY, RETURNS, CHANCE_PROBS = range(6)
"""Indices of the rules in the tuple of addresses, in the order of `Rules`."""

SPELL = 7
"""Index of `BoundRules.spell`. Index 6, the last of the seven `Rules`, is `start`,
which compiled loops do not call.
"""

WORLD_KEY, LEAF_CLASS, CLASS_RETURNS, POSITION_KEY, HEARD = range(8, 13)
"""Indices of the functions of `Description` that declare worlds, in the order of
`WORLD_SIGNATURES`."""


def callable_rules(rules: BoundRules, *, with_worlds: bool = False) -> tuple[Any, ...]:
    """Returns the addresses of a game's functions, as the argument `rules` of `call`.

    With the JIT disabled, the tuple contains the functions instead. Functions that the
    game does not define are 0. The caller must keep `rules` alive while it uses the
    addresses.

    Args:
        rules: rules of the game.
        with_worlds: whether to append the functions that declare worlds.

    Raises:
        ValueError: a function is not `compiled`, or has another type.
    """
    description = rules.description
    functions = {**description.rules._asdict(), "spell": rules.spell}
    if with_worlds:
        functions |= {name: getattr(description, name) for name in WORLD_SIGNATURES}
    return tuple(address_of(*named) for named in functions.items())


def address_of(name: str, function: Any) -> Any:
    """Returns the address of a function made by `compiled`; 0 for None.

    With the JIT disabled, it returns the function itself.

    Args:
        name: the function's key in `_SIGNATURES`.
        function: the function, or None.

    Raises:
        ValueError: the function is not `compiled`, or has another type.
    """
    if function is None:
        return 0
    if not IS_COMPILED:
        return function
    signature = _SIGNATURES[name]
    if not isinstance(function, CPUDispatcher):
        raise ValueError(
            f"The rule {name} is not compiled. Decorate the function by rules.compiled."
        )
    try:
        result = function.get_compile_result(signature)
    except TypingError as error:
        raise ValueError(
            f"The rule {name} cannot be compiled: {why_not(error, function.py_func)}. "
            "See the arguments and return types in the docstring of rules.Rules."
        ) from error
    returned = types.unliteral(result.signature.return_type)
    if returned != signature.return_type:
        raise ValueError(
            f"The rule {name} returns {returned}; it must return "
            f"{signature.return_type} on every path."
        )
    # The C wrapper has plain arguments, unlike numba's internal calling convention.
    wrapper = result.fndesc.llvm_cfunc_wrapper_name
    return int(result.library.get_pointer_to_function(wrapper))


def call(rules: Any, number: int, arguments: tuple[Any, ...]) -> Any:
    """Calls a rule and returns its result.

    Args:
        rules: result of `callable_rules`.
        number: index of the rule, such as ACTING; a compile-time constant.
        arguments: arguments of the rule, as a tuple.
    """
    return rules[number](*arguments)


@overload(call, prefer_literal=True, jit_options=PASTED)
def _compiled_call(rules, number, arguments):
    index = number.literal_value
    # The tuple may contain compiled functions instead of addresses, see
    # worlds/histories.py. Numba can then inline the rules.
    if isinstance(rules.types[index], types.Dispatcher):
        return lambda rules, number, arguments: rules[index](*arguments)
    emit: Any = _EMITTERS[index]
    return lambda rules, number, arguments: emit(rules[index], arguments)


def _make_emitter(signature: Any) -> Any:
    """Returns a numba intrinsic (address, arguments) that calls the machine code at an
    address, for functions of a given signature.
    """

    def emit(context: Any, rule: Any, arguments: Any) -> Any:
        def generate(context, builder, types, values):
            parameters = [context.get_value_type(dtype) for dtype in signature.args]
            result = context.get_value_type(signature.return_type)
            address, packed = values
            function = ir.FunctionType(result, parameters).as_pointer()
            items = [
                context.cast(
                    builder, builder.extract_value(packed, k), types.args[1][k], dtype
                )
                for k, dtype in enumerate(signature.args)
            ]
            return builder.call(builder.inttoptr(address, function), items)

        return signature.return_type(rule, arguments), generate

    return intrinsic(emit)


_SIGNATURES = SIGNATURES._asdict() | {"spell": SPELL_SIGNATURE} | WORLD_SIGNATURES
_EMITTERS = [_make_emitter(signature) for signature in _SIGNATURES.values()]
