r"""The names of infosets: where a tree keeps them, and how files spell them.

An infoset is told apart by its information-state string. A few of OpenSpiel's games
give two players the same string; then the second player's infoset has the pair (player,
string) for its name (`arrays.Name`). Files hold strings only, so a pair is spelled
`"\0player\0string"`, and so is any string that itself begins with NUL.

`arrays.InfosetNames` is what every store of names can do. There are four of them: here
`MetNames` for trees that grow, `TiedNames` for those with an abstraction, and
`StoredNames` for trees that are mapped from disk; and `rules.expansion.KeyNames` for
trees that compiled rules expand.
"""

import bisect
import itertools
import sys
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from mccfr_spiel.arrays import Name, shared_by
from mccfr_spiel.compiled.randomness import infoset_place
from mccfr_spiel.tree.sizes import BYTES_OF_INT

BATCH = 1 << 18
"""Names that are decoded, or written, at a time."""


def stored_name(name: Name, player: int) -> str:
    """An infoset's name as files spell it, marked with its player if it needs to be."""
    if isinstance(name, tuple):
        return _marked(name[1], player)
    return _marked(name, player) if name[:1] == "\0" else name


def string_of_stored(stored: str) -> str:
    """The information-state string of a name that `stored_name` spelled."""
    return stored.split("\0", 2)[2] if stored[:1] == "\0" else stored


def _marked(info_state: str, player: int) -> str:
    return f"\0{player}\0{info_state}"


class MetNames:
    """Names of the infosets that a tree has met one by one, in a dictionary.

    Attributes:
        get: as in `InfosetNames`. It is the dictionary's own method, since the
            expansion through pyspiel calls it at every node.
    """

    def __init__(self) -> None:
        self._numbers: dict[Name, int] = {}
        self.get = self._numbers.get

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[Name]:
        return iter(self._numbers)

    def add(self, name: Name, infoset: int) -> int:
        """Names the next infoset; returns the first infoset with that name."""
        return self._numbers.setdefault(name, infoset)

    def discard(self, name: Name, infoset: int) -> None:
        """Takes back `add`, whether it was done or not."""
        if self._numbers.get(name) == infoset:
            del self._numbers[name]

    def pop(self) -> Name:
        """Removes the newest name."""
        return self._numbers.popitem()[0]

    def strings(self) -> list[str]:
        """`[I]` the information-state strings."""
        return [name if isinstance(name, str) else name[1] for name in self]

    def info_state(self, infoset: int) -> str:
        """The string of an infoset, in linear time: `strings` is for many."""
        name = next(itertools.islice(self, infoset, None))
        return name if isinstance(name, str) else name[1]

    def stored(self, players: Sequence[int]) -> Iterable[str]:
        """`[I]` the names as files spell them."""
        return map(stored_name, self, players)

    def shared(self, players: Sequence[int]) -> set[str]:
        """The strings that more than one player has."""
        return {name[1] for name in self if isinstance(name, tuple)}

    @property
    def nbytes(self) -> int:
        """Bytes of the dictionary, its numbers and the strings."""
        size = sys.getsizeof(self._numbers) + BYTES_OF_INT * len(self)
        return size + sum(map(sys.getsizeof, self._numbers))


class TiedNames(MetNames):
    """The same where an abstraction gives several infosets one name.

    `get` finds the first of them, their leader.
    """

    def __init__(self) -> None:
        super().__init__()
        self._of_infosets: list[Name] = []

    def __len__(self) -> int:
        return len(self._of_infosets)

    def __iter__(self) -> Iterator[Name]:
        return iter(self._of_infosets)

    def add(self, name: Name, infoset: int) -> int:
        """Names the next infoset; returns its leader."""
        self._of_infosets.append(name)
        return super().add(name, infoset)

    def discard(self, name: Name, infoset: int) -> None:
        """Takes back `add`, whether it was done or not."""
        del self._of_infosets[infoset:]
        super().discard(name, infoset)

    def pop(self) -> Name:
        """Removes the newest infoset's name."""
        name = self._of_infosets[-1]
        self.discard(name, len(self) - 1)
        return name


class StoredNames:
    """The names of a tree on disk: one long text, searched by the infosets' places."""

    def __init__(
        self,
        text: np.ndarray,
        ends: np.ndarray,
        order: np.ndarray,
        infosets: np.ndarray,
        num_players: int,
    ) -> None:
        """Keeps the arrays.

        Args:
            text: uint8, the names as files spell them, one after the other.
            ends: `[I]` int64, where each name ends.
            order: `[I]` int32, the infosets by ascending place.
            infosets: `[I]` the tree's.
            num_players: of the game.
        """
        self.text, self.ends, self.order = text, ends, order
        self._places = infosets["place"]
        self._num_players = num_players

    def __len__(self) -> int:
        return len(self.ends)

    def __iter__(self) -> Iterator[str]:
        # One pass decodes a batch of names, so that no more of the text is in memory.
        for first in range(0, len(self), BATCH):
            ends = self.ends[first : first + BATCH]
            start = self._start(first)
            data = self.text[start : ends[-1]].tobytes()
            for begin, end in itertools.pairwise([0, *(ends - start).tolist()]):
                yield data[begin:end].decode("utf-8", "surrogateescape")

    def _start(self, infoset: int) -> int:
        return int(self.ends[infoset - 1]) if infoset else 0

    def _stored(self, infoset: int) -> str:
        data = self.text[self._start(infoset) : self.ends[infoset]].tobytes()
        return data.decode("utf-8", "surrogateescape")

    def get(self, name: Name, default: int = -1) -> int:
        """The infoset with that name, found by binary search among the places."""
        if isinstance(name, tuple):
            players, info_state = range(name[0], name[0] + 1), name[1]
        else:
            players, info_state = range(self._num_players), name
        # A place is a hash of a player and a string. Each pass asks for one player;
        # the inner loop skips over names whose places happen to be equal.
        for player in players:
            stored = stored_name(name, player)
            place = infoset_place(player, info_state)
            position = bisect.bisect_left(self.order, place, key=self._place)
            while position < len(self) and self._place(self.order[position]) == place:
                if self._stored(int(self.order[position])) == stored:
                    return int(self.order[position])
                position += 1
        return default

    def _place(self, infoset: int) -> int:
        return int(self._places[infoset])

    def info_state(self, infoset: int) -> str:
        """The information-state string of an infoset."""
        if not 0 <= infoset < len(self):
            raise IndexError(f"There is no infoset {infoset} among {len(self)}.")
        return string_of_stored(self._stored(infoset))

    def strings(self) -> list[str]:
        """`[I]` the information-state strings."""
        return list(map(string_of_stored, self))

    def stored(self, players: Sequence[int]) -> Iterable[str]:
        """`[I]` the names as files spell them."""
        return self

    def shared(self, players: Sequence[int]) -> set[str]:
        """The strings that more than one player has."""
        return shared_by(self.strings(), players)

    @property
    def nbytes(self) -> int:
        """Bytes of the text, mapped or not, and of what finds names in it."""
        return self.text.nbytes + self.ends.nbytes + self.order.nbytes
