"""A game's rules with its parameters set, callable from Python."""

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
        faced: the policies that players follow, as `rule_records.GameArrays` has them.
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
