"""The public tree of a game of cards: what both players see, and hands they may hold.

Chance deals each player one private hand, from one deck; everything else that happens
is seen by both. Then a history is a node of the public tree with a pair of hands that
share no card with each other or the board, and a pass needs a vector of hands at each
node in place of all pairs. `passes.py` makes passes of such a tree.

A `PublicTree` is plain data that any source fills: `read_public_tree` reads those of
OpenSpiel's games through pyspiel, and a registered Python game gives its own by a
method `public_tree()` without arguments, which is asked at most once for each
`GameTree`.

A reading follows one deal of hands through the game. What is read does not depend on
the hands, except where the public cards must be others than theirs, and at showdowns,
which are looked at with three deals: one that player 0 wins, one that ties, and one
that player 0 loses.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

DECISION, DEAL, FOLD, SHOWDOWN = range(4)
"""The kinds of nodes."""

WINS, TIES, LOSES = range(3)
"""The rows of `PublicTree.pays`: what player 0 does at the showdown. A fold has the
first row only."""

MOST_CARDS = 64
"""A board is a set of cards in 64 bits. Games without public cards may have more."""


class PublicTree(NamedTuple):
    """A public tree and the hands. N is how many nodes it has, H how many hands, C how
    many cards a hand has, B how many different boards a showdown may have.

    Cards are numbers from 0 on. Node 0 is the root: what both see when the hands have
    been dealt. Every node comes after its parent, and the children of a node follow
    each other, in the order of their actions or cards.

    Attributes:
        hole_cards: `[H, C]` the cards of each hand, C = 1 or 2. All hands are different
            as sets; which are listed, and in which order, is up to the source.
        weights: `[2, H]` at least 0. The probability that chance deals hand i to player
            0 and j to player 1 is `weights[0, i] * weights[1, j] / Z`, where Z sums
            this over the pairs that share no card with each other or the root's board.
            No other normalisation is needed. Hands of weight 0 get no infosets.
        kind: `[N]` DECISION, DEAL (of public cards), FOLD or SHOWDOWN.
        player: `[N]` who acts at a decision; anything elsewhere.
        first_child, num_children: `[N]` the children; 0 and 0 where the game ends.
        action: `[N]` OpenSpiel's action along the edge that leads to a node from a
            decision; anything at others. The actions of a decision must ascend.
        board: `[N]` uint64, the public cards at a node as a set: bit c is card c. Below
            a deal these are the parent's and those that were dealt along the edge.
        chance: `[N]` along an edge from a deal the probability that chance deals these
            cards, for each pair of hands that holds none of them: 1 over the number of
            ways to draw from the cards that neither player nor the board holds. 1 at
            all other nodes. If several boards are played as one (isomorphic suits), it
            is the sum for all that the child stands for.
        strength_row: `[N]` at a showdown the row of `strengths`; anything elsewhere.
        strengths: `[B, H]` int32, the higher wins, equal ones tie. What it says of a
            hand that shares a card with the board is never looked at.
        pays: `[N, 3, 2]` both players' returns where player 0 WINS, TIES and LOSES at a
            showdown; at a fold the first row, whatever hands are held. They need not
            add up to 0 (rake).
        info_state: (node, hand) -> OpenSpiel's information-state string of the player
            who acts at a decision and holds that hand (its row in `hole_cards`).
        history: (node, hand) -> the actions of chance and players (OpenSpiel's, in
            order) that lead to some state of that infoset, which has a probability
            above 0. It may deal the other player any hand that fits.
        orbits: None, or for each node and hand the hand whose infoset there stands for
            it: `orbits(node)` gives `[H]` numbers of hands, each its own or one that
            suits exchanged make of it. Then `weights` must be equal for all hands of an
            orbit. What `info_state` says must be the same for these, too.
        locate: None, or what `info_state` was given: string -> (node, hand), for a hand
            that stands for itself; any others, or a ValueError, if no infoset has that
            string. Then no two nodes have the same strings.
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
        """N."""
        return len(self.kind)

    @property
    def num_hands(self) -> int:
        """H."""
        return len(self.hole_cards)
