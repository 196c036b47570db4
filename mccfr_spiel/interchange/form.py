"""`GameForm`: a game in extensive form, as readers make it from a file."""

import collections
import dataclasses
from collections.abc import Sequence
from fractions import Fraction

from mccfr_spiel.common.arrays import CHANCE_NODE, TERMINAL
from mccfr_spiel.common.display import one_line

Payoffs = tuple[Fraction, ...]


@dataclasses.dataclass(frozen=True)
class FormInfoset:
    """An information set of a player, or the shared outcomes of chance nodes.

    Attributes:
        player: number from 0, or CHANCE_NODE.
        name: its information-state string, unique in the game; "" for chance.
        actions: names of the actions, all different.
        probs: probability of each outcome of chance; empty for players.
    """

    player: int
    name: str
    actions: tuple[str, ...]
    probs: tuple[float, ...] = ()


@dataclasses.dataclass
class GameForm:
    """A game in extensive form. Node 0 is the root, and parents precede children.

    Attributes:
        title: the game's title.
        players: names of the players, all different.
        infosets: the information sets, chance's included.
        infoset_of: index of each node's infoset; -1 for ends.
        children: of each node, in the order of its infoset's actions.
        payoffs: of each end, the players' payoffs, summed from the root on.
    """

    title: str
    players: tuple[str, ...]
    infosets: list[FormInfoset]
    infoset_of: list[int] = dataclasses.field(default_factory=list)
    children: list[list[int]] = dataclasses.field(default_factory=list)
    payoffs: dict[int, Payoffs] = dataclasses.field(default_factory=dict)

    def player(self, node: int) -> int:
        """Who acts at a node: a player, CHANCE_NODE or TERMINAL."""
        infoset = self.infoset_of[node]
        return TERMINAL if infoset < 0 else self.infosets[infoset].player

    def add_node(self, parent: int, infoset: int) -> int:
        """Adds a node below a parent, which is -1 for the root; returns its number."""
        node = len(self.infoset_of)
        self.infoset_of.append(infoset)
        self.children.append([])
        if parent >= 0:
            self.children[parent].append(node)
        return node

    def longest_history(self) -> tuple[int, int]:
        """The most moves of players, and of chance, in a history."""
        moves = [(0, 0)] * len(self.children)
        for node, children in enumerate(self.children):
            by_chance = self.player(node) == CHANCE_NODE
            of_players, of_chance = moves[node]
            for child in children:
                moves[child] = of_players + (not by_chance), of_chance + by_chance
        return max(players for players, _ in moves), max(chance for _, chance in moves)


def clean_label(text: str) -> str:
    """A label as Gambit allows it: one line, without control characters and without
    needless white space."""
    lines = (" ".join(line.split()) for line in text.splitlines())
    return one_line(" | ".join(filter(None, lines)))


def distinct(names: Sequence[str], default: str) -> tuple[str, ...]:
    """Names that are all different.

    Args:
        names: any names, which become labels. Repeated ones get numbers: "x", "x (2)".
        default: replaces empty names, followed by their position from 1.
    """
    filled = [
        clean_label(name) or f"{default} {position}"
        for position, name in enumerate(names, 1)
    ]
    taken, found = set(filled), []
    seen: collections.Counter[str] = collections.Counter()
    for name in filled:
        seen[name] += 1
        if seen[name] > 1:
            number = seen[name]
            while f"{name} ({number})" in taken:
                number += 1
            name = f"{name} ({number})"
            taken.add(name)
        found.append(name)
    return tuple(found)


def infoset_names(
    players: Sequence[str], infosets: Sequence[tuple[int, int, str]]
) -> tuple[str, ...]:
    """Information-state strings, unique in the game.

    A label stands alone if no other infoset has it. Others are named by their player
    and number, such as "Alice: infoset 2".

    Args:
        players: names of the players.
        infosets: player, number in the file, and label of each.
    """
    labels = [clean_label(label) for _, _, label in infosets]
    counts = collections.Counter(labels)
    names = []
    for (player, number, _), label in zip(infosets, labels, strict=True):
        if label and counts[label] == 1:
            names.append(label)
        else:
            more = f" ({label})" if label else ""
            names.append(f"{players[player]}: infoset {number}{more}")
    return distinct(names, "infoset")
