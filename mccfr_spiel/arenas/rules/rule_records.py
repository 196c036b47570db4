"""Records of arrays that walks over compiled rules read and write.

| record | content | changes |
|---|---|---|
| `GameArrays` | declarations of the game, fixed policies of players | never |
| `Known` | keys and actions of the infosets found so far | when an infoset is added |
| `Path` | present state, and saved states of its ancestors | at each node |
| `RuleNodes` | views of these records, as one argument of the loops | |

Shapes: capacities of I infosets, S sequences and V key values; K elements of the
longest key; P players.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np

from mccfr_spiel.arenas.rules.row_table import ROW, SLOT
from mccfr_spiel.kernels.frame import Entry
from mccfr_spiel.kernels.jit import inlined
from mccfr_spiel.kernels.tables import FLAG, FLOAT, INT, LONG, UNSIGNED, TreeArrays

INFOSETS, SEQUENCES, CURSOR_SIZE = range(3)
"""Indices of `Known.counts`:

INFOSETS: number of infosets found so far.
SEQUENCES: number of sequences, including the empty sequence of each player.
CURSOR_SIZE: number of indices.
"""

KEY = np.dtype(np.uint16)
"""Type of the elements of stored keys."""
BROKEN = 100
"""Statuses from this value on report errors in the rules: BROKEN + a status of
rules/rule_faults.py.
"""

LEVEL_BITS = 16
"""A node number consists of a level of `Path` (high bits) and, in this number of low
bits, the index of a child; see `played.stacked`.
"""

WHO, START, MOVES, NUM_BRANCH = range(4)
"""Columns of `Path.branches`:

WHO: acting player at the saved node.
START: sequence that ends with the first action at the saved node.
MOVES: number of moves from the root to the saved node.
"""

NUM_MOVES, LEVEL, POSITION_SIZE = range(3)
"""Entries of `Path.position`:

NUM_MOVES: number of moves from the root to the present state.
LEVEL: level of the last saved node between the root and the present state.
"""

LOW, HIGH, SUM, TOLERANCE, RETURNS_SIZE = range(5)
"""Entries of `GameArrays.returns`, see `state_checks.limits_of`:

LOW: least return.
HIGH: greatest return.
SUM: sum of returns; NaN if it varies.
TOLERANCE: largest accepted deviation from the sum.
"""

_NOTHING, _NO_TEXT, _NO_PROBS = (np.zeros(0, dtype) for dtype in (LONG, FLAG, FLOAT))


class GameArrays(NamedTuple):
    """The declarations of a game, and the fixed policies of players (following.py).

    The fields from `player` on are used only if some players follow fixed policies.

    Attributes:
        settings: parameters of the game.
        key_sizes: number of possible values per element of an information key.
        stops: exclusive upper bounds of actions and of chance outcomes.
        returns: bounds on returns, see LOW.
        player: the one player without a fixed policy; -1 if all players follow
            policies.
        text: buffer for an information-state string, if `hashes` are hashes of strings;
            empty if they are hashes of information keys.
        hashes: hashes of the infosets that the policies list, in ascending order.
        starts: per listed infoset, the index of its first action in `actions`.
        counts: number of actions per listed infoset.
        actions: actions of the listed infosets.
        probs: probabilities of these actions.
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
    """Keys and actions of the infosets found so far; their records are in `TreeArrays`.

    Attributes:
        actions: last action of each sequence; -1 for empty sequences.
        values: concatenated keys, each with the player as its first element.
        rows: hash and start of each key, see ROW.
        table: hash table of the keys, see row_table.py.
        counts: see CURSOR_SIZE.
    """

    actions: Annotated[np.ndarray, Entry(LONG, "[S]")]
    values: Annotated[np.ndarray, Entry(KEY, "[V]")]
    rows: Annotated[np.ndarray, Entry(ROW, "[I + 1]")]
    table: Annotated[np.ndarray, Entry(SLOT, "[T]")]
    counts: Annotated[np.ndarray, Entry(LONG, "[2]")]


class Path(NamedTuple):
    """The present state of a walk, and saved states of nodes above it.

    A node with several children to visit is saved at a *level*: level 0 is the root,
    level 1 the first saved node below it, and so on (played.py). Shapes: D is the
    length of the longest history + 2, n the length of a state vector, and A the largest
    number of moves at a node.

    Attributes:
        state: present state.
        moves: legal actions or chance outcomes of the present state.
        last: last sequence of each player.
        key: the acting player, followed by this player's information key.
        uniform: buffer for a uniform policy.
        history: moves from the root to the present state.
        position: see NUM_MOVES.
        states: saved state per level.
        choices: moves per saved state.
        lasts: `last` per saved state.
        branches: facts about each saved state, see WHO.
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
    """The record `nodes` of the source PLAYED, see `kernels.source.Source`.

    Attributes:
        infosets: `[I]` INFOSET, records of the infosets found so far, and unused
            entries.
        chance_probs: `[A]` chance distribution of the present node.
        chance_cdf: `[A]` cumulative sums of `chance_probs`.
        utilities: `[1, P]` returns of the present node.
        game: declarations of the game.
        known: keys of the infosets found so far.
        path: present state.
        rules: addresses from `rule_calls.callable_rules`.
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
    """Returns the record `RuleNodes` that consists of the given records."""
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
