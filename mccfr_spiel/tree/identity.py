"""Whether two games are one and the same; pyspiel compares their strings only.

Two strings may name one game: "kuhn_poker()" and "kuhn_poker(players=2)", where the
default is written out. `same_name` sees through that.

`str(game)` determines a registered C++ game completely, since everything about it is in
its parameters. It does not determine games made in code, by
`pyspiel.create_matrix_game`, `pyspiel.load_efg_game` or as an instance of a Python
class, which may have any payoffs under one string. Within a process, `same_game` says
whether two games are surely the same. For files, `content_print` is a hash of what is
met when the game is played.
"""

import collections
import hashlib
import pathlib
import random
import weakref
from typing import Any

import pyspiel

from mccfr_spiel.arrays import CHANCE_NODE, TERMINAL
from mccfr_spiel.rules.description import rules_of
from mccfr_spiel.tree.loading import load_game, turn_based

PRINTED_STATES = 1000
"""`content_print` covers so many states nearest to the root, and then as many on random
histories."""

_PRINTED_HISTORIES = 32

FILE_KINDS = frozenset(("efg_game", "nfg_game"))
"""C++ games that are made of a file, or of a text that is no parameter."""


class _OfObjects:
    """What was found out about games, each forgotten together with its game.

    Games cannot be hashed, so they are known by `id`, and a weak reference tells
    whether the `id` still means the same game.
    """

    def __init__(self) -> None:
        self._found: dict[int, tuple[weakref.ref[pyspiel.Game], Any]] = {}

    def get(self, game: pyspiel.Game) -> Any:
        reference, value = self._found.get(id(game), (None, None))
        return value if reference is not None and reference() is game else None

    def set(self, game: pyspiel.Game, value: Any) -> None:
        number, found = id(game), self._found
        found[number] = weakref.ref(game, lambda _: found.pop(number, None)), value


_prints, _told = _OfObjects(), _OfObjects()
_seen_facts: set[str] = set()
"""The `_facts` of games that are told by their strings. To find that out, a game must
be loaded again, which can be slow."""

_compared: dict[tuple[str, str], bool] = {}
"""For two strings that each tell their game: whether it is one game."""


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
    return _written_out(one) == _written_out(other)


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
        return same_name(game, pyspiel.load_game(text))
    except Exception:  # games raise what they like
        return False


def _written_out(game: pyspiel.Game) -> str:
    """All that `get_parameters` lists, also of the games in a game's parameters."""
    found = {}
    for name, value in game.get_parameters().items():
        inner = inner_game(value) if isinstance(value, dict) else None
        if inner is not None:
            value = inner.get_type().short_name, _written_out(inner)
        found[name] = value
    return repr(sorted(found.items()))


# --- within a process --------------------------------------------------------


def same_game(one: pyspiel.Game, other: pyspiel.Game) -> bool:
    """Whether two games are surely the same; False if that is not known.

    It is known of one and the same object, of two C++ games with one name (see
    `same_name`, `told_by_string`), of two games with the same compiled rules and
    parameters, and of two C++ matrix or tensor games with the same payoffs.
    """
    if one is other:
        return True
    if type(one) is not type(other) or not same_name(one, other):
        return False
    rules, others = rules_of(one), rules_of(other)
    if rules is not None and others is not None:
        same_rules = rules.description is others.description
        return same_rules and rules.parameters == others.parameters
    if isinstance(one, pyspiel.NormalFormGame):
        return normal_form(one) == normal_form(other)
    if not (told_by_string(one) and told_by_string(other)):
        return False
    return str(one) == str(other) or _plays_alike(one, other)


def _plays_alike(one: pyspiel.Game, other: pyspiel.Game) -> bool:
    """Whether two games of one name, each told by its string, also show the same.

    C++ code can ask whether a parameter was given, so two strings with the same
    parameters might still be two games. What is met in them must be equal, too.
    """
    names = min(str(one), str(other)), max(str(one), str(other))
    if names not in _compared:
        ours, theirs = _facts(one), _facts(other)
        alike = repr(ours[2:]) == repr(theirs[2:])
        _compared[names] = alike and content_print(one) == content_print(other)
    return _compared[names]


def normal_form(game: Any) -> tuple[Any, ...]:
    """Everything about a C++ matrix or tensor game."""
    players = range(game.num_players())
    state = game.new_initial_state()
    names = [
        [state.action_to_string(player, action) for action in legal]
        for player, legal in ((p, state.legal_actions(p)) for p in players)
    ]
    strings = [state.information_state_string(player) for player in players]
    payoffs = [game.player_utilities(player).tolist() for player in players]
    return names, strings, payoffs


def told_by_string(game: pyspiel.Game) -> bool:
    """Whether `str(game)` alone determines the game, here and in other processes.

    It is False where that is not known: for games written in Python, for matrix and
    tensor games, to which code can give any name, for games made of a file, and for C++
    games around one of these.
    """
    told = _told.get(game)
    if told is None:
        told = _is_told(game)
        _told.set(game, told)
    return told


def _is_told(game: pyspiel.Game) -> bool:
    kind = game.get_type()
    if (
        not is_compiled_into_pyspiel(game)
        or isinstance(game, pyspiel.NormalFormGame)
        or kind.short_name in FILE_KINDS
        or kind.short_name not in pyspiel.registered_names()
        or not all(map(is_told_value, game.get_parameters().values()))
    ):
        return False
    # Code may have wrapped a game that only bears the name of another one. So the game
    # is loaded by its string, and what is quickly seen of both must be equal.
    facts = repr(_facts(game))
    if facts not in _seen_facts:
        try:
            again = pyspiel.load_game(str(game))
        except Exception:  # games raise what they like
            return False
        if repr(_facts(again)) != facts:
            return False
        _seen_facts.add(facts)
    return True


def is_compiled_into_pyspiel(game: pyspiel.Game) -> bool:
    """Whether a game's class is a C++ one, and not one that Python code has made."""
    return type(game).__module__.partition(".")[0] == "pyspiel"


def is_told_value(value: Any) -> bool:
    """Whether a game's parameter says all that it stands for.

    The name of a file does not, nor does a game that its own string does not determine.
    """
    if isinstance(value, dict):
        inner = inner_game(value)
        return inner is not None and told_by_string(inner)
    return not (isinstance(value, str) and value and is_path(value))


def is_path(text: str) -> bool:
    """Whether there is a file or a folder of that name."""
    try:
        return pathlib.Path(text).exists()
    except (OSError, ValueError):  # too long, or with a NUL
        return False


def inner_game(parameters: dict[str, Any]) -> pyspiel.Game | None:
    """Makes the game that another game's parameter describes; None if it does not."""
    name = parameters.get("name")
    if name not in pyspiel.registered_names():
        return None
    others = {key: value for key, value in parameters.items() if key != "name"}
    try:
        return pyspiel.load_game(name, others)
    except Exception:  # games raise what they like
        return None


def _facts(game: pyspiel.Game) -> tuple[Any, ...]:
    """What can be seen of a game without playing it."""
    kind = game.get_type()
    facts = [str(game), str(game.get_parameters()), type(game), game.num_players()]
    facts += [kind.short_name, kind.dynamics, kind.chance_mode, kind.information]
    facts += [game.num_distinct_actions(), game.max_chance_outcomes()]
    for number in (game.max_game_length, game.min_utility, game.max_utility):
        try:
            facts.append(number())
        except Exception as error:  # some C++ games do not say
            facts.append(type(error).__name__)
    return tuple(facts)


# --- for files ---------------------------------------------------------------


def content_print(game: pyspiel.Game) -> str:
    """A hash of what is met in a game: who acts, strings, actions, chance and returns.

    It covers the `PRINTED_STATES` states nearest to the root, and if there are more, as
    many on random histories, which are the same each time. Two games with no more
    states than that are equal if their prints are. For larger games the print is a
    sample, in which a difference that is rarely met may be missed.
    """
    known = _prints.get(game)
    if known is not None:
        return known
    form = turn_based(game)
    digest = hashlib.blake2b(digest_size=16)
    digest.update(b"1 %d" % form.num_players())
    with_strings = game.get_type().provides_information_state_string
    waiting = collections.deque([form.new_initial_state()])
    room = PRINTED_STATES - 1
    is_all = True
    # Breadth first: one pass prints the state that has waited longest, and lets as many
    # of its children wait as there is room for.
    while waiting:
        state = waiting.popleft()
        moves = _print_state(digest, state, with_strings)
        for move in moves[:room]:
            below = _child(state, move)
            if below is not None:
                waiting.append(below)
        is_all &= len(moves) <= room
        room -= len(moves[:room])
    if not is_all:
        _print_histories(digest, form, with_strings)
    found = digest.hexdigest()
    _prints.set(game, found)
    return found


def _print_histories(digest: Any, form: pyspiel.Game, with_strings: bool) -> None:
    generator = random.Random(0)
    room = PRINTED_STATES
    for _ in range(_PRINTED_HISTORIES):
        state = form.new_initial_state()
        while state is not None and room:
            room -= 1
            moves = _print_state(digest, state, with_strings)
            state = _child(state, generator.choice(moves)) if moves else None


def _print_state(digest: Any, state: pyspiel.State, with_strings: bool) -> list[int]:
    """Adds a state to a hash; returns the moves from there.

    If the state raises an error, that error is what is added. It is no reason to stop,
    since walks may never meet the state.
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
    digest.update(repr((player, seen)).encode("utf-8", "backslashreplace"))
    return moves


def _child(state: pyspiel.State, move: int) -> pyspiel.State | None:
    try:
        return state.child(move)
    except Exception:  # as above
        return None


def saved_print(game: pyspiel.Game) -> str | None:
    """What a file keeps, beside `str(game)`, to recognize the game.

    That is its `content_print`, or None if the string alone determines the game.
    """
    return None if told_by_string(game) else content_print(game)


def is_saved_game(game: pyspiel.Game, header: dict[str, Any]) -> bool:
    """Whether a game is the one that a file was written for.

    Args:
        game: a game.
        header: the file's, with the game's string as `game` and its `saved_print` as
            `identity`. Files of earlier releases have no `identity`; for them the
            name has to do.
    """
    text = header["game"]
    if not has_name(game, text):
        return False
    if "identity" not in header:
        return True
    saved, ours = header["identity"], saved_print(game)
    if saved is None and ours is None:
        return str(game) == text or same_game(game, load_game(text))
    if saved is None:
        saved = content_print(load_game(text))
    return saved == (content_print(game) if ours is None else ours)
