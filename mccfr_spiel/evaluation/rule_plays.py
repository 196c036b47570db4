"""Plays of policies over a game's compiled rules, without OpenSpiel's states.

The draws are those of plays through pyspiel, in the same order: one for each move, of
chance or of a player. So the returns are the same, to the bit. What the policies of all
players say is found by hashes of 64 bits: of the player and the information key or, for
a twin, of the player and the information-state string. So it does not matter where a
policy of OpenSpiel's game has been learned.
"""

import copy
import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyspiel

from mccfr_spiel.common.arrays import NODE
from mccfr_spiel.common.checkpoint import pack_strings
from mccfr_spiel.common.limits import Budget
from mccfr_spiel.kernels.jit import jit
from mccfr_spiel.kernels.tables import DONE, GROW, TreeArrays
from mccfr_spiel.policies.policy import SequencePolicy
from mccfr_spiel.rules.description import SPARE, BoundRules, rules_of
from mccfr_spiel.rules.faced import LAYOUT, play
from mccfr_spiel.rules.kernel import row_hash
from mccfr_spiel.rules.store import RuleStore
from mccfr_spiel.tree.game_tree import GameTree
from mccfr_spiel.tree.loading import same_game
from mccfr_spiel.tree.twin_trees import known_twin

_DRAWS = 1 << 16
"""Numbers drawn at a time."""

_NO_LIMIT = 2**60


class Layer(NamedTuple):
    """What a policy says at some infosets.

    Attributes:
        infosets: `[I]` of dtype INFOSET.
        hashes: `[I]` uint64, see `hashes_of`.
        actions: `[S]` the action of each sequence.
        probs: `[S]` its probability.
    """

    infosets: np.ndarray
    hashes: np.ndarray
    actions: np.ndarray
    probs: np.ndarray


Rows = tuple[np.ndarray, ...]
"""Layers joined: `hashes`, `starts`, `counts`, `actions` and `probs` of `played.Game`.
"""


def layers_of(policy: Any, game: pyspiel.Game) -> list[Layer] | None:
    """What a policy says, the layers that go first before others; None if it cannot be
    told from tables of this game alone."""
    if not isinstance(policy, SequencePolicy):
        found = getattr(policy, "layers", None)
        return None if found is None else found(game)
    tree = policy.tree
    if not isinstance(tree, GameTree) or tree.abstraction is not None:
        return None
    if not (tree.source is game or same_game(tree.source, game)):
        return None
    hashes = hashes_of(tree, policy.num_infosets)
    if hashes is None:
        return None
    infosets, actions = tree.infosets, tree.actions
    return [
        Layer(
            infosets=infosets[: policy.num_infosets],
            hashes=hashes,
            actions=actions[: len(policy.vector)],
            probs=policy.vector,
        )
    ]


def hashes_of(tree: GameTree, count: int) -> np.ndarray | None:
    """`[count]` the hashes by which plays find the first infosets of a tree; None if
    there are none: the game has no twin, or the tree does not use the game's rules."""
    if rules_of(tree.game) is not None:
        return None if tree.rules is None else tree.infosets["place"][:count]
    if known_twin(tree.game) is None:
        return None
    packed = pack_strings(itertools.islice(tree.infoset_names, count))
    players = tree.infosets["player"][:count].astype(np.uint8)
    hashes = np.zeros(count, np.uint64)
    _hash_strings(packed["text"], packed["ends"], players, hashes)
    return hashes


@jit
def _hash_strings(text, ends, players, hashes):
    """Hashes each player with the string behind it."""
    start = 0
    for infoset in range(len(ends)):
        row = np.empty(1 + ends[infoset] - start, np.uint8)
        row[0] = players[infoset]
        row[1:] = text[start : ends[infoset]]
        hashes[infoset] = row_hash(row, len(row))
        start = ends[infoset]


def rows_of(
    game: pyspiel.Game, policies: Sequence[Any], players: Sequence[int]
) -> Rows | None:
    """What the policies of some players say; None if one is no table of this game.

    Args:
        game: to which the policies belong.
        policies: `[P]` the policy of each player.
        players: those who are asked for.
    """
    layers: list[Layer] = []
    for player in players:
        found = layers_of(policies[player], game)
        if found is None:
            return None
        layers += [_of_player(layer, player) for layer in found]
    return _joined(layers)


def returns_by_rules(
    game: pyspiel.Game,
    policies: Sequence[Any],
    plays: int,
    seed: int,
    twin: bool | None = None,
) -> np.ndarray | None:
    """`[plays, P]` the returns of plays.

    Args:
        game: which is played.
        policies: `[P]` the policy of each player.
        plays: how many.
        seed: of numpy's PCG64.
        twin: see `GameTree.rules_for_walks`.

    Returns:
        None if the game has no compiled rules, a policy is no table, or something about
        a play is odd, which plays through pyspiel tell in words.
    """
    rows = rows_of(game, policies, range(len(policies)))
    rules = None if rows is None else GameTree(game, twin=twin).rules_for_walks()
    if rows is None or rules is None:
        return None
    generator = np.random.Generator(np.random.PCG64(seed))
    return _played(rules_faced(rules, -1, rows), plays, generator)


def _of_player(layer: Layer, player: int) -> Layer:
    is_its = layer.infosets["player"] == player
    return layer._replace(infosets=layer.infosets[is_its], hashes=layer.hashes[is_its])


def _joined(layers: list[Layer]) -> Rows:
    sizes = [len(layer.probs) for layer in layers]
    offsets = np.cumsum([0, *sizes[:-1]])
    hashes = np.concatenate([layer.hashes for layer in layers])
    hashes, first = np.unique(hashes, return_index=True)  # in the first layer with it
    starts = [
        layer.infosets["first_sequence"].astype(np.int64) + offset
        for layer, offset in zip(layers, offsets, strict=True)
    ]
    counts = [layer.infosets["num_actions"].astype(np.int64) for layer in layers]
    actions = np.concatenate([layer.actions for layer in layers])
    probs = np.concatenate([layer.probs for layer in layers])
    rows = np.concatenate(starts)[first], np.concatenate(counts)[first]
    return hashes, *rows, actions, probs


def rules_faced(rules: BoundRules, player: int, rows: Rows) -> BoundRules:
    """The rules of the game that a player faces while the others follow policies.

    Args:
        rules: the game's.
        player: who follows no policy; -1 if all do.
        rows: what the policies say.
    """
    faced = copy.copy(rules)
    faced.faced = np.array([player]), rules.new_text(), *rows
    return faced


def _played(
    rules: BoundRules, plays: int, generator: np.random.Generator
) -> np.ndarray | None:
    """The returns of plays, `[plays, P]`; None if one is odd."""
    store = RuleStore(rules, Budget(_NO_LIMIT))
    path = store.new_path()
    results = np.zeros((plays + SPARE, rules.num_players))[:plays]
    tree = TreeArrays(np.zeros(0, NODE), store.infosets, **store.node_arrays())
    frame = LAYOUT.frame_of(tree, store.game, store.known, path)
    draws, cursor, status = np.zeros(0), np.zeros(2, np.int64), GROW
    # Each pass plays until fewer draws are left than the longest history takes.
    while status == GROW:
        more = generator.random(max(_DRAWS, len(path.history)))
        draws = np.concatenate([draws[cursor[1] :], more])
        cursor[1] = 0
        status = play(frame, store.called, draws, cursor, results)
    return results if status == DONE else None
