"""Reads any policy, OpenSpiel's or a file's, as a vector over sequences."""

import inspect
import itertools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from mccfr_spiel.arenas.infosets.loading import same_name
from mccfr_spiel.arenas.infosets.table import InfosetTable
from mccfr_spiel.common import refusals
from mccfr_spiel.common.display import brief
from mccfr_spiel.policies.names import checked_vector, sequences_of
from mccfr_spiel.policies.policy import (
    Answers,
    SequencePolicy,
    check_one_for_each,
    is_one_for_each,
    policy_of,
    row_in,
)
from mccfr_spiel.policies.table import moved, without_turn


def policy_vector(tree: InfosetTable, policy: Any) -> np.ndarray:
    """`[S]` any policy as a vector over the sequences of a complete tree.

    Args:
        tree: a complete tree.
        policy: a vector `[S]`, a SequencePolicy, an OpenSpiel policy (Python's or
            pyspiel's), or a dictionary information-state string -> action ->
            probability, such as json.load makes of a `policy.json`; or a function, see
            `_asked_in_batches`. Or a list `[P]` of these, one for each player, which
            are asked at that player's states only.

    Raises:
        ValueError: the policy was made for another game, or it lacks a state or gives
            no distribution there; or a list has too many or too few.
    """
    policy = policy_of(policy)
    if not is_one_for_each(policy):
        return _vector(tree, policy, None)
    check_one_for_each(policy, tree.source)
    vector = np.ones(tree.num_sequences)
    for player, one in enumerate(policy):
        mine = sequences_of(tree, player)
        vector[mine] = _vector(tree, one, player)[mine]
    return vector


def _vector(tree: InfosetTable, policy: Any, player: int | None) -> np.ndarray:
    """`[S]` one policy as a vector, see `policy_vector`.

    If a player is given, a policy that has to be asked is asked at that player's states
    only, and the vector is uniform at all others.
    """
    policy = policy_of(policy)
    if isinstance(policy, np.ndarray):
        return checked_vector(tree, policy)
    if isinstance(policy, dict):
        policy = Answers(policy, tree.source).policy
    if isinstance(policy, SequencePolicy):
        if not same_name(policy.turn_based_game, tree.game):
            raise ValueError(
                f"This is a policy for {brief(policy.game)}, not for "
                f"{brief(tree.source)}."
            )
        if policy.tree is tree and len(policy.vector) == tree.num_sequences:
            return policy.vector
        if policy.tree.abstraction is None:
            known = policy.tree, policy.num_infosets
            return checked_vector(tree, moved(tree, *known, policy.vector))
    elif not isinstance(policy, dict | openspiel_policy.Policy | pyspiel.Policy):
        if not callable(policy):
            solved = hasattr(policy, "average_policy")
            hint = " Give its average_policy()." if solved else ""
            raise ValueError(f"{policy!r} is not a policy.{hint}")
        return checked_vector(tree, _asked_in_batches(tree, policy, player))
    vector = np.ones(tree.num_sequences)
    actions, table = tree.actions.tolist(), _table_of(policy)
    seen: Iterable[Any] = tree.infoset_names
    if table is None:
        seen = tree.states(range(tree.num_infosets))
    is_simultaneous = tree.source is not tree.game
    for where, infoset in zip(seen, tree.infosets, strict=True):
        _, start, _, count, acting = infoset.item()
        if player not in (None, acting):
            vector[start : start + count] = 1 / count
            continue
        if table is None:
            found = Answers(policy).action_probabilities(where)
        else:
            names = [where, without_turn(where)] if is_simultaneous else [where]
            found = row_in(table, names, acting)
        legal = actions[start : start + count]
        try:
            for s, action in enumerate(legal, start):
                vector[s] = found.get(action, 0.0)
            extra = [action for action in found.keys() - {*legal} if found[action] != 0]
        except (AttributeError, TypeError, ValueError, OverflowError) as error:
            raise ValueError(
                f"The policy has {found!r} at {where}, and not action -> probability."
            ) from error
        if extra:
            raise ValueError(
                f"The policy has the actions {sorted(found)} at {where}, but the legal "
                f"actions are {legal}. Remove {sorted(extra)}."
            )
    return checked_vector(tree, vector)


def _asked_in_batches(
    tree: InfosetTable, function: Callable[..., Any], player: int | None
) -> np.ndarray:
    """`[S]` the policy of a function that answers for B infosets at a time.

    Args:
        tree: with A different actions.
        function: `function(tensors, legal, strings)` returns `[B, A]` probabilities;
            those of illegal actions are not looked at. It gets `[B, D]` float32, the
            information-state tensors (D is 0 if the game has none); `[B, A]` bool, the
            legal actions; and a list of B information-state strings. If its signature
            has three names, those that begin with an underscore get None, which saves
            the time of making them: most of it goes into tensors.
        player: whose infosets it is asked for; None for all. Elsewhere the vector is
            uniform.

    Raises:
        ValueError: the function takes other arguments, or its answer has another shape.
    """
    signature = inspect.signature(function)
    try:
        signature.bind("tensors", "legal", "strings")
    except TypeError as error:
        raise ValueError(
            f"{function!r} is not a function of (tensors, legal, strings): {error}. "
            "OpenSpiel's tabular_policy_from_callable takes one of a state."
        ) from error
    names = list(signature.parameters)
    wanted = (
        [not one.startswith("_") for one in names] if len(names) == 3 else [True] * 3
    )
    states: Iterable[Any] = tree.states(range(tree.num_infosets)) if wanted[0] else ()
    states, strings = iter(states), iter(tree.infoset_names if wanted[2] else ())
    vector, num_actions = np.ones(tree.num_sequences), tree.game.num_distinct_actions()
    for first in range(0, tree.num_infosets, _ASKED):
        infosets = tree.infosets[first : first + _ASKED]
        size, start = len(infosets), infosets["first_sequence"][0]
        rows = np.repeat(np.arange(size), infosets["num_actions"])
        legal = np.zeros((size, num_actions), bool)
        legal[rows, tree.actions[start : start + len(rows)]] = True
        is_asked = (infosets["player"] == player) | (player is None)
        asked = itertools.compress(itertools.islice(states, size), is_asked)
        texts = itertools.compress(itertools.islice(strings, size), is_asked)
        told = _tensors(tree.game, asked), legal[is_asked], list(texts)
        table = legal / infosets["num_actions"][:, None]
        if is_asked.any():
            pairs = zip(told, wanted, strict=True)
            answer = function(*(one if wants else None for one, wants in pairs))
            table[is_asked] = _checked_answer(function, answer, told[1])
        vector[start : start + len(rows)] = table[legal]
    return vector


def _tensors(game: pyspiel.Game, states: Iterable[pyspiel.State]) -> np.ndarray:
    """`[B, D]` the information-state tensors of the players who act."""
    if not game.get_type().provides_information_state_tensor:
        return np.zeros((len(list(states)), 0), np.float32)
    size = game.information_state_tensor_size()
    rows = [np.array(one.information_state_tensor(), np.float32) for one in states]
    return np.array(rows, np.float32).reshape(-1, size)


def _checked_answer(function: Any, answer: Any, legal: np.ndarray) -> np.ndarray:
    """`[B, A]` a function's answer at legal actions. Rows that sum to 1 but for the
    rounding of single precision do so to all digits then."""
    answer = refusals.numbers(answer, f"The answer of {function!r}")
    if answer.shape != legal.shape:
        raise ValueError(
            f"{function!r} returned the shape {answer.shape}, not {legal.shape}: a row "
            "for each information state, and a column for each action."
        )
    answer = np.where(legal, answer, 0.0)
    total = answer.sum(axis=1, keepdims=True)
    return np.where(
        np.abs(total - 1) < _SINGLE, answer / np.where(total, total, 1), answer
    )


def _table_of(policy: Any) -> dict[str, dict[int, float]] | None:
    """The rows of a policy that is a table; None for one that has to be asked."""
    if isinstance(policy, dict):
        return policy
    if isinstance(policy, pyspiel.TabularPolicy):
        return {name: dict(row) for name, row in policy.policy_table().items()}
    if isinstance(policy, openspiel_policy.TabularPolicy):
        rows = policy.action_probability_array.tolist()
        lookup = policy.state_lookup.items()
        return {name: dict(enumerate(rows[number])) for name, number in lookup}
    return None


_ASKED = 4096
"""The infosets that a function is asked for at once."""

_SINGLE = 1e-4
"""How far from 1 sums of float32 probabilities may be."""
