"""Names of met infosets."""

from array import array
from collections.abc import Iterator

from mccfr_spiel.arenas.infosets.names import InfosetNames


class MetNames(InfosetNames):
    """The names of the infosets that a tree meets one by one."""

    def __init__(self) -> None:
        super().__init__(array("i"))
        self._strings: list[str] = []
        self._others: dict[tuple[int, str], int] = {}  # the first of other players

    def __iter__(self) -> Iterator[str]:
        return iter(self._strings)

    def info_state(self, infoset: int) -> str:
        """The information-state string of an infoset."""
        return self._strings[infoset]

    def find(self, info_state: str, player: int | None = None) -> int:
        """As in InfosetNames."""
        infoset = self.first.get(info_state, -1)
        if player is None or infoset < 0 or self.players[infoset] == player:
            return infoset
        return self._others.get((player, info_state), -1)

    def add(self, info_state: str, player: int) -> int:
        """Names the next infoset; returns the player's first one with that string."""
        infoset = len(self.players)
        self.players.append(player)
        self._strings.append(info_state)
        first = self.first.setdefault(info_state, infoset)
        if self.players[first] == player:
            return first
        return self._others.setdefault((player, info_state), infoset)

    def drop(self, infoset: int) -> None:
        """Forgets infosets from a number on, the last of which may be half added."""
        dropped = zip(self._strings[infoset:], self.players[infoset:], strict=False)
        for number, (info_state, player) in enumerate(dropped, infoset):
            if self.first.get(info_state) == number:
                del self.first[info_state]
            elif self._others.get((player, info_state)) == number:
                del self._others[player, info_state]
        del self._strings[infoset:], self.players[infoset:]

    def shared(self) -> set[str]:
        """The strings that more than one player has."""
        return {info_state for _, info_state in self._others}
