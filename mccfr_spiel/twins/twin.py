"""What a twin is: compiled rules that play one of OpenSpiel's own games to the letter.

A twin has a `Description`, like the games of compiled rules, and a function that spells
the information-state string of a key. Legal actions, chance outcomes, returns and
strings equal those of OpenSpiel's game, so that a tree which a twin expands is the tree
of the game itself.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyspiel

from mccfr_spiel.rules.description import (
    BoundRules,
    Description,
    Parameter,
    ParameterValue,
    Rules,
    Sizes,
    Words,
)


class Twin(NamedTuple):
    """Compiled rules for one of OpenSpiel's games with given parameters.

    Attributes:
        description: the game. Its least and greatest return and its kind of sum are
            replaced by those that OpenSpiel's game declares.
        spell(settings, player, key, length, text) -> int: writes the
            information-state string of key[:length] into `text`, as ASCII, and returns
            its length. It is made by `rules.compiled`. The player is the one who acts.
        text_size: the length of the longest string.
        values: the values of the description's parameters.
    """

    description: Description
    spell: Any
    text_size: int
    values: Mapping[str, ParameterValue]


def make_twin(
    short_name: str,
    functions: Mapping[str, Any],
    *,
    num_players: int,
    values: Mapping[str, ParameterValue],
    sizes: Sizes,
    text_size: int,
) -> Twin:
    """A twin of the OpenSpiel game of that name.

    Args:
        short_name: OpenSpiel's name of the game.
        functions: the `globals()` of the twin's module. Its functions are called as the
            fields of `Rules`, the keys and classes of a Description, and `Twin.spell`
            are; an underscore may stand before.
        num_players: the number of players.
        values: what compiled functions get as `settings`, in this order.
        sizes: as in a Description; the least and greatest return do not matter.
        text_size: see `Twin`.
    """
    own = {name.removeprefix("_"): one for name, one in functions.items()}
    description = Description(
        short_name=short_name,
        long_name=short_name,
        parameters={name: Parameter(value) for name, value in values.items()},
        sizes=lambda parameters: sizes,
        rules=Rules(**{name: own[name] for name in Rules._fields if name in own}),
        words=_WORDS,
        num_players=num_players,
        **{name: own[name] for name in _OPTIONAL if name in own},
    )
    return Twin(description, own["spell"], text_size, values)


_OPTIONAL = "world_key", "position_key", "heard", "leaf_class", "class_returns"
"""What a Description may have besides rules."""


class BoundTwin(BoundRules):
    """A twin of a given game, callable from Python.

    Attributes:
        twin: the twin.
    """

    def __init__(self, twin: Twin, game: pyspiel.Game) -> None:
        """Makes the rules, which declare what OpenSpiel's game declares.

        Args:
            twin: for the game's parameters.
            game: the game in its turn-based form.
        """
        utility = game.get_type().utility
        kinds = pyspiel.GameType.Utility
        total = game.utility_sum() if utility == kinds.CONSTANT_SUM else None
        total = 0.0 if utility == kinds.ZERO_SUM else total
        super().__init__(
            twin.description._replace(utility_sum=total), dict(twin.values)
        )
        self.sizes = self.sizes._replace(
            min_utility=game.min_utility(), max_utility=game.max_utility()
        )
        self.twin, self.spell, self.text_size = twin, twin.spell, twin.text_size

    def info_state(self, player: int, key: np.ndarray) -> str:
        """OpenSpiel's information-state string for a key."""
        text = self.new_text()
        length = self.twin.spell(self.settings, player, key, len(key), text)
        return text[:length].tobytes().decode("ascii")


_WORDS = Words(
    lambda parameters, state: str(state.tolist()),
    lambda parameters, player, action: str(action),
    lambda parameters, player, key: str(key.tolist()),
    lambda parameters, state, player: {},
)
"""Words for errors in a twin itself; what users see comes from OpenSpiel's game."""

Maker = Callable[[Mapping[str, Any]], Twin | None]
"""Makes the twin for the parameters of a game; None for values that it does not cover.
"""
