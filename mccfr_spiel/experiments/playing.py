"""Evaluation of a policy by play, for games whose whole tree does not fit in memory."""

from typing import Any

import pyspiel
from open_spiel.python import policy as openspiel_policy

from mccfr_spiel.evaluation.sampled import learned_response, sampled_returns
from mccfr_spiel.limits.budget import MaxMemory
from mccfr_spiel.policies.policy import SequencePolicy


def evaluation(
    policy: SequencePolicy,
    *,
    plays: int,
    seconds: float,
    max_memory: MaxMemory = None,
) -> dict[str, Any]:
    """Plays the policy; returns the estimates in the form that is written as JSON.

    The estimates are those of evaluation/sampled.py. For each player they are the value
    of the policy against itself, its value against uniform players, and the value of a
    learned response to the others' policy. The gain of that response is a lower bound
    of what a best response gains. `iterations_of_learning` says how many iterations the
    response was learned with.

    Args:
        policy: what is evaluated.
        plays: for each estimate.
        seconds: of learning, for each response.
        max_memory: of learning, see `learned_response`.
    """
    game = policy.game
    if game.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        game = pyspiel.convert_to_turn_based(game)
    uniform = openspiel_policy.UniformRandomPolicy(game)
    players = []
    for player in range(game.num_players()):
        seats: list[Any] = [uniform] * game.num_players()
        seats[player] = policy
        response = learned_response(
            game,
            policy,
            player,
            plays=plays,
            seconds=seconds,
            seed=player,
            max_memory=max_memory,
        )
        estimates = {
            "value_against_itself": response.own,
            "value_against_uniform": sampled_returns(game, seats, plays=plays)[player],
            "value_of_learned_response": response.value,
            "gain_of_learned_response": response.gain,
        }
        found: dict[str, Any] = {
            name: {"mean": estimate.mean, "half_width": estimate.half_width}
            for name, estimate in estimates.items()
        }
        players.append(found | {"iterations_of_learning": response.iterations})
    return {
        "what": "Sampled estimates, mean +- half_width at 95% confidence. The gain of "
        "a learned response is a lower bound of a best response's gain; this is not "
        "NashConv.",
        "plays": plays,
        "players": players,
    }
