"""Compiled rules run as plain Python, so that NumPy checks every index.

Compiled code does not check indices: a rule that writes beyond the end of a buffer,
whose length `Sizes` declares, overwrites other memory. In plain Python the same
function raises an IndexError with its line number. Therefore `check_sizes` plays a few
histories in plain Python when a game is loaded, and `game_check.check_game` plays many.
"""

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
"""Limits of `check_sizes`, which takes about 10 ms."""


class View(NamedTuple):
    """The results of all rules at a state.

    Attributes:
        player: acting player, CHANCE or TERMINAL.
        moves: legal actions; pairs (outcome, probability) at a chance node; empty at a
            terminal state.
        told: `[P]` information of each player: information-state strings, or
            information keys of compiled rules. Empty if it was not requested.
        returns: returns of the players at a terminal state; empty at other states.
    """

    player: int
    moves: tuple[Any, ...]
    told: tuple[Any, ...]
    returns: tuple[float, ...]


def plain(rules: Rules) -> Rules:
    """Returns the rules as plain Python functions.

    Compiled functions of the same file that the rules call are replaced by plain Python
    functions, too.
    """
    copies: dict[int, dict[str, Any]] = {}
    return Rules(*(_plain(rule, copies) for rule in rules))


def _plain(function: Any, copies: dict[int, dict[str, Any]]) -> Any:
    """Returns a rule as a plain Python function.

    Args:
        function: the rule.
        copies: per module (by `id` of its globals), a copy of the globals in which
            compiled functions are replaced; extended.
    """
    if isinstance(function, CPUDispatcher):
        function = function.py_func
    if not isinstance(function, types.FunctionType):
        return function
    module = function.__globals__
    if id(module) not in copies:
        copy = copies[id(module)] = dict(module)
        for name, value in module.items():
            if isinstance(value, CPUDispatcher) and value.py_func.__globals__ is module:
                copy[name] = _with_globals(value.py_func, copy)
    return _with_globals(function, copies[id(module)])


def _with_globals(function: types.FunctionType, module: dict[str, Any]) -> Any:
    """Returns a copy of a function that looks up global names in `module`."""
    copy = types.FunctionType(
        function.__code__,
        module,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


class PlainRules:
    """A play of a game by the rules in plain Python: a state and its history.

    Buffers have exactly the lengths that `Sizes` declares. Each method raises GameError
    if a rule uses an index beyond its buffer, or returns an invalid length. The message
    names the rule, the history, and for an invalid index also the line of the rule.

    Attributes:
        rules: the compiled rules, of which plain copies are used.
        state: present state vector.
        history: moves that led to `state`.
    """

    def __init__(self, rules: BoundRules) -> None:
        """Makes plain copies of the rules, and starts at the initial state."""
        self.rules = rules
        self._functions = plain(rules.description.rules)
        self._name = rules.description.short_name
        self.begin()

    def begin(self) -> None:
        """Returns to the initial state with an empty history."""
        self.history: list[int] = []
        self.state = np.zeros(self.rules.sizes.state, np.int64)
        self._call("start")

    def apply(self, action: int) -> None:
        """Applies an action or chance outcome."""
        self.history.append(action)
        self._call("apply_action", action)

    def _call(self, rule: str, *arguments: Any) -> Any:
        """Calls a rule at the present state; turns an IndexError into a GameError."""
        function = getattr(self._functions, rule)
        try:
            with np.errstate(all="ignore"):  # as in compiled code
                return function(self.rules.settings, self.state, *arguments)
        except IndexError as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            raise GameError(
                f"{self._name}: the rule {rule} uses an index beyond the end of its "
                f"buffer ({error}), at line {last.lineno} of {last.filename}: "
                f"{last.line!r}. Compiled code would write outside of the buffer. "
                f"Correct the rule or {_SIZE_OF[rule]}. The history that led there: "
                f"{self.history}."
            ) from error

    def _filled(self, rule: str, size: int, *arguments: Any) -> tuple[int, ...]:
        """Calls a rule with a buffer of length `size`; returns the values that it
        wrote.
        """
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
        """Calls all rules that describe the present state; returns their results."""
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
    """Plays random histories in plain Python: 20 histories, or fewer with 400 moves in
    total.

    Exceptions other than GameError end the check silently, because they will be raised
    again where the rule is used.

    Raises:
        GameError: a rule uses an index beyond a buffer, or returns a wrong length.
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
    except Exception:  # will be raised again where the rule is used
        return
