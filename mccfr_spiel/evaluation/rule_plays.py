"""Plays over compiled rules, without OpenSpiel's states.

A play looks up policies by 64-bit hashes: of player and information key or, for a twin,
of player and information-state string. A policy can therefore come from OpenSpiel's
game or from the twin.
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
"""Random numbers drawn at a time."""

_NO_LIMIT = 2**60
"""Memory limit in bytes; plays store only what fits into fixed arrays."""


class Layer(NamedTuple):
    """A probability table for some infosets.

    Attributes:
        infosets: `[I]` of dtype INFOSET.
        hashes: `[I]` uint64 keys, see `hashes_of`.
        actions: `[S]` action of each sequence.
        probs: `[S]` probability of each sequence's action.
    """

    infosets: np.ndarray
    hashes: np.ndarray
    actions: np.ndarray
    probs: np.ndarray


def layers_of(policy: Any, game: pyspiel.Game) -> list[Layer] | None:
    """A policy as probability tables, in order of precedence.

    Returns:
        None if tables of this game do not determine the policy.
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
    """`[count]` the hashes of a tree's first infosets, by which plays find them.

    Returns:
        None if the game has neither rules nor a twin, or if the tree does not use the
        game's rules.
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
    """Hashes each player number followed by the player's string."""
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
    """`[plays, P]` the returns of plays.

    Args:
        game: the game.
        policies: `[P]` policy of each player.
        plays: number of plays.
        seed: seed of numpy's PCG64.
        twin: see `compiled_rules`.

    Returns:
        None if `rules_faced` returns None, or if a play failed. Plays through pyspiel
        then report the failure.
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
    # A pass appends new draws to the unused draws and plays until fewer are left than
    # the longest history needs. The loop ends when all plays are done or a play fails.
    while status == GROW:
        more = generator.random(max(_DRAWS, len(path.history)))
        draws = np.concatenate([draws[cursor[1] :], more])
        cursor[1] = 0
        status = play(frame, store.called, draws, cursor, results)
    return results if status == DONE else None


def rules_faced(
    game: pyspiel.Game, policies: Sequence[Any], player: int, twin: bool | None
) -> BoundRules | None:
    """Rules of the game that one player faces while the others follow policies.

    Args:
        game: the game of the policies.
        policies: `[P]` policy of each player.
        player: the player who follows no policy; -1 if all do.
        twin: see `compiled_rules`.

    Returns:
        None if the game has no compiled rules, is too small for a twin to save time, or
        a policy is not given by tables of this game.
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
    if rules is None:  # also in one-player games
        return None
    hashes, starts, counts, *tables = map(np.concatenate, zip(*parts, strict=True))
    # `np.unique` returns first indices, so earlier layers take precedence.
    hashes, first = np.unique(hashes, return_index=True)
    rows = hashes, starts[first], counts[first], *tables
    faced = copy.copy(rules)
    faced.faced = np.array([player]), rules.new_text(), *rows
    return faced
