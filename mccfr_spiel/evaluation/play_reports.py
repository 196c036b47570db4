"""Reports."""

from typing import Any

from open_spiel.python import policy as openspiel_policy

from mccfr_spiel.arenas.infosets.loading import turn_based
from mccfr_spiel.common.limits import MaxMemory
from mccfr_spiel.evaluation.plays import sampled_returns
from mccfr_spiel.evaluation.responses import learned_response
from mccfr_spiel.policies.policy import SequencePolicy


def evaluated_by_play(
    policy: SequencePolicy,
    *,
    plays: int,
    seconds: float,
    seed: int = 0,
    max_memory: MaxMemory = None,
    twin: bool | None = None,
    forgets: bool = False,
) -> dict[str, Any]:
    """Plays the policy; returns the estimates in the form that is written as JSON.

    The estimates are those of evaluation/plays.py. For each player they are the value
    of the policy against itself, its value against uniform players, and the value of a
    learned response to the others' policy. The gain of that response is a lower bound
    of what a best response gains. `iterations_of_learning` says how many iterations the
    response was learned with. For players who forget, no response is learned.

    Args:
        policy: what is evaluated.
        plays: for each estimate.
        seconds: of learning, for each response.
        seed: any integer, of all draws. Each response has a seed of its own.
        max_memory: of learning, see `learned_response`.
        twin: whether walks and plays go over the game's compiled twin, see there.
        forgets: whether the game has imperfect recall.
    """
    game = turn_based(policy.game)
    uniform = openspiel_policy.UniformRandomPolicy(game)
    num_players, seed = game.num_players(), seed % 2**64
    how: dict[str, Any] = {"plays": plays, "twin": twin}
    own = sampled_returns(game, policy, seed=seed, **how) if forgets else []
    players = []
    for player in range(num_players):
        seats: list[Any] = [uniform] * num_players
        seats[player] = policy
        response = None
        if not forgets:
            response = learned_response(
                game,
                policy,
                player,
                seconds=seconds,
                seed=seed * num_players + player,
                max_memory=max_memory,
                **how,
            )
        against_uniform = sampled_returns(game, seats, seed=seed, **how)
        estimates = {
            "value_against_itself": response.own if response else own[player],
            "value_against_uniform": against_uniform[player],
        }
        if response:
            estimates["value_of_learned_response"] = response.value
            estimates["gain_of_learned_response"] = response.gain
        found: dict[str, Any] = {
            name: {"mean": one.mean, "half_width": one.half_width}
            for name, one in estimates.items()
        }
        if response:
            found["iterations_of_learning"] = response.iterations
        players.append(found)
    unsaid = (
        "The game has imperfect recall, so no response was learned, and nothing says "
        "how far the policy is from an equilibrium."
        if forgets
        else "The gain of a learned response is a lower bound of a best response's "
        "gain; this is not NashConv."
    )
    return {
        "what": f"Sampled estimates, mean +- half_width at 95% confidence. {unsaid}",
        "plays": plays,
        "players": players,
    }
