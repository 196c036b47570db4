"""A report on a policy with estimates from plays, for games whose tree does not fit in
memory."""

from typing import Any

from open_spiel.python import policy as openspiel_policy

from mccfr_spiel.arenas.infosets.loading import turn_based
from mccfr_spiel.common.budget import (
    MaxMemory,
)
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
    """Evaluates a policy by playing; returns the content of a run's evaluation.json.

    The report contains three estimates for each player: the player's expected return if
    all players follow the policy, if the other players play uniformly, and if the
    player plays a learned response to the policy. The gain of the response is a lower
    bound on the gain of a best response. `iterations_of_learning` is the number of
    iterations in which the response was learned. There are no learned responses in
    games of imperfect recall.

    Args:
        policy: the policy.
        plays: number of plays per estimate.
        seconds: learning time per response.
        seed: any integer; each response gets a different seed.
        max_memory: memory limit of learning, see `learned_response`.
        twin: whether learning and plays use the game's compiled twin, see
            `learned_response`.
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
        report: dict[str, Any] = {
            name: {"mean": e.mean, "half_width": e.half_width}
            for name, e in estimates.items()
        }
        if response:
            report["iterations_of_learning"] = response.iterations
        players.append(report)
    note = (
        "The game has imperfect recall, so no response was learned. The distance from "
        "an equilibrium is unknown."
        if forgets
        else "The gain of a learned response is a lower bound on a best response's "
        "gain; this is not NashConv."
    )
    return {
        "what": f"Sampled estimates, mean +- half_width at 95% confidence. {note}",
        "plays": plays,
        "players": players,
    }
