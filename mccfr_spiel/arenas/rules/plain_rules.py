"""Rules run as plain Python, in which every index is checked."""

import random
import traceback
import types
from typing import Any, NamedTuple

import numpy as np
from numba.core.registry import CPUDispatcher

from mccfr_spiel.arenas.rules.bound_rules import BoundRules
from mccfr_spiel.arenas.rules.declarations import GameError
from mccfr_spiel.arenas.rules.game_description import CHANCE, TERMINAL, Rules

_HISTORIES = 20
_MOVES = 400
"""The most that is played when a game is loaded, which takes some 10 ms."""


class View(NamedTuple):
    """Everything that a state shows.

    Attributes:
        player: the player who acts, or CHANCE or TERMINAL.
        moves: the legal actions, or pairs (outcome, probability) where chance acts.
        told: `[P]` what each player is told: strings, or the keys of compiled rules.
            Empty where they are not asked for.
        returns: the players' returns at the end, else empty.
    """

    player: int
    moves: tuple[Any, ...]
    told: tuple[Any, ...]
    returns: tuple[float, ...]


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
    """A history of rules that run in plain Python, on buffers as long as `Sizes` says.

    Each method raises GameError if a rule uses an index that its buffer does not have
    or returns a wrong length. The message names the rule, its line and the history.

    Attributes:
        rules: the compiled rules.
        state: the present state.
        history: the moves that led to it.
    """

    def __init__(self, rules: BoundRules) -> None:
        """Makes uncompiled copies of the rules, and begins a history."""
        self.rules = rules
        self._functions = plain(rules.description.rules)
        self._name = rules.description.short_name
        self.begin()

    def begin(self) -> None:
        """Begins a history."""
        self.history: list[int] = []
        self.state = np.zeros(self.rules.sizes.state, np.int64)
        self._call("start")

    def apply(self, action: int) -> None:
        """Makes a move."""
        self.history.append(action)
        self._call("apply_action", action)

    def _call(self, rule: str, *arguments: Any) -> Any:
        function = getattr(self._functions, rule)
        try:
            with np.errstate(all="ignore"):  # compiled code does not warn either
                return function(self.rules.settings, self.state, *arguments)
        except IndexError as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            raise GameError(
                f"{self._name}: the rule {rule} uses an index that its buffer does not "
                f"have ({error}), at line {last.lineno} of {last.filename}: "
                f"{last.line!r}. Compiled code would write outside of its memory. "
                f"Correct the rule or {_SIZE_OF[rule]}. The history that led there: "
                f"{self.history}."
            ) from error

    def _filled(self, rule: str, size: int, *arguments: Any) -> tuple[int, ...]:
        """What a rule writes into a buffer of some size; it returns the length."""
        buffer = np.zeros(size, np.int64)
        length = self._call(rule, *arguments, buffer)
        if not 0 <= length <= size:
            raise GameError(
                f"{self._name}: the rule {rule} returns the length {length}, but its "
                f"buffer has {size} entries. Correct the rule or {_SIZE_OF[rule]}. The "
                f"history that led there: {self.history}."
            )
        return tuple(buffer[:length].tolist())

    def view(self) -> View:
        """Calls every rule that describes the state."""
        sizes, players = self.rules.sizes, range(self.rules.num_players)
        acting = int(self._call("acting"))
        moves: tuple[Any, ...] = ()
        returns = np.zeros(0)
        if acting == TERMINAL:
            returns = np.zeros(len(players))
            self._call("returns", returns)
        else:
            moves = self._filled("legal_actions", sizes.max_children)
        if acting == CHANCE:
            probs = np.full(sizes.max_children, 1.0 / max(len(moves), 1))
            self._call("chance_probs", probs)
            moves = tuple(zip(moves, probs.tolist(), strict=False))
        keys = (self._filled("info_key", len(sizes.key), player) for player in players)
        return View(acting, moves, tuple(keys), tuple(returns.tolist()))


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
    generator, history = random.Random(0), PlainRules(rules)
    moves = 0
    try:
        for _ in range(_HISTORIES):
            history.begin()
            while (view := history.view()).moves:
                move = generator.choice(view.moves)
                history.apply(move[0] if view.player == CHANCE else move)
                moves += 1
                if moves >= _MOVES:
                    return
    except GameError:
        raise
    except Exception:  # the rule will fail in use as well, and there it is not hidden
        return
