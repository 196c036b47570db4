"""Checks of lists of worlds, leaves and hands as soon as they are made.

An entry (a player's private past) in the wrong world would move payoffs to other
sequences and make all results wrong without an error message. The checks reveal this by
means of the uniform policy: the probabilities of all terminal histories must sum to 1.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from mccfr_spiel.arenas.rules.bound_rules import BoundRules
from mccfr_spiel.arenas.rules.declarations import GameError
from mccfr_spiel.arenas.rules.game_description import CHANCE, SPARE, TERMINAL
from mccfr_spiel.common.arrays import sequences_at
from mccfr_spiel.common.budget import (
    Budget,
)
from mccfr_spiel.kernels.plans import fill_plan

_TOLERANCE = 1e-9
"""Largest accepted error of a sum of returns, relative to the largest payoff."""

_PLAYS = 300
"""Number of random plays in which `class_returns` is compared with `returns`."""

_BYTES_PER_SEQUENCE = 24
"""Bytes of a policy, a plan and a gradient per sequence."""


def uniform_returns(
    gradient_of: Callable[[np.ndarray, int], np.ndarray],
    infosets: np.ndarray,
    num_sequences: int,
) -> np.ndarray:
    """Returns both players' expected returns under the uniform policy, `[2]`.

    Each is computed as the product of the player's gradient and plan.

    Args:
        gradient_of: function (plan, player) that returns a gradient `[S]`.
        infosets: `[I]` of dtype INFOSET.
        num_sequences: number of sequences.
    """
    policy, counts = np.ones(num_sequences), infosets["num_actions"]
    policy[sequences_at(infosets)] = np.repeat(1 / counts, counts)
    plan = np.ones_like(policy)
    fill_plan(infosets, policy, plan)
    return np.array([gradient_of(plan, player) @ plan for player in (0, 1)])


def paying_one(worlds: Any) -> Any:
    """Copies a list of worlds or leaves, with a return of 1 for both players at the end
    of every history."""
    return worlds._replace(returns=np.ones_like(worlds.returns))


def check_probabilities(
    gradient_of: Callable[[np.ndarray, int], np.ndarray],
    infosets: np.ndarray,
    num_sequences: int,
    budget: Budget,
    name: str,
) -> None:
    """Checks that the probabilities of all terminal histories sum to 1 under the
    uniform policy.

    The check is skipped if its three vectors do not fit the budget.

    Args:
        gradient_of: function (plan, player) that returns the gradient `[S]` of a game
            in which every history returns 1. So the expected returns are the sums of
            the probabilities.
        infosets: `[I]` of dtype INFOSET.
        num_sequences: number of sequences.
        budget: memory budget.
        name: name of the game, for the message.

    Raises:
        GameError: the probabilities have another sum.
    """
    if _BYTES_PER_SEQUENCE * num_sequences > budget.left:
        return
    total = uniform_returns(gradient_of, infosets, num_sequences)
    if not np.abs(total - 1).max() <= _TOLERANCE:
        raise GameError(
            f"The ends of {name} have the total probabilities {total.tolist()} for the "
            "two players, expected 1. Check the declared worlds with ms.check_game, or "
            "`chance`, `board` and `weights` of the public tree."
        )


def check_declared_returns(rules: BoundRules) -> None:
    """Checks `world_key`, `leaf_class` and `class_returns` in random plays of the game.

    Raises:
        GameError: `class_returns` differs from `returns`, or a key is longer than
            `Sizes.max_moves`. The message contains the history.
    """
    rng = np.random.default_rng(0)
    for _ in range(_PLAYS):
        state, history = rules.start(), []
        while (player := rules.acting(state)) != TERMINAL:
            _check_key(rules, state, history)
            if player == CHANCE:
                actions = [action for action, _ in rules.chance_outcomes(state)]
            else:
                actions = rules.legal_actions(state)
            history.append(actions[rng.integers(len(actions))])
            rules.apply_action(state, history[-1])
        _check_key(rules, state, history)
        _check_classes(rules, state, history)


def _check_key(rules: BoundRules, state: np.ndarray, history: list[int]) -> None:
    """Raises GameError if `world_key` returns a length out of range at a state."""
    limit = rules.sizes.max_moves
    key = np.zeros(limit + SPARE, np.int64)
    length = rules.description.world_key(rules.settings, state, key)
    if not 0 <= length <= limit:
        raise GameError(
            f"{rules.description.short_name}: Description.world_key returns the length "
            f"{length} after the history {history}; expected 0 to Sizes.max_moves = "
            f"{limit}. Shorten the key or raise Sizes.max_moves."
        )


def _check_classes(rules: BoundRules, state: np.ndarray, history: list[int]) -> None:
    """Raises GameError if `class_returns` and `returns` differ at a terminal state."""
    description, settings = rules.description, rules.settings
    if description.leaf_class is None:
        return
    classes = [description.leaf_class(settings, state, player) for player in (0, 1)]
    declared, returns = np.zeros(2 + SPARE), rules.returns(state)
    description.class_returns(settings, state, *classes, declared)
    error = np.abs(declared[:2] - returns).max()
    if not error <= _TOLERANCE * max(1.0, np.abs(returns).max()):
        raise GameError(
            f"{description.short_name}: Description.class_returns gives "
            f"{declared[:2].tolist()} for the classes {classes} after the history "
            f"{history}, but the game returns {returns}. Correct leaf_class or "
            "class_returns."
        )
