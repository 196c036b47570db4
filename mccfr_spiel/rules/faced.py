"""Walks over compiled rules in which players follow policies.

The move of a player who follows a policy is a move of chance there, with the
probabilities that the policy gives. So a walk for the one player who follows none
learns a response as it learns anything else, and where all follow policies each walk
from the root to an end is a play. `Game` has what the policies say.
"""

from typing import Any

import numpy as np

from mccfr_spiel.common.arrays import CHANCE_NODE, MAX_CHILDREN, TERMINAL
from mccfr_spiel.kernels.frame import Layout
from mccfr_spiel.kernels.jit import inlined, jit
from mccfr_spiel.kernels.sampling import draw_action
from mccfr_spiel.kernels.tables import DONE, GROW, TreeArrays
from mccfr_spiel.kernels.walk import Source
from mccfr_spiel.rules import played
from mccfr_spiel.rules.kernel import OTHER_ACTIONS, SPELL, call, row_hash, sum_up

LAYOUT = Layout(TreeArrays, played.Game, played.Known, played.Path)
"""What a frame of `play` holds."""

_views = LAYOUT.viewer()


@inlined
def acting_at(tree, game, known, path, rules, node):
    """Who acts: chance for a player who follows a policy."""
    acting = played.who_acts(rules, game, path)
    follows = acting >= 0 and acting != game.player[0]
    return np.int64(CHANCE_NODE if follows else acting)


@inlined
def ask_policy(
    rules: Any,
    game: played.Game,
    path: played.Path,
    tree: TreeArrays,
    acting: int,
    count: int,
    length: int,
    hashed: int,
) -> bool:
    """Writes as chance's distribution what the policy of the player who acts says. The
    information key of that player has been written.

    It is uniform at infosets that the policy does not know. The result is False where
    the policy has other actions, or no distribution.
    """
    if length == 0:
        return False
    if len(game.text) > 0:
        game.text[0] = acting
        spelled = game.settings, acting, path.key[1:], length - 1, game.text[1:]
        hashed = row_hash(game.text, 1 + call(rules, SPELL, spelled))
    number = np.int64(np.searchsorted(game.hashes, hashed))
    is_known = number < len(game.hashes) and game.hashes[number] == hashed
    if is_known and game.counts[number] != count:
        return False
    probs, first = tree.chance_probs, game.starts[number] if is_known else 0
    for k in range(count):
        probs[k] = game.probs[first + k] if is_known else 1.0 / count
        if is_known and game.actions[first + k] != path.moves[k]:
            return False
    return sum_up(probs, count, tree.chance_cdf)


@inlined
def list_chances(
    rules: Any,
    game: played.Game,
    path: played.Path,
    tree: TreeArrays,
    known: played.Known,
    acting: int,
    free: int,
) -> tuple[Any, Any]:
    """Writes the moves of chance, or of a player who follows a policy, and their
    distribution; returns a status and how many they are."""
    status, count, length, hashed = played.look_around(
        rules, game, path, tree, known, acting, free
    )
    asks = status == DONE and acting != CHANCE_NODE
    if asks and not ask_policy(rules, game, path, tree, acting, count, length, hashed):
        status = np.int64(played.BROKEN + OTHER_ACTIONS)
    return status, count


@inlined
def arrive(tree, game, known, path, rules, node, acting, free):
    """As for any walk, unless chance acts or somebody who follows a policy."""
    mover = played.who_acts(rules, game, path)
    if mover == game.player[0]:
        return played.arrive(tree, game, known, path, rules, node, acting, free)
    status, count = list_chances(rules, game, path, tree, known, mover, free)
    first = np.int64(played.stacked(played.free_level(path)) + 1)
    return status, first, np.int64(0), count, np.int64(-1)


FACED: Source = played.PLAYED._replace(acting_at=acting_at, arrive=arrive)


@inlined
def play_one(rules, game, path, tree, known, draws, at, returns):
    """Makes one play by the draws from `at` on; returns a status and where the next
    play's begin."""
    played.go_to(tree, game, known, path, rules, played.stacked(0))
    acting = played.who_acts(rules, game, path)
    while acting != TERMINAL:
        status, count = list_chances(
            rules, game, path, tree, known, acting, MAX_CHILDREN
        )
        if status != DONE:
            return status, at
        chosen = draw_action(tree.chance_probs, 0, count, draws[at])
        played.move_on(rules, game, path, path.moves[chosen])
        at += 1
        acting = played.who_acts(rules, game, path)
    return np.int64(played.end_game(rules, game, path, returns)), at


@jit(views_only=True)
def play(frame, rules, draws, cursor, results):
    """Plays until all plays are done or draws are short.

    Args:
        frame: of LAYOUT, of a game in which all players follow policies.
        rules: of `callable_rules`.
        draws: numbers in [0, 1), one for each move.
        cursor: `[2]` the plays done, and the draws used; changes.
        results: `[plays, P]`, gets the returns.

    Returns:
        DONE, GROW if draws are short, or what is wrong.
    """
    tree, game = _views(frame, TreeArrays), _views(frame, played.Game)
    known, path = _views(frame, played.Known), _views(frame, played.Path)
    while cursor[0] < len(results):
        if cursor[1] + len(path.history) > len(draws):
            return np.int64(GROW)
        returns = results[cursor[0] :]
        status, at = play_one(rules, game, path, tree, known, draws, cursor[1], returns)
        if status != DONE:
            return status
        cursor[0] += 1
        cursor[1] = at
    return np.int64(DONE)
