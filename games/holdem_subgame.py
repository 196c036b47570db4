"""A subgame of heads-up no-limit hold'em that starts at the flop, turn or river.

`mccfr_spiel.poker.subgame` makes it and documents the parameters. Chance deals a hand
to player 0 and a hand to player 1; then the players bet, and between streets chance
deals a public card.

| actions | meaning |
|---|---|
| 0 .. 1325 | chance deals a hand, in the order of `mccfr_spiel.poker.cards` |
| 0 .. 51 | chance deals a public card |
| 0, 1, 2, ... | a player folds, checks or calls, bets or raises (by ascending size) |

If suits can be exchanged without a change of the first board and the ranges, equivalent
information states have the same string, with the cards of one representative (see
`mccfr_spiel.poker.cards`). For example, with ranges that do not depend on suits, AhKc
and AhKd have the same string on QsJh2h.
"""

import re
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.arenas.rules.game import load_again, replayed
from mccfr_spiel.arenas.worlds.hand_strength import strengths_with
from mccfr_spiel.arenas.worlds.public_tree import (
    DEAL,
    DECISION,
    FOLD,
    SHOWDOWN,
    PublicTree,
)
from mccfr_spiel.poker.betting import Betting, Node, append_step
from mccfr_spiel.poker.cards import DECK, HAND_NAMES, HANDS
from mccfr_spiel.poker.subgames import DEFAULTS, Subgame
from mccfr_spiel.poker.suits import canonical_deal, representatives

from .holdem_public_tree import UnfoldedBetting, info_state_text, payoffs_at


def _game_type(betting: Betting | None = None) -> pyspiel.GameType:
    classes = pyspiel.GameType
    is_raked = betting is not None and betting.takes_rake
    return classes(
        short_name="python_holdem_subgame",
        long_name="Hold'em subgame",
        dynamics=classes.Dynamics.SEQUENTIAL,
        chance_mode=classes.ChanceMode.EXPLICIT_STOCHASTIC,
        information=classes.Information.IMPERFECT_INFORMATION,
        utility=classes.Utility.GENERAL_SUM if is_raked else classes.Utility.ZERO_SUM,
        reward_model=classes.RewardModel.TERMINAL,
        max_num_players=2,
        min_num_players=2,
        provides_information_state_string=True,
        provides_information_state_tensor=False,
        provides_observation_string=True,
        provides_observation_tensor=False,
        parameter_specification=dict(DEFAULTS),
    )


class HoldemSubgame(pyspiel.Game):
    """The game.

    Attributes:
        subgame: the parameters as values.
        pot: chips in the pot at the start.
    """

    def __init__(self, parameters: dict[str, Any] | None = None) -> None:
        """Reads the parameters; called by `pyspiel.load_game`.

        Raises:
            ValueError: a parameter's value is not allowed.
        """
        values = {**DEFAULTS, **(parameters or {})}
        self.subgame = Subgame(values)
        betting, nodes = self.subgame.betting, self.subgame.nodes
        self.pot = betting.pot
        max_utility = betting.pot / 2 + betting.stack
        is_raked = betting.takes_rake
        info = pyspiel.GameInfo(
            num_distinct_actions=1 + max(n.actions[-1] for n in nodes if n.words),
            max_chance_outcomes=len(HANDS),
            num_players=2,
            min_utility=-max_utility,
            max_utility=max_utility,
            utility_sum=None if is_raked else 0.0,
            max_game_length=_depth(nodes),
        )
        super().__init__(_game_type(betting), info, values)

    def __reduce__(self) -> tuple[Any, ...]:
        return load_again, (__name__, str(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> "HoldemSubgame":
        """Returns the same object, because it never changes."""
        return self

    def new_initial_state(self) -> "HoldemState":
        """The initial state, in which chance deals player 0's hand."""
        return HoldemState(self)

    def max_chance_nodes_in_history(self) -> int:
        """Number of chance moves: two hands, and a card between streets."""
        return 1 + self.subgame.betting.streets

    def make_py_observer(
        self, iig_obs_type: Any = None, params: Any = None
    ) -> "HoldemObserver":
        """An observer of information states, without a tensor."""
        return HoldemObserver()

    def public_tree(self) -> PublicTree:
        """The public tree. H counts the hands in the range of either player."""
        return UnfoldedBetting(self.subgame).public_tree()


def _depth(nodes: list[Node]) -> int:
    """Largest number of players' moves in a history."""
    depth = [0] * len(nodes)
    for at in reversed(range(len(nodes))):
        below = [depth[child] for child in nodes[at].children]
        depth[at] = max(below, default=0) + (nodes[at].kind == DECISION)
    return depth[0]


class HoldemState(pyspiel.State):
    """A state: hands, public cards and the node of the betting tree.

    Attributes:
        subgame: the subgame.
        hands: hands dealt so far.
        board: public cards.
        node: number of the node of the betting tree.
        words: actions and public cards since the hands were dealt, as text.
    """

    def __init__(self, game: HoldemSubgame) -> None:
        """Makes the initial state."""
        super().__init__(game)
        self.subgame = game.subgame
        self.hands: tuple[int, ...] = ()
        self.board = game.subgame.board
        self.node = 0
        self.words = ""

    def __reduce__(self) -> tuple[Any, ...]:
        return replayed, (self.get_game(), self.history())

    def current_player(self) -> int:
        """The acting player, CHANCE or TERMINAL."""
        node = self.subgame.nodes[self.node]
        if len(self.hands) < 2 or node.kind == DEAL:
            return pyspiel.PlayerId.CHANCE
        return node.player if node.kind == DECISION else pyspiel.PlayerId.TERMINAL

    def is_terminal(self) -> bool:
        """Whether a player has folded or the showdown is reached."""
        return self.subgame.nodes[self.node].kind in (FOLD, SHOWDOWN)

    def _legal_actions(self, player: int) -> list[int]:
        if player != self.current_player():
            return []
        return [*self.subgame.nodes[self.node].actions]

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Hands or cards that chance can deal, with their probabilities."""
        if len(self.hands) == 2:
            dealt = {*self.board, *HANDS[[*self.hands]].ravel().tolist()}
            left = [card for card in range(len(DECK)) if card not in dealt]
            return [(card, 1 / len(left)) for card in left]
        subgame = self.subgame
        probs = subgame.deals_after(*self.hands) if self.hands else subgame.deals[0]
        return [(hand, probs[hand].item()) for hand in np.flatnonzero(probs).tolist()]

    def _apply_action(self, action: int) -> None:
        if len(self.hands) < 2:
            self.hands += (action,)
            return
        node = self.subgame.nodes[self.node]
        self.words = append_step(self.words, node, action)
        if node.kind == DEAL:
            self.board += (action,)
            self.node = node.children[0]
        else:
            self.node = node.children[node.actions.index(action)]

    def _action_to_string(self, player: int, action: int) -> str:
        if player != pyspiel.PlayerId.CHANCE:
            node = self.subgame.nodes[self.node]
            return node.words[node.actions.index(action)]
        return DECK[action] if len(self.hands) == 2 else HAND_NAMES[action]

    def returns(self) -> list[float]:
        """Chips won, if each player has paid half of the pot; zeros before the end."""
        if not self.is_terminal():
            return [0.0, 0.0]
        node = self.subgame.nodes[self.node]
        result = 0
        if node.kind == SHOWDOWN:
            hands = HANDS[[*self.hands]]
            first, second = strengths_with(hands, self.board).tolist()
            result = 1 + (first < second) - (first > second)
        return payoffs_at(self.subgame.betting, node)[result].tolist()

    def __str__(self) -> str:
        hands = " ".join(HAND_NAMES[hand] for hand in self.hands)
        return f"{hands or 'no hands'} {self.subgame.board_text}:{self.words}"


class HoldemObserver:
    """Writes information-state strings, with OpenSpiel's interface of observers.

    Information states serve as observations, too.

    Attributes:
        tensor: empty.
        dict: empty.
    """

    def __init__(self) -> None:
        """Makes an observer."""
        self.tensor = np.zeros(0, np.float32)
        self.dict: dict[str, np.ndarray] = {}

    def set_from(self, state: HoldemState, player: int) -> None:
        """Does nothing, because there is no tensor."""

    def string_from(self, state: HoldemState, player: int) -> str:
        """The information-state string of a player."""
        if len(state.hands) <= player:
            return f"no hand {state.subgame.board_text}"
        subgame, hand, words = state.subgame, state.hands[player], state.words
        if len(subgame.exchanges) > 1:
            dealt = state.board[len(subgame.board) :]
            exchange, others = canonical_deal(subgame.exchanges, dealt)
            hand = int(representatives(hand, exchange, others))
            words = _DEALT.sub(
                lambda match: f"/ {DECK[exchange[DECK.index(match[1])]]}:", words
            )
        return info_state_text(subgame, hand, words)


_DEALT = re.compile("/ (..):")


pyspiel.register_game(_game_type(), HoldemSubgame)
