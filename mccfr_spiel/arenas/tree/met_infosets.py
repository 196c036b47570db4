"""Infosets: the infosets of a growing tree, with records, strings, actions and parents.

Infosets are numbered in the order of their first visits. Each infoset has a player and
a `parent`, the player's last sequence before the infoset. With an abstraction, a player
may reach an infoset after different sequences; `parent` is then the sequence of the
first visit.
"""

import struct
import sys
from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.arenas.infosets.names import InfosetNames
from mccfr_spiel.arenas.rules.declarations import GameError
from mccfr_spiel.arenas.rules.rule_faults import no_recall
from mccfr_spiel.arenas.tree.met_names import MetNames
from mccfr_spiel.common.arrays import INFOSET, MAX_CHILDREN, reserve
from mccfr_spiel.common.budget import Budget, budget_full
from mccfr_spiel.common.display import brief, player_name

_pack = struct.Struct("<Qiiii").pack_into

_FEW = 256
"""Initial capacity of the array of records."""

_BYTES_PER_INFOSET, _BYTES_PER_SEQUENCE = 220, 17
"""Bytes per infoset, without its string, and bytes per sequence.

They cover all arrays and lists of the class, and the dictionary from strings to
infosets. The record and the dictionary entry count twice, because old and new container
exist at the same time when they are enlarged. The numbers were measured on 64-bit
CPython and rounded up. The budget counts them before memory is allocated, so that a
tree that does not fit is refused while enough memory is left to report the error.
"""

_BYTES_OF_LIST = 250
"""Bytes of a list or tuple without its entries, and of its dictionary entry."""

_ACTIONS = "lists of actions"
"""Name under which the budget counts the distinct lists of legal actions."""

_LARGEST_SHARED_INT = 256  # CPython has a single object for each integer up to 256


def bytes_of_string(info_state: str) -> int:
    """Bytes of an infoset's string, and of its encoded copy when a tree is saved."""
    return sys.getsizeof(info_state) + len(info_state)


def hold_list(budget: Budget, what: str, count: int, size: int) -> None:
    """Counts the bytes of another list or tuple in a budget.

    Args:
        budget: memory budget.
        what: name under which the budget counts such lists.
        count: length of the list.
        size: bytes per number in the list, including copies.

    Raises:
        MemoryBudgetError: the list does not fit.
    """
    budget.hold(what, budget.held[what] + _BYTES_OF_LIST + size * count)


def refuse_children(game: object, count: int) -> ValueError:
    """The error for a node with more children than the field `num_children` of a record
    can store.

    Args:
        game: game in the message.
        count: number of children.
    """
    return ValueError(
        f"{brief(game)} has a node with {count} children; the maximum is "
        f"{MAX_CHILDREN}. Split the node into two moves."
    )


class Infosets:
    """The infosets of the nodes that have been expanded in a tree.

    The expansion through pyspiel reads the attributes at every node. Therefore they are
    plain lists and arrays, and public, although only this class modifies them.

    Shapes: I infosets, S sequences of all players.

    Attributes:
        records: `[I]` records of dtype INFOSET, followed by unused records.
        names: names of the infosets.
        number_of: function (string, default) that returns the first infoset with a
            string, or the default if there is none. After an expansion by compiled
            rules it returns the default for all strings, because `names` keeps no
            strings in memory.
        parents: `[I]` parent sequences.
        starts: `[I]` first sequences.
        legal_actions: `[I]` lists of legal actions. After an expansion by compiled
            rules it is empty until `list_actions` is called.
        actions: `[S]` OpenSpiel's action of each sequence; -1 for empty sequences.
    """

    def __init__(
        self,
        game: pyspiel.Game,
        num_players: int,
        budget: Budget,
        *,
        may_forget: bool,
    ) -> None:
        """Creates a store with each player's empty sequence and no infosets.

        Args:
            game: game in messages.
            num_players: number of players.
            budget: memory budget of the tree.
            may_forget: whether there is an abstraction, under which players may forget
                their own moves.
        """
        self._game, self._budget = game, budget
        self._may_forget = may_forget
        budget.per_infoset = _BYTES_PER_INFOSET
        budget.per_sequence = _BYTES_PER_SEQUENCE
        # `take_over` replaces these attributes by NumPy arrays, perhaps mapped from a
        # file.
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
        # One statement without calls, so that Ctrl-C cannot separate the assignments.
        self.records, self._bytes = records, buffer

    def __len__(self) -> int:
        return len(self.parents)

    def used(self) -> np.ndarray:
        """`[I]` the records in use."""
        # Count before array: a concurrent thread enlarges the array, then increases
        # the count, so the array has at least `count` rows.
        count = len(self)
        return self.records[:count]

    def action_array(self) -> np.ndarray:
        """`[S]` the actions as an array."""
        if isinstance(self.actions, np.ndarray):
            return self.actions
        return np.array(self.actions, np.int64)

    def strings(self) -> list[str]:
        """`[I]` information-state strings, cached between calls."""
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
        """Checks a state of an infoset that exists already, if the expansion has found
        a difference between the state and the infoset.

        Args:
            infoset: the acting player's infoset with the string of the state.
            info_state: information-state string.
            parent: the player's last sequence before the state.
            actions: legal actions of the state.
            above: function without arguments that returns the infosets of the state's
                ancestors.

        Raises:
            GameError: the legal actions differ; or, without an abstraction, the parents
                differ (imperfect recall); or, with an abstraction, an ancestor of the
                state is in the same infoset (absentmindedness).
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
            who = player_name(self._game, player, "Player {}")
            raise no_recall(who, where)
        if infoset in above():
            raise GameError(
                f"One history meets {where} twice (absentmindedness): the "
                "abstraction must return different strings for earlier and later "
                "states of a player."
            )

    def add(
        self, info_state: str, player: int, parent: int, actions: list[int], place: int
    ) -> int:
        """Adds an infoset.

        If a signal handler raises an exception, the infoset is added completely or not
        at all.

        Args:
            info_state: information-state string.
            player: acting player.
            parent: the player's last sequence before the infoset.
            actions: legal actions.
            place: 64-bit hash that seeds random draws at the infoset, see
                kernels/randomness.py.

        Returns:
            The number of the new infoset.

        Raises:
            MemoryBudgetError: the infoset does not fit.
            ValueError: the infoset has more actions than a node may have children.
        """
        count = len(actions)
        if count > MAX_CHILDREN:
            raise refuse_children(self._game, count)
        infoset, num_sequences = len(self.parents), len(self.actions)
        budget = self._budget
        size = budget.bytes_of_rows(1, count) + bytes_of_string(info_state)
        if size > budget.left:
            infosets = f"{infoset:,} infosets of {brief(self._game)}, their strings"
            raise budget_full(f"{infosets}, tables and the nodes between them", budget)
        if infoset >= len(self.records):
            self._set_records(reserve(self.records, infoset + 1))
        legal = self._action_lists.get(tuple(actions))
        if legal is None:  # infosets with equal actions have a common list
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

    # --- adding or dropping many infosets ------------------------------------

    def recall(
        self, strings: Sequence[str], records: np.ndarray, actions: np.ndarray
    ) -> None:
        """Adds the infosets of a checkpoint to an empty store.

        Args:
            strings: `[I]` information-state strings.
            records: `[I]` records of dtype INFOSET.
            actions: `[S]` actions.

        Raises:
            MemoryBudgetError: the infosets do not fit.
        """
        size = self._budget.bytes_of_rows(len(strings), len(actions))
        size += sum(map(bytes_of_string, strings))
        # Only checks that all infosets fit; `add` counts the bytes in the budget.
        self._budget.require(size, f"{len(strings):,} infosets take")
        for string, record in zip(strings, records.tolist(), strict=True):
            place, start, parent, count, player = record
            legal = actions[start : start + count].tolist()
            self.add(string, player, parent, legal, place)

    def take_over(
        self, names: InfosetNames, records: np.ndarray, actions: np.ndarray
    ) -> None:
        """Adopts the infosets of a complete tree without copying.

        Args:
            names: names of the infosets.
            records: `[I]` records of dtype INFOSET.
            actions: `[S]` OpenSpiel's action of each sequence.
        """
        self._set_names(names)
        self._set_records(records)
        self.parents = records["parent"]
        self.starts = records["first_sequence"]
        self.actions = actions

    def list_actions(self) -> None:
        """Fills `legal_actions` if it is empty, as after `take_over`."""
        if not self.legal_actions:
            for _, start, _, count, _ in self.used().tolist():
                legal = self.actions[start : start + count].tolist()
                legal = self._action_lists.setdefault(tuple(legal), legal)
                self.legal_actions.append(legal)

    def forget_since(self, num_infosets: int, num_sequences: int) -> None:
        """Drops the newest infosets and returns their bytes to the budget.

        Args:
            num_infosets: number of infosets to keep.
            num_sequences: number of their sequences, including empty sequences.
        """
        dropped = range(num_infosets, len(self))
        strings = sum(bytes_of_string(self.names.info_state(i)) for i in dropped)
        num_actions = len(self.actions) - num_sequences
        self._drop(num_infosets, num_sequences)
        size = strings + self._budget.bytes_of_rows(len(dropped), num_actions)
        self._budget.take(-size)
        if not num_infosets:
            self._action_lists = {}
            self._budget.record(_ACTIONS, 0)
            self._set_records(np.zeros(_FEW, INFOSET))

    def _drop(self, num_infosets: int, num_sequences: int) -> None:
        """Drops the newest infosets, see `forget_since`. The last infoset may be
        incomplete, if an exception has interrupted `add`."""
        del self.parents[num_infosets:], self.starts[num_infosets:]
        del self.legal_actions[num_infosets:], self.actions[num_sequences:]
        del self._strings[num_infosets:]
        self.names.drop(num_infosets)
