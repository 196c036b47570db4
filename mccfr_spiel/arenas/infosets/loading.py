"""Loads games from load strings and converts them to the turn-based form that trees
require."""

import difflib
import importlib
import os
import re
from typing import Any

import pyspiel

from mccfr_spiel.arenas.rules.declarations import GameError, inner_game, parameters_of
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.game_files import is_game_file
from mccfr_spiel.interchange.gambit_game import game_of_file

OUR_GAMES = {
    "python_dark_hex",
    "python_goofspiel",
    "python_holdem_subgame",
    "python_leduc_ranks",
    "python_one_card_poker",
    "python_princess_and_monster",
    "python_search",
}
"""Names of the games that the module `mccfr_spiel.games` registers. `load_game` imports
this module if a load string contains one of the names."""


def load_game(game: pyspiel.Game | str) -> pyspiel.Game:
    """Loads a game from its load string, or from a Gambit file if the string is a path
    that ends in .efg or .nfg; returns a `pyspiel.Game` unchanged.

    Raises:
        GameFileError: the file breaks its format; the message names line and token.
        ValueError: no game with the name in the string is registered (the message
            suggests similar names); OpenSpiel refuses the parameters; the file cannot
            be read; or `game` has another type.
    """
    if isinstance(game, pyspiel.Game):
        return game
    if isinstance(game, os.PathLike) or (isinstance(game, str) and is_game_file(game)):
        return game_of_file(game)
    if not isinstance(game, str):
        raise ValueError(
            f"game={game!r} must be a pyspiel.Game, a load string, or the path of an "
            ".efg or .nfg file."
        )
    # The name may be anywhere in the string, because OpenSpiel's wrappers have inner
    # games as parameters.
    if OUR_GAMES & {*re.findall(r"\w+", game)}:
        importlib.import_module("mccfr_spiel.games")
    name = game.split("(", 1)[0].strip()
    if name not in pyspiel.registered_names():
        raise ValueError(
            f"OpenSpiel has no game named {name!r}.{_similar_names(name)} If it is a "
            "Python game, import the module that registers it first (on the command "
            "line, --import=MODULE)."
        )
    try:
        return _loaded(game, name)
    except GameError:  # the message already explains a fault in compiled rules
        raise
    except Exception as error:  # games raise arbitrary exceptions
        raise ValueError(
            f"OpenSpiel cannot load {brief(game)!r}: {str(error).removesuffix('.')}"
            f"{_parameters_hint(name)}"
        ) from error


def saved_game(text: str) -> pyspiel.Game:
    """Loads the game of a file from the string `str(game)` that the file contains.

    Raises:
        ValueError: the game cannot be loaded from the string; the message asks the user
            to pass the game object.
    """
    try:
        return load_game(text)
    except ValueError as error:
        raise ValueError(
            f"The file belongs to the game {text!r}, which cannot be loaded from its "
            "string (it may have been created in code, or be registered by a module "
            f"that is not imported): pass the game itself (game=...). {error}"
        ) from error


def turn_based(game: pyspiel.Game) -> pyspiel.Game:
    """The game itself, or its turn-based form if players move simultaneously.

    In the turn-based form players move one after another. They observe the other
    players' moves only after all players have moved.

    Raises:
        ValueError: the game is a mean field game or has sampled stochastic chance, so
            it has no tree.
    """
    game_type = game.get_type()
    if game_type.dynamics == pyspiel.GameType.Dynamics.MEAN_FIELD:
        raise ValueError(
            f"{brief(game)} is a mean field game: it has no finite game tree."
        )
    if game_type.chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
        raise ValueError(
            f"{brief(game)} has sampled stochastic chance, which lists no chance "
            "outcomes for a tree. Use a version with explicit chance."
        )
    if game_type.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        return pyspiel.convert_to_turn_based(game)
    return game


def _loaded(text: str, name: str) -> pyspiel.Game:
    """Loads a game like `pyspiel.load_game`, and works around an error of pyspiel.

    pyspiel parses firstPlayer=1 as a number, but its poker games require a string for
    this parameter. So it cannot load the strings of some of its own games. Parameters
    whose default is a string are therefore passed as strings.

    Args:
        text: load string.
        name: name of the game in the load string.
    """
    given = pyspiel.game_parameters_from_string(text)
    defaults = parameters_of(name) or {}
    _check_start(given)
    texts = {key: str(given[key]) for key in given if type(defaults.get(key)) is str}
    if texts.items() <= given.items():
        return pyspiel.load_game(text)
    del given["name"]
    return pyspiel.load_game(name, given | texts)


def _check_start(parameters: dict[str, Any]) -> None:
    """Checks the history of OpenSpiel's game `start_at`, which begins after some moves
    of another game.

    OpenSpiel applies the moves without checks: an illegal move crashes the process or
    leads to a state that does not belong to the game.

    Args:
        parameters: parameters of a load string, including its name and inner games.

    Raises:
        ValueError: a move in the history is illegal.
    """
    inner = [value for value in parameters.values() if isinstance(value, dict)]
    for game in inner:
        _check_start(game)
    history = str(parameters.get("history", ""))
    if parameters.get("name") != "start_at" or not inner or not history:
        return
    game = inner_game(inner[0])
    if game is None:  # the inner game is unknown; OpenSpiel will report it
        return
    state = game.new_initial_state()
    for position, move in enumerate(history.split(";")):
        legal = state.legal_actions()
        if not move.isdecimal() or int(move) not in legal:
            raise ValueError(
                f"history={history} of start_at: move {position + 1}, {move!r}, is not "
                f"legal in {brief(game)} after {state.history()}. Legal moves: "
                f"{brief(legal)}."
            )
        state.apply_action(int(move))


def _similar_names(name: str) -> str:
    names = pyspiel.registered_names()
    near = difflib.get_close_matches(name, names, n=5)
    near += [other for other in names if name and name in other and other not in near]
    return f" Did you mean: {', '.join(near[:8])}?" if near else ""


def _parameters_hint(name: str) -> str:
    parameters = parameters_of(name)
    return f". Its parameters: {', '.join(sorted(parameters))}." if parameters else ""
