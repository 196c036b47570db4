"""Local."""

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
from mccfr_spiel.policies.policy import SeatBot

_RUNOUTS = 1_000
"""Ways in which chance is followed to the end at a decision, for all hands together."""

_MOST_DEALS = 100_000
"""More hands, or ways to deal them, would take a second for each deal."""


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
