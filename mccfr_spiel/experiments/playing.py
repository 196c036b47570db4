"""Evaluation of a policy by play, for games whose whole tree does not fit in memory."""

from typing import Any

import pyspiel
from open_spiel.python import policy as openspiel_policy

from mccfr_spiel.evaluation.sampled import Estimate, learned_response, sampled_returns
from mccfr_spiel.limits.budget import MaxMemory
from mccfr_spiel.policies.policy import SequencePolicy

ONLY_A_BOUND = (
    "The gain of a learned response is a lower bound of a best response's gain; this "
    "is not NashConv."
)
NO_RESPONSE = (
    "The game has imperfect recall, so no response was learned, and nothing says how "
    "far the policy is from an equilibrium."
)
"""What the estimates do not say."""


def evaluation(
    policy: SequencePolicy,
    *,
    plays: int,
    seconds: float,
    max_memory: MaxMemory = None,
    forgets: bool = False,
) -> dict[str, Any]:
    """Plays the policy; returns the estimates in the form that is written as JSON.

    The estimates are those of evaluation/sampled.py. For each player they are the value
    of the policy against itself, its value against uniform players, and the value of a
    learned response to the others' policy. The gain of that response is a lower bound
    of what a best response gains. `iterations_of_learning` says how many iterations the
    response was learned with. For players who forget, no response is learned.

    Args:
        policy: what is evaluated.
        plays: for each estimate.
        seconds: of learning, for each response.
        max_memory: of learning, see `learned_response`.
        forgets: whether the game has imperfect recall.
    """
    game = policy.game
    if game.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        game = pyspiel.convert_to_turn_based(game)
    uniform = openspiel_policy.UniformRandomPolicy(game)
    own = sampled_returns(game, policy, plays=plays) if forgets else []
    players = []
    for player in range(game.num_players()):
        seats: list[Any] = [uniform] * game.num_players()
        seats[player] = policy
        against_uniform = sampled_returns(game, seats, plays=plays)[player]
        if forgets:
            found = _means(
                value_against_itself=own[player], value_against_uniform=against_uniform
            )
        else:
            response = learned_response(
                game,
                policy,
                player,
                plays=plays,
                seconds=seconds,
                seed=player,
                max_memory=max_memory,
            )
            found = _means(
                value_against_itself=response.own,
                value_against_uniform=against_uniform,
                value_of_learned_response=response.value,
                gain_of_learned_response=response.gain,
            )
            found["iterations_of_learning"] = response.iterations
        players.append(found)
    return {
        "what": "Sampled estimates, mean +- half_width at 95% confidence. "
        + (NO_RESPONSE if forgets else ONLY_A_BOUND),
        "plays": plays,
        "players": players,
    }


def _means(**estimates: Estimate) -> dict[str, Any]:
    """The estimates as they are written."""
    return {
        name: {"mean": estimate.mean, "half_width": estimate.half_width}
        for name, estimate in estimates.items()
    }
