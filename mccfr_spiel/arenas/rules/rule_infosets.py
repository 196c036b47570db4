"""Information sets of compiled rules: lookup by key, and insertion.

Faults of the rules are detected before anything is written, so a walk can stop at the
faulty state.
"""

from typing import Any

import numpy as np

from mccfr_spiel.arenas.rules import rule_faults
from mccfr_spiel.arenas.rules.row_table import (
    MOST_USED,
    ask_for_slot,
    enter_key,
    find_key,
    row_hash,
)
from mccfr_spiel.arenas.rules.rule_calls import INFO_KEY, call
from mccfr_spiel.arenas.rules.rule_records import (
    BROKEN,
    INFOSETS,
    SEQUENCES,
    GameArrays,
    Known,
    Path,
)
from mccfr_spiel.kernels.jit import inlined
from mccfr_spiel.kernels.randomness import ROOT_PLACE
from mccfr_spiel.kernels.tables import DONE, GROW


@inlined
def write_key(
    rules: Any, game: GameArrays, path: Path, known: Known, acting: int
) -> tuple[Any, Any]:
    """Writes the acting player and the information key to `path.key`.

    Prefetches the slot of the hash table, which arrives from memory while the caller
    lists the moves.

    Args:
        rules: addresses from `callable_rules`.
        game: declarations of the game.
        path: present state; `key` is overwritten.
        known: infosets met.
        acting: acting player.

    Returns:
        The number of entries written (0 if the key is too long or has a negative
        length), and their `row_hash`.
    """
    key = path.key
    key[0] = acting
    arguments = game.settings, path.state, acting, key[1:]
    length = 1 + call(rules, INFO_KEY, arguments)
    if length < 1 or length > len(game.key_sizes) + 1:
        return np.int64(0), ROOT_PLACE
    hashed = row_hash(key, length)
    ask_for_slot(known.table, hashed)
    return length, hashed


@inlined
def has_room_for(
    infosets: np.ndarray, known: Known, more: int, sequences: int, values: int
) -> Any:
    """Whether `more` infosets with so many sequences and key values fit the arrays."""
    before = known.counts[INFOSETS]
    after = before + more
    return (
        after <= len(infosets)
        and after < len(known.rows)
        and after <= MOST_USED * len(known.table)
        and known.counts[SEQUENCES] + sequences <= len(known.actions)
        and known.rows[before]["start"] + values <= len(known.values)
    )


@inlined
def find_infoset(
    game: GameArrays,
    path: Path,
    infosets: np.ndarray,
    known: Known,
    acting: int,
    count: int,
    length: int,
    hashed: int,
) -> tuple[int, int]:
    """Finds the infoset of a decision, or adds it.

    Args:
        game: declarations of the game.
        path: present state, with its key and moves.
        infosets: `[I]` records of the infosets met.
        known: keys of the infosets met.
        acting: acting player.
        count: number of legal actions.
        length: first result of `write_key`.
        hashed: second result of `write_key`.

    Returns:
        A status and the number of the infoset. The status is DONE, GROW if a new
        infoset does not fit, or BROKEN + the fault of the rules; the number is -1
        unless it is DONE.
    """
    key = path.key
    if length == 0:
        return BROKEN + rule_faults.BAD_KEY, -1
    infoset = find_key(known.values, known.rows, known.table, hashed, key, length)
    parent = path.last[acting]
    if infoset >= 0:
        status = rule_faults.check_infoset(
            infosets, known.actions, infoset, parent, path.moves, count
        )
        return (DONE, infoset) if status == DONE else (BROKEN + status, -1)
    if not rule_faults.ascends(path.moves, count, game.stops[0]):
        return BROKEN + rule_faults.BAD_ACTIONS, -1
    if not rule_faults.fits(key, game.key_sizes, length):
        return BROKEN + rule_faults.BAD_KEY, -1
    if not has_room_for(infosets, known, 1, count, length):
        return GROW, -1
    new, moves = known.counts[INFOSETS], path.moves[:count]
    add_infoset(infosets, known, key, length, hashed, infoset, parent, moves)
    return DONE, new


@inlined
def add_infoset(
    infosets: np.ndarray,
    known: Known,
    key: np.ndarray,
    length: int,
    hashed: int,
    found: int,
    parent: int,
    moves: np.ndarray,
) -> None:
    """Adds an infoset; `has_room_for` must be true.

    Args:
        infosets: `[I]` records of the infosets met; changes.
        known: keys of the infosets met; changes.
        key: the player, then the information key.
        length: number of entries of `key`.
        hashed: `row_hash` of the key.
        found: result of `find_key` for the key.
        parent: last sequence of the player.
        moves: legal actions.
    """
    new, sequence = known.counts[INFOSETS], known.counts[SEQUENCES]
    first = known.rows[new]["start"]
    for k in range(length):
        known.values[first + k] = key[k]
    known.rows[new + 1]["start"] = first + length
    known.rows[new]["hash"] = hashed
    enter_key(known.table, found, hashed, new)
    infosets[new]["place"] = hashed
    infosets[new]["first_sequence"] = sequence
    infosets[new]["parent"] = parent
    infosets[new]["num_actions"] = len(moves)
    infosets[new]["player"] = key[0]
    for k in range(len(moves)):
        known.actions[sequence + k] = moves[k]
    known.counts[INFOSETS] = new + 1
    known.counts[SEQUENCES] = sequence + len(moves)
