"""The bounds that a game declares for its returns and actions.

Solvers rely on these declarations: `exploitability` is half of NashConv only if the sum
of returns is constant, and OpenSpiel allocates arrays of `num_distinct_actions`
entries. `state_checks` checks returns and actions of states against the declarations.
"""

from typing import Any, NamedTuple

import pyspiel

RULES_WAY_OUT = "Description.utility_sum (None for a general sum; the default is 0)"
"""The place where a game with compiled rules declares the sum of returns, for error
messages.
"""


class GameError(ValueError):
    """A game breaks its own declarations or OpenSpiel's rules.

    The message names the history that led to the error.
    """


class Declared(NamedTuple):
    """The bounds that a game declares for its returns and actions.

    Attributes:
        name: name of the game in messages.
        num_players: number of players, the length of each vector of returns.
        num_actions: exclusive upper bound of the players' actions.
        low: least return of any player.
        high: greatest return of any player.
        utility: OpenSpiel's classification of the sum of returns, such as ZERO_SUM.
        utility_sum: sum of the returns. None if it varies, or if a constant sum is
            declared without a value.
        way_out: name of the declaration that must be corrected, for error messages.
        is_openspiels: whether OpenSpiel's own C++ code declares the bounds. Users
            cannot correct that code, so a wrong range only causes a warning. No
            algorithm here uses the range.
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
    """Reads the declarations of a game."""
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
    """Whether the class of a game is implemented in C++."""
    return type(game).__module__.partition(".")[0] == "pyspiel"


def parameters_of(name: Any) -> dict[str, Any] | None:
    """Returns the parameters of a registered game with their defaults; None for an
    unknown name.

    A required parameter has the default {}.
    """
    types = {
        game_type.short_name: game_type for game_type in pyspiel.registered_games()
    }
    return types[name].parameter_specification if name in types else None


def lacks_game(name: Any, parameters: dict[str, Any]) -> bool:
    """Returns whether pyspiel is unable to load a game from its name and parameters.

    This is so if the name is unknown, or if a required parameter is missing. The latter
    occurs in wrappers that were constructed around a game object. OpenSpiel prints an
    error to the terminal if it fails to load a game, so callers check here first.
    """
    registered = parameters_of(name)
    if registered is None:
        return True
    return any(registered[key] == {} for key in registered.keys() - parameters)


def inner_game(parameters: dict[str, Any]) -> pyspiel.Game | None:
    """Loads the game that a wrapper's parameter describes; None if that fails."""
    name = parameters.get("name")
    others = {key: value for key, value in parameters.items() if key != "name"}
    if lacks_game(name, others):
        return None
    try:
        return pyspiel.load_game(name, others)
    except Exception:  # Python games may raise any error
        return None


def _is_openspiels(game: pyspiel.Game) -> bool:
    """Whether a game, or the game inside its wrappers, is implemented in C++."""
    parameters = game.get_parameters().get("game")
    if not isinstance(parameters, dict):
        return is_of_pyspiel(game)
    inner = inner_game(parameters)
    return inner is not None and _is_openspiels(inner)
