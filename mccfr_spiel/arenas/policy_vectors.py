"""policy_vector: converts any policy to a vector over the sequences of a game.

Probabilities come from these sources:

    type of policy                           source of probabilities
    vector `[S]`, SequencePolicy             the vector; if its tree numbers infosets
                                             differently, matched by their strings
    tabular policy, dictionary of rows       row of the information-state string
    other OpenSpiel policy                   call with a state of each infoset
    function (tensors, legal, strings)       calls with batches of infosets
    list with one of these per player        the policy of the acting player

Shapes: S sequences of all players, P players.
"""

import inspect
import itertools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from mccfr_spiel.arenas.infosets.identity import same_name
from mccfr_spiel.arenas.infosets.table import InfosetTable
from mccfr_spiel.common import refusals
from mccfr_spiel.common.display import brief
from mccfr_spiel.policies.adapter import (
    PolicyAdapter,
    check_one_for_each,
    is_one_for_each,
    policy_of,
    row_in,
)
from mccfr_spiel.policies.policy import SequencePolicy
from mccfr_spiel.policies.renumbering import moved
from mccfr_spiel.policies.shared_strings import without_turn
from mccfr_spiel.policies.vectors import checked_vector, sequences_of


def policy_vector(tree: InfosetTable, policy: Any) -> np.ndarray:
    """`[S]` the policy as a vector over the sequences of a complete tree.

    Args:
        tree: table that knows all infosets of the game.
        policy: a vector `[S]`; a SequencePolicy; an OpenSpiel policy of Python or C++;
            a dictionary information-state string -> action -> probability, as in a
            `policy.json`; a function, see `_asked_in_batches`; or a list `[P]` of
            these, one per player.

    Raises:
        ValueError: the policy belongs to another game, has no row for an infoset, or
            returns numbers that are not a distribution; or the list does not have P
            entries.
    """
    policy = policy_of(policy)
    if not is_one_for_each(policy):
        return _vector(tree, policy, None)
    check_one_for_each(policy, tree.source)
    vector = np.ones(tree.num_sequences)
    for player, part in enumerate(policy):
        own = sequences_of(tree, player)
        vector[own] = _vector(tree, part, player)[own]
    return vector


def _vector(tree: InfosetTable, policy: Any, player: int | None) -> np.ndarray:
    """`[S]` a single policy as a vector, see `policy_vector`.

    If `player` is given, only the sequences of this player are meaningful: the policy
    is not called, and no row is looked up, at infosets of other players.
    """
    policy = policy_of(policy)
    if isinstance(policy, np.ndarray):
        return checked_vector(tree, policy)
    if isinstance(policy, dict):
        policy = PolicyAdapter(policy, tree.source).policy
    if isinstance(policy, SequencePolicy):
        if not same_name(policy.turn_based_game, tree.game):
            raise ValueError(
                f"The policy is for {brief(policy.game)}, but the game is "
                f"{brief(tree.source)}."
            )
        if policy.tree is tree and len(policy.vector) == tree.num_sequences:
            return policy.vector
        if policy.tree.abstraction is None:
            source = policy.tree, policy.num_infosets
            return checked_vector(tree, moved(tree, *source, policy.vector))
    elif not isinstance(policy, dict | openspiel_policy.Policy | pyspiel.Policy):
        if not callable(policy):
            solved = hasattr(policy, "average_policy")
            hint = " Use its average_policy()." if solved else ""
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
            row = PolicyAdapter(policy).action_probabilities(where)
        else:
            names = [where, without_turn(where)] if is_simultaneous else [where]
            row = row_in(table, names, acting)
        legal = actions[start : start + count]
        try:
            for s, action in enumerate(legal, start):
                vector[s] = row.get(action, 0.0)
            extra = [a for a, p in row.items() if p != 0 and a not in legal]
        except (AttributeError, TypeError, ValueError, OverflowError) as error:
            raise ValueError(
                f"Invalid row {row!r} at {where}: expected a dictionary action -> "
                "probability."
            ) from error
        if extra:
            raise ValueError(
                f"Illegal actions {extra} in the row of {where}: the policy has the "
                f"actions {[*row]}, but the legal actions are {legal}. Remove {extra}."
            )
    return checked_vector(tree, vector)


def _asked_in_batches(
    tree: InfosetTable, function: Callable[..., Any], player: int | None
) -> np.ndarray:
    """`[S]` the policy of a function that is called with batches of infosets.

    Shapes: B infosets per batch, A distinct actions of the game, D entries of a tensor.

    Args:
        tree: table that knows all infosets of the game.
        function: `function(tensors, legal, strings)` returns `[B, A]` probabilities;
            entries of illegal actions are ignored. Its arguments are information-state
            tensors `[B, D]` of float32 (D is 0 if the game has none), a mask of legal
            actions `[B, A]` of bool, and a list of B information-state strings. If the
            function has exactly three parameters, it receives None for each parameter
            whose name begins with an underscore. Omitting the tensors in this way saves
            most of the time.
        player: only call the function at infosets of this player, and leave the vector
            uniform elsewhere; None for all players.

    Raises:
        ValueError: the function has another signature or returns another shape.
    """
    signature = inspect.signature(function)
    try:
        signature.bind("tensors", "legal", "strings")
    except TypeError as error:
        raise ValueError(
            f"{function!r} must be a function of (tensors, legal, strings): {error}. "
            "For a function of a state use OpenSpiel's tabular_policy_from_callable."
        ) from error
    names = list(signature.parameters)
    wanted = (
        [not name.startswith("_") for name in names] if len(names) == 3 else [True] * 3
    )
    states: Iterable[Any] = tree.states(range(tree.num_infosets)) if wanted[0] else ()
    states, strings = iter(states), iter(tree.infoset_names if wanted[2] else ())
    vector, num_actions = np.ones(tree.num_sequences), tree.game.num_distinct_actions()
    # Each pass handles a batch of consecutive infosets. Their sequences are contiguous
    # and sorted by infoset, then by action. So the legal entries of the table `[B, A]`,
    # row by row, are a slice of the vector.
    for first in range(0, tree.num_infosets, _ASKED):
        infosets = tree.infosets[first : first + _ASKED]
        size, start = len(infosets), infosets["first_sequence"][0]
        rows = np.repeat(np.arange(size), infosets["num_actions"])
        legal = np.zeros((size, num_actions), bool)
        legal[rows, tree.actions[start : start + len(rows)]] = True
        is_asked = (infosets["player"] == player) | (player is None)
        asked = itertools.compress(itertools.islice(states, size), is_asked)
        texts = itertools.compress(itertools.islice(strings, size), is_asked)
        arguments = _tensors(tree.game, asked), legal[is_asked], list(texts)
        table = legal / infosets["num_actions"][:, None]
        if is_asked.any():
            pairs = zip(arguments, wanted, strict=True)
            answer = function(*(x if is_wanted else None for x, is_wanted in pairs))
            table[is_asked] = _checked_answer(function, answer, arguments[1])
        vector[start : start + len(rows)] = table[legal]
    return vector


def _tensors(game: pyspiel.Game, states: Iterable[pyspiel.State]) -> np.ndarray:
    """`[B, D]` information-state tensors of the acting players at the given states; D
    is 0 if the game has no tensors."""
    if not game.get_type().provides_information_state_tensor:
        return np.zeros((len(list(states)), 0), np.float32)
    size = game.information_state_tensor_size()
    rows = [np.array(state.information_state_tensor(), np.float32) for state in states]
    return np.array(rows, np.float32).reshape(-1, size)


def _checked_answer(function: Any, answer: Any, legal: np.ndarray) -> np.ndarray:
    """`[B, A]` probabilities that a function returned, 0 at illegal actions.

    Rows whose sum differs from 1 by less than _SINGLE are normalized. Other rows are
    unchanged; `checked_vector` refuses them later.

    Raises:
        ValueError: the shape of the answer differs from that of `legal`, or it does not
            consist of numbers.
    """
    answer = refusals.numbers(answer, f"The answer of {function!r}")
    if answer.shape != legal.shape:
        raise ValueError(
            f"{function!r} returned shape {answer.shape}; expected {legal.shape}: a "
            "row per information state and a column per action."
        )
    answer = np.where(legal, answer, 0.0)
    total = answer.sum(axis=1, keepdims=True)
    return np.where(
        np.abs(total - 1) < _SINGLE, answer / np.where(total, total, 1), answer
    )


def _table_of(policy: Any) -> dict[str, dict[int, float]] | None:
    """The rows of a tabular policy.

    Returns:
        A dictionary information-state string -> action -> probability; None if the
        policy is not a table but must be called with states.
    """
    if isinstance(policy, dict):
        return policy
    if isinstance(policy, pyspiel.TabularPolicy):
        return {name: dict(row) for name, row in policy.policy_table().items()}
    if isinstance(policy, openspiel_policy.TabularPolicy):
        rows = policy.action_probability_array.tolist()
        lookup = policy.state_lookup.items()
        return {name: dict(enumerate(rows[row])) for name, row in lookup}
    return None


_ASKED = 4096
"""Maximum number of infosets per call of a function."""

_SINGLE = 1e-4
"""Maximum distance from 1 of a sum of probabilities in single precision."""
