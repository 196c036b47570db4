"""A game's rules as plain Python, in which every index is checked.

Compiled code does not check indices, so a rule that writes beyond the buffers that
`Sizes` declares changes memory that belongs to others. Uncompiled, the same function
raises an IndexError and names the line. Therefore a few histories of every game are
played in plain Python when it is loaded, and many in `game_check.check_game`.
"""

import random
import traceback
import types
from typing import Any, NamedTuple

import numpy as np
from numba.core.registry import CPUDispatcher

from mccfr_spiel.rules.declared import GameError
from mccfr_spiel.rules.description import CHANCE, TERMINAL, BoundRules, Rules

_HISTORIES = 20
_MOVES = 400
"""The most that is played when a game is loaded, which takes some 10 ms."""


class Moment(NamedTuple):
    """What the rules say about one state of a history.

    Attributes:
        acting: the player who acts, or CHANCE or TERMINAL.
        actions: the legal actions, or chance's outcomes.
        probs: the outcomes' probabilities at a chance node, else empty.
        keys: `[P]` each player's information key.
        returns: the players' returns at the end, else empty.
    """

    acting: int
    actions: list[int]
    probs: list[float]
    keys: list[tuple[int, ...]]
    returns: list[float]


def plain(rules: Rules) -> Rules:
    """The rules as plain Python, with the functions of their own file they call."""
    copies: dict[int, dict[str, Any]] = {}
    return Rules(*(_plain(rule, copies) for rule in rules))


def _plain(function: Any, copies: dict[int, dict[str, Any]]) -> Any:
    if isinstance(function, CPUDispatcher):
        function = function.py_func
    if not isinstance(function, types.FunctionType):
        return function
    names = function.__globals__
    if id(names) not in copies:
        copy = copies[id(names)] = dict(names)
        for name, value in names.items():
            if isinstance(value, CPUDispatcher) and value.py_func.__globals__ is names:
                copy[name] = _with_globals(value.py_func, copy)
    return _with_globals(function, copies[id(names)])


def _with_globals(function: types.FunctionType, names: dict[str, Any]) -> Any:
    made = types.FunctionType(
        function.__code__,
        names,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


class PlainRules:
    """Rules that run in plain Python, on buffers exactly as long as `Sizes` says.

    Each method raises GameError if a rule uses an index that its buffer does not have
    or returns a wrong length. The message names the rule, its line and the history.

    Attributes:
        rules: the compiled rules.
    """

    def __init__(self, rules: BoundRules) -> None:
        """Makes uncompiled copies of the rules."""
        self.rules = rules
        self._functions = plain(rules.description.rules)
        self._name = rules.description.short_name

    def _call(self, rule: str, history: list[int], *arguments: Any) -> Any:
        function = getattr(self._functions, rule)
        try:
            with np.errstate(all="ignore"):  # compiled code does not warn either
                return function(self.rules.settings, *arguments)
        except IndexError as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            raise GameError(
                f"{self._name}: the rule {rule} uses an index that its buffer does not "
                f"have ({error}), at line {last.lineno} of {last.filename}: "
                f"{last.line!r}. Compiled code would write outside of its memory. "
                f"Correct the rule or {_SIZE_OF[rule]}. The history that led there: "
                f"{history}."
            ) from error

    def start(self) -> np.ndarray:
        """Returns the first state."""
        state = np.zeros(self.rules.sizes.state, np.int64)
        self._call("start", [], state)
        return state

    def apply_action(self, state: np.ndarray, history: list[int], action: int) -> None:
        """Makes a move in the state, to which `history` has led."""
        self._call("apply_action", [*history, action], state, action)

    def moment(self, state: np.ndarray, history: list[int]) -> Moment:
        """Calls every rule that describes the state, to which `history` has led."""
        rules, sizes = self.rules, self.rules.sizes
        acting = int(self._call("acting", history, state))
        actions, probs = np.zeros(sizes.max_children, np.int64), np.zeros(0)
        returns = np.zeros(0)
        count = 0
        if acting == TERMINAL:
            returns = np.zeros(rules.num_players)
            self._call("returns", history, state, returns)
        else:
            count = self._call("legal_actions", history, state, actions)
            self._check_length("legal_actions", count, len(actions), history)
        if acting == CHANCE:
            probs = np.zeros(sizes.max_children)
            self._call("chance_probs", history, state, probs)
        return Moment(
            acting=acting,
            actions=actions[:count].tolist(),
            probs=probs[:count].tolist(),
            keys=[self._key(state, p, history) for p in range(rules.num_players)],
            returns=returns.tolist(),
        )

    def _key(
        self, state: np.ndarray, player: int, history: list[int]
    ) -> tuple[int, ...]:
        key = np.zeros(len(self.rules.sizes.key), np.int64)
        length = self._call("info_key", history, state, player, key)
        self._check_length("info_key", length, len(key), history)
        return tuple(key[:length].tolist())

    def _check_length(
        self, rule: str, length: int, most: int, history: list[int]
    ) -> None:
        if not 0 <= length <= most:
            raise GameError(
                f"{self._name}: the rule {rule} returns the length {length}, but its "
                f"buffer has {most} entries. Correct the rule or {_SIZE_OF[rule]}. The "
                f"history that led there: {history}."
            )


_SIZE_OF = {
    "start": "Sizes.state",
    "acting": "Sizes.state",
    "legal_actions": "Sizes.num_actions or Sizes.max_chance_outcomes",
    "chance_probs": "Sizes.max_chance_outcomes",
    "apply_action": "Sizes.state",
    "info_key": "Sizes.key",
    "returns": "Description.num_players",
}


def check_sizes(rules: BoundRules) -> None:
    """Plays a few random histories in plain Python.

    Raises:
        GameError: a rule uses an index beyond what `Sizes` declares.
    """
    generator = random.Random(0)
    checked = PlainRules(rules)
    moves = 0
    try:
        for _ in range(_HISTORIES):
            state, history = checked.start(), []
            while actions := checked.moment(state, history).actions:
                action = generator.choice(actions)
                checked.apply_action(state, history, action)
                history.append(action)
                moves += 1
                if moves >= _MOVES:
                    return
    except GameError:
        raise
    except Exception:  # the rule will fail in use as well, and there it is not hidden
        return
