"""`export`: writes the page of a small game into one HTML file that needs no server.

The file embeds, as JSON, the answers to all requests that the page can make about
states and infosets. The page's own code is the same as with a server.
"""

import base64
import hashlib
import json
import os
import pathlib
from collections.abc import Callable, Iterable
from typing import Any

from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.common.atomic_files import (
    write_file,
)
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.memory import (
    in_words,
)
from mccfr_spiel.exploring.grids import deals
from mccfr_spiel.exploring.lists import LISTS, row_of
from mccfr_spiel.exploring.page_api import PageApi
from mccfr_spiel.exploring.policy_numbers import Numbers
from mccfr_spiel.exploring.positions import follow, seen_moves
from mccfr_spiel.exploring.static_files import static_file
from mccfr_spiel.exploring.subjects import Subject
from mccfr_spiel.exploring.views import plain, state_view, words_known_to

MAX_EXPORTED_NODES = 20_000
"""The largest tree that can be exported, which makes a file of about 10 MB."""

_BELIEFS = 20
"""The largest number of histories per infoset in the file."""


def export(
    subject: Subject,
    path: str | os.PathLike[str],
    tell: Callable[[str], object] = lambda message: None,
) -> None:
    """Writes the page of a small game into one file.

    An exported page cannot change policies or solve; it refers readers to the server.

    Args:
        subject: the game and the policies to show.
        path: the file, which is written atomically.
        tell: receives a line with the size of the file before it is written.

    Raises:
        ValueError: the game has more than MAX_EXPORTED_NODES nodes, or no tree.
        OSError: the file cannot be written.
    """
    tree = subject.tree(60.0)
    if tree is None:
        why = subject.state_of_tree()[1]
        raise ValueError(f"Exporting a page needs the game's whole tree. {why}")
    if tree.num_nodes > MAX_EXPORTED_NODES:
        raise ValueError(
            f"{brief(subject.source)} has {tree.num_nodes:,} nodes; an exported page "
            f"can have {MAX_EXPORTED_NODES:,}. Use explore to open it with a server."
        )
    data = page(contents(subject, tree)).encode()
    tell(f"Writing {in_words(len(data))} to {path}.")
    write_file(pathlib.Path(path), data)


def contents(subject: Subject, tree: GameTree) -> dict[str, Any]:
    """The answers to all requests of a small game's page.

    The keys of `states` are the actions of the history, joined by commas, as in the
    page's links.
    """
    api = PageApi(subject)
    states, infoset_of, strings, grid_of = {}, {}, {}, {}
    first: dict[int, str] = {}  # infoset -> key of a state
    grids: dict[tuple[int, ...], str] = {}  # public moves -> key of a state
    without_grid = ""
    # Depth-first over all histories: a pass pops a history, stores the view of the
    # state, and pushes the histories that are longer by a move.
    stack: list[list[int]] = [[]]
    while stack:
        history = stack.pop()
        key = ",".join(map(str, history))
        state, infoset = follow(tree.game, tree, history)
        states[key] = state_view(state) | _for_play(state, strings)
        del states[key]["history"]
        stack += [[*history, move] for move in state.legal_actions()]
        if infoset is None:
            continue
        infoset_of[key] = infoset
        first.setdefault(infoset, key)
        # States with the same public moves share a grid, whatever was dealt.
        hidden = len(deals(tree.game, history))
        if hidden:
            grid_of[key] = grids.setdefault((hidden, *history[hidden:]), key)
        else:
            without_grid = key
    keys = [first[infoset] for infoset in range(tree.num_infosets)]
    policies = range(len(subject.candidates))
    each = [_of_policy(api, index, keys, grids.values()) for index in policies]
    return {
        "about": api.about({}),
        "states": states,
        "strings": list(strings),
        "infoset_of": infoset_of,
        "grid_of": grid_of,
        "no_grid": api.grid({"history": without_grid}).get("none", ""),
        "rows": api.rows({}),
    } | {name: [answers[name] for answers in each] for name in each[0]}


def _of_policy(
    api: PageApi, index: int, keys: list[str], grids: Iterable[str]
) -> dict[str, Any]:
    """The answers to all requests about one policy.

    Args:
        api: answers the requests.
        index: index of the policy.
        keys: `[I]` the history of one state of each infoset.
        grids: histories of one state for each different grid.
    """
    query_base, subject = {"policy": index}, api.subject

    def numbers_of(index: int) -> Numbers:
        return subject.evaluation(subject.candidate(index)).numbers(600.0)

    numbers = numbers_of(index)

    def listed(**query: Any) -> list[tuple[int, float]]:
        rows = api.list(query_base | query)["rows"]
        return [(row["infoset"], row["amount"]) for row in rows]

    infosets = range(len(keys))
    beliefs = [api.belief(query_base | {"number": infoset}) for infoset in infosets]
    for belief in beliefs:
        belief["left_out"] += len(belief["rows"][_BELIEFS:])
        del belief["rows"][_BELIEFS:]
    lists: dict[str, Any] = {k: listed(kind=k) for k in LISTS if k != "changed"}
    lists["changed"] = []  # a list per policy to compare with
    for other in range(len(subject.candidates)):
        numbers_of(other)
        lists["changed"].append(listed(kind="changed", other=str(other)))
    tree = subject.need_tree()
    return {
        "overviews": api.overview(query_base),
        "infosets": [api.state(query_base | {"history": k})["infoset"] for k in keys],
        "grids": {key: api.grid(query_base | {"history": key}) for key in grids},
        "beliefs": beliefs,
        "rows_of_lists": [row_of(tree, numbers.policy, i, numbers) for i in infosets],
        "lists": lists,
    }


def _for_play(state: Any, strings: dict[str, int]) -> dict[str, Any]:
    """Data that an exported page needs to play against a policy.

    `knows`: for each player, the number of the string of the player's information.
    `seen`: for each move, a bit mask of the players who can identify the move.
    """
    if state.is_terminal():
        return {}
    players = range(state.num_players())
    each = zip(*(seen_moves(state, player) for player in players), strict=True)
    seen = [
        sum(sees << player for player, sees in enumerate(column)) for column in each
    ]
    knows = [words_known_to(state, player) for player in players]
    numbers = [strings.setdefault(text, len(strings)) for text in knows]
    return {"knows": numbers, "seen": seen}


def page(values: dict[str, Any]) -> str:
    """The whole page with embedded values.

    The values are escaped so that they cannot close the HTML element around them. The
    content security policy lists the hashes of the script and the style, so that a
    browser runs and loads nothing else.
    """
    scripts = [static_file(f"{name}.js") for name in ("saved", "poker", "page")]
    style = static_file("page.css")
    data = plain(values)
    data = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        data = data.replace(sign, f"\\u{ord(sign):04x}")
    policy = (
        f"default-src 'none'; script-src {' '.join(map(_hash, scripts))}; "
        f"style-src {_hash(style)}; img-src data:; base-uri 'none'; form-action 'none'"
    )
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    data = f'<script type="application/json" id="data">{data}</script>'
    inside = "".join(f"<script>{script}</script>" for script in scripts)
    page_text = static_file("page.html")
    for mark, filling in (
        ("<!-- policy -->", meta),
        ('<link rel="stylesheet" href="page.css">', f"<style>{style}</style>"),
        ('<script src="page.js" defer></script>', data),
        ('<script src="poker.js" defer></script>', ""),
        ("<!-- script -->", inside),
    ):
        assert mark in page_text
        page_text = page_text.replace(mark, filling)
    return page_text


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
