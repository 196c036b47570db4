"""The public tree of a hold'em subgame: the betting tree for all public cards.

Where suits can be exchanged without a change of the first board and the ranges, one
deal represents all equivalent ones, as in `mccfr_spiel.poker.suits`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mccfr_spiel.arenas.worlds.hand_strength import strengths_with
from mccfr_spiel.arenas.worlds.public_tree import DEAL, FOLD, PublicTree
from mccfr_spiel.poker.betting import Betting, Node, append_step
from mccfr_spiel.poker.cards import DECK, HAND_NAMES, HANDS
from mccfr_spiel.poker.subgames import Subgame, compatible
from mccfr_spiel.poker.suits import canonical_deal, representatives


def info_state_text(subgame: Subgame, hand: int, events: str) -> str:
    """An information-state string such as AhKh 4s8hTc: Check, Bet 250, Call / 9h:.

    Args:
        subgame: the subgame.
        hand: the player's hand.
        events: actions and public cards since the start, as `append_step` writes them.
    """
    return f"{HAND_NAMES[hand]} {subgame.board_text}:{events}"


def payoffs_at(betting: Betting, node: Node) -> np.ndarray:
    """`[3, 2]` returns of both players if player 0 wins, ties or loses.

    After a fold, all rows are equal.
    """
    win, loss, tie = betting.payoffs(node.paid)
    rows = np.array([[win, loss], [tie, tie], [loss, win]])
    return rows[[2 if node.player == 0 else 0] * 3] if node.kind == FOLD else rows


class _Deals(NamedTuple):
    """The deals of a street, one of each set of equivalent deals; D deals.

    Attributes:
        cards: `[D, street]` cards dealt since the start.
        above: `[D]` deal of the previous street, ascending.
        chance: `[D]` probability of the last card or an equivalent one, given that
            neither player holds it.
    """

    cards: np.ndarray
    above: np.ndarray
    chance: np.ndarray


def _deals_after(subgame: Subgame, before: _Deals) -> _Deals:
    """The deals of the next street."""
    cards, above, chance = [], [], []
    for number, deal in enumerate(before.cards.tolist()):
        exchanges = canonical_deal(subgame.exchanges, deal)[1]
        visible = {*subgame.board, *deal}
        hidden = len(DECK) - len(visible) - 4  # cards in no hand
        for card in {*range(len(DECK))} - visible:
            equivalent = {*exchanges[:, card].tolist()}
            if card == min(equivalent):
                cards.append([*deal, card])
                above.append(number)
                chance.append(len(equivalent) / hidden)
    return _Deals(np.array(cards), np.array(above), np.array(chance))


class UnfoldedBetting:
    """The betting tree of a subgame, repeated for each deal of public cards.

    A *deal* of a street is the sequence of cards dealt since the start. Each node of
    the betting tree becomes one node of the public tree for each deal of its street.
    Siblings have consecutive numbers.

    Shapes: N nodes of the public tree, D deals of a street, H hands.

    Attributes:
        subgame: the subgame.
        deals: deals of each street.
        at: `[D]` nodes of the public tree for each node of the betting tree.
        betting_node: `[N]` node of the betting tree.
        deal: `[N]` number of the deal.
        parent: `[N]` parent node.
        hands: `[H]` hands with a positive weight for either player.
    """

    def __init__(self, subgame: Subgame) -> None:
        """Numbers the nodes of the public tree."""
        self.subgame = subgame
        self.hands = np.flatnonzero(subgame.ranges.any(axis=0))
        self._named = -1, ""
        root = np.zeros(1, np.int64)
        self.deals = [_Deals(np.zeros((1, 0), np.int64), root, np.ones(1))]
        for _ in range(1, subgame.betting.streets):
            self.deals.append(_deals_after(subgame, self.deals[-1]))
        nodes = subgame.nodes
        self.at = [root] * len(nodes)
        parents = [root]
        size = 1
        # Each pass numbers the children of one node of the betting tree, for all deals.
        # Parents come before their children, so `copies` is final.
        for copies, node in zip(self.at, nodes, strict=True):
            if node.kind == DEAL:
                above = self.deals[node.street + 1].above
                parents.append(copies[above])
                self.at[node.children[0]] = size + np.arange(len(above))
            elif node.children:
                count = len(node.children)
                parents.append(np.repeat(copies, count))
                numbers = size + np.arange(len(copies) * count).reshape(-1, count)
                for child, column in zip(node.children, numbers.T, strict=True):
                    self.at[child] = column
            else:
                continue
            size += len(parents[-1])
        self.parent = np.concatenate(parents)
        self._group_by_cards()
        self.betting_node = np.zeros(size, np.int32)
        self.deal = np.zeros(size, np.int32)
        for number, copies in enumerate(self.at):
            self.betting_node[copies] = number
            self.deal[copies] = np.arange(len(copies))

    def _group_by_cards(self) -> None:
        """Renumbers the nodes, so that all nodes below a card are consecutive.

        Siblings stay consecutive. Threads share a pass by the subtrees below the cards
        of the turn.
        """
        nodes, size = self.subgame.nodes, len(self.parent)
        starts = {node.children[0] for node in nodes if node.kind == DEAL}
        # The nodes above, if any, at which the turn and the river are dealt.
        deals_above = np.full((size, 2), -1)
        for number, node in enumerate(nodes):
            for child in node.children:
                copies = self.at[child]
                deals_above[copies] = deals_above[self.parent[copies]]
                if number in starts:
                    deals_above[copies, node.street - 1] = self.parent[copies]
        order = np.lexsort((np.arange(size), deals_above[:, 1], deals_above[:, 0]))
        new = np.argsort(order)
        self.at = [new[copies] for copies in self.at]
        self.parent = new[self.parent[order]]

    def public_tree(self) -> PublicTree:
        """The arrays of the public tree."""
        subgame, nodes, of = self.subgame, self.subgame.nodes, self.betting_node
        first_child = np.zeros(len(of), np.int64)
        num_children = np.zeros(len(of), np.int64)
        action = np.zeros(len(of), np.int64)
        chance = np.ones(len(of))
        for copies, node in zip(self.at, nodes, strict=True):
            if not node.children:
                continue
            below = self.at[node.children[0]]
            if node.kind == DEAL:
                deals = self.deals[node.street + 1]
                starts = np.searchsorted(deals.above, np.arange(len(copies) + 1))
                num_children[copies] = np.diff(starts)
                first_child[copies] = below[starts[:-1]]
                chance[below] = deals.chance
            else:
                num_children[copies], first_child[copies] = len(node.children), below
                for child, edge in zip(node.children, node.actions, strict=True):
                    action[self.at[child]] = edge
        boards, rows, strengths = self._boards()
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
            strengths=strengths,
            pays=np.stack([payoffs_at(subgame.betting, node) for node in nodes])[of],
            info_state=self.info_state,
            history=self.history,
            orbits=self.orbits if len(subgame.exchanges) > 1 else None,
            locate=self.locate,
        )

    def orbits(self, node: int) -> np.ndarray:
        """See `PublicTree.orbits`."""
        exchange, others = canonical_deal(self.subgame.exchanges, self._dealt(node))
        return np.searchsorted(
            self.hands, representatives(self.hands, exchange, others)
        )

    def _dealt(self, node: int) -> Sequence[int]:
        """Cards dealt since the start."""
        street = self.subgame.nodes[self.betting_node[node]].street
        return self.deals[street].cards[self.deal[node]].tolist()

    def locate(self, info_state: str) -> tuple[int, int]:
        """See `PublicTree.locate`."""
        nodes, at = self.subgame.nodes, 0
        name, _, events = info_state.partition(f" {self.subgame.board_text}:")
        first, *later = events.split(" / ")
        dealt = [DECK.index(street[:2]) for street in later]
        for actions in (first, *(street[3:] for street in later)):
            if nodes[at].kind == DEAL:
                at = nodes[at].children[0]
            for action in filter(None, actions.strip().split(", ")):
                at = nodes[at].children[nodes[at].words.index(action)]
        deal = self.deals[nodes[at].street].cards.tolist().index(dealt)
        hand = self.hands.tolist().index(HAND_NAMES.index(name))
        return int(self.at[at][deal]), hand

    def _boards(self) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
        """The boards as bit sets, and the strengths of the hands at showdowns.

        Returns:
            `[D]` uint64 boards of each street; `[D]` row of strengths for each deal of
            the river; `[B, H]` strengths for each different final board.
        """
        bit = np.uint64(1)
        start = np.bitwise_or.reduce(bit << np.array(self.subgame.board, np.uint64))
        sets = [
            start | np.bitwise_or.reduce(bit << deals.cards.astype(np.uint64), axis=1)
            for deals in self.deals
        ]
        _, chosen, rows = np.unique(sets[-1], return_index=True, return_inverse=True)
        hands = HANDS[self.hands]
        strengths = np.empty((len(chosen), len(hands)), np.int32)
        for row, deal in enumerate(self.deals[-1].cards[chosen]):
            strengths[row] = strengths_with(hands, [*self.subgame.board, *deal])
        return sets, rows, strengths

    def _path(self, node: int) -> list[int]:
        """Actions of players and public cards from the root to a node."""
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
        # Callers ask for all hands of a node in sequence, so one node is cached.
        if self._named[0] != node:
            self._named = node, self._events(node)
        return info_state_text(self.subgame, self.hands[hand], self._named[1])

    def _events(self, node: int) -> str:
        """Actions and public cards from the root to a node, as text."""
        events, at = "", 0
        for action in self._path(node):
            above = self.subgame.nodes[at]
            events = append_step(events, above, action)
            child = 0 if above.kind == DEAL else above.actions.index(action)
            at = above.children[child]
        return events

    def history(self, node: int, hand: int) -> list[int]:
        """A history to a node at which the acting player holds a hand."""
        subgame = self.subgame
        player = subgame.nodes[self.betting_node[node]].player
        own = int(self.hands[hand])
        free = compatible()[own] & ~np.isin(HANDS, self._dealt(node)).any(axis=1)
        other = int(np.flatnonzero(free & (subgame.ranges[1 - player] > 0))[0])
        hands = [own, other] if player == 0 else [other, own]
        return [*hands, *self._path(node)]
