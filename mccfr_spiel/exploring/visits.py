"""What one open page has changed and plays. Two pages know nothing of each other."""

import random
import threading
from collections import OrderedDict
from sys import getsizeof
from typing import Any

import numpy as np

from mccfr_spiel.exploring.background import Work
from mccfr_spiel.exploring.changing import (
    Change,
    restricted_best_returns,
    solve_on,
    with_row,
)
from mccfr_spiel.exploring.hands import Hand
from mccfr_spiel.exploring.numbers import Numbers, numbers_of
from mccfr_spiel.exploring.subjects import PATIENCE, Subject, found_by
from mccfr_spiel.limits.budget import in_words
from mccfr_spiel.tree.game_tree import GameTree

MINE = "mine"
"""What the page calls the policy that it has changed."""

MOST_ITERATIONS = 100_000

_MOST_SECONDS = 10.0
"""That the first change of a page waits until the policy has been read."""

MOST_BYTES = 1 << 28
"""That the changes of all pages take together. Half as much is for one page, which
keeps its last two changes whatever they take, so that one can be undone."""

_MOST_VISITS = 64
_LONGEST_NAME = 64


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
        self._numbers: tuple[np.ndarray, Work[Numbers]] | None = None
        self._is_cut = False  # whether changes before the first one are forgotten
        self._solving: Work[np.ndarray] | None = None
        self._done, self._wanted = 0, 0
        self._lock = threading.Lock()

    def numbers(self, tree: GameTree, seconds: float = PATIENCE) -> Numbers | None:
        """The numbers of the changed policy; None if they are not there yet.

        Raises:
            ValueError: nothing was changed.
        """
        with self._lock:
            return self._numbers_of_last(tree, seconds)

    def changed_policy(self) -> np.ndarray:
        """`[S]` the changed policy.

        Raises:
            ValueError: nothing was changed.
        """
        if not self.changes:
            raise ValueError("Nothing was changed yet, or it is forgotten.")
        return self.changes[-1].policy

    def _numbers_of_last(self, tree: GameTree, seconds: float) -> Numbers | None:
        policy = self.changed_policy()
        if self._numbers is None or self._numbers[0] is not policy:
            self._numbers = policy, Work(lambda: numbers_of(tree, policy))
        return found_by(self._numbers[1], seconds)

    def _base(self, subject: Subject, which: int) -> Change:
        """What is changed next: the last change, or the policy that is looked at."""
        if self.changes:
            return self.changes[-1]
        policy = subject.vector(which, _MOST_SECONDS)
        if policy is None:
            raise ValueError("The policy is still being read; try again in a moment.")
        return Change("", policy, frozenset(), 0)

    @property
    def nbytes(self) -> int:
        """About what its changes take in memory, and the numbers of the last one."""
        size = 0 if self._numbers is None else 6 * self._numbers[0].nbytes
        return size + sum(c.policy.nbytes + getsizeof(c.fixed) for c in self.changes)

    def _add(self, change: Change) -> None:
        self.changes.append(change)
        self._numbers = None
        while len(self.changes) > 2 and self.nbytes > MOST_BYTES // 2:
            del self.changes[0]
            self._is_cut = True

    def fix(
        self, subject: Subject, which: int, infoset: int, row: list[float] | None
    ) -> None:
        """Fixes the policy at an infoset, or frees it if there is no row.

        Raises:
            ValueError: the tree is not there, or the row is no distribution.
        """
        tree = subject.need_tree()
        with self._lock:
            self._check_idle(tree)
            base = self._base(subject, which)
            name = tree.info_state(infoset)
            if row is None:
                words = f"Freed {name}"
                change = base._replace(words=words, fixed=base.fixed - {infoset})
            else:
                policy = with_row(tree, base.policy, infoset, row)
                fixed = base.fixed | {infoset}
                change = Change(f"Fixed {name}", policy, fixed, base.iterations)
            self._add(change)

    def solve(self, subject: Subject, which: int, iterations: int) -> None:
        """Begins to solve on, with what is fixed kept.

        Raises:
            ValueError: the tree is not there, or the number is out of range.
        """
        if not 1 <= iterations <= MOST_ITERATIONS:
            raise ValueError(
                f"iterations={iterations} is not in 1 .. {MOST_ITERATIONS}."
            )
        tree = subject.need_tree()
        with self._lock:
            self._check_idle(tree)
            base = self._base(subject, which)
            self._done, self._wanted = 0, iterations

            def tell(done: int) -> None:
                self._done = done

            def run() -> np.ndarray:
                policy = solve_on(tree, base.policy, base.fixed, iterations, tell)
                total = base.iterations + iterations
                words = f"Solved for {iterations:,} iterations"
                self._add(Change(words, policy, base.fixed, total))
                return policy

            self._solving = Work(run)

    def _check_idle(self, tree: GameTree) -> None:
        if self._solving is not None and not self._solving.is_done:
            raise ValueError("The page is still solving; wait until it has ended.")

    def undo(self) -> None:
        """Takes the last change back.

        Raises:
            ValueError: there is none.
        """
        with self._lock:
            if self._solving is not None and not self._solving.is_done:
                raise ValueError("The page is still solving; wait until it has ended.")
            if not self.changes:
                raise ValueError("There is nothing to undo, or it is forgotten.")
            if self._is_cut and len(self.changes) == 1:
                words = "What was before this change is forgotten: a page keeps about"
                raise ValueError(f"{words} {in_words(MOST_BYTES // 2)} of changes.")
            self.changes.pop()

    def view(self, subject: Subject) -> dict[str, Any]:
        """What was changed, and what it has changed."""
        solving = self._solving
        is_solving = solving is not None and not solving.is_done
        view: dict[str, Any] = {
            "solving": is_solving,
            "done": self._done,
            "wanted": self._wanted,
            "error": str(solving.error) if solving and solving.error else None,
            "changes": [change.words for change in self.changes],
            "fixed": sorted(self.changes[-1].fixed) if self.changes else [],
            "iterations": self.changes[-1].iterations if self.changes else 0,
            "restricted": None,
        }
        tree = subject.tree()
        if self.changes and tree is not None and not is_solving:
            last = self.changes[-1]
            found = restricted_best_returns(tree, last.policy, last.fixed)
            view["restricted"] = found.tolist()
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
