"""`BoundRules`: the rules of a game with given parameters, callable from Python."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.arenas.rules.declarations import RULES_WAY_OUT, Declared
from mccfr_spiel.arenas.rules.game_description import (
    MAX_KEY_VALUES,
    SPARE,
    TERMINAL,
    Description,
    Parameters,
)


def check_parameters(description: Description, parameters: Parameters) -> None:
    """Raises ValueError if a parameter is unknown or its value is not allowed.

    `parameters` must contain a value for each parameter of the description.
    """
    game = description.short_name
    unknown = set(parameters) - set(description.parameters)
    if unknown:
        raise ValueError(
            f"{game}: unknown parameter {sorted(unknown)[0]!r}. Expected "
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
    """A game description with given parameters, callable from Python.

    Attributes:
        description: description of the game.
        parameters: values of all parameters.
        sizes: `Sizes` of the game for these parameters.
        settings: `[number of parameters]` float64, the parameters as the first argument
            of compiled rules.
        spell: compiled function that writes OpenSpiel's information-state strings, see
            `twins.twin.Twin`; None if `Words.info_state` formats the strings.
        text_size: length of the longest string that `spell` writes; 0 without `spell`.
        faced: fixed policies that some players follow, while the solver computes a
            response to them. A tuple with the values of the last fields of
            `rule_records.GameArrays`, from `player` on; empty if no player follows a
            fixed policy.
    """

    spell: Any = None
    text_size = 0
    faced: tuple[np.ndarray, ...] = ()

    def __init__(self, description: Description, parameters: Parameters) -> None:
        """Checks the parameters and computes the sizes.

        Args:
            description: the game's description.
            parameters: values of some parameters; others keep their defaults.

        Raises:
            ValueError: a parameter is unknown, a value is not allowed, or an entry of
                the information key has too many values.
        """
        defaults = {n: p.default for n, p in description.parameters.items()}
        self.description = description
        self.parameters: Parameters = {**defaults, **parameters}
        check_parameters(description, self.parameters)
        self.sizes = description.sizes(self.parameters)
        if max(self.sizes.key, default=1) > MAX_KEY_VALUES:
            raise ValueError(
                f"{description.short_name}: Sizes.key of {self.parameters} has an "
                f"entry of {max(self.sizes.key)} values; at most {MAX_KEY_VALUES} fit. "
                "Use two entries."
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
        """Returns the same object, because OpenSpiel deep-copies states."""
        return self

    @property
    def num_players(self) -> int:
        """Number of players."""
        return self.description.num_players

    def start(self) -> np.ndarray:
        """The initial state."""
        state = np.zeros(self.sizes.state, np.int64)
        self.description.rules.start(self.settings, state)
        return state

    def acting(self, state: np.ndarray) -> int:
        """The acting player, CHANCE or TERMINAL."""
        return self.description.rules.acting(self.settings, state)

    def legal_actions(self, state: np.ndarray) -> list[int]:
        """The legal actions in ascending order; at a chance node, the outcomes."""
        actions = np.empty(self.sizes.max_children + SPARE, np.int64)
        count = self.description.rules.legal_actions(self.settings, state, actions)
        return actions[:count].tolist()

    def chance_outcomes(self, state: np.ndarray) -> list[tuple[int, float]]:
        """The outcomes of a chance node and their probabilities."""
        actions = self.legal_actions(state)
        size = self.sizes.max_children + SPARE
        probs = np.full(size, 1.0 / max(len(actions), 1))
        self.description.rules.chance_probs(self.settings, state, probs)
        return list(zip(actions, probs[: len(actions)].tolist(), strict=True))

    def apply_action(self, state: np.ndarray, action: int) -> None:
        """Applies an action or chance outcome to the state in place."""
        self.description.rules.apply_action(self.settings, state, action)

    def state_after(self, history: Sequence[int]) -> np.ndarray:
        """The state after a history of actions and chance outcomes."""
        state = self.start()
        for action in history:
            self.apply_action(state, action)
        return state

    def info_key(self, state: np.ndarray, player: int) -> np.ndarray:
        """The information key of a player, `[K]` int64."""
        key = np.zeros(len(self.sizes.key) + SPARE, np.int64)
        length = self.description.rules.info_key(self.settings, state, player, key)
        return key[:length]

    def info_state(self, player: int, key: np.ndarray) -> str:
        """The information-state string of a key, by `Words.info_state`."""
        words = self.description.words.info_state(self.parameters, player, key)
        return f"p{player} {words}"

    def new_text(self) -> np.ndarray:
        """Returns a uint8 buffer for one byte and the longest string that `spell`
        writes.

        The caller may store the player in the first byte. Without `spell` the buffer
        has length 0.
        """
        size = 0 if self.spell is None else 1 + self.text_size + 8 * SPARE
        return np.zeros(size, np.uint8)

    def returns(self, state: np.ndarray) -> list[float]:
        """The players' returns; zeros before the end."""
        values = np.zeros(self.num_players + SPARE)
        if self.acting(state) == TERMINAL:
            self.description.rules.returns(self.settings, state, values)
        return values[: self.num_players].tolist()


def utility_of(description: Description) -> pyspiel.GameType.Utility:
    """Returns OpenSpiel's classification of the sum of a game's returns."""
    utilities = pyspiel.GameType.Utility
    if description.utility_sum is None:
        return utilities.GENERAL_SUM
    if description.utility_sum == 0:
        return utilities.ZERO_SUM
    return utilities.CONSTANT_SUM


def declared_by_rules(rules: BoundRules) -> Declared:
    """Returns the bounds that a game with compiled rules declares."""
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
    """Returns the compiled rules of a game made by `register`; None for other games."""
    rules = getattr(game, "rules", None)
    return rules if isinstance(rules, BoundRules) else None
