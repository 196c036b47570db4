"""`sampled_returns`: expected returns in large games, estimated by playing.

Plays use the game's compiled rules if possible, and pyspiel otherwise. In both cases,
each move of chance or of a player uses one random number, in the same order. Returns
are therefore equal to the bit.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.arenas.infosets import loading
from mccfr_spiel.arenas.infosets.string_checks import check_length
from mccfr_spiel.arenas.rules.declarations import Declared, GameError, declared_by
from mccfr_spiel.arenas.rules.state_checks import (
    check_returns,
    no_such_player,
    returns_of,
    tell_history,
)
from mccfr_spiel.arenas.tree.twin_choice import checked_twin
from mccfr_spiel.common import refusals
from mccfr_spiel.evaluation.estimates import (
    CONFIDENCE,
    Estimate,
    check_confidence,
    estimate_of,
)
from mccfr_spiel.evaluation.rule_plays import returns_by_rules
from mccfr_spiel.kernels.sampling import plain_draw_action, plain_draw_chance
from mccfr_spiel.policies.adapter import PolicyAdapter, of_each_player
from mccfr_spiel.policies.vectors import MOST_OFF


def sampled_returns(
    game: pyspiel.Game | str,
    policies: Any,
    *,
    plays: int = 10_000,
    seed: int = 0,
    confidence: float = CONFIDENCE,
    twin: bool | None = None,
) -> list[Estimate]:
    """`[P]` the players' expected returns, estimated by playing.

    Args:
        game: any game with explicit chance outcomes; simultaneous moves are allowed.
        policies: one policy for all players, or a list `[P]` with one policy per
            player. A policy is a SequencePolicy, another policy of OpenSpiel (Python or
            C++), or a dictionary information-state string -> action -> probability.
        plays: number of plays, at least 2.
        seed: seed of the plays.
        confidence: probability that the confidence interval of a player contains the
            true value.
        twin: whether to use the game's twin, which is this package's compiled version
            of an OpenSpiel game, if all policies are SequencePolicies of the game.
            None: in games whose tree has more than about half a million nodes. True:
            also in smaller games. False: never. The choice affects only the running
            time.

    Raises:
        ValueError: an argument is out of range, a policy returns no distribution, or
            `twin` is True and the game has no twin.
        GameError: the game's returns contradict its declared range or sum.
    """
    loaded = loading.load_game(game)
    asked = of_each_player(policies, loaded)
    plays = refusals.integer(plays, "plays", 2)  # an interval needs two values
    check_confidence(confidence)
    seed, twin = refusals.integer(seed, "seed", 0), checked_twin(twin, loaded)
    declared, each = declared_by(loaded), [seat.policy for seat in asked]
    returns = returns_by_rules(loaded, each, plays, seed, twin)
    try:
        for row in [] if returns is None else np.unique(returns, axis=0).tolist():
            check_returns(declared, row)
    except GameError:  # plays through pyspiel raise it again, with the history
        returns = None
    if returns is None:
        if any(seat.needs_turns() for seat in asked):
            loaded = loading.turn_based(loaded)
        generator = np.random.Generator(np.random.PCG64(seed))
        act = functools.partial(_draw_moves, asked, generator)
        how = declared, ChanceMoves(), generator, act
        returns = np.array([play_once(loaded, *how) for _ in range(plays)])
    return [estimate_of(column, confidence) for column in returns.T]


class ChanceMoves:
    """Draws chance moves in plays of one game.

    If the initial state is a chance node with more than 1,000 outcomes, these outcomes
    are cached, because listing them can take OpenSpiel a second. For example, a deal of
    two hold'em hands has 1,624,350 outcomes.
    """

    _FEW = 1_000

    def __init__(self) -> None:
        self._first: tuple[np.ndarray, np.ndarray] | None = None

    def draw(self, state: pyspiel.State, draw: float) -> int:
        """Returns the chance move at a state that a random number selects.

        Args:
            state: a chance node.
            draw: the random number, in [0, 1).
        """
        begins = not state.history()
        if not begins or self._first is None:
            actions, probs = zip(*state.chance_outcomes(), strict=True)
            if not begins or len(actions) <= self._FEW:
                return actions[plain_draw_action(probs, 0, len(probs), draw)]
            weights = np.array(probs)
            possible = weights > 0
            sums = np.cumsum(weights[possible])
            sums[-1] = 1.0
            self._first = np.array(actions)[possible], sums
        moves, sums = self._first
        return int(moves[plain_draw_chance(sums, 0, len(sums), draw)])


def play_once(
    game: pyspiel.Game,
    declared: Declared,
    chance: ChanceMoves,
    generator: np.random.Generator,
    act: Callable[[pyspiel.State], None],
) -> tuple[float, ...]:
    """Plays the game once, and returns the returns of all players.

    Args:
        game: the game.
        declared: the range and sum of returns that the game declares.
        chance: draws chance moves.
        generator: the generator of one random number per chance move.
        act: a function that applies the moves of all players who act at a state.

    Raises:
        GameError: the returns contradict the declared range or sum.
    """
    state = game.new_initial_state()
    simultaneous = pyspiel.GameType.Dynamics.SIMULTANEOUS
    is_sequential = game.get_type().dynamics != simultaneous
    try:
        while not state.is_terminal():
            check_length(game, state.move_number())
            if state.is_chance_node():
                state.apply_action(chance.draw(state, generator.random()))
            elif is_sequential and state.current_player() < 0:
                raise no_such_player(declared, state.current_player())
            else:
                act(state)
        returns = returns_of(state)
        check_returns(declared, returns)
    except Exception as error:
        tell_history(error, state)
        raise
    return returns


def _draw_moves(
    asked: Sequence[PolicyAdapter], generator: np.random.Generator, state: pyspiel.State
) -> None:
    """Draws the moves of all players who act at a state and applies them."""
    if state.is_simultaneous_node():
        players = range(len(asked))
        state.apply_actions([_drawn(asked, state, p, generator) for p in players])
    else:
        action = _drawn(asked, state, state.current_player(), generator)
        state.apply_action(action)


def _drawn(
    asked: Sequence[PolicyAdapter],
    state: pyspiel.State,
    player: int,
    generator: np.random.Generator,
) -> int:
    legal = set(state.legal_actions(player))
    if not legal:
        return 0  # OpenSpiel expects action 0 of players without legal actions
    probs = asked[player].action_probabilities(state, player)
    actions, odds = list(probs), list(probs.values())
    is_legal = all(prob == 0 or action in legal for action, prob in probs.items())
    if not (is_legal and abs(sum(odds) - 1) < MOST_OFF and min(odds) >= 0):
        raise ValueError(
            f"Player {player}'s policy returns {probs} at the state {state}: expected "
            f"a distribution over the legal actions {sorted(legal)}."
        )
    return actions[plain_draw_action(odds, 0, len(odds), generator.random())]
