"""Walks and plays over compiled rules in which some players follow fixed policies.

A player who follows a fixed policy is treated like chance: moves are drawn with the
probabilities of the policy, which are stored in `rule_records.GameArrays`. If one
player remains, walks for this player learn a response to the policies. If all players
follow policies, `play` draws histories from the root to a terminal state.
"""

from typing import Any

import numpy as np

from mccfr_spiel.arenas.rules import played
from mccfr_spiel.arenas.rules.row_table import row_hash
from mccfr_spiel.arenas.rules.rule_calls import SPELL, call
from mccfr_spiel.arenas.rules.rule_faults import OTHER_ACTIONS, sum_up
from mccfr_spiel.arenas.rules.rule_records import (
    BROKEN,
    GameArrays,
    Known,
    Path,
    RuleNodes,
    nodes_of,
)
from mccfr_spiel.arenas.rules.walks import PLAYED
from mccfr_spiel.common.arrays import CHANCE_NODE, MAX_CHILDREN, TERMINAL
from mccfr_spiel.kernels.frame import Layout
from mccfr_spiel.kernels.jit import inlined, jit
from mccfr_spiel.kernels.sampling import draw_action
from mccfr_spiel.kernels.source import Source
from mccfr_spiel.kernels.tables import DONE, GROW, TreeArrays

PLAY_LAYOUT = Layout(TreeArrays, GameArrays, Known, Path)
"""Records in the frame of `play`."""

_play_views = PLAY_LAYOUT.viewer()


@inlined
def acting_at(nodes, node):
    """Returns who acts; CHANCE_NODE if the acting player follows a fixed policy."""
    acting = played.who_acts(nodes.rules, nodes.game, nodes.path)
    follows = acting >= 0 and acting != nodes.game.player[0]
    return np.int64(CHANCE_NODE if follows else acting)


@inlined
def ask_policy(
    nodes: RuleNodes, acting: int, count: int, length: int, hashed: int
) -> bool:
    """Writes the acting player's fixed policy to `chance_probs` and `chance_cdf`.

    At infosets that the policy does not list, it is uniform.

    Args:
        nodes: the record of nodes, with the player and the information key in
            `path.key` and the legal actions in `path.moves`.
        acting: the acting player.
        count: number of legal actions.
        length: first result of `write_key` (0 for an invalid key).
        hashed: second result of `write_key`.

    Returns:
        True; False if the key is invalid, or if the policy lists other actions than the
            legal ones or is not a probability distribution.
    """
    game, path = nodes.game, nodes.path
    if length == 0:
        return False
    # A policy for a twin (compiled version of an OpenSpiel game) identifies infosets by
    # OpenSpiel's strings, so the string is hashed. Policies for other games identify
    # infosets by information keys, whose hash is `hashed`.
    if len(game.text) > 0:
        game.text[0] = acting
        spelled = game.settings, acting, path.key[1:], length - 1, game.text[1:]
        hashed = row_hash(game.text, 1 + call(nodes.rules, SPELL, spelled))
    row = np.int64(np.searchsorted(game.hashes, hashed))
    is_known = row < len(game.hashes) and game.hashes[row] == hashed
    if is_known and game.counts[row] != count:
        return False
    probs, first = nodes.chance_probs, game.starts[row] if is_known else 0
    for k in range(count):
        probs[k] = game.probs[first + k] if is_known else 1.0 / count
        if is_known and game.actions[first + k] != path.moves[k]:
            return False
    return sum_up(probs, count, nodes.chance_cdf)


@inlined
def list_chances(nodes: RuleNodes, acting: int, room: int) -> tuple[Any, Any]:
    """Lists the moves of chance, or of a player who follows a fixed policy.

    The moves are written to `path.moves`, their probabilities to `chance_probs` and
    `chance_cdf`.

    Args:
        nodes: the record of nodes.
        acting: the acting player, or CHANCE_NODE.
        room: largest number of moves that the caller can store.

    Returns:
        A status and the number of moves.
    """
    status, count, length, hashed = played.look_around(nodes, acting, room)
    asks = status == DONE and acting != CHANCE_NODE
    if asks and not ask_policy(nodes, acting, count, length, hashed):
        status = np.int64(BROKEN + OTHER_ACTIONS)
    return status, count


@inlined
def arrive(nodes, node, acting, room):
    """Does the same as `played.arrive`, but treats players with fixed policies as
    chance.

    At their nodes, the result has the acting player CHANCE_NODE and the infoset -1.
    """
    mover = played.who_acts(nodes.rules, nodes.game, nodes.path)
    if mover == nodes.game.player[0]:
        return played.arrive(nodes, node, acting, room)
    status, count = list_chances(nodes, mover, room)
    moves = played.moves_at(nodes.path, CHANCE_NODE, np.int64(-1), np.int64(0), count)
    return status, moves


FACED: Source = PLAYED._replace(acting_at=acting_at, arrive=arrive)
"""The source for walks in which all players except one follow fixed policies."""


@inlined
def play_one(nodes, draws, at, returns):
    """Draws a history from the root to a terminal state, and writes its returns.

    Args:
        nodes: the record of nodes.
        draws: numbers in [0, 1); each move uses one of them.
        at: index of the first draw to use.
        returns: array whose first row receives the returns.

    Returns:
        A status, and the index of the next unused draw.
    """
    rules, game, path = nodes.rules, nodes.game, nodes.path
    played.go_to(rules, game, path, played.stacked(0))
    acting = played.who_acts(rules, game, path)
    while acting != TERMINAL:
        status, count = list_chances(nodes, acting, MAX_CHILDREN)
        if status != DONE:
            return status, at
        chosen = draw_action(nodes.chance_probs, 0, count, draws[at])
        played.move_on(rules, game, path, path.moves[chosen])
        at += 1
        acting = played.who_acts(rules, game, path)
    return np.int64(played.end_game(rules, game, path, returns)), at


@jit(views_only=True)
def play(frame, rules, draws, cursor, results):
    """Draws histories until `results` is full or too few draws are left.

    Args:
        frame: a frame of PLAY_LAYOUT, for a game in which all players follow policies.
        rules: the addresses from `rule_calls.callable_rules`.
        draws: random numbers in [0, 1), one for each move.
        cursor: `[2]` number of finished plays, and number of used draws; updated.
        results: `[plays, P]` receives the returns of each play.

    Returns:
        DONE; GROW if more draws are needed; or BROKEN + a status of
            rules/rule_faults.py.
    """
    tree, game = _play_views(frame, TreeArrays), _play_views(frame, GameArrays)
    known, path = _play_views(frame, Known), _play_views(frame, Path)
    nodes = nodes_of(tree, game, known, path, rules)
    while cursor[0] < len(results):
        # No history has more moves than `path.history`, so with this check a play
        # always has enough draws.
        if cursor[1] + len(path.history) > len(draws):
            return np.int64(GROW)
        returns = results[cursor[0] :]
        status, at = play_one(nodes, draws, cursor[1], returns)
        if status != DONE:
            return status
        cursor[0] += 1
        cursor[1] = at
    return np.int64(DONE)
