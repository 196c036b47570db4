"""How good a policy is, from the arrays; equal to OpenSpiel's routines to 1e-12."""

from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.full_pass import full_pass, inner
from mccfr_spiel.game_tree import GameTree, load_game
from mccfr_spiel.policy import SequencePolicy, complete_tree, policy_vector

Game = pyspiel.Game | str | GameTree


def _tree_for(game: Game, policy: Any) -> GameTree:
    """The whole tree of the game: the policy's own, completed, if it has one."""
    if isinstance(policy, SequencePolicy) and isinstance(policy.tree, GameTree):
        tree = policy.tree
        named = not isinstance(game, GameTree) and tree.abstraction is None
        if named and load_game(game) in (tree.source, tree.game):
            return complete_tree(tree)
    return complete_tree(game)


def expected_returns(game: Game, policy: Any) -> np.ndarray:
    """`[P]` what each player gets when all follow the policy.

    Args:
        game: a game, its load string, or its tree (built once for many calls).
        policy: as in `policy_vector`.

    Raises:
        ValueError: see `GameTree` and `policy_vector`.
    """
    tree = _tree_for(game, policy)
    passes = full_pass(tree)
    plan = passes.plan(policy_vector(tree, policy))
    return np.array(
        [
            inner(passes.gradient(plan, player), plan)
            for player in range(tree.num_players)
        ]
    )


def nash_conv(game: Game, policy: Any) -> float:
    """The sum over players of what each would gain by a best response.

    In a two-player zero-sum game this is the saddle-point gap, twice `exploitability`.
    Arguments and errors as in `expected_returns`.
    """
    tree = _tree_for(game, policy)
    return full_pass(tree).nash_conv(policy_vector(tree, policy))


def exploitability(game: Game, policy: Any) -> float:
    """NashConv / 2, in two-player constant-sum games only.

    Arguments and errors as in `expected_returns`, and:

    Raises:
        ValueError: the game is not a two-player constant-sum game.
    """
    tree = _tree_for(game, policy)
    if not is_two_player_constant_sum(tree.game):
        raise ValueError(
            f"{tree.source} is not a two-player constant-sum game, for which alone "
            "exploitability is defined; use nash_conv."
        )
    return nash_conv(tree, policy_vector(tree, policy)) / 2


def is_two_player_constant_sum(game: pyspiel.Game) -> bool:
    """Whether exploitability is defined for the game."""
    utility = game.get_type().utility
    return game.num_players() == 2 and utility in (
        pyspiel.GameType.Utility.ZERO_SUM,
        pyspiel.GameType.Utility.CONSTANT_SUM,
    )


def best_response_policy(game: Game, policy: Any, player: int) -> SequencePolicy:
    """The policy with `player`'s part replaced by a best response to the others.

    Arguments and errors as in `expected_returns`, and:

    Raises:
        ValueError: there is no such player.
    """
    tree = _tree_for(game, policy)
    if not 0 <= player < tree.num_players:
        raise ValueError(f"player={player} is not in 0 .. {tree.num_players - 1}.")
    passes = full_pass(tree)
    vector = policy_vector(tree, policy).copy()
    gradient = passes.gradient(passes.plan(vector), player)
    response = passes.best_response(gradient, player)
    members = passes.members(player)
    for start, count in tree.infosets[members][["first_sequence", "num_actions"]]:
        vector[start : start + count] = 0
    vector[response.choice[members]] = 1
    return SequencePolicy(tree, vector)
