"""Makes a registered OpenSpiel game of compiled rules.

All such games share the classes of this file. A state holds the rules' vector and
nothing else, so OpenSpiel's copies of it are cheap. An information-state tensor is
one-hot in the player and in each place of the key; an observation tensor is one-hot in
the player and in each item of `Words.observation`.

Compiled code does not check indices, so a rule that writes beyond the buffers that
`Sizes` declares changes memory that belongs to others. Uncompiled, the same function
raises an IndexError and names the line. Therefore a few histories of every game are
played in plain Python when it is loaded, and many in `game_check.check_game`.
"""

import importlib
import random
import traceback
import types
from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyspiel
from numba.core.registry import CPUDispatcher

from mccfr_spiel.arenas.rules.description import (
    CHANCE,
    TERMINAL,
    BoundRules,
    Description,
    GameError,
    Parameters,
    Rules,
    tell_history,
    utility_of,
)


def game_type(description: Description, has_chance: bool) -> pyspiel.GameType:
    """OpenSpiel's classification of a described game."""
    kinds = pyspiel.GameType
    modes = kinds.ChanceMode
    return kinds(
        short_name=description.short_name,
        long_name=description.long_name,
        dynamics=kinds.Dynamics.SEQUENTIAL,
        chance_mode=modes.EXPLICIT_STOCHASTIC if has_chance else modes.DETERMINISTIC,
        information=kinds.Information.IMPERFECT_INFORMATION,
        utility=utility_of(description),
        reward_model=kinds.RewardModel.TERMINAL,
        max_num_players=description.num_players,
        min_num_players=description.num_players,
        provides_information_state_string=True,
        provides_information_state_tensor=True,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification={
            name: parameter.default
            for name, parameter in description.parameters.items()
        },
    )


def load_again(module: str, name: str) -> pyspiel.Game:
    """The game of that string, which a module registers; for pickles."""
    importlib.import_module(module)  # importing it registers the game
    return pyspiel.load_game(name)


def replayed(game: pyspiel.Game, history: Iterable[int]) -> pyspiel.State:
    """The state after a history; for pickles and copies, too."""
    state = game.new_initial_state()
    for action in history:
        try:
            state.apply_action(action)
        except Exception as error:  # games raise what they like
            tell_history(error, state, action)
            raise
    return state


class RulesGame(pyspiel.Game):
    """A game whose rules are compiled functions; `register` makes a class for each.

    Attributes:
        description: of the class's game.
        checked: the settings with which a few histories have been played.
        rules: the rules with this game's parameters; `rules.rules_of` looks for them.
    """

    description: Description
    checked: ClassVar[set[bytes]]

    def __init__(self, parameters: Parameters | None = None) -> None:
        """Makes the game with given parameters; called by `pyspiel.load_game`.

        A few histories are played when parameters are used for the first time.

        Raises:
            ValueError: a parameter's value is not allowed.
            GameError: in one of those histories a rule uses an index beyond what
                `Sizes` declares.
        """
        description = self.description
        rules = BoundRules(description, parameters or {})
        if rules.settings.tobytes() not in self.checked:
            check_sizes(rules)
            self.checked.add(rules.settings.tobytes())
        sizes = rules.sizes
        info = pyspiel.GameInfo(
            num_distinct_actions=sizes.num_actions,
            max_chance_outcomes=sizes.max_chance_outcomes,
            num_players=description.num_players,
            min_utility=sizes.min_utility,
            max_utility=sizes.max_utility,
            utility_sum=description.utility_sum,
            max_game_length=sizes.max_moves,
        )
        kind = game_type(description, has_chance=sizes.max_chance_moves > 0)
        super().__init__(kind, info, dict(rules.parameters))
        self.rules = rules

    def __reduce__(self) -> tuple[Any, ...]:
        return load_again, (self.description.rules.acting.__module__, str(self))

    def new_initial_state(self) -> "RulesState":
        """The state in which the game begins."""
        return RulesState(self)

    def max_chance_nodes_in_history(self) -> int:
        """The number of chance moves in the longest history."""
        return self.rules.sizes.max_chance_moves

    def make_py_observer(
        self, iig_obs_type: Any = None, params: Any = None
    ) -> "RulesObserver | None":
        """An observer of what a player knows, or without perfect recall sees now.

        As OpenSpiel wants it, the result is None for what these games do not offer:
        public information alone, private information alone, or that of all players.

        Raises:
            ValueError: parameters are given, but these observers have none.
        """
        if params:
            raise ValueError(f"Observers of these games have no parameters: {params}")
        kind = iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False)
        single = pyspiel.PrivateInfoType.SINGLE_PLAYER
        if not kind.public_info or kind.private_info != single:
            return None
        return RulesObserver(self.rules, has_recall=kind.perfect_recall)


class RulesState(pyspiel.State):
    """A state of a game of compiled rules.

    Attributes:
        rules: the game's rules.
        vector: `[Sizes.state]` int64, the state as the rules see it.
    """

    def __init__(self, game: RulesGame) -> None:
        """Makes the first state; called by `Game.new_initial_state`."""
        super().__init__(game)
        self.rules = game.rules
        self.vector = game.rules.start()

    def __reduce__(self) -> tuple[Any, ...]:
        return replayed, (self.get_game(), self.history())

    def current_player(self) -> int:
        """The player who acts, or CHANCE or TERMINAL."""
        return self.rules.acting(self.vector)

    def is_terminal(self) -> bool:
        """Whether the game is over."""
        return self.rules.acting(self.vector) == TERMINAL

    def _legal_actions(self, player: int) -> list[int]:
        if player != self.rules.acting(self.vector):
            return []
        return self.rules.legal_actions(self.vector)

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """The possible outcomes of a chance node and their probabilities."""
        return self.rules.chance_outcomes(self.vector)

    def _apply_action(self, action: int) -> None:
        self.rules.apply_action(self.vector, action)

    def _action_to_string(self, player: int, action: int) -> str:
        rules = self.rules
        return rules.description.words.action(rules.parameters, player, action)

    def returns(self) -> list[float]:
        """The players' returns, which are zeros before the end."""
        return self.rules.returns(self.vector)

    def __str__(self) -> str:
        rules = self.rules
        return rules.description.words.state(rules.parameters, self.vector)


class RulesObserver:
    """Shows what a player knows or sees, as OpenSpiel's observation.py wants it.

    Attributes:
        tensor: `[...]` float32, flat.
        dict: the named parts of `tensor`, as views of it.
    """

    def __init__(self, rules: BoundRules, *, has_recall: bool) -> None:
        """Makes an observer of information states (with recall) or of observations."""
        self._rules = rules
        self._has_recall = has_recall
        if self._has_recall:
            self._starts = np.cumsum([0, *rules.sizes.key[:-1]])
            shapes = {"key": sum(rules.sizes.key)}
        else:
            shapes = {n: size for n, (size, _) in self._seen(rules.start(), 0).items()}
        shapes = {"player": rules.num_players, **shapes}
        self.tensor = np.zeros(sum(shapes.values()), np.float32)
        self.dict = {}
        stop = 0
        for name, size in shapes.items():
            self.dict[name] = self.tensor[stop : stop + size]
            stop += size

    def _seen(self, vector: np.ndarray, player: int) -> Any:
        rules = self._rules
        return rules.description.words.observation(rules.parameters, vector, player)

    def set_from(self, state: RulesState, player: int) -> None:
        """Writes the state as the player sees it into `tensor`."""
        self.tensor.fill(0)
        self.dict["player"][player] = 1
        if self._has_recall:
            key = self._rules.info_key(state.vector, player)
            self.dict["key"][self._starts[: len(key)] + key] = 1
            return
        for name, (_, values) in self._seen(state.vector, player).items():
            self.dict[name][list(values)] = 1

    def string_from(self, state: RulesState, player: int) -> str:
        """The state as the player sees it, as text."""
        if self._has_recall:
            return self._rules.info_state(
                player, self._rules.info_key(state.vector, player)
            )
        seen = self._seen(state.vector, player)
        words = [f"{name}:{','.join(map(str, v))}" for name, (_, v) in seen.items()]
        return " ".join([f"p{player}", *words])


def register(description: Description) -> type[RulesGame]:
    """Registers a game with OpenSpiel and returns its class.

    Raises:
        ValueError: OpenSpiel already has a game of that name.
    """
    name = description.short_name
    if name in pyspiel.registered_names():
        raise ValueError(f"OpenSpiel already has a game named {name!r}.")
    defaults = BoundRules(description, {})
    has_chance = defaults.sizes.max_chance_moves > 0

    class Game(RulesGame):
        __doc__ = f"{description.long_name} (`{name}`)."

    Game.description = description
    Game.checked = set()
    words = [word.capitalize() for word in name.split("_")]
    Game.__name__ = Game.__qualname__ = "".join([*words, "Game"])
    pyspiel.register_game(game_type(description, has_chance), Game)
    return Game


# --- the rules as plain Python, in which every index is checked -----------------------


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
