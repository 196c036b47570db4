"""What one open page has changed and plays. Two pages know nothing of each other."""

import random
import threading
from collections import OrderedDict
from collections.abc import Sequence
from sys import getsizeof
from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.exploring.background import Work
from mccfr_spiel.exploring.changing import restricted_best_returns, solve_on, with_row
from mccfr_spiel.exploring.hands import Hand
from mccfr_spiel.exploring.subjects import Evaluation, Subject
from mccfr_spiel.limits.budget import in_words
from mccfr_spiel.policies.names import said_info_state
from mccfr_spiel.tree.loading import pot_of

MOST_ITERATIONS = 100_000

_MOST_SECONDS = 10.0
"""That the first change of a page waits until the policy has been read."""

MOST_BYTES = 1 << 28
"""That the changes of all pages take together. Half as much is for one page, which
keeps its last two changes whatever they take, so that one can be undone."""

_MOST_VISITS = 64
_LONGEST_NAME = 64


class Change(NamedTuple):
    """A policy that was changed, as one step of a list that can be undone.

    Attributes:
        words: what was done.
        policy: `[S]` the policy after it.
        fixed: the infosets where it is fixed.
        iterations: all that it was solved on for.
    """

    words: str
    policy: np.ndarray
    fixed: frozenset[int] = frozenset()
    iterations: int = 0


class Visit:
    """One open page.

    Attributes:
        hand: the game that is played, if any.
        changes: what was done to the policy, each step on top of the one before.
        generator: of chance and of the policy's moves in games.
    """

    def __init__(self) -> None:
        """Has changed nothing."""
        self.hand: Hand | None = None
        self.changes: list[Change] = []
        self.generator = random.Random()
        self._evaluation: tuple[Change, Evaluation] | None = None
        self._is_cut = False  # whether changes before the first one are forgotten
        self._solving: Work[None] | None = None
        self._done, self._wanted = 0, 0
        self._lock = threading.Lock()

    def evaluation(self, subject: Subject) -> Evaluation:
        """The evaluation of the changed policy.

        Raises:
            ValueError: nothing was changed.
        """
        with self._lock:
            if not self.changes:
                raise ValueError("Nothing was changed yet, or it is forgotten.")
            last = self.changes[-1]
            if self._evaluation is None or self._evaluation[0] is not last:
                found = Evaluation(subject.need_infosets(), last.policy)
                self._evaluation = last, found
            return self._evaluation[1]

    @property
    def nbytes(self) -> int:
        """About what its changes take in memory, and the numbers of the last one."""
        size = sum(one.policy.nbytes + getsizeof(one.fixed) for one in self.changes)
        return size + (6 * self._evaluation[0].policy.nbytes if self._evaluation else 0)

    def _add(self, change: Change) -> None:
        self.changes.append(change)
        self._evaluation = None
        while len(self.changes) > 2 and self.nbytes > MOST_BYTES // 2:
            del self.changes[0]
            self._is_cut = True

    def fix(
        self,
        subject: Subject,
        which: int,
        infosets: Sequence[int],
        row: list[float] | None,
    ) -> None:
        """Fixes the policy at infosets, or frees it if there is no row.

        Raises:
            ValueError: the tree is not there, or the row is no distribution.
        """
        tree = subject.need_infosets()
        with self._lock:
            base = self._base(subject, which)
            player = int(tree.infosets[infosets[0]]["player"])
            name = said_info_state(tree.game, player, tree.info_state(infosets[0]))
            if len(infosets) > 1:
                name = f"all hands, as {name}"
            policy, fixed = base.policy, base.fixed.difference(infosets)
            words = f"{'Freed' if row is None else 'Fixed'} {name}"
            if row is not None:
                policy = with_row(tree, policy, infosets, row)
                fixed = fixed.union(infosets)
            self._add(Change(words, policy, fixed, base.iterations))

    def solve(self, subject: Subject, which: int, iterations: int) -> None:
        """Begins to solve on, with what is fixed kept.

        Raises:
            ValueError: the tree is not there, or the number is out of range.
        """
        if not 1 <= iterations <= MOST_ITERATIONS:
            raise ValueError(
                f"iterations={iterations} is not in 1 .. {MOST_ITERATIONS}."
            )
        tree = subject.need_infosets()
        with self._lock:
            base = self._base(subject, which)
            self._done, self._wanted = 0, iterations

            def tell(done: int) -> None:
                self._done = done

            def run() -> None:
                policy = solve_on(tree, base.policy, base.fixed, iterations, tell)
                words = f"Solved for {iterations:,} iterations"
                total = base.iterations + iterations
                self._add(Change(words, policy, base.fixed, total))

            self._solving = Work(run)

    def _base(self, subject: Subject, which: int) -> Change:
        """What is changed next: the last change, or the policy that is looked at."""
        self._check_idle()
        if self.changes:
            return self.changes[-1]
        policy = subject.evaluation(which).vector(_MOST_SECONDS)
        if policy is None:
            raise ValueError("The policy is still being read; try again in a moment.")
        return Change("", policy)

    def _check_idle(self) -> None:
        if self._solving is not None and not self._solving.is_done:
            raise ValueError("The page is still solving; wait until it has ended.")

    def undo(self) -> None:
        """Takes the last change back.

        Raises:
            ValueError: there is none.
        """
        with self._lock:
            self._check_idle()
            if not self.changes:
                raise ValueError("There is nothing to undo, or it is forgotten.")
            if self._is_cut and len(self.changes) == 1:
                words = "What was before this change is forgotten: a page keeps about"
                raise ValueError(f"{words} {in_words(MOST_BYTES // 2)} of changes.")
            self.changes.pop()

    def view(self, subject: Subject) -> dict[str, Any]:
        """What was changed, and what it has changed."""
        solving, last = self._solving, (self.changes or [None])[-1]
        view: dict[str, Any] = {
            "solving": solving is not None and not solving.is_done,
            "done": self._done,
            "wanted": self._wanted,
            "error": str(solving.error) if solving and solving.error else None,
            "changes": [change.words for change in self.changes],
            "fixed": sorted(last.fixed) if last else [],
            "iterations": last.iterations if last else 0,
            "restricted": None,
        }
        if last is not None and not view["solving"]:
            tree = subject.need_infosets()
            found = restricted_best_returns(tree, last.policy, last.fixed)
            half = pot_of(subject.game) / 2 if subject.is_holdem else 0.0
            view["restricted"] = (found + half).tolist()
        return view


class Visits:
    """The open pages, by the names that they have chosen; the oldest are forgotten."""

    def __init__(self) -> None:
        """Has none."""
        self._visits: OrderedDict[str, Visit] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, name: str) -> Visit:
        """The page of that name.

        Raises:
            ValueError: it is no name of a page.
        """
        if not 0 < len(name) <= _LONGEST_NAME or not name.isascii():
            raise ValueError("The page did not say which one it is (visit=...).")
        with self._lock:
            visit = self._visits.pop(name, None) or Visit()
            self._visits[name] = visit
            while len(self._visits) > _MOST_VISITS or (
                len(self._visits) > 1
                and sum(one.nbytes for one in self._visits.values()) > MOST_BYTES
            ):
                self._visits.popitem(last=False)
            return visit
