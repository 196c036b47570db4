"""Plays of policies over a game's compiled rules, without OpenSpiel's states.

The draws are those of plays through pyspiel, in the same order: one for each move, of
chance or of a player. So the returns are the same, to the bit. What the policies of all
players say is found by hashes of 64 bits: of the player and the information key or, for
a twin, of the player and the information-state string. So it does not matter where a
policy of OpenSpiel's game has been learned.
"""

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyspiel

from mccfr_spiel.compiled.jit import jit
from mccfr_spiel.kernels.sampling import draw_action
from mccfr_spiel.policies.policy import SequencePolicy
from mccfr_spiel.rules.description import (
    CHANCE,
    SPARE,
    TERMINAL,
    BoundRules,
    rules_of,
)
from mccfr_spiel.rules.kernel import (
    ACTING,
    APPLY_ACTION,
    CHANCE_PROBS,
    INFO_KEY,
    LEGAL_ACTIONS,
    RETURNS,
    SPELL,
    call,
    callable_rules,
    row_hash,
)
from mccfr_spiel.storage.checkpoint import pack_strings
from mccfr_spiel.tree.game_tree import GameTree
from mccfr_spiel.tree.loading import same_game
from mccfr_spiel.tree.twin_trees import known_twin

_DRAWS = 1 << 16
"""Numbers drawn at a time."""

_DONE, _NO_DRAWS, _ODD = range(3)


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


class Rows(NamedTuple):
    """Layers joined.

    Attributes:
        hashes: `[I]` uint64, see `hashes_of`, ascending.
        starts, counts: `[I]` int64, where its actions begin, and how many it has.
        actions, probs: `[S]` int64 and float64.
    """

    hashes: np.ndarray
    starts: np.ndarray
    counts: np.ndarray
    actions: np.ndarray
    probs: np.ndarray


def rules_to_play(game: pyspiel.Game, twin: bool | None) -> BoundRules | None:
    """The compiled rules over which plays may go: the game's, or its twin's if the tree
    is large or the twin is wanted; None if there are none."""
    return GameTree(game, twin=twin).rules_for_walks()


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
        twin: see `rules_to_play`.

    Returns:
        None if the game has no compiled rules, a policy is no table, or something about
        a play is odd, which plays through pyspiel tell in words.
    """
    rows = rows_of(game, policies, range(len(policies)))
    rules = None if rows is None else rules_to_play(game, twin)
    if rows is None or rules is None:
        return None
    return _played(rules, rows, plays, np.random.Generator(np.random.PCG64(seed)))


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
    return Rows(
        hashes=hashes,
        starts=np.concatenate(starts)[first],
        counts=np.concatenate(counts)[first],
        actions=np.concatenate([layer.actions for layer in layers]),
        probs=np.concatenate([layer.probs for layer in layers]),
    )


def _played(
    rules: BoundRules, rows: Rows, plays: int, generator: np.random.Generator
) -> np.ndarray | None:
    """The returns of plays, `[plays, P]`; None if one is odd."""
    called = callable_rules(rules)
    sizes, players = rules.sizes, rules.num_players
    most, longest = sizes.max_children, sizes.max_moves + sizes.max_chance_moves
    results = np.zeros((plays + 1, max(players, SPARE)))[:plays]
    start = rules.start()
    state = np.zeros(sizes.state + SPARE, np.int64)[: sizes.state]
    key = np.zeros(len(sizes.key) + 1 + SPARE, np.int64)[: len(sizes.key) + 1]
    moves = np.zeros(most + SPARE, np.int64)[:most]
    probs = np.zeros(most + SPARE)[:most]
    text = rules.new_text()
    cursor, status = np.zeros(2, np.int64), _NO_DRAWS
    draws = np.zeros(0)
    # Each pass plays until fewer draws are left than the longest history takes.
    while status == _NO_DRAWS:
        left = draws[cursor[1] :]
        draws = np.concatenate([left, generator.random(max(_DRAWS, longest))])
        cursor[1] = 0
        status = _play(
            called,
            rules.settings,
            players,
            longest,
            start,
            state,
            key,
            moves,
            probs,
            text,
            rows,
            draws,
            cursor,
            results,
        )
    return None if status == _ODD else results[:, :players]


@jit
def infoset_to_ask(rules, settings, state, acting, key, text, rows):
    """The infoset among rows of the player who acts.

    Args:
        rules: of `callable_rules`.
        settings: of the game.
        state: where the player acts.
        acting: the player.
        key, text: buffers.
        rows: the policies.

    Returns:
        Its number, -1 if no policy knows it, -2 if the key is too long.
    """
    key[0] = acting
    asked = settings, state, acting, key[1:]
    size = 1 + call(rules[INFO_KEY], INFO_KEY, asked)
    if not 0 < size <= len(key):
        return np.int64(-2)
    if len(text) == 0:
        hashed = row_hash(key, size)
    else:
        text[0] = acting
        spelled = settings, acting, key[1:], size - 1, text[1:]
        hashed = row_hash(text, 1 + call(rules[SPELL], SPELL, spelled))
    number = np.int64(np.searchsorted(rows.hashes, hashed))
    if number == len(rows.hashes) or rows.hashes[number] != hashed:
        return np.int64(-1)
    return number


@jit
def is_odd(rows, number, moves, count):
    """Whether an infoset has other actions, or its probabilities do not add up to 1."""
    if rows.counts[number] != count:
        return True
    start = rows.starts[number]
    total = 0.0
    for k in range(count):
        if rows.actions[start + k] != moves[k]:
            return True
        total += rows.probs[start + k]
    return not abs(total - 1.0) < 1e-6


@jit
def _play(
    rules,
    settings,
    players,
    longest,
    start,
    state,
    key,
    moves,
    probs,
    text,
    rows,
    draws,
    cursor,
    results,
):
    """Plays until all plays are done or draws are short.

    Args:
        rules: of `callable_rules`.
        settings, players: of the game.
        longest: the moves of its longest history.
        start: the first state.
        state, key, moves, probs, text, scratch: buffers.
        rows: the policies.
        draws: numbers in [0, 1).
        cursor: `[2]` the plays done, and the draws used; changes.
        results: `[plays, P or more]`, gets the returns.

    Returns:
        _DONE, _NO_DRAWS, or _ODD if something is wrong.
    """
    while cursor[0] < len(results):
        at = cursor[1]
        if at + longest > len(draws):
            return _NO_DRAWS
        for k in range(len(start)):
            state[k] = start[k]
        length = 0
        while True:
            acting = call(rules[ACTING], ACTING, (settings, state))
            if acting == TERMINAL:
                break
            arguments = settings, state, moves
            count = call(rules[LEGAL_ACTIONS], LEGAL_ACTIONS, arguments)
            is_wrong = acting != CHANCE and (acting < 0 or acting >= players)
            if is_wrong or not 0 < count <= len(moves) or length >= longest:
                return _ODD
            number = -1
            if acting == CHANCE:
                call(rules[CHANCE_PROBS], CHANCE_PROBS, (settings, state, probs))
            else:
                number = infoset_to_ask(rules, settings, state, acting, key, text, rows)
                if number < -1:
                    return _ODD
                for k in range(count):  # what holds where no policy has met the state
                    probs[k] = 1.0 / count
            draw = draws[at + length]
            if number < 0:
                chosen = draw_action(probs, 0, count, draw)
            elif is_odd(rows, number, moves, count):
                return _ODD
            else:
                chosen = draw_action(rows.probs, rows.starts[number], count, draw)
            arguments = settings, state, moves[chosen]
            call(rules[APPLY_ACTION], APPLY_ACTION, arguments)
            length += 1
        call(rules[RETURNS], RETURNS, (settings, state, results[cursor[0]]))
        cursor[0] += 1
        cursor[1] = at + length
    return _DONE
