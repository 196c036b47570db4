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

import collections
import difflib
import hashlib
import importlib
import os
import pathlib
import re
import weakref
from collections.abc import Iterable, Sequence
from typing import Any

import pyspiel

from mccfr_spiel.arenas.rules.description import (
    GameError,
    inner_game,
    is_of_pyspiel,
    lacks_game,
    parameters_of,
    rules_of,
)
from mccfr_spiel.common.arrays import CHANCE_NODE, TERMINAL
from mccfr_spiel.common.display import brief, player_name
from mccfr_spiel.common.folders import is_game_file
from mccfr_spiel.interchange.gambit_game import game_of_file

IMPORT_WAY_OUT = "import the module that registers it first"
"""The way out if a game is not registered."""

STRINGS_WAY_OUT = (
    "Give mccfr_spiel.Solver an abstraction: a function (state, player) -> string. "
    "Where players see everything except the simultaneous moves of the current round: "
    "mccfr_spiel.Solver(game, abstraction=mccfr_spiel.completed_rounds). NashConv "
    "needs the game's own strings; ms.sampled_returns does not."
)
"""The way out where a game gives no information-state strings."""

_FEW_MOVES = 1000

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
    """Loads a game from its load string, or from a Gambit file, whose path ends in .efg
    or .nfg; returns a `pyspiel.Game` as it is.

    Raises:
        ValueError: no game of that name is registered (the message suggests similar
            names), or OpenSpiel refuses its parameters.
    """
    if isinstance(game, pyspiel.Game):
        return game
    if isinstance(game, os.PathLike) or (isinstance(game, str) and is_game_file(game)):
        return game_of_file(game)
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


def own_string(state: pyspiel.State, player: int) -> str:
    """The information-state string that a game itself gives a player.

    Unlike `pyspiel.State.information_state_string`, it calls a Python game's method.
    """
    return state.information_state_string(player)


def check_strings(game: pyspiel.Game, abstraction: Any = None) -> None:
    """Raises ValueError if a game declares no information-state strings and there is no
    abstraction, or if it has no method that makes them."""
    has_strings = game.get_type().provides_information_state_string
    if abstraction is None and not has_strings:
        is_alone = game.num_players() == 1  # where abstractions are refused
        way_out = "Games of one player need it." if is_alone else STRINGS_WAY_OUT
        raise ValueError(
            f"{brief(game)} gives no information-state string, by which solvers tell "
            "information sets apart (GameType.provides_information_state_string). "
            f"{way_out}"
        )
    if is_of_pyspiel(game) or hasattr(game, "make_py_observer"):
        return
    kind = type(game).__name__
    if game.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        raise ValueError(
            f"{brief(game)} declares simultaneous moves but has no make_py_observer: "
            "OpenSpiel asks its observer for information-state strings once moves are "
            f"made in turn. Define {kind}.make_py_observer, or declare "
            "GameType.dynamics SEQUENTIAL if players already move in turn."
        )
    state = type(game.new_initial_state())
    if state.information_state_string == pyspiel.State.information_state_string:
        raise ValueError(
            f"{brief(game)} declares provides_information_state_string but has no "
            f"method for it: define {state.__name__}.information_state_string(player), "
            f"or {kind}.make_py_observer."
        )


def declared_length(game: pyspiel.Game) -> int:
    """The most moves in a history, chance's included, by a game's own words."""
    return game.max_game_length() + max(game.max_chance_nodes_in_history(), 0)


def longest_history(game: pyspiel.Game) -> int:
    """The moves beyond which a history is taken for endless.

    That is far more than the game declares, since some of OpenSpiel's own games have
    three times as many chance nodes as they declare.
    """
    return 4 * declared_length(game) + _FEW_MOVES


def check_length(game: pyspiel.Game, length: int, name: str = "") -> None:
    """Raises ValueError if a history of that many moves is far longer than a game says
    it can be; `name` is what the message calls the game."""
    if length >= longest_history(game):
        raise ValueError(
            f"{name or brief(game)} does not end: a history of {length:,} moves was "
            "followed, but by its max_game_length and max_chance_nodes_in_history none "
            f"has more than {declared_length(game):,}. Let the game end, or correct "
            "these numbers."
        )


def pot_of(game: pyspiel.Game) -> float:
    """Chips in the pot with which a subgame of poker begins; 0 for other games."""
    own = getattr(game, "pot", None)
    return float(game.get_parameters().get("potSize", 0) if own is None else own)


def may_be_of_user(game: pyspiel.Game) -> bool:
    """Whether the author of a game may be a user, so that its states must be checked.

    True for Python games, for games read from a file, for payoff matrices, and for
    OpenSpiel's wrappers, because they may contain any of these.
    """
    is_wrapper = str(game).count("(") > 1 or "python_" in str(game)
    return is_wrapper or _is_made_of_data(game) or not is_of_pyspiel(game)


def module_of(game: pyspiel.Game) -> str | None:
    """The module whose code a game is; None for one of OpenSpiel's C++ games."""
    if (rules := rules_of(game)) is not None:
        return rules.description.rules.acting.__module__
    return None if is_of_pyspiel(game) else type(game).__module__


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


# --- whether two games are one and the same; pyspiel compares their strings only ------


PRINTED_STATES = 1000
"""The number of states nearest to the root that `content_print` covers."""

_FILE_KINDS = frozenset(("efg_game", "nfg_game"))
"""C++ games that are made of a file, or of a text that is no parameter."""


# --- names -------------------------------------------------------------------


def same_name(one: pyspiel.Game, other: pyspiel.Game) -> bool:
    """Whether two games have one name and the same parameters.

    A parameter that has its default counts as if it were written out, so
    "kuhn_poker()" and "kuhn_poker(players=2)" have the same name. That is known of the
    parameters whose defaults a game has read, which `get_parameters` lists. The
    defaults that are registered for the others prove nothing: in OpenSpiel 2.0.2 those
    of hanabi are 0 and mean other numbers, and liars_dice_ir reads its parameter
    `recall_length` under another name.
    """
    if one is other or str(one) == str(other):
        return True
    if one.get_type().short_name != other.get_type().short_name:
        return False
    return one.get_parameters() == other.get_parameters()


def has_name(game: pyspiel.Game, text: Any) -> bool:
    """Whether the text in a file is a name of a game, see `same_name`.

    Args:
        game: a game.
        text: may be anything, as the file may.
    """
    if str(game) == text:
        return True
    name = game.get_type().short_name
    if not isinstance(text, str) or text.partition("(")[0].strip() != name:
        return False
    try:
        return same_name(game, load_game(text))
    except Exception:  # games raise what they like
        return False


# --- within a process --------------------------------------------------------


def same_game(one: pyspiel.Game, other: pyspiel.Game) -> bool:
    """Whether two games are surely the same; False if that is not known.

    It is known of one and the same object, of two C++ games with one name (see
    `same_name`, `told_by_string`), of two games with the same compiled rules and
    parameters, and of two instances of a Python class whose attributes are equal.
    """
    if one is other:
        return True
    if type(one) is not type(other) or not same_name(one, other):
        return False
    rules, others = rules_of(one), rules_of(other)
    if rules is not None and others is not None:
        same_rules = rules.description is others.description
        return same_rules and rules.parameters == others.parameters
    if is_of_pyspiel(one):
        return told_by_string(one) and told_by_string(other)
    try:
        return str(one) == str(other) and bool(vars(one) == vars(other))
    except Exception:  # such as of arrays, which have no single answer
        return False


def told_by_string(game: pyspiel.Game) -> bool:
    """Whether `str(game)` alone determines the game, here and in other processes.

    It is False where that is not known: for games written in Python, for matrix and
    tensor games, to which code can give any name, for games made of a file, and for C++
    games around one of these.
    """
    kind = game.get_type()
    return (
        is_of_pyspiel(game)
        and not _is_made_of_data(game)
        and not lacks_game(kind.short_name, game.get_parameters())
        and all(map(_is_told, game.get_parameters().values()))
    )


def _is_made_of_data(game: pyspiel.Game) -> bool:
    """Whether a C++ game is made of a file's contents or of payoffs."""
    is_file = game.get_type().short_name in _FILE_KINDS
    return is_file or isinstance(game, pyspiel.NormalFormGame)


def _is_told(value: Any) -> bool:
    """Whether a game's parameter says all that it stands for.

    The name of a file does not, nor does a game that its own string does not determine.
    """
    if isinstance(value, dict):
        inner = inner_game(value)
        return inner is not None and told_by_string(inner)
    if not isinstance(value, str) or not value:
        return True
    try:
        return not pathlib.Path(value).exists()
    except (OSError, ValueError):  # too long, or with a NUL
        return True


# --- for files ---------------------------------------------------------------

_prints: dict[int, tuple[weakref.ref[pyspiel.Game], str]] = {}
"""What `content_print` found, by the `id` of a game, since games cannot be hashed. The
weak reference tells whether the `id` still means the same game."""


def content_print(game: pyspiel.Game) -> str:
    """A hash of what is met in a game: who acts, strings, actions, chance and returns.

    It covers the `PRINTED_STATES` states nearest to the root. Two games with no more
    states than that are equal if their prints are.
    """
    number = id(game)
    reference, known = _prints.get(number, (None, ""))
    if reference is not None and reference() is game:
        return known
    form = turn_based(game)
    digest = hashlib.blake2b(b"2 %d" % form.num_players(), digest_size=16)
    with_strings = game.get_type().provides_information_state_string
    waiting = collections.deque([form.new_initial_state()])
    room = PRINTED_STATES - 1
    # Breadth first: one pass prints the state that has waited longest, and lets as many
    # of its children wait as there is room for.
    while waiting:
        state = waiting.popleft()
        seen, moves = seen_at(state, with_strings)
        digest.update(repr(seen).encode("utf-8", "backslashreplace"))
        moves = moves[:room]
        room -= len(moves)
        for move in moves:
            try:
                waiting.append(state.child(move))
            except Exception:  # games raise what they like
                digest.update(b"none")
    found = digest.hexdigest()
    forget = weakref.ref(game, lambda _: _prints.pop(number, None))
    _prints[number] = forget, found
    return found


def seen_at(
    state: pyspiel.State, with_strings: bool
) -> tuple[tuple[Any, tuple[Any, ...]], list[int]]:
    """Who acts at a state and what that player sees there, and the moves from there.

    If the state raises an error, that error is what is seen. It is no reason to stop,
    because walks may never meet the state.
    """
    moves: list[int] = []
    try:
        player = state.current_player()
        if player == TERMINAL:
            seen: tuple[Any, ...] = tuple(map(float, state.returns()))
        elif player == CHANCE_NODE:
            seen = tuple((int(o), float(p)) for o, p in state.chance_outcomes())
            moves = [outcome for outcome, _ in seen]
        else:
            moves = [int(action) for action in state.legal_actions()]
            string = state.information_state_string(player) if with_strings else ""
            seen = (string, *moves)
    except Exception as error:  # games raise what they like
        player, seen = None, (type(error).__name__,)
    return (player, seen), moves


def saved_print(game: pyspiel.Game) -> str | None:
    """What a file keeps, beside `str(game)`, to recognize the game.

    That is its `content_print`, or None if the string alone determines the game.
    """
    return None if told_by_string(game) else content_print(game)


# --- what a game calls its actions -------------------------------------------
#
# A name may depend on the state, of which a tree keeps only how to get there, so a
# state of each infoset is replayed from the root. Compiled rules need none.


_NO_NAME = re.compile(r"Action\(id=\d+, player=-?\d+\)")
"""How OpenSpiel's base class calls the actions of games that do not name them without
a state."""


def names_at(state: pyspiel.State, player: int, actions: Sequence[int]) -> list[str]:
    """The names of a player's actions, or of chance's outcomes, at a state.

    Raises:
        ValueError: a name is no text, or has a lone surrogate.
    """
    try:
        return [state.action_to_string(player, action) for action in actions]
    except RuntimeError as error:  # pybind11's, which does not say what it was given
        raise ValueError(
            f"{state.get_game()} names one of the actions {list(actions)} of player "
            f"{player} by what is no text in UTF-8, such as a lone surrogate: {error}"
        ) from error


def names_anywhere(
    game: pyspiel.Game,
    player: int,
    actions: Sequence[int],
    state: pyspiel.State | None = None,
) -> list[str]:
    """The names of a player's actions by compiled rules, which need no state; of other
    games those at a state, or without one those that the game gives whatever the state,
    else numbers.

    Args:
        game, player, actions: whose names, and of what.
        state: one where the player has these actions; None if there is none.
    """
    rules = rules_of(game)
    if rules is not None:
        words = rules.description.words
        return [words.action(rules.parameters, player, action) for action in actions]
    if state is not None:
        return names_at(state, player, actions)
    return [_plain_name(game, player, action) for action in actions]


def _plain_name(game: pyspiel.Game, player: int, action: int) -> str:
    try:
        name = game.action_to_string(player, action)
    except Exception:  # games raise what they like
        return str(action)
    return str(action) if _NO_NAME.fullmatch(name) else name


# --- the same as people say it, and what a player knows -----------------------

_RANKS = dict(zip("TJQKA", ("Ten", "Jack", "Queen", "King", "Ace"), strict=True))
_SUITS = dict(zip("shdc", ("spades", "hearts", "diamonds", "clubs"), strict=True))
_SIGNS = dict(zip("shdc", "\u2660\u2665\u2666\u2663", strict=True))
_CARD = re.compile(r"[2-9TJQKA][cdhs]")
_BY_RANK = "JQKA"
"""The ranks of OpenSpiel's Kuhn and Leduc poker, which number them, up to four."""

_COUNTS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight")

_BID = re.compile(r"\b(\d+)-(\d+)\b")

_NEEDLESS = {"Observer", "Player", "Current player", "Current turn", "Terminal?"}
"""Parts of information-state strings that the row says, or that are always the same."""


def said_at(state: pyspiel.State, player: int, actions: Sequence[int]) -> list[str]:
    """A player's actions, or chance's outcomes, at a state as people say them.

    Args:
        state: where they are possible.
        player: who acts there.
        actions: all that are possible, since some names depend on the others.

    Raises:
        ValueError: as `names_at`.
    """
    return said(state.get_game(), player, names_at(state, player, actions))


def said(game: pyspiel.Game, player: int, names: Sequence[str]) -> list[str]:
    """The actions at one infoset as people say them, from all their names there."""
    if _has_words(game):
        return list(names)
    if player < 0:
        spoken = [_said_outcome(game, name) for name in names]
    else:
        spoken = [_without_player(name, player) for name in names]
        if _kind(game) in ("leduc_poker", "universal_poker"):
            spoken = [_said_bet(name, "Fold" in spoken) for name in spoken]
        elif _kind(game) == "liars_dice":
            spoken = [_BID.sub(_said_bid, name) for name in spoken]
    return spoken if len(set(spoken)) == len(set(names)) else list(names)


def _has_words(game: pyspiel.Game) -> bool:
    """Whether a game's own names are shown as they are: those of compiled rules and of
    game files."""
    return rules_of(game) is not None or hasattr(game, "player_names")


def card_in(game: pyspiel.Game, name: str) -> str:
    """The card, the die or the like that a name of chance's outcome has, in short: the
    `J\u2660` of a Jack of spades."""
    thing = re.split(r"[:\s]", name)[-1]
    return _signs(_dealt(game, thing)) or thing


def said_info_state(game: pyspiel.Game, player: int, info_state: str) -> str:
    """What a player knows in one line, as people say it; `J\u2660 | bet, call`.

    Args:
        game: which may be the turn-based form of another one.
        player: whose information-state string it is.
        info_state: the string.
    """
    kind, words = _kind(game), ""
    if _has_words(game):
        return info_state.removeprefix(player_name(game, player, "") + ": ")
    if kind in ("kuhn_poker", "leduc_poker", "universal_poker"):
        words = _said_poker(game, info_state)
    elif kind == "liars_dice":
        dice, _, bids = _BID.sub(_said_bid, info_state).partition(" ")
        bids = re.sub(r"(?<=[\ds]) ", ", ", bids)
        words = " | ".join(filter(None, (", ".join(dice), bids)))
    parts = re.findall(r"\[(.*?)\]", info_state) if info_state[:1] == "[" else []
    pairs = [part.partition(":") for part in parts or info_state.splitlines()]
    words = words or " \u00b7 ".join(
        f"{key.removeprefix(f'P{player} ')}{colon} {value.strip()}".strip()
        for key, colon, value in pairs
        if key not in _NEEDLESS and (value.strip() or not colon)
    )
    return words or info_state


def _kind(game: pyspiel.Game) -> str:
    """The game's name, for those that have words here."""
    return game.get_type().short_name.removeprefix("python_")


def _without_player(name: str, player: int) -> str:
    """Names such as `[P0]Bid: 1`, `Pl0: shoot at (0, 0)` and `Bribe(amount=2)`."""
    who = rf"player={player} move=|\[P{player}\]|[Pp](l|layer )?{player}(?!\d):?"
    short = re.sub(rf"^({who})\s*", "", name)
    short = re.sub(r"^([A-Za-z ]+): ?(-?\d+)$", r"\1 \2", short)
    call = re.fullmatch(r"([A-Z][A-Za-z]+)\(\w+=(\w+)\)", short)
    if call is not None:
        verb = re.sub(r"(?<=[a-z])[A-Z]", lambda at: f" {at[0].lower()}", call[1])
        return verb + {"True": ": yes", "False": ": no"}.get(call[2], f" {call[2]}")
    is_word = short != name and re.match(r"[a-z]{3}", short)
    return short[0].upper() + short[1:] if is_word else short or name


def _said_bet(name: str, may_fold: bool) -> str:
    """A move in poker: a player without a bet to call checks or bets."""
    words = {"Bet": "Raise"} if may_fold else {"Call": "Check", "Raise": "Bet"}
    move, amount = name.rstrip("0123456789"), re.sub(r"\D", "", name)
    move = (words | {"AllIn": "All-in"}).get(move, move)
    return f"{move} to {amount}" if amount else move


def _said_outcome(game: pyspiel.Game, name: str) -> str:
    """`deals Jack of spades`, `rolls 4`, and others without what is needless."""
    short = re.sub(r"^(player=-1 move=|[Cc]hance outcome:? ?)", "", name)
    verb, _, thing = re.sub("^(Deal|Roll):? ?(?=.)", r"\1s\n", short).rpartition("\n")
    card = _dealt(game, thing)
    if card:
        rank = _RANKS.get(card[0], card[0])
        return f"deals {rank}" + (f" of {_SUITS[card[1]]}" if card[1:] else "")
    return f"{verb.lower()} {thing}".strip() or name


def _dealt(game: pyspiel.Game, thing: str) -> str:
    """The card of an outcome such as `Js`, or `J` where there are no suits; "" if it is
    none. Kuhn and Leduc poker number theirs by rank."""
    number = int(thing) if thing.isdecimal() else -1
    if _kind(game) not in ("kuhn_poker", "leduc_poker") or number < 0:
        return thing if _CARD.fullmatch(thing) else ""
    suits = "sh" if _kind(game) == "leduc_poker" else ""
    if not suits or game.get_parameters().get("suit_isomorphism"):
        suits = [""]
    few = game.num_players() < len(_BY_RANK)
    rank = _BY_RANK[number // len(suits)] if few else ""
    return rank and rank + suits[number % len(suits)]


def _signs(cards: str) -> str:
    """Cards with the signs of their suits."""
    return _CARD.sub(lambda card: card[0][0] + _SIGNS[card[0][1]], cards)


def _said_bid(bid: re.Match[str]) -> str:
    """`two 5s`, of liar's dice."""
    count = int(bid[1])
    amount = _COUNTS[count] if count < len(_COUNTS) else bid[1]
    return f"{amount} {bid[2]}" + ("s" if count > 1 else "")


def _said_bets(moves: Iterable[str], faces_bet: bool, is_duel: bool) -> str:
    """The moves of a round of poker: f, c, r, and r300 for a raise to 300."""
    words = []
    for move in moves:
        verb = {"f": "fold", "c": "call" if faces_bet else "check"}.get(move)
        words.append(verb or ("raise" if faces_bet else "bet") + f" to {move[1:]}")
        faces_bet = move[0] == "r" or (faces_bet and not is_duel)
    return ", ".join(words).replace(" to ,", ",").removesuffix(" to ")


def _said_poker(game: pyspiel.Game, info_state: str) -> str:
    """`J\u2660 | bet, call | Q\u2665 | check`; "" of Kuhn, Leduc and universal poker's
    strings for what is in none of their forms."""
    parts = dict(re.findall(r"\[(\w+): ?(.*?)\]", info_state))
    given, has_blinds = game.get_parameters(), False
    kuhn = re.fullmatch(r"(?:p\d+ card:)?(\d+) ?([pb]*)", info_state)
    if kuhn is not None:
        moves = ", ".join("pass" if move == "p" else "bet" for move in kuhn[2])
        return " | ".join(filter(None, (_dealt(game, kuhn[1]) or kuhn[1], moves)))
    if "Round1" in parts:
        cards = [card_in(game, parts.get(key, "")) for key in ("Public", "Private")]
        rounds = [
            ["fcr"[int(move)] for move in parts[key].split()]
            for key in ("Round1", "Round2")
        ]
        sizes = [0, len(cards[0])]
    elif "Sequences" in parts:
        cards = [_signs(parts[key]) for key in ("Public", "Private")]
        rounds = [re.findall(r"[a-z]\d*", one) for one in parts["Sequences"].split("|")]
        sizes = [2 * int(one) for one in str(given["numBoardCards"]).split()]
        has_blinds = len(set(str(given["blind"]).split())) > 1
    else:
        return ""
    board, words = cards
    for number, moves in enumerate(rounds):
        start = sum(sizes[:number])
        said_moves = _said_bets(
            moves, has_blinds and number == 0, game.num_players() == 2
        )
        for part in (board[start : start + sizes[number]], said_moves):
            words += f" | {part}" if part else ""
    return words
