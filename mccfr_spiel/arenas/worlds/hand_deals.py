"""How chance deals the private hands of OpenSpiel's games of cards."""

import itertools
from typing import Any, NamedTuple

import numpy as np
import pyspiel

from mccfr_spiel.common.display import brief

RANKS, SUITS = "23456789TJQKA", "cdhs"
"""Names of ranks and suits in universal_poker."""


class HandDeals(NamedTuple):
    """How chance deals the private hands.

    Attributes:
        deck: cards that may be dealt: all except the cards on the board at the root.
        board: public cards at the root of the public tree.
        hands: `[H, C]` cards per hand.
        weights: `[2, H]` weight of each hand per player, see `PublicTree.weights`.
        owners: the player who gets each private card, in the order of the deal; empty
            if a single chance action deals all private cards.
    """

    deck: list[int]
    board: list[int]
    hands: np.ndarray
    weights: np.ndarray
    owners: list[int]

    def actions(self, first: int, second: int) -> list[int]:
        """Returns chance's actions that deal hand `first` to player 0 and hand `second`
        to player 1.
        """
        cards = [self.hands[first].tolist(), self.hands[second].tolist()]
        if not self.owners:  # a single action: the cards are its digits in base 52
            action = 0
            for card in itertools.chain(*cards):
                action = 52 * action + card
            return [action]
        return [cards[owner].pop(0) for owner in self.owners]


def read_deals(game: pyspiel.Game) -> HandDeals:
    """Reads from the initial chance nodes of a game how hands are dealt.

    Raises:
        ValueError: pairs of hands without a common card are not equally likely; a card
            is seen by both players or by none; or the players do not get one or two
            cards each.
    """
    parameters, state = game.get_parameters(), game.new_initial_state()
    if parameters.get("handReaches", ""):
        return _deals_of_reaches(parameters)
    owners, dealt, deck = [], [], []
    while state.is_chance_node():
        outcomes = dict(state.chance_outcomes())
        deck = deck or sorted(outcomes)
        uniform = 1 / len(outcomes)
        is_even = all(abs(prob - uniform) < 1e-9 for prob in outcomes.values())
        if not is_even or sorted({*outcomes, *dealt}) != deck:
            raise ValueError(
                f"store='worlds': {brief(game)} must deal hands from one deck, with "
                "equal probability for all pairs without a common card (no merged "
                "suits or weights). Use store='tree' instead."
            )
        cards = list(outcomes)
        # A player whose string differs between two outcomes sees the card.
        first_child, last_child = state.child(cards[0]), state.child(cards[-1])
        is_seen = [
            first_child.information_state_string(p)
            != last_child.information_state_string(p)
            for p in (0, 1)
        ]
        if sum(is_seen) != 1:
            observers = "both players see" if all(is_seen) else "no player sees"
            raise ValueError(
                f"store='worlds': {brief(game)} deals a card that {observers} before "
                "the first decision; expected cards seen by one player. Use "
                "store='tree' instead."
            )
        owners.append(is_seen.index(True))
        dealt.append(cards[0])
        state = first_child
    count = owners.count(0)
    if count != owners.count(1) or count not in (1, 2):
        raise ValueError(
            f"store='worlds': {brief(game)} deals {count} and {owners.count(1)} "
            "cards to the players; expected one or two, the same number for both. Use "
            "store='tree' instead."
        )
    hands = np.array([*itertools.combinations(deck, count)])
    text = str(parameters.get("boardCards", ""))
    board = _cards_of(text, parameters["numSuits"]) if text else []
    return HandDeals(deck, board, hands, np.ones((2, len(hands))), owners)


def _cards_of(text: str, suits: int) -> list[int]:
    """Returns the numbers of the cards in a text such as "4s8hTc"."""
    pairs = zip(text[::2], text[1::2], strict=True)
    return [suits * RANKS.index(rank) + SUITS.index(suit) for rank, suit in pairs]


def _deals_of_reaches(parameters: dict[str, Any]) -> HandDeals:
    """Returns the deals of universal_poker with the parameter `handReaches`."""
    reaches = np.array(parameters["handReaches"].split(), np.float64).reshape(2, -1)
    board = _cards_of(parameters["boardCards"], 4)
    deck = [card for card in range(52) if card not in board]
    pairs = np.array([*itertools.combinations(range(52), 2)])
    # `handReaches` lists pairs of cards in the order 2s 2h 2d 2c 3s, while the game's
    # cards are ordered 2c 2d 2h 2s 3c. XOR with 3 reverses the order of the suits.
    hands = np.sort(pairs ^ 3, axis=1)
    fits = ~np.isin(hands, board).any(axis=1)
    return HandDeals(deck, board, hands[fits], reaches[:, fits], [])
