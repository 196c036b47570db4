"""How good a policy is in a game too large to enumerate, estimated by playing it.

`sampled_returns` estimates what the players get, with a confidence interval.
`learned_response` learns a response of one player to a fixed policy and plays it. No
response gets more than a best response, so the result is a *lower bound* on the value
of a best response. It is not NashConv and may be far from it.

The intervals rest on the central limit theorem. They can be trusted after many plays,
unless very rare payoffs dominate the mean.
"""

import contextlib
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
from mccfr_spiel.common import refusals
from mccfr_spiel.common.arrays import CHANCE_NODE
from mccfr_spiel.common.display import brief, counted, line, never_raises, plus_minus
from mccfr_spiel.common.limits import MaxMemory, MemoryBudgetError
from mccfr_spiel.evaluation.rule_plays import (
    Layer,
    hashes_of,
    layers_of,
    returns_by_rules,
    rows_of,
    rules_faced,
)
from mccfr_spiel.kernels.sampling import plain_draw_action, plain_draw_chance
from mccfr_spiel.policies.policy import Answers, Joint, of_each_player
from mccfr_spiel.rules.description import (
    BoundRules,
    Declared,
    GameError,
    check_returns,
    declared_by,
    tell_history,
)
from mccfr_spiel.solver import Solver
from mccfr_spiel.tree.game_tree import GameTree
from mccfr_spiel.tree.growth import WalkTooLargeError
from mccfr_spiel.tree.loading import load_game
from mccfr_spiel.tree.twin_trees import checked_twin

CONFIDENCE = 0.95

_MOST_SECONDS = 1e9

_MAX_NODES = 1_000_000
"""An external walk over this many nodes takes some ten seconds, and the clock is read
only between walks."""


class Estimate(NamedTuple):
    """The mean of many plays, and how far from it the truth may be.

    Attributes:
        mean: the mean of the plays.
        half_width: half the width of the confidence interval around the mean.
        plays: the number of plays.
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

    def __str__(self) -> str:
        return plus_minus(self.mean, self.half_width)

    @never_raises
    def __repr__(self) -> str:
        return line(self, str(self), f"{self.plays:,} plays")


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


def sampled_returns(
    game: pyspiel.Game | str,
    policies: Any,
    *,
    plays: int = 10_000,
    seed: int = 0,
    confidence: float = CONFIDENCE,
    twin: bool | None = None,
) -> list[Estimate]:
    """`[P]` what each player gets on average, estimated by playing.

    Args:
        game: any game that lists its chance outcomes; it may have simultaneous moves.
        policies: one policy for all players, or a list `[P]` with one for each. They
            are OpenSpiel policies (Python's or pyspiel's), such as a SequencePolicy, or
            dictionaries information-state string -> action -> probability.
        plays: how often the game is played, at least 2.
        seed: the seed of the plays.
        confidence: the probability with which each interval, taken alone, holds the
            truth.
        twin: whether plays go over the game's compiled twin. By default
            they do if its code is there. True uses it in any case, False never. It
            changes the time, and no result.

    Plays of SequencePolicies in games with compiled rules, or over twins, are compiled
    and draw the same numbers.

    Raises:
        ValueError: an argument is out of range, or a policy gives no distribution, or
            `twin` is True and the game has none.
        GameError: returns are not as the game declares.
    """
    loaded = load_game(game)
    asked = of_each_player(policies, loaded)
    plays = refusals.integer(plays, "plays", 2)  # an interval needs two
    _check_confidence(confidence)
    seed, twin = refusals.integer(seed, "seed", 0), checked_twin(twin, loaded)
    returns = _returns(loaded, asked, plays, seed, twin)
    return [estimate_of(column, confidence) for column in returns.T]


def _check_confidence(confidence: Any) -> None:
    refusals.number(confidence, "confidence", 0, 1, open_low=True)
    if confidence == 1:
        raise ValueError(f"confidence={confidence} is not between 0 and 1.")


def estimate_of(values: np.ndarray, confidence: float) -> Estimate:
    """The estimate from `[plays]` independent values, at least two."""
    _check_confidence(confidence)
    quantile = statistics.NormalDist().inv_cdf((1 + confidence) / 2)
    deviation = values.std(ddof=1) / math.sqrt(len(values))
    return Estimate(float(values.mean()), float(quantile * deviation), len(values))


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
        game: any game that `Solver` takes, with moves in turn.
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
        ValueError: there is no such player, the game has simultaneous moves, `Solver`
            refuses the game, or `twin` is True and the game has none.
    """
    loaded = load_game(game)
    player = refusals.player(player, loaded.num_players())
    plays = refusals.integer(plays, "plays", 2)  # refused before minutes of learning
    seed = refusals.integer(seed, "seed", 0)
    if iterations is not None:
        iterations = refusals.integer(iterations, "iterations", 0)
    seconds = refusals.number(seconds, "seconds", 0, _MOST_SECONDS)
    if loaded.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        raise ValueError(
            f"{brief(game)} has simultaneous moves; give its turn-based form, "
            "pyspiel.convert_to_turn_based(game)."
        )
    until = (iterations, seconds)

    if max_nodes is None:
        deals = len(loaded.new_initial_state().legal_actions())
        max_nodes = max(_MAX_NODES, 2 * deals)
    each = of_each_player(policy, loaded)
    facing = _Facing(loaded, each, player, max_nodes, max_memory)
    twin = checked_twin(twin, loaded)
    solver = None
    rules = _rules_faced(loaded, each, player, twin)
    if rules is not None:
        with contextlib.suppress(
            GameError
        ):  # which is told in words by pyspiel's walks
            solver = _learn(facing, rules, until, seed)
    solver = solver or _learn(facing, None, until, seed)
    response = Response(each[player].policy, solver, player)
    own = sampled_returns(
        loaded, each, plays=plays, seed=2 * seed, confidence=confidence, twin=twin
    )
    mixed: list[Any] = [*each]
    mixed[player] = response
    value = sampled_returns(
        loaded, mixed, plays=plays, seed=2 * seed + 1, confidence=confidence, twin=twin
    )
    mine, theirs = value[player], own[player]
    half_width = math.hypot(mine.half_width, theirs.half_width)
    gain = Estimate(mine.mean - theirs.mean, half_width, plays)
    return LearnedResponse(player, mine, theirs, gain, response, solver.num_iterations)


class Response(openspiel_policy.Policy):
    """Takes a player's most frequent action where a solver met the state, and follows
    another policy elsewhere."""

    def __init__(self, policy: Any, solver: Solver, player: int) -> None:
        tree = solver.tree
        super().__init__(tree.source, [player])
        self._otherwise = Answers(policy)
        self._tree = tree
        self._average = solver.average_vector()
        self._actions = tree.actions

    def action_probabilities(
        self, state: pyspiel.State, player_id: int | None = None
    ) -> dict[int, float]:
        """The action of the response, with probability 1."""
        player = state.current_player() if player_id is None else player_id
        infoset = self._tree.find(state.information_state_string(player), player)
        if infoset < 0:
            return self._otherwise.action_probabilities(state, player)
        _, start, _, count, _ = self._tree.infosets[infoset].item()
        best = int(np.argmax(self._average[start : start + count]))
        return {int(self._actions[start + best]): 1.0}

    def layers(self, game: pyspiel.Game) -> list[Layer] | None:
        """What the response says, and what it follows elsewhere, as `layers_of`."""
        below = layers_of(self._otherwise.policy, game)
        tree, average = self._tree, self._average
        infosets = tree.infosets
        hashes = hashes_of(tree, len(infosets))
        if below is None or hashes is None:
            return None
        probs = np.zeros(len(average))
        for start, count in infosets[["first_sequence", "num_actions"]].tolist():
            probs[start + int(np.argmax(average[start : start + count]))] = 1.0
        return [Layer(infosets, hashes, self._actions, probs), *below]


# --- playing -------------------------------------------------------------------


def _returns(
    game: pyspiel.Game,
    asked: Sequence[Answers],
    plays: int,
    seed: int,
    twin: bool | None,
) -> np.ndarray:
    """`[plays, P]` the returns of plays, checked."""
    declared = declared_by(game)
    policies = [one.policy for one in asked]
    returns = returns_by_rules(game, policies, plays, seed, twin)
    if returns is not None:
        with contextlib.suppress(GameError):  # below it is told with its history
            for row in np.unique(returns, axis=0).tolist():
                check_returns(declared, row)
            return returns
    generator = np.random.Generator(np.random.PCG64(seed))
    how = declared, asked, ChanceMoves(), generator
    return np.array([_play(game, *how) for _ in range(plays)])


class ChanceMoves:
    """Draws moves of chance in plays of one game.

    It keeps the outcomes of the node with which all plays begin, since OpenSpiel may
    take a second to list them: a deal of two hands of hold'em has 1,624,350.
    """

    _FEW = 1_000

    def __init__(self) -> None:
        self._first: tuple[np.ndarray, np.ndarray] | None = None

    def draw(self, state: pyspiel.State, draw: float) -> int:
        """The move of chance at a state that a number in [0, 1) stands for."""
        begins = not state.history()
        if not begins or self._first is None:
            actions, probs = zip(*state.chance_outcomes(), strict=True)
            if not begins or len(actions) <= self._FEW:
                return actions[plain_draw_action(probs, 0, len(probs), draw)]
            known = np.array(probs)
            possible = known > 0
            sums = np.cumsum(known[possible])
            sums[-1] = 1.0
            self._first = np.array(actions)[possible], sums
        moves, sums = self._first
        return int(moves[plain_draw_chance(sums, 0, len(sums), draw)])


def _play(
    game: pyspiel.Game,
    declared: Declared,
    asked: Sequence[Answers],
    chance: ChanceMoves,
    generator: np.random.Generator,
) -> list[float]:
    """Plays the game once and returns the players' returns, checked."""
    state = game.new_initial_state()
    try:
        while not state.is_terminal():
            _move(state, asked, chance, generator)
        returns = state.returns()
        check_returns(declared, returns)
    except Exception as error:
        tell_history(error, state)
        raise
    return returns


def _move(
    state: pyspiel.State,
    asked: Sequence[Answers],
    chance: ChanceMoves,
    generator: np.random.Generator,
) -> None:
    """Draws a move of everybody who acts in the state and makes it."""
    if state.is_chance_node():
        state.apply_action(chance.draw(state, generator.random()))
    elif state.is_simultaneous_node():
        state.apply_actions(
            [_drawn(asked, state, player, generator) for player in range(len(asked))]
        )
    else:
        player = state.current_player()
        state.apply_action(_drawn(asked, state, player, generator))


def _drawn(
    asked: Sequence[Answers],
    state: pyspiel.State,
    player: int,
    generator: np.random.Generator,
) -> int:
    if not state.legal_actions(player):
        return 0  # OpenSpiel's sign, at a simultaneous node, for nothing to do
    probs = asked[player].action_probabilities(state, player)
    if not abs(sum(probs.values()) - 1) < 1e-6:
        raise ValueError(f"Player {player}'s policy gives {probs} at the state {state}")
    actions, odds = list(probs), list(probs.values())
    return actions[plain_draw_action(odds, 0, len(odds), generator.random())]


# --- learning a response -------------------------------------------------------


class _FixedState:
    """A state in which the moves of all players but one are moves of chance.

    What is not here, such as `returns`, is the game's own state's.
    """

    __slots__ = ("_asked", "_player", "_state")

    def __init__(self, state: pyspiel.State, asked: Joint, player: int) -> None:
        self._state = state
        self._asked = asked
        self._player = player

    def __getattr__(self, name: str) -> Any:
        return getattr(self._state, name)

    def current_player(self) -> int:
        acting = self._state.current_player()
        return acting if acting < 0 or acting == self._player else CHANCE_NODE

    def is_chance_node(self) -> bool:
        return self.current_player() == CHANCE_NODE

    def chance_outcomes(self) -> list[tuple[int, float]]:
        if self._state.is_chance_node():
            return self._state.chance_outcomes()
        probs = self._asked.action_probabilities(self._state)
        legal = self._state.legal_actions()
        return [(action, probs.get(action, 0.0)) for action in legal]

    def clone(self) -> "_FixedState":
        return _FixedState(self._state.clone(), self._asked, self._player)

    def child(self, action: int) -> "_FixedState":
        return _FixedState(self._state.child(action), self._asked, self._player)

    def __str__(self) -> str:
        return str(self._state)


class _Facing(NamedTuple):
    """What one player faces.

    Attributes:
        game: as it was given.
        each: `[P]` the policies, of which the player's own does not matter.
        player: who responds.
        max_nodes, max_memory: of the tree.
    """

    game: pyspiel.Game
    each: list[Answers]
    player: int
    max_nodes: int
    max_memory: MaxMemory


class _ResponseTree(GameTree):
    """The tree that one player faces when the other players follow a policy."""

    def __init__(self, facing: _Facing, rules: BoundRules | None) -> None:
        super().__init__(
            facing.game,
            max_nodes=facing.max_nodes,
            max_memory=facing.max_memory,
            twin=False,
        )
        self.rules = rules
        self.walk_limit = facing.max_nodes
        self._asked = Joint(facing.each)
        self._player = facing.player

    def new_state(self) -> Any:
        return _FixedState(super().new_state(), self._asked, self._player)


def _rules_faced(
    game: pyspiel.Game, each: Sequence[Answers], player: int, twin: bool | None
) -> BoundRules | None:
    """The compiled rules of what a player faces; None if there are none, or the tree is
    small, or a policy of the others is no table of the game."""
    others = [one for one in range(len(each)) if one != player]
    rows = rows_of(game, [one.policy for one in each], others)
    if rows is None:
        return None
    rules = GameTree(game, twin=twin).rules_for_walks()
    return None if rules is None else rules_faced(rules, player, rows)


def _learn(
    facing: _Facing,
    rules: BoundRules | None,
    until: tuple[int | None, float],
    seed: int,
) -> Solver:
    """Learns by external sampling, or by outcome sampling if walks are too large.

    Args:
        facing: what the player faces.
        rules: over which walks go; None for walks through pyspiel.
        until: the number of iterations, or None and the seconds.
        seed: of the walks.
    """
    solver = None
    with contextlib.suppress(WalkTooLargeError):  # since it follows all own actions
        solver = _run(EXTERNAL, _ResponseTree(facing, rules), until, seed)
    # Not in an `except`, since there the error would keep the first tree alive.
    return solver or _run(OUTCOME, _ResponseTree(facing, rules), until, seed)


def _run(
    sampling: Sampling,
    tree: _ResponseTree,
    until: tuple[int | None, float],
    seed: int,
) -> Solver:
    """Runs a solver for so many iterations or seconds, or until memory is full."""
    iterations, seconds = until
    algorithm = Algorithm(sampling, regret_matching_plus(), LINEAR)
    store = "tree" if tree.rules is None else "none"
    solver = Solver(tree, algorithm, seed=seed, store=store)
    with contextlib.suppress(MemoryBudgetError):
        if iterations is not None:
            solver.iterate(iterations)
            return solver
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            solver.iterate(max(solver.num_iterations // 8, 1))
    return solver
