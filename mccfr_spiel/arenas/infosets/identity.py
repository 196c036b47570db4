"""Decides whether two games are the same.

pyspiel compares games by their strings only, which is wrong in both directions:

- Different strings may name the same game, such as "kuhn_poker()" and
  "kuhn_poker(players=2)". `same_name` compares parameters including defaults.
- Different games may have the same string if they were created in code, for example by
  `pyspiel.create_matrix_game`, by `pyspiel.load_efg_game` or as Python classes.

Functions:

    same_name        whether names and parameters are equal
    same_game        whether two games of one process are surely the same
    told_by_string   whether the string of a game determines the game
    content_print    fingerprint (hash) of the states near the root, for files
    saved_print      the fingerprint, or None if the string determines the game
"""

import collections
import hashlib
import pathlib
import weakref
from typing import Any

import pyspiel

from mccfr_spiel.arenas.infosets.loading import load_game, turn_based
from mccfr_spiel.arenas.rules.bound_rules import (
    rules_of,
)
from mccfr_spiel.arenas.rules.declarations import (
    inner_game,
    is_of_pyspiel,
    lacks_game,
)
from mccfr_spiel.common.arrays import CHANCE_NODE, TERMINAL


def may_be_of_user(game: pyspiel.Game) -> bool:
    """Whether a game may contain code or data of a user, so that its states must be
    checked.

    True for Python games, for games read from a file, for games made of payoff
    matrices, and for OpenSpiel's wrappers, which may contain such a game.
    """
    is_wrapper = str(game).count("(") > 1 or "python_" in str(game)
    return is_wrapper or _is_made_of_data(game) or not is_of_pyspiel(game)


def module_of(game: pyspiel.Game) -> str | None:
    """Name of the Python module with the code of a game; None for OpenSpiel's C++
    games."""
    if (rules := rules_of(game)) is not None:
        return rules.description.rules.acting.__module__
    return None if is_of_pyspiel(game) else type(game).__module__


PRINTED_STATES = 1000
"""Maximum number of states, nearest to the root, that `content_print` covers."""

_FILE_KINDS = frozenset(("efg_game", "nfg_game"))
"""Short names of C++ games that are read from a file, or from a text that is not a
parameter of the game."""


def same_name(first: pyspiel.Game, second: pyspiel.Game) -> bool:
    """Whether two games have the same name and parameters.

    An omitted parameter equals its default, so "kuhn_poker()" and
    "kuhn_poker(players=2)" have the same name. Only parameters in the result of
    `get_parameters` are compared. It lists the given parameters, and the defaults of
    parameters that the game has read so far.

    The registered defaults of the game type are not used, because they are unreliable:
    in OpenSpiel 2.0.2, hanabi registers zeros that stand for other numbers, and
    liars_dice_ir reads `recall_length` under another name.
    """
    if first is second or str(first) == str(second):
        return True
    if first.get_type().short_name != second.get_type().short_name:
        return False
    return first.get_parameters() == second.get_parameters()


def has_name(game: pyspiel.Game, text: Any) -> bool:
    """Whether a string from a file is the name of a game, see `same_name`.

    Args:
        game: the game.
        text: the string from the file, or another value if the file is damaged.
    """
    if str(game) == text:
        return True
    name = game.get_type().short_name
    if not isinstance(text, str) or text.partition("(")[0].strip() != name:
        return False
    try:
        return same_name(game, load_game(text))
    except Exception:  # games raise arbitrary exceptions
        return False


def same_game(first: pyspiel.Game, second: pyspiel.Game) -> bool:
    """Whether two games are surely the same; False if this is unknown.

    Two objects of the same class and with the same name (`same_name`) are the same
    game in these cases:

    - both have the same compiled rules and equal parameters;
    - both are C++ games, and their strings determine them (`told_by_string`);
    - both are instances of a Python class, with equal strings and equal attributes.
    """
    if first is second:
        return True
    if type(first) is not type(second) or not same_name(first, second):
        return False
    first_rules, second_rules = rules_of(first), rules_of(second)
    if first_rules is not None and second_rules is not None:
        same_rules = first_rules.description is second_rules.description
        return same_rules and first_rules.parameters == second_rules.parameters
    if is_of_pyspiel(first):
        return told_by_string(first) and told_by_string(second)
    try:
        return str(first) == str(second) and bool(vars(first) == vars(second))
    except Exception:  # comparisons of arrays have no single truth value
        return False


def told_by_string(game: pyspiel.Game) -> bool:
    """Whether `str(game)` alone determines the game, in this and in other processes.

    False if this is unknown: for Python games, for matrix and tensor games, which may
    have any name, for games read from a file, and for C++ games that wrap such games.
    """
    game_type = game.get_type()
    return (
        is_of_pyspiel(game)
        and not _is_made_of_data(game)
        and not lacks_game(game_type.short_name, game.get_parameters())
        and all(map(_is_told, game.get_parameters().values()))
    )


def _is_made_of_data(game: pyspiel.Game) -> bool:
    """Whether a C++ game is defined by the contents of a file or by payoff tables."""
    is_file = game.get_type().short_name in _FILE_KINDS
    return is_file or isinstance(game, pyspiel.NormalFormGame)


def _is_told(value: Any) -> bool:
    """Whether a parameter of a game contains all information, without reference to
    something that may change.

    False for the name of an existing file, and for an inner game whose string does not
    determine it.

    Args:
        value: value of the parameter.
    """
    if isinstance(value, dict):
        inner = inner_game(value)
        return inner is not None and told_by_string(inner)
    if not isinstance(value, str) or not value:
        return True
    try:
        return not pathlib.Path(value).exists()
    except (OSError, ValueError):  # invalid path: length or NUL character
        return True


_prints: dict[int, tuple[weakref.ref[pyspiel.Game], str]] = {}
"""Cache of `content_print`. The key is the `id` of a game, because games are not
hashable. The weak reference shows whether the `id` still belongs to the same game."""


def content_print(game: pyspiel.Game) -> str:
    """A fingerprint of a game, as a hexadecimal string of 128 bits.

    It is a hash of the number of players and of the `PRINTED_STATES` states nearest to
    the root. The acting player, information-state string and legal actions of each
    state are hashed, or its chance outcomes with probabilities, or its returns. For
    games with at most that many states, equal fingerprints therefore mean equal games.
    """
    game_id = id(game)
    reference, cached = _prints.get(game_id, (None, ""))
    if reference is not None and reference() is game:
        return cached
    form = turn_based(game)
    digest = hashlib.blake2b(b"2 %d" % form.num_players(), digest_size=16)
    with_strings = game.get_type().provides_information_state_string
    waiting = collections.deque([form.new_initial_state()])
    room = PRINTED_STATES - 1
    # Breadth-first search: each pass hashes the state at the front of the queue and
    # appends the children, but at most PRINTED_STATES states in total. The loop ends
    # when the queue is empty.
    while waiting:
        state = waiting.popleft()
        seen, moves = seen_at(state, with_strings)
        digest.update(repr(seen).encode("utf-8", "backslashreplace"))
        moves = moves[:room]
        room -= len(moves)
        for move in moves:
            try:
                waiting.append(state.child(move))
            except Exception:  # games raise arbitrary exceptions
                digest.update(b"none")
    content = digest.hexdigest()
    forget = weakref.ref(game, lambda _: _prints.pop(game_id, None))
    _prints[game_id] = forget, content
    return content


def seen_at(
    state: pyspiel.State, with_strings: bool
) -> tuple[tuple[Any, tuple[Any, ...]], list[int]]:
    """The content of a state for `content_print`.

    If the state raises an exception, the content is the name of the exception's class.
    The error is not raised, because walks may never reach the state.

    Args:
        state: the state.
        with_strings: whether the game has information-state strings.

    Returns:
        The pair (acting player, content), and the moves: legal actions or chance
        outcomes. The content consists of the player's string and legal actions, of
        chance outcomes with probabilities, or of the returns.
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
    except Exception as error:  # games raise arbitrary exceptions
        player, seen = None, (type(error).__name__,)
    return (player, seen), moves


def saved_print(game: pyspiel.Game) -> str | None:
    """The fingerprint that a file stores together with `str(game)` to identify a game;
    None if the string alone determines the game."""
    return None if told_by_string(game) else content_print(game)
