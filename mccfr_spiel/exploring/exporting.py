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

from mccfr_spiel.exploring import finding, live_rows, places, views
from mccfr_spiel.exploring.answers import Answers
from mccfr_spiel.exploring.numbers import Numbers
from mccfr_spiel.exploring.static_files import static_file
from mccfr_spiel.exploring.subjects import Subject
from mccfr_spiel.storage.atomic import write_file
from mccfr_spiel.tree.game_tree import GameTree

MOST_NODES = 20_000
"""Of a game that is exported: about 10 MB."""

_BELIEFS = 20


def export(subject: Subject, path: str | os.PathLike[str]) -> None:
    """Writes the page of a small game into one file.

    It has the walk, the search, the lists and the comparisons; to play and to solve on
    takes the server.

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
    about = Answers(subject).about({}) | {"server": False}
    states, numbers_of_states = {}, {}
    # One pass takes a history off the stack and puts those with one move more on.
    stack: list[list[int]] = [[]]
    while stack:
        history = stack.pop()
        place = places.follow(tree.game, tree, history)
        key = ",".join(map(str, history))
        view = views.state_view(place)
        del view["history"]
        states[key] = view
        if view["player"] >= 0:
            numbers_of_states[key] = int(tree.nodes[place.node]["infoset"])
        stack += [[*history, move] for move in places.moves_of(place.state)]
    infosets = range(tree.num_infosets)
    return {
        "about": about,
        "overviews": [views.overview(one) for one in numbers],
        "states": states,
        "infoset_of": numbers_of_states,
        "infosets": [
            [views.infoset_view(tree, n, i) for i in infosets] for n in numbers
        ],
        "beliefs": [
            [views.belief_view(tree, n.policy, i, _BELIEFS) for i in infosets]
            for n in numbers
        ],
        "rows_of_lists": [
            [finding.row_of(tree, n.policy, i) for i in infosets] for n in numbers
        ],
        "lists": [_lists(tree, numbers, which) for which in range(count)],
        "rows": live_rows.rows_of(subject.folder, subject.history),
    }


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
    script, style = static_file("page.js"), static_file("page.css")
    data = json.dumps(values, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        data = data.replace(sign, f"\\u{ord(sign):04x}")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; "
        f"style-src '{_hash(style)}'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
    text = static_file("page.html")
    for mark, filling in (
        ("<!-- policy -->", _meta(policy)),
        ('<link rel="stylesheet" href="page.css">', f"<style>{style}</style>"),
        (
            '<script src="page.js" defer></script>',
            f'<script type="application/json" id="data">{data}</script>',
        ),
        ("<!-- script -->", f"<script>{script}</script>"),
    ):
        assert mark in text
        text = text.replace(mark, filling)
    return text


def _meta(policy: str) -> str:
    return f'<meta http-equiv="Content-Security-Policy" content="{policy}">'


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
