"""Whether a game's compiled twin is used: one decision, with both of its thresholds.

A tree expanded by a twin equals the tree of the game itself in nodes, infosets, strings
and numbers, to the bit. Only the time differs. Therefore nothing that is made of a
tree, such as a checkpoint or a policy, records how the tree was expanded.
"""

import math
import statistics
import warnings
from typing import Any, Literal

import pyspiel

from mccfr_spiel.arenas.infosets.loading import (
    check_length,
    longest_history,
    own_string,
    told_by_string,
    turn_based,
)
from mccfr_spiel.arenas.rules.description import BoundRules, rules_of, tell_history
from mccfr_spiel.arenas.rules.twins import TWINS, BoundTwin, difference_to, twin_of
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.limits import forecast

Use = Literal["any", "expanding", "walking"]
"""What compiled rules are used for. "any": the caller has no other way than compiled
rules. "walking": sampling solvers and plays."""

LEAST_NODES: dict[Use, int] = {"any": 0, "expanding": 100_000, "walking": 500_000}
"""The least nodes of a tree for which a twin pays.

pyspiel expands 100,000 nodes in a quarter of a second, and a tree of less than 500,000
nodes grows through pyspiel in less time than compiling a twin takes: 6 to 8 s, once on
a machine. Whether a twin has been compiled already is not asked, so that a run does not
depend on earlier ones.
"""

_HISTORIES, _MOVES = 20, 400
"""The histories and the moves played to compare a twin with its game: some 10 ms."""


class TwinWarning(UserWarning):
    """A twin does not play as its game does, so it was not used."""


def compiled_rules(
    source: pyspiel.Game, use: Use, *, twin: bool | None = None
) -> BoundRules | None:
    """The compiled rules to use for a game: its own, or those of its twin.

    A twin is compared with its game by some random histories, which differ from call to
    call. If they disagree, a TwinWarning names the history, and the twin is not used.

    Args:
        source: the game.
        use: the purpose, which has a threshold.
        twin: False uses no twin; True uses it for trees of any size; None decides by
            the threshold of `use`.

    Returns:
        None if the game has no compiled rules, or its twin is not used.
    """
    game = turn_based(source)
    own = rules_of(game)
    if own is not None or twin is False:
        return own
    candidate = known_twin(game)
    is_small = not twin and LEAST_NODES[use] > 0
    if candidate is None or (is_small and estimate_of(game) < LEAST_NODES[use]):
        return None
    difference = difference_to(game, candidate, histories=_HISTORIES, moves=_MOVES)
    if difference is None:
        return candidate
    warnings.warn(
        f"The compiled twin of {brief(source)} is not used, since it differs from "
        f"it: {difference}. OpenSpiel's game is used, which takes longer.",
        TwinWarning,
        stacklevel=2,
    )
    return None


def known_twin(game: pyspiel.Game) -> BoundTwin | None:
    """The twin of a game that is surely OpenSpiel's own; None if there is none.

    Args:
        game: in its turn-based form.
    """
    twin = twin_of(game)
    is_openspiels = type(game).__module__.startswith("open_spiel.python.games.")
    return twin if is_openspiels or told_by_string(game) else None


def checked_twin(twin: Any, game: pyspiel.Game) -> bool | None:
    """Checks the argument `twin` of public functions.

    Args:
        twin: None, True or False.
        game: as it was given.

    Raises:
        ValueError: `twin` is something else, or it is True and the game has no twin.
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


_estimates: dict[str, float] = {}
"""Results of `estimate_of` by the game's string, which determines games with twins."""


def estimate_of(game: pyspiel.Game) -> float:
    """The approximate number of nodes of a game's tree, by a few random histories,
    which are the same at every call.

    Raises:
        ValueError: a history does not end.
    """
    name = str(game)
    if name in _estimates:
        return _estimates[name]
    sizes = forecast(
        game.new_initial_state,
        own_string,
        tell_history,
        longest=longest_history(game),
        per_infoset=0,
        most_nodes=math.inf,  # so that few histories are followed
    )
    if sizes.endless is not None:
        check_length(game, len(sizes.endless.history()))
    _estimates[name] = statistics.fmean(sizes.nodes)
    return _estimates[name]
