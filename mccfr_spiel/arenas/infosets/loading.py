"""Loads games, tells whether two are the same, names their actions.

A game is loaded by its string and brought into the form that trees are made of.
Everything that is refused before a single state is looked at is refused here.

pyspiel compares games by their strings only, which is not enough. Two strings may name
one game: "kuhn_poker()" and "kuhn_poker(players=2)", where the default is written out.
`same_name` sees through that.

`str(game)` determines a registered C++ game completely, since everything about it is in
its parameters. It does not determine games made in code, by
`pyspiel.create_matrix_game`, `pyspiel.load_efg_game` or as an instance of a Python
class, which may have any payoffs under one string. Within a process, `same_game` says
whether two games are surely the same. For files, `content_print` is a hash of what is
met when the game is played.

Files and the API use OpenSpiel's strings for actions and information states. Tables,
the page, drawings and games in the terminal use the words that people say instead
(`said`). Four of OpenSpiel's games have words of their own here. In the strings of all
others only what the row shows anyway, such as the player, is left out. The words of
compiled rules stay as they are.
"""

import difflib
import importlib
import re
from typing import Any

import pyspiel

from mccfr_spiel.arenas.rules.declarations import (
    GameError,
    inner_game,
    parameters_of,
)
from mccfr_spiel.common.display import brief

OUR_GAMES = {
    "python_dark_hex",
    "python_goofspiel",
    "python_holdem_subgame",
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
            "Python game, import the module that registers it first (on the command "
            "line, --import=MODULE)."
        )
    try:
        return _loaded(game, name)
    except GameError:  # compiled rules that break their own declaration
        raise
    except Exception as error:  # games raise what they like
        raise ValueError(
            f"OpenSpiel cannot load {brief(game)!r}: {str(error).removesuffix('.')}"
            f"{_parameters_hint(name)}"
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

    In that form they move one after another, and none sees what the others have chosen
    before all have.

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


def _loaded(text: str, name: str) -> pyspiel.Game:
    """As `pyspiel.load_game`, which reads firstPlayer=1 as a number and then wants a
    string. So it cannot load what games of one round of poker call themselves."""
    given, known = pyspiel.game_parameters_from_string(text), parameters_of(name) or {}
    _check_start(given)
    texts = {key: str(given[key]) for key in given if type(known.get(key)) is str}
    if texts.items() <= given.items():
        return pyspiel.load_game(text)
    del given["name"]
    return pyspiel.load_game(name, given | texts)


def _check_start(parameters: dict[str, Any]) -> None:
    """Raises ValueError if a `start_at` in a load string begins with an illegal move.

    OpenSpiel applies the moves unchecked: an illegal one crashes the process or leads
    to a state that is not in the game.
    """
    inner = [value for value in parameters.values() if isinstance(value, dict)]
    for game in inner:
        _check_start(game)
    history = str(parameters.get("history", ""))
    if parameters.get("name") != "start_at" or not inner or not history:
        return
    game = inner_game(inner[0])
    if game is None:  # OpenSpiel's error says why
        return
    state = game.new_initial_state()
    for number, move in enumerate(history.split(";")):
        legal = state.legal_actions()
        if not move.isdecimal() or int(move) not in legal:
            raise ValueError(
                f"history={history} of start_at: move {number + 1}, {move!r}, is not "
                f"legal in {brief(game)} after {state.history()}. Legal moves: "
                f"{brief(legal)}."
            )
        state.apply_action(int(move))


def _similar_names(name: str) -> str:
    names = pyspiel.registered_names()
    near = difflib.get_close_matches(name, names, n=5)
    near += [other for other in names if name and name in other and other not in near]
    return f" Near it: {', '.join(near[:8])}." if near else ""


def _parameters_hint(name: str) -> str:
    parameters = parameters_of(name)
    return f". Its parameters: {', '.join(sorted(parameters))}." if parameters else ""
