"""Walks and plays over compiled rules in which players follow given policies.

A move of a player who follows a policy counts as a move of chance, with the
probabilities of the policy (`played.Game` holds them). So the walks for the one player
who follows none learn a response as they learn any strategy. Where all players follow
policies, each walk from the root to a leaf is a play.
"""

from typing import Any

import numpy as np

from mccfr_spiel.arenas.rules import played
from mccfr_spiel.arenas.rules.kernel import OTHER_ACTIONS, SPELL, call, row_hash, sum_up
from mccfr_spiel.arenas.rules.played import (
    BROKEN,
    Game,
    Known,
    Path,
    RuleNodes,
    end_game,
    go_to,
    look_around,
    move_on,
    moves_at,
    nodes_of,
    stacked,
    who_acts,
)
from mccfr_spiel.arenas.rules.walks import PLAYED
from mccfr_spiel.common.arrays import CHANCE_NODE, MAX_CHILDREN, TERMINAL
from mccfr_spiel.kernels.frame import Layout
from mccfr_spiel.kernels.jit import inlined, jit
from mccfr_spiel.kernels.sampling import draw_action
from mccfr_spiel.kernels.tables import DONE, GROW, TreeArrays
from mccfr_spiel.kernels.walk import Source

PLAY_LAYOUT = Layout(TreeArrays, Game, Known, Path)
"""The records in a frame of `play`."""

_play_views = PLAY_LAYOUT.viewer()


@inlined
def acting_at(nodes, node):
    """The acting player; CHANCE_NODE for a player who follows a policy."""
    acting = who_acts(nodes.rules, nodes.game, nodes.path)
    follows = acting >= 0 and acting != nodes.game.player[0]
    return np.int64(CHANCE_NODE if follows else acting)


@inlined
def ask_policy(
    nodes: RuleNodes, acting: int, count: int, length: int, hashed: int
) -> bool:
    """Writes the policy of the acting player as the chance distribution.

    The policy is uniform at infosets that it does not list.

    Args:
        nodes: the record of nodes; `path.key` is the player's information key.
        acting: the acting player.
        count: number of moves.
        length: length of the key.
        hashed: hash of the key.

    Returns:
        False where the policy has other actions, or is not a distribution.
    """
    game, path = nodes.game, nodes.path
    if length == 0:
        return False
    if len(game.text) > 0:
        game.text[0] = acting
        spelled = game.settings, acting, path.key[1:], length - 1, game.text[1:]
        hashed = row_hash(game.text, 1 + call(nodes.rules, SPELL, spelled))
    number = np.int64(np.searchsorted(game.hashes, hashed))
    is_known = number < len(game.hashes) and game.hashes[number] == hashed
    if is_known and game.counts[number] != count:
        return False
    probs, first = nodes.chance_probs, game.starts[number] if is_known else 0
    for k in range(count):
        probs[k] = game.probs[first + k] if is_known else 1.0 / count
        if is_known and game.actions[first + k] != path.moves[k]:
            return False
    return sum_up(probs, count, nodes.chance_cdf)


@inlined
def list_chances(nodes: RuleNodes, acting: int, room: int) -> tuple[Any, Any]:
    """Writes the moves of chance, or of a player who follows a policy, and their
    distribution; returns a status and the number of moves."""
    status, count, length, hashed = look_around(nodes, acting, room)
    asks = status == DONE and acting != CHANCE_NODE
    if asks and not ask_policy(nodes, acting, count, length, hashed):
        status = np.int64(BROKEN + OTHER_ACTIONS)
    return status, count


@inlined
def arrive(nodes, node, acting, room):
    """As `played.arrive`, where the moves of players who follow a policy are chance."""
    mover = who_acts(nodes.rules, nodes.game, nodes.path)
    if mover == nodes.game.player[0]:
        return played.arrive(nodes, node, acting, room)
    status, count = list_chances(nodes, mover, room)
    moves = moves_at(nodes.path, CHANCE_NODE, np.int64(-1), np.int64(0), count)
    return status, moves


FACED: Source = PLAYED._replace(acting_at=acting_at, arrive=arrive)


@inlined
def play_one(nodes, draws, at, returns):
    """Makes one play by the draws from `at` on; returns a status and the index of the
    next play's first draw."""
    rules, game, path = nodes.rules, nodes.game, nodes.path
    go_to(rules, game, path, stacked(0))
    acting = who_acts(rules, game, path)
    while acting != TERMINAL:
        status, count = list_chances(nodes, acting, MAX_CHILDREN)
        if status != DONE:
            return status, at
        chosen = draw_action(nodes.chance_probs, 0, count, draws[at])
        move_on(rules, game, path, path.moves[chosen])
        at += 1
        acting = who_acts(rules, game, path)
    return np.int64(end_game(rules, game, path, returns)), at


@jit(views_only=True)
def play(frame, rules, draws, cursor, results):
    """Plays until all plays are done or draws run out.

    Args:
        frame: a frame of PLAY_LAYOUT, for a game in which all players follow policies.
        rules: the addresses from `kernel.callable_rules`.
        draws: numbers in [0, 1), one for each move.
        cursor: `[2]` number of plays done, and number of draws used; changes.
        results: `[plays, P]`, receives the returns.

    Returns:
        DONE, GROW if draws run out, or a status from BROKEN on.
    """
    tree, game = _play_views(frame, TreeArrays), _play_views(frame, Game)
    known, path = _play_views(frame, Known), _play_views(frame, Path)
    nodes = nodes_of(tree, game, known, path, rules)
    while cursor[0] < len(results):
        if cursor[1] + len(path.history) > len(draws):
            return np.int64(GROW)
        returns = results[cursor[0] :]
        status, at = play_one(nodes, draws, cursor[1], returns)
        if status != DONE:
            return status
        cursor[0] += 1
        cursor[1] = at
    return np.int64(DONE)
