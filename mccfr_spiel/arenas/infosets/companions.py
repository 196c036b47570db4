"""Caches a second table of infosets for a table, so that evaluation changes no solver.

If a solver has expanded a part of a tree, evaluation must not expand the rest in place,
because that would change the numbering of infosets. Instead, a whole tree of the same
game is built once and cached for the lifetime of the solver's tree.
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
    """Returns a suitable table of a game: `grown` itself, or the table that is cached
    for `grown`, or a new table, which is then cached.

    Args:
        grown: table for which another table may be cached.
        source: the game.
        suits: function that decides whether a table of the game is suitable.
        make: function that builds a suitable table.
    """
    for table in (grown, _kept.get(grown)):
        if table is not None and is_of(table, source) and suits(table):
            return table
    made = make()
    if made is not grown:  # an entry that refers to its own key would never be freed
        _kept[grown] = made
    return made


def is_of(table: InfosetTable, game: pyspiel.Game) -> bool:
    """Whether a table surely belongs to a game (see `same_game`) and has no
    abstraction."""
    if table.abstraction is not None:
        return False
    return game is table.game or same_game(game, table.source)
