"""The page as one file that needs no server, for small games.

All that the page could ask about states and infosets is computed in advance and stands
in the file as JSON. The page's own code is the same.
"""

import base64
import hashlib
import json
import os
import pathlib
from typing import Any

import pyspiel

from mccfr_spiel.exploring import finding, live_rows, places, views
from mccfr_spiel.exploring.answers import Answers
from mccfr_spiel.exploring.grids import deals
from mccfr_spiel.exploring.hands import is_seen, known_to
from mccfr_spiel.exploring.numbers import Numbers
from mccfr_spiel.exploring.static_files import static_file
from mccfr_spiel.exploring.subjects import Subject
from mccfr_spiel.exploring.views import text
from mccfr_spiel.storage.atomic import write_file
from mccfr_spiel.tree.game_tree import GameTree

MOST_NODES = 20_000
"""Of a game that is exported: about 10 MB."""

_BELIEFS = 20


def export(subject: Subject, path: str | os.PathLike[str]) -> None:
    """Writes the page of a small game into one file.

    It has all of the page but the change of a policy and solving on, for which its
    reader is told to use the server.

    Args:
        subject: what to look at.
        path: of the file, which appears whole or not at all.

    Raises:
        ValueError: the game has more than MOST_NODES nodes.
        OSError: the file cannot be written.
    """
    tree = subject.tree(60.0)
    if tree is None or tree.num_nodes > MOST_NODES:
        size = "an unknown number of" if tree is None else f"{tree.num_nodes:,}"
        raise ValueError(
            f"{subject.source} has {size} nodes; a page in one file can have "
            f"{MOST_NODES:,}. Open the page with its server instead."
        )
    write_file(pathlib.Path(path), page(contents(subject, tree)).encode())


def contents(subject: Subject, tree: GameTree) -> dict[str, Any]:
    """All that the page of a small game may ask.

    Its `states` are keyed by the moves before them, as the page's links are.
    """
    count = len(subject.candidates)
    numbers = [_numbers(subject, which) for which in range(count)]
    answers = Answers(subject)
    states, numbers_of_states, regrets = {}, {}, {}
    grids, strings = _Grids(answers), {}
    # One pass takes a history off the stack and puts those with one move more on.
    stack: list[list[int]] = [[]]
    while stack:
        history = stack.pop()
        place = places.follow(tree.game, tree, history)
        key = ",".join(map(str, history))
        view = views.state_view(place)
        del view["history"]
        states[key] = view | _for_play(place.state, strings)
        if view["player"] >= 0:
            infoset = int(tree.nodes[place.node]["infoset"])
            numbers_of_states[key] = infoset
            regrets.setdefault(infoset, place.state)
            grids.add(key, history)
        stack += [[*history, move] for move in places.moves_of(place.state)]
    infosets = range(tree.num_infosets)
    return {
        "about": answers.about({}),
        "overviews": [views.overview(one) for one in numbers],
        "states": states,
        "strings": list(strings),
        "infoset_of": numbers_of_states,
        "infosets": [
            [
                views.infoset_view(tree, one, i)
                | views.regrets_view(candidate.regrets, regrets[i])
                for i in infosets
            ]
            for one, candidate in zip(numbers, subject.candidates, strict=True)
        ],
        "beliefs": [
            [views.belief_view(tree, n.policy, i, _BELIEFS) for i in infosets]
            for n in numbers
        ],
        "rows_of_lists": [
            [finding.row_of(tree, n.policy, i) for i in infosets] for n in numbers
        ],
        "lists": [_lists(tree, numbers, which) for which in range(count)],
        "grid_of": grids.numbers,
        "grids": grids.views,
        "no_grid": grids.why,
        "rows": live_rows.rows_of(subject.folder, subject.history),
    }


def _for_play(state: pyspiel.State, strings: dict[str, int]) -> dict[str, Any]:
    """What a game against a policy needs at a state: what each player knows there, as
    numbers of strings, and for each move the players who can tell it, as bits."""
    if state.is_terminal():
        return {}
    players = range(state.num_players())
    knows = [text(known_to(state, player)) for player in players]
    seen = [
        sum(is_seen(state, move, player) << player for player in players)
        for move in places.moves_of(state)
    ]
    numbers = [strings.setdefault(one, len(strings)) for one in knows]
    return {"knows": numbers, "seen": seen}


class _Grids:
    """The grids of all states. Those that differ in their deals only have one.

    Attributes:
        numbers: the moves before a state -> the number of its grid.
        views: for each policy its grids.
        why: why there is none at other states.
    """

    def __init__(self, answers: Answers) -> None:
        self.numbers: dict[str, int] = {}
        self.views: list[list[Any]] = [[] for _ in answers.subject.candidates]
        self.why = answers.grid({"history": ""}).get("none", "")
        self._answers = answers
        self._known: dict[tuple[int | None, ...], int | None] = {}

    def add(self, key: str, history: list[int]) -> None:
        """Makes the grid of a state where a player acts, unless it is there."""
        game = self._answers.subject.game
        hidden = len(deals(game, history))
        public = (*(None for _ in history[:hidden]), *history[hidden:])
        if public not in self._known:
            found = [
                self._answers.grid({"history": key, "policy": which})
                for which in range(len(self.views))
            ]
            self.why = found[0].get("none", self.why)
            self._known[public] = None if "none" in found[0] else len(self.views[0])
            if "none" not in found[0]:
                for mine, one in zip(self.views, found, strict=True):
                    mine.append(one)
        number = self._known[public]
        if number is not None:
            self.numbers[key] = number


def _numbers(subject: Subject, which: int) -> Numbers:
    found = subject.numbers(which, 600.0)
    if found is None:
        raise ValueError(f"The numbers of {subject.candidates[which].label} took long.")
    return found


def _lists(tree: GameTree, numbers: list[Numbers], which: int) -> dict[str, Any]:
    """The lists of a policy; "changed" has one for each other policy."""
    mine = numbers[which]
    found: dict[str, Any] = {
        kind: finding.listed(mine, tree, kind, None)
        for kind in finding.LISTS
        if kind != "changed"
    }
    found["changed"] = [finding.listed(mine, tree, "changed", one) for one in numbers]
    return found


def page(values: dict[str, Any]) -> str:
    """The whole page, with values in it that cannot end their own element.

    Its policy of contents names the hashes of its script and its style, so a browser
    runs and loads nothing else.
    """
    scripts = [static_file(f"{one}.js") for one in ("saved", "page")]
    style = static_file("page.css")
    data = json.dumps(values, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        data = data.replace(sign, f"\\u{ord(sign):04x}")
    hashes = " ".join(f"'{_hash(script)}'" for script in scripts)
    policy = (
        f"default-src 'none'; script-src {hashes}; "
        f"style-src '{_hash(style)}'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
    page_text = static_file("page.html")
    for mark, filling in (
        ("<!-- policy -->", _meta(policy)),
        ('<link rel="stylesheet" href="page.css">', f"<style>{style}</style>"),
        (
            '<script src="page.js" defer></script>',
            f'<script type="application/json" id="data">{data}</script>',
        ),
        (
            "<!-- script -->",
            "".join(f"<script>{script}</script>" for script in scripts),
        ),
    ):
        assert mark in page_text
        page_text = page_text.replace(mark, filling)
    return page_text


def _meta(policy: str) -> str:
    return f'<meta http-equiv="Content-Security-Policy" content="{policy}">'


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
