"""TreeDescription: the counts that `GameTree.describe` returns."""

from typing import NamedTuple

import numpy as np
import pyspiel

from mccfr_spiel.arenas.tree.levels import depth_of
from mccfr_spiel.common import display
from mccfr_spiel.common.arrays import CHANCE_NODE, TERMINAL, UNEXPANDED
from mccfr_spiel.common.memory import in_words


class TreeDescription(NamedTuple):
    """Counts of the part of a tree that has been expanded.

    Attributes:
        game: title of the game.
        num_nodes: number of all nodes, the sum of the next four numbers.
        decision_nodes: number of nodes where a player acts.
        chance_nodes: number of nodes where chance acts.
        terminal_nodes: number of nodes where the game ends.
        unexpanded_nodes: number of nodes that are not expanded; 0 in a complete tree.
        depth: number of moves in the longest history, including chance moves.
        infosets: `[P]` number of infosets of each player.
        sequences: `[P]` number of sequences of each player, including the empty
            sequence.
        memory: bytes of the tree and of everything else that shares its budget, as
            counted for `max_memory`.
        players: `[P]` names of the players.
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
        """Whether every node is expanded."""
        return self.unexpanded_nodes == 0

    def __str__(self) -> str:
        """The title of the game and one line per count."""
        return (
            f"{self._heading()}\n{display.text_table(('', ''), self._rows(), {1})[1:]}"
        )

    @display.never_raises
    def __repr__(self) -> str:
        """Same as `str`."""
        return str(self)

    @display.never_raises
    def _repr_html_(self) -> str:
        return display.html_table(("", ""), self._rows(), {1}, caption=self._heading())

    def _heading(self) -> str:
        return (
            f"{display.brief(self.game)}: "
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
        rows.append(("depth", display.counted(self.depth, "move")))
        per_player = ("infosets", self.infosets), ("sequences", self.sequences)
        for name, counts in per_player:
            rows.append((name, f"{sum(counts):,}"))
            pairs = zip(self.players, counts, strict=True)
            rows += [(f"  {player}", f"{count:,}") for player, count in pairs]
        rows.append(("memory", in_words(self.memory)))
        return rows


def describe(
    game: pyspiel.Game, nodes: np.ndarray, infosets: np.ndarray, memory: int
) -> TreeDescription:
    """Counts the nodes, infosets and sequences of a tree.

    Args:
        game: the game.
        nodes: `[N]` records of dtype NODE.
        infosets: `[I]` records of dtype INFOSET.
        memory: bytes in the result, as counted for `max_memory`.
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
        players=tuple(display.player_name(game, player) for player in players),
    )
