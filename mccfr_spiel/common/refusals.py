"""Checks of arguments, shared by public functions.

Each check raises a ValueError with the argument's name, its value and the expected
values. Without the checks, a wrong type would lead to a TypeError in an internal
function, which does not name the argument.
"""

import contextlib
import difflib
import math
import operator
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np

RECALL_WAY_OUT = (
    "Use information states that remember all moves and observations of the player. To "
    "solve the game anyway, pass abstraction=pyspiel.State.information_state_string to "
    "mccfr_spiel.Solver, or --allow_imperfect_recall on the command line. OpenSpiel "
    "evaluates policies of small games: "
    "open_spiel.python.algorithms.exploitability.nash_conv(policy.turn_based_game, "
    "policy)."
)
"""The end of error messages about imperfect recall: what the user can do."""


def integer(value: Any, name: str, least: int | None = None) -> int:
    """Returns the value as an int; a float such as 1e6 counts as an integer.

    Raises:
        ValueError: the value is not an integer, or is less than `least`.
    """
    try:
        is_integer = bool(value % 1 == 0)  # False for NaN and infinity
        number = int(value) if is_integer else 0
    except (TypeError, ValueError, OverflowError):
        is_integer, number = False, 0
    if not is_integer or (least is not None and number < least):
        at_least = "" if least is None else f" >= {least}"
        raise ValueError(f"{name}={value!r} must be an integer{at_least}.")
    return number


def number(
    value: Any, name: str, low: float, high: float, *, open_low: bool = False
) -> float:
    """Returns the value as a float.

    Args:
        value: the value to check.
        name: the name of the argument.
        low: the smallest allowed value.
        high: the largest allowed value.
        open_low: whether `low` itself is excluded.

    Raises:
        ValueError: the value is not a number in the range.
    """
    try:
        result = float(value) if not isinstance(value, str | bytes) else float("nan")
    except (TypeError, ValueError, OverflowError):
        result = float("nan")
    if not low <= result <= high or (open_low and result == low):
        bracket, any_number = "(" if open_low else "[", low == -high == -math.inf
        where = "" if any_number else f" in {bracket}{low:g}, {high:g}]"
        raise ValueError(f"{name}={value!r} must be a number{where}.")
    return result


def flag(value: Any, name: str, more: str = "") -> bool:
    """Returns the value as a bool.

    Args:
        value: the value to check.
        name: the name of the argument.
        more: text for the message about further allowed values, such as " or None".

    Raises:
        ValueError: the value is neither True nor False.
    """
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}={value!r} must be True or False{more}.")
    return bool(value)


def choice(value: Any, name: str, choices: Collection[str]) -> None:
    """Raises ValueError unless the value is one of the choices."""
    if not isinstance(value, str) or value not in choices:
        hint = near(str(value), choices)
        raise ValueError(f"{name}={value!r} must be one of {', '.join(choices)}.{hint}")


def function(value: Any, name: str, kind: str) -> None:
    """Raises ValueError unless the value is callable.

    Args:
        value: the value to check.
        name: the name of the argument.
        kind: the description of the expected function in the message, such as "(state,
            player) -> str".
    """
    if not callable(value):
        raise ValueError(f"{name}={value!r} must be a function {kind}.")


def names(value: Any, name: str) -> tuple[str, ...]:
    """Returns the value as a tuple of strings; a single string counts as one name.

    Raises:
        ValueError: an element is not a string.
    """
    is_many = isinstance(value, Iterable) and not isinstance(value, str)
    items: tuple[Any, ...] = tuple(value if is_many else [value])
    if not all(isinstance(item, str) for item in items):
        raise ValueError(f"{name}={value!r} must be a list of names.")
    return items


def tremble(value: Any, name: str = "tremble") -> float:
    """Returns the least probability of an action as a float.

    Raises:
        ValueError: the value is not a number in [0, 0.5).
    """
    with contextlib.suppress(ValueError):
        result = number(value, name, 0, 0.5)
        if result < 0.5:
            return result
    raise ValueError(
        f"{name}={value!r} must be a number in [0, 0.5). At an infoset with n actions, "
        "a tremble of more than 1 / (2 n) has the same effect as 1 / (2 n)."
    )


def numbers(value: Any, name: str) -> np.ndarray:
    """Returns a copy of the value as an array of float64.

    Raises:
        ValueError: an element is not a number.
    """
    try:
        return np.array(value, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name}={value!r} must have numbers only: {error}.") from None


def player(value: Any, num_players: int, name: str = "player") -> int:
    """Returns the value as an int from 0 to `num_players - 1`.

    Raises:
        ValueError: there is no such player.
    """
    try:
        index = operator.index(value)
    except TypeError:
        index = -1
    if not 0 <= index < num_players:
        raise ValueError(f"{name}={value!r} must be in 0 .. {num_players - 1}.")
    return index


def count(value: Any, name: str) -> int:
    """Rounds a number such as 1e6 up to an integer; negative numbers become 0.

    Raises:
        ValueError: the value is not a finite number.
    """
    try:
        return max(0, math.ceil(value))
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name}={value!r} must be a finite number.") from None


def near(name: str, known: Iterable[str]) -> str:
    """Returns ` Did you mean cfr_plus?` if a known name is close, else an empty
    string."""
    # Sorted by length, so that of two equally close names the shorter is returned:
    # "cfr", not "lcfr".
    matches = difflib.get_close_matches(name.lower(), sorted(known, key=len), n=1)
    return f" Did you mean {matches[0]}?" if matches else ""
