"""The infosets that a growing tree has met: records, strings, actions and pasts.

Infosets are numbered by first visit. Each has one player and one past: its `parent`,
the player's last sequence before it. Under an abstraction a player may reach one string
after different pasts; `parent` is then the past that was met first.
"""

import struct
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.arenas.infosets.names import InfosetNames
from mccfr_spiel.arenas.rules import kernel
from mccfr_spiel.arenas.rules.description import GameError
from mccfr_spiel.common.arrays import INFOSET, MAX_CHILDREN, reserve
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.limits import Budget, budget_full


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


# --- the infosets that a tree has met: their records, names, actions and pasts --------


_pack = struct.Struct("<Qiiii").pack_into

_FEW = 256

_BYTES_PER_INFOSET, _BYTES_PER_SEQUENCE = 220, 17
"""The bytes of an infoset without its string: its record, twice while the array grows;
its entry in the dictionary of names, likewise; its number; its past. They were measured
on 64-bit CPython and rounded up. They are counted *before* the memory is taken, so that
a tree that does not fit is refused while there is still room to say so."""

_BYTES_OF_LIST = 250
_ACTIONS = "lists of actions"
_LARGEST_SHARED_INT = 256  # CPython keeps one object for each integer up to this one


def bytes_of_string(info_state: str) -> int:
    """The bytes of an infoset's string, and of the copy of it that saving makes."""
    return sys.getsizeof(info_state) + len(info_state)


def hold_list(budget: Budget, what: str, count: int, size: int) -> None:
    """Takes the bytes of a list or tuple that is kept once, as a key of a table.

    Args:
        budget: from which they are taken.
        what: under which name the budget holds them.
        count: how many numbers it has.
        size: the bytes of each, wherever it is copied to.
    """
    budget.hold(what, budget.held(what) + _BYTES_OF_LIST + size * count)


def refuse_children(game: object, count: int) -> ValueError:
    """The error for a node with more children than a record can count."""
    return ValueError(
        f"{brief(game)} has a node with {count} children; at most {MAX_CHILDREN} fit. "
        "Split the move into two."
    )


class Infosets:
    """The infosets that a tree has met.

    The expansion through pyspiel reads the attributes at every node, which is why they
    are plain lists and arrays. Nobody but this class changes them.

    Attributes:
        records: `[I + room]` of dtype INFOSET.
        names: what tells the infosets apart.
        number_of: gives the first infoset with a string, or a default, as far as
            `names` has it at hand.
        parents, starts: `[I]` of the records, the parent and the first sequence.
        legal_actions: `[I]` the legal actions; empty for an expansion of compiled rules
            until `list_actions`.
        actions: `[S]` OpenSpiel's action of each sequence, -1 for the empty ones.
    """

    def __init__(
        self,
        game: pyspiel.Game,
        num_players: int,
        budget: Budget,
        *,
        may_forget: bool,
    ) -> None:
        """No infosets, and each player's empty sequence.

        Args:
            game: for messages.
            num_players: of the game.
            budget: from which the bytes of infosets are taken.
            may_forget: whether there is an abstraction.
        """
        self._game, self._budget = game, budget
        self._may_forget = may_forget
        budget.set_rates(_BYTES_PER_INFOSET, _BYTES_PER_SEQUENCE)
        # The next four are NumPy's, or a tree's on disk, after `take_over`.
        self.parents: Any = array("i")
        self.starts: Any = array("i")
        self.actions: Any = array("q", [-1] * num_players)
        self.legal_actions: list[list[int]] = []
        self._set_names(MetNames())
        self._set_records(np.zeros(_FEW, INFOSET))
        self._action_lists: dict[tuple[int, ...], list[int]] = {}

    def _set_names(self, names: InfosetNames) -> None:
        self.names: Any = names
        self.number_of = names.first.get
        self._strings: list[str] = []

    def _set_records(self, records: np.ndarray) -> None:
        buffer = records.view(np.uint8).data
        self.records, self._bytes = records, buffer  # Ctrl-C must not come in between

    # --- what is known -------------------------------------------------------

    def __len__(self) -> int:
        return len(self.parents)

    def used(self) -> np.ndarray:
        """`[I]` the records."""
        count = len(self)  # first: another thread may enlarge both
        return self.records[:count]

    def action_array(self) -> np.ndarray:
        """`[S]` the actions as an array."""
        if isinstance(self.actions, np.ndarray):
            return self.actions
        return np.array(self.actions, np.int64)

    def strings(self) -> list[str]:
        """`[I]` the information-state strings, kept from call to call."""
        if len(self._strings) != len(self):
            self._strings = self.names.strings()
        return self._strings

    # --- meeting infosets ----------------------------------------------------

    def meet_again(
        self,
        infoset: int,
        info_state: str,
        parent: int,
        actions: list[int],
        above: Callable[[], Iterable[int]],
    ) -> None:
        """Checks a state whose string, but perhaps not whose past, is known.

        Args:
            infoset: the player's one with that string.
            info_state: the string.
            parent: the player's last sequence before the state.
            actions: the state's legal actions.
            above: gives the infosets of the nodes above the state.

        Raises:
            GameError: the actions or, without an abstraction, the past differ; or, with
                one, the history has met the infoset before.
        """
        player = int(self.records[infoset]["player"])
        where = f"the information state {info_state!r} of {brief(self._game)}"
        if self.legal_actions[infoset] != actions:
            raise GameError(
                f"Two states with {where} have different legal actions: "
                f"{self.legal_actions[infoset]} and {actions}."
            )
        if self.parents[infoset] == parent:
            return
        if not self._may_forget:
            raise kernel.no_recall(player, where)
        if infoset in above():
            raise GameError(
                f"One history meets {where} twice (absentmindedness): the "
                "abstraction must tell a player's earlier states from later ones."
            )

    def add(
        self, info_state: str, player: int, parent: int, actions: list[int], place: int
    ) -> int:
        """Adds an infoset and returns its number.

        An exception that a signal handler raises leaves all of it or nothing.

        Raises:
            MemoryBudgetError: it does not fit.
            ValueError: it has more actions than a node may have children.
        """
        count = len(actions)
        if count > MAX_CHILDREN:
            raise refuse_children(self._game, count)
        infoset, num_sequences = len(self.parents), len(self.actions)
        budget = self._budget
        size = budget.per_infoset + budget.per_sequence * count
        size += bytes_of_string(info_state)
        if size > budget.left:
            met = f"{infoset:,} infosets of {brief(self._game)}, their strings"
            raise budget_full(f"{met}, tables and the nodes between them", budget)
        if infoset >= len(self.records):
            self._set_records(reserve(self.records, infoset + 1))
        legal = self._action_lists.get(tuple(actions))
        if legal is None:  # the first infoset with these actions keeps the list
            is_shared = actions[-1] <= _LARGEST_SHARED_INT
            hold_list(budget, _ACTIONS, count, 16 if is_shared else 48)
            legal = self._action_lists[tuple(actions)] = actions
        offset = INFOSET.itemsize * infoset
        _pack(self._bytes, offset, place, num_sequences, parent, count, player)
        try:
            self.parents.append(parent)
            self.legal_actions.append(legal)
            self.actions.extend(actions)
            self.starts.append(num_sequences)
            self.names.add(info_state, player)
        except BaseException:
            self._drop(infoset, num_sequences)
            raise
        budget.take(size)
        return infoset

    # --- all at once ---------------------------------------------------------

    def recall(
        self, strings: Sequence[str], records: np.ndarray, actions: np.ndarray
    ) -> None:
        """Meets the infosets of a file; there must be none yet.

        Args:
            strings: `[I]` the information-state strings.
            records: `[I]` of dtype INFOSET.
            actions: `[S]`.

        Raises:
            MemoryBudgetError: they do not fit.
        """
        size = sum(map(bytes_of_string, strings))
        self._budget.meet(len(strings), len(actions), size)
        self._budget.meet(-len(strings), -len(actions), -size)  # `add` takes them
        for string, record in zip(strings, records.tolist(), strict=True):
            place, start, parent, count, player = record
            legal = actions[start : start + count].tolist()
            self.add(string, player, parent, legal, place)

    def take_over(
        self, names: InfosetNames, records: np.ndarray, actions: np.ndarray
    ) -> None:
        """Becomes the infosets of a whole tree, which keep their arrays."""
        self._set_names(names)
        self._set_records(records)
        self.parents = records["parent"]
        self.starts = records["first_sequence"]
        self.actions = actions

    def list_actions(self) -> None:
        """Lists the legal actions of infosets that came all at once, once."""
        if not self.legal_actions:
            for _, start, _, count, _ in self.used().tolist():
                legal = self.actions[start : start + count].tolist()
                legal = self._action_lists.setdefault(tuple(legal), legal)
                self.legal_actions.append(legal)

    def forget_since(self, num_infosets: int, num_sequences: int) -> None:
        """Forgets the infosets from a number on, and gives their bytes back."""
        numbers = range(num_infosets, len(self))
        strings = sum(bytes_of_string(self.names.info_state(n)) for n in numbers)
        num_actions = len(self.actions) - num_sequences
        self._drop(num_infosets, num_sequences)
        self._budget.meet(-len(numbers), -num_actions, -strings)
        if not num_infosets:
            self._action_lists = {}
            self._budget.measured(_ACTIONS, 0)
            self._set_records(np.zeros(_FEW, INFOSET))

    def _drop(self, num_infosets: int, num_sequences: int) -> None:
        """Drops infosets from a number on, the last of which may be half added."""
        del self.parents[num_infosets:], self.starts[num_infosets:]
        del self.legal_actions[num_infosets:], self.actions[num_sequences:]
        del self._strings[num_infosets:]
        self.names.drop(num_infosets)
