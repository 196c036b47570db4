"""`GameForm`: a game in extensive form, into which files are read."""

import dataclasses
from fractions import Fraction

from mccfr_spiel.common.arrays import CHANCE_NODE, TERMINAL

Payoffs = tuple[Fraction, ...]
"""`[P]` one payoff per player."""


@dataclasses.dataclass(frozen=True)
class FormInfoset:
    """An information set of a player, or a chance distribution that nodes share.

    Attributes:
        player: number of the player, counted from 0, or CHANCE_NODE.
        name: information-state string, distinct in the game; "" for chance.
        actions: `[A]` distinct names of the actions.
        probs: `[A]` probabilities of the chance outcomes; empty for players.
    """

    player: int
    name: str
    actions: tuple[str, ...]
    probs: tuple[float, ...] = ()


@dataclasses.dataclass
class GameForm:
    """A game in extensive form. Node 0 is the root, and parents precede children.

    Attributes:
        title: title of the game.
        players: `[P]` distinct names of the players.
        infosets: infosets of the players and chance distributions.
        infoset_of: `[N]` index into `infosets`; -1 at terminal nodes.
        children: `[N]` children of each node, in the order of the actions.
        payoffs: terminal node -> payoffs, summed from the root to the node.
    """

    title: str
    players: tuple[str, ...]
    infosets: list[FormInfoset]
    infoset_of: list[int] = dataclasses.field(default_factory=list)
    children: list[list[int]] = dataclasses.field(default_factory=list)
    payoffs: dict[int, Payoffs] = dataclasses.field(default_factory=dict)

    def player(self, node: int) -> int:
        """The acting player of a node, CHANCE_NODE or TERMINAL."""
        infoset = self.infoset_of[node]
        return TERMINAL if infoset < 0 else self.infosets[infoset].player

    def add_node(self, parent: int, infoset: int) -> int:
        """Appends a node and returns its number.

        Args:
            parent: the parent; -1 for the root.
            infoset: index into `infosets`; -1 for a terminal node.
        """
        node = len(self.infoset_of)
        self.infoset_of.append(infoset)
        self.children.append([])
        if parent >= 0:
            self.children[parent].append(node)
        return node

    def max_moves(self) -> tuple[int, int]:
        """The largest numbers of players' moves and of chance moves in a history."""
        moves = [(0, 0)] * len(self.children)
        for node, children in enumerate(self.children):
            is_chance = self.player(node) == CHANCE_NODE
            by_players, by_chance = moves[node]
            for child in children:
                moves[child] = by_players + (not is_chance), by_chance + is_chance
        return max(count for count, _ in moves), max(count for _, count in moves)
