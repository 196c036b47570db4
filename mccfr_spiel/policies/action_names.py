"""What a game calls its actions, as OpenSpiel's `action_to_string` has it.

A name may depend on the state, of which a tree keeps only how to get there. So a state
of each infoset is replayed from the root. Compiled rules name an action without one.
"""

import re
from collections.abc import Sequence

import numpy as np
import pyspiel

from mccfr_spiel.arrays import CHANCE_NODE
from mccfr_spiel.rules.description import rules_of
from mccfr_spiel.tree.levels import Levels

_NO_NAME = re.compile(r"Action\(id=\d+, player=-?\d+\)")
"""How OpenSpiel's base class calls the actions of games that do not name them without
a state."""


class Replay:
    """Makes the states of a tree's nodes, best asked for in depth-first order.

    It keeps the states on the way to the last node only, so that the next one, which is
    mostly near, takes few moves.
    """

    def __init__(
        self,
        game: pyspiel.Game,
        nodes: np.ndarray,
        actions: np.ndarray,
        levels: Levels,
    ) -> None:
        """Keeps what tells the moves.

        Args:
            game: the turn-based game that the tree is of.
            nodes: `[N]` of dtype NODE.
            actions: `[S]` OpenSpiel's action of each sequence.
            levels: of the nodes.
        """
        self._nodes, self._actions, self._levels = nodes, actions, levels
        self._path = [(0, game.new_initial_state())]

    def state(self, node: int) -> pyspiel.State:
        """The state of a node, which must not be changed."""
        way = []
        at = node
        while at >= 0:
            way.append(at)
            at = int(self._levels.parents[at])
        way.reverse()
        known = 0
        for (kept, _), wanted in zip(self._path, way, strict=False):
            if kept != wanted:
                break
            known += 1
        del self._path[known:]
        for below in way[known:]:
            above, state = self._path[-1]
            self._path.append((below, state.child(self._move(above, below, state))))
        return self._path[-1][1]

    def _move(self, above: int, below: int, state: pyspiel.State) -> int:
        child = int(self._levels.moves[below])
        record = self._nodes[above]
        if record["player"] == CHANCE_NODE:
            return state.chance_outcomes()[child][0]
        return int(self._actions[record["start"] + child])


def names_at(state: pyspiel.State, player: int, actions: Sequence[int]) -> list[str]:
    """The names of a player's actions, or of chance's outcomes, at a state.

    Raises:
        ValueError: a name is no text, or has a lone surrogate.
    """
    try:
        return [state.action_to_string(player, action) for action in actions]
    except RuntimeError as error:  # pybind11's, which does not say what it was given
        raise ValueError(
            f"{state.get_game()} names one of the actions {list(actions)} of player "
            f"{player} by what is no text in UTF-8, such as a lone surrogate: {error}"
        ) from error


def names_without_state(
    game: pyspiel.Game, player: int, actions: Sequence[int]
) -> list[str] | None:
    """The names of a player's actions by compiled rules; None for all other games."""
    rules = rules_of(game)
    if rules is None:
        return None
    words = rules.description.words
    return [words.action(rules.parameters, player, action) for action in actions]


def plain_names(game: pyspiel.Game, player: int, actions: Sequence[int]) -> list[str]:
    """The names that the game gives its actions whatever the state, else numbers."""
    return [_plain_name(game, player, action) for action in actions]


def _plain_name(game: pyspiel.Game, player: int, action: int) -> str:
    try:
        name = game.action_to_string(player, action)
    except Exception:  # games raise what they like
        return str(action)
    return str(action) if _NO_NAME.fullmatch(name) else name
