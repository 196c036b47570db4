"""The declarations of a game about its returns and actions."""

from typing import Any, NamedTuple

import pyspiel

RULES_WAY_OUT = "Description.utility_sum (None for a general sum; the default is 0)"
"""How a game of compiled rules declares its sum."""


class GameError(ValueError):
    """A game breaks its own declarations or OpenSpiel's rules.

    The message names the history where it does so.
    """


class Declared(NamedTuple):
    """The bounds that a game declares for its returns and actions.

    Attributes:
        name: the game's name in messages.
        num_players: the length of each vector of returns.
        num_actions: players' actions are 0 .. num_actions - 1.
        low, high: the least and greatest return of any player.
        utility: the kind of sum, in OpenSpiel's words.
        utility_sum: what returns add up to; None if it varies, or if a constant sum is
            declared without its value.
        way_out: where a game declares its kind of sum, for messages.
        is_openspiels: whether OpenSpiel's own C++ declares it, which users cannot
            correct. No algorithm here asks for the range, so there it may be wrong.
    """

    name: str
    num_players: int
    num_actions: int
    low: float
    high: float
    utility: pyspiel.GameType.Utility
    utility_sum: float | None
    way_out: str
    is_openspiels: bool = False


def declared_by(game: pyspiel.Game) -> Declared:
    """Collects what a game declares."""
    utility = game.get_type().utility
    utilities = pyspiel.GameType.Utility
    total = game.utility_sum() if utility == utilities.CONSTANT_SUM else None
    own = "GameType.utility (GENERAL_SUM if the sum varies) and GameInfo.utility_sum"
    return Declared(
        name=str(game),
        num_players=game.num_players(),
        num_actions=game.num_distinct_actions(),
        low=game.min_utility(),
        high=game.max_utility(),
        utility=utility,
        utility_sum=0.0 if utility == utilities.ZERO_SUM else total,
        way_out=RULES_WAY_OUT if hasattr(game, "rules") else own,
        is_openspiels=_is_openspiels(game),
    )


def is_of_pyspiel(game: pyspiel.Game) -> bool:
    """Whether a game's class is a C++ one, and not one that Python code has made."""
    return type(game).__module__.partition(".")[0] == "pyspiel"


def parameters_of(name: Any) -> dict[str, Any] | None:
    """The parameters with which a game is registered; None if the name is no game's."""
    kinds = {kind.short_name: kind for kind in pyspiel.registered_games()}
    return kinds[name].parameter_specification if name in kinds else None


def lacks_game(name: Any, parameters: dict[str, Any]) -> bool:
    """Whether parameters miss the game inside a game, as those of games do that code
    has made of others, or the name is no game's. OpenSpiel prints it if asked for one.
    """
    known = parameters_of(name)
    return known is None or any(known[k] == {} for k in known.keys() - parameters)


def inner_game(parameters: dict[str, Any]) -> pyspiel.Game | None:
    """Makes the game that another game's parameter describes; None if it does not."""
    name = parameters.get("name")
    others = {key: value for key, value in parameters.items() if key != "name"}
    if lacks_game(name, others):
        return None
    try:
        return pyspiel.load_game(name, others)
    except Exception:  # games raise what they like, and code may have made this one
        return None


def _is_openspiels(game: pyspiel.Game) -> bool:
    """Whether a game is one of OpenSpiel's own in C++, be it inside its wrappers."""
    parameters = game.get_parameters().get("game")
    if not isinstance(parameters, dict):
        return is_of_pyspiel(game)
    inner = inner_game(parameters)
    return inner is not None and _is_openspiels(inner)
