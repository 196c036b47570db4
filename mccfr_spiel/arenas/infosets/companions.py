"""Caches a second table with another one, so that evaluation changes no solver.

A tree that a solver has grown is never completed in place. Instead, a whole tree of the
same game is built once and cached for the lifetime of the grown tree.
"""

import weakref
from collections.abc import Callable
from typing import TypeVar

import pyspiel

from mccfr_spiel.arenas.infosets.identity import same_game
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
    """Finds a suitable table of a game that is cached with another table, or builds it.

    Args:
        grown: the other table; it is returned itself if it is suitable.
        source: the game.
        suits: whether a table of the game is suitable.
        make: builds a suitable table.
    """
    for table in (grown, _kept.get(grown)):
        if table is not None and is_of(table, source) and suits(table):
            return table
    made = make()
    if made is not grown:  # a table cached with itself would never be freed
        _kept[grown] = made
    return made


def is_of(table: InfosetTable, game: pyspiel.Game) -> bool:
    """Whether a table surely belongs to a game and has no abstraction."""
    if table.abstraction is not None:
        return False
    return game is table.game or same_game(game, table.source)
