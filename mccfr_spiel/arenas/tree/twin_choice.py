"""Decides whether to use a game's compiled twin.

A *twin* implements one of OpenSpiel's games as compiled rules, see rules/twins/. A tree
expanded by a twin is bit-identical to the tree expanded through pyspiel: nodes,
infosets, strings and numbers are equal. Only the time differs. Therefore checkpoints
and policies do not record how the tree was expanded.
"""

import math
import statistics
import warnings
from typing import Any, Literal

import pyspiel

from mccfr_spiel.arenas.infosets.identity import told_by_string
from mccfr_spiel.arenas.infosets.loading import turn_based
from mccfr_spiel.arenas.infosets.string_checks import (
    check_length,
    longest_history,
    own_string,
)
from mccfr_spiel.arenas.rules.bound_rules import BoundRules, rules_of
from mccfr_spiel.arenas.rules.state_checks import tell_history
from mccfr_spiel.arenas.rules.twins import TWINS, BoundTwin, difference_to, twin_of
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.forecasts import forecast

Use = Literal["any", "expanding", "walking"]
"""Purpose of compiled rules:

"any": a task that requires compiled rules, whatever the size of the tree.
"expanding": expansion of a whole tree, otherwise done through pyspiel.
"walking": walks of sampling solvers and simulated plays, otherwise done on a growing
tree or with pyspiel's states.
"""

LEAST_NODES: dict[Use, int] = {"any": 0, "expanding": 100_000, "walking": 500_000}
"""Minimum number of nodes of a game for which a twin saves time, by purpose.

pyspiel expands 100,000 nodes in a quarter of a second. A tree of fewer than 500,000
nodes grows through pyspiel in less time than compiling a twin takes: 6 to 8 s, once per
machine. The decision does not depend on whether the twin has been compiled before, so
that results do not depend on earlier runs.
"""

_HISTORIES, _MOVES = 20, 400
"""Maximum numbers of histories and of moves for comparing a twin with its game, which
takes about 10 ms."""


class TwinWarning(UserWarning):
    """Warns that a twin differs from its game and is not used."""


def compiled_rules(
    source: pyspiel.Game, use: Use, *, twin: bool | None = None
) -> BoundRules | None:
    """The compiled rules of a game or of its twin.

    A twin is compared with its game on random histories, which differ from call to
    call. If the states differ, a TwinWarning describes the history, and the twin is not
    used.

    Args:
        source: the game.
        use: purpose of the rules, which selects the threshold in LEAST_NODES.
        twin: False never uses a twin, True uses it for trees of any size, None applies
            the threshold.

    Returns:
        The rules; None if the game has no compiled rules itself, and it has no twin or
        the twin must not be used.
    """
    game = turn_based(source)
    rules = rules_of(game)
    if rules is not None or twin is False:
        return rules
    candidate = known_twin(game)
    is_small = not twin and LEAST_NODES[use] > 0
    if candidate is None or (is_small and estimate_of(game) < LEAST_NODES[use]):
        return None
    difference = difference_to(game, candidate, histories=_HISTORIES, moves=_MOVES)
    if difference is None:
        return candidate
    warnings.warn(
        f"The compiled twin of {brief(source)} is not used, because it differs from "
        f"the game: {difference}. OpenSpiel's game is used instead, which is slower.",
        TwinWarning,
        stacklevel=2,
    )
    return None


def known_twin(game: pyspiel.Game) -> BoundTwin | None:
    """The twin of a game.

    Args:
        game: turn-based form of the game.

    Returns:
        The twin; None if the game has no twin, or if it may be another game than the
        game of OpenSpiel with the same name.
    """
    twin = twin_of(game)
    is_openspiels = type(game).__module__.startswith("open_spiel.python.games.")
    return twin if is_openspiels or told_by_string(game) else None


def checked_twin(twin: Any, game: pyspiel.Game) -> bool | None:
    """Validates the argument `twin` of public functions and returns it.

    Args:
        twin: None, True or False.
        game: the game as the user passed it.

    Raises:
        ValueError: `twin` is another value, or it is True and the game has no twin.
    """
    if twin is None or twin is False:
        return twin
    if twin is not True:
        raise ValueError(f"twin={twin!r} must be None, True or False.")
    if known_twin(turn_based(game)) is None:
        raise ValueError(
            f"twin=True requires a compiled twin; {brief(game)} has no compiled twin. "
            f"Games with a twin: {', '.join(TWINS)}. Use twin=None instead."
        )
    return True


_estimates: dict[str, float] = {}
"""Cache of `estimate_of`. The key is the string of the game, which suffices because the
function is only called for games with a twin, and their strings determine the game."""


def estimate_of(game: pyspiel.Game) -> float:
    """Approximate number of nodes of a game, from a few random histories with a fixed
    seed.

    Raises:
        ValueError: a history is far longer than the game declares.
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
        # With an infinite limit the forecast stops after few histories.
        most_nodes=math.inf,
    )
    if sizes.endless is not None:
        check_length(game, len(sizes.endless.history()))
    _estimates[name] = statistics.fmean(sizes.nodes)
    return _estimates[name]
