"""Records of arrays that walks over compiled rules read and write."""

from typing import Annotated, Any, NamedTuple

import numpy as np

from mccfr_spiel.arenas.rules.row_table import ROW, SLOT
from mccfr_spiel.kernels.frame import Entry
from mccfr_spiel.kernels.jit import inlined
from mccfr_spiel.kernels.tables import FLAG, FLOAT, INT, LONG, UNSIGNED, TreeArrays

INFOSETS, SEQUENCES, CURSOR_SIZE = range(3)
"""How many infosets and sequences have been met: the entries of `Known.counts`.
"""

KEY = np.dtype(np.uint16)
BROKEN = 100
"""A status from here on says, less this, what rules/rule_faults.py found wrong."""

LEVEL_BITS = 16
"""The number of bits on the stack that hold the child; the level is above them."""

WHO, START, MOVES, NUM_BRANCH = range(4)
"""The columns of `Path.branches`: who acts at the saved node, where its moves begin,
and how many moves led to it."""

NUM_MOVES, LEVEL, POSITION_SIZE = range(3)
"""The entries of `Path.position`: how many moves led to where the walk is, and the
level of the node that was saved last on the way there."""

LOW, HIGH, SUM, TOLERANCE, RETURNS_SIZE = range(5)
"""The entries of `GameArrays.returns`, see `state_checks.limits_of`."""

_NOTHING, _NO_TEXT, _NO_PROBS = (np.zeros(0, kind) for kind in (LONG, FLAG, FLOAT))


class GameArrays(NamedTuple):
    """The declaration of a game, and the policies of players who follow one.

    Attributes:
        settings: values of its parameters.
        key_sizes: the number of values at each place of a key.
        stops: one more than the largest action and outcome.
        returns: see RETURNS_SIZE.
        player: the one who follows no policy, -1 for nobody.
        text: room for a string.
        hashes: of the infosets with a policy, ascending.
        starts: where actions begin.
        counts: how many they are.
        actions: these actions.
        probs: their probabilities.
    """

    settings: Annotated[np.ndarray, Entry(FLOAT, "[K]")]
    key_sizes: Annotated[np.ndarray, Entry(LONG, "[K]")]
    stops: Annotated[np.ndarray, Entry(LONG, "[2]")]
    returns: Annotated[np.ndarray, Entry(FLOAT, "[RETURNS_SIZE]")]
    player: Annotated[np.ndarray, Entry(LONG, "[1]")] = np.zeros(1, LONG)
    text: Annotated[np.ndarray, Entry(FLAG, "[T]")] = _NO_TEXT
    hashes: Annotated[np.ndarray, Entry(UNSIGNED, "[I]")] = np.zeros(0, UNSIGNED)
    starts: Annotated[np.ndarray, Entry(LONG, "[I]")] = _NOTHING
    counts: Annotated[np.ndarray, Entry(LONG, "[I]")] = _NOTHING
    actions: Annotated[np.ndarray, Entry(LONG, "[S]")] = _NOTHING
    probs: Annotated[np.ndarray, Entry(FLOAT, "[S]")] = _NO_PROBS


class Known(NamedTuple):
    """The infosets met, besides their records in TreeArrays; I and S count the room.

    Attributes:
        actions: the action of each sequence.
        values: all keys, one after another.
        rows: see ROW.
        table: finds a key, see row_table.py.
        counts: see CURSOR_SIZE.
    """

    actions: Annotated[np.ndarray, Entry(LONG, "[S]")]
    values: Annotated[np.ndarray, Entry(KEY, "[V]")]
    rows: Annotated[np.ndarray, Entry(ROW, "[I + 1]")]
    table: Annotated[np.ndarray, Entry(SLOT, "[T]")]
    counts: Annotated[np.ndarray, Entry(LONG, "[2]")]


class Path(NamedTuple):
    """Where a walk is, and the nodes on the way there that have children to come.

    D is one more than the longest history, n the length of a state, A the most moves at
    a node.

    Attributes:
        state: of the node where the walk is.
        moves: the moves from there.
        last: each player's last sequence.
        key: the player, and what it knows.
        uniform: room for a policy.
        history: the moves that led there.
        position: see POSITION_SIZE.
        states: the saved states by level.
        choices: the moves from there.
        lasts: `last` there.
        branches: see NUM_BRANCH.
    """

    state: Annotated[np.ndarray, Entry(LONG, "[n]")]
    moves: Annotated[np.ndarray, Entry(LONG, "[A]")]
    last: Annotated[np.ndarray, Entry(INT, "[P]")]
    key: Annotated[np.ndarray, Entry(LONG, "[K + 1]")]
    uniform: Annotated[np.ndarray, Entry(FLOAT, "[A]")]
    history: Annotated[np.ndarray, Entry(LONG, "[D]")]
    position: Annotated[np.ndarray, Entry(LONG, "[POSITION_SIZE]")]
    states: Annotated[np.ndarray, Entry(LONG, "[D, n]")]
    choices: Annotated[np.ndarray, Entry(LONG, "[D, A]")]
    lasts: Annotated[np.ndarray, Entry(INT, "[D, P]")]
    branches: Annotated[np.ndarray, Entry(LONG, "[D, NUM_BRANCH]")]


class RuleNodes(NamedTuple):
    """The record of nodes of a walk over compiled rules, see `kernels.walk.Source`.

    Attributes:
        infosets: as in TreeArrays, with spare room.
        chance_probs: the chance distribution of the present node.
        chance_cdf: its cumulative sums.
        utilities: `[1, P]`, the returns of the present node.
        game: the declaration.
        known: the infosets met.
        path: the present state.
        rules: the addresses from `rule_calls.callable_rules`.
    """

    infosets: np.ndarray
    chance_probs: np.ndarray
    chance_cdf: np.ndarray
    utilities: np.ndarray
    game: GameArrays
    known: Known
    path: Path
    rules: Any


@inlined
def nodes_of(
    tree: TreeArrays, game: GameArrays, known: Known, path: Path, rules: Any
) -> RuleNodes:
    """Assembles the record of nodes."""
    return RuleNodes(
        infosets=tree.infosets,
        chance_probs=tree.chance_probs,
        chance_cdf=tree.chance_cdf,
        utilities=tree.utilities,
        game=game,
        known=known,
        path=path,
        rules=rules,
    )
