"""Plays of games with compiled rules, without OpenSpiel's states.

A play looks up the policy of an infoset by a 64-bit hash. In a game with compiled
rules, this is the hash of the player and the binary key of the infoset. A twin (this
package's compiled version of an OpenSpiel game) uses the hash of the player and the
information-state string. A policy can then come from OpenSpiel's game or from the twin.
"""

import copy
import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyspiel

from mccfr_spiel.arenas.infosets import identity
from mccfr_spiel.arenas.infosets.table import InfosetTable
from mccfr_spiel.arenas.rules.bound_rules import BoundRules, rules_of
from mccfr_spiel.arenas.rules.following import PLAY_LAYOUT, play
from mccfr_spiel.arenas.rules.game_description import SPARE
from mccfr_spiel.arenas.rules.row_table import row_hash
from mccfr_spiel.arenas.rules.rule_store import RuleStore
from mccfr_spiel.arenas.tree.twin_choice import compiled_rules, known_twin
from mccfr_spiel.common.budget import Budget
from mccfr_spiel.common.infoset_arrays import pack_strings
from mccfr_spiel.kernels.jit import jit
from mccfr_spiel.kernels.tables import DONE, GROW
from mccfr_spiel.policies.frozen_table import FrozenTable
from mccfr_spiel.policies.policy import SequencePolicy
from mccfr_spiel.policies.vectors import MOST_OFF

_DRAWS = 1 << 16
"""Number of random numbers that are drawn at a time."""

_NO_LIMIT = 2**60
"""Memory limit in bytes, never reached, because plays use arrays of a fixed size."""


class Layer(NamedTuple):
    """A table of action probabilities at some infosets.

    A policy may consist of several layers. At each infoset, the first layer that
    contains the infoset is used.

    Attributes:
        infosets: `[I]` of dtype INFOSET.
        hashes: `[I]` uint64 hash of each infoset, see `hashes_of`.
        actions: `[S]` action of each sequence.
        probs: `[S]` probability of each sequence's action.
    """

    infosets: np.ndarray
    hashes: np.ndarray
    actions: np.ndarray
    probs: np.ndarray


def layers_of(policy: Any, game: pyspiel.Game) -> list[Layer] | None:
    """Converts a policy to layers, in order of precedence.

    Args:
        policy: a SequencePolicy, or an object with a method `layers`.
        game: the game.

    Returns:
        The layers; None if the policy is of another kind, is for another game, has an
        abstraction, was loaded from a file, or is not a distribution at every infoset.
    """
    if not isinstance(policy, SequencePolicy):
        layers = getattr(policy, "layers", None)
        return None if layers is None else layers(game)
    tree = policy.tree
    if isinstance(tree, FrozenTable) or tree.abstraction is not None:
        return None
    if not (tree.source is game or identity.same_game(tree.source, game)):
        return None
    hashes = hashes_of(tree, policy.num_infosets)
    if hashes is None:
        return None
    infosets, probs = tree.infosets[: policy.num_infosets], policy.vector
    sums = np.add.reduceat(probs, infosets["first_sequence"])
    if not ((abs(sums - 1) < MOST_OFF).all() and (probs >= 0).all()):
        return None  # plays through pyspiel report the invalid probabilities
    return [Layer(infosets, hashes, tree.actions[: len(probs)], probs)]


def hashes_of(tree: InfosetTable, count: int) -> np.ndarray | None:
    """Returns the hashes `[count]` by which plays find the first infosets of a tree.

    They are uint64 hashes, see the module. None if the game has neither compiled rules
    nor a twin, or if the game has compiled rules but the tree does not use them.
    """
    if rules_of(tree.game) is not None:
        uses_rules = getattr(tree, "rules", None) is not None
        return tree.infosets["place"][:count] if uses_rules else None
    if known_twin(tree.game) is None:
        return None
    packed = pack_strings(itertools.islice(tree.infoset_names, count))
    players = tree.infosets["player"][:count].astype(np.uint8)
    hashes = np.zeros(count, np.uint64)
    _hash_strings(packed["text"], packed["ends"], players, hashes)
    return hashes


@jit
def _hash_strings(text, ends, players, hashes):
    """Writes a 64-bit hash of player and information-state string for each infoset.

    Args:
        text, ends: the strings, see `pack_strings`.
        players: `[I]` uint8 player of each infoset.
        hashes: `[I]` uint64, receives the hashes.
    """
    start = 0
    for infoset in range(len(ends)):
        row = np.empty(1 + ends[infoset] - start, np.uint8)
        row[0] = players[infoset]
        row[1:] = text[start : ends[infoset]]
        hashes[infoset] = row_hash(row, len(row))
        start = ends[infoset]


def returns_by_rules(
    game: pyspiel.Game,
    policies: Sequence[Any],
    plays: int,
    seed: int,
    twin: bool | None = None,
) -> np.ndarray | None:
    """Plays a game with compiled rules and returns the returns of all plays.

    Args:
        game: the game.
        policies: `[P]` policy of each player.
        plays: number of plays.
        seed: seed of numpy's PCG64.
        twin: see `compiled_rules`.

    Returns:
        `[plays, P]` the returns. None if the game or the policies do not allow such
        plays (see `rules_faced`), or if a play failed. In the latter case the caller
        plays through pyspiel, which raises an error that describes the failure.
    """
    rules = rules_faced(game, policies, -1, twin)
    if rules is None:
        return None
    store = RuleStore(rules, Budget(_NO_LIMIT))
    path, tree = store.new_path(), store.tree_of_node()
    results = np.zeros((plays + SPARE, len(policies)))[:plays]
    frame = PLAY_LAYOUT.frame_of(tree, store.game, store.known, path)
    generator = np.random.Generator(np.random.PCG64(seed))
    draws, cursor, status = np.zeros(0), np.zeros(2, np.int64), GROW
    # Each iteration of this loop appends new random numbers to the unused ones. `play`
    # then plays until fewer numbers are left than the longest history needs (GROW),
    # until all plays are done, or until a play fails.
    while status == GROW:
        more = generator.random(max(_DRAWS, len(path.history)))
        draws = np.concatenate([draws[cursor[1] :], more])
        cursor[1] = 0
        status = play(frame, store.called, draws, cursor, results)
    return results if status == DONE else None


def rules_faced(
    game: pyspiel.Game, policies: Sequence[Any], player: int, twin: bool | None
) -> BoundRules | None:
    """Returns compiled rules of a game in which all players except one follow policies.

    The moves of players with a policy are treated as chance moves.

    Args:
        game: the game.
        policies: `[P]` policy of each player.
        player: the player who follows no policy; -1 if all players follow policies.
        twin: see `compiled_rules`.

    Returns:
        The rules. None if the game has neither compiled rules nor a twin, if it is too
        small for a twin to save time, if no player follows a policy, or if a policy
        cannot be converted to layers, see `layers_of`.
    """
    parts: list[tuple[np.ndarray, ...]] = []
    first_of_layer = 0
    for other in [seat for seat in range(len(policies)) if seat != player]:
        layers = layers_of(policies[other], game)
        if layers is None:
            return None
        for infosets, hashes, actions, probs in layers:
            is_own = infosets["player"] == other
            starts = (
                infosets["first_sequence"][is_own].astype(np.int64) + first_of_layer
            )
            counts = infosets["num_actions"][is_own].astype(np.int64)
            parts.append((hashes[is_own], starts, counts, actions, probs))
            first_of_layer += len(probs)
    rules = compiled_rules(game, "walking", twin=twin) if parts else None
    if rules is None:  # for example if no player follows a policy
        return None
    hashes, starts, counts, *tables = map(np.concatenate, zip(*parts, strict=True))
    # `np.unique` returns the index of the first occurrence of each hash, so the first
    # layer with an infoset is used.
    hashes, first = np.unique(hashes, return_index=True)
    rows = hashes, starts[first], counts[first], *tables
    faced = copy.copy(rules)
    faced.faced = np.array([player]), rules.new_text(), *rows
    return faced
