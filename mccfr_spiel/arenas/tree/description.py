"""The parts of a tree in numbers, which `GameTree.describe` returns."""

from typing import NamedTuple

import numpy as np
import pyspiel

from mccfr_spiel.arenas.tree.whole import depth_of
from mccfr_spiel.common import display, limits
from mccfr_spiel.common.arrays import CHANCE_NODE, TERMINAL, UNEXPANDED
from mccfr_spiel.common.display import brief, counted, never_raises


class TreeDescription(NamedTuple):
    """The parts of a tree, as far as it is expanded.

    Attributes:
        game: the title of the game.
        num_nodes: all nodes; the next three and `unexpanded_nodes` add up to them.
        decision_nodes: where a player acts.
        chance_nodes: where chance acts.
        terminal_nodes: where the game ends.
        unexpanded_nodes: known to be there, but not looked at yet; 0 in a whole tree.
        depth: the moves in the longest history, chance's included.
        infosets: the number of each player's infosets met.
        sequences: the number of each player's sequences, the empty one included.
        memory: the bytes that the tree, and what is made of it, have taken of
            `max_memory`.
        players: names of the players.
    """

    game: str
    num_nodes: int
    decision_nodes: int
    chance_nodes: int
    terminal_nodes: int
    unexpanded_nodes: int
    depth: int
    infosets: tuple[int, ...]
    sequences: tuple[int, ...]
    memory: int
    players: tuple[str, ...]

    @property
    def is_complete(self) -> bool:
        """Whether every node has been expanded."""
        return self.unexpanded_nodes == 0

    def __str__(self) -> str:
        """The title of the game and a line for each number."""
        return (
            f"{self._heading()}\n{display.text_table(('', ''), self._rows(), {1})[1:]}"
        )

    @never_raises
    def __repr__(self) -> str:
        """The same as `str`, which shows the numbers."""
        return str(self)

    @never_raises
    def _repr_html_(self) -> str:
        return display.html_table(("", ""), self._rows(), {1}, caption=self._heading())

    def _heading(self) -> str:
        return (
            f"{brief(self.game)}: "
            f"{'the whole tree' if self.is_complete else 'as far as met'}"
        )

    def _rows(self) -> list[tuple[str, str]]:
        rows = [
            ("nodes", f"{self.num_nodes:,}"),
            ("  decision nodes", f"{self.decision_nodes:,}"),
            ("  chance nodes", f"{self.chance_nodes:,}"),
            ("  terminal nodes", f"{self.terminal_nodes:,}"),
        ]
        if self.unexpanded_nodes:
            rows.append(("  not expanded yet", f"{self.unexpanded_nodes:,}"))
        rows.append(("depth", counted(self.depth, "move")))
        for name, counts in (
            ("infosets", self.infosets),
            ("sequences", self.sequences),
        ):
            rows.append((name, f"{sum(counts):,}"))
            pairs = zip(self.players, counts, strict=True)
            rows += [(f"  {player}", f"{count:,}") for player, count in pairs]
        rows.append(("memory", limits.in_words(self.memory)))
        return rows


def describe(
    game: pyspiel.Game, nodes: np.ndarray, infosets: np.ndarray, memory: int
) -> TreeDescription:
    """Counts the parts of a tree.

    Args:
        game: the game.
        nodes: `[N]` the nodes.
        infosets: `[I]` the information sets.
        memory: the bytes taken of `max_memory`.
    """
    players, acting = range(game.num_players()), nodes["player"]
    owners, sizes = infosets["player"], infosets["num_actions"]
    return TreeDescription(
        game=display.title(game),
        num_nodes=len(nodes),
        decision_nodes=int((acting >= 0).sum()),
        chance_nodes=int((acting == CHANCE_NODE).sum()),
        terminal_nodes=int((acting == TERMINAL).sum()),
        unexpanded_nodes=int((acting == UNEXPANDED).sum()),
        depth=depth_of(nodes),
        infosets=tuple(int((owners == p).sum()) for p in players),
        sequences=tuple(1 + int(sizes[owners == p].sum()) for p in players),
        memory=memory,
        players=tuple(display.player_name(game, p) for p in players),
    )
