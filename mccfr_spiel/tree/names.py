"""The names of infosets: their information-state strings, and which infoset has one.

An infoset is told apart by its string and its player, since a few of OpenSpiel's games
give two players the same string.

There are three sources of strings: `MetNames` has them in memory, for trees that grow;
`KeyNames` spells them from information keys, for what compiled rules have met; and
`TextNames` reads them from one long text, of a file or a policy.
"""

import itertools
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from mccfr_spiel.rules.declared import GameError
from mccfr_spiel.rules.description import BoundRules
from mccfr_spiel.rules.kernel import row_hash
from mccfr_spiel.rules.key_table import SLOT, RowTable, fill_table, find_key, key_of
from mccfr_spiel.tree.sizes import BYTES_OF_INT
from mccfr_spiel.twins.names import spelled

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
    """

    def __init__(self, players: Any) -> None:
        self.players = players
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

    @property
    def number_of(self) -> Callable[[str, int], int]:
        """Gives the first infoset with a string, or a default, as a dictionary does."""
        return lambda info_state, default: max(self.find(info_state), default)

    def _make_index(self) -> tuple[np.ndarray, np.ndarray]:
        """The hashes of the strings, ascending, and the infoset of each."""
        hashes = np.fromiter(map(hash, self), np.int64, len(self))
        order = np.argsort(hashes, kind="stable").astype(np.int32)
        return hashes[order], order

    def shared(self) -> set[str]:
        """The strings that more than one player has."""
        return shared_by(self, self.players)

    @property
    def nbytes(self) -> int:
        """The bytes of what the strings are made of, and of the hashes if they are."""
        return sum(part.nbytes for part in (*self._source(), *(self._index or ())))

    def _source(self) -> Sequence[np.ndarray]:
        raise NotImplementedError


class KeyNames(InfosetNames):
    """Names that are kept as information keys and spelled on demand."""

    def __init__(self, rules: BoundRules, keys: RowTable, players: np.ndarray) -> None:
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
        return spelled(self.rules, self.keys, len(self))

    def info_state(self, infoset: int) -> str:
        """The information-state string of an infoset."""
        return self.rules.info_state(*self.key(infoset))

    def key(self, infoset: int) -> tuple[int, np.ndarray]:
        """The player and the information key of an infoset."""
        return key_of(self.keys, infoset)

    def find_key(self, player: int, key: np.ndarray) -> int:
        """The number of the infoset with that player and key; -1 if there is none."""
        values, rows, table = self.keys
        if len(table) == 0:
            table = np.zeros(2 << len(self).bit_length(), SLOT)
            fill_table(table, rows, len(self))
            self.keys = RowTable(values, rows, table)
        row = np.array([player, *key], np.int64)
        hashed = np.uint64(row_hash(row, len(row)))
        return max(int(find_key(values, rows, table, hashed, row, len(row))), -1)

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

    def _source(self) -> Sequence[np.ndarray]:
        return self.keys


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

    def _source(self) -> Sequence[np.ndarray]:
        return self._text, self._ends


class MetNames(InfosetNames):
    """The names of the infosets that a tree meets one by one."""

    def __init__(self) -> None:
        super().__init__(array("i"))
        self._strings: list[str] = []
        self._first: dict[str, int] = {}  # the first infoset with each string
        self._others: dict[tuple[int, str], int] = {}  # the first of other players

    def __iter__(self) -> Iterator[str]:
        return iter(self._strings)

    def info_state(self, infoset: int) -> str:
        """The information-state string of an infoset."""
        return self._strings[infoset]

    @property
    def number_of(self) -> Callable[[str, int], int]:
        """A dictionary's own method, called at every node that pyspiel expands."""
        return self._first.get

    def find(self, info_state: str, player: int | None = None) -> int:
        """As in InfosetNames."""
        infoset = self._first.get(info_state, -1)
        if player is None or infoset < 0 or self.players[infoset] == player:
            return infoset
        return self._others.get((player, info_state), -1)

    def add(self, info_state: str, player: int) -> int:
        """Names the next infoset; returns the player's first one with that string."""
        infoset = len(self.players)
        self.players.append(player)
        self._strings.append(info_state)
        first = self._first.setdefault(info_state, infoset)
        if self.players[first] == player:
            return first
        return self._others.setdefault((player, info_state), infoset)

    def drop(self, infoset: int) -> None:
        """Forgets infosets from a number on, the last of which may be half added."""
        dropped = zip(self._strings[infoset:], self.players[infoset:], strict=False)
        for number, (info_state, player) in enumerate(dropped, infoset):
            if self._first.get(info_state) == number:
                del self._first[info_state]
            elif self._others.get((player, info_state)) == number:
                del self._others[player, info_state]
        del self._strings[infoset:], self.players[infoset:]

    def shared(self) -> set[str]:
        """The strings that more than one player has."""
        return {info_state for _, info_state in self._others}

    @property
    def nbytes(self) -> int:
        """Bytes of the dictionary, its numbers and the strings."""
        size = sys.getsizeof(self._first) + BYTES_OF_INT * len(self)
        size += sys.getsizeof(self._strings) + sys.getsizeof(self.players)
        return size + sum(map(sys.getsizeof, self._strings))
