"""The infosets that a tree has met: their records, names, actions and pasts.

Infosets are numbered by first visit, and each belongs to one player with one past: its
`parent`, the player's last sequence before it. Under an abstraction a player may reach
one string after different pasts; then `parent` is of the past that was met first.
"""

import hashlib
import struct
import sys
from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.arrays import INFOSET, MAX_CHILDREN, reserve
from mccfr_spiel.display.lines import brief
from mccfr_spiel.limits.budget import Budget, MemoryBudgetError
from mccfr_spiel.rules.declared import GameError
from mccfr_spiel.tree.names import InfosetNames, MetNames
from mccfr_spiel.tree.outcomes import refuse_children
from mccfr_spiel.tree.sizes import (
    BYTES_PER_INFOSET,
    BYTES_PER_SEQUENCE,
    bytes_of_actions,
    bytes_of_string,
)

_pack = struct.Struct("<Qiiii").pack_into
_unpack_place = struct.Struct("<Q").unpack_from

_FEW = 256

RECALL_WAY_OUT = (
    "Use information states that remember all that the player did and saw, or give "
    "mccfr_spiel.Solver the argument "
    "abstraction=pyspiel.State.information_state_string to try it all the same."
)
"""What helps where a game has imperfect recall."""


def no_recall(player: int, where: str) -> GameError:
    """The error for a player who reaches an information state after different pasts.

    Args:
        player: who.
        where: the information state and the game, in words.
    """
    return GameError(
        f"Player {player} reaches {where} after different own pasts (own moves or what "
        "was seen between them): the game has imperfect recall, for which these "
        f"solvers have no guarantee. {RECALL_WAY_OUT}"
    )


def _size_of(part: Any) -> int:
    return part.nbytes if isinstance(part, np.ndarray) else sys.getsizeof(part)


class Infosets:
    """The infosets that a tree has met.

    The expansion through pyspiel reads the attributes at every node, which is why they
    are plain lists and arrays. Nobody but this class changes them.

    Attributes:
        records: `[I + room]` of dtype INFOSET.
        names: what tells the infosets apart.
        number_of: that of `names`.
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
        budget.set_rates(BYTES_PER_INFOSET, BYTES_PER_SEQUENCE)
        # The next four are NumPy's, or a tree's on disk, after `take_over`.
        self.parents: Any = array("i")
        self.starts: Any = array("i")
        self.actions: Any = array("q", [-1] * num_players)
        self.legal_actions: list[list[int]] = []
        self._set_names(MetNames())
        self._set_records(np.zeros(_FEW, INFOSET))
        self._action_lists: dict[tuple[int, ...], list[int]] = {}
        self._bytes_of_lists = 0  # of legal actions, taken from the budget

    def _set_names(self, names: InfosetNames) -> None:
        self.names: Any = names
        self.number_of = names.number_of
        self._strings: list[str] = []

    def _set_records(self, records: np.ndarray) -> None:
        buffer = records.view(np.uint8).data
        self.records, self._bytes = records, buffer  # Ctrl-C must not come in between

    # --- what is known -------------------------------------------------------

    def __len__(self) -> int:
        return len(self.parents)

    @property
    def is_taken_over(self) -> bool:
        """Whether they came from a whole tree, all at once."""
        return not isinstance(self.names, MetNames)

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

    def info_state(self, infoset: int) -> str:
        """The information-state string of an infoset."""
        if not 0 <= infoset < len(self):
            raise IndexError(f"There is no infoset {infoset} among {len(self)}.")
        return self.names.info_state(infoset)

    def place(self, infoset: int) -> int:
        """The place (see compiled/randomness.py) of an infoset."""
        return _unpack_place(self._bytes, INFOSET.itemsize * infoset)[0]

    def digest(self) -> str:
        """A hash of the infosets, their players, pasts, names and actions."""
        digest = hashlib.blake2b(self.used().view(np.uint8).data, digest_size=16)
        digest.update(self.action_array().view(np.uint8).data)
        return digest.hexdigest()

    def memory(self) -> dict[str, int]:
        """Bytes of all that is known of `infosets`, and of their `names`."""
        lists = self.parents, self.starts, self.legal_actions, self.actions
        size = self.records.nbytes + sum(map(_size_of, lists))
        names = sys.getsizeof(self._strings) + self.names.nbytes
        return {"infosets": size + self._bytes_of_lists, "names": names}

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
            raise no_recall(player, where)
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
            raise self._full()
        if infoset >= len(self.records):
            self._set_records(reserve(self.records, infoset + 1))
        offset = INFOSET.itemsize * infoset
        _pack(self._bytes, offset, place, num_sequences, parent, count, player)
        try:
            self.parents.append(parent)
            legal = self._action_lists.setdefault(tuple(actions), actions)
            self.legal_actions.append(legal)
            self.actions.extend(actions)
            self.starts.append(num_sequences)
            self.names.add(info_state, player)
        except BaseException:
            del self.parents[infoset:], self.legal_actions[infoset:]
            del self.actions[num_sequences:], self.starts[infoset:]
            self.names.drop(infoset)
            raise
        if legal is actions:  # the first infoset with these actions keeps the list
            more = bytes_of_actions(actions)
            self._bytes_of_lists += more
            size += more
        budget.take(size)
        return infoset

    def _full(self) -> MemoryBudgetError:
        return MemoryBudgetError(
            f"{len(self):,} infosets of {brief(self._game)}, their strings and tables, "
            f"and the nodes between them fill {self._budget.in_words()}. Raise "
            "max_memory if memory allows, or use outcome sampling or external "
            "sampling, which keep only what they meet (on the command line with "
            "--evaluate=sampled)."
        )

    # --- all at once ---------------------------------------------------------

    def recall(
        self, strings: Sequence[str], records: np.ndarray, actions: np.ndarray
    ) -> None:
        """Becomes the infosets of a file; there must be none yet.

        Args:
            strings: `[I]` the information-state strings.
            records: `[I]` of dtype INFOSET.
            actions: `[S]`.

        Raises:
            MemoryBudgetError: they do not fit.
        """
        size = sum(map(bytes_of_string, strings))
        self._budget.meet(len(strings), len(actions), size)
        names = MetNames()
        for string, player in zip(strings, records["player"].tolist(), strict=True):
            names.add(string, player)
        self._set_names(names)
        self._set_records(np.array(records, INFOSET))
        self.parents = array("i", records["parent"].tobytes())
        self.starts = array("i", records["first_sequence"].tobytes())
        self.actions = array("q", actions.tobytes())
        self.legal_actions = []
        self.list_actions()

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
        num_dropped = len(self) - num_infosets
        if not num_dropped:
            return
        num_actions = len(self.actions) - num_sequences
        numbers = range(num_infosets, len(self))
        strings = sum(bytes_of_string(self.names.info_state(n)) for n in numbers)
        self.names.drop(num_infosets)
        del self.parents[num_infosets:], self.starts[num_infosets:]
        del self.legal_actions[num_infosets:], self.actions[num_sequences:]
        del self._strings[num_infosets:]
        self._budget.meet(-num_dropped, -num_actions, -strings)
        if not num_infosets:
            self._action_lists = {}
            self._budget.take(-self._bytes_of_lists)
            self._bytes_of_lists = 0
            self._set_records(np.zeros(_FEW, INFOSET))
