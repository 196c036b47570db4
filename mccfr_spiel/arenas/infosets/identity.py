"""Tells whether two games are the same.

pyspiel compares games by their strings only, which is wrong in both directions:

- Different strings may name one game, such as "kuhn_poker()" and
"kuhn_poker(players=2)".
  `same_name` compares parameters including defaults.
- Games created in code (`pyspiel.create_matrix_game`, `pyspiel.load_efg_game`, Python
  classes) may have any payoffs under one string.

    same_name        same name and parameters
    same_game        surely the same game, within one process
    content_print    hash of the states near the root, for files
    saved_print      the hash if a file needs it: the string does not determine the game
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
    """Whether a game may contain user code or user data, so that its states must be
    checked.

    True for Python games, games read from a file, payoff matrices, and OpenSpiel's
    wrappers, which may contain any of these.
    """
    is_wrapper = str(game).count("(") > 1 or "python_" in str(game)
    return is_wrapper or _is_made_of_data(game) or not is_of_pyspiel(game)


def module_of(game: pyspiel.Game) -> str | None:
    """The module with the code of a game; None for OpenSpiel's C++ games."""
    if (rules := rules_of(game)) is not None:
        return rules.description.rules.acting.__module__
    return None if is_of_pyspiel(game) else type(game).__module__


PRINTED_STATES = 1000
"""Number of states nearest to the root that `content_print` covers."""

_FILE_KINDS = frozenset(("efg_game", "nfg_game"))
"""C++ games that are read from a file or from a text that is not a parameter."""


def same_name(first: pyspiel.Game, second: pyspiel.Game) -> bool:
    """Whether two games have the same name and parameters.

    An omitted parameter equals its default, so "kuhn_poker()" and
    "kuhn_poker(players=2)" have the same name. This covers only parameters whose
    default the game has read, which `get_parameters` then lists. Registered defaults
    are not reliable: in OpenSpiel 2.0.2 hanabi registers zeros that stand for other
    numbers, and liars_dice_ir reads `recall_length` under another name.
    """
    if first is second or str(first) == str(second):
        return True
    if first.get_type().short_name != second.get_type().short_name:
        return False
    return first.get_parameters() == second.get_parameters()


def has_name(game: pyspiel.Game, text: Any) -> bool:
    """Whether a string from a file names a game, see `same_name`.

    Args:
        game: the game.
        text: any value, because files may be damaged.
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

    Games are the same if they are one object, C++ games with the same name that their
    strings determine, games with the same compiled rules and parameters, or instances
    of one Python class with equal attributes.
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

    False if unknown: for Python games, for matrix and tensor games, whose name is
    arbitrary, for games read from a file, and for C++ games that wrap one of these.
    """
    game_type = game.get_type()
    return (
        is_of_pyspiel(game)
        and not _is_made_of_data(game)
        and not lacks_game(game_type.short_name, game.get_parameters())
        and all(map(_is_told, game.get_parameters().values()))
    )


def _is_made_of_data(game: pyspiel.Game) -> bool:
    """Whether a C++ game consists of a file's contents or of payoffs."""
    is_file = game.get_type().short_name in _FILE_KINDS
    return is_file or isinstance(game, pyspiel.NormalFormGame)


def _is_told(value: Any) -> bool:
    """Whether a parameter value determines what it refers to.

    The name of a file does not, nor does a game whose string does not determine it.
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
"""Cache of `content_print` by the `id` of a game, because games are not hashable. The
weak reference tells whether the `id` still belongs to the same game."""


def content_print(game: pyspiel.Game) -> str:
    """A hash of a game's content: players, strings, actions, chance and returns.

    It covers the `PRINTED_STATES` states nearest to the root. Two games with at most
    that many states are equal if their hashes are equal.
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
    # Breadth first: each pass hashes the first state in the queue and appends its
    # children, until PRINTED_STATES states have been queued in total.
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
    """The acting player and that player's view of a state, and the legal moves.

    If the state raises an exception, the view is the type of the exception. The search
    continues, because walks may never reach the state.
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
    """The hash that a file stores with `str(game)` to identify a game.

    None if the string alone determines the game.
    """
    return None if told_by_string(game) else content_print(game)
