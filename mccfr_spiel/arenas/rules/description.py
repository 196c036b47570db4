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
import math
import numbers
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyspiel
from numba import types

from mccfr_spiel.kernels.jit import jit

# --- what a game declares about itself, and whether its states keep to it -------------


MAX_UTILITY = 1e100
"""The largest payoff allowed. It keeps sums and squares of the payoffs of a long run
far below 1.8e308, where doubles end, and their products with probabilities as well. The
weights of outcome sampling have a limit of their own, `kernels.walk.MAX_WEIGHT`."""

_SUM_TOLERANCE = 1e-6
"""How far a sum of returns may be from the declared one. OpenSpiel itself allows matrix
games and .efg files this much before it denies that they are zero-sum, whatever the
scale of their payoffs."""

_ROUNDING = 1e-9
"""The relative error that rounding may leave in a return."""


RULES_WAY_OUT = "Description.utility_sum (None for a general sum; the default is 0)"
"""How a game of compiled rules declares its sum."""


class GameError(ValueError):
    """A game breaks its own declarations or OpenSpiel's rules.

    The message names the history where it does so.
    """


class Declared(NamedTuple):
    """The bounds that a game declares for its returns and actions.

    Attributes:
        name: the game's name in messages.
        num_players: the length of each vector of returns.
        num_actions: players' actions are 0 .. num_actions - 1.
        low, high: the least and greatest return of any player.
        utility: the kind of sum, in OpenSpiel's words.
        utility_sum: what returns add up to; None if it varies, or if a constant sum is
            declared without its value.
        way_out: where a game declares its kind of sum, for messages.
        is_openspiels: whether OpenSpiel's own C++ declares it, which users cannot
            correct. No algorithm here asks for the range, so there it may be wrong.
    """

    name: str
    num_players: int
    num_actions: int
    low: float
    high: float
    utility: pyspiel.GameType.Utility
    utility_sum: float | None
    way_out: str
    is_openspiels: bool = False


def declared_by(game: pyspiel.Game) -> Declared:
    """Collects what a game declares."""
    utility = game.get_type().utility
    utilities = pyspiel.GameType.Utility
    total = game.utility_sum() if utility == utilities.CONSTANT_SUM else None
    own = "GameType.utility (GENERAL_SUM if the sum varies) and GameInfo.utility_sum"
    return Declared(
        name=str(game),
        num_players=game.num_players(),
        num_actions=game.num_distinct_actions(),
        low=game.min_utility(),
        high=game.max_utility(),
        utility=utility,
        utility_sum=0.0 if utility == utilities.ZERO_SUM else total,
        way_out=RULES_WAY_OUT if hasattr(game, "rules") else own,
        is_openspiels=_is_openspiels(game),
    )


def is_of_pyspiel(game: pyspiel.Game) -> bool:
    """Whether a game's class is a C++ one, and not one that Python code has made."""
    return type(game).__module__.partition(".")[0] == "pyspiel"


def parameters_of(name: Any) -> dict[str, Any] | None:
    """The parameters with which a game is registered; None if the name is no game's."""
    kinds = {kind.short_name: kind for kind in pyspiel.registered_games()}
    return kinds[name].parameter_specification if name in kinds else None


def lacks_game(name: Any, parameters: dict[str, Any]) -> bool:
    """Whether parameters miss the game inside a game, as those of games do that code
    has made of others, or the name is no game's. OpenSpiel prints it if asked for one.
    """
    known = parameters_of(name)
    return known is None or any(known[k] == {} for k in known.keys() - parameters)


def inner_game(parameters: dict[str, Any]) -> pyspiel.Game | None:
    """Makes the game that another game's parameter describes; None if it does not."""
    name = parameters.get("name")
    others = {key: value for key, value in parameters.items() if key != "name"}
    if lacks_game(name, others):
        return None
    try:
        return pyspiel.load_game(name, others)
    except Exception:  # games raise what they like, and code may have made this one
        return None


def _is_openspiels(game: pyspiel.Game) -> bool:
    """Whether a game is one of OpenSpiel's own in C++, be it inside its wrappers."""
    parameters = game.get_parameters().get("game")
    if not isinstance(parameters, dict):
        return is_of_pyspiel(game)
    inner = inner_game(parameters)
    return inner is not None and _is_openspiels(inner)


def no_such_player(declared: Declared, player: Any) -> GameError:
    """The error for a state where somebody acts who is not in the game."""
    if player == pyspiel.PlayerId.SIMULTANEOUS:
        return GameError(
            f"{declared.name} declares sequential moves (GameType.dynamics), but has a "
            "state with simultaneous moves (player -2 acts). If it wraps another game, "
            "solve that game itself: its simultaneous moves become turns. Otherwise "
            "declare Dynamics.SIMULTANEOUS."
        )
    return GameError(
        f"{declared.name} has a state where player {player} acts, which is neither a "
        f"player (0 .. {declared.num_players - 1}), chance ({CHANCE}) nor the end "
        f"({TERMINAL})."
    )


def returns_of(state: Any) -> tuple[float, ...]:
    """The returns of a terminal state; raises GameError if its game gives none."""
    returns = state.returns()
    try:
        hash(told := tuple(returns))
    except TypeError as error:
        raise GameError(
            f"{state.get_game()} has a terminal state whose returns() gave "
            f"{returns!r}, which is no list of numbers. Is a return statement missing?"
        ) from error
    return told


def check_returns(declared: Declared, returns: Sequence[float]) -> Declared:
    """Raises GameError unless a terminal state's returns are as declared.

    Returns:
        What later returns must keep to. If a constant sum was declared without its
        value, the first returns determine it.
    """
    name, num_players = declared.name, declared.num_players
    shown = f"the returns {_shown(returns)}"
    if not all(isinstance(value, numbers.Real) for value in returns):
        raise GameError(f"{name} has {shown}, which are not {num_players} numbers.")
    if len(returns) != num_players:
        raise GameError(
            f"{name} has {shown}: {len(returns)} of them for {num_players} players."
        )
    returns = [float(value) for value in returns]
    largest = max(map(abs, returns))
    if not all(map(math.isfinite, returns)):
        raise GameError(f"{name} has {shown}, which are not all finite numbers.")
    if largest > MAX_UTILITY:
        raise GameError(
            f"{name} has {shown}; they must be at most {MAX_UTILITY:.0e}, or sums of "
            "payoffs would overflow. Scale the payoffs."
        )
    rounding = _ROUNDING * largest
    if (
        min(returns) < declared.low - rounding
        or max(returns) > declared.high + rounding
    ):
        found = (
            f"{name} has {shown}, outside of the declared range "
            f"{declared.low:g} .. {declared.high:g}."
        )
        if not declared.is_openspiels:
            raise GameError(
                f"{found} Correct min_utility and max_utility, or the returns."
            )
        warnings.warn(
            f"{found} That is an error of OpenSpiel's game. Nothing in this package "
            "uses the range, so its results are right; others may use min_utility() "
            "and max_utility(), which are wrong here.",
            stacklevel=2,
        )
        declared = declared._replace(low=-MAX_UTILITY, high=MAX_UTILITY)
    constant = declared.utility == pyspiel.GameType.Utility.CONSTANT_SUM
    if constant and declared.utility_sum is None:
        return declared._replace(utility_sum=math.fsum(returns))
    _check_sum(declared, returns, _SUM_TOLERANCE + rounding)
    return declared


def limits_of(declared: Declared) -> tuple[float, float, float, float]:
    """What `check_returns` lets through, for compiled code, which is as strict but for
    rounding: the least and the greatest return, the sum (NaN if it varies), and how far
    from it returns may be."""
    rounding = _ROUNDING * max(abs(declared.low), abs(declared.high))
    total = math.nan if declared.utility_sum is None else declared.utility_sum
    slack = MAX_UTILITY if declared.is_openspiels else rounding
    return (
        max(declared.low - slack, -MAX_UTILITY),
        min(declared.high + slack, MAX_UTILITY),
        total,
        _SUM_TOLERANCE + rounding,
    )


def _check_sum(declared: Declared, returns: Sequence[float], tolerance: float) -> None:
    utilities = pyspiel.GameType.Utility
    if declared.utility == utilities.IDENTICAL:
        if max(returns) - min(returns) > tolerance:
            raise GameError(
                f"{declared.name} declares identical returns for all players, but has "
                f"the returns {_shown(returns)}. Correct {declared.way_out}, or the "
                "returns."
            )
        return
    if declared.utility_sum is None:
        return
    total = math.fsum(returns)
    if abs(total - declared.utility_sum) > tolerance:
        raise GameError(
            f"{declared.name} declares that the returns add up to "
            f"{declared.utility_sum:g}, but has the returns {_shown(returns)}, which "
            f"add up to {total:g}. Correct {declared.way_out}, or the returns."
        )


def check_actions(
    declared: Declared, player: int, info_state: str, actions: Sequence[int]
) -> None:
    """Raises GameError unless legal actions are distinct, ascending and in range.

    Args:
        declared: the game's declarations.
        player: the player who acts.
        info_state: the player's information state, for the message.
        actions: the legal actions.
    """
    last = -1
    for action in actions:
        if action <= last:
            break
        last = action
    else:
        if 0 <= last < declared.num_actions:
            return
    raise GameError(
        f"{declared.name} gives player {player} {_fault_of(declared, actions)} at the "
        f"information state {info_state!r}."
    )


def _fault_of(declared: Declared, actions: Sequence[int]) -> str:
    if not actions:
        return "no legal action"
    if min(actions) < 0:
        return f"the negative legal action {min(actions)}"
    if len(set(actions)) < len(actions):
        return f"a legal action twice: {_shown(actions)}"
    if list(actions) != sorted(actions):
        return f"legal actions that do not ascend: {_shown(actions)}"
    return (
        f"the legal action {actions[-1]}, but declares "
        f"num_distinct_actions={declared.num_actions}, beyond which OpenSpiel writes "
        "outside of its arrays,"
    )


def check_outcomes(name: str, outcomes: Sequence[tuple[int, float]]) -> None:
    """Raises GameError if a chance node lists an outcome twice, or no such pairs."""
    fault = "lists an outcome twice"
    try:
        if len({one.__index__() for one, _ in outcomes}) == len(outcomes[:]):
            return
    except (AttributeError, TypeError, ValueError):
        fault = "gives no list of pairs (whole number, probability)"
    shown = _shown(outcomes) if isinstance(outcomes, list) else repr(outcomes)
    raise GameError(f"{name} has a chance node that {fault}: {shown}.")


def check_probs(name: str, probs: Sequence[float]) -> None:
    """Raises GameError unless a chance node's probabilities are a distribution."""
    if not probs:
        raise GameError(
            f"{name} has a chance node without outcomes. (Compiled rules list them in "
            "legal_actions, too.)"
        )
    if not (all(p >= 0 for p in probs) and abs(math.fsum(probs) - 1) <= 1e-6):
        raise GameError(
            f"{name} has a chance node whose probabilities are no distribution: "
            f"({_shown(probs)[1:-1]})."
        )


def tell_history(error: Exception, state: Any, move: int | None = None) -> None:
    """Adds to an error the history that led to it, unless it has one already.

    In a GameError the history becomes part of the message. Any other error comes from
    the game's own methods; it keeps its message and gets the history as a note.

    Args:
        error: the error, which the caller raises again.
        state: where it happened.
        move: the action that was being applied to the state, if there was one.
    """
    if getattr(error, "_history_is_told", False):
        return
    try:
        history = str(list(state.history()))
        name = str(state.get_game())
    except Exception:  # the game is broken, and the first error says more
        return
    then = "" if move is None else f", where action {move} was applied"
    of = "" if name in str(error) else f" in {name}"
    hint = " Is a return missing, or an int a float?" * ("Unable to cast" in str(error))
    if "make_py_observer" in str(error):
        hint = " Define make_py_observer in the game's class."
    where = f"The history that led there{of}: {history}{then}.{hint}"
    error._history_is_told = True  # pyright: ignore[reportAttributeAccessIssue]
    if isinstance(error, GameError):
        error.args = (f"{error} {where}",)
    else:
        error.add_note(where)


def _shown(values: Sequence[Any]) -> str:
    """A list as text; the middle of a long one is left out."""
    plain = [value.item() if hasattr(value, "item") else value for value in values]
    if len(plain) <= 12:
        return str(plain)
    return f"{str(plain[:8])[:-1]}, ... {str(plain[-2:])[1:]}"


# --- A game's rules -------------------------------------------------------------------


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


def check_parameters(description: Description, parameters: Parameters) -> None:
    """Raises ValueError naming the first parameter whose value is not allowed."""
    game = description.short_name
    unknown = set(parameters) - set(description.parameters)
    if unknown:
        raise ValueError(
            f"{game} has no parameter {sorted(unknown)[0]!r}; it has "
            f"{', '.join(description.parameters)}."
        )
    for name, parameter in description.parameters.items():
        value = parameters[name]
        if parameter.choices:
            if value not in parameter.choices:
                raise ValueError(
                    f"{game}: {name}={value} is not one of "
                    f"{', '.join(parameter.choices)}."
                )
            continue
        number = float(value)
        if not np.isfinite(number):
            raise ValueError(f"{game}: {name}={value} is not a finite number.")
        if parameter.low is not None and number < parameter.low:
            raise ValueError(
                f"{game}: {name}={value} must be at least {parameter.low}."
            )
        if parameter.high is not None and number > parameter.high:
            raise ValueError(
                f"{game}: {name}={value} must be at most {parameter.high}."
            )


class BoundRules:
    """A description with its parameters set, callable from Python.

    Attributes:
        description: the game's description.
        parameters: the value of every parameter.
        sizes: the sizes for these parameters.
        settings: `[number of parameters]` float64, as compiled functions get them.
        spell: see `twins.twin.Twin`; None for games whose strings are those of their
            `Words`.
        text_size: how long the text may be that `spell` writes; 0 without it.
        faced: the policies that players follow, as `played.Game` has them.
    """

    spell: Any = None
    text_size = 0
    faced: tuple[np.ndarray, ...] = ()

    def __init__(self, description: Description, parameters: Parameters) -> None:
        """Checks the parameters.

        Args:
            description: the game's description.
            parameters: the values of some parameters; the others have their defaults.

        Raises:
            ValueError: a parameter is unknown or its value is not allowed.
        """
        defaults = {n: p.default for n, p in description.parameters.items()}
        self.description = description
        self.parameters: Parameters = {**defaults, **parameters}
        check_parameters(description, self.parameters)
        self.sizes = description.sizes(self.parameters)
        if max(self.sizes.key, default=1) > MAX_KEY_VALUES:
            raise ValueError(
                f"{description.short_name}: an information key of "
                f"{self.parameters} has a place of {max(self.sizes.key)} values; at "
                f"most {MAX_KEY_VALUES} fit. Use two places."
            )
        self.settings = np.array(
            [
                parameter.choices.index(str(self.parameters[name]))
                if parameter.choices
                else float(self.parameters[name])
                for name, parameter in description.parameters.items()
            ],
            np.float64,
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> "BoundRules":
        """Returns itself: rules never change, and OpenSpiel copies states deeply."""
        return self

    @property
    def num_players(self) -> int:
        """The number of players."""
        return self.description.num_players

    def start(self) -> np.ndarray:
        """The first state."""
        state = np.zeros(self.sizes.state, np.int64)
        self.description.rules.start(self.settings, state)
        return state

    def acting(self, state: np.ndarray) -> int:
        """The player who acts, or CHANCE or TERMINAL."""
        return self.description.rules.acting(self.settings, state)

    def legal_actions(self, state: np.ndarray) -> list[int]:
        """The legal actions, ascending, or the possible outcomes if chance acts."""
        actions = np.empty(self.sizes.max_children + SPARE, np.int64)
        count = self.description.rules.legal_actions(self.settings, state, actions)
        return actions[:count].tolist()

    def chance_outcomes(self, state: np.ndarray) -> list[tuple[int, float]]:
        """The possible outcomes of a chance node and their probabilities."""
        actions = self.legal_actions(state)
        size = self.sizes.max_children + SPARE
        probs = np.full(size, 1.0 / max(len(actions), 1))
        self.description.rules.chance_probs(self.settings, state, probs)
        return list(zip(actions, probs[: len(actions)].tolist(), strict=True))

    def apply_action(self, state: np.ndarray, action: int) -> None:
        """Makes a move or a chance outcome in the state."""
        self.description.rules.apply_action(self.settings, state, action)

    def state_after(self, history: Sequence[int]) -> np.ndarray:
        """The state after some moves and chance outcomes."""
        state = self.start()
        for action in history:
            self.apply_action(state, action)
        return state

    def info_key(self, state: np.ndarray, player: int) -> np.ndarray:
        """What the player knows, written as integers."""
        key = np.zeros(len(self.sizes.key) + SPARE, np.int64)
        length = self.description.rules.info_key(self.settings, state, player, key)
        return key[:length]

    def info_state(self, player: int, key: np.ndarray) -> str:
        """The information-state string of a key: the player, then the game's words."""
        words = self.description.words.info_state(self.parameters, player, key)
        return f"p{player} {words}"

    def new_text(self) -> np.ndarray:
        """A buffer for the longest string that `spell` writes and a byte before it,
        uint8; of length 0 without `spell`."""
        size = 0 if self.spell is None else 1 + self.text_size + 8 * SPARE
        return np.zeros(size, np.uint8)

    def returns(self, state: np.ndarray) -> list[float]:
        """The players' returns, which are zeros before the end."""
        values = np.zeros(self.num_players + SPARE)
        if self.acting(state) == TERMINAL:
            self.description.rules.returns(self.settings, state, values)
        return values[: self.num_players].tolist()


def utility_of(description: Description) -> pyspiel.GameType.Utility:
    """OpenSpiel's word for the sum of a game's returns."""
    utilities = pyspiel.GameType.Utility
    if description.utility_sum is None:
        return utilities.GENERAL_SUM
    if description.utility_sum == 0:
        return utilities.ZERO_SUM
    return utilities.CONSTANT_SUM


def declared_by_rules(rules: BoundRules) -> Declared:
    """What a game of compiled rules declares."""
    description, sizes = rules.description, rules.sizes
    return Declared(
        name=description.short_name,
        num_players=description.num_players,
        num_actions=sizes.num_actions,
        low=sizes.min_utility,
        high=sizes.max_utility,
        utility=utility_of(description),
        utility_sum=description.utility_sum,
        way_out=RULES_WAY_OUT,
        is_openspiels=rules.spell is not None,
    )


def rules_of(game: pyspiel.Game) -> BoundRules | None:
    """The game's compiled rules; None if it has none."""
    rules = getattr(game, "rules", None)
    return rules if isinstance(rules, BoundRules) else None
