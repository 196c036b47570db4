"""Calls of a game's rules by the addresses of their machine code.

Numba can take functions as arguments, but it asks Python for their addresses at each
call, in the midst of which Ctrl-C may come. A loop that is called often takes the
addresses themselves, as a tuple of integers, and calls a rule by `call`.
"""

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.errors import TypingError
from numba.core.registry import CPUDispatcher
from numba.extending import intrinsic, overload

from mccfr_spiel.compiled.drafts import PASTED
from mccfr_spiel.compiled.jit import IS_COMPILED, why_not
from mccfr_spiel.rules.description import (
    SIGNATURES,
    SPELL_SIGNATURE,
    WORLD_SIGNATURES,
    BoundRules,
    Description,
    Rules,
)

ACTING, LEGAL_ACTIONS, CHANCE_PROBS, APPLY_ACTION, INFO_KEY, RETURNS = range(1, 7)
"""The places of the rules in `Rules`."""

SPELL = 7
"""The place of `BoundRules.spell` behind them."""

NUM_CALLED = 8

WORLD_KEY, LEAF_CLASS, CLASS_RETURNS = range(8, 11)
"""The numbers of these functions of a Description for `call`."""


def callable_rules(rules: BoundRules) -> tuple[Any, ...]:
    """The rules as compiled loops take them for `call`, `[NUM_CALLED]`.

    They are addresses, or, with the JIT off, the functions. The last of them spells
    strings; for games without it, it is 0. Whoever uses them keeps the rules alive.

    Raises:
        ValueError: a function is not `compiled`, or does not have the right type.
    """
    named = zip(Rules._fields, rules.description.rules, SIGNATURES, strict=True)
    found = [address_of(*rule) for rule in named]
    spell = rules.spell
    last = 0 if spell is None else address_of("spell", spell, SPELL_SIGNATURE)
    return (*found, last)


def callable_world_rules(description: Description) -> tuple[Any, ...]:
    """The functions that tell of worlds in the same way, 0 for each that is missing."""
    found = []
    for name, signature in WORLD_SIGNATURES.items():
        function = getattr(description, name)
        found.append(0 if function is None else address_of(name, function, signature))
    return tuple(found)


def address_of(name: str, function: Any, signature: Any) -> Any:
    """The address of a `compiled` function, or, with the JIT off, the function.

    Args:
        name: what messages call it.
        function: the function.
        signature: numba's, of what it gets and returns.

    Raises:
        ValueError: it is not `compiled`, or does not have that type.
    """
    if not IS_COMPILED:
        return function
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


def call(rule: Any, number: int, arguments: tuple[Any, ...]) -> Any:
    """Calls a rule.

    Args:
        rule: its entry in what `callable_rules` gave.
        number: its place in `Rules`; a constant.
        arguments: its arguments.
    """
    return rule(*arguments)


@overload(call, prefer_literal=True, jit_options=PASTED)
def _compiled_call(rule, number, arguments):
    if isinstance(rule, types.Dispatcher):
        return lambda rule, number, arguments: rule(*arguments)
    emit: Any = _EMITTERS[number.literal_value]
    return lambda rule, number, arguments: emit(rule, arguments)


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


_EMITTERS = [
    _make_emitter(one)
    for one in (*SIGNATURES, SPELL_SIGNATURE, *WORLD_SIGNATURES.values())
]
