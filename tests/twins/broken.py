"""A twin that does not play as its game does, which two test modules load."""

import pyspiel

from mccfr_spiel.rules import compiled
from mccfr_spiel.twins import TWINS
from mccfr_spiel.twins.twin import BoundTwin


@compiled
def wrong_returns(settings, state, returns):
    returns[0] = 1.0
    returns[1] = -1.0


def broken(game: pyspiel.Game) -> BoundTwin:
    """Kuhn poker's twin, with which player 0 always wins 1."""
    twin = TWINS["kuhn_poker"]({"players": 2})
    assert twin is not None
    rules = twin.description.rules._replace(returns=wrong_returns)
    return BoundTwin(
        twin._replace(description=twin.description._replace(rules=rules)), game
    )
