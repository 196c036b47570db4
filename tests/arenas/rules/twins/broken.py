"""A twin that plays another game than it should, and trees that draw as twins do."""

import pyspiel
import pytest

from mccfr_spiel.arenas.rules import compiled
from mccfr_spiel.arenas.rules.kernel import key_place
from mccfr_spiel.arenas.rules.twins import BoundTwin, twin_of
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.arenas.tree.twin_choice import known_twin


@compiled
def wrong_returns(settings, state, returns):
    returns[0] = 1.0
    returns[1] = -1.0


def broken(game: pyspiel.Game) -> BoundTwin:
    """Kuhn poker's twin, with which player 0 always wins 1."""
    twin = twin_of(game)
    assert twin is not None
    rules = twin.description.rules._replace(returns=wrong_returns)
    twin.description = twin.description._replace(rules=rules)
    return twin


# --- draws -------------------------------------------------------------------


def take_places_from_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives infosets that trees meet through pyspiel the places of walks over twins."""

    def place(tree, info_state, player, state):
        twin = known_twin(tree.game)
        if twin is None:
            return real(tree, info_state, player, state)
        vector = twin.state_after(state.history())
        return key_place(player, twin.info_key(vector, player))

    real = GameTree.place
    monkeypatch.setattr(GameTree, "place", place)
