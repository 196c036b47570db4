"""Responses."""

import contextlib
import math
from typing import Any, NamedTuple

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from mccfr_spiel.arenas.infosets.loading import load_game, turn_based
from mccfr_spiel.arenas.rules.description import GameError
from mccfr_spiel.arenas.tree.twin_choice import checked_twin
from mccfr_spiel.common import refusals
from mccfr_spiel.common.display import counted, line, never_raises
from mccfr_spiel.common.limits import MaxMemory
from mccfr_spiel.evaluation.estimates import CONFIDENCE, Estimate
from mccfr_spiel.evaluation.learning import Opponents, learn
from mccfr_spiel.evaluation.plays import sampled_returns
from mccfr_spiel.evaluation.rule_plays import Layer, layers_of, rules_faced
from mccfr_spiel.policies.policy import Answers, SequencePolicy, of_each_player
from mccfr_spiel.solving.solver import Solver

_MOST_SECONDS = 1e9

_MAX_NODES = 1_000_000
"""An external walk over this many nodes takes some ten seconds, and the clock is read
only between walks."""


class LearnedResponse(NamedTuple):
    """What a learned response of one player to a policy gets.

    Attributes:
        player: the player who responds.
        value: what the response gets; a lower bound on the value of a best response.
        own: what the policy itself gets in the player's seat.
        gain: value - own; a lower bound on what a best response would gain. It is below
            0 if the response was learned badly, while 0 is a lower bound in any case.
        response: the response, a policy of that player.
        iterations: the number of iterations that it was learned with.
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
    """Learns a response to a policy by sampling, then plays it with fresh draws.

    MCCFR learns the response while the other players follow the policy. It uses
    external sampling, or outcome sampling if one external walk meets more than
    `max_nodes` nodes or `max_memory` bytes. The response takes the most frequent action
    at each information state that was met and follows the policy everywhere else.

    Args:
        game: any game that `Solver` takes. Simultaneous moves become turns.
        policy: one policy for all players, or a list, see `sampled_returns`.
        player: the player who responds.
        iterations: the number of iterations of learning. None: as many as take about
            `seconds`, which is not the same number each time.
        seconds: see `iterations`.
        plays, seed, confidence: see `sampled_returns`.
        max_nodes: as in `Solver`. None: a million, or twice the deals if
            these are more.
        max_memory: as in `Solver`; learning ends when what was met fills it.
        twin: whether walks and plays go over the game's compiled twin. By default walks
            do in games with a tree of more than about half a million nodes, as in
            `Solver`. True uses it in smaller games, too, False never.

    Walks over a game's compiled rules or over its twin need policies of the other
    players that are SequencePolicies of the game. They keep no nodes, and have the same
    bits otherwise as walks through pyspiel. Only outcome sampling draws other
    actions in a game with compiled rules, where draws depend on the infosets' keys.

    Raises:
        ValueError: there is no such player, `Solver` refuses the game, or `twin` is
            True and the game has none.
    """
    loaded = turn_based(load_game(game))
    player = refusals.player(player, loaded.num_players())
    seed = refusals.integer(seed, "seed", 0)
    if iterations is not None:
        iterations = refusals.integer(iterations, "iterations", 0)
    seconds = refusals.number(seconds, "seconds", 0, _MOST_SECONDS)
    until = (iterations, seconds)
    each = of_each_player(policy, loaded)
    # Before minutes of learning, since this refuses wrong arguments.
    own = sampled_returns(
        loaded, each, plays=plays, seed=2 * seed, confidence=confidence, twin=twin
    )
    if max_nodes is None:
        deals = len(loaded.new_initial_state().legal_actions())
        max_nodes = max(_MAX_NODES, 2 * deals)
    faced = Opponents(loaded, each, player, max_nodes, max_memory)
    twin = checked_twin(twin, loaded)
    solver = None
    rules = rules_faced(loaded, [one.policy for one in each], player, twin)
    if rules is not None:
        with contextlib.suppress(GameError):  # pyspiel's walks tell it in words
            solver = learn(faced, rules, until, seed)
    solver = solver or learn(faced, None, until, seed)
    response = Response(each[player].policy, solver, player)
    mixed: list[Any] = [*each]
    mixed[player] = response
    value = sampled_returns(
        loaded, mixed, plays=plays, seed=2 * seed + 1, confidence=confidence, twin=twin
    )
    mine, theirs = value[player], own[player]
    half_width = math.hypot(mine.half_width, theirs.half_width)
    gain = Estimate(mine.mean - theirs.mean, half_width, mine.plays)
    return LearnedResponse(player, mine, theirs, gain, response, solver.num_iterations)


class Response(openspiel_policy.Policy):
    """Takes a player's most frequent action where a solver met the state, and follows
    another policy elsewhere."""

    def __init__(self, policy: Any, solver: Solver, player: int) -> None:
        tree, average = solver.tree, solver.average_vector()
        super().__init__(tree.source, [player])
        self.turn_based_game = tree.game
        self._otherwise = Answers(policy)
        best = np.zeros_like(average)
        for start, count in tree.infosets[["first_sequence", "num_actions"]].tolist():
            best[start + int(np.argmax(average[start : start + count]))] = 1.0
        self._best = SequencePolicy(tree, best)

    def action_probabilities(
        self, state: pyspiel.State, player_id: int | None = None
    ) -> dict[int, float]:
        """The action of the response with probability 1, where it has one."""
        player = state.current_player() if player_id is None else player_id
        met = self._best.tree.find(state.information_state_string(player), player) >= 0
        says = self._best if met else self._otherwise
        return says.action_probabilities(state, player)

    def layers(self, game: pyspiel.Game) -> list[Layer] | None:
        """What the response says, and what it follows elsewhere, as `layers_of`."""
        own = layers_of(self._best, game)
        below = layers_of(self._otherwise.policy, game)
        return None if own is None or below is None else own + below
