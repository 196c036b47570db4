"""The page as one file that needs no server, for small games.

All that the page could ask about states and infosets is asked in advance, and the
answers stand in the file as JSON. The page's own code is the same.
"""

import base64
import hashlib
import json
import os
import pathlib
from typing import Any

from mccfr_spiel.exploring import finding, places
from mccfr_spiel.exploring.answers import Answers
from mccfr_spiel.exploring.grids import deals
from mccfr_spiel.exploring.hands import is_seen
from mccfr_spiel.exploring.static_files import static_file
from mccfr_spiel.exploring.subjects import Subject
from mccfr_spiel.exploring.views import known_to
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
    answers, policies = Answers(subject), range(len(subject.candidates))
    for which in policies:
        if subject.evaluation(which).numbers(600.0) is None:
            label = subject.candidates[which].label
            raise ValueError(f"The numbers of {label} took long.")
    states, infoset_of, strings = {}, {}, {}
    grid_of: dict[str, int] = {}
    infosets: list[list[Any]] = [[None] * tree.num_infosets for _ in policies]
    grids: list[list[Any]] = [[] for _ in policies]
    grid_numbers: dict[tuple[int | None, ...], int | None] = {}
    no_grid = answers.grid({"history": ""}).get("none", "")
    # One pass takes a history off the stack and puts those with one move more on.
    stack: list[list[int]] = [[]]
    while stack:
        history = stack.pop()
        key = ",".join(map(str, history))
        answer = answers.state({"history": key})
        state = places.follow(tree.game, None, history).state
        del answer["state"]["history"]
        states[key] = answer["state"] | _for_play(state, strings)
        stack += [[*history, move] for move in places.moves_of(state)]
        if answer["infoset"] is None:
            continue
        infoset = infoset_of[key] = answer["infoset"]["number"]
        for which in policies:
            if infosets[which][infoset] is None:
                asked = answers.state({"history": key, "policy": which})
                infosets[which][infoset] = asked["infoset"]
        # States that differ in their deals only share a grid.
        hidden = len(deals(tree.game, history))
        public = (*(None for _ in history[:hidden]), *history[hidden:])
        if public not in grid_numbers:
            found = [
                answers.grid({"history": key, "policy": which}) for which in policies
            ]
            no_grid = found[0].get("none", no_grid)
            grid_numbers[public] = None if "none" in found[0] else len(grids[0])
            if "none" not in found[0]:
                for mine, one in zip(grids, found, strict=True):
                    mine.append(one)
        number = grid_numbers[public]
        if number is not None:
            grid_of[key] = number
    return {
        "about": answers.about({}),
        "overviews": [answers.overview({"policy": which}) for which in policies],
        "states": states,
        "strings": list(strings),
        "infoset_of": infoset_of,
        "infosets": infosets,
        "grid_of": grid_of,
        "grids": grids,
        "no_grid": no_grid,
        "rows": answers.rows({}),
    } | _of_policies(answers, tree)


def _of_policies(answers: Answers, tree: GameTree) -> dict[str, Any]:
    """The beliefs, rows of lists and lists of each policy; the list "changed" has one
    for each other policy."""
    policies = range(len(answers.subject.candidates))
    infosets = range(tree.num_infosets)
    found: dict[str, Any] = {"beliefs": [], "rows_of_lists": [], "lists": []}
    for which in policies:
        mine = {"policy": which}
        numbers = answers.subject.evaluation(which).numbers()
        assert numbers is not None
        beliefs = [answers.belief(mine | {"number": i}) for i in infosets]
        for one in beliefs:
            one["left_out"] += len(one["rows"][_BELIEFS:])
            del one["rows"][_BELIEFS:]
        found["beliefs"].append(beliefs)
        rows = [finding.row_of(tree, numbers.policy, i) for i in infosets]
        found["rows_of_lists"].append(rows)

        def listed(mine: Any = mine, **query: Any) -> list[tuple[int, float]]:
            rows = answers.list(mine | query)["rows"]
            return [(row["infoset"], row["amount"]) for row in rows]

        lists: dict[str, Any] = {
            kind: listed(kind=kind) for kind in finding.LISTS if kind != "changed"
        }
        lists["changed"] = [listed(kind="changed", other=str(one)) for one in policies]
        found["lists"].append(lists)
    return found


def _for_play(state: Any, strings: dict[str, int]) -> dict[str, Any]:
    """What a game against a policy needs at a state: what each player knows there, as
    numbers of strings, and for each move the players who can tell it, as bits."""
    if state.is_terminal():
        return {}
    players = range(state.num_players())
    seen = [
        sum(is_seen(state, move, player) << player for player in players)
        for move in places.moves_of(state)
    ]
    knows = [known_to(state, player) for player in players]
    numbers = [strings.setdefault(one, len(strings)) for one in knows]
    return {"knows": numbers, "seen": seen}


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
