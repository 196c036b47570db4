"""The state of an open page: policy changes, a running solve, a game.

Two open pages do not see each other's changes and games.
"""

import random
import threading
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.arenas.evaluating import full_pass
from mccfr_spiel.arenas.infosets.phrases import (
    said_info_state,
)
from mccfr_spiel.arenas.infosets.string_checks import (
    pot_of,
)
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
"""Time limit of a solve. The policy reached by then is used."""

MOST_CHANGES = 16
"""Length of the list of changes. All changes but the first can be undone."""


class Change(NamedTuple):
    """A changed policy: one step of a list that can be undone.

    Attributes:
        description: text that the page shows.
        candidate: the policy after the change, an array `[S]`.
        fixed: infosets at which the policy is fixed.
        iterations: iterations of the last solve; zero before the first.
    """

    description: str
    candidate: ShownPolicy
    fixed: frozenset[int]
    iterations: int


class Visit:
    """One open page.

    Attributes:
        subject: the game and the policies that the page shows.
        hand: the running game; None before the first.
        changes: the changes of the policy, each based on the previous one.
        generator: randomness of chance and of the policy in games.
    """

    def __init__(self, subject: Subject) -> None:
        """Starts without changes."""
        self.subject = subject
        self.hand: PlayedGame | None = None
        self.changes: list[Change] = []
        self.generator = random.Random()
        self._is_cut = False  # whether old changes were dropped
        self._solving: Work[None] | None = None
        self._solver: Solver | None = None
        self._wanted = 0
        self._must_stop = threading.Event()
        self._lock = threading.Lock()

    @property
    def changed(self) -> ShownPolicy:
        """The policy after the last change; raises ValueError if there is none."""
        if not self.changes:
            raise ValueError("Nothing was changed yet, or the server dropped it.")
        return self.changes[-1].candidate

    def _add(
        self,
        description: str,
        policy: np.ndarray,
        fixed: frozenset[int],
        iterations: int,
    ) -> None:
        candidate = ShownPolicy("changed on this page", policy)
        self.changes.append(Change(description, candidate, fixed, iterations))
        if len(self.changes) > MOST_CHANGES:
            del self.changes[0]
            self._is_cut = True

    def fix(self, candidate: ShownPolicy, infosets: Sequence[int], row: Any) -> None:
        """Fixes the policy at some infosets, or frees these infosets if `row` is None.

        Args:
            candidate: the policy to change, if the page has not changed one yet.
            infosets: infosets with the same actions.
            row: new probabilities, scaled to sum 1; None frees the infosets.

        Raises:
            ValueError: the tree is missing, `row` is no distribution, or a solve is
            running.
        """
        tree = self.subject.need_infosets()
        with self._lock:
            policy, fixed, iterations = self._base(candidate)
            player = int(tree.infosets[infosets[0]]["player"])
            name = said_info_state(tree.game, player, tree.info_state(infosets[0]))
            if len(infosets) > 1:
                name = f"all hands, as {name}"
            description, fixed = f"Freed {name}", fixed.difference(infosets)
            if row is not None:
                policy = with_row(tree, policy, infosets, row)
                description, fixed = f"Fixed {name}", fixed.union(infosets)
            self._add(description, policy, fixed, iterations)

    def solve(self, candidate: ShownPolicy, iterations: int) -> None:
        """Starts a thread that solves the restricted game from scratch.

        It runs for `iterations` more than the previous solve. After `stop` or
        MOST_SECONDS it ends early with the policy reached by then.

        Args:
            candidate: the policy to change, if the page has not changed one yet.
            iterations: additional iterations.

        Raises:
            ValueError: the tree is missing, `iterations` is out of range, or a solve is
                running.
        """
        refusals.number(iterations, "iterations", 1, MOST_ITERATIONS)
        tree = self.subject.need_infosets()
        with self._lock:
            policy, fixed, before = self._base(candidate)
            wanted = before + iterations
            if wanted > MOST_ITERATIONS:
                raise ValueError(
                    f"iterations={iterations} after the {before:,} before exceed the "
                    f"limit of {MOST_ITERATIONS:,} per page. Undo a change, or use "
                    "Solver in Python."
                )
            self._solver, self._wanted = None, wanted
            self._must_stop.clear()

            def run() -> None:
                solver = self._solver = restricted_solver(tree, policy, fixed)
                end, done = time.monotonic() + MOST_SECONDS, 0
                # Single iterations update the displayed count and react to `stop`.
                while done < wanted and time.monotonic() < end:
                    if self._must_stop.is_set():
                        break
                    solver.iterate(1)
                    done += 1
                if not done:
                    return
                description = f"Solved for {iterations:,} iterations"
                if done < wanted:
                    description = f"Solved for {done:,} iterations of {wanted:,}"
                self._add(description, solver.average_vector(), fixed, done)

            self._solving = Work(run).begin()

    def stop(self) -> None:
        """Ends a running solve after the current iteration."""
        self._must_stop.set()

    @property
    def is_solving(self) -> bool:
        """Whether a solve is running."""
        return self._solving is not None and not self._solving.is_done

    def _base(self, candidate: ShownPolicy) -> tuple[np.ndarray, frozenset[int], int]:
        """The policy to change next, the fixed infosets, and the last solve's
        iterations.

        The last change is the base; `candidate` before the first.
        """
        self._check_idle()
        if self.changes:
            _, last, fixed, iterations = self.changes[-1]
            return last.policy, fixed, iterations
        return self.subject.evaluation(candidate).vector(LONG), frozenset(), 0

    def _check_idle(self) -> None:
        if self.is_solving:
            raise ValueError("The page is still solving: stop the solve or wait.")

    def undo(self) -> None:
        """Removes the last change.

        Raises:
            ValueError: there is no change, or the policy before it was dropped.
        """
        with self._lock:
            self._check_idle()
            if not self.changes:
                raise ValueError("There is nothing to undo.")
            if self._is_cut and len(self.changes) == 1:
                raise ValueError(
                    "The policy before this change was dropped: a page keeps "
                    f"{MOST_CHANGES} changes."
                )
            self.changes.pop()

    def view(self) -> dict[str, Any]:
        """The changes, the running solve and the value of the restricted game, as
        JSON."""
        solving, last = self._solving, (self.changes or [None])[-1]
        view: dict[str, Any] = {
            "solving": self.is_solving,
            "done": 0 if self._solver is None else self._solver.num_iterations,
            "wanted": self._wanted,
            "error": str(solving.error) if solving and solving.error else None,
            "changes": [change.description for change in self.changes],
            "fixed": sorted(last.fixed) if last else [],
            "restricted": None,
        }
        if last is not None and not view["solving"]:
            passes = full_pass(self.subject.need_infosets())
            returns = passes.best_within(last.candidate.policy, last.fixed)
            half = pot_of(self.subject.game) / 2 if self.subject.is_holdem else 0.0
            view["restricted"] = returns + half
        return view
