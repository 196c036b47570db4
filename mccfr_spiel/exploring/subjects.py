"""What a page looks at: a game, policies for it, and the game's tree once it is there.

Policies answer for states at once. Values need the whole tree of the game. That of a
solver may be whole already, or mapped from a cache; a small one is made in a thread of
its own, and a large one is done without.
"""

import functools
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import pyspiel

from mccfr_spiel.display.lines import title
from mccfr_spiel.exploring.background import Work
from mccfr_spiel.exploring.candidates import Candidate, Given, kept_in, read_given
from mccfr_spiel.exploring.numbers import Numbers, numbers_of
from mccfr_spiel.policies.table import MOST_NODES
from mccfr_spiel.policies.vectors import policy_vector
from mccfr_spiel.tree.game_tree import GameTree
from mccfr_spiel.tree.identity import same_name
from mccfr_spiel.tree.loading import turn_based
from mccfr_spiel.tree.whole_trees import whole_tree_beside

PATIENCE = 0.2
"""Seconds that an answer waits for work in another thread, before it says that the work
goes on."""

KEPT_BYTES = 1 << 29
"""That the numbers of all policies take together. Those of two are kept in any case: of
the policy that is looked at, and of the one to compare it with."""

_Result = TypeVar("_Result")

_BYTES_PER_SEQUENCE = 48
"""Of `Numbers`: four arrays [S] and two [I], which are shorter."""

_KEPT = 64


class Subject:
    """What a page looks at.

    Attributes:
        source: the game as it was given; `game` is its turn-based form.
        candidates: the policies.
        folder: the folder of results, if there is one.
        history: the rows of a solver that was given, if any.
    """

    def __init__(self, given: Given) -> None:
        """Starts to make the tree, unless it is there.

        Args:
            given: the game, at least one policy for it, and what else there is.

        Raises:
            ValueError: a policy is for another game.
        """
        self.source, self.game = given.source, turn_based(given.source)
        self.candidates = list(given.candidates)
        self.folder, self.history = given.folder, given.history
        self._run = given.run
        for candidate in self.candidates:
            if candidate.is_read:
                self._check_game(candidate)
        tree = given.tree
        self._lock = threading.Lock()
        self._one_at_a_time = threading.Lock()
        self._vectors: OrderedDict[int, Work[np.ndarray]] = OrderedDict()
        self._numbers: OrderedDict[int, Work[Numbers]] = OrderedDict()
        self._abstract = tree is not None and tree.abstraction is not None
        self._whole = None if self._abstract else _whole(tree)
        self._making: Work[GameTree] | None = None
        if self._whole is None and not self._abstract:
            self._making = Work(lambda: _made(tree, self.source))

    @property
    def title(self) -> str:
        """The game's name."""
        return title(self.source)

    def tree(self, seconds: float = 0.0) -> GameTree | None:
        """The whole tree; None if it is not there after so many seconds."""
        if self._whole is None and self._making is not None:
            self._whole = self._making.result(seconds)
        return self._whole

    def state_of_tree(self) -> tuple[str, str]:
        """Says "ready", "working" or "none" of the tree, and why it is not there."""
        if self.tree() is not None:
            return "ready", ""
        if self._abstract:
            return "none", (
                "The policy is shown at each state, without values, best responses "
                "and lists. With an abstraction players may forget, so there are none."
            )
        if self._making is not None and self._making.error is not None:
            return "none", (
                "The policy is shown at each state; values, best responses and lists "
                f"need the game's whole tree, which is not there. {self._making.error}"
            )
        return "working", "The game's tree is being made."

    def need_tree(self) -> GameTree:
        """The whole tree.

        Raises:
            ValueError: it is not there; the message says why.
        """
        tree = self.tree(PATIENCE)
        if tree is None:
            raise ValueError(self.state_of_tree()[1])
        return tree

    # --- policies --------------------------------------------------------------

    def policy(self, which: int) -> Any:
        """A policy, which is read if it was not yet.

        Raises:
            ValueError, OSError: its file is damaged or gone, or is of another game.
        """
        candidate = self.candidates[which]
        if not candidate.is_read:
            self._check_game(candidate)
        return candidate.policy

    def _check_game(self, candidate: Candidate) -> None:
        own = getattr(candidate.policy, "game", None)
        if isinstance(own, pyspiel.Game) and not any(
            same_name(own, one) for one in (self.source, self.game)
        ):
            raise ValueError(
                f"{candidate.label} is a policy for {own}, not for {self.source}: one "
                "page shows policies for one game."
            )

    def look_again(self) -> int:
        """Adds the policies that the folder's run has kept since; returns how many
        policies there are now."""
        if self.folder is not None:
            run = self._run
            with self._lock:
                known = {one.iteration for one in self.candidates if one.run == run}
                self.candidates += [
                    one
                    for one in kept_in(self.folder, run, self.source)
                    if one.iteration not in known
                ]
        return len(self.candidates)

    def vector(self, which: int, seconds: float | None = PATIENCE) -> np.ndarray | None:
        """`[S]` a policy over the tree's sequences; None if it is not there after so
        many seconds.

        Raises:
            ValueError: it is no policy for this game, or the tree is not there.
        """
        tree, policy = self.need_tree(), self.policy(which)
        call = functools.partial(policy_vector, tree, policy)
        return found_by(self._work(self._vectors, which, call), seconds)

    def numbers(self, which: int, seconds: float = PATIENCE) -> Numbers | None:
        """The numbers of a policy; None if they are not there after so many seconds.

        They are computed in a thread, one policy after the other.

        Raises:
            ValueError: they cannot be computed.
        """
        tree = self.tree(seconds)
        if tree is None:
            return None
        call = functools.partial(self._computed, tree, which)
        return found_by(self._work(self._numbers, which, call), seconds)

    def _work(
        self,
        works: OrderedDict[int, Work[_Result]],
        which: int,
        call: Callable[[], _Result],
    ) -> Work[_Result]:
        """The work for a policy, begun if need be; what was asked for least lately is
        forgotten."""
        with self._lock:
            if which not in works:
                works[which] = Work(call)
            works.move_to_end(which)
            tree, most = self._whole, _KEPT
            if tree is not None:
                size = _BYTES_PER_SEQUENCE * tree.num_sequences
                most = max(2, min(_KEPT, KEPT_BYTES // size))
            while len(works) > most:
                works.popitem(last=False)
            return works[which]

    def _computed(self, tree: GameTree, which: int) -> Numbers:
        with self._one_at_a_time:
            with self._lock:
                is_wanted = which in self._numbers
            if not is_wanted:  # a slider has passed it by
                raise ValueError("Nobody has asked for these values lately.")
            policy = self.vector(which, None)
            assert policy is not None
            return numbers_of(tree, policy)


def found_by(work: Work[_Result], seconds: float | None) -> _Result | None:
    """What work has found after so many seconds, or None.

    Raises:
        ValueError: the work failed.
    """
    found = work.result(seconds)
    if work.error is not None:
        raise ValueError(str(work.error)) from work.error
    return found


def _whole(tree: GameTree | None) -> GameTree | None:
    return tree if tree is not None and tree.is_complete else None


def _made(tree: GameTree | None, source: pyspiel.Game) -> GameTree:
    if tree is not None:
        return whole_tree_beside(tree, source, max_nodes=MOST_NODES)
    return GameTree(source, max_nodes=MOST_NODES).expand_all()


def subject_of(
    what: Any, game: pyspiel.Game | str | None = None, tree: GameTree | None = None
) -> Subject:
    """The subject of what was given to `explore`, which lists what that can be."""
    return Subject(read_given(what, game, tree))
