"""Checks of arguments that many public functions share.

A refusal is a ValueError that shows the value and says what is wanted. Without these
checks a wrong type would surface as a bare TypeError from deep inside.
"""

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
"""Advice for games with imperfect recall."""


def integer(value: Any, name: str, least: int | None = None) -> int:
    """Returns the value as an int; a float such as 1e6 counts as an integer.

    Raises:
        ValueError: the value is no integer, or it is less than `least`.
    """
    try:
        is_integer = bool(value % 1 == 0)  # False for NaN and infinity
        number = int(value) if is_integer else 0
    except (TypeError, ValueError, OverflowError):
        is_integer, number = False, 0
    if not is_integer or (least is not None and number < least):
        at_least = "" if least is None else f" >= {least}"
        raise ValueError(f"{name}={value!r} is not an integer{at_least}.")
    return number


def number(
    value: Any, name: str, low: float, high: float, *, open_low: bool = False
) -> float:
    """Returns the value as a float.

    Args:
        value: the value to check.
        name: the name of the argument.
        low: the least value allowed.
        high: the greatest value allowed.
        open_low: whether `low` itself is not allowed.

    Raises:
        ValueError: the value is no number, or it is outside the range.
    """
    try:
        result = float(value) if not isinstance(value, str | bytes) else float("nan")
    except (TypeError, ValueError, OverflowError):
        result = float("nan")
    if not low <= result <= high or (open_low and result == low):
        bracket = "(" if open_low else "["
        raise ValueError(
            f"{name}={value!r} is not a number in {bracket}{low:g}, {high:g}]."
        )
    return result


def flag(value: Any, name: str, more: str = "") -> bool:
    """Returns the value as a bool; `more` says what else would be taken.

    Raises:
        ValueError: the value is neither True nor False.
    """
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}={value!r} is not True or False{more}.")
    return bool(value)


def choice(value: Any, name: str, choices: Collection[str]) -> None:
    """Raises ValueError unless the value is one of some words."""
    if not isinstance(value, str) or value not in choices:
        hint = near(str(value), choices)
        raise ValueError(f"{name}={value!r} is none of {', '.join(choices)}.{hint}")


def function(value: Any, name: str, kind: str) -> None:
    """Raises ValueError unless the value can be called; `kind` says as what."""
    if not callable(value):
        raise ValueError(f"{name}={value!r} is no function {kind}.")


def names(value: Any, name: str) -> tuple[str, ...]:
    """Returns the value as a tuple of strings; a single string may stand alone.

    Raises:
        ValueError: something in the value is no string.
    """
    is_many = isinstance(value, Iterable) and not isinstance(value, str)
    found: tuple[Any, ...] = tuple(value if is_many else [value])
    if not all(isinstance(one, str) for one in found):
        raise ValueError(f"{name}={value!r} is no list of names.")
    return found


def numbers(value: Any, name: str) -> np.ndarray:
    """Returns the value as an array of float64, a new one.

    Raises:
        ValueError: something in the value is no number.
    """
    try:
        return np.array(value, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name}={value!r} is not made of numbers: {error}.") from None


def player(value: Any, num_players: int, name: str = "player") -> int:
    """Returns the value as the number of a player.

    Raises:
        ValueError: there is no such player.
    """
    try:
        index = operator.index(value)
    except TypeError:
        index = -1
    if not 0 <= index < num_players:
        raise ValueError(f"{name}={value!r} is not in 0 .. {num_players - 1}.")
    return index


def count(value: Any, name: str) -> int:
    """Returns a number that may be no integer, such as 1e6, rounded up; 0 if negative.

    Raises:
        ValueError: the value is not finite, or is no number.
    """
    try:
        return max(0, math.ceil(value))
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name}={value!r} is not finite, or is no number.") from None


def near(name: str, known: Iterable[str]) -> str:
    """` Did you mean cfr_plus?` if a known name is close to one that is not known."""
    # Of two equally close names the shorter one is meant: "cfr" and not "lcfr".
    found = difflib.get_close_matches(name.lower(), sorted(known, key=len), n=1)
    return f" Did you mean {found[0]}?" if found else ""
