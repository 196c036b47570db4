"""Tables kept beside others, so that evaluating a policy changes no solver.

A tree that a solver has grown is never completed in place. Instead the whole tree of
its game is made once and kept for as long as the grown tree lives.
"""

import weakref
from collections.abc import Callable
from typing import TypeVar

import pyspiel

from mccfr_spiel.arenas.infosets.loading import same_game
from mccfr_spiel.arenas.infosets.table import InfosetTable

_T = TypeVar("_T", bound=InfosetTable)

_kept: weakref.WeakKeyDictionary[InfosetTable, InfosetTable] = (
    weakref.WeakKeyDictionary()
)


def kept_beside(
    grown: InfosetTable,
    source: pyspiel.Game,
    suits: Callable[[InfosetTable], bool],
    make: Callable[[], _T],
) -> InfosetTable:
    """A table of a game that suits, found with another table or made and kept with it.

    Args:
        grown: the other table; it is returned itself if it suits and is of the game.
        source: the game.
        suits: whether a table of the game is good enough.
        make: makes one.
    """
    for table in (grown, _kept.get(grown)):
        if table is not None and is_of(table, source) and suits(table):
            return table
    made = make()
    if made is not grown:  # which would otherwise live as long as itself
        _kept[grown] = made
    return made


def is_of(table: InfosetTable, game: pyspiel.Game) -> bool:
    """Whether a table is surely of a game, without an abstraction."""
    if table.abstraction is not None:
        return False
    return game is table.game or same_game(game, table.source)
