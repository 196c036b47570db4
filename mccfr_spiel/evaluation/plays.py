"""Plays."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.arenas.infosets import loading
from mccfr_spiel.arenas.rules import description
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
from mccfr_spiel.policies.names import MOST_OFF
from mccfr_spiel.policies.policy import (
    Answers,
    of_each_player,
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
        twin: whether plays go over the game's compiled twin, where all policies are
            SequencePolicies of the game. By default they do in games with a tree of
            more than about half a million nodes. True uses it in smaller games, too,
            False never. It changes the time, and no result.

    Raises:
        ValueError: an argument is out of range, or a policy gives no distribution, or
            `twin` is True and the game has none.
        GameError: returns are not as the game declares.
    """
    loaded = loading.load_game(game)
    asked = of_each_player(policies, loaded)
    plays = refusals.integer(plays, "plays", 2)  # an interval needs two
    check_confidence(confidence)
    seed, twin = refusals.integer(seed, "seed", 0), checked_twin(twin, loaded)
    declared, each = description.declared_by(loaded), [one.policy for one in asked]
    returns = returns_by_rules(loaded, each, plays, seed, twin)
    try:
        for row in [] if returns is None else np.unique(returns, axis=0).tolist():
            description.check_returns(declared, row)
    except description.GameError:  # below it is told with its history
        returns = None
    if returns is None:
        if any(one.needs_turns() for one in asked):
            loaded = loading.turn_based(loaded)
        generator = np.random.Generator(np.random.PCG64(seed))
        act = functools.partial(_draw_moves, asked, generator)
        how = declared, ChanceMoves(), generator, act
        returns = np.array([play_once(loaded, *how) for _ in range(plays)])
    return [estimate_of(column, confidence) for column in returns.T]


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


def play_once(
    game: pyspiel.Game,
    declared: description.Declared,
    chance: ChanceMoves,
    generator: np.random.Generator,
    act: Callable[[pyspiel.State], None],
) -> tuple[float, ...]:
    """Plays the game once and returns the players' returns, checked.

    Args:
        game, declared: the game, and what it says of returns.
        chance, generator: chance draws one number for each of its moves.
        act: makes the move of everybody who acts in a state.
    """
    state = game.new_initial_state()
    simultaneous = pyspiel.GameType.Dynamics.SIMULTANEOUS
    is_sequential = game.get_type().dynamics != simultaneous
    try:
        while not state.is_terminal():
            loading.check_length(game, state.move_number())
            if state.is_chance_node():
                state.apply_action(chance.draw(state, generator.random()))
            elif is_sequential and state.current_player() < 0:
                raise description.no_such_player(declared, state.current_player())
            else:
                act(state)
        returns = description.returns_of(state)
        description.check_returns(declared, returns)
    except Exception as error:
        description.tell_history(error, state)
        raise
    return returns


def _draw_moves(
    asked: Sequence[Answers], generator: np.random.Generator, state: pyspiel.State
) -> None:
    """Draws the move of everybody who acts in a state and makes it."""
    if state.is_simultaneous_node():
        players = range(len(asked))
        state.apply_actions([_drawn(asked, state, p, generator) for p in players])
    else:
        action = _drawn(asked, state, state.current_player(), generator)
        state.apply_action(action)


def _drawn(
    asked: Sequence[Answers],
    state: pyspiel.State,
    player: int,
    generator: np.random.Generator,
) -> int:
    legal = set(state.legal_actions(player))
    if not legal:
        return 0  # OpenSpiel's sign, at a simultaneous node, for nothing to do
    probs = asked[player].action_probabilities(state, player)
    actions, odds = list(probs), list(probs.values())
    is_legal = all(prob == 0 or action in legal for action, prob in probs.items())
    if not (is_legal and abs(sum(odds) - 1) < MOST_OFF and min(odds) >= 0):
        raise ValueError(
            f"Player {player}'s policy gives {probs} at the state {state}, whose legal "
            f"actions are {sorted(legal)}."
        )
    return actions[plain_draw_action(odds, 0, len(odds), generator.random())]
