"""Walks over twins and walks over stored trees with the same draws.

A stored tree of OpenSpiel's game has its places from strings, walks over the twin have
theirs from keys. Where both are to compute the same bits, the tree takes its places
from keys, too.
"""

import pytest

from mccfr_spiel.rules.kernel import key_place
from mccfr_spiel.tree.readable import ReadableTree
from mccfr_spiel.tree.twin_trees import known_twin


def take_places_from_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives infosets that trees meet through pyspiel the places of walks over twins."""

    def place(tree, info_state, player, state):
        twin = known_twin(tree.game)
        if twin is None:
            return real(tree, info_state, player, state)
        vector = twin.state_after(state.history())
        return key_place(player, twin.info_key(vector, player))

    real = ReadableTree.place
    monkeypatch.setattr(ReadableTree, "place", place)
