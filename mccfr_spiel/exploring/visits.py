"""Visits."""

import random
import threading
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.arenas.evaluating import full_pass
from mccfr_spiel.arenas.infosets.loading import pot_of, said_info_state
from mccfr_spiel.common import refusals
from mccfr_spiel.exploring.background import LONG, Work
from mccfr_spiel.exploring.played_game import PlayedGame
from mccfr_spiel.exploring.restricted_games import restricted_solver, with_row
from mccfr_spiel.exploring.shown_policies import ShownPolicy
from mccfr_spiel.exploring.subjects import Subject
from mccfr_spiel.solving.solver import Solver

MOST_ITERATIONS = 100_000
"""The largest total number of iterations that one page may solve for."""


MOST_SECONDS = 600.0
"""The time limit of one solve, which keeps the policy found until then."""


MOST_CHANGES = 16
"""That a page keeps, and so can undo all but the first of them."""


class Change(NamedTuple):
    """A policy that was changed, as one step of a list that can be undone.

    Attributes:
        words: what was done.
        candidate: the policy after it, `[S]`.
        fixed: the infosets where it is fixed.
        iterations: all that it was solved on for.
    """

    words: str
    candidate: ShownPolicy
    fixed: frozenset[int]
    iterations: int


class Visit:
    """One open page.

    Attributes:
        subject: what it looks at.
        hand: the game that is played, if any.
        changes: what was done to the policy, each step on top of the one before.
        generator: of chance and of the policy's moves in games.
    """

    def __init__(self, subject: Subject) -> None:
        """Has changed nothing."""
        self.subject = subject
        self.hand: PlayedGame | None = None
        self.changes: list[Change] = []
        self.generator = random.Random()
        self._is_cut = False  # whether changes before the first one are forgotten
        self._solving: Work[None] | None = None
        self._solver: Solver | None = None
        self._wanted = 0
        self._must_stop = threading.Event()
        self._lock = threading.Lock()

    @property
    def changed(self) -> ShownPolicy:
        """The changed policy; raises ValueError if nothing was changed."""
        if not self.changes:
            raise ValueError("Nothing was changed yet, or it is forgotten.")
        return self.changes[-1].candidate

    def _add(
        self, words: str, policy: np.ndarray, fixed: frozenset[int], iterations: int
    ) -> None:
        candidate = ShownPolicy("changed on this page", policy)
        self.changes.append(Change(words, candidate, fixed, iterations))
        if len(self.changes) > MOST_CHANGES:
            del self.changes[0]
            self._is_cut = True

    def fix(self, candidate: ShownPolicy, infosets: Sequence[int], row: Any) -> None:
        """Fixes the policy at infosets, or frees it if there is no row.

        Raises:
            ValueError: the tree is not there, or the row is no distribution.
        """
        tree = self.subject.need_infosets()
        with self._lock:
            policy, fixed, iterations = self._base(candidate)
            player = int(tree.infosets[infosets[0]]["player"])
            name = said_info_state(tree.game, player, tree.info_state(infosets[0]))
            if len(infosets) > 1:
                name = f"all hands, as {name}"
            words, fixed = f"Freed {name}", fixed.difference(infosets)
            if row is not None:
                policy = with_row(tree, policy, infosets, row)
                words, fixed = f"Fixed {name}", fixed.union(infosets)
            self._add(words, policy, fixed, iterations)

    def solve(self, candidate: ShownPolicy, iterations: int) -> None:
        """Starts a thread that solves the restricted game.

        The solve begins anew and runs `iterations` more than the previous one. It ends
        early after `stop` or MOST_SECONDS; the policy found by then is kept.

        Raises:
            ValueError: the tree is missing, `iterations` is out of range, or the page
                is still solving.
        """
        refusals.number(iterations, "iterations", 1, MOST_ITERATIONS)
        tree = self.subject.need_infosets()
        with self._lock:
            policy, fixed, before = self._base(candidate)
            wanted = before + iterations
            if wanted > MOST_ITERATIONS:
                raise ValueError(
                    f"iterations={iterations} after the {before:,} before exceed the "
                    f"{MOST_ITERATIONS:,} of a page. Undo a change, or solve in Python."
                )
            self._solver, self._wanted = None, wanted
            self._must_stop.clear()

            def run() -> None:
                solver = self._solver = restricted_solver(tree, policy, fixed)
                end, done = time.monotonic() + MOST_SECONDS, 0
                # Single iterations show their number and let `stop` through.
                while done < wanted and time.monotonic() < end:
                    if self._must_stop.is_set():
                        break
                    solver.iterate(1)
                    done += 1
                if not done:
                    return
                words = f"Solved for {iterations:,} iterations"
                if done < wanted:
                    words = f"Solved for {done:,} iterations of {wanted:,}"
                self._add(words, solver.average_vector(), fixed, done)

            self._solving = Work(run).begin()

    def stop(self) -> None:
        """Ends a solve after its present iteration."""
        self._must_stop.set()

    @property
    def is_solving(self) -> bool:
        """Whether a solve has not ended yet."""
        return self._solving is not None and not self._solving.is_done

    def _base(self, candidate: ShownPolicy) -> tuple[np.ndarray, frozenset[int], int]:
        """What is changed next: the last change, or the policy that is looked at."""
        self._check_idle()
        if self.changes:
            _, last, fixed, iterations = self.changes[-1]
            return last.policy, fixed, iterations
        return self.subject.evaluation(candidate).vector(LONG), frozenset(), 0

    def _check_idle(self) -> None:
        if self.is_solving:
            raise ValueError("The page is still solving: stop it, or wait for its end.")

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
                words = "What was before this change is forgotten: a page keeps"
                raise ValueError(f"{words} {MOST_CHANGES} changes.")
            self.changes.pop()

    def view(self) -> dict[str, Any]:
        """What was changed, and what it has changed."""
        solving, last = self._solving, (self.changes or [None])[-1]
        view: dict[str, Any] = {
            "solving": self.is_solving,
            "done": 0 if self._solver is None else self._solver.num_iterations,
            "wanted": self._wanted,
            "error": str(solving.error) if solving and solving.error else None,
            "changes": [change.words for change in self.changes],
            "fixed": sorted(last.fixed) if last else [],
            "restricted": None,
        }
        if last is not None and not view["solving"]:
            passes = full_pass(self.subject.need_infosets())
            found = passes.best_within(last.candidate.policy, last.fixed)
            half = pot_of(self.subject.game) / 2 if self.subject.is_holdem else 0.0
            view["restricted"] = found + half
        return view
