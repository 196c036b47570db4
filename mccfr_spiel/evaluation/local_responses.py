"""`local_best_response`: a local best response in poker (Lisy, Bowling 2017).

A local best response is a strategy against a known policy of the opponent, computed
without the game's tree. At each decision it computes the probability of each hand of
the opponent by Bayes' rule, and plays the move with the highest value. The value of a
check or call is the return if both players check and call until the end of the hand.
For the value of a bet, the opponent folds with the probability of the policy, and
otherwise calls; then both players check and call. The expected return of the strategy
is at most that of a best response.
"""

import random
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.arenas.infosets.loading import load_game, turn_based
from mccfr_spiel.common import refusals
from mccfr_spiel.common.display import brief
from mccfr_spiel.evaluation.duplicate_play import bots_of, duplicate_returns
from mccfr_spiel.evaluation.estimates import CONFIDENCE, Estimate
from mccfr_spiel.evaluation.poker_moves import passive_move
from mccfr_spiel.policies.bots import (
    SeatBot,
)

_RUNOUTS = 1_000
"""Approximate number of chance outcomes that are followed to the end of the game for
each move, for all hands of the opponent together."""

_MOST_DEALS = 100_000
"""The largest product of the opponent's hands and the outcomes of a chance move. Larger
products would need more than a second per deal."""


def local_best_response(
    game: pyspiel.Game | str,
    policy: Any,
    *,
    deals: int = 1_000,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """The expected return of a local best response to a policy, by duplicate deals.

        ms.evaluation.local_best_response(game, policy, deals=500)

    In a zero-sum game the expected return is a lower bound on `exploitability`. It may
    be negative; the bound is then useless, because exploitability is at least 0. The
    computation needs no tree. In each deal the policy is looked up for all hands of the
    opponent, at every decision of the opponent and for every bet that the response
    considers.

    Args:
        game: two-player poker: hands are dealt first, both players observe all moves,
            and the names of moves contain check and call, or are Pass and Bet as in
            kuhn_poker.
        policy: the opponent's policy, as in `duplicate_returns`. Bots must provide
            their policies.
        deals, seed, confidence: as in `duplicate_returns`.

    Returns:
        The estimate of the mean over both seats. Its field `plays` is the number of
        deals.

    Raises:
        ValueError: see `duplicate_returns`; a bot provides no policy; the game is not
            poker of this kind, or has more than 100,000 deals.
    """
    source = load_game(game)
    seed = refusals.integer(seed, "seed", 0)
    bots = bots_of(policy, source, seed)
    if not all(bot.provides_policy() for bot in bots):
        raise ValueError(
            "A local best response needs the opponent's probabilities: pass a policy, "
            "or bots whose provides_policy() is True."
        )
    played = turn_based(source)
    responses = [
        _LocalBestResponse(played, seat, bots[1 - seat], seed) for seat in range(2)
    ]
    how = {"deals": deals, "seed": seed, "confidence": confidence}
    return duplicate_returns(source, responses, bots, **how)


class _LocalBestResponse(SeatBot):
    """A bot that plays the local best response for one player.

    For each possible hand of the opponent, the bot stores a state and the probability
    of the hand. The state equals the played state in everything that the bot's player
    observes.
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
        """Forgets the previous deal."""
        self._played = self._game.new_initial_state()
        self._states = [self._played.clone()]
        self._weights = np.ones(1)

    def step(self, state: pyspiel.State) -> int:
        """Returns the move with the highest estimated value."""
        for move in state.full_history()[len(self._played.history()) :]:
            if self._played.is_chance_node():
                self._see(move.action)
            else:
                self._follow(move.action)
            self._played.apply_action(move.action)
        seed, stays = self._draws.getrandbits(48), passive_move(state)

        def worth(action: int) -> float:
            # The seeds do not depend on the action, so all actions are evaluated with
            # the same future cards.
            values = [
                self._value(s.child(action), action == stays, random.Random(seed + k))
                for k, s in enumerate(self._states)
            ]
            return float(self._weights @ values)

        return max(state.legal_actions(), key=worth)

    def _see(self, action: int) -> None:
        """Updates the possible hands of the opponent after a chance move.

        Only observations of the bot's player are used.

        Args:
            action: the chance move in the played state.
        """
        seat, outcomes = self.player, self._played.legal_actions()
        if len(outcomes) * len(self._states) > _MOST_DEALS:
            raise ValueError(
                f"{brief(self._game)} has more than {_MOST_DEALS:,} possible deals, "
                "too many for a local best response. Use learned_response instead."
            )
        children = [self._played.child(outcome) for outcome in outcomes]
        seen = [child.information_state_string(seat) for child in children]
        wanted = seen[outcomes.index(action)]
        is_plain = seen.count(wanted) == 1
        # States in which the opponent has the same information state are merged, and
        # their probabilities added. If the bot's player observes the chance move
        # completely (`is_plain`), only the same move is possible in each state.
        merged: dict[str, tuple[pyspiel.State, float]] = {}
        for state, weight in zip(self._states, self._weights.tolist(), strict=True):
            for outcome, prob in state.chance_outcomes():
                if prob <= 0 or (is_plain and outcome != action):
                    continue
                child = state.child(outcome)
                if is_plain or child.information_state_string(seat) == wanted:
                    theirs = child.information_state_string(1 - seat)
                    _, before = merged.get(theirs, (child, 0.0))
                    merged[theirs] = child, before + weight * prob
        self._keep([*merged.values()])

    def _follow(self, action: int) -> None:
        """Updates the possible hands of the opponent after a player's move.

        A move of the opponent changes the probabilities of the hands by Bayes' rule.
        """
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
        """The estimated return of the bot's player after a move, for one hand of the
        opponent.

        Args:
            state: the state after the move; it is modified.
            stays: whether the move was a check or call.
            draws: generator for the future cards.
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
    """A player's expected return if both players only check and call from a state on.

    Args:
        state: the state; it is modified.
        player: the player.
        tries: approximate number of outcomes of chance moves to follow. If there are
            more outcomes, they are sampled.
        draws: generator for the sampled outcomes.
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
