"""The requests of a page, by name, and their answers as JSON.

This file validates everything that a page sends. The message of a ValueError is the
page's error message.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import pyspiel

from mccfr_spiel.common.display import brief
from mccfr_spiel.exploring import grids, lists, positions, spots, views
from mccfr_spiel.exploring.background import WorkingError
from mccfr_spiel.exploring.page_visits import Visit
from mccfr_spiel.exploring.played_game import PlayedGame
from mccfr_spiel.exploring.policy_numbers import PolicyEvaluation
from mccfr_spiel.exploring.restricted_games import same_decision
from mccfr_spiel.exploring.shown_policies import ShownPolicy, part_at
from mccfr_spiel.exploring.subjects import Subject

WORKING = {"working": True}
"""The answer while a thread is computing the result; the page asks again."""

MINE = "mine"
"""The page's name for the policy that it has changed."""

READING = (
    *("about", "overview", "state", "odds", "belief", "search", "list"),
    *("grid", "runouts", "rows", "visit"),
)
"""Requests that change nothing."""

CHANGING = ("fix", "solve", "stop_solving", "undo", "deal", "move")
"""Requests that change the state of the open page."""

MOST_VISITS = 16
"""Open pages that the server keeps; the least recently used is dropped first."""

_LONGEST_NAME = 64
"""The largest length of a page's identifier."""

_LONGEST = 10_000
"""The largest length of a history or a search text."""

Query = Mapping[str, Any]
"""Parameters of a request."""


class PageApi:
    """Answers the requests of all open pages about one subject.

    Attributes:
        subject: the game and the policies.
        visits: open pages by the identifiers that they have chosen, least recently used
            first.
    """

    def __init__(self, subject: Subject) -> None:
        """Starts without open pages."""
        self.subject = subject
        self.visits: OrderedDict[str, Visit] = OrderedDict()
        self._lock, self._solve_lock = threading.Lock(), threading.Lock()
        self._solving: Visit | None = None  # the visit of the newest solve

    def stop(self) -> None:
        """Ends the running solve, if any."""
        if self._solving is not None:
            self._solving.stop()

    def answer(self, name: str, query: Query) -> Any:
        """The answer to a request in READING or CHANGING, or WORKING."""
        try:
            return views.plain(getattr(self, name)(query))
        except WorkingError:
            if name in CHANGING:
                raise
            return WORKING

    # --- requests that change nothing ---------------------------------------------

    def about(self, _: Query) -> Any:
        """The game, the policies and the state of the tree."""
        subject = self.subject
        tree_state, why = subject.state_of_tree()
        tree = subject.tree()
        return {
            "title": subject.title,
            "game": brief(subject.source),
            "cards": grids.word_of_deals(subject.game),
            "players": subject.game.num_players(),
            "names": getattr(subject.game, "player_names", None),
            "policies": [
                {"label": p.label, "iteration": p.iteration, "run": p.run}
                for p in subject.candidates
            ],
            "lists": lists.LISTS,
            "tree": tree_state,
            "why": why,
            "nodes": None if tree is None else tree.num_nodes,
            "infosets": None if tree is None else tree.num_infosets,
            "rows": subject.folder is not None or bool(subject.history),
            "start": subject.start,
        }

    def overview(self, query: Query) -> Any:
        """Returns, best responses and NashConv of a policy."""
        tree_state, why = self.subject.state_of_tree()
        if tree_state == "none":
            return {"none": why}
        numbers = self._numbers(query)
        if self.subject.is_holdem:
            return views.overview(numbers.evs, numbers.best_evs)
        return views.overview(numbers.returns, numbers.best_returns)

    def state(self, query: Query) -> Any:
        """A state, and the policies of the player who acts there."""
        tree = self.subject.tree()
        state, infoset = positions.follow(self.subject.game, tree, _history(query))
        answer: dict[str, Any] = {"state": views.state_view(state)}
        answer["infoset"] = self._infoset(query, "policy", state, infoset)
        if query.get("other"):
            answer["other"] = self._infoset(query, "other", state, infoset)
        return answer

    def odds(self, query: Query) -> Any:
        """The action probabilities of a policy at a state, and nothing else.

        The page uses it to show many policies at the same state.
        """
        state, _ = positions.follow(self.subject.game, None, _history(query))
        if state.current_player() < 0:
            return {"probabilities": None}
        view = views.infoset_view(self._candidate(query), state)
        if view["probabilities"] is None:  # an array over the tree's sequences
            view = self.state(query)["infoset"]
        return {"probabilities": view["probabilities"]}

    def belief(self, query: Query) -> Any:
        """The histories of an infoset, and the value of a move at each."""
        tree, policy = self.subject.need_tree(), self._evaluation(query).vector()
        infoset, chosen = self._number(query), _integer(query, "chosen", -1)
        if chosen >= tree.infosets[infoset]["num_actions"]:
            raise ValueError(
                f"chosen={chosen} is none of the moves there: expected 0 to "
                f"{tree.infosets[infoset]['num_actions'] - 1}."
            )
        return views.belief_view(tree, policy, infoset, chosen)

    def search(self, query: Query) -> Any:
        """The infosets that contain a text."""
        tree, policy = self.subject.need_tree(), self._evaluation(query).vector()
        text = str(query.get("text", ""))[:_LONGEST]
        matches = lists.search(tree, text, max(_integer(query, "first", 0), 0))
        numbers = self._numbers_if_there(query)
        rows = [lists.row_of(tree, policy, i, numbers) for i in matches["infosets"]]
        return {"rows": rows, "next": matches["next"], "total": matches["total"]}

    def list(self, query: Query) -> Any:
        """The first infosets of a list."""
        tree, name = self.subject.need_tree(), str(query.get("kind"))
        numbers, other = self._numbers(query), None
        if name == "changed" and query.get("other"):
            other = self._numbers(query, "other")
        rows = [
            lists.row_of(tree, numbers.policy, infoset, numbers) | {"amount": amount}
            for infoset, amount in lists.listed(numbers, tree, name, other)
        ]
        return {"rows": rows}

    def grid(self, query: Query) -> Any:
        """The policy for all private cards."""
        history = _history(query)
        try:
            if self.subject.is_holdem:
                filters = str(query.get("made", "")), str(query.get("draw", ""))
                return spots.grid_of_hands(self._numbers(query), history, *filters)
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

    def runouts(self, query: Query) -> Any:
        """The report over the next cards of a hold'em subgame."""
        if not self.subject.is_holdem:
            raise ValueError("Only spots of hold'em have a report of runouts.")
        try:
            return spots.report_of_runouts(self._numbers(query), _history(query))
        except grids.NoGridError as error:
            return {"none": str(error)}

    def rows(self, _: Query) -> Any:
        """The results of the run so far."""
        return self.subject.rows() | {"policies": self.subject.update_policies()}

    def visit(self, query: Query) -> Any:
        """The changes of the page."""
        return self._visit(query).view()

    # --- requests that change the page -----------------------------------------------

    def fix(self, query: Query) -> Any:
        """Fixes or frees the policy at an infoset."""
        infosets = [self._number(query)]
        if query.get("all_hands"):
            infosets = same_decision(self.subject.need_infosets(), infosets[0])
        given, row = self._given(query), query.get("row")
        self._visit(query).fix(given, infosets, row)
        return self.visit(query)

    def solve(self, query: Query) -> Any:
        """Starts a solve, unless one is running for another page of this server."""
        iterations = _integer(query, "iterations", 500)
        visit, given = self._visit(query), self._given(query)
        with self._solve_lock:
            other = self._solving
            if other is not None and other is not visit and other.is_solving:
                raise ValueError(
                    "Another page of this server is solving: stop that solve or wait."
                )
            visit.solve(given, iterations)
            self._solving = visit
        return self.visit(query)

    def stop_solving(self, query: Query) -> Any:
        """Ends the solve of this page."""
        self._visit(query).stop()
        return self.visit(query)

    def undo(self, query: Query) -> Any:
        """Removes the last change."""
        self._visit(query).undo()
        return self.visit(query)

    def deal(self, query: Query) -> Any:
        """Starts a game against the policy."""
        visit, seat = self._visit(query), _integer(query, "seat", 0)
        ask = self._asker(query)
        visit.hand = PlayedGame(self.subject.game, seat, ask, visit.generator)
        return visit.hand.view()

    def move(self, query: Query) -> Any:
        """Plays a move."""
        hand = self._visit(query).hand
        if hand is None:
            raise ValueError("No game is running: start one with Deal.")
        hand.move(_integer(query, "action", -1))
        return hand.view()

    # --- parts of requests -----------------------------------------------------------

    def _visit(self, query: Query) -> Visit:
        """The page that sent the request. If too many pages are open, the least
        recently used page is dropped, and the server ends the solve of that page."""
        name = str(query.get("visit", ""))
        if not 0 < len(name) <= _LONGEST_NAME or not name.isascii():
            raise ValueError(
                f"visit={name!r}: the page did not say which one it is. Expected an "
                f"identifier of 1 to {_LONGEST_NAME} ASCII characters."
            )
        with self._lock:
            visit = self.visits.pop(name, None) or Visit(self.subject)
            self.visits[name] = visit
            if len(self.visits) > MOST_VISITS:
                self.visits.popitem(last=False)[1].stop()
            return visit

    def _number(self, query: Query) -> int:
        infoset = _integer(query, "number", -1)
        if not 0 <= infoset < self.subject.need_infosets().num_infosets:
            raise ValueError(
                f"number={infoset} is none of the information sets of this game."
            )
        return infoset

    def _given(self, query: Query, key: str = "policy") -> ShownPolicy:
        """A policy among the subject's; the first one for the page's own policy."""
        index = 0 if query.get(key) == MINE else _integer(query, key, 0)
        last = len(self.subject.candidates) - 1
        if not 0 <= index <= last:
            raise ValueError(f"{key}={index} is none of the policies 0 to {last}.")
        return self.subject.candidate(index)

    def _candidate(self, query: Query, key: str = "policy") -> ShownPolicy:
        if query.get(key) == MINE:
            return self._visit(query).changed
        return self._given(query, key)

    def _evaluation(self, query: Query, key: str = "policy") -> PolicyEvaluation:
        return self.subject.evaluation(self._candidate(query, key))

    def _numbers(self, query: Query, key: str = "policy") -> Any:
        """The `Numbers` of a policy; in a hold'em subgame, the `Study`."""
        return self._evaluation(query, key).numbers()

    def _numbers_if_there(self, query: Query, key: str = "policy") -> Any:
        """The same; None if there is no tree or the computation is not finished yet."""
        if self.subject.state_of_tree()[0] == "none":
            return None
        try:
            return self._numbers(query, key)
        except WorkingError:
            return None

    def _infoset(
        self, query: Query, key: str, state: pyspiel.State, infoset: int | None
    ) -> dict[str, Any] | None:
        """A policy at a state where a player acts, with values if available."""
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
        """A function that returns the action probabilities of a policy at a state."""
        candidate, subject = self._candidate(query), self.subject
        tree = subject.need_infosets() if subject.is_holdem else subject.tree()

        def ask(state: pyspiel.State) -> dict[int, float]:
            odds = candidate.probabilities(state)
            if odds is not None:
                return odds
            if tree is None:
                raise ValueError(
                    "The policy is an array over the tree's sequences: wait until the "
                    "tree is expanded."
                )
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
        raise ValueError(f"{key}={value!r} is not an integer.") from error


def _history(query: Query) -> list[int]:
    text = str(query.get("history", ""))
    if len(text) > _LONGEST:
        raise ValueError(
            f"The history has {len(text):,} characters: expected at most {_LONGEST:,}."
        )
    try:
        return [int(action) for action in text.split(",") if action]
    except ValueError as error:
        raise ValueError(
            f"history={text!r}: expected actions separated by commas, such as 0,3."
        ) from error
