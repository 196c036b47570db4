"""Compiled twins of OpenSpiel's own games; see docs/large_games.md."""

from mccfr_spiel.twins.catalog import TWINS, difference_to, twin_of
from mccfr_spiel.twins.twin import BoundTwin, Twin, make_twin

__all__ = ["TWINS", "BoundTwin", "Twin", "difference_to", "make_twin", "twin_of"]
