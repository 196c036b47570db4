"""Checks lists of worlds, leaves and hands when they are made.

A misfiled entry shifts payoffs between sequences, and every later number is wrong
without an error. The returns of the uniform policy reveal it: they must add up.
"""

import numpy as np

from mccfr_spiel.arenas.rules.description import (
    CHANCE,
    SPARE,
    TERMINAL,
    BoundRules,
    GameError,
)
from mccfr_spiel.arenas.worlds.passes import (
    Hands,
    Leaves,
    Worlds,
    add_gradient,
    add_hand_gradient,
    add_leaf_gradient,
)
from mccfr_spiel.common.arrays import sequences_at
from mccfr_spiel.common.limits import Budget
from mccfr_spiel.kernels.passes import fill_plan

_TOLERANCE = 1e-9
"""Largest accepted error of a sum of returns, relative to the largest payoff."""

_PLAYS = 300
"""Random plays in which declared returns are compared with the game's own."""

_BYTES_PER_SEQUENCE = 24
"""A policy, a plan and a gradient."""


def uniform_returns(
    worlds: Worlds | Leaves | Hands, infosets: np.ndarray, num_sequences: int
) -> np.ndarray:
    """`[2]` expected returns of the uniform policy, from one gradient per player."""
    policy, counts = np.ones(num_sequences), infosets["num_actions"]
    policy[sequences_at(infosets)] = np.repeat(1 / counts, counts)
    plan, returns = np.ones_like(policy), np.empty(2)
    fill_plan(infosets, policy, plan)
    for player in (0, 1):
        gradient = np.zeros_like(plan)
        if isinstance(worlds, Hands):
            for piece in range(worlds.num_blocks):
                number = player * worlds.num_blocks + piece
                add_hand_gradient(worlds, number, plan, gradient)
        elif isinstance(worlds, Leaves):
            add_leaf_gradient(worlds, player, plan, gradient)
        else:
            add_gradient(worlds, player, plan, gradient)
        returns[player] = gradient @ plan
    return returns


def check_probabilities(
    worlds: Worlds | Leaves | Hands,
    infosets: np.ndarray,
    num_sequences: int,
    budget: Budget,
    name: str,
) -> None:
    """Raises GameError unless the probabilities of all ends add up to 1.

    Every end pays 1 in this check, so it covers games of any sum. It is skipped if its
    three vectors do not fit the budget.
    """
    if _BYTES_PER_SEQUENCE * num_sequences > budget.left:
        return
    if isinstance(worlds, Hands):
        pays = worlds.pays * (0.0, 0.0, 0.0, 1.0) + (1.0, 0.0, 0.0, 0.0)
        paid = worlds._replace(pays=pays)
    else:
        paid = worlds._replace(returns=np.ones_like(worlds.returns))
    total = uniform_returns(paid, infosets, num_sequences)
    if not np.abs(total - 1).max() <= _TOLERANCE:
        raise GameError(
            f"The ends of {name} have the total probabilities {total.tolist()} for the "
            "two players, expected 1. Check the declared worlds with ms.check_game, or "
            "`chance`, `board` and `weights` of the public tree."
        )


def check_declared_returns(rules: BoundRules) -> None:
    """Compares declared classes with the returns of random plays, and key lengths.

    Raises:
        GameError: `class_returns` differs from `returns`, or a key is longer than
            `Sizes.max_moves`; the message has the history.
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
    most = rules.sizes.max_moves
    key = np.zeros(most + SPARE, np.int64)
    length = rules.description.world_key(rules.settings, state, key)
    if not 0 <= length <= most:
        raise GameError(
            f"{rules.description.short_name}: Description.world_key returns the length "
            f"{length} after the history {history}; expected 0 to Sizes.max_moves = "
            f"{most}. Shorten the key or raise Sizes.max_moves."
        )


def _check_classes(rules: BoundRules, state: np.ndarray, history: list[int]) -> None:
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
