"""What a page asks, by name, and the answers as values for JSON.

Everything that comes from a page is checked here. A ValueError becomes its message.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyspiel

from mccfr_spiel.exploring import finding, grids, live_rows, places, views
from mccfr_spiel.exploring.candidates import Regrets, probabilities
from mccfr_spiel.exploring.hands import Hand
from mccfr_spiel.exploring.numbers import Numbers
from mccfr_spiel.exploring.subjects import Subject
from mccfr_spiel.exploring.visits import MINE, Visit, Visits
from mccfr_spiel.tree.game_tree import GameTree

WORKING = {"working": True}
"""The answer while numbers are being computed; the page asks again."""

_LONGEST = 10_000


class Chosen(NamedTuple):
    """A policy that a page has chosen.

    Attributes:
        policy: what answers states, or is a vector.
        numbers: None if they are not there yet, or cannot be.
        why: why they cannot be.
        regrets: of the solver that has this policy, if it keeps any.
    """

    policy: Any
    numbers: Numbers | None
    why: str = ""
    regrets: Regrets | None = None


class Answers:
    """Answers for one subject.

    Attributes:
        subject: what is looked at.
        visits: the open pages.
    """

    def __init__(self, subject: Subject) -> None:
        """Answers nothing yet."""
        self.subject = subject
        self.visits = Visits()
        self.reading: dict[str, Callable[[Mapping[str, Any]], Any]] = {
            "about": self.about,
            "overview": self.overview,
            "state": self.state,
            "odds": self.odds,
            "belief": self.belief,
            "search": self.search,
            "list": self.list,
            "infoset": self.infoset,
            "grid": self.grid,
            "rows": self.rows,
            "visit": self.visit,
            "review": self.review,
        }
        self.changing: dict[str, Callable[[Mapping[str, Any]], Any]] = {
            "fix": self.fix,
            "solve": self.solve,
            "undo": self.undo,
            "deal": self.deal,
            "move": self.move,
        }

    # --- what is asked ---------------------------------------------------------

    def about(self, query: Mapping[str, Any]) -> Any:
        """The game, its policies, and how far its tree is."""
        del query
        subject = self.subject
        kind, why = subject.state_of_tree()
        tree = subject.tree()
        return {
            "title": subject.title,
            "game": str(subject.source),
            "players": subject.game.num_players(),
            "policies": [
                {"label": label, "iteration": one.iteration, "run": views.text(one.run)}
                for one, label in ((c, views.text(c.label)) for c in subject.candidates)
            ],
            "lists": finding.LISTS,
            "tree": kind,
            "why": why,
            "nodes": None if tree is None else tree.num_nodes,
            "infosets": None if tree is None else tree.num_infosets,
            "rows": subject.folder is not None or bool(subject.history),
        }

    def overview(self, query: Mapping[str, Any]) -> Any:
        """Returns, best responses and NashConv of a policy."""
        chosen = self._chosen(query)
        if chosen.numbers is None:
            return {"none": chosen.why} if chosen.why else WORKING
        return views.overview(chosen.numbers)

    def state(self, query: Mapping[str, Any]) -> Any:
        """A state, and the policy of who acts there."""
        tree = self.subject.tree()
        place = self._place(query, tree)
        answer: dict[str, Any] = {"state": views.state_view(place)}
        chosen = self._chosen(query)
        answer["infoset"] = self._infoset(chosen, tree, place)
        answer["why"] = chosen.why
        if query.get("other"):
            other = self._chosen(query, "other")
            answer["other"] = self._infoset(other, tree, place)
        return answer

    def odds(self, query: Mapping[str, Any]) -> Any:
        """A policy at a state and nothing else, for many policies one by one."""
        place = self._place(query, None)
        if place.state.current_player() < 0:
            return {"probabilities": None}
        policy = self.subject.policy(self._which(query))
        view = views.policy_view(policy, place.state)
        if view["probabilities"] is None:  # it is an array over the tree's sequences
            view = self._infoset(self._chosen(query), self.subject.tree(), place)
        return {"probabilities": None if view is None else view["probabilities"]}

    def belief(self, query: Mapping[str, Any]) -> Any:
        """The histories of an infoset."""
        tree = self.subject.need_tree()
        policy = self._vector(query)
        if policy is None:
            return WORKING
        return views.belief_view(tree, policy, _infoset_in(query, tree))

    def search(self, query: Mapping[str, Any]) -> Any:
        """Infosets by text."""
        tree = self.subject.need_tree()
        wanted = str(query.get("text", ""))[:_LONGEST]
        found = finding.search(tree, wanted, max(_whole(query, "first", 0), 0))
        policy = self._vector(query)
        if policy is None:
            return WORKING
        rows = [finding.row_of(tree, policy, i) for i in found["infosets"]]
        return {"rows": rows, "next": found["next"], "total": found["total"]}

    def list(self, query: Mapping[str, Any]) -> Any:
        """The first infosets by some number."""
        tree, numbers = self._numbers(query)
        other = None
        if query.get("kind") == "changed" and query.get("other"):
            tree, other = self._numbers(query, "other")
            if other is None:
                return WORKING
        if numbers is None:
            return WORKING
        found = finding.listed(numbers, tree, str(query.get("kind")), other)
        rows = [
            finding.row_of(tree, numbers.policy, i) | {"amount": amount}
            for i, amount in found
        ]
        return {"rows": rows}

    def infoset(self, query: Mapping[str, Any]) -> Any:
        """The most probable history of an infoset, to walk to."""
        tree = self.subject.need_tree()
        policy = self._vector(query)
        if policy is None:
            return WORKING
        found = places.histories_of(tree, _infoset_in(query, tree), policy, 1)
        return {"history": found.actions(tree.game, 0)}

    def grid(self, query: Mapping[str, Any]) -> Any:
        """The policy by private cards."""
        tree = self.subject.tree()
        chosen = self._chosen(query)
        numbers = chosen.numbers
        history = _history_in(query)
        game = self.subject.game

        def ask(state: pyspiel.State) -> dict[int, float] | None:
            return self._ask(chosen, tree, state)

        policy = None if numbers is None else numbers.policy
        try:
            return grids.grid(game, history, ask, tree, policy)
        except grids.NoGridError as error:
            return {"none": str(error)}

    def rows(self, query: Mapping[str, Any]) -> Any:
        """The rows of the run, as far as it is."""
        del query
        found = live_rows.rows_of(self.subject.folder, self.subject.history)
        return found | {"policies": self.subject.look_again()}

    def visit(self, query: Mapping[str, Any]) -> Any:
        """What the page has changed."""
        return self._visit(query).view(self.subject)

    def review(self, query: Mapping[str, Any]) -> Any:
        """What a hand that is over was worth."""
        hand = self._hand(query)
        if not hand.state.is_terminal():
            raise ValueError("The hand is not over.")
        if self.subject.state_of_tree()[0] == "none":
            return {"none": self.subject.state_of_tree()[1]}
        tree, numbers = self._numbers(query)
        return WORKING if numbers is None else hand.review(tree, numbers)

    # --- what is done ------------------------------------------------------------

    def fix(self, query: Mapping[str, Any]) -> Any:
        """Fixes or frees the policy at an infoset."""
        visit, tree = self._visit(query), self.subject.need_tree()
        row = query.get("row")
        if row is not None and not (
            isinstance(row, list) and all(isinstance(x, int | float) for x in row)
        ):
            raise ValueError(f"row={row!r} is no list of numbers.")
        visit.fix(self.subject, self._which(query), _infoset_in(query, tree), row)
        return visit.view(self.subject)

    def solve(self, query: Mapping[str, Any]) -> Any:
        """Solves on."""
        visit = self._visit(query)
        iterations = _whole(query, "iterations", 500)
        visit.solve(self.subject, self._which(query), iterations)
        return visit.view(self.subject)

    def undo(self, query: Mapping[str, Any]) -> Any:
        """Takes the last change back."""
        visit = self._visit(query)
        visit.undo()
        return visit.view(self.subject)

    def deal(self, query: Mapping[str, Any]) -> Any:
        """Begins a hand."""
        visit, chosen = self._visit(query), self._chosen(query)
        tree = self.subject.tree()

        def ask(state: pyspiel.State) -> dict[int, float]:
            odds = self._ask(chosen, tree, state)
            if odds is None:
                raise ValueError("The policy can be asked once the tree is there.")
            return odds

        seat = _whole(query, "seat", 0)
        visit.hand = Hand(self.subject.game, seat, ask, visit.generator)
        return visit.hand.view()

    def move(self, query: Mapping[str, Any]) -> Any:
        """Plays a move."""
        hand = self._hand(query)
        hand.move(_whole(query, "action", -1))
        return hand.view()

    # --- what queries name ---------------------------------------------------------

    def _visit(self, query: Mapping[str, Any]) -> Visit:
        return self.visits.get(str(query.get("visit", "")))

    def _hand(self, query: Mapping[str, Any]) -> Hand:
        hand = self._visit(query).hand
        if hand is None:
            raise ValueError("There is no hand yet: deal one.")
        return hand

    def _which(self, query: Mapping[str, Any], key: str = "policy") -> int:
        """The number of a policy; that of the first one for the page's own."""
        if query.get(key) == MINE:
            return 0
        which = _whole(query, key, 0)
        if not 0 <= which < len(self.subject.candidates):
            raise ValueError(
                f"{key}={which} is none of the policies 0 to "
                f"{len(self.subject.candidates) - 1}."
            )
        return which

    def _chosen(self, query: Mapping[str, Any], key: str = "policy") -> Chosen:
        kind, why = self.subject.state_of_tree()
        if query.get(key) == MINE:
            visit, tree = self._visit(query), self.subject.need_tree()
            numbers = visit.numbers(tree)
            return Chosen(visit.changed_policy(), numbers)
        which = self._which(query, key)
        policy = self.subject.policy(which)
        regrets = self.subject.candidates[which].regrets
        if kind == "none":
            return Chosen(policy, None, why, regrets)
        return Chosen(policy, self.subject.numbers(which), "", regrets)

    def _numbers(
        self, query: Mapping[str, Any], key: str = "policy"
    ) -> tuple[GameTree, Numbers | None]:
        tree = self.subject.need_tree()
        return tree, self._chosen(query, key).numbers

    def _vector(self, query: Mapping[str, Any]) -> np.ndarray | None:
        """`[S]` the chosen policy over the tree's sequences; None if it takes long."""
        if query.get("policy") == MINE:
            return self._visit(query).changed_policy()
        return self.subject.vector(self._which(query))

    def _place(self, query: Mapping[str, Any], tree: GameTree | None) -> places.Place:
        return places.follow(self.subject.game, tree, _history_in(query))

    def _infoset(
        self, chosen: Chosen, tree: GameTree | None, place: places.Place
    ) -> dict[str, Any] | None:
        if place.state.current_player() < 0:
            return None
        infoset = None if tree is None else int(tree.nodes[place.node]["infoset"])
        if tree is None or infoset is None or chosen.numbers is None:
            view = views.policy_view(chosen.policy, place.state, infoset)
        else:
            view = views.infoset_view(tree, chosen.numbers, infoset)
        return view | views.regrets_view(chosen.regrets, place.state)

    def _ask(
        self, chosen: Chosen, tree: GameTree | None, state: pyspiel.State
    ) -> dict[int, float] | None:
        """A policy's answer at a state, by its own or by the tree's numbers."""
        if chosen.numbers is None or tree is None:
            return probabilities(chosen.policy, state)
        infoset = tree.find_at(state, state.current_player())
        _, start, _, size, _ = tree.infosets[infoset].item()
        row = chosen.numbers.policy[start : start + size].tolist()
        return dict(zip(state.legal_actions(), row, strict=True))


def _whole(query: Mapping[str, Any], key: str, default: int) -> int:
    value = query.get(key, default)
    try:
        return int(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{key}={value!r} is no whole number.") from error


def _history_in(query: Mapping[str, Any]) -> list[int]:
    words = str(query.get("history", ""))
    if len(words) > _LONGEST:
        raise ValueError("The history is too long.")
    try:
        return [int(word) for word in words.split(",") if word]
    except ValueError as error:
        raise ValueError(f"history={words!r} is no list of moves.") from error


def _infoset_in(query: Mapping[str, Any], tree: GameTree) -> int:
    infoset = _whole(query, "number", -1)
    if not 0 <= infoset < tree.num_infosets:
        raise ValueError(f"number={infoset} is none of the information sets.")
    return infoset
