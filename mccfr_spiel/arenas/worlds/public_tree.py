"""The public tree of a game of cards as plain data, without private hands.

Chance deals each player one private hand from one deck, and both players see everything
else. A history of the game is then a node of the public tree with two hands that share
no card with each other or with the board. A pass needs a vector of hands at each node
instead of all pairs (hand_gradients.py).

Any source may fill a `PublicTree`. `public_tree_reader.py` reads the trees of
OpenSpiel's games. A registered Python game may define a method `public_tree()` without
arguments, which is called at most once per `HandArena`.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

DECISION, DEAL, FOLD, SHOWDOWN = range(4)
"""The kinds of nodes: a decision, a deal of public cards, a fold, and a showdown."""

WINS, TIES, LOSES = range(3)
"""The rows of `PublicTree.pays`: the result of player 0 at a showdown. A fold has the
first row only.
"""

MOST_CARDS = 64
"""Largest number of cards in games with public cards, since boards are sets of 64 bits.
"""


class PublicTree(NamedTuple):
    """A public tree with private hands.

    Shapes: N nodes, H hands, C cards per hand, B boards with a showdown.

    Cards are numbers from 0 on. Node 0 is the root, the situation after the hands are
    dealt. Parents precede their children, and the children of a node are neighbours, in
    the order of their actions or cards.

    Attributes:
        hole_cards: `[H, C]` cards per hand, C = 1 or 2. Hands differ as sets; the
            source chooses which are listed, and their order.
        weights: `[2, H]` non-negative weights. Chance deals hand i to player 0 and hand
            j to player 1 with probability `weights[0, i] * weights[1, j] / Z`, where Z
            is the sum of these products over all pairs that share no card with each
            other or the root's board. No other normalization is needed. Hands of weight
            0 get no infosets.
        kind: `[N]` DECISION, DEAL, FOLD or SHOWDOWN.
        player: `[N]` acting player at decisions; arbitrary elsewhere.
        first_child: `[N]` first child; 0 at the ends of the game.
        num_children: `[N]` number of children; 0 at the ends of the game.
        action: `[N]` OpenSpiel's action from a decision to this child; arbitrary
            elsewhere. The actions of a decision ascend.
        board: `[N]` uint64 public cards as a set: bit c is card c. After a deal these
            are the parent's cards and the new ones.
        chance: `[N]` after a deal, the probability of the new cards for every pair of
            hands without them: 1 over the number of draws from the cards that neither
            player nor the board holds. 1 elsewhere. If several boards are played as one
            (isomorphic suits), their sum.
        strength_row: `[N]` row of `strengths` at showdowns; arbitrary elsewhere.
        strengths: `[B, H]` int32 strengths; the higher wins, equal strengths tie.
            Entries of hands that share a card with the board are ignored.
        pays: `[N, 3, 2]` returns of both players where player 0 WINS, TIES and LOSES
            the showdown. At a fold the first row, for all hands. The returns need not
            add up to 0 (rake).
        info_state: (node, hand) -> OpenSpiel's information-state string of the player
            who acts at a decision and holds this hand (a row of `hole_cards`).
        history: (node, hand) -> OpenSpiel's actions of chance and players, in order,
            that lead to a state of this infoset with positive probability. The other
            player may get any compatible hand.
        orbits: None, or node -> `[H]` representative per hand, with which it shares an
            infoset: the hand itself or an image under exchanges of suits. All hands of
            an orbit must have equal weights and equal strings.
        locate: None, or string -> (node, hand), the inverse of `info_state` for
            representative hands. For strings of no infoset it raises ValueError or
            returns any pair. No two nodes may share a string.
    """

    hole_cards: np.ndarray
    weights: np.ndarray
    kind: np.ndarray
    player: np.ndarray
    first_child: np.ndarray
    num_children: np.ndarray
    action: np.ndarray
    board: np.ndarray
    chance: np.ndarray
    strength_row: np.ndarray
    strengths: np.ndarray
    pays: np.ndarray
    info_state: Callable[[int, int], str]
    history: Callable[[int, int], list[int]]
    orbits: Callable[[int], np.ndarray] | None = None
    locate: Callable[[str], tuple[int, int]] | None = None

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return len(self.kind)

    @property
    def num_hands(self) -> int:
        """Number of hands."""
        return len(self.hole_cards)
