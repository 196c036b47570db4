"""What a page asks, by name, and the answers as values for JSON; the page's own files.

Everything that comes from a page is checked here. A ValueError becomes its message.
"""

import functools
import importlib.resources
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import pyspiel

from mccfr_spiel.common.display import brief
from mccfr_spiel.exploring import grids, subjects, views
from mccfr_spiel.exploring.subjects import Candidate, Evaluation, WorkingError
from mccfr_spiel.exploring.visits import Hand, Visit, beside

WORKING = {"working": True}
"""The answer while numbers are being computed; the page asks again."""

MINE = "mine"
"""What the page calls the policy that it has changed."""

READING = (
    *("about", "overview", "state", "odds", "belief", "search", "list"),
    *("grid", "rows", "visit"),
)
"""What is asked."""

CHANGING = ("fix", "solve", "undo", "deal", "move")
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


class Answers:
    """Answers for one subject.

    Attributes:
        subject: what is looked at.
        visits: the open pages, by the names that they have chosen.
    """

    def __init__(self, subject: subjects.Subject) -> None:
        """Answers nothing yet."""
        self.subject = subject
        self.visits: OrderedDict[str, Visit] = OrderedDict()
        self._lock = threading.Lock()

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
            "cards": grids.word_of_deals(subject.game),
            "players": subject.game.num_players(),
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
                return grids.grid_of_hands(self._numbers(query), history)
            numbers = self._numbers_if_there(query)
            return grids.grid(
                self.subject.game,
                history,
                self._asker(query),
                self._candidate(query),
                None if numbers is None else self.subject.tree(),
                numbers,
            )
        except grids.NoGridError as error:
            return {"none": str(error)}

    def rows(self, _: Query) -> Any:
        """The rows of the run, as far as it is."""
        return self.subject.rows() | {"policies": self.subject.look_again()}

    def visit(self, query: Query) -> Any:
        """What the page has changed."""
        return self._visit(query).view(self.subject)

    # --- what is done ------------------------------------------------------------

    def fix(self, query: Query) -> Any:
        """Fixes or frees the policy at an infoset."""
        row = query.get("row")
        if row is not None and not (
            isinstance(row, list) and all(isinstance(x, int | float) for x in row)
        ):
            raise ValueError(f"row={row!r} is no list of numbers.")
        infosets = [self._number(query)]
        if query.get("all_hands"):
            infosets = beside(self.subject.need_infosets(), infosets[0])
        self._visit(query).fix(self.subject, self._given(query), infosets, row)
        return self.visit(query)

    def solve(self, query: Query) -> Any:
        """Solves on."""
        iterations = _whole(query, "iterations", 500)
        self._visit(query).solve(self.subject, self._given(query), iterations)
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
        """The page that asks; the oldest are forgotten."""
        name = str(query.get("visit", ""))
        if not 0 < len(name) <= _LONGEST_NAME or not name.isascii():
            raise ValueError("The page did not say which one it is (visit=...).")
        with self._lock:
            visit = self.visits[name] = self.visits.pop(name, None) or Visit()
            if len(self.visits) > MOST_VISITS:
                self.visits.popitem(last=False)
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
            row = subjects.row_of(
                tree, tree.find_at(state, state.current_player()), policy
            )
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
