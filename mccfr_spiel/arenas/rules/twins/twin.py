"""`Twin`: compiled rules that reproduce one of OpenSpiel's own games exactly.

A twin consists of the functions of compiled rules (`game_description.Rules`) and the
function `spell`, which writes the information-state string of an information key. Legal
actions, chance outcomes, returns and strings equal those of OpenSpiel's game. So the
twin has exactly the same tree and the same infosets.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyspiel

from mccfr_spiel.arenas.rules.bound_rules import BoundRules
from mccfr_spiel.arenas.rules.declarations import declared_by
from mccfr_spiel.arenas.rules.game_description import (
    MAX_KEY_VALUES,
    Parameter,
    Sizes,
    described,
)


class Twin(NamedTuple):
    """Compiled rules of one of OpenSpiel's games for given parameters.

    Attributes:
        functions: the `globals()` of the twin's module, from which
            `game_description.described` selects the functions. They include
            `spell(settings, player, key, length, text) -> int`, compiled by
            `rules.compiled`. It writes the information-state string of the acting
            player `player` with the key key[:length] to `text` as ASCII, and returns
            the length of the string.
        settings: values of the array that is the first argument of all rules.
        state: length of the state vector.
        key: length of the longest information key.
        text_size: length of the longest string.
        corrected: names and correct values of the fields of `Sizes` that OpenSpiel's
            game declares wrongly.
    """

    functions: Mapping[str, Any]
    settings: Sequence[float]
    state: int
    key: int
    text_size: int
    corrected: Mapping[str, int] = {}


class BoundTwin(BoundRules):
    """The twin of a game, callable from Python."""

    def __init__(self, name: str, twin: Twin, game: pyspiel.Game) -> None:
        """Makes rules with the declarations of OpenSpiel's game.

        Args:
            name: OpenSpiel's name of the game.
            twin: twin for the game's parameters.
            game: the game, in its turn-based form if it has simultaneous moves.
        """
        sizes = Sizes(
            state=twin.state,
            num_actions=game.num_distinct_actions(),
            max_moves=game.max_game_length(),
            key=(MAX_KEY_VALUES,) * twin.key,
            min_utility=game.min_utility(),
            max_utility=game.max_utility(),
            max_chance_outcomes=game.max_chance_outcomes(),
            max_chance_moves=game.max_chance_nodes_in_history(),
        )._replace(**twin.corrected)
        functions = {n.removeprefix("_"): f for n, f in twin.functions.items()}
        own = {**functions, **_WORDS, "sizes": lambda parameters: sizes}
        parameters = {str(k): Parameter(v) for k, v in enumerate(twin.settings)}
        description = described(name, str(game), own, parameters, game.num_players())
        total = declared_by(game).utility_sum
        super().__init__(description._replace(utility_sum=total), {})
        self.spell, self.text_size = functions["spell"], twin.text_size

    def info_state(self, player: int, key: np.ndarray) -> str:
        """Returns OpenSpiel's information-state string of an information key."""
        text = self.new_text()
        length = self.spell(self.settings, player, key, len(key), text)
        return text[:length].tobytes().decode("ascii")


_WORDS = {
    "state": lambda parameters, state: str(state.tolist()),
    "action": lambda parameters, player, action: str(action),
    "info_state": lambda parameters, player, key: str(key.tolist()),
    "observation": lambda parameters, state, player: {},
}
"""The `Words` of all twins. They appear only in messages about errors in a twin;
elsewhere users see the texts of OpenSpiel's game.
"""

Maker = Callable[..., Twin | None]
"""Type of the functions that make a twin. The arguments are the parameters of the game,
passed by name. The result is None for unsupported values.
"""
