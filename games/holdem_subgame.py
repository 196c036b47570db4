"""A subgame of heads-up no-limit hold'em, from the flop, the turn or the river on.

`mccfr_spiel.poker.subgame` makes it, and says what its parameters mean. Chance deals
player 0 a hand, then player 1 one that fits; then the players bet, and between streets
chance deals a card that everybody sees. Deals of hands are the actions 0 to 1325, in
the order of `mccfr_spiel.poker.cards`, and deals of cards 0 to 51. Of a player's
actions 0 is to fold, 1 to check or call, and larger ones bet or raise, in the order of
their sizes.

Where an exchange of suits changes neither the first board nor the ranges, what it makes
of an information state is the same information state: its string has the cards that
stand for all of these, as `mccfr_spiel.poker.cards` says. With ranges that do not
depend on suits, AhKc and AhKd have one string on QsJh2h.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyspiel

from mccfr_spiel.arenas.rules.game import load_again, replayed
from mccfr_spiel.arenas.worlds.public_tree import (
    DEAL,
    DECISION,
    FOLD,
    SHOWDOWN,
    PublicTree,
    strengths_with,
)
from mccfr_spiel.poker.cards import DECK, HAND_NAMES, HANDS, kept, stand_for
from mccfr_spiel.poker.subgames import DEFAULTS, Betting, Node, Subgame, fits, said


def _game_type(betting: Betting | None = None) -> pyspiel.GameType:
    kinds = pyspiel.GameType
    is_raked = betting is not None and betting.takes_rake
    return kinds(
        short_name="python_holdem_subgame",
        long_name="Hold'em subgame",
        dynamics=kinds.Dynamics.SEQUENTIAL,
        chance_mode=kinds.ChanceMode.EXPLICIT_STOCHASTIC,
        information=kinds.Information.IMPERFECT_INFORMATION,
        utility=kinds.Utility.GENERAL_SUM if is_raked else kinds.Utility.ZERO_SUM,
        reward_model=kinds.RewardModel.TERMINAL,
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
        subgame: what its parameters mean.
        pot: chips in the pot at the start.
    """

    def __init__(self, parameters: dict[str, Any] | None = None) -> None:
        """Reads the parameters; called by `pyspiel.load_game`.

        Raises:
            ValueError: a parameter's value is not allowed.
        """
        given = {**DEFAULTS, **(parameters or {})}
        self.subgame = Subgame(given)
        betting, nodes = self.subgame.betting, self.subgame.nodes
        self.pot = betting.pot
        most = betting.pot / 2 + betting.stack
        is_raked = betting.takes_rake
        info = pyspiel.GameInfo(
            num_distinct_actions=1 + max(n.actions[-1] for n in nodes if n.words),
            max_chance_outcomes=len(HANDS),
            num_players=2,
            min_utility=-most,
            max_utility=most,
            utility_sum=None if is_raked else 0.0,
            max_game_length=_depth(nodes),
        )
        super().__init__(_game_type(betting), info, given)

    def __reduce__(self) -> tuple[Any, ...]:
        return load_again, (__name__, str(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> "HoldemSubgame":
        """Itself, since nothing in it changes."""
        return self

    def new_initial_state(self) -> "HoldemState":
        """The state in which player 0's hand is to be dealt."""
        return HoldemState(self)

    def max_chance_nodes_in_history(self) -> int:
        """Two hands, and a card between streets."""
        return 1 + self.subgame.betting.streets

    def make_py_observer(
        self, iig_obs_type: Any = None, params: Any = None
    ) -> "HoldemObserver":
        """An observer that writes what a player knows; it has no tensor."""
        return HoldemObserver()

    def public_tree(self) -> PublicTree:
        """The game as a tree of what both players see; H are the hands that anybody may
        hold."""
        return _Unfolded(self.subgame).public_tree()


def _depth(nodes: list[Node]) -> int:
    """The most moves of players in a history."""
    depth = [0] * len(nodes)
    for at in reversed(range(len(nodes))):
        below = [depth[child] for child in nodes[at].children]
        depth[at] = max(below, default=0) + (nodes[at].kind == DECISION)
    return depth[0]


class HoldemState(pyspiel.State):
    """A state: the hands, the cards that were dealt, and the node of the betting.

    Attributes:
        subgame: the game's.
        hands: the players' hands, once they are dealt.
        board: the cards on the table.
        node: the number of the betting's node.
        words: what happened since the hands were dealt.
    """

    def __init__(self, game: HoldemSubgame) -> None:
        """Makes the first state; called by `Game.new_initial_state`."""
        super().__init__(game)
        self.subgame = game.subgame
        self.hands: tuple[int, ...] = ()
        self.board = game.subgame.board
        self.node = 0
        self.words = ""

    def __reduce__(self) -> tuple[Any, ...]:
        return replayed, (self.get_game(), self.history())

    def current_player(self) -> int:
        """The player who acts, or CHANCE or TERMINAL."""
        node = self.subgame.nodes[self.node]
        if len(self.hands) < 2 or node.kind == DEAL:
            return pyspiel.PlayerId.CHANCE
        return node.player if node.kind == DECISION else pyspiel.PlayerId.TERMINAL

    def is_terminal(self) -> bool:
        """Whether somebody has folded, or the hands are shown."""
        return self.subgame.nodes[self.node].kind in (FOLD, SHOWDOWN)

    def _legal_actions(self, player: int) -> list[int]:
        if player != self.current_player():
            return []
        return [*self.subgame.nodes[self.node].actions]

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """The possible hands or cards, and their probabilities."""
        if len(self.hands) == 2:
            known = {*self.board, *HANDS[[*self.hands]].ravel().tolist()}
            left = [card for card in range(len(DECK)) if card not in known]
            return [(card, 1 / len(left)) for card in left]
        subgame = self.subgame
        dealt = subgame.deals_after(*self.hands) if self.hands else subgame.deals[0]
        return [(hand, dealt[hand].item()) for hand in np.flatnonzero(dealt).tolist()]

    def _apply_action(self, action: int) -> None:
        if len(self.hands) < 2:
            self.hands += (action,)
            return
        node = self.subgame.nodes[self.node]
        self.words = said(self.words, node, action)
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
        """Chips, relative to both having paid half of the pot; 0 before the end."""
        if not self.is_terminal():
            return [0.0, 0.0]
        node = self.subgame.nodes[self.node]
        result = 0
        if node.kind == SHOWDOWN:
            hands = HANDS[[*self.hands]]
            first, second = strengths_with(hands, self.board).tolist()
            result = 1 + (first < second) - (first > second)
        return _pays(self.subgame.betting, node)[result].tolist()

    def __str__(self) -> str:
        hands = " ".join(HAND_NAMES[hand] for hand in self.hands)
        return f"{hands or 'no hands'} {self.subgame.board_text}:{self.words}"


def _info_state(subgame: Subgame, hand: int, words: str) -> str:
    """What a player knows: AhKh 4s8hTc: Check, Bet 250, Call / 9h: Check."""
    return f"{HAND_NAMES[hand]} {subgame.board_text}:{words}"


def _pays(betting: Betting, node: Node) -> np.ndarray:
    """`[3, 2]` what the players get where player 0 wins, ties and loses; if somebody
    has folded, what they get is in all rows."""
    win, loss, tie = betting.payoffs(node.paid)
    rows = np.array([[win, loss], [tie, tie], [loss, win]])
    return rows[[2 if node.player == 0 else 0] * 3] if node.kind == FOLD else rows


class HoldemObserver:
    """Writes what a player knows, as OpenSpiel's observation.py wants it.

    Attributes:
        tensor, dict: empty.
    """

    def __init__(self) -> None:
        """Makes an observer of information states, which serve as observations, too."""
        self.tensor = np.zeros(0, np.float32)
        self.dict: dict[str, np.ndarray] = {}

    def set_from(self, state: HoldemState, player: int) -> None:
        """Does nothing: there is no tensor."""

    def string_from(self, state: HoldemState, player: int) -> str:
        """What a player knows."""
        if len(state.hands) <= player:
            return f"no hand {state.subgame.board_text}"
        subgame, hand, words = state.subgame, state.hands[player], state.words
        if len(subgame.exchanges) > 1:
            way, left = kept(subgame.exchanges, state.board[len(subgame.board) :])
            hand = int(stand_for(hand, way, left))
            words = _DEALT.sub(lambda m: f"/ {DECK[way[DECK.index(m[1])]]}:", words)
        return _info_state(subgame, hand, words)


_DEALT = re.compile("/ (..):")


class _Deals(NamedTuple):
    """The deals of a street, which stand for all; D is how many they are.

    Attributes:
        cards: `[D, street]` those dealt since the start.
        above: `[D]` the deal of the street before, ascending.
        chance: `[D]` how likely chance deals the last card, or one that an exchange of
            suits makes of it, if neither player holds it.
    """

    cards: np.ndarray
    above: np.ndarray
    chance: np.ndarray


def _deals_after(subgame: Subgame, before: _Deals) -> _Deals:
    """The deals of the next street."""
    cards, above, chance = [], [], []
    for number, deal in enumerate(before.cards.tolist()):
        left = kept(subgame.exchanges, deal)[1]
        known = {*subgame.board, *deal}
        drawn = len(DECK) - len(known) - 4  # cards that are in no hand
        for card in {*range(len(DECK))} - known:
            equal = {*left[:, card].tolist()}
            if card == min(equal):
                cards.append([*deal, card])
                above.append(number)
                chance.append(len(equal) / drawn)
    return _Deals(np.array(cards), np.array(above), np.array(chance))


class _Unfolded:
    """The betting tree once for all cards that may be dealt.

    A *deal* of a street is the cards dealt since the start, in order. Each node of the
    betting stands for one node of the public tree for each deal of its street. The
    children of these nodes lie in one block, those of the first deal first.

    Attributes:
        deals: those of each street.
        at: for each node of the betting `[D]` its nodes in the public tree.
        betting_node, deal, parent: `[N]` of each node of the public tree.
        hands: `[H]` numbers of the hands that anybody may hold.
    """

    def __init__(self, subgame: Subgame) -> None:
        """Numbers the nodes."""
        self.subgame = subgame
        self.hands = np.flatnonzero(subgame.ranges.any(axis=0))
        self._named = -1, ""
        none = np.zeros(1, np.int64)
        self.deals = [_Deals(np.zeros((1, 0), np.int64), none, np.ones(1))]
        for _ in range(1, subgame.betting.streets):
            self.deals.append(_deals_after(subgame, self.deals[-1]))
        nodes = subgame.nodes
        self.at = [none] * len(nodes)
        parents = [none]
        size = 1
        for at, node in zip(self.at, nodes, strict=True):
            if node.kind == DEAL:
                above = self.deals[node.street + 1].above
                parents.append(at[above])
                self.at[node.children[0]] = size + np.arange(len(above))
            elif node.children:
                below = len(node.children)
                parents.append(np.repeat(at, below))
                numbers = size + np.arange(len(at) * below).reshape(-1, below)
                for child, mine in zip(node.children, numbers.T, strict=True):
                    self.at[child] = mine
            else:
                continue
            size += len(parents[-1])
        self.parent = np.concatenate(parents)
        self._join_what_is_below_a_card()
        self.betting_node = np.zeros(size, np.int32)
        self.deal = np.zeros(size, np.int32)
        for number, at in enumerate(self.at):
            self.betting_node[at] = number
            self.deal[at] = np.arange(len(at))

    def _join_what_is_below_a_card(self) -> None:
        """Numbers the nodes anew, so that those below a card follow each other; threads
        share a pass by what is below the cards of the turn. Children still do."""
        nodes, size = self.subgame.nodes, len(self.parent)
        starts = {node.children[0] for node in nodes if node.kind == DEAL}
        # The node at which the turn begins, and the river, if it is above.
        begun = np.full((size, 2), -1)
        for number, node in enumerate(nodes):
            for child in node.children:
                below = self.at[child]
                begun[below] = begun[self.parent[below]]
                if number in starts:
                    begun[below, node.street - 1] = self.parent[below]
        order = np.lexsort((np.arange(size), begun[:, 1], begun[:, 0]))
        new = np.argsort(order)
        self.at = [new[at] for at in self.at]
        self.parent = new[self.parent[order]]

    def public_tree(self) -> PublicTree:
        """The arrays of the public tree."""
        subgame, nodes, of = self.subgame, self.subgame.nodes, self.betting_node
        first_child = np.zeros(len(of), np.int64)
        num_children = np.zeros(len(of), np.int64)
        action = np.zeros(len(of), np.int64)
        chance = np.ones(len(of))
        for at, node in zip(self.at, nodes, strict=True):
            if not node.children:
                continue
            below = self.at[node.children[0]]
            if node.kind == DEAL:
                deals = self.deals[node.street + 1]
                starts = np.searchsorted(deals.above, np.arange(len(at) + 1))
                num_children[at] = np.diff(starts)
                first_child[at] = below[starts[:-1]]
                chance[below] = deals.chance
            else:
                num_children[at], first_child[at] = len(node.children), below
                for child, one in zip(node.children, node.actions, strict=True):
                    action[self.at[child]] = one
        boards, rows, strength = self._boards()
        street = np.array([node.street for node in nodes])[of]
        return PublicTree(
            hole_cards=HANDS[self.hands],
            weights=subgame.ranges[:, self.hands],
            kind=np.array([node.kind for node in nodes])[of],
            player=np.array([max(node.player, 0) for node in nodes])[of],
            first_child=first_child,
            num_children=num_children,
            action=action,
            board=np.choose(street, [sets[self.deal % len(sets)] for sets in boards]),
            chance=chance,
            strength_row=rows[self.deal % len(rows)],
            strengths=strength,
            pays=np.stack([_pays(subgame.betting, node) for node in nodes])[of],
            info_state=self.info_state,
            history=self.history,
            orbits=self.orbits if len(subgame.exchanges) > 1 else None,
            locate=self.locate,
        )

    def orbits(self, node: int) -> np.ndarray:
        """See `PublicTree.orbits`."""
        way, left = kept(self.subgame.exchanges, self._dealt(node))
        return np.searchsorted(self.hands, stand_for(self.hands, way, left))

    def _dealt(self, node: int) -> Sequence[int]:
        """The cards dealt since the start."""
        street = self.subgame.nodes[self.betting_node[node]].street
        return self.deals[street].cards[self.deal[node]].tolist()

    def locate(self, info_state: str) -> tuple[int, int]:
        """See `PublicTree.locate`."""
        nodes, at = self.subgame.nodes, 0
        name, _, words = info_state.partition(f" {self.subgame.board_text}:")
        first, *later = words.split(" / ")
        dealt = [DECK.index(one[:2]) for one in later]
        for steps in (first, *(one[3:] for one in later)):
            if nodes[at].kind == DEAL:
                at = nodes[at].children[0]
            for word in filter(None, steps.strip().split(", ")):
                at = nodes[at].children[nodes[at].words.index(word)]
        deal = self.deals[nodes[at].street].cards.tolist().index(dealt)
        hand = self.hands.tolist().index(HAND_NAMES.index(name))
        return int(self.at[at][deal]), hand

    def _boards(self) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
        """For each street `[D]` the cards on the table as a set; for the deals of the
        river the row of each in the third array, which are strengths of the hands."""
        one = np.uint64(1)
        start = np.bitwise_or.reduce(one << np.array(self.subgame.board, np.uint64))
        sets = [
            start | np.bitwise_or.reduce(one << deals.cards.astype(np.uint64), axis=1)
            for deals in self.deals
        ]
        _, chosen, rows = np.unique(sets[-1], return_index=True, return_inverse=True)
        hands = HANDS[self.hands]
        found = np.empty((len(chosen), len(hands)), np.int32)
        for row, deal in enumerate(self.deals[-1].cards[chosen]):
            found[row] = strengths_with(hands, [*self.subgame.board, *deal])
        return sets, rows, found

    def _path(self, node: int) -> list[int]:
        """The actions of players and the deals of cards that lead to a node."""
        actions: list[int] = []
        while node:
            above = self.parent[node]
            before = self.subgame.nodes[self.betting_node[above]]
            if before.kind == DEAL:
                actions.append(self._dealt(node)[-1])
            else:
                child = before.children.index(self.betting_node[node])
                actions.append(before.actions[child])
            node = above
        return actions[::-1]

    def info_state(self, node: int, hand: int) -> str:
        """The string of the player who acts at a node and holds a hand."""
        if self._named[0] != node:  # all hands of a node are asked for together
            self._named = node, self._words(node)
        return _info_state(self.subgame, self.hands[hand], self._named[1])

    def _words(self, node: int) -> str:
        words, at = "", 0
        for action in self._path(node):
            above = self.subgame.nodes[at]
            words = said(words, above, action)
            chosen = 0 if above.kind == DEAL else above.actions.index(action)
            at = above.children[chosen]
        return words

    def history(self, node: int, hand: int) -> list[int]:
        """A history to a node at which its player holds a hand."""
        subgame = self.subgame
        here = subgame.nodes[self.betting_node[node]]
        own = int(self.hands[hand])
        free = fits()[own] & ~np.isin(HANDS, self._dealt(node)).any(axis=1)
        other = int(np.flatnonzero(free & (subgame.ranges[1 - here.player] > 0))[0])
        hands = [own, other] if here.player == 0 else [other, own]
        return [*hands, *self._path(node)]


pyspiel.register_game(_game_type(), HoldemSubgame)
