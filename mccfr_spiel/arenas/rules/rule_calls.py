"""Calls of rules by the addresses of their machine code."""

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
from mccfr_spiel.kernels.jit import IS_COMPILED, PASTED, why_not

ACTING, LEGAL_ACTIONS, APPLY_ACTION, INFO_KEY, RETURNS, CHANCE_PROBS = range(6)
"""The places of the rules in `Rules`."""

SPELL = 7
"""The place of `BoundRules.spell` behind them."""

WORLD_KEY, LEAF_CLASS, CLASS_RETURNS, POSITION_KEY, HEARD = range(8, 13)
"""The places of these functions of a Description behind that."""


def callable_rules(rules: BoundRules, *, with_worlds: bool = False) -> tuple[Any, ...]:
    """The rules as compiled loops take them for `call`.

    They are addresses, or, with the JIT off, the functions; 0 stands for each that is
    missing. Behind the rules comes the function that spells strings and, if they are
    wanted, those that tell of worlds. Whoever uses them keeps the rules alive.

    Raises:
        ValueError: a function is not `compiled`, or does not have the right type.
    """
    description = rules.description
    functions = {**description.rules._asdict(), "spell": rules.spell}
    if with_worlds:
        functions |= {name: getattr(description, name) for name in WORLD_SIGNATURES}
    return tuple(address_of(*named) for named in functions.items())


def address_of(name: str, function: Any) -> Any:
    """The address of a `compiled` function, or, with the JIT off, the function; 0 if
    there is none.

    Args:
        name: its key in `_SIGNATURES`.
        function: the function, or None.

    Raises:
        ValueError: it is not `compiled`, or does not have that type.
    """
    if function is None:
        return 0
    if not IS_COMPILED:
        return function
    signature = _SIGNATURES[name]
    if not isinstance(function, CPUDispatcher):
        raise ValueError(f"The rule {name} must be decorated by rules.compiled.")
    try:
        result = function.get_compile_result(signature)
    except TypingError as error:
        raise ValueError(
            f"The rule {name} cannot be compiled: {why_not(error, function.py_func)}. "
            "rules.Rules says what it gets and returns."
        ) from error
    made = types.unliteral(result.signature.return_type)
    if made != signature.return_type:
        raise ValueError(
            f"The rule {name} returns {made}; it must return "
            f"{signature.return_type} on every path."
        )
    wrapper = result.fndesc.llvm_cfunc_wrapper_name
    return int(result.library.get_pointer_to_function(wrapper))


def call(rules: Any, number: int, arguments: tuple[Any, ...]) -> Any:
    """Calls a rule.

    Args:
        rules: what `callable_rules` gave.
        number: the rule's place there; a constant.
        arguments: its arguments.
    """
    return rules[number](*arguments)


@overload(call, prefer_literal=True, jit_options=PASTED)
def _compiled_call(rules, number, arguments):
    place = number.literal_value
    if isinstance(rules.types[place], types.Dispatcher):
        return lambda rules, number, arguments: rules[place](*arguments)
    emit: Any = _EMITTERS[place]
    return lambda rules, number, arguments: emit(rules[place], arguments)


def _make_emitter(signature: Any) -> Any:
    """The intrinsic that calls a function of that signature by its address."""

    def emit(context: Any, rule: Any, arguments: Any) -> Any:
        def generate(context, builder, types, values):
            kinds = [context.get_value_type(kind) for kind in signature.args]
            result = context.get_value_type(signature.return_type)
            address, given = values
            function = ir.FunctionType(result, kinds).as_pointer()
            items = [
                context.cast(
                    builder, builder.extract_value(given, k), types.args[1][k], kind
                )
                for k, kind in enumerate(signature.args)
            ]
            return builder.call(builder.inttoptr(address, function), items)

        return signature.return_type(rule, arguments), generate

    return intrinsic(emit)


_SIGNATURES = SIGNATURES._asdict() | {"spell": SPELL_SIGNATURE} | WORLD_SIGNATURES
_EMITTERS = [_make_emitter(signature) for signature in _SIGNATURES.values()]
