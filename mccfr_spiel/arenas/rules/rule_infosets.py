"""Information sets of compiled rules: lookup by key, and insertion.

Errors in the rules are detected before an infoset is added, so a walk can stop at the
state where the error occurs.
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
    """Writes the acting player, followed by the information key, to `path.key`.

    The function also prefetches the key's slot of the hash table, so that the slot
    arrives from memory while the caller lists the moves.

    Args:
        rules: addresses from `callable_rules`.
        game: declarations of the game.
        path: present state; `key` is overwritten.
        known: keys of the infosets found so far.
        acting: acting player.

    Returns:
        The number of elements written (the player included), and their `row_hash`. If
            `info_key` returns an invalid length, 0 and an arbitrary hash.
    """
    key = path.key
    key[0] = acting
    # Keys of different players must differ, so the player is part of the key.
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
    """Returns whether the arrays have room for additional infosets.

    Args:
        infosets: `[I]` records of infosets, with unused entries.
        known: keys and actions of the infosets found so far.
        more: number of additional infosets.
        sequences: number of their sequences.
        values: number of their key values.
    """
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
        path: present state, with `key` and `moves` written.
        infosets: `[I]` records of the infosets found so far, with unused entries.
        known: keys and actions of the infosets found so far.
        acting: acting player.
        count: number of legal actions.
        length: first result of `write_key`.
        hashed: second result of `write_key`.

    Returns:
        A status and the number of the infoset (-1 unless the status is DONE). The
            status is DONE; GROW if the infoset is new and the arrays are full; or
            BROKEN + a status of rules/rule_faults.py if the rules contain an error.
    """
    key = path.key
    if length == 0:
        return BROKEN + rule_faults.BAD_KEY, -1
    infoset = find_key(known.values, known.rows, known.table, hashed, key, length)
    parent = path.last[acting]
    # The key and actions of a known infoset were checked when it was added. It remains
    # to compare the actions and the parent sequence with those of the present state.
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
    lookup: int,
    parent: int,
    moves: np.ndarray,
) -> None:
    """Adds an infoset; the caller must have checked the room by `has_room_for`.

    Args:
        infosets: `[I]` records of the infosets found so far; changes.
        known: keys and actions of the infosets found so far; changes.
        key: the player, followed by the information key.
        length: number of elements of `key`, the player included.
        hashed: `row_hash` of the key.
        lookup: negative result of `find_key` for the key.
        parent: last sequence of the player.
        moves: legal actions.
    """
    new, sequence = known.counts[INFOSETS], known.counts[SEQUENCES]
    first = known.rows[new]["start"]
    for k in range(length):
        known.values[first + k] = key[k]
    known.rows[new + 1]["start"] = first + length
    known.rows[new]["hash"] = hashed
    enter_key(known.table, lookup, hashed, new)
    infosets[new]["place"] = hashed
    infosets[new]["first_sequence"] = sequence
    infosets[new]["parent"] = parent
    infosets[new]["num_actions"] = len(moves)
    infosets[new]["player"] = key[0]
    for k in range(len(moves)):
        known.actions[sequence + k] = moves[k]
    known.counts[INFOSETS] = new + 1
    known.counts[SEQUENCES] = sequence + len(moves)
