"""Page API."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import pyspiel

from mccfr_spiel.common.display import brief
from mccfr_spiel.exploring import grids, lists, positions, views
from mccfr_spiel.exploring.background import WorkingError
from mccfr_spiel.exploring.played_game import PlayedGame
from mccfr_spiel.exploring.policy_numbers import PolicyEvaluation
from mccfr_spiel.exploring.restricted_games import same_decision
from mccfr_spiel.exploring.shown_policies import ShownPolicy, part_at
from mccfr_spiel.exploring.subjects import Subject
from mccfr_spiel.exploring.visits import Visit

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


MOST_VISITS = 16


_LONGEST_NAME = 64


_LONGEST = 10_000


Query = Mapping[str, Any]


class PageApi:
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
            "cards": grids.word_of_deals(subject.game),
            "players": subject.game.num_players(),
            "policies": [
                {"label": one.label, "iteration": one.iteration, "run": one.run}
                for one in subject.candidates
            ],
            "lists": lists.LISTS,
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
        state, infoset = positions.follow(self.subject.game, tree, _history(query))
        answer: dict[str, Any] = {"state": views.state_view(state)}
        answer["infoset"] = self._infoset(query, "policy", state, infoset)
        if query.get("other"):
            answer["other"] = self._infoset(query, "other", state, infoset)
        return answer

    def odds(self, query: Query) -> Any:
        """A policy at a state and nothing else, for many policies one by one."""
        state, _ = positions.follow(self.subject.game, None, _history(query))
        if state.current_player() < 0:
            return {"probabilities": None}
        view = views.infoset_view(self._candidate(query), state)
        if view["probabilities"] is None:  # it is an array over the tree's sequences
            view = self.state(query)["infoset"]
        return {"probabilities": view["probabilities"]}

    def belief(self, query: Query) -> Any:
        """The histories of an infoset, and what a move there is worth at each."""
        tree, policy = self.subject.need_tree(), self._evaluation(query).vector()
        infoset, chosen = self._number(query), _integer(query, "chosen", -1)
        if chosen >= tree.infosets[infoset]["num_actions"]:
            raise ValueError(f"chosen={chosen} is none of the moves there.")
        return views.belief_view(tree, policy, infoset, chosen)

    def search(self, query: Query) -> Any:
        """Infosets by text."""
        tree, policy = self.subject.need_tree(), self._evaluation(query).vector()
        wanted = str(query.get("text", ""))[:_LONGEST]
        found = lists.search(tree, wanted, max(_integer(query, "first", 0), 0))
        numbers = self._numbers_if_there(query)
        visits = None if numbers is None else numbers.visits
        rows = [lists.row_of(tree, policy, i, visits) for i in found["infosets"]]
        return {"rows": rows, "next": found["next"], "total": found["total"]}

    def list(self, query: Query) -> Any:
        """The first infosets by some number."""
        tree, kind = self.subject.need_tree(), str(query.get("kind"))
        numbers, other = self._numbers(query), None
        if kind == "changed" and query.get("other"):
            other = self._numbers(query, "other")
        rows = [
            lists.row_of(tree, numbers.policy, infoset, numbers.visits)
            | {"amount": amount}
            for infoset, amount in lists.listed(numbers, tree, kind, other)
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
        return self.subject.rows() | {"policies": self.subject.update_policies()}

    def visit(self, query: Query) -> Any:
        """What the page has changed."""
        return self._visit(query).view()

    # --- what is done ------------------------------------------------------------

    def fix(self, query: Query) -> Any:
        """Fixes or frees the policy at an infoset."""
        infosets = [self._number(query)]
        if query.get("all_hands"):
            infosets = same_decision(self.subject.need_infosets(), infosets[0])
        given, row = self._given(query), query.get("row")
        self._visit(query).fix(given, infosets, row)
        return self.visit(query)

    def solve(self, query: Query) -> Any:
        """Starts a solve, unless one is running for any page of this server."""
        iterations = _integer(query, "iterations", 500)
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
        visit, seat = self._visit(query), _integer(query, "seat", 0)
        ask = self._asker(query)
        visit.hand = PlayedGame(self.subject.game, seat, ask, visit.generator)
        return visit.hand.view()

    def move(self, query: Query) -> Any:
        """Plays a move."""
        hand = self._visit(query).hand
        if hand is None:
            raise ValueError("There is no hand yet: deal one.")
        hand.move(_integer(query, "action", -1))
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
        infoset = _integer(query, "number", -1)
        if not 0 <= infoset < self.subject.need_infosets().num_infosets:
            raise ValueError(f"number={infoset} is none of the information sets.")
        return infoset

    def _given(self, query: Query, key: str = "policy") -> ShownPolicy:
        """A policy that the page was given; the first one for the page's own."""
        which = 0 if query.get(key) == MINE else _integer(query, key, 0)
        last = len(self.subject.candidates) - 1
        if not 0 <= which <= last:
            raise ValueError(f"{key}={which} is none of the policies 0 to {last}.")
        return self.subject.candidate(which)

    def _candidate(self, query: Query, key: str = "policy") -> ShownPolicy:
        if query.get(key) == MINE:
            return self._visit(query).changed
        return self._given(query, key)

    def _evaluation(self, query: Query, key: str = "policy") -> PolicyEvaluation:
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


def _integer(query: Query, key: str, default: int) -> int:
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
