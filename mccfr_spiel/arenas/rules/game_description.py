"""The description of a game as small compiled functions on a vector of integers.

A `Description` contains a game's parameters, sizes, `Rules` (compiled functions) and
`Words` (plain Python functions that format text). The same functions serve two
purposes: `rules.game.register` turns them into an OpenSpiel game, and compiled loops
call them directly, for example `rules.rule_expansion` to expand the whole tree, 100
times as fast as through OpenSpiel.

The state of a game is an int64 vector of length `Sizes.state`. The first argument of
each rule is `settings`: the parameters as float64 in their declared order. False and
True become 0 and 1, and a string becomes its index in `Parameter.choices`. One compiled
function therefore serves all parameters. Rules write into buffers of the lengths that
`Sizes` declares, never raise, and call only compiled functions.
"""

import functools
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyspiel
from numba import types

from mccfr_spiel.kernels.jit import jit

CHANCE = int(pyspiel.PlayerId.CHANCE)
TERMINAL = int(pyspiel.PlayerId.TERMINAL)
ParameterValue = int | float | bool | str
Parameters = Mapping[str, ParameterValue]
SPARE = 8
"""Unused entries after each buffer of a rule. They absorb writes slightly beyond the
declared sizes until the mistake is detected."""

MAX_KEY_VALUES = np.iinfo(np.uint16).max + 1
"""Largest number of possible values of an element of an information key, because keys
are stored as uint16.
"""


class Parameter(NamedTuple):
    """A parameter of a game and its allowed values.

    Attributes:
        default: default value; its type (int, float, bool or str) is that of the
            parameter.
        low: least value of a number; None for no bound.
        high: greatest value of a number; None for no bound.
        choices: allowed values of a string.
    """

    default: ParameterValue
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()


class Sizes(NamedTuple):
    """Sizes of a game for given parameters.

    Attributes:
        state: length of the state vector.
        num_actions: exclusive upper bound of the players' actions.
        max_moves: number of players' moves in the longest history.
        key: for each element of the longest information key, the number of possible
            values.
        min_utility: least return of any player. Returns are checked against it.
        max_utility: greatest return of any player. Returns are checked against it.
        max_chance_outcomes: exclusive upper bound of chance outcomes; 0 without chance.
        max_chance_moves: number of chance moves in the longest history.
    """

    state: int
    num_actions: int
    max_moves: int
    key: tuple[int, ...]
    min_utility: float = 0.0
    max_utility: float = 0.0
    max_chance_outcomes: int = 0
    max_chance_moves: int = 0

    @property
    def max_children(self) -> int:
        """Largest possible number of actions or chance outcomes: the length of buffers
        for actions and probabilities.
        """
        return max(self.num_actions, self.max_chance_outcomes)


def compiled(function: Callable[..., Any]) -> Any:
    """Compiles a rule, or a function that rules call.

    The machine code is cached on disk until the function's file or this package
    changes. Changes of other files are not detected, so rules should call only
    functions of the same file.
    """
    return jit(function)


@compiled
def write_members(bits, members):
    """Writes the members of a bit set in ascending order; returns their number."""
    count, member = 0, 0
    while bits >> member:
        if bits >> member & 1:
            members[count] = member
            count += 1
        member += 1
    return count


@compiled
def start_from_zeros(settings, state):
    """`Rules.start` of a game whose initial state is all zeros."""


@compiled
def uniform_chance_probs(settings, state, probs):
    """`Rules.chance_probs` of a game with uniform chance or without chance."""


class Rules(NamedTuple):
    """The rules of a game as functions made by `compiled`.

    Attributes:
        acting(settings, state) -> int: the acting player, CHANCE or TERMINAL.
        legal_actions(settings, state, actions) -> int: writes the legal actions in
            ascending order, or the chance outcomes in any order, and returns their
            number. They must be distinct.
        apply_action(settings, state, action): applies an action or chance outcome.
        info_key(settings, state, player, key) -> int: writes the player's information
            as integers and returns their number. Element k must be in 0 .. Sizes.key[k]
            - 1. Two states at which the player acts have equal keys if and only if they
            are in the same information set. Two states at which others act have equal
            keys if they look the same to the player. So a key also determines the
            player's own past.
        returns(settings, state, returns): writes the players' returns at the end.
        chance_probs(settings, state, probs): writes the probabilities of the chance
            outcomes to `probs`, which contains equal probabilities before the call.
            Omit this function if chance is always uniform, or in games without chance.
        start(settings, state): writes the initial state to `state`, which contains
            zeros before the call. Omit this function if the initial state is all zeros.
    """

    acting: Any
    legal_actions: Any
    apply_action: Any
    info_key: Any
    returns: Any
    chance_probs: Any = uniform_chance_probs
    start: Any = start_from_zeros


class Words(NamedTuple):
    """Plain Python functions that format states, actions and information for people.

    Attributes:
        state(parameters, state): the board or table as text.
        action(parameters, player, action): the name of an action; `player` may be
            CHANCE.
        info_state(parameters, player, key): an information key as text. Different keys
            must have different texts.
        observation(parameters, state, player): what the player sees in this state,
            without memory of earlier states. A mapping from the name of each item to a
            pair: the number of possible values, and a collection of the present values.
    """

    state: Callable[[Parameters, np.ndarray], str]
    action: Callable[[Parameters, int, int], str]
    info_state: Callable[[Parameters, int, np.ndarray], str]
    observation: Callable[
        [Parameters, np.ndarray, int], Mapping[str, tuple[int, Collection[int]]]
    ]


class Description(NamedTuple):
    """A game, as `rules.game.register` expects it.

    The functions from `world_key` on are optional and made by `compiled`. They describe
    *worlds* (see `arenas/worlds/`) of two-player games: given the world, the private
    pasts of both players are independent. `check_game` verifies the functions on
    histories near the root.

    Attributes:
        short_name: OpenSpiel's name; by convention, names of Python games begin with
            `python_`.
        long_name: title.
        parameters: the parameters by name, in the order of `settings`.
        sizes: returns the `Sizes` for given parameters. It raises ValueError if the
            parameters do not fit together.
        rules: functions of `Rules`.
        words: functions of `Words`.
        num_players: number of players.
        utility_sum: sum of the returns at every end: 0 for a zero-sum game, None if it
            varies. Returns are checked against it, because `exploitability`, linear
            programs and offline methods rely on it.
        world_key(settings, state, key) -> int: writes the world as at most
            `Sizes.max_moves` integers and returns their number.
        position_key(settings, state, key) -> int: writes the position, such as the
            board and the acting player, as at most `Sizes.max_moves` integers, and
            returns their number. Worlds with the same position must agree on legal
            moves, on the players' answers (`heard`), terminal returns and successor
            positions. Requires `heard`. With both functions the search for worlds is
            faster, and games with too many worlds for lists can be solved.
        heard(settings, state, player) -> int: a number from 0 on that encodes all
            information that the player has received since the player's last move,
            including the answer to that move. The previous information set, the move
            and this number determine the player's present information set.
        leaf_class(settings, state, player) -> int: a number from 0 to 63, called at the
            end of the game, that summarizes the player's private information for the
            payoff, such as the number of own dice that match the bid. Required for
            games with worlds and without `position_key` if chance deals in secret, if
            the answer to a move depends on secrets of the opponent, or if returns
            depend on private information.
        class_returns(settings, state, class0, class1, returns): writes the returns for
            given leaf classes of both players. They must not depend on private
            information in `state`. Requires `leaf_class`.
    """

    short_name: str
    long_name: str
    parameters: Mapping[str, Parameter]
    sizes: Callable[[Parameters], Sizes]
    rules: Rules
    words: Words
    num_players: int = 2
    utility_sum: float | None = 0.0
    world_key: Any = None
    position_key: Any = None
    heard: Any = None
    leaf_class: Any = None
    class_returns: Any = None


def described(
    short_name: str,
    long_name: str,
    functions: Mapping[str, Any],
    parameters: Mapping[str, Parameter],
    num_players: int = 2,
) -> Description:
    """Makes a description from the functions of a module.

    Args:
        short_name: as in `Description`.
        long_name: as in `Description`.
        functions: the `globals()` of the module. Functions are named after the fields
            of `Rules`, `Words` and `Description`, with an optional leading underscore
            and an optional suffix `_words`.
        parameters: as in `Description`.
        num_players: as in `Description`.
    """
    own = {
        name.removeprefix("_").removesuffix("_words"): function
        for name, function in functions.items()
    }

    def filled(record: Any, names: Iterable[str]) -> Any:
        return record(**{name: own[name] for name in names if name in own})

    description = functools.partial(
        Description,
        short_name=short_name,
        long_name=long_name,
        parameters=parameters,
        rules=filled(Rules, Rules._fields),
        words=filled(Words, Words._fields),
        num_players=num_players,
    )
    return filled(description, ("sizes", *WORLD_SIGNATURES))


_INTEGERS = types.Array(types.int64, 1, "C")
_FLOATS = types.Array(types.float64, 1, "C")
SIGNATURES = Rules(
    start=types.void(_FLOATS, _INTEGERS),
    acting=types.int64(_FLOATS, _INTEGERS),
    legal_actions=types.int64(_FLOATS, _INTEGERS, _INTEGERS),
    chance_probs=types.void(_FLOATS, _INTEGERS, _FLOATS),
    apply_action=types.void(_FLOATS, _INTEGERS, types.int64),
    info_key=types.int64(_FLOATS, _INTEGERS, types.int64, _INTEGERS),
    returns=types.void(_FLOATS, _INTEGERS, _FLOATS),
)
"""Argument and return types of the rules."""

SPELL_SIGNATURE = types.int64(
    _FLOATS, types.int64, _INTEGERS, types.int64, types.Array(types.uint8, 1, "C")
)
"""Argument and return types of `BoundRules.spell`."""

WORLD_SIGNATURES = {
    "world_key": types.int64(_FLOATS, _INTEGERS, _INTEGERS),
    "leaf_class": types.int64(_FLOATS, _INTEGERS, types.int64),
    "class_returns": types.void(_FLOATS, _INTEGERS, types.int64, types.int64, _FLOATS),
    "position_key": types.int64(_FLOATS, _INTEGERS, _INTEGERS),
    "heard": types.int64(_FLOATS, _INTEGERS, types.int64),
}
"""Argument and return types of the functions of a `Description` that declare worlds."""
