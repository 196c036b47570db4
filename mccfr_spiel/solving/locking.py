"""Policies that stay what they are at some infosets, while the others are solved."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mccfr_spiel.algorithms import Algorithm
from mccfr_spiel.tree.game_tree import GameTree

Locks = Mapping[str, Mapping[int, float] | Sequence[float]]
"""For information-state strings the probabilities of legal actions: in their order, or
by OpenSpiel's actions, of which those left out have 0."""

_SUM = 1e-6


def _check_can_lock(algorithm: Algorithm, tree: GameTree) -> None:
    """Raises ValueError unless solvers can keep a policy at an infoset."""
    sampling, minimizer = algorithm.sampling, algorithm.minimizer
    is_plain = not (sampling.is_sampled or sampling.prune or sampling.prunes_by_regret)
    if not is_plain or "ahead" in minimizer.tables or tree.abstraction is not None:
        raise ValueError(
            "locked= is for algorithms that sample and prune nothing and do not look "
            f"ahead, without an abstraction, and not for {algorithm} here; use ms.CFR, "
            "ms.CFR_PLUS or ms.DCFR."
        )


def locked_rows(
    tree: GameTree, algorithm: Algorithm, locked: Locks
) -> tuple[np.ndarray, np.ndarray]:
    """`[L]` the infosets of a whole tree that are locked, and `[S]` a vector with their
    probabilities.

    Raises:
        ValueError: the algorithm cannot keep a policy.
        ValueError: an information state is not the game's, or of both players; or what
            is given is no distribution over its legal actions.
    """
    _check_can_lock(algorithm, tree)
    infosets, vector = [], np.ones(tree.num_sequences)
    for info_state, given in locked.items():
        found = [tree.find(info_state, player) for player in range(tree.num_players)]
        found = [infoset for infoset in found if infoset >= 0]
        if len(found) != 1:
            who = "no player has" if not found else "several players have"
            raise ValueError(
                f"locked: {who} the information state {info_state!r} in {tree.source}."
            )
        _, start, _, count, _ = tree.infosets[found[0]].item()
        actions = tree.actions[start : start + count].tolist()
        vector[start : start + count] = _row(info_state, given, actions)
        infosets.append(found[0])
    return np.array(infosets, np.int64), vector


def _row(info_state: str, given: Any, actions: list[int]) -> np.ndarray:
    """The probabilities of the actions, which sum to 1 to all digits."""
    if isinstance(given, Mapping):
        if given.keys() - {*actions}:
            raise ValueError(
                f"locked: {info_state!r} has the actions {actions}, and not "
                f"{sorted(given.keys() - {*actions})}."
            )
        given = [given.get(action, 0.0) for action in actions]
    row = np.array(given, np.float64)
    if row.shape != (len(actions),) or not (row >= 0).all():
        raise ValueError(
            f"locked: {given} are not the probabilities of the {len(actions)} actions "
            f"{actions} of {info_state!r}."
        )
    if not abs(row.sum() - 1) <= _SUM:
        raise ValueError(
            f"locked: the probabilities {given} of {info_state!r} sum to "
            f"{row.sum():.9g}, not to 1."
        )
    return row / row.sum()
