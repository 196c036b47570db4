"""MetNames: strings of the infosets of a growing tree, kept in memory.

"Met" infosets are those that the tree contains so far.
"""

from array import array
from collections.abc import Iterator

from mccfr_spiel.arenas.infosets.names import InfosetNames


class MetNames(InfosetNames):
    """Strings of infosets, added one by one in the order of the infosets' numbers."""

    def __init__(self) -> None:
        super().__init__(array("i"))
        self._strings: list[str] = []
        # `InfosetNames.first` maps a string to an infoset of one player. Infosets of
        # other players with the same string are in `_others`.
        self._others: dict[tuple[int, str], int] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._strings)

    def info_state(self, infoset: int) -> str:
        """The information-state string of an infoset."""
        return self._strings[infoset]

    def find(self, info_state: str, player: int | None = None) -> int:
        """See InfosetNames."""
        infoset = self.first.get(info_state, -1)
        if player is None or infoset < 0 or self.players[infoset] == player:
            return infoset
        return self._others.get((player, info_state), -1)

    def add(self, info_state: str, player: int) -> int:
        """Adds the string and the player of the next infoset.

        Returns:
            The player's first infoset with this string: the new infoset, unless the
            player has an earlier infoset with the same string.
        """
        infoset = len(self.players)
        self.players.append(player)
        self._strings.append(info_state)
        first = self.first.setdefault(info_state, infoset)
        if self.players[first] == player:
            return first
        return self._others.setdefault((player, info_state), infoset)

    def drop(self, infoset: int) -> None:
        """Drops the names of the newest infosets.

        If an exception has interrupted `add`, its incomplete entries are dropped, too.

        Args:
            infoset: number of the first infoset to drop.
        """
        dropped = zip(self._strings[infoset:], self.players[infoset:], strict=False)
        for dropped_infoset, (info_state, player) in enumerate(dropped, infoset):
            if self.first.get(info_state) == dropped_infoset:
                del self.first[info_state]
            elif self._others.get((player, info_state)) == dropped_infoset:
                del self._others[player, info_state]
        del self._strings[infoset:], self.players[infoset:]

    def shared(self) -> set[str]:
        """The strings that infosets of several players have in common."""
        return {info_state for _, info_state in self._others}
