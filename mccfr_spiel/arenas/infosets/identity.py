"""Identity of games."""

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


PRINTED_STATES = 1000
"""The number of states nearest to the root that `content_print` covers."""

_FILE_KINDS = frozenset(("efg_game", "nfg_game"))
"""C++ games that are made of a file, or of a text that is no parameter."""


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
