"""Whole trees of OpenSpiel's games, expanded by their compiled twins.

The tree is that of the game itself: its nodes, infosets, strings and numbers are those
of an expansion through pyspiel, to the bit. Only the time differs. So nothing that is
made of a tree, such as a checkpoint or a policy, knows how the tree was expanded.
"""

import statistics
import warnings
from typing import Any

import pyspiel

from mccfr_spiel.common.display import brief
from mccfr_spiel.rules.twins import TWINS, difference_to, twin_of
from mccfr_spiel.rules.twins.twin import BoundTwin
from mccfr_spiel.tree.loading import told_by_string, turn_based
from mccfr_spiel.tree.readable import ReadableTree

WORTH_EXPANDING = 100_000
"""The least nodes of a tree that a twin expands; pyspiel takes a quarter of a second
for as many. Compiling a twin takes 6 to 8 s, once on a machine. Whether that has
happened already makes no difference, so that a run does not depend on earlier ones."""

WORTH_WALKING = 500_000
"""The least nodes of a tree for which sampling solvers and plays use a twin."""

NEAR = 10
"""A tree is examined closely if this multiple of its nodes would not fit."""

_HISTORIES, _MOVES = 20, 400
"""The histories, and the moves, that are played at each load: some 10 ms."""


class TwinWarning(UserWarning):
    """A twin does not play as its game does, so it was not used."""


def usable_twin(tree: ReadableTree, least: int) -> BoundTwin | None:
    """The twin of a tree's game; None if there is none, or it differs from the game.

    They are compared by some random histories, other ones at each call. If they differ,
    a TwinWarning says how, and after which history.

    Args:
        tree: of the game.
        least: how many nodes the tree must have, about; 0 for any tree.
    """
    twin = known_twin(tree.game)
    if twin is None or (least and estimate_of(tree) < least):
        return None
    difference = difference_to(tree.game, twin, histories=_HISTORIES, moves=_MOVES)
    if difference is None:
        return twin
    warnings.warn(
        f"The compiled twin of {brief(tree.source)} is not used, since it differs from "
        f"it: {difference}. OpenSpiel's game is used, which takes longer.",
        TwinWarning,
        stacklevel=2,
    )
    return None


_estimates: dict[str, float] = {}
"""The results of `estimate_of` by game string; games with twins are known by it."""


def estimate_of(tree: ReadableTree) -> float:
    """About how many nodes a tree has, by a few random histories, always the same.

    Raises:
        ValueError: a history does not end.
    """
    name = str(tree.game)
    if name in _estimates:
        return _estimates[name]
    _estimates[name] = statistics.fmean(tree.forecast().nodes)
    return _estimates[name]


def checked_twin(twin: Any, game: pyspiel.Game) -> bool | None:
    """The argument `twin` of public functions.

    Args:
        twin: None, True or False.
        game: as it was given.

    Raises:
        ValueError: it is none of these, or it is True and the game has no twin.
    """
    if twin is None or twin is False:
        return twin
    if twin is not True:
        raise ValueError(f"twin={twin!r} is none of None, True and False.")
    if known_twin(turn_based(game)) is None:
        raise ValueError(
            f"twin=True, but {brief(game)} has no compiled twin. The games "
            f"{', '.join(TWINS)} have one for most of their parameters."
        )
    return True


def known_twin(game: pyspiel.Game) -> BoundTwin | None:
    """The twin of a game that is surely OpenSpiel's own; None if there is none.

    Args:
        game: in its turn-based form.
    """
    twin = twin_of(game)
    is_openspiels = type(game).__module__.startswith("open_spiel.python.games.")
    return twin if is_openspiels or told_by_string(game) else None
