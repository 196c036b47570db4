"""The public tree of a game of cards as plain data, without private hands.

Chance deals each player one private hand from one deck, and both players see everything
else. A history of the game is then a node of the public tree with two hands that share
no card with each other or with the board. A pass needs a vector of hands at each node
instead of all pairs (kernels/hand_sweep.py).

Any source may fill a `PublicTree`. `public_tree_reader.py` reads the trees of
OpenSpiel's games. A registered Python game may define a method `public_tree()` without
arguments, which is called at most once per `HandArena`.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

DECISION, DEAL, FOLD, SHOWDOWN = range(4)
"""Values of `PublicTree.kind`.

DECISION: a player acts.
DEAL: chance deals public cards.
FOLD: the game ends; the returns do not depend on the hands.
SHOWDOWN: the game ends, and the hands are compared.
"""

WINS, TIES, LOSES = range(3)
"""Indices of the middle axis of `PublicTree.pays`: the result of player 0 at a
showdown.

At a fold only the index WINS is used.
"""

MOST_CARDS = 64
"""Largest number of cards in a game with public cards, because a board (the set of
public cards) is stored as the bits of a 64-bit integer.
"""


class PublicTree(NamedTuple):
    """A public tree with private hands.

    Shapes: N nodes, H hands, C cards per hand, B boards with a showdown.

    Cards are numbered from 0. Node 0 is the root, the situation after the hands are
    dealt. Parents precede their children, and the children of a node are consecutive,
    in the order of their actions or cards.

    Attributes:
        hole_cards: `[H, C]` cards per hand, C = 1 or 2. No two hands have the same set
            of cards. The author of the tree chooses the listed hands and their order.
        weights: `[2, H]` non-negative weights. Chance deals hand i to player 0 and hand
            j to player 1 with probability `weights[0, i] * weights[1, j] / Z`, where Z
            is the sum of these products over all pairs that share no card with each
            other or the root's board. No other normalization is needed. Hands of weight
            0 get no infosets.
        kind: `[N]` DECISION, DEAL, FOLD or SHOWDOWN.
        player: `[N]` acting player at decisions; arbitrary at other nodes.
        first_child: `[N]` first child; 0 at folds and showdowns.
        num_children: `[N]` number of children; 0 at folds and showdowns.
        action: `[N]` OpenSpiel's action that leads from the parent to this node if the
            parent is a decision; arbitrary otherwise. The actions of a decision ascend.
        board: `[N]` uint64 set of the public cards: bit c is card c. A child of a deal
            has the cards of its parent and the newly dealt cards.
        chance: `[N]` at a child of a deal, the probability of the newly dealt cards,
            given any pair of hands that contains none of them: 1 divided by the number
            of possible draws from the cards that are neither in a hand nor on the
            board. At other nodes 1. If one node represents several boards (isomorphic
            suits), the sum of their probabilities.
        strength_row: `[N]` row of `strengths` at showdowns; arbitrary elsewhere.
        strengths: `[B, H]` int32 strength per hand; the higher strength wins, equal
            strengths tie. Strengths of hands that share a card with the board are
            ignored.
        pays: `[N, 3, 2]` returns of both players if player 0 WINS, TIES or LOSES the
            showdown. At a fold `pays[node, WINS]` holds the returns for all hands. The
            returns need not add up to 0 (rake).
        info_state: (node, hand) -> OpenSpiel's information-state string of the player
            who acts at the decision `node` and holds `hand` (row number in
            `hole_cards`).
        history: (node, hand) -> list of OpenSpiel's actions, of chance and of the
            players, from the initial state to a state of the infoset of `hand` at the
            decision `node`. The list must have positive probability; the other player
            may hold any hand without a common card.
        orbits: None, or (node) -> `[H]` for each hand, the representative whose infoset
            it shares: the hand itself, or a hand that results from exchanging suits.
            All hands with the same representative must have equal weights and equal
            strings.
        locate: None, or (string) -> (node, hand), the inverse of `info_state` for
            representative hands. If no infoset has the string, the function raises
            ValueError or returns an arbitrary pair. A tree with `locate` must not have
            two nodes with the same string.
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
