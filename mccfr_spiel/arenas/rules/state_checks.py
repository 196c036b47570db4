"""Checks of a game's returns, legal actions and chance distributions.

A tree calls a check when a list of actions, a chance distribution or a vector of
returns occurs for the first time. Most of them repeat, so the checks take no measurable
time.
"""

import math
import numbers
import warnings
from collections.abc import Sequence
from typing import Any

import pyspiel

from mccfr_spiel.arenas.rules.declarations import Declared, GameError
from mccfr_spiel.arenas.rules.game_description import CHANCE, TERMINAL

MAX_UTILITY = 1e100
"""Largest absolute payoff. Sums and squares of such payoffs, and their products with
probabilities, stay far below 1.8e308, the largest double. Payoffs times importance
weights, as in outcome sampling, have a separate bound, `kernels.recording.MAX_WEIGHT`.
"""

_SUM_TOLERANCE = 1e-6
"""Absolute tolerance of the sum of returns. OpenSpiel uses the same tolerance when it
classifies matrix games and .efg files as zero-sum, whatever the scale of the payoffs.
"""

_ROUNDING = 1e-9
"""Relative rounding error that is tolerated in a return."""


def no_such_player(declared: Declared, player: Any) -> GameError:
    """Returns the error for a state whose acting player does not exist."""
    if player == pyspiel.PlayerId.SIMULTANEOUS:
        return GameError(
            f"{declared.name} declares sequential moves (GameType.dynamics), but has a "
            "state with simultaneous moves (player -2 acts). If it wraps another game, "
            "solve that game itself: its simultaneous moves become turns. Otherwise "
            "declare Dynamics.SIMULTANEOUS."
        )
    return GameError(
        f"{declared.name} has a state where player {player} acts. Expected a player "
        f"(0 .. {declared.num_players - 1}), chance ({CHANCE}) or the end ({TERMINAL})."
    )


def returns_of(state: Any) -> tuple[float, ...]:
    """Returns the returns of a terminal state as a hashable tuple.

    Raises:
        GameError: the result of `state.returns()` is not a list of hashable values.
    """
    returns = state.returns()
    try:
        hash(values := tuple(returns))
    except TypeError as error:
        raise GameError(
            f"{state.get_game()} has a terminal state whose returns() gave "
            f"{returns!r}, which is no list of numbers. Is a return statement missing?"
        ) from error
    return values


def check_returns(declared: Declared, returns: Sequence[float]) -> Declared:
    """Checks the returns of a terminal state.

    Returns:
        The declarations for the next check. If a constant sum was declared without a
            value, they contain the sum of these returns. If the range of a game in
            OpenSpiel's C++ code is wrong, a warning is issued, and the range is widened
            so that there is a single warning.

    Raises:
        GameError: the returns contradict the declarations.
    """
    name, num_players = declared.name, declared.num_players
    text = f"the returns {_shown(returns)}"
    if not all(isinstance(value, numbers.Real) for value in returns):
        raise GameError(f"{name} has {text}, which are not {num_players} numbers.")
    if len(returns) != num_players:
        raise GameError(
            f"{name} has {text}. Expected {num_players} numbers, one for each player."
        )
    returns = [float(value) for value in returns]
    largest = max(map(abs, returns))
    if not all(map(math.isfinite, returns)):
        raise GameError(f"{name} has {text}, which are not all finite numbers.")
    if largest > MAX_UTILITY:
        raise GameError(
            f"{name} has {text}; they must be at most {MAX_UTILITY:.0e}, because sums "
            "of larger payoffs could overflow. Scale the payoffs."
        )
    rounding = _ROUNDING * largest
    if (
        min(returns) < declared.low - rounding
        or max(returns) > declared.high + rounding
    ):
        message = (
            f"{name} has {text}, outside of the declared range "
            f"{declared.low:g} .. {declared.high:g}."
        )
        if not declared.is_openspiels:
            raise GameError(
                f"{message} Correct min_utility and max_utility, or the returns."
            )
        warnings.warn(
            f"{message} This is an error of OpenSpiel's game. Policies and values are "
            "right, because only ms.solve and ms.exploit use the range, for targets "
            "relative to it: pass nash_conv or gap there.",
            stacklevel=2,
        )
        declared = declared._replace(low=-MAX_UTILITY, high=MAX_UTILITY)
    constant = declared.utility == pyspiel.GameType.Utility.CONSTANT_SUM
    if constant and declared.utility_sum is None:
        return declared._replace(utility_sum=math.fsum(returns))
    _check_sum(declared, returns, _SUM_TOLERANCE + rounding)
    return declared


def limits_of(declared: Declared) -> tuple[float, float, float, float]:
    """Returns the bounds on returns that compiled code checks, see
    `GameArrays.returns`.

    They agree with `check_returns` except for the tolerance, which is relative to the
    declared range here, and relative to the returns there.

    Returns:
        The least return, the greatest return, the sum of returns (NaN if it varies),
        and the tolerance of the sum.
    """
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
    """Raises GameError if returns contradict the declared sum or are not identical, as
    declared.
    """
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
    """Checks that legal actions are distinct, ascending and in range.

    Args:
        declared: the game's declarations.
        player: the acting player.
        info_state: the player's information-state string, for the message.
        actions: the legal actions.

    Raises:
        GameError: there is no action, or an action is repeated, out of order or out of
        range.
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
    """Returns a description of the error in a list of legal actions."""
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
    """Raises GameError unless chance outcomes are distinct pairs (int, probability)."""
    fault = "lists an outcome twice"
    try:
        if len({outcome.__index__() for outcome, _ in outcomes}) == len(outcomes[:]):
            return
    except (AttributeError, TypeError, ValueError):
        fault = "gives no list of pairs (whole number, probability)"
    text = _shown(outcomes) if isinstance(outcomes, list) else repr(outcomes)
    raise GameError(f"{name} has a chance node that {fault}: {text}.")


def check_probs(name: str, probs: Sequence[float]) -> None:
    """Raises GameError unless probabilities of chance outcomes are a distribution."""
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
    """Adds the history of a state to an error, unless the error already contains a
    history.

    The history is appended to the message of a GameError. Other errors were raised by
    methods of the game; to these it is added as a note.

    Args:
        error: the error, which the caller raises again.
        state: the state at which the error occurred.
        move: the action that was being applied to the state, if any.
    """
    if getattr(error, "_history_is_told", False):
        return
    try:
        history = str(list(state.history()))
        name = str(state.get_game())
    except Exception:  # the game is broken; the original error is more useful
        return
    last_move = "" if move is None else f", where action {move} was applied"
    game = "" if name in str(error) else f" in {name}"
    hint = " Is a return missing, or an int a float?" * ("Unable to cast" in str(error))
    if "make_py_observer" in str(error):
        hint = " Define make_py_observer in the game's class."
    where = f"The history that led there{game}: {history}{last_move}.{hint}"
    error._history_is_told = True  # pyright: ignore[reportAttributeAccessIssue]
    if isinstance(error, GameError):
        error.args = (f"{error} {where}",)
    else:
        error.add_note(where)


def _shown(values: Sequence[Any]) -> str:
    """Returns a list as text; if it has more than 12 values, the first 8 and the last
    2.
    """
    plain = [value.item() if hasattr(value, "item") else value for value in values]
    if len(plain) <= 12:
        return str(plain)
    return f"{str(plain[:8])[:-1]}, ... {str(plain[-2:])[1:]}"
