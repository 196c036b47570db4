"""Checks of a game's returns, legal actions and chance distributions."""

import math
import numbers
import warnings
from collections.abc import Sequence
from typing import Any

import pyspiel

from mccfr_spiel.arenas.rules.declarations import Declared, GameError
from mccfr_spiel.arenas.rules.game_description import CHANCE, TERMINAL

MAX_UTILITY = 1e100
"""The largest payoff allowed. It keeps sums and squares of the payoffs of a long run
far below 1.8e308, where doubles end, and their products with probabilities as well. The
weights of outcome sampling have a limit of their own, `kernels.walk.MAX_WEIGHT`."""

_SUM_TOLERANCE = 1e-6
"""How far a sum of returns may be from the declared one. OpenSpiel itself allows matrix
games and .efg files this much before it denies that they are zero-sum, whatever the
scale of their payoffs."""

_ROUNDING = 1e-9
"""The relative error that rounding may leave in a return."""


def no_such_player(declared: Declared, player: Any) -> GameError:
    """The error for a state where somebody acts who is not in the game."""
    if player == pyspiel.PlayerId.SIMULTANEOUS:
        return GameError(
            f"{declared.name} declares sequential moves (GameType.dynamics), but has a "
            "state with simultaneous moves (player -2 acts). If it wraps another game, "
            "solve that game itself: its simultaneous moves become turns. Otherwise "
            "declare Dynamics.SIMULTANEOUS."
        )
    return GameError(
        f"{declared.name} has a state where player {player} acts, which is neither a "
        f"player (0 .. {declared.num_players - 1}), chance ({CHANCE}) nor the end "
        f"({TERMINAL})."
    )


def returns_of(state: Any) -> tuple[float, ...]:
    """The returns of a terminal state; raises GameError if its game gives none."""
    returns = state.returns()
    try:
        hash(told := tuple(returns))
    except TypeError as error:
        raise GameError(
            f"{state.get_game()} has a terminal state whose returns() gave "
            f"{returns!r}, which is no list of numbers. Is a return statement missing?"
        ) from error
    return told


def check_returns(declared: Declared, returns: Sequence[float]) -> Declared:
    """Raises GameError unless a terminal state's returns are as declared.

    Returns:
        What later returns must keep to. If a constant sum was declared without its
        value, the first returns determine it.
    """
    name, num_players = declared.name, declared.num_players
    shown = f"the returns {_shown(returns)}"
    if not all(isinstance(value, numbers.Real) for value in returns):
        raise GameError(f"{name} has {shown}, which are not {num_players} numbers.")
    if len(returns) != num_players:
        raise GameError(
            f"{name} has {shown}: {len(returns)} of them for {num_players} players."
        )
    returns = [float(value) for value in returns]
    largest = max(map(abs, returns))
    if not all(map(math.isfinite, returns)):
        raise GameError(f"{name} has {shown}, which are not all finite numbers.")
    if largest > MAX_UTILITY:
        raise GameError(
            f"{name} has {shown}; they must be at most {MAX_UTILITY:.0e}, or sums of "
            "payoffs would overflow. Scale the payoffs."
        )
    rounding = _ROUNDING * largest
    if (
        min(returns) < declared.low - rounding
        or max(returns) > declared.high + rounding
    ):
        found = (
            f"{name} has {shown}, outside of the declared range "
            f"{declared.low:g} .. {declared.high:g}."
        )
        if not declared.is_openspiels:
            raise GameError(
                f"{found} Correct min_utility and max_utility, or the returns."
            )
        warnings.warn(
            f"{found} That is an error of OpenSpiel's game. Nothing in this package "
            "uses the range, so its results are right; others may use min_utility() "
            "and max_utility(), which are wrong here.",
            stacklevel=2,
        )
        declared = declared._replace(low=-MAX_UTILITY, high=MAX_UTILITY)
    constant = declared.utility == pyspiel.GameType.Utility.CONSTANT_SUM
    if constant and declared.utility_sum is None:
        return declared._replace(utility_sum=math.fsum(returns))
    _check_sum(declared, returns, _SUM_TOLERANCE + rounding)
    return declared


def limits_of(declared: Declared) -> tuple[float, float, float, float]:
    """What `check_returns` lets through, for compiled code, which is as strict but for
    rounding: the least and the greatest return, the sum (NaN if it varies), and how far
    from it returns may be."""
    rounding = _ROUNDING * max(abs(declared.low), abs(declared.high))
    total = math.nan if declared.utility_sum is None else declared.utility_sum
    slack = MAX_UTILITY if declared.is_openspiels else rounding
    return (
        max(declared.low - slack, -MAX_UTILITY),
        min(declared.high + slack, MAX_UTILITY),
        total,
        _SUM_TOLERANCE + rounding,
    )


def _check_sum(declared: Declared, returns: Sequence[float], tolerance: float) -> None:
    utilities = pyspiel.GameType.Utility
    if declared.utility == utilities.IDENTICAL:
        if max(returns) - min(returns) > tolerance:
            raise GameError(
                f"{declared.name} declares identical returns for all players, but has "
                f"the returns {_shown(returns)}. Correct {declared.way_out}, or the "
                "returns."
            )
        return
    if declared.utility_sum is None:
        return
    total = math.fsum(returns)
    if abs(total - declared.utility_sum) > tolerance:
        raise GameError(
            f"{declared.name} declares that the returns add up to "
            f"{declared.utility_sum:g}, but has the returns {_shown(returns)}, which "
            f"add up to {total:g}. Correct {declared.way_out}, or the returns."
        )


def check_actions(
    declared: Declared, player: int, info_state: str, actions: Sequence[int]
) -> None:
    """Raises GameError unless legal actions are distinct, ascending and in range.

    Args:
        declared: the game's declarations.
        player: the player who acts.
        info_state: the player's information state, for the message.
        actions: the legal actions.
    """
    last = -1
    for action in actions:
        if action <= last:
            break
        last = action
    else:
        if 0 <= last < declared.num_actions:
            return
    raise GameError(
        f"{declared.name} gives player {player} {_fault_of(declared, actions)} at the "
        f"information state {info_state!r}."
    )


def _fault_of(declared: Declared, actions: Sequence[int]) -> str:
    if not actions:
        return "no legal action"
    if min(actions) < 0:
        return f"the negative legal action {min(actions)}"
    if len(set(actions)) < len(actions):
        return f"a legal action twice: {_shown(actions)}"
    if list(actions) != sorted(actions):
        return f"legal actions that do not ascend: {_shown(actions)}"
    return (
        f"the legal action {actions[-1]}, but declares "
        f"num_distinct_actions={declared.num_actions}, beyond which OpenSpiel writes "
        "outside of its arrays,"
    )


def check_outcomes(name: str, outcomes: Sequence[tuple[int, float]]) -> None:
    """Raises GameError if a chance node lists an outcome twice, or no such pairs."""
    fault = "lists an outcome twice"
    try:
        if len({one.__index__() for one, _ in outcomes}) == len(outcomes[:]):
            return
    except (AttributeError, TypeError, ValueError):
        fault = "gives no list of pairs (whole number, probability)"
    shown = _shown(outcomes) if isinstance(outcomes, list) else repr(outcomes)
    raise GameError(f"{name} has a chance node that {fault}: {shown}.")


def check_probs(name: str, probs: Sequence[float]) -> None:
    """Raises GameError unless a chance node's probabilities are a distribution."""
    if not probs:
        raise GameError(
            f"{name} has a chance node without outcomes. (Compiled rules list them in "
            "legal_actions, too.)"
        )
    if not (all(p >= 0 for p in probs) and abs(math.fsum(probs) - 1) <= 1e-6):
        raise GameError(
            f"{name} has a chance node whose probabilities are no distribution: "
            f"({_shown(probs)[1:-1]})."
        )


def tell_history(error: Exception, state: Any, move: int | None = None) -> None:
    """Adds to an error the history that led to it, unless it has one already.

    In a GameError the history becomes part of the message. Any other error comes from
    the game's own methods; it keeps its message and gets the history as a note.

    Args:
        error: the error, which the caller raises again.
        state: where it happened.
        move: the action that was being applied to the state, if there was one.
    """
    if getattr(error, "_history_is_told", False):
        return
    try:
        history = str(list(state.history()))
        name = str(state.get_game())
    except Exception:  # the game is broken, and the first error says more
        return
    then = "" if move is None else f", where action {move} was applied"
    of = "" if name in str(error) else f" in {name}"
    hint = " Is a return missing, or an int a float?" * ("Unable to cast" in str(error))
    if "make_py_observer" in str(error):
        hint = " Define make_py_observer in the game's class."
    where = f"The history that led there{of}: {history}{then}.{hint}"
    error._history_is_told = True  # pyright: ignore[reportAttributeAccessIssue]
    if isinstance(error, GameError):
        error.args = (f"{error} {where}",)
    else:
        error.add_note(where)


def _shown(values: Sequence[Any]) -> str:
    """A list as text; the middle of a long one is left out."""
    plain = [value.item() if hasattr(value, "item") else value for value in values]
    if len(plain) <= 12:
        return str(plain)
    return f"{str(plain[:8])[:-1]}, ... {str(plain[-2:])[1:]}"
