"""What one open page has changed and plays. Two pages know nothing of each other.

An infoset where the policy is fixed is a move of chance in the *restricted* game.
"""

import random
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyspiel

from mccfr_spiel.common import refusals
from mccfr_spiel.exploring import views
from mccfr_spiel.exploring.subjects import LONG, Candidate, Subject, Work
from mccfr_spiel.solving.solver import Solver
from mccfr_spiel.tree.full_pass import full_pass
from mccfr_spiel.tree.game_tree import GameTree
from mccfr_spiel.tree.infosets import HandNames
from mccfr_spiel.tree.loading import pot_of, said_info_state

# --- a game against a policy, in which the page knows what the player may know --------


class Hand:
    """One game.

    Attributes:
        seat: the user's.
        state: of the game. Only what the seat knows of it goes out before the end.
        log: who made each move, and its name if the seat can tell it.
    """

    def __init__(
        self,
        game: pyspiel.Game,
        seat: int,
        ask: Callable[[pyspiel.State], dict[int, float]],
        generator: random.Random,
    ) -> None:
        """Deals, and moves until it is the user's turn.

        Args:
            game: the turn-based game.
            seat: the user's player.
            ask: gives the others' policy at a state.
            generator: of chance and of the others' moves.

        Raises:
            ValueError: there is no such seat.
        """
        self.seat = refusals.player(seat, game.num_players(), "seat")
        self.state = game.new_initial_state()
        self._ask, self._generator = ask, generator
        self.log: list[dict[str, Any]] = []
        self._go_on()

    def move(self, action: int) -> None:
        """Plays the user's move, and the others' until it is the user's turn again.

        Raises:
            ValueError: the move is not possible now.
        """
        if action not in views.moves_of(self.state):
            raise ValueError(f"The move {action} is not possible now.")
        self._play(action)
        self._go_on()

    def _go_on(self) -> None:
        state = self.state
        while not state.is_terminal() and state.current_player() != self.seat:
            if state.is_chance_node():
                odds = dict(state.chance_outcomes())
            else:
                odds = self._ask(state)
            self._play(self._generator.choices(list(odds), list(odds.values()))[0])

    def _play(self, action: int) -> None:
        player = int(self.state.current_player())
        known = player == self.seat or views.is_seen(self.state, action, self.seat)
        name = views.name_of(self.state, action) if known else None
        self.log.append({"player": player, "name": name})
        self.state.apply_action(action)

    def view(self) -> dict[str, Any]:
        """What the user may know now; at the end everything."""
        state = self.state
        view: dict[str, Any] = {
            "seat": self.seat,
            "over": state.is_terminal(),
            "log": self.log,
            "knows": views.words_known_to(state, self.seat),
            "moves": views.moves_view(state),
        }
        if state.is_terminal():
            view["returns"], view["history"] = state.returns(), state.history()
            view["text"] = str(state)
        return view


# --- fixing a policy at some infosets, and solving the rest of the game ---------------


def with_row(
    tree: GameTree, policy: np.ndarray, infosets: Sequence[int], row: list[float]
) -> np.ndarray:
    """A copy of a policy with other probabilities at infosets of the same actions.

    Raises:
        ValueError: they are no distribution over the actions.
    """
    _, _, _, size, _ = tree.infosets[infosets[0]].item()
    found = np.array(row, np.float64)
    if found.shape != (size,):
        raise ValueError(f"{len(row)} probabilities are given for {size} actions.")
    if not (np.isfinite(found).all() and (found >= 0).all() and found.sum() > 0):
        raise ValueError(f"{row} are no probabilities: they must be 0 or more.")
    changed = policy.copy()
    starts = tree.infosets["first_sequence"][infosets]
    changed[starts[:, None] + np.arange(size)] = found / found.sum()
    return changed


def beside(tree: GameTree, infoset: int) -> Sequence[int]:
    """The infosets of all hands at the decision of one, in a tree of hands."""
    names = tree.infoset_names
    if not isinstance(names, HandNames):
        raise ValueError("Only a tree of hands knows which decisions are one to see.")
    node, _ = names.found.node_and_hand(infoset)
    first, hands = names.found.first[node], names.found.members[names.found.rows[node]]
    return range(first, first + len(hands))


def restricted_solver(
    tree: GameTree, policy: np.ndarray, fixed: frozenset[int]
) -> Solver:
    """A solver of the restricted game by CFR+.

    Args:
        tree: the whole tree.
        policy: `[S]` to keep to at the fixed infosets.
        fixed: the infosets where it is fixed.

    Raises:
        ValueError: both players have the string of a fixed infoset.
    """
    locked = {}
    for infoset in fixed:
        _, start, _, size, _ = tree.infosets[infoset].item()
        locked[tree.info_state(infoset)] = policy[start : start + size]
    return Solver(tree, "cfr_plus", store=tree.store, locked=locked)


# --- what one open page has changed and plays -----------------------------------------


MOST_ITERATIONS = 100_000

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
    candidate: Candidate
    fixed: frozenset[int]
    iterations: int


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
        self._is_cut = False  # whether changes before the first one are forgotten
        self._solving: Work[None] | None = None
        self._solver: Solver | None = None
        self._wanted = 0
        self._lock = threading.Lock()

    @property
    def changed(self) -> Candidate:
        """The changed policy; raises ValueError if nothing was changed."""
        if not self.changes:
            raise ValueError("Nothing was changed yet, or it is forgotten.")
        return self.changes[-1].candidate

    def _add(
        self, words: str, policy: np.ndarray, fixed: frozenset[int], iterations: int
    ) -> None:
        candidate = Candidate("changed on this page", policy)
        self.changes.append(Change(words, candidate, fixed, iterations))
        if len(self.changes) > MOST_CHANGES:
            del self.changes[0]
            self._is_cut = True

    def fix(
        self,
        subject: Subject,
        candidate: Candidate,
        infosets: Sequence[int],
        row: list[float] | None,
    ) -> None:
        """Fixes the policy at infosets, or frees it if there is no row.

        Raises:
            ValueError: the tree is not there, or the row is no distribution.
        """
        tree = subject.need_infosets()
        with self._lock:
            policy, fixed, iterations = self._base(subject, candidate)
            player = int(tree.infosets[infosets[0]]["player"])
            name = said_info_state(tree.game, player, tree.info_state(infosets[0]))
            if len(infosets) > 1:
                name = f"all hands, as {name}"
            words, fixed = f"Freed {name}", fixed.difference(infosets)
            if row is not None:
                policy = with_row(tree, policy, infosets, row)
                words, fixed = f"Fixed {name}", fixed.union(infosets)
            self._add(words, policy, fixed, iterations)

    def solve(self, subject: Subject, candidate: Candidate, iterations: int) -> None:
        """Begins to solve with what is fixed kept, for so many iterations more than the
        last time.

        Raises:
            ValueError: the tree is not there, or the number is out of range.
        """
        if not 1 <= iterations <= MOST_ITERATIONS:
            raise ValueError(
                f"iterations={iterations} is not in 1 .. {MOST_ITERATIONS}."
            )
        tree = subject.need_infosets()
        with self._lock:
            policy, fixed, before = self._base(subject, candidate)
            self._solver, self._wanted = None, before + iterations

            def run() -> None:
                self._solver = restricted_solver(tree, policy, fixed)
                for _ in range(self._wanted):  # so that the page sees how far it is
                    self._solver.iterate(1)
                words, found = f"Solved for {iterations:,} iterations", self._solver
                self._add(words, found.average_vector(), fixed, self._wanted)

            self._solving = Work(run).begin()

    def _base(
        self, subject: Subject, candidate: Candidate
    ) -> tuple[np.ndarray, frozenset[int], int]:
        """What is changed next: the last change, or the policy that is looked at."""
        self._check_idle()
        if self.changes:
            _, last, fixed, iterations = self.changes[-1]
            return last.policy, fixed, iterations
        return subject.evaluation(candidate).vector(LONG), frozenset(), 0

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
                words = "What was before this change is forgotten: a page keeps"
                raise ValueError(f"{words} {MOST_CHANGES} changes.")
            self.changes.pop()

    def view(self, subject: Subject) -> dict[str, Any]:
        """What was changed, and what it has changed."""
        solving, last = self._solving, (self.changes or [None])[-1]
        view: dict[str, Any] = {
            "solving": solving is not None and not solving.is_done,
            "done": 0 if self._solver is None else self._solver.num_iterations,
            "wanted": self._wanted,
            "error": str(solving.error) if solving and solving.error else None,
            "changes": [change.words for change in self.changes],
            "fixed": sorted(last.fixed) if last else [],
            "iterations": last.iterations if last else 0,
            "restricted": None,
        }
        if last is not None and not view["solving"]:
            tree = subject.need_infosets()
            passes = full_pass(tree)
            found = passes.best_within(last.candidate.policy, last.fixed)
            half = pot_of(subject.game) / 2 if subject.is_holdem else 0.0
            view["restricted"] = found + half
        return view
