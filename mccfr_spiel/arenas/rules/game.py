"""OpenSpiel games made from descriptions with compiled rules.

All such games share the classes of this file. A state contains only the state vector of
the rules, so OpenSpiel copies it cheaply. An information-state tensor contains one-hot
codes of the player and of each element of the information key. An observation tensor
contains a one-hot code of the player, and for each item of `Words.observation` ones at
the item's present values.
"""

import importlib
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
import pyspiel

from mccfr_spiel.arenas.rules.bound_rules import BoundRules, utility_of
from mccfr_spiel.arenas.rules.game_description import TERMINAL, Description, Parameters
from mccfr_spiel.arenas.rules.plain_rules import check_sizes
from mccfr_spiel.arenas.rules.state_checks import tell_history


def game_type(description: Description, has_chance: bool) -> pyspiel.GameType:
    """Returns OpenSpiel's `GameType` of a described game."""
    classes = pyspiel.GameType
    modes = classes.ChanceMode
    return classes(
        short_name=description.short_name,
        long_name=description.long_name,
        dynamics=classes.Dynamics.SEQUENTIAL,
        chance_mode=modes.EXPLICIT_STOCHASTIC if has_chance else modes.DETERMINISTIC,
        information=classes.Information.IMPERFECT_INFORMATION,
        utility=utility_of(description),
        reward_model=classes.RewardModel.TERMINAL,
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
    """Imports the module that registers a game, and loads the game; used by pickle.

    Args:
        module: module whose import registers the game.
        name: the game as a string, with its parameters.
    """
    importlib.import_module(module)
    return pyspiel.load_game(name)


def replayed(game: pyspiel.Game, history: Iterable[int]) -> pyspiel.State:
    """Returns the state after a history of actions and chance outcomes.

    It is also used to unpickle and to copy states. Errors of the game name the history.
    """
    state = game.new_initial_state()
    for action in history:
        try:
            state.apply_action(action)
        except Exception as error:  # games may raise any error
            tell_history(error, state, action)
            raise
    return state


class RulesGame(pyspiel.Game):
    """Base class of the games that `register` makes.

    Attributes:
        description: description of the game, set by `register`.
        checked: bytes of the `settings` for which `check_sizes` has succeeded.
        rules: the rules with this game's parameters; read by `rules.rules_of`.
    """

    description: Description
    checked: ClassVar[set[bytes]]

    def __init__(self, parameters: Parameters | None = None) -> None:
        """Makes the game with given parameters; called by `pyspiel.load_game`.

        When a combination of parameters is used for the first time, a few histories are
        played to check `Sizes`.

        Raises:
            ValueError: a parameter's value is not allowed.
            GameError: a rule uses an index beyond the sizes that `Sizes` declares.
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
        classification = game_type(description, sizes.max_chance_moves > 0)
        super().__init__(classification, info, dict(rules.parameters))
        self.rules = rules

    def __reduce__(self) -> tuple[Any, ...]:
        return load_again, (self.description.rules.acting.__module__, str(self))

    def new_initial_state(self) -> "RulesState":
        """The initial state."""
        return RulesState(self)

    def max_chance_nodes_in_history(self) -> int:
        """Number of chance moves in the longest history."""
        return self.rules.sizes.max_chance_moves

    def make_py_observer(
        self, iig_obs_type: Any = None, params: Any = None
    ) -> "RulesObserver | None":
        """Returns an observer of a player's information state or observation.

        The observer shows the information state if `iig_obs_type.perfect_recall` is
        true, else the observation. As OpenSpiel requires, the result is None for
        observations that these games do not offer: public information alone, private
        information alone, or the private information of all players.

        Raises:
            ValueError: `params` are given; these observers have none.
        """
        if params:
            raise ValueError(
                f"params={params}: observers of these games have no parameters. Omit "
                "params."
            )
        view = iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False)
        single = pyspiel.PrivateInfoType.SINGLE_PLAYER
        if not view.public_info or view.private_info != single:
            return None
        return RulesObserver(self.rules, has_recall=view.perfect_recall)


class RulesState(pyspiel.State):
    """A state of a game of compiled rules.

    Attributes:
        rules: rules of the game.
        vector: `[Sizes.state]` int64, state vector of the rules.
    """

    def __init__(self, game: RulesGame) -> None:
        """Makes the initial state."""
        super().__init__(game)
        self.rules = game.rules
        self.vector = game.rules.start()

    def __reduce__(self) -> tuple[Any, ...]:
        return replayed, (self.get_game(), self.history())

    def current_player(self) -> int:
        """The acting player, CHANCE or TERMINAL."""
        return self.rules.acting(self.vector)

    def is_terminal(self) -> bool:
        """Whether the game is over."""
        return self.rules.acting(self.vector) == TERMINAL

    def _legal_actions(self, player: int) -> list[int]:
        if player != self.rules.acting(self.vector):
            return []
        return self.rules.legal_actions(self.vector)

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """The outcomes of a chance node and their probabilities."""
        return self.rules.chance_outcomes(self.vector)

    def _apply_action(self, action: int) -> None:
        self.rules.apply_action(self.vector, action)

    def _action_to_string(self, player: int, action: int) -> str:
        rules = self.rules
        return rules.description.words.action(rules.parameters, player, action)

    def returns(self) -> list[float]:
        """The players' returns; zeros before the end."""
        return self.rules.returns(self.vector)

    def __str__(self) -> str:
        rules = self.rules
        return rules.description.words.state(rules.parameters, self.vector)


class RulesObserver:
    """An observer with OpenSpiel's interface: writes a player's information state or
    observation as a tensor or string.

    Attributes:
        tensor: `[size]` float32, the whole tensor as a vector.
        dict: NumPy views of the parts of `tensor`, by name.
    """

    def __init__(self, rules: BoundRules, *, has_recall: bool) -> None:
        """Makes an observer of information states (`has_recall`) or observations."""
        self._rules = rules
        self._has_recall = has_recall
        if self._has_recall:
            self._starts = np.cumsum([0, *rules.sizes.key[:-1]])
            shapes = {"key": sum(rules.sizes.key)}
        else:
            shapes = {n: size for n, (size, _) in self._view(rules.start(), 0).items()}
        shapes = {"player": rules.num_players, **shapes}
        self.tensor = np.zeros(sum(shapes.values()), np.float32)
        self.dict = {}
        stop = 0
        for name, size in shapes.items():
            self.dict[name] = self.tensor[stop : stop + size]
            stop += size

    def _view(self, vector: np.ndarray, player: int) -> Any:
        rules = self._rules
        return rules.description.words.observation(rules.parameters, vector, player)

    def set_from(self, state: RulesState, player: int) -> None:
        """Writes the player's information state or observation to `tensor`."""
        self.tensor.fill(0)
        self.dict["player"][player] = 1
        if self._has_recall:
            key = self._rules.info_key(state.vector, player)
            self.dict["key"][self._starts[: len(key)] + key] = 1
            return
        for name, (_, values) in self._view(state.vector, player).items():
            self.dict[name][list(values)] = 1

    def string_from(self, state: RulesState, player: int) -> str:
        """Returns the player's information state or observation as text."""
        if self._has_recall:
            return self._rules.info_state(
                player, self._rules.info_key(state.vector, player)
            )
        view = self._view(state.vector, player)
        items = [f"{name}:{','.join(map(str, v))}" for name, (_, v) in view.items()]
        return " ".join([f"p{player}", *items])


def register(description: Description) -> type[RulesGame]:
    """Registers a game with OpenSpiel and returns its class.

    Raises:
        ValueError: the name is registered already.
    """
    name = description.short_name
    if name in pyspiel.registered_names():
        raise ValueError(
            f"short_name={name!r}: OpenSpiel already has a game of this name. Use "
            "another name."
        )
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
