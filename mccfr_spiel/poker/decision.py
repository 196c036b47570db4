"""A decision of a subgame: reaches, frequencies, equities and EVs of all hands."""

import dataclasses
import functools
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.poker.cards import DECK, HAND_NAMES, HANDS, hand
from mccfr_spiel.poker.showdowns import equities_against
from mccfr_spiel.poker.subgames import compatible


class HandDecision(NamedTuple):
    """The policy of one hand at a decision.

    Attributes:
        hand: name of the hand, such as "AhKh".
        weight: weight of the hand in the starting range times the probability of the
            player's own actions.
        equity: share of the pot that the hand wins if nobody bets any more.
        ev: EV of the hand under the policy.
        frequencies: action -> frequency.
        action_evs: action -> EV.
    """

    hand: str
    weight: float
    equity: float
    ev: float
    frequencies: dict[str, float]
    action_evs: dict[str, float]


@dataclasses.dataclass(frozen=True, eq=False)
class Decision:
    """A decision and the n hands that may be held there.

        facing = study.decision("Check, Bet 75")
        facing["AhKh"].frequencies     # {"Fold": 0.0, "Call": 0.83, ...}

    Attributes:
        words: actions and cards before the decision, as the game names them.
        board: public cards.
        player: the acting player.
        actions: `[A]` names of the actions.
        hands: `[n]` numbers of hands, see `cards.HANDS`.
        infosets: `[n]` numbers of the hands' infosets in the tree.
        weights: `[2, 1326]` reach of both players with each hand: the weight in the
            range times the probability of the player's own actions.
        frequencies: `[n, A]` the policy.
        action_evs: `[n, A]` EV of each action; NaN for hands that meet no hand of the
            other player here.
        evs: `[n]` EV under the policy.
        hand_evs: `[2, 1326]` EV of both players' hands here; NaN for hands that a
            player cannot hold or that meet no hand of the other player.
        pot: chips in the pot, bets of this street included.
        stacks: `[2]` chips that each player has left.
    """

    words: str
    board: tuple[int, ...]
    player: int
    actions: tuple[str, ...]
    hands: np.ndarray
    infosets: np.ndarray
    weights: np.ndarray
    frequencies: np.ndarray
    action_evs: np.ndarray
    evs: np.ndarray
    hand_evs: np.ndarray
    pot: float
    stacks: tuple[float, float]

    def __getitem__(self, name: str) -> HandDecision:
        """The policy of one hand.

        Args:
            name: two cards in any order, such as "AhKh".

        Raises:
            KeyError: the acting player cannot hold the hand here.
            ValueError: the text is not a hand.
        """
        number = hand(name)
        rows = np.flatnonzero(self.hands == number)
        if not len(rows):
            on_board = [DECK[c] for c in HANDS[number].tolist() if c in self.board]
            why = "it is not in the ranges"
            if on_board:
                why = f"{' and '.join(on_board)} is on the board"
            raise KeyError(
                f"Player {self.player} cannot hold {HAND_NAMES[number]} here: {why}. "
                "`hands` lists the possible hands."
            )
        row = int(rows[0])
        frequencies, evs = self.frequencies[row].tolist(), self.action_evs[row].tolist()
        return HandDecision(
            HAND_NAMES[number],
            float(self.weights[self.player, number]),
            float(self.equities()[row]),
            float(self.evs[row]),
            dict(zip(self.actions, frequencies, strict=True)),
            dict(zip(self.actions, evs, strict=True)),
        )

    def masses(self, player: int) -> np.ndarray:
        """`[1326]` reach of a player's hands times that of the compatible hands of the
        other player; proportional to the probabilities of the hands here.
        """
        return self.weights[player] * (compatible() @ self.weights[1 - player])

    def totals(self) -> np.ndarray:
        """`[A]` frequency of each action over all hands; NaN for a decision that is
        never reached.
        """
        return mean_of(self.masses(self.player)[self.hands], self.frequencies)

    def node_evs(self) -> np.ndarray:
        """`[2]` EV of each player here, over all hands; NaN for a decision that is
        never reached.
        """
        return np.array(
            [mean_of(self.masses(player), self.hand_evs[player]) for player in range(2)]
        )

    def node_equities(self) -> np.ndarray:
        """`[2]` equity of each player's range here; NaN for a decision that is never
        reached.
        """
        masses = self.masses(self.player)[self.hands]
        mine = mean_of(masses, self.equities())
        both = np.array([mine, 1.0 - mine])
        return both[::-1] if self.player else both

    def equities(self) -> np.ndarray:
        """`[n]` equity of each hand against the other player's hands at this decision;
        NaN for hands that meet none of them.
        """
        return self._equities

    @functools.cached_property
    def _equities(self) -> np.ndarray:
        opponent = self.weights[1 - self.player]
        return equities_against(self.board, opponent)[self.hands]


def steps_of(history: str | Sequence[int | str]) -> Sequence[int | str]:
    """The steps of a history, also of a text such as "Check, Check, Qd, Bet 20".

    Raises:
        ValueError: the history is neither a text nor a sequence.
    """
    if isinstance(history, Sequence | np.ndarray) and not isinstance(
        history, str | bytes
    ):
        return history
    if not isinstance(history, str):
        raise ValueError(
            f'history={history!r} must be a text, such as "Check, Bet 75", or a list '
            "of actions and cards."
        )
    parts = re.split("[,/:]", history)
    return [part.strip() for part in parts if part.strip()]


def mean_of(weights: np.ndarray, values: np.ndarray) -> Any:
    """Weighted mean over the first axis, without entries of weight 0; NaN if all
    weights are 0.

    Args:
        weights: `[n]` weights, at least 0.
        values: `[n]` or `[n, A]` values.
    """
    held = weights > 0
    if not held.any():
        return np.full(values.shape[1:], np.nan)[()]
    return weights[held] @ values[held] / weights[held].sum()
