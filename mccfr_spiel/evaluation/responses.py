"""Responses to a fixed policy, in games too large to enumerate.

No response gets more than a best response, so what one gets is a *lower bound* on the
value of a best response. It is not NashConv and may be far from it.

`learned_response` learns a response of one player by sampling and plays it.
`evaluated_by_play` does so for each player, as a run's evaluation.json has it.

A local best response (Lisy, Bowling 2017) is made of no tree. It knows the policy that
it meets, so it knows by Bayes' rule how likely each hand of the other is. It looks one
move ahead: where it checks or calls, both are taken to check and call to the end; where
it bets, the other folds as the policy says, and otherwise calls. That is a strategy, so
on average it gets at most what a best response gets.
"""

import contextlib
import math
import random
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from mccfr_spiel.algorithms import CFR_PLUS, EXTERNAL, OUTCOME, Sampling
from mccfr_spiel.arenas.infosets.loading import load_game, turn_based
from mccfr_spiel.arenas.infosets.walk_sizes import WalkTooLargeError
from mccfr_spiel.arenas.rule_arena import RuleArena
from mccfr_spiel.arenas.rules.description import BoundRules, GameError
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.arenas.tree.twin_choice import checked_twin
from mccfr_spiel.common import refusals
from mccfr_spiel.common.arrays import CHANCE_NODE
from mccfr_spiel.common.display import brief, counted, line, never_raises
from mccfr_spiel.common.limits import MaxMemory, MemoryBudgetError, make_budget
from mccfr_spiel.evaluation.plays import (
    CONFIDENCE,
    Estimate,
    Layer,
    bots_of,
    duplicate_returns,
    layers_of,
    passive_move,
    rules_faced,
    sampled_returns,
)
from mccfr_spiel.policies.policy import Answers, SeatBot, SequencePolicy, of_each_player
from mccfr_spiel.solving.solver import Solver

_MOST_SECONDS = 1e9

_MAX_NODES = 1_000_000
"""An external walk over this many nodes takes some ten seconds, and the clock is read
only between walks."""

_RUNOUTS = 1_000
"""Ways in which chance is followed to the end at a decision, for all hands together."""

_MOST_DEALS = 100_000
"""More hands, or ways to deal them, would take a second for each deal."""


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
    faced = _Faced(loaded, each, player, max_nodes, max_memory)
    twin = checked_twin(twin, loaded)
    solver = None
    rules = rules_faced(loaded, [one.policy for one in each], player, twin)
    if rules is not None:
        with contextlib.suppress(GameError):  # pyspiel's walks tell it in words
            solver = _learn(faced, rules, until, seed)
    solver = solver or _learn(faced, None, until, seed)
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


class _FixedState:
    """A state in which the moves of all players but one are moves of chance.

    What is not here, such as `returns`, is the game's own state's.
    """

    __slots__ = ("_asked", "_player", "_state")

    def __init__(
        self, state: pyspiel.State, asked: Sequence[Answers], player: int
    ) -> None:
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
        acting = self._asked[self._state.current_player()]
        probs = acting.action_probabilities(self._state)
        legal = self._state.legal_actions()
        return [(action, probs.get(action, 0.0)) for action in legal]

    def clone(self) -> "_FixedState":
        return _FixedState(self._state.clone(), self._asked, self._player)

    def child(self, action: int) -> "_FixedState":
        return _FixedState(self._state.child(action), self._asked, self._player)

    def __str__(self) -> str:
        return str(self._state)


class _Faced(NamedTuple):
    """What one player faces when the other players follow a policy.

    Attributes:
        game: as it was given.
        each: `[P]` the policies, of which the player's own does not matter.
        player: the player who responds.
        max_nodes, max_memory: of the arena.
    """

    game: pyspiel.Game
    each: Sequence[Answers]
    player: int
    max_nodes: int
    max_memory: MaxMemory

    def new_state(self) -> Any:
        """The first state; moves of the others are moves of chance."""
        state = turn_based(self.game).new_initial_state()
        return _FixedState(state, self.each, self.player)

    def arena(self, rules: BoundRules | None) -> GameTree | RuleArena:
        """A new arena: walks over rules, or through pyspiel without any."""
        limits = {"max_nodes": self.max_nodes, "twin": False}
        if rules is None:
            return GameTree(
                self.game,
                max_memory=self.max_memory,
                new_state=self.new_state,
                **limits,
            )
        return RuleArena(
            self.game,
            rules,
            make_budget(self.max_memory),
            new_state=self.new_state,
            walk_limit=self.max_nodes,
            **limits,
        )


def _learn(
    faced: _Faced,
    rules: BoundRules | None,
    until: tuple[int | None, float],
    seed: int,
) -> Solver:
    """Learns by external sampling, or by outcome sampling if walks are too large.

    Args:
        faced: what the player faces.
        rules: over which walks go; None for walks through pyspiel.
        until: the number of iterations, or None and the seconds.
        seed: of the walks.
    """
    with contextlib.suppress(WalkTooLargeError):  # since it follows all own actions
        return _run(EXTERNAL, faced.arena(rules), until, seed)
    # Not in an `except`, since there the error would keep the first tree alive.
    return _run(OUTCOME, faced.arena(rules), until, seed)


def _run(
    sampling: Sampling,
    arena: GameTree | RuleArena,
    until: tuple[int | None, float],
    seed: int,
) -> Solver:
    """Runs a solver for some iterations or seconds, or until memory is full."""
    iterations, seconds = until
    algorithm = CFR_PLUS._replace(sampling=sampling)
    solver = Solver(arena, algorithm, seed=seed, store=arena.store)
    with contextlib.suppress(MemoryBudgetError):
        if iterations is not None:
            solver.iterate(iterations)
            return solver
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            solver.iterate(max(solver.num_iterations // 8, 1))
    return solver


# --- evaluation by play, of games whose whole tree does not fit in memory -------------


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


# --- local best responses -------------------------------------------------------------


def local_best_response(
    game: pyspiel.Game | str,
    policy: Any,
    *,
    deals: int = 1_000,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """What a local best response gets against a policy, by duplicate deals.

        ms.evaluation.local_best_response(game, policy, deals=500)

    In a zero-sum game its mean is a lower bound on `exploitability`, and needs no tree.
    It may be below 0, while 0 is a lower bound in any case. Each deal asks the policy
    for all hands of either player at each of its decisions, and after each bet that the
    response looks at.

    Args:
        game: poker of two players: hands are dealt first, moves are seen by both, and
            are named check, call, or Pass and Bet as in kuhn_poker.
        policy: as in `duplicate_returns`. Bots must tell their policies.
        deals, seed, confidence: as in `duplicate_returns`.

    Returns:
        The estimate of the mean over both seats; its `plays` counts deals.

    Raises:
        ValueError: see `duplicate_returns`; a bot tells no policy; the game is no poker
            of that kind, or deals hands in more than 100,000 ways.
    """
    source = load_game(game)
    seed = refusals.integer(seed, "seed", 0)
    bots = bots_of(policy, source, seed)
    if not all(bot.provides_policy() for bot in bots):
        raise ValueError("A local best response needs bots that tell their policies.")
    played = turn_based(source)
    responses = [
        _LocalBestResponse(played, seat, bots[1 - seat], seed) for seat in range(2)
    ]
    how = {"deals": deals, "seed": seed, "confidence": confidence}
    return duplicate_returns(source, responses, bots, **how)


class _LocalBestResponse(SeatBot):
    """The local best response in one seat.

    It keeps a state for each hand that the other player may have, in which all else is
    as it is seen, and the weight of each.
    """

    def __init__(
        self, game: pyspiel.Game, player: int, other: pyspiel.Bot, seed: int
    ) -> None:
        pyspiel.Bot.__init__(self)
        self.player, self._other = player, other
        self._draws = random.Random(2 * seed + player)
        self._game = game
        self.restart()

    def restart(self) -> None:
        """Knows of no deal yet."""
        self._played = self._game.new_initial_state()
        self._states = [self._played.clone()]
        self._weights = np.ones(1)

    def step(self, state: pyspiel.State) -> int:
        """The move that looks best."""
        for move in state.full_history()[len(self._played.history()) :]:
            if self._played.is_chance_node():
                self._see(move.action)
            else:
                self._follow(move.action)
            self._played.apply_action(move.action)
        seed, stays = self._draws.getrandbits(48), passive_move(state)

        def worth(action: int) -> float:
            # All actions are looked at with the same cards to come.
            values = [
                self._value(one.child(action), action == stays, random.Random(seed + k))
                for k, one in enumerate(self._states)
            ]
            return float(self._weights @ values)

        return max(state.legal_actions(), key=worth)

    def _see(self, action: int) -> None:
        """Takes in a move of chance, of which only what the seat sees is used."""
        seat, outcomes = self.player, self._played.legal_actions()
        if len(outcomes) * len(self._states) > _MOST_DEALS:
            raise ValueError(
                f"{brief(self._game)} deals hands in more than "
                f"{_MOST_DEALS:,} ways, too many for a local best response to follow."
            )
        children = [self._played.child(one) for one in outcomes]
        seen = [child.information_state_string(seat) for child in children]
        wanted = seen[outcomes.index(action)]
        is_plain = seen.count(wanted) == 1
        # The other's hands that look alike to the other are one. Where the seat sees
        # the card itself, there is one child for each hand, or none that fits.
        found: dict[str, tuple[pyspiel.State, float]] = {}
        for state, weight in zip(self._states, self._weights.tolist(), strict=True):
            for outcome, prob in state.chance_outcomes():
                if prob <= 0 or (is_plain and outcome != action):
                    continue
                child = state.child(outcome)
                if is_plain or child.information_state_string(seat) == wanted:
                    theirs = child.information_state_string(1 - seat)
                    _, before = found.get(theirs, (child, 0.0))
                    found[theirs] = child, before + weight * prob
        self._keep([*found.values()])

    def _follow(self, action: int) -> None:
        """Takes in a move of a player; the other's tells of its hand."""
        pairs = []
        for state, weight in zip(self._states, self._weights.tolist(), strict=True):
            if state.current_player() != self.player:
                weight *= dict(self._other.get_policy(state))[action]
            if weight > 0:
                pairs.append((state.child(action), weight))
        self._keep(pairs)

    def _keep(self, pairs: list[tuple[pyspiel.State, float]]) -> None:
        self._states = [state for state, _ in pairs]
        weights = np.array([weight for _, weight in pairs])
        self._weights = weights / weights.sum()

    def _value(self, state: pyspiel.State, stays: bool, draws: random.Random) -> float:
        """What the seat gets, with one hand of the other's, after its move there.

        Args:
            state: after the move, which is changed.
            stays: whether the move was to check or call.
            draws: of the cards to come.
        """
        tries = max(1, _RUNOUTS // len(self._states))
        if stays or state.is_terminal() or state.current_player() != 1 - self.player:
            return _checked_down(state, self.player, tries, draws)
        answer, folds, lost = passive_move(state), 0.0, 0.0
        for action, prob in self._other.get_policy(state):
            if action != answer and prob > 0:
                after = state.child(action)
                if after.is_terminal():
                    folds += prob
                    lost += prob * after.returns()[self.player]
        if folds >= 1:
            return lost
        state.apply_action(answer)
        return lost + (1 - folds) * _checked_down(state, self.player, tries, draws)


def _checked_down(
    state: pyspiel.State, player: int, tries: int, draws: random.Random
) -> float:
    """What a player gets if both only check and call from a state on, which is changed.

    Args:
        state: the state.
        player: the player.
        tries: about how many ways of chance are followed: all, if there are no more.
        draws: of the others.
    """
    while not (state.is_terminal() or state.is_chance_node()):
        state.apply_action(passive_move(state))
    if state.is_terminal():
        return state.returns()[player]
    outcomes = state.chance_outcomes()
    if len(outcomes) > tries:
        actions, probs = zip(*outcomes, strict=True)
        chosen = draws.choices(actions, probs, k=tries)
        outcomes = [(action, 1 / tries) for action in chosen]
    each = tries // len(outcomes)
    return sum(
        prob * _checked_down(state.child(action), player, each, draws)
        for action, prob in outcomes
        if prob > 0
    )
