"""A game's rules, written once as small compiled functions on a vector of integers.

A game is described by a `Description`: its parameters, its sizes, its `Rules` (compiled
functions) and its `Words` (plain Python for what people read). `rules_game.register`
makes an OpenSpiel game of it; `rules_expansion` makes its whole tree, 100 times faster
than through OpenSpiel. Both call the same functions, so both play the same game.

The state of a game is a vector of int64, as long as `Sizes.state`. Every function gets
`settings` first, the values of the game's parameters as float64 in the order in which
they are declared (False and True as 0 and 1, a choice as its position): one compiled
function serves all parameters. The functions write into the buffers they are given, as
long as `Sizes` says, never raise, and call only compiled functions.
"""

import pathlib
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import numba
import numpy as np
import pyspiel
from numba import types
from numba.core import config
from numba.core.errors import TypingError
from numba.core.registry import CPUDispatcher

from mccfr_spiel.compile import jit

CHANCE = int(pyspiel.PlayerId.CHANCE)
TERMINAL = int(pyspiel.PlayerId.TERMINAL)

ParameterValue = int | float | bool | str
Parameters = Mapping[str, ParameterValue]

MAX_KEY_VALUES = np.iinfo(np.uint16).max + 1
"""Keys are kept as uint16."""


class Parameter(NamedTuple):
    """A parameter of a game and the values it may have.

    Attributes:
        default: its type (int, float, bool, str) is the parameter's.
        low, high: the least and the greatest value of a number, None for no bound.
        choices: the values of a string.
    """

    default: ParameterValue
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()


class Sizes(NamedTuple):
    """How large the vectors of a game are, for given parameters.

    Attributes:
        state: entries of the state vector.
        num_actions: players' actions are 0 .. num_actions - 1.
        max_chance_outcomes: chance's outcomes are 0 .. max_chance_outcomes - 1; 0 if
            there is no chance.
        max_moves: the players' moves in the longest history.
        max_chance_moves: the chance moves in the longest history.
        key: the number of values at each place of the longest information key.
        min_utility, max_utility: the least and greatest return of any player.
    """

    state: int
    num_actions: int
    max_chance_outcomes: int
    max_moves: int
    max_chance_moves: int
    key: tuple[int, ...]
    min_utility: float
    max_utility: float

    @property
    def max_children(self) -> int:
        """As long as the buffers for actions and probabilities are."""
        return max(self.num_actions, self.max_chance_outcomes)


class Rules(NamedTuple):
    """The rules, each function made by `compiled`.

    Attributes:
        start(settings, state): writes the first state into a vector of zeros.
        acting(settings, state) -> int: the player who acts, CHANCE or TERMINAL.
        legal_actions(settings, state, actions) -> int: writes the legal actions, or the
            possible outcomes at chance, in ascending order; returns their number.
        chance_probs(settings, state, probs): writes the outcomes' probabilities.
        apply_action(settings, state, action): makes the move in the state.
        info_key(settings, state, player, key) -> int: writes what the player knows as
            integers, place k in 0 .. Sizes.key[k] - 1; returns how many. Two states
            have equal keys exactly if they are in one information set (or, where
            another acts, look the same), so a key tells the player's own past too.
        returns(settings, state, returns): writes the players' returns at the end.
    """

    start: Any
    acting: Any
    legal_actions: Any
    chance_probs: Any
    apply_action: Any
    info_key: Any
    returns: Any


class Words(NamedTuple):
    """What people read, in plain Python.

    Attributes:
        state(parameters, state): the board or table as text.
        action(parameters, player, action): a move's name; player may be CHANCE.
        info_state(parameters, player, key): what a key means, different for each key.
        observation(parameters, state, player): what the player sees now, with no
            memory: for each item its name, its number of values and those that hold.
    """

    state: Callable[[Parameters, np.ndarray], str]
    action: Callable[[Parameters, int, int], str]
    info_state: Callable[[Parameters, int, np.ndarray], str]
    observation: Callable[
        [Parameters, np.ndarray, int], Mapping[str, tuple[int, Collection[int]]]
    ]


class Description(NamedTuple):
    """A game: all that `rules_game.register` needs.

    Attributes:
        short_name: OpenSpiel's name for it; Python games' begin with `python_`.
        long_name: its title.
        parameters: by name, in the order of `settings`.
        sizes: of given parameters; raises ValueError for a bad combination.
        rules, words: see there.
        num_players: their number.
        utility_sum: what the players' returns add up to, None if that varies.
    """

    short_name: str
    long_name: str
    parameters: Mapping[str, Parameter]
    sizes: Callable[[Parameters], Sizes]
    rules: Rules
    words: Words
    num_players: int = 2
    utility_sum: float | None = 0.0


def compiled(function: Callable[..., Any]) -> Any:
    """Compiles a function of a game's rules, or one that they call.

    The machine code is kept on disk until the function's file or this package changes;
    rules should therefore call functions of their own file only.
    """
    source = pathlib.Path(function.__code__.co_filename)
    if not source.is_file():  # typed in, with no file to watch
        return numba.njit(function)
    return jit(function, extra_sources=(source,))


_INTEGERS = types.Array(types.int64, 1, "C")
_FLOATS = types.Array(types.float64, 1, "C")
_SIGNATURES = Rules(
    start=types.void(_FLOATS, _INTEGERS),
    acting=types.int64(_FLOATS, _INTEGERS),
    legal_actions=types.int64(_FLOATS, _INTEGERS, _INTEGERS),
    chance_probs=types.void(_FLOATS, _INTEGERS, _FLOATS),
    apply_action=types.void(_FLOATS, _INTEGERS, types.int64),
    info_key=types.int64(_FLOATS, _INTEGERS, types.int64, _INTEGERS),
    returns=types.void(_FLOATS, _INTEGERS, _FLOATS),
)


class _Pointer(types.WrapperAddressProtocol):
    """A compiled function as a pointer, so that its callers are compiled only once."""

    def __init__(self, result: Any, signature: Any) -> None:
        self._result = result  # keeps the machine code alive
        self._signature = signature

    def __wrapper_address__(self) -> int:
        name = self._result.fndesc.llvm_cfunc_wrapper_name
        return self._result.library.get_pointer_to_function(name)

    def signature(self) -> Any:
        return self._signature


def rule_pointers(rules: Rules) -> Rules:
    """The rules in the form that compiled loops take as an argument.

    Raises:
        ValueError: a function is not `compiled`, or not of the right type.
    """
    if config.DISABLE_JIT:  # pyright: ignore[reportAttributeAccessIssue]
        return rules
    pointers = []
    for name, function, signature in zip(
        Rules._fields, rules, _SIGNATURES, strict=True
    ):
        if not isinstance(function, CPUDispatcher):
            raise ValueError(f"The rule {name} must be decorated by rules.compiled.")
        try:
            result = function.get_compile_result(signature)
        except TypingError as error:
            raise ValueError(
                f"The rule {name} cannot be compiled as {signature} (see rules.Rules "
                f"for what it gets and returns): {error}"
            ) from error
        made = types.unliteral(result.signature.return_type)
        if made != signature.return_type:
            raise ValueError(
                f"The rule {name} returns {made}; it must return "
                f"{signature.return_type} on every path."
            )
        pointers.append(_Pointer(result, signature))
    return Rules(*pointers)


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
        sizes: for these parameters.
        settings: `[number of parameters]` float64, what compiled functions get.
    """

    def __init__(self, description: Description, parameters: Parameters) -> None:
        """Checks the parameters.

        Args:
            description: of the game.
            parameters: the values of some of its parameters; others have the default.

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
        """Itself: rules do not change, and OpenSpiel copies a state's attributes."""
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
        """The player who acts, CHANCE or TERMINAL."""
        return self.description.rules.acting(self.settings, state)

    def legal_actions(self, state: np.ndarray) -> list[int]:
        """The legal actions, or the possible outcomes at chance, in ascending order."""
        actions = np.empty(self.sizes.max_children, np.int64)
        count = self.description.rules.legal_actions(self.settings, state, actions)
        return actions[:count].tolist()

    def chance_outcomes(self, state: np.ndarray) -> list[tuple[int, float]]:
        """The possible outcomes at chance and their probabilities."""
        actions = self.legal_actions(state)
        probs = np.zeros(self.sizes.max_children)
        self.description.rules.chance_probs(self.settings, state, probs)
        return list(zip(actions, probs[: len(actions)].tolist(), strict=True))

    def apply_action(self, state: np.ndarray, action: int) -> None:
        """Makes a move or a chance outcome in the state."""
        self.description.rules.apply_action(self.settings, state, action)

    def info_key(self, state: np.ndarray, player: int) -> np.ndarray:
        """What the player knows, as integers."""
        key = np.zeros(len(self.sizes.key), np.int64)
        length = self.description.rules.info_key(self.settings, state, player, key)
        return key[:length]

    def info_state(self, player: int, key: np.ndarray) -> str:
        """The information-state string of a key: the player, then the game's words."""
        words = self.description.words.info_state(self.parameters, player, key)
        return f"p{player} {words}"

    def returns(self, state: np.ndarray) -> list[float]:
        """The players' returns, zeros before the end."""
        values = np.zeros(self.num_players)
        if self.acting(state) == TERMINAL:
            self.description.rules.returns(self.settings, state, values)
        return values.tolist()


def rules_of(game: pyspiel.Game) -> BoundRules | None:
    """The game's compiled rules, None if it has none."""
    rules = getattr(game, "rules", None)
    return rules if isinstance(rules, BoundRules) else None
