"""A game's rules, written once as small compiled functions on a vector of integers.

A `Description` holds all that makes a game: its parameters, its sizes, its `Rules`
(compiled functions) and its `Words` (plain Python functions for what people read).
`rules.game.register` makes an OpenSpiel game of it, and `rules.store` makes its
whole tree, 100 times faster than through OpenSpiel. Both call the same functions, so
both play the same game.

The state of a game is a vector of int64 of length `Sizes.state`. Every function gets
`settings` as its first argument: the values of the game's parameters as float64, in the
order in which they are declared (False and True as 0 and 1, a choice as its position).
So one compiled function serves all parameters. The functions write into the buffers
they are given, whose lengths `Sizes` declares. They never raise, and they call only
compiled functions.

Solvers rely on what a game declares about itself: `exploitability` is half of NashConv
only if the sum of returns is constant, a policy has one probability for each
*different* action, and OpenSpiel's arrays are as long as `num_distinct_actions`. So a
tree checks every list of actions, chance distribution and vector of returns when it
first meets it. There are few different ones, so the checks cost nothing that one could
measure.
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
"""Entries kept free behind the buffers of rules. A rule that writes a little beyond the
sizes it declared then harms nothing before the mistake is noticed."""

MAX_KEY_VALUES = np.iinfo(np.uint16).max + 1
"""The most values that one place of a key can have, because keys are kept as uint16."""


class Parameter(NamedTuple):
    """A parameter of a game and the values it may have.

    Attributes:
        default: its type (int, float, bool, str) is the parameter's.
        low, high: the least and the greatest value of a number; None for no bound.
        choices: the values that a string may have.
    """

    default: ParameterValue
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()


class Sizes(NamedTuple):
    """How large the vectors of a game are, for given parameters.

    Attributes:
        state: the length of the state vector.
        num_actions: players' actions are 0 .. num_actions - 1.
        max_moves: the number of players' moves in the longest history.
        key: the number of values at each place of the longest information key.
        min_utility, max_utility: the least and greatest return of any player. Returns
            are checked against both; for a twin, what OpenSpiel's game declares.
        max_chance_outcomes: chance's outcomes are 0 .. max_chance_outcomes - 1; 0 if
            there is no chance.
        max_chance_moves: the number of chance's moves in the longest history.
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
        """The length of the buffers for actions and for probabilities."""
        return max(self.num_actions, self.max_chance_outcomes)


def compiled(function: Callable[..., Any]) -> Any:
    """Compiles a function of a game's rules, or one that they call.

    The machine code stays on disk until the function's file or this package changes.
    Changes of other files go unnoticed, so rules should call functions of their own
    file only.
    """
    return jit(function)


@compiled
def write_members(bits, members):
    """Writes the members of a set of bits, ascending; returns how many there are."""
    count, member = 0, 0
    while bits >> member:
        if bits >> member & 1:
            members[count] = member
            count += 1
        member += 1
    return count


@compiled
def start_from_zeros(settings, state):
    """`Rules.start` of a game whose first state is all zeros."""


@compiled
def uniform_chance_probs(settings, state, probs):
    """`Rules.chance_probs` of a game whose chance is uniform, or that has none."""


class Rules(NamedTuple):
    """The rules, each function made by `compiled`.

    Attributes:
        acting(settings, state) -> int: the player who acts, CHANCE or TERMINAL.
        legal_actions(settings, state, actions) -> int: writes the legal actions, or the
            possible outcomes if chance acts, and returns their number. They must be
            different, and actions in ascending order.
        apply_action(settings, state, action): makes the move in the state.
        info_key(settings, state, player, key) -> int: writes what the player knows as
            integers and returns how many there are; place k is in
            0 .. Sizes.key[k] - 1. Two states have equal keys if and only if they are in
            one information set (or, where somebody else acts, look the same to the
            player), so a key also tells the player's own past.
        returns(settings, state, returns): writes the players' returns at the end.
        chance_probs(settings, state, probs): writes the outcomes' probabilities in
            place of equal ones; not given for a game whose chance is always uniform,
            or that has none.
        start(settings, state): writes the first state into a vector of zeros; not given
            where it is all zeros.
    """

    acting: Any
    legal_actions: Any
    apply_action: Any
    info_key: Any
    returns: Any
    chance_probs: Any = uniform_chance_probs
    start: Any = start_from_zeros


class Words(NamedTuple):
    """Functions in plain Python that write what people read.

    Attributes:
        state(parameters, state): the board or table as text.
        action(parameters, player, action): the name of a move; player may be CHANCE.
        info_state(parameters, player, key): what a key means. Different keys must have
            different texts.
        observation(parameters, state, player): what the player sees now, without any
            memory. Each item has a name, the number of values that it can have, and the
            values that hold now.
    """

    state: Callable[[Parameters, np.ndarray], str]
    action: Callable[[Parameters, int, int], str]
    info_state: Callable[[Parameters, int, np.ndarray], str]
    observation: Callable[
        [Parameters, np.ndarray, int], Mapping[str, tuple[int, Collection[int]]]
    ]


class Description(NamedTuple):
    """A game: all that `rules.game.register` needs.

    Attributes:
        short_name: OpenSpiel's name for it; Python games' begin with `python_`.
        long_name: its title.
        parameters: the parameters by name, in the order of `settings`.
        sizes: returns the Sizes for given parameters; raises ValueError for a
            combination of values that makes no game.
        rules, words: the functions of the game, see `Rules` and `Words`.
        num_players: the number of players.
        utility_sum: what the players' returns add up to at every end: 0 for a zero-sum
            game, None for a general-sum game, where it varies. `exploitability`, linear
            programs and the offline methods rely on it, so it is checked.
        world_key(settings, state, key) -> int: for two-player games in which what each
            player has done in secret is independent of what the other has, given the
            *world* (see worlds/): writes the world as integers, at most
            `Sizes.max_moves` of them, and returns how many there are. It is made by
            `compiled`, as the next four, and None for games that declare no worlds.
            `check_game` proves the declaration on the first moves.
        position_key(settings, state, key) -> int: goes with `heard`. With these two,
            worlds are found sooner, and games that have too many for lists are taken.
            It writes what the rest of the game depends on besides what the players
            know, such as the board and whose turn it is, as at most `Sizes.max_moves`
            integers, and returns how many there are. Worlds of one position have the
            same moves, answers, ends and returns, and the same positions behind them.
        heard(settings, state, player) -> int: a number from 0 for what a player has
            heard since its last move, the answer to that included. This number, that
            move and the information set before it determine the player's present one.
        leaf_class(settings, state, player) -> int: for games with worlds, without
            `position_key`, in which chance deals in secret, an answer to a move depends
            on what the other player hides, or the returns depend on what is private.
            Where the game ends: a number from 0 to 63 for what is private to a player,
            such as how many of the own dice match the bid.
        class_returns(settings, state, class0, class1, returns): goes with it; writes
            the returns for two such classes. What is private in the state must not
            matter.
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
    """A description whose functions are found by their names.

    Args:
        short_name, long_name, parameters, num_players: as in Description.
        functions: the `globals()` of a module. Its functions are called as the fields
            of Rules, Words and Description are; an underscore may stand before, and
            `_words` behind.
    """
    own = {
        name.removeprefix("_").removesuffix("_words"): function
        for name, function in functions.items()
    }

    def filled(kind: Any, names: Iterable[str]) -> Any:
        return kind(**{name: own[name] for name in names if name in own})

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
"""The types of each rule's arguments and of what it returns."""

SPELL_SIGNATURE = types.int64(
    _FLOATS, types.int64, _INTEGERS, types.int64, types.Array(types.uint8, 1, "C")
)
"""The types of `BoundRules.spell`."""

WORLD_SIGNATURES = {
    "world_key": types.int64(_FLOATS, _INTEGERS, _INTEGERS),
    "leaf_class": types.int64(_FLOATS, _INTEGERS, types.int64),
    "class_returns": types.void(_FLOATS, _INTEGERS, types.int64, types.int64, _FLOATS),
    "position_key": types.int64(_FLOATS, _INTEGERS, _INTEGERS),
    "heard": types.int64(_FLOATS, _INTEGERS, types.int64),
}
"""The types of the functions of a Description that tell of worlds."""
