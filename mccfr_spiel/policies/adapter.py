"""Adapts policies of any kind to the interface of OpenSpiel's policies in Python."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.common.display import brief
from mccfr_spiel.policies.json_policies import (
    from_json,
    is_of_file,
    with_int_actions,
)
from mccfr_spiel.policies.policy import SequencePolicy
from mccfr_spiel.policies.shared_strings import (
    is_turn_based,
    owned,
    with_turn,
    without_turn,
)


class PolicyAdapter:
    """Wraps a policy of any kind; has the method of OpenSpiel's policies in Python.

    Attributes:
        policy: the wrapped policy: an object with `action_probabilities`, or a
            dictionary information-state string -> action -> probability.
    """

    def __init__(self, policy: Any, game: pyspiel.Game | None = None) -> None:
        """Wraps a policy.

        Args:
            policy: a policy of OpenSpiel's (Python or C++), a SequencePolicy, or a
                dictionary, for example the parsed JSON of a `policy.json`.
            game: for a parsed `policy.json`, the game to which it must belong; None for
                the game named in the file.

        Raises:
            ValueError: `policy` is not a policy, or belongs to another game.
        """
        if isinstance(policy, PolicyAdapter):
            policy = policy.policy
        policy = policy_of(policy)
        if is_of_file(policy):
            policy = SequencePolicy(*from_json(policy, game))
        elif isinstance(policy, dict):
            policy = with_int_actions(policy)
        elif isinstance(policy, np.ndarray):
            raise ValueError(
                f"{policy!r} is a vector over the sequences of a tree; use "
                "ms.SequencePolicy(tree, vector)."
            )
        elif not hasattr(policy, "action_probabilities"):
            raise ValueError(
                f"{policy!r} must be a policy with the method action_probabilities."
            )
        self.policy = policy

    def action_probabilities(
        self, state: pyspiel.State, player_id: int | None = None
    ) -> dict[int, float]:
        """Action -> probability at a state where a player acts.

        Args:
            state: the state.
            player_id: the player; required if moves are simultaneous.

        Raises:
            ValueError: the policy has no probabilities for the state.
        """
        player = state.current_player() if player_id is None else player_id
        if is_turn_based(state.get_game()) and self._needs_simultaneous_states():
            state = state.simultaneous_game_state()
        if isinstance(self.policy, dict):
            # The keys may be strings of a game with simultaneous moves or of the
            # turn-based form of the game.
            name = state.information_state_string(player)
            names = name, with_turn(player, name), without_turn(name)
            return row_in(self.policy, names, player)
        if not isinstance(self.policy, pyspiel.Policy):
            try:
                return self.policy.action_probabilities(state, player)
            except KeyError as error:  # OpenSpiel's TabularPolicy
                raise ValueError(f"Unknown state in the policy: {error}.") from error
        if state.is_simultaneous_node():
            name = state.information_state_string(player)
            return dict(self.policy.action_probabilities(name))
        return dict(self.policy.action_probabilities(state))

    def needs_turns(self) -> bool:
        """Whether the policy accepts only states of a game whose players act in turn.

        For a game with simultaneous moves, these are the states of its turn-based form
        (`pyspiel.convert_to_turn_based`).
        """
        game, tree = (getattr(self.policy, name, None) for name in ("game", "tree"))
        is_of_turns = isinstance(game, pyspiel.Game) and is_turn_based(game)
        return is_of_turns or getattr(tree, "abstraction", None) is not None

    def _needs_simultaneous_states(self) -> bool:
        """Whether the policy accepts only states of a game with simultaneous moves."""
        game: Any = getattr(self.policy, "game", None)
        simultaneous = pyspiel.GameType.Dynamics.SIMULTANEOUS
        return (
            isinstance(game, pyspiel.Game)
            and game.get_type().dynamics == simultaneous
            and not hasattr(self.policy, "turn_based_game")
        )


def row_in(
    table: dict[str, dict[int, float]], names: Sequence[str], player: int
) -> dict[int, float]:
    """Returns a player's row of a policy table, found by any of several strings.

    Args:
        table: information-state string -> row. A row is a dictionary action ->
            probability, or a list of (action, probability) pairs. The table may spell a
            string with its player, see `owned`.
        names: possible strings of the state. The first one in the table counts.
        player: the player.

    Raises:
        ValueError: the table contains none of the strings, or the row is malformed.
    """
    for name in names:
        for key in (owned(name, player), name):
            if key in table:
                try:
                    return dict(table[key])
                except (TypeError, ValueError):
                    raise ValueError(
                        f"The entry of state {name!r} in the policy is {table[key]!r}, "
                        "expected a dictionary action -> probability."
                    ) from None
    raise ValueError(f"Unknown state in the policy: {names[0]!r}.")


def policy_of(solution: Any) -> Any:
    """Returns the policy of a solution, such as the result of `solve_lp`.

    Other values, such as policies, are returned unchanged.
    """
    policy = getattr(solution, "policy", None)
    return policy if isinstance(policy, SequencePolicy) else solution


def is_one_for_each(policies: Any) -> bool:
    """Whether a value is a list with a policy per player, not a single policy."""
    return isinstance(policies, list | tuple)


def check_one_for_each(policies: Sequence[Any], game: pyspiel.Game) -> None:
    """Raises ValueError unless the number of policies equals the number of players."""
    if len(policies) != game.num_players():
        raise ValueError(
            f"{len(policies)} policies for the {game.num_players()} players of "
            f"{brief(game)}; expected one policy for all players, or a list with one "
            "per player."
        )


def of_each_player(policies: Any, game: pyspiel.Game) -> list[PolicyAdapter]:
    """Returns a list `[P]` with the adapted policy of each player.

    Args:
        policies: one policy for all players, or a list `[P]` with one per player.
        game: the game.

    Raises:
        ValueError: the number of policies is wrong, or an element is not a policy.
    """
    policies = policy_of(policies)
    if not is_one_for_each(policies):
        return [PolicyAdapter(policies)] * game.num_players()
    check_one_for_each(policies, game)
    return [PolicyAdapter(policy) for policy in policies]
