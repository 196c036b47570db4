"""pyspiel.Game: loaded by its string, and brought into the form that trees are made of.

Everything that is refused before a single state is looked at is refused here.
"""

import difflib
import importlib
import re

import pyspiel

from mccfr_spiel.display.lines import brief
from mccfr_spiel.rules.declared import GameError

IMPORT_WAY_OUT = "import the module that registers it first"
"""What helps if a game is not registered."""

OUR_GAMES = {
    "python_dark_hex",
    "python_goofspiel",
    "python_leduc_ranks",
    "python_one_card_poker",
    "python_princess_and_monster",
    "python_search",
}
"""The games that `mccfr_spiel.games` registers. The package does not import it before
one of them is asked for by its name."""


def load_game(game: pyspiel.Game | str) -> pyspiel.Game:
    """Loads a game from its load string; returns a `pyspiel.Game` as it is.

    Raises:
        ValueError: no game of that name is registered (the message suggests similar
            names), or OpenSpiel refuses its parameters.
    """
    if isinstance(game, pyspiel.Game):
        return game
    if not isinstance(game, str):
        raise ValueError(f"{game!r} is neither a pyspiel.Game nor the name of one.")
    if OUR_GAMES & {*re.findall(r"\w+", game)}:  # perhaps inside an OpenSpiel wrapper
        importlib.import_module("mccfr_spiel.games")
    name = game.split("(", 1)[0].strip()
    if name not in pyspiel.registered_names():
        raise ValueError(
            f"OpenSpiel has no game named {name!r}.{_similar_names(name)} If it is a "
            f"Python game, {IMPORT_WAY_OUT}."
        )
    try:
        return pyspiel.load_game(game)
    except GameError:  # compiled rules that break their own declaration
        raise
    except Exception as error:  # games raise what they like
        raise ValueError(
            f"OpenSpiel cannot load {brief(game)!r}: {error}{_parameters_hint(name)}"
        ) from error


def saved_game(text: str) -> pyspiel.Game:
    """Loads the game that a file names by its `str(game)`.

    Raises:
        ValueError: the string is not enough to make the game; the message asks for the
            game itself.
    """
    try:
        return load_game(text)
    except ValueError as error:
        raise ValueError(
            f"The file is of the game {text!r}, which its string is not enough to make "
            "(it may have been made in code, or be registered by a module that is not "
            f"imported): give the game itself (game=...). {error}"
        ) from error


def turn_based(game: pyspiel.Game) -> pyspiel.Game:
    """Returns the game itself, or its turn-based form if players move simultaneously.

    Raises:
        ValueError: games of this kind have no tree that could be solved.
    """
    kind = game.get_type()
    if kind.dynamics == pyspiel.GameType.Dynamics.MEAN_FIELD:
        raise ValueError(
            f"{brief(game)} is a mean field game: it has no finite game tree."
        )
    if kind.chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
        raise ValueError(
            f"{brief(game)} has sampled stochastic chance: it does not list its chance "
            "outcomes, so its tree cannot be known. Use a version with explicit chance."
        )
    if kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        return pyspiel.convert_to_turn_based(game)
    return game


def may_be_python(game: pyspiel.Game) -> bool:
    """Whether Python code may make a game's moves, be it inside an OpenSpiel wrapper.

    Such games are checked more closely, since their authors may be our users.
    """
    is_openspiels = type(game).__module__.split(".")[0] == "pyspiel"
    is_wrapper = str(game).count("(") > 1 or "python_" in str(game)
    return not is_openspiels or is_wrapper


def _similar_names(name: str) -> str:
    names = pyspiel.registered_names()
    near = difflib.get_close_matches(name, names, n=5)
    near += [other for other in names if name and name in other and other not in near]
    return f" Near it: {', '.join(near[:8])}." if near else ""


def _parameters_hint(name: str) -> str:
    kinds = {kind.short_name: kind for kind in pyspiel.registered_games()}
    parameters = kinds[name].parameter_specification
    return f". Its parameters: {', '.join(sorted(parameters))}." if parameters else ""
