"""What a page asks, by name, and the answers as values for JSON; what one open page has
changed and plays; the page's own files.

Everything that comes from a page is checked here. A ValueError becomes its message.

Two open pages know nothing of each other's changes and games. An infoset where the
policy is fixed is a move of chance in the *restricted* game.
"""

import functools
import importlib.resources
import random
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyspiel

from mccfr_spiel.arenas.evaluating import full_pass
from mccfr_spiel.arenas.hand_arena import HandNames
from mccfr_spiel.arenas.infosets.loading import pot_of, said_info_state
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.common import refusals
from mccfr_spiel.common.display import brief
from mccfr_spiel.exploring import views
from mccfr_spiel.exploring.subjects import (
    LONG,
    Candidate,
    Evaluation,
    Subject,
    Work,
    WorkingError,
    part_at,
)
from mccfr_spiel.solving.solver import Solver

WORKING = {"working": True}
"""The answer while numbers are being computed; the page asks again."""

MINE = "mine"
"""What the page calls the policy that it has changed."""

READING = (
    *("about", "overview", "state", "odds", "belief", "search", "list"),
    *("grid", "rows", "visit"),
)
"""What is asked."""

CHANGING = ("fix", "solve", "stop_solving", "undo", "deal", "move")
"""What is done."""

FILES = {
    "page.html": "text/html; charset=utf-8",
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "saved.js": "text/javascript; charset=utf-8",
}
"""The page's own files, which lie beside this one and go into the wheel, and what they
are."""

MOST_VISITS = 16
_LONGEST_NAME = 64
_LONGEST = 10_000

Query = Mapping[str, Any]


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
        if action not in self.state.legal_actions():
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
        known = player == self.seat
        if not known:
            at = self.state.legal_actions().index(action)
            known = views.seen_moves(self.state, self.seat)[at]
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
    tree: GameTree, policy: np.ndarray, infosets: Sequence[int], row: Any
) -> np.ndarray:
    """A copy of a policy with other probabilities at infosets of the same actions.

    Raises:
        ValueError: they are no distribution over the actions.
    """
    size = int(tree.infosets[infosets[0]]["num_actions"])
    if not isinstance(row, list) or not all(isinstance(x, int | float) for x in row):
        raise ValueError(f"row={row!r} is no list of numbers.")
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
    locked = {tree.info_state(i): part_at(tree, i, policy).tolist() for i in fixed}
    return Solver(tree, "cfr_plus", store=tree.store, locked=locked)


# --- what one open page has changed and plays -----------------------------------------


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
    candidate: Candidate
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
        self.hand: Hand | None = None
        self.changes: list[Change] = []
        self.generator = random.Random()
        self._is_cut = False  # whether changes before the first one are forgotten
        self._solving: Work[None] | None = None
        self._solver: Solver | None = None
        self._wanted = 0
        self._must_stop = threading.Event()
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

    def fix(self, candidate: Candidate, infosets: Sequence[int], row: Any) -> None:
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

    def solve(self, candidate: Candidate, iterations: int) -> None:
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

    def _base(self, candidate: Candidate) -> tuple[np.ndarray, frozenset[int], int]:
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


# --- what all pages ask ---------------------------------------------------------------


class Answers:
    """Answers for one subject.

    Attributes:
        subject: what is looked at.
        visits: the open pages, by the names that they have chosen.
    """

    def __init__(self, subject: Subject) -> None:
        """Answers nothing yet."""
        self.subject = subject
        self.visits: OrderedDict[str, Visit] = OrderedDict()
        self._lock, self._solve_lock = threading.Lock(), threading.Lock()
        self._solving: Visit | None = None  # the visit of the newest solve

    def stop(self) -> None:
        """Ends the solve of a page, if one is running."""
        if self._solving is not None:
            self._solving.stop()

    def answer(self, name: str, query: Query) -> Any:
        """The answer to a question of READING or CHANGING, or WORKING."""
        try:
            return views.plain(getattr(self, name)(query))
        except WorkingError:
            if name in CHANGING:
                raise
            return WORKING

    # --- what is asked ---------------------------------------------------------

    def about(self, _: Query) -> Any:
        """The game, its policies, and how far its tree is."""
        subject = self.subject
        kind, why = subject.state_of_tree()
        tree = subject.tree()
        return {
            "title": subject.title,
            "game": brief(subject.source),
            "cards": views.word_of_deals(subject.game),
            "players": subject.game.num_players(),
            "names": getattr(subject.game, "player_names", None),
            "policies": [
                {"label": one.label, "iteration": one.iteration, "run": one.run}
                for one in subject.candidates
            ],
            "lists": views.LISTS,
            "tree": kind,
            "why": why,
            "nodes": None if tree is None else tree.num_nodes,
            "infosets": None if tree is None else tree.num_infosets,
            "rows": subject.folder is not None or bool(subject.history),
        }

    def overview(self, query: Query) -> Any:
        """Returns, best responses and NashConv of a policy."""
        kind, why = self.subject.state_of_tree()
        if kind == "none":
            return {"none": why}
        found = self._numbers(query)
        if self.subject.is_holdem:
            return views.overview(found.evs, found.best_evs)
        return views.overview(found.returns, found.best_returns)

    def state(self, query: Query) -> Any:
        """A state, and the policy of who acts there."""
        tree = self.subject.tree()
        state, infoset = views.follow(self.subject.game, tree, _history(query))
        answer: dict[str, Any] = {"state": views.state_view(state)}
        answer["infoset"] = self._infoset(query, "policy", state, infoset)
        if query.get("other"):
            answer["other"] = self._infoset(query, "other", state, infoset)
        return answer

    def odds(self, query: Query) -> Any:
        """A policy at a state and nothing else, for many policies one by one."""
        state, _ = views.follow(self.subject.game, None, _history(query))
        if state.current_player() < 0:
            return {"probabilities": None}
        view = views.infoset_view(self._candidate(query), state)
        if view["probabilities"] is None:  # it is an array over the tree's sequences
            view = self.state(query)["infoset"]
        return {"probabilities": view["probabilities"]}

    def belief(self, query: Query) -> Any:
        """The histories of an infoset, and what a move there is worth at each."""
        tree, policy = self.subject.need_tree(), self._evaluation(query).vector()
        infoset, chosen = self._number(query), _whole(query, "chosen", -1)
        if chosen >= tree.infosets[infoset]["num_actions"]:
            raise ValueError(f"chosen={chosen} is none of the moves there.")
        return views.belief_view(tree, policy, infoset, chosen)

    def search(self, query: Query) -> Any:
        """Infosets by text."""
        tree, policy = self.subject.need_tree(), self._evaluation(query).vector()
        wanted = str(query.get("text", ""))[:_LONGEST]
        found = views.search(tree, wanted, max(_whole(query, "first", 0), 0))
        numbers = self._numbers_if_there(query)
        visits = None if numbers is None else numbers.visits
        rows = [views.row_of(tree, policy, i, visits) for i in found["infosets"]]
        return {"rows": rows, "next": found["next"], "total": found["total"]}

    def list(self, query: Query) -> Any:
        """The first infosets by some number."""
        tree, kind = self.subject.need_tree(), str(query.get("kind"))
        numbers, other = self._numbers(query), None
        if kind == "changed" and query.get("other"):
            other = self._numbers(query, "other")
        rows = [
            views.row_of(tree, numbers.policy, infoset, numbers.visits)
            | {"amount": amount}
            for infoset, amount in views.listed(numbers, tree, kind, other)
        ]
        return {"rows": rows}

    def grid(self, query: Query) -> Any:
        """The policy by private cards."""
        history = _history(query)
        try:
            if self.subject.is_holdem:
                return views.grid_of_hands(self._numbers(query), history)
            numbers = self._numbers_if_there(query)
            return views.grid(
                self.subject.game,
                history,
                self._asker(query),
                self._candidate(query),
                None if numbers is None else self.subject.tree(),
                numbers,
            )
        except views.NoGridError as error:
            return {"none": str(error)}

    def rows(self, _: Query) -> Any:
        """The rows of the run, as far as it is."""
        return self.subject.rows() | {"policies": self.subject.look_again()}

    def visit(self, query: Query) -> Any:
        """What the page has changed."""
        return self._visit(query).view()

    # --- what is done ------------------------------------------------------------

    def fix(self, query: Query) -> Any:
        """Fixes or frees the policy at an infoset."""
        infosets = [self._number(query)]
        if query.get("all_hands"):
            infosets = beside(self.subject.need_infosets(), infosets[0])
        given, row = self._given(query), query.get("row")
        self._visit(query).fix(given, infosets, row)
        return self.visit(query)

    def solve(self, query: Query) -> Any:
        """Starts a solve, unless one is running for any page of this server."""
        iterations = _whole(query, "iterations", 500)
        visit, given = self._visit(query), self._given(query)
        with self._solve_lock:
            other = self._solving
            if other is not None and other is not visit and other.is_solving:
                raise ValueError(
                    "Another page of this server is solving: stop that, or wait for "
                    "its end."
                )
            visit.solve(given, iterations)
            self._solving = visit
        return self.visit(query)

    def stop_solving(self, query: Query) -> Any:
        """Ends the solve of this page."""
        self._visit(query).stop()
        return self.visit(query)

    def undo(self, query: Query) -> Any:
        """Takes the last change back."""
        self._visit(query).undo()
        return self.visit(query)

    def deal(self, query: Query) -> Any:
        """Begins a hand."""
        visit, seat = self._visit(query), _whole(query, "seat", 0)
        ask = self._asker(query)
        visit.hand = Hand(self.subject.game, seat, ask, visit.generator)
        return visit.hand.view()

    def move(self, query: Query) -> Any:
        """Plays a move."""
        hand = self._visit(query).hand
        if hand is None:
            raise ValueError("There is no hand yet: deal one.")
        hand.move(_whole(query, "action", -1))
        return hand.view()

    # --- what queries name ---------------------------------------------------------

    def _visit(self, query: Query) -> Visit:
        """The page that asks. The least recent pages are forgotten, and their solves
        end."""
        name = str(query.get("visit", ""))
        if not 0 < len(name) <= _LONGEST_NAME or not name.isascii():
            raise ValueError("The page did not say which one it is (visit=...).")
        with self._lock:
            visit = self.visits.pop(name, None) or Visit(self.subject)
            self.visits[name] = visit
            if len(self.visits) > MOST_VISITS:
                self.visits.popitem(last=False)[1].stop()
            return visit

    def _number(self, query: Query) -> int:
        infoset = _whole(query, "number", -1)
        if not 0 <= infoset < self.subject.need_infosets().num_infosets:
            raise ValueError(f"number={infoset} is none of the information sets.")
        return infoset

    def _given(self, query: Query, key: str = "policy") -> Candidate:
        """A policy that the page was given; the first one for the page's own."""
        which = 0 if query.get(key) == MINE else _whole(query, key, 0)
        last = len(self.subject.candidates) - 1
        if not 0 <= which <= last:
            raise ValueError(f"{key}={which} is none of the policies 0 to {last}.")
        return self.subject.candidate(which)

    def _candidate(self, query: Query, key: str = "policy") -> Candidate:
        if query.get(key) == MINE:
            return self._visit(query).changed
        return self._given(query, key)

    def _evaluation(self, query: Query, key: str = "policy") -> Evaluation:
        return self.subject.evaluation(self._candidate(query, key))

    def _numbers(self, query: Query, key: str = "policy") -> Any:
        """The numbers of a policy, or its Study."""
        return self._evaluation(query, key).numbers()

    def _numbers_if_there(self, query: Query, key: str = "policy") -> Any:
        """The same; None if there is no tree, or they or the tree take long."""
        if self.subject.state_of_tree()[0] == "none":
            return None
        try:
            return self._numbers(query, key)
        except WorkingError:
            return None

    def _infoset(
        self, query: Query, key: str, state: pyspiel.State, infoset: int | None
    ) -> dict[str, Any] | None:
        """A policy where a player acts, with its values if they are there."""
        candidate = self._candidate(query, key)
        if state.current_player() < 0:
            return None
        numbers = self._numbers_if_there(query, key)
        if self.subject.is_holdem and numbers is not None:
            return views.hand_view(numbers, state)
        view = views.infoset_view(candidate, state, infoset)
        if numbers is not None and infoset is not None:
            view |= views.values_view(self.subject.need_tree(), numbers, infoset)
        return view

    def _asker(self, query: Query) -> Callable[[pyspiel.State], dict[int, float]]:
        """A function that asks a policy at states: itself, or by its vector."""
        candidate, subject = self._candidate(query), self.subject
        tree = subject.need_infosets() if subject.is_holdem else subject.tree()

        def ask(state: pyspiel.State) -> dict[int, float]:
            found = candidate.probabilities(state)
            if found is not None:
                return found
            if tree is None:
                raise ValueError("The policy can be asked once the tree is there.")
            policy = subject.evaluation(candidate).vector(None)
            infoset = tree.find_at(state, state.current_player())
            row = part_at(tree, infoset, policy).tolist()
            return dict(zip(state.legal_actions(), row, strict=True))

        return ask


def _whole(query: Query, key: str, default: int) -> int:
    value = query.get(key, default)
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{key}={value!r} is no whole number.") from error


def _history(query: Query) -> list[int]:
    words = str(query.get("history", ""))
    if len(words) > _LONGEST:
        raise ValueError("The history is too long.")
    try:
        return [int(word) for word in words.split(",") if word]
    except ValueError as error:
        raise ValueError(f"history={words!r} is no list of moves.") from error


@functools.cache
def static_file(name: str) -> str:
    """The text of one of FILES, the only files that there are."""
    folder = importlib.resources.files("mccfr_spiel.exploring") / "static"
    return (folder / name).read_text(encoding="utf-8")
