"""Names of information sets: their strings, and lookup by string.

Some of OpenSpiel's games give two players the same string, so a string and its player
together name an infoset. There is a class for each source of strings:

    KeyNames   spells strings from the information keys of compiled rules
    TextNames  reads strings from one long text, of a file or a policy

Trees that grow keep their strings in memory (tree/infosets.py). Hands of cards spell
theirs from a public tree (arenas/hands.py).
"""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from mccfr_spiel.arenas.rules import kernel
from mccfr_spiel.arenas.rules.description import BoundRules, GameError

_BATCH = 1 << 18
"""Strings that are decoded at a time."""


def shared_by(strings: Iterable[str], players: Iterable[int]) -> set[str]:
    """The strings that more than one player has, given each string's player."""
    owners: dict[str, int] = {}
    pairs = zip(strings, players, strict=True)
    return {string for string, p in pairs if owners.setdefault(string, p) != p}


class InfosetNames:
    """The names of infosets that are all known.

    A name is found by binary search among the hashes of all strings, which are made
    when the first is asked for. They take 12 bytes an infoset.

    Attributes:
        players: `[I]` whose each infoset is.
        first: the first infoset with each string, where the strings are in memory.
    """

    def __init__(self, players: Any) -> None:
        self.players, self.first = players, dict[str, int]()
        self._index: tuple[np.ndarray, np.ndarray] | None = None

    def __len__(self) -> int:
        return len(self.players)

    def __iter__(self) -> Iterator[str]:
        """The strings, one by one: all at once may take more memory than all else."""
        raise NotImplementedError

    def info_state(self, infoset: int) -> str:
        """The information-state string of an infoset."""
        raise NotImplementedError

    def strings(self) -> list[str]:
        """`[I]` the information-state strings."""
        return list(self)

    def find(self, info_state: str, player: int | None = None) -> int:
        """The first infoset with a string, of a player if one is given; else -1."""
        if self._index is None:
            self._index = self._make_index()
        hashes, order = self._index
        wanted = hash(info_state)
        position = int(np.searchsorted(hashes, wanted))
        while position < len(order) and hashes[position] == wanted:
            infoset = int(order[position])
            is_its = player is None or self.players[infoset] == player
            if is_its and self.info_state(infoset) == info_state:
                return infoset
            position += 1
        return -1

    def _make_index(self) -> tuple[np.ndarray, np.ndarray]:
        """The hashes of the strings, ascending, and the infoset of each."""
        hashes = np.fromiter(map(hash, self), np.int64, len(self))
        order = np.argsort(hashes, kind="stable").astype(np.int32)
        return hashes[order], order

    def shared(self) -> set[str]:
        """The strings that more than one player has."""
        return shared_by(self, self.players)


class KeyNames(InfosetNames):
    """Names that are kept as information keys and spelled on demand."""

    def __init__(
        self, rules: BoundRules, keys: kernel.RowTable, players: np.ndarray
    ) -> None:
        """Keeps the keys.

        Args:
            rules: which spell a key.
            keys: of the infosets, each with the player before it. The table may be
                empty; then `find_key` makes one.
            players: `[I]`.
        """
        super().__init__(players)
        self.rules, self.keys = rules, keys

    def __iter__(self) -> Iterator[str]:
        if self.rules.spell is None:
            return map(self.info_state, range(len(self)))
        return kernel.spelled(self.rules, self.keys, len(self))

    def info_state(self, infoset: int) -> str:
        """The information-state string of an infoset."""
        return self.rules.info_state(*self.key(infoset))

    def key(self, infoset: int) -> tuple[int, np.ndarray]:
        """The player and the information key of an infoset."""
        return kernel.key_of(self.keys, infoset)

    def find_key(self, player: int, key: np.ndarray) -> int:
        """The number of the infoset with that player and key; -1 if there is none."""
        values, rows, table = self.keys
        if len(table) == 0:
            hashes, numbers = rows["hash"][:-1], np.arange(len(self), dtype=kernel.SLOT)
            table = kernel.larger_table(hashes >> 32 << 32 | numbers + 1, len(self))
            self.keys = kernel.RowTable(values, rows, table)
        row = np.array([player, *key], np.int64)
        hashed = np.uint64(kernel.row_hash(row, len(row)))
        return max(int(kernel.find_key(values, rows, table, hashed, row, len(row))), -1)

    def _make_index(self) -> tuple[np.ndarray, np.ndarray]:
        """As in InfosetNames.

        Raises:
            GameError: two infosets of one player have the same string.
        """
        hashes, order = super()._make_index()
        for position in np.flatnonzero(hashes[1:] == hashes[:-1]).tolist():
            first, second = order[position : position + 2].tolist()
            player = self.players[first]
            if player == self.players[second] and (
                self.info_state(first) == self.info_state(second)
            ):
                raise GameError(
                    f"{self.rules.description.short_name}: Words.info_state gives two "
                    f"information keys of player {player} one string, "
                    f"{self.info_state(first)!r}: {self.key(first)[1].tolist()} and "
                    f"{self.key(second)[1].tolist()}. Give each key its own."
                )
        return hashes, order

    def shared(self) -> set[str]:
        """The strings that more than one player has."""
        if self.rules.spell is None:
            return set()  # as each begins with its player
        return super().shared()


class TextNames(InfosetNames):
    """Names that stand in one long text."""

    def __init__(self, text: np.ndarray, ends: np.ndarray, players: np.ndarray) -> None:
        """Keeps the arrays.

        Args:
            text: uint8, the strings in UTF-8, one after the other.
            ends: `[I]` int64, where each ends.
            players: `[I]`.
        """
        super().__init__(players)
        self._text, self._ends = text, ends

    def __iter__(self) -> Iterator[str]:
        # One pass decodes a batch of names, so that no more of the text is in memory.
        for first in range(0, len(self), _BATCH):
            ends = self._ends[first : first + _BATCH]
            start = self._start(first)
            data = self._text[start : ends[-1]].tobytes()
            for begin, end in itertools.pairwise([0, *(ends - start).tolist()]):
                yield data[begin:end].decode("utf-8", "surrogateescape")

    def _start(self, infoset: int) -> int:
        return int(self._ends[infoset - 1]) if infoset else 0

    def info_state(self, infoset: int) -> str:
        """The information-state string of an infoset."""
        data = self._text[self._start(infoset) : self._ends[infoset]].tobytes()
        return data.decode("utf-8", "surrogateescape")
