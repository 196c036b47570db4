"""Names of information sets: their strings, and lookup by string.

Some of OpenSpiel's games use the same string for two players, so an infoset is
identified by its string and its player. There is a class for each representation of
strings in memory:

    KeyNames   information keys of compiled rules (short vectors of integers), from
               which strings are generated on demand
    TextNames  all strings in one long text, from a file or a policy
    MetNames   Python strings of a growing tree (tree/met_names.py)
    HandNames  strings that a public tree generates (hand_arena.py)
"""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from mccfr_spiel.arenas.rules.bound_rules import BoundRules
from mccfr_spiel.arenas.rules.declarations import GameError
from mccfr_spiel.arenas.rules.row_table import (
    SLOT,
    RowTable,
    find_key,
    larger_table,
    player_and_key,
    row_hash,
)
from mccfr_spiel.arenas.rules.spelling import spelled

_BATCH = 1 << 18
"""Number of strings that TextNames decodes at a time."""


def shared_by(strings: Iterable[str], players: Iterable[int]) -> set[str]:
    """The strings that infosets of several players have in common.

    Args:
        strings: string of each infoset.
        players: player of each infoset.
    """
    owners: dict[str, int] = {}
    pairs = zip(strings, players, strict=True)
    return {string for string, p in pairs if owners.setdefault(string, p) != p}


class InfosetNames:
    """Names of a fixed set of infosets; subclasses provide the strings.

    `find` searches a sorted index of hashes of the strings. The first call builds the
    index, which takes 12 bytes per infoset.

    Attributes:
        players: `[I]` player of each infoset.
        first: dictionary from a string to the first infoset with this string; only
            MetNames fills it, it is empty in other classes.
    """

    def __init__(self, players: Any) -> None:
        self.players, self.first = players, dict[str, int]()
        self._index: tuple[np.ndarray, np.ndarray] | None = None

    def __len__(self) -> int:
        return len(self.players)

    def __iter__(self) -> Iterator[str]:
        """Iterates over the strings in the order of infosets. A list of all strings
        may be larger than the available memory."""
        raise NotImplementedError

    def info_state(self, infoset: int) -> str:
        """The information-state string of an infoset."""
        raise NotImplementedError

    def strings(self) -> list[str]:
        """`[I]` information-state strings."""
        return list(self)

    def find(self, info_state: str, player: int | None = None) -> int:
        """The first infoset with a string.

        Args:
            info_state: information-state string.
            player: only search the infosets of this player; None for all players.

        Returns:
            The number of the infoset; -1 if there is none.
        """
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
        """Returns the sorted hashes of the strings, and the infoset of each hash."""
        hashes = np.fromiter(map(hash, self), np.int64, len(self))
        order = np.argsort(hashes, kind="stable").astype(np.int32)
        return hashes[order], order

    def shared(self) -> set[str]:
        """The strings that infosets of several players have in common."""
        return shared_by(self, self.players)


class KeyNames(InfosetNames):
    """Information keys of compiled rules, from which strings are generated on demand.

    The information key of an infoset is a vector of integers that identifies it among
    the infosets of its player.
    """

    def __init__(self, rules: BoundRules, keys: RowTable, players: np.ndarray) -> None:
        """Stores the keys.

        Args:
            rules: compiled rules that generate strings from keys.
            keys: a row per infoset: its player, followed by its information key. If
                the hash table of the rows is empty, the first `find_key` builds it.
            players: `[I]` player of each infoset.
        """
        super().__init__(players)
        self.rules, self.keys = rules, keys

    def __iter__(self) -> Iterator[str]:
        if self.rules.spell is None:
            return map(self.info_state, range(len(self)))
        return spelled(self.rules, self.keys, len(self))

    def info_state(self, infoset: int) -> str:
        """The information-state string of an infoset."""
        return self.rules.info_state(*self.key(infoset))

    def key(self, infoset: int) -> tuple[int, np.ndarray]:
        """The player and the information key of an infoset."""
        return player_and_key(self.keys, infoset)

    def find_key(self, player: int, key: np.ndarray) -> int:
        """The infoset of a player with an information key; -1 if there is none."""
        values, rows, table = self.keys
        if len(table) == 0:
            hashes, numbers = rows["hash"][:-1], np.arange(len(self), dtype=SLOT)
            table = larger_table(hashes >> 32 << 32 | numbers + 1, len(self))
            self.keys = RowTable(values, rows, table)
        row = np.array([player, *key], np.int64)
        hashed = np.uint64(row_hash(row, len(row)))
        return max(int(find_key(values, rows, table, hashed, row, len(row))), -1)

    def _make_index(self) -> tuple[np.ndarray, np.ndarray]:
        """See InfosetNames.

        Raises:
            GameError: two infosets of a player have the same string, which is an error
                in the rules.
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
                    f"{self.key(second)[1].tolist()}. Strings of different keys must "
                    "differ."
                )
        return hashes, order

    def shared(self) -> set[str]:
        """The strings that infosets of several players have in common."""
        # Without a rule `spell`, strings begin with the number of the player, see
        # `BoundRules.info_state`.
        if self.rules.spell is None:
            return set()
        return super().shared()


class TextNames(InfosetNames):
    """Strings of infosets in one long text."""

    def __init__(self, text: np.ndarray, ends: np.ndarray, players: np.ndarray) -> None:
        """Stores the arrays.

        Args:
            text: uint8, concatenated strings in UTF-8.
            ends: `[I]` int64, index in `text` at which each string ends.
            players: `[I]` player of each infoset.
        """
        super().__init__(players)
        self._text, self._ends = text, ends

    def __iter__(self) -> Iterator[str]:
        # Each pass decodes the strings of one batch of infosets. Decoding all at once
        # could exceed the memory, because the text may be mapped from a large file.
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
