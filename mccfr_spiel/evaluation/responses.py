"""`learned_response`: a response to a fixed policy, learned by sampling.

No response has a higher expected return than a best response. The return of a learned
response is therefore a *lower bound* on the value of a best response. The sum of the
players' gains is not NashConv, and may be far below NashConv.
"""

import contextlib
import math
from typing import Any, NamedTuple

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from mccfr_spiel.arenas.infosets.loading import load_game, turn_based
from mccfr_spiel.arenas.rules.declarations import GameError
from mccfr_spiel.arenas.tree.twin_choice import checked_twin
from mccfr_spiel.common import refusals
from mccfr_spiel.common.budget import (
    MaxMemory,
)
from mccfr_spiel.common.display import counted, line, never_raises
from mccfr_spiel.evaluation.estimates import CONFIDENCE, Estimate
from mccfr_spiel.evaluation.learning import Opponents, learn
from mccfr_spiel.evaluation.plays import sampled_returns
from mccfr_spiel.evaluation.rule_plays import Layer, layers_of, rules_faced
from mccfr_spiel.policies.adapter import PolicyAdapter, of_each_player
from mccfr_spiel.policies.policy import SequencePolicy
from mccfr_spiel.solving.solver import Solver

_MOST_SECONDS = 1e9
"""The largest time limit for learning, in seconds."""

_MAX_NODES = 1_000_000
"""Default limit on the nodes of a walk in external sampling. A walk of this size takes
about ten seconds, and the time limit is checked between walks only."""


class LearnedResponse(NamedTuple):
    """A learned response of one player to a policy, with its estimated returns.

    Attributes:
        player: the player who responds.
        value: the player's return with the response; a lower bound on the value of a
            best response.
        own: the player's return with the given policy.
        gain: value - own; a lower bound on the gain of a best response. If learning was
            too short, the gain may be negative; the bound is then useless.
        response: the response, a policy of this player.
        iterations: number of iterations of learning.
    """

    player: int
    value: Estimate
    own: Estimate
    gain: Estimate
    response: openspiel_policy.Policy
    iterations: int

    @never_raises
    def __repr__(self) -> str:
        return line(
            self,
            f"player {self.player} gets {self.value}",
            f"the policy itself {self.own}",
            f"gain {self.gain}",
            counted(self.iterations, "iteration"),
        )


def learned_response(
    game: pyspiel.Game | str,
    policy: Any,
    player: int,
    *,
    iterations: int | None = None,
    seconds: float = 20.0,
    plays: int = 10_000,
    seed: int = 0,
    confidence: float = CONFIDENCE,
    max_nodes: int | None = None,
    max_memory: MaxMemory = None,
    twin: bool | None = None,
) -> LearnedResponse:
    """Learns a response to a policy by sampling, then estimates its return by playing.

    MCCFR learns the response while the other players follow the policy. It uses
    external sampling, or outcome sampling if a walk of external sampling exceeds
    `max_nodes` nodes or `max_memory` bytes. At each infoset that was visited during
    learning, the response plays the most probable action of the learned average policy.
    Elsewhere it follows the given policy. The plays that estimate returns use other
    random numbers than learning.

    If the other players' policies are SequencePolicies of the game, walks use the
    compiled rules of the game or of its twin, and store no nodes. Otherwise walks use
    pyspiel. Results are equal to the bit, with one exception: outcome sampling in a
    game with compiled rules, where draws depend on the keys of the infosets.

    Args:
        game: any game that `Solver` accepts. Simultaneous moves are converted to turns.
        policy: one policy for all players, or a list, see `sampled_returns`.
        player: the player who responds.
        iterations: number of iterations of learning. None for as many as fit in
            `seconds`; this number differs from run to run.
        seconds: learning time if `iterations` is None, without compilation.
        plays, seed, confidence: see `sampled_returns`.
        max_nodes: as in `Solver`. None for a million, or twice the number of moves at
            the initial state (deals, in poker) if this is more.
        max_memory: as in `Solver`. Learning ends when this memory is full.
        twin: whether walks and plays use the game's compiled twin, see
            `sampled_returns`.

    Raises:
        ValueError: `player` is out of range, `Solver` refuses the game, or `twin` is
            True and the game has no twin.
    """
    loaded = turn_based(load_game(game))
    player = refusals.player(player, loaded.num_players())
    seed = refusals.integer(seed, "seed", 0)
    if iterations is not None:
        iterations = refusals.integer(iterations, "iterations", 0)
    seconds = refusals.number(seconds, "seconds", 0, _MOST_SECONDS)
    until = (iterations, seconds)
    each = of_each_player(policy, loaded)
    # The plays of the given policy come first, because they validate the arguments.
    own = sampled_returns(
        loaded, each, plays=plays, seed=2 * seed, confidence=confidence, twin=twin
    )
    if max_nodes is None:
        deals = len(loaded.new_initial_state().legal_actions())
        max_nodes = max(_MAX_NODES, 2 * deals)
    faced = Opponents(loaded, each, player, max_nodes, max_memory)
    twin = checked_twin(twin, loaded)
    solver = None
    rules = rules_faced(loaded, [asked.policy for asked in each], player, twin)
    if rules is not None:
        with contextlib.suppress(GameError):  # walks through pyspiel report it
            solver = learn(faced, rules, until, seed)
    solver = solver or learn(faced, None, until, seed)
    response = Response(each[player].policy, solver, player)
    mixed: list[Any] = [*each]
    mixed[player] = response
    value = sampled_returns(
        loaded, mixed, plays=plays, seed=2 * seed + 1, confidence=confidence, twin=twin
    )
    learned, followed = value[player], own[player]
    half_width = math.hypot(learned.half_width, followed.half_width)
    gain = Estimate(learned.mean - followed.mean, half_width, learned.plays)
    return LearnedResponse(
        player, learned, followed, gain, response, solver.num_iterations
    )


class Response(openspiel_policy.Policy):
    """A policy that plays the most probable action of a solver's average policy.

    At infosets that the solver has not visited, it follows another policy.
    """

    def __init__(self, policy: Any, solver: Solver, player: int) -> None:
        tree, average = solver.tree, solver.average_vector()
        super().__init__(tree.source, [player])
        self.turn_based_game = tree.game
        self._otherwise = PolicyAdapter(policy)
        best = np.zeros_like(average)
        for start, count in tree.infosets[["first_sequence", "num_actions"]].tolist():
            best[start + int(np.argmax(average[start : start + count]))] = 1.0
        self._best = SequencePolicy(tree, best)

    def action_probabilities(
        self, state: pyspiel.State, player_id: int | None = None
    ) -> dict[int, float]:
        """Action -> probability at a state."""
        player = state.current_player() if player_id is None else player_id
        met = self._best.tree.find(state.information_state_string(player), player) >= 0
        says = self._best if met else self._otherwise
        return says.action_probabilities(state, player)

    def layers(self, game: pyspiel.Game) -> list[Layer] | None:
        """The response as probability tables in order of precedence, see `layers_of`.

        None if such tables do not determine the response.
        """
        own = layers_of(self._best, game)
        below = layers_of(self._otherwise.policy, game)
        return None if own is None or below is None else own + below
