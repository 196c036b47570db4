"""How good a policy is in a game that cannot be enumerated: by playing it.

`sampled_returns` estimates what players get, with a confidence interval.
`learned_response` learns a response of one player to a fixed policy and plays it. No
response gets more than a best response, so what it gets is a *lower bound* of the best
response's value; it is not NashConv, from which it may be far.

Intervals are those of the central limit theorem. They hold for many plays of payoffs
that are not dominated by very rare ones.
"""

import math
import statistics
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from mccfr_spiel.algorithms import (
    EXTERNAL,
    LINEAR,
    OUTCOME,
    Algorithm,
    Sampling,
    regret_matching_plus,
)
from mccfr_spiel.game_tree import (
    CHANCE_NODE,
    GameTree,
    TreeFullError,
    load_game,
)
from mccfr_spiel.solver import Solver

CONFIDENCE = 0.95

_MAX_NODES = 1_000_000
"""An external walk over as many takes some ten seconds, in which no clock is read."""


class Estimate(NamedTuple):
    """A mean of plays, and how far the truth may be.

    Attributes:
        mean: of the plays.
        half_width: of the confidence interval around it.
        plays: how many.
    """

    mean: float
    half_width: float
    plays: int

    @property
    def low(self) -> float:
        """The lower end of the confidence interval."""
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        """The upper end of the confidence interval."""
        return self.mean + self.half_width


class LearnedResponse(NamedTuple):
    """What a learned response of one player to a policy gets.

    Attributes:
        player: the one who responds.
        value: what the response gets; a lower bound of a best response's value.
        own: what the policy itself gets in the player's seat.
        gain: value - own; a lower bound of what a best response would gain. Below 0 if
            the response was learned badly; 0 is always a lower bound.
        response: the response, a policy of that player.
        iterations: that it was learned with.
    """

    player: int
    value: Estimate
    own: Estimate
    gain: Estimate
    response: openspiel_policy.Policy
    iterations: int


def sampled_returns(
    game: pyspiel.Game | str,
    policies: Any,
    *,
    plays: int = 10_000,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> list[Estimate]:
    """`[P]` what each player gets on average, estimated by playing.

    Args:
        game: any game that lists its chance outcomes, simultaneous moves included.
        policies: one policy for all players, or one for each `[P]`: OpenSpiel
            policies (Python's or pyspiel's), such as a SequencePolicy.
        plays: how often the game is played, at least 2.
        seed: of the plays.
        confidence: of each interval alone.

    Raises:
        ValueError: an argument is out of range, or a policy gives no distribution.
    """
    loaded = load_game(game)
    players = loaded.num_players()
    if not isinstance(policies, Sequence):
        policies = [policies] * players
    if len(policies) != players:
        raise ValueError(f"{len(policies)} policies for {players} players of {game}.")
    if plays < 2:
        raise ValueError(f"plays={plays} is less than 2, which an interval takes.")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence={confidence} is not between 0 and 1.")
    generator = np.random.Generator(np.random.PCG64(seed))
    asked = [_Asked(policy) for policy in policies]
    returns = np.array([_play(loaded, asked, generator) for _ in range(plays)])
    quantile = statistics.NormalDist().inv_cdf((1 + confidence) / 2)
    deviations = returns.std(axis=0, ddof=1) / math.sqrt(plays)
    return [
        Estimate(float(mean), float(quantile * deviation), plays)
        for mean, deviation in zip(returns.mean(axis=0), deviations, strict=True)
    ]


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
    max_nodes: int = _MAX_NODES,
) -> LearnedResponse:
    """Learns a response to a policy by sampling, then plays it with fresh draws.

    It is learned by MCCFR with the other players' moves fixed: external sampling, or
    outcome sampling where one external walk meets more than `max_nodes` nodes. At each
    information state met it takes the most frequent action; elsewhere it plays as the
    policy.

    Args:
        game: any game that `Solver` takes, turn-based.
        policy: of all players, see `sampled_returns`.
        player: who responds.
        iterations: of learning. None: as many as take about `seconds`, which is not
            the same number each time.
        seconds: see `iterations`.
        plays, seed, confidence: see `sampled_returns`.
        max_nodes: as in `Solver`.

    Raises:
        ValueError: there is no such player, the game is simultaneous, or see `Solver`.
    """
    loaded = load_game(game)
    if not 0 <= player < loaded.num_players():
        raise ValueError(f"player={player} is not in 0 .. {loaded.num_players() - 1}.")
    if loaded.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        raise ValueError(
            f"{game} has simultaneous moves; give its turn-based form, "
            "pyspiel.convert_to_turn_based(game)."
        )
    until = (iterations, seconds)
    try:
        solver = _learn(EXTERNAL, loaded, policy, player, until, seed, max_nodes)
    except TreeFullError:  # a walk that follows all actions is too large
        solver = _learn(OUTCOME, loaded, policy, player, until, seed, max_nodes)
    response = Response(policy, solver, player)
    mixed: list[Any] = [policy] * loaded.num_players()
    own = sampled_returns(
        game, mixed, plays=plays, seed=2 * seed, confidence=confidence
    )
    mixed[player] = response
    value = sampled_returns(
        game, mixed, plays=plays, seed=2 * seed + 1, confidence=confidence
    )
    mine, theirs = value[player], own[player]
    half_width = math.hypot(mine.half_width, theirs.half_width)
    gain = Estimate(mine.mean - theirs.mean, half_width, plays)
    return LearnedResponse(player, mine, theirs, gain, response, solver.num_iterations)


class Response(openspiel_policy.Policy):
    """A player's most frequent actions where a solver met a state, else a policy's."""

    def __init__(self, policy: Any, solver: Solver, player: int) -> None:
        tree = solver.tree
        super().__init__(tree.source, [player])
        self._otherwise = _Asked(policy)
        self._tree = tree
        self._average = solver.average_vector()
        self._actions = tree.actions.tolist()

    def action_probabilities(
        self, state: pyspiel.State, player_id: int | None = None
    ) -> dict[int, float]:
        """The action of the response, with probability 1."""
        player = state.current_player() if player_id is None else player_id
        infoset = self._tree.find(state.information_state_string(player), player)
        if infoset < 0:
            return self._otherwise(state, player)
        _, start, _, count, _ = self._tree.infosets[infoset].item()
        best = int(np.argmax(self._average[start : start + count]))
        return {self._actions[start + best]: 1.0}


# --- playing -------------------------------------------------------------------


class _Asked:
    """Any OpenSpiel policy as a function (state, player) -> action -> probability."""

    def __init__(self, policy: Any) -> None:
        self._policy = policy

    def __call__(self, state: pyspiel.State, player: int) -> dict[int, float]:
        if not isinstance(self._policy, pyspiel.Policy):
            return self._policy.action_probabilities(state, player)
        if state.is_simultaneous_node():
            name = state.information_state_string(player)
            return dict(self._policy.action_probabilities(name))
        return dict(self._policy.action_probabilities(state))


def _play(
    game: pyspiel.Game, asked: Sequence[_Asked], generator: np.random.Generator
) -> list[float]:
    state = game.new_initial_state()
    while not state.is_terminal():
        if state.is_chance_node():
            actions, probs = zip(*state.chance_outcomes(), strict=True)
            state.apply_action(_draw(actions, probs, generator.random()))
        elif state.is_simultaneous_node():
            state.apply_actions(
                [
                    _drawn(asked, state, player, generator)
                    for player in range(len(asked))
                ]
            )
        else:
            player = state.current_player()
            state.apply_action(_drawn(asked, state, player, generator))
    return state.returns()


def _drawn(
    asked: Sequence[_Asked],
    state: pyspiel.State,
    player: int,
    generator: np.random.Generator,
) -> int:
    if not state.legal_actions(player):
        return 0  # at a simultaneous node, OpenSpiel's sign for nothing to do
    probs = asked[player](state, player)
    if not abs(sum(probs.values()) - 1) < 1e-6:
        raise ValueError(f"Player {player}'s policy gives {probs} at the state {state}")
    return _draw(list(probs), list(probs.values()), generator.random())


def _draw(actions: Sequence[int], probs: Sequence[float], draw: float) -> int:
    chosen = actions[0]
    for action, prob in zip(actions, probs, strict=True):
        if prob > 0:
            chosen = action
            draw -= prob
            if draw < 0:
                break
    return chosen


# --- learning a response -------------------------------------------------------


class _FixedState:
    """A state in which all players but one are moves of chance."""

    __slots__ = ("_asked", "_player", "_state")

    def __init__(self, state: pyspiel.State, asked: _Asked, player: int) -> None:
        self._state = state
        self._asked = asked
        self._player = player

    def current_player(self) -> int:
        acting = self._state.current_player()
        return acting if acting < 0 or acting == self._player else CHANCE_NODE

    def is_chance_node(self) -> bool:
        return self.current_player() == CHANCE_NODE

    def chance_outcomes(self) -> list[tuple[int, float]]:
        if self._state.is_chance_node():
            return self._state.chance_outcomes()
        probs = self._asked(self._state, self._state.current_player())
        return [(action, probs.get(action, 0.0)) for action in self.legal_actions()]

    def legal_actions(self) -> list[int]:
        return self._state.legal_actions()

    def information_state_string(self, player: int | None = None) -> str:
        if player is None:
            return self._state.information_state_string()
        return self._state.information_state_string(player)

    def is_terminal(self) -> bool:
        return self._state.is_terminal()

    def returns(self) -> list[float]:
        return self._state.returns()

    def apply_action(self, action: int) -> None:
        self._state.apply_action(action)

    def clone(self) -> "_FixedState":
        return _FixedState(self._state.clone(), self._asked, self._player)

    def child(self, action: int) -> "_FixedState":
        return _FixedState(self._state.child(action), self._asked, self._player)

    def __str__(self) -> str:
        return str(self._state)


class _ResponseTree(GameTree):
    """The tree that one player faces when the others' policy is fixed."""

    def __init__(
        self, game: pyspiel.Game, policy: Any, player: int, max_nodes: int
    ) -> None:
        super().__init__(game, max_nodes=max_nodes)
        self._rules = None
        self._asked = _Asked(policy)
        self._player = player

    def new_state(self) -> Any:
        return _FixedState(super().new_state(), self._asked, self._player)


def _learn(
    sampling: Sampling,
    game: pyspiel.Game,
    policy: Any,
    player: int,
    until: tuple[int | None, float],
    seed: int,
    max_nodes: int,
) -> Solver:
    iterations, seconds = until
    tree = _ResponseTree(game, policy, player, max_nodes)
    solver = Solver(
        tree, Algorithm(sampling, regret_matching_plus(), LINEAR), seed=seed
    )
    if iterations is not None:
        solver.iterate(iterations)
        return solver
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        solver.iterate(max(solver.num_iterations // 8, 1))
    return solver
