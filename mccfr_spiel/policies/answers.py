"""Any policy as something that answers states, and one policy for each player."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.display.lines import brief
from mccfr_spiel.policies.policy import SequencePolicy
from mccfr_spiel.policies.policy_json import from_json, is_of_file, with_int_actions
from mccfr_spiel.policies.tabular import owned, without_turn
from mccfr_spiel.tree.loading import load_game


class Answers:
    """Any policy, asked as OpenSpiel asks its policies in Python.

    Attributes:
        policy: an object with `action_probabilities`, or a dictionary
            information-state string -> action -> probability.
    """

    def __init__(self, policy: Any) -> None:
        """Takes a policy of OpenSpiel's (Python's or pyspiel's), such as a
        SequencePolicy, or a dictionary, such as json.load makes of a `policy.json`.

        Raises:
            ValueError: it is none of these.
        """
        if isinstance(policy, Answers):
            policy = policy.policy
        if is_of_file(policy):
            names, vector = from_json(policy, load_game(policy["game"]))
            policy = SequencePolicy(names, vector)
        elif isinstance(policy, dict):
            policy = with_int_actions(policy)
        elif isinstance(policy, np.ndarray):
            raise ValueError(
                f"{policy!r} is a vector over the sequences of a tree, which answers "
                "no states; give ms.SequencePolicy(tree, vector)."
            )
        elif not hasattr(policy, "action_probabilities"):
            raise ValueError(f"{policy!r} is not a policy that answers states.")
        self.policy = policy

    def action_probabilities(
        self, state: pyspiel.State, player_id: int | None = None
    ) -> dict[int, float]:
        """The probability of every action at a state where a player acts.

        Raises:
            ValueError: a dictionary lacks the state.
        """
        player = state.current_player() if player_id is None else player_id
        if isinstance(self.policy, dict):
            # The dictionary may have the strings of a game with simultaneous moves or
            # those of its turn-based form.
            name = state.information_state_string(player)
            names = name, f"Current player: {player}\n{name}", without_turn(name)
            return row_in(self.policy, names, player)
        if not isinstance(self.policy, pyspiel.Policy):
            return self.policy.action_probabilities(state, player)
        if state.is_simultaneous_node():
            name = state.information_state_string(player)
            return dict(self.policy.action_probabilities(name))
        return dict(self.policy.action_probabilities(state))


def row_in(
    table: dict[str, dict[int, float]], names: Sequence[str], player: int
) -> dict[int, float]:
    """A player's row of a table, which may have the string of its state in several
    forms, told apart by player or not.

    Raises:
        ValueError: the table lacks the state.
    """
    for name in names:
        for key in (owned(name, player), name):
            if key in table:
                return table[key]
    raise ValueError(f"The policy lacks the state {names[0]!r}.")


class Joint:
    """The policies of all players, asked like one policy."""

    def __init__(self, each: Sequence[Answers]) -> None:
        """Keeps `[P]` the players' policies."""
        self.each = list(each)

    def action_probabilities(
        self, state: pyspiel.State, player_id: int | None = None
    ) -> dict[int, float]:
        """What the player's own policy answers."""
        player = state.current_player() if player_id is None else player_id
        return self.each[player].action_probabilities(state, player)


def is_one_for_each(policies: Any) -> bool:
    """Whether a value is a list of policies, not a single policy."""
    return isinstance(policies, list | tuple)


def check_one_for_each(policies: Sequence[Any], game: pyspiel.Game) -> None:
    """Raises ValueError unless there are as many policies as players."""
    if len(policies) != game.num_players():
        raise ValueError(
            f"{len(policies)} policies for the {game.num_players()} players of "
            f"{brief(game)}: "
            "give one policy for all players, or a list with one for each."
        )


def of_each_player(policies: Any, game: pyspiel.Game) -> list[Answers]:
    """`[P]` the policy of each player.

    Args:
        policies: one policy for all players, or a list `[P]` with one for each.
        game: the game.

    Raises:
        ValueError: there are too many or too few, or one is no policy.
    """
    if not is_one_for_each(policies):
        return [Answers(policies)] * game.num_players()
    check_one_for_each(policies, game)
    return [Answers(policy) for policy in policies]
