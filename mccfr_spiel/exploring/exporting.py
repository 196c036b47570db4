"""Exporting."""

import base64
import hashlib
import json
import os
import pathlib
from collections.abc import Callable, Iterable
from typing import Any

from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.folders import write_file
from mccfr_spiel.common.limits import in_words
from mccfr_spiel.exploring.grids import deals
from mccfr_spiel.exploring.lists import LISTS, row_of
from mccfr_spiel.exploring.page_api import PageApi
from mccfr_spiel.exploring.policy_numbers import Numbers
from mccfr_spiel.exploring.positions import follow, seen_moves
from mccfr_spiel.exploring.static_files import static_file
from mccfr_spiel.exploring.subjects import Subject
from mccfr_spiel.exploring.views import plain, state_view, words_known_to

MAX_EXPORTED_NODES = 20_000
"""Of a game that is exported: about 10 MB."""


_BELIEFS = 20


def export(
    subject: Subject,
    path: str | os.PathLike[str],
    tell: Callable[[str], object] = lambda words: None,
) -> None:
    """Writes the page of a small game into one file.

    It has all of the page but the change of a policy and solving on, for which its
    reader is told to use the server.

    Args:
        subject: what to look at.
        path: of the file, which appears whole or not at all.
        tell: is called with a line that says how large the file will be, before it is
            written.

    Raises:
        ValueError: the game has more than MAX_EXPORTED_NODES nodes, or no tree.
        OSError: the file cannot be written.
    """
    tree = subject.tree(60.0)
    if tree is None:
        why = subject.state_of_tree()[1]
        raise ValueError(f"A page in one file needs the game's whole tree. {why}")
    if tree.num_nodes > MAX_EXPORTED_NODES:
        raise ValueError(
            f"{brief(subject.source)} has {tree.num_nodes:,} nodes; a page in one file "
            f"can have {MAX_EXPORTED_NODES:,}. Open the page with its server instead."
        )
    data = page(contents(subject, tree)).encode()
    tell(f"Writing {in_words(len(data))} to {path}.")
    write_file(pathlib.Path(path), data)


def contents(subject: Subject, tree: GameTree) -> dict[str, Any]:
    """All that the page of a small game may ask.

    Its `states` are keyed by the moves before them, as the page's links are.
    """
    answers = PageApi(subject)
    states, infoset_of, strings, grid_of = {}, {}, {}, {}
    first: dict[int, str] = {}  # infoset -> the key of one of its states
    grids: dict[tuple[int, ...], str] = {}  # public moves -> the key of a first state
    without_grid = ""
    # One pass takes a history off the stack and puts those with one move more on.
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
        # States that differ in their deals only share a grid.
        hidden = len(deals(tree.game, history))
        if hidden:
            grid_of[key] = grids.setdefault((hidden, *history[hidden:]), key)
        else:
            without_grid = key
    keys = [first[infoset] for infoset in range(tree.num_infosets)]
    policies = range(len(subject.candidates))
    each = [_of_policy(answers, one, keys, grids.values()) for one in policies]
    return {
        "about": answers.about({}),
        "states": states,
        "strings": list(strings),
        "infoset_of": infoset_of,
        "grid_of": grid_of,
        "no_grid": answers.grid({"history": without_grid}).get("none", ""),
        "rows": answers.rows({}),
    } | {name: [one[name] for one in each] for name in each[0]}


def _of_policy(
    answers: PageApi, which: int, keys: list[str], grids: Iterable[str]
) -> dict[str, Any]:
    """What the page may ask of one policy.

    Args:
        answers: to the questions.
        which: the policy.
        keys: `[I]` the moves before a state of each infoset.
        grids: the moves before states that have grids of their own.
    """
    mine, subject = {"policy": which}, answers.subject

    def numbers_of(number: int) -> Numbers:
        return subject.evaluation(subject.candidate(number)).numbers(600.0)

    numbers = numbers_of(which)

    def listed(**query: Any) -> list[tuple[int, float]]:
        rows = answers.list(mine | query)["rows"]
        return [(row["infoset"], row["amount"]) for row in rows]

    infosets = range(len(keys))
    beliefs = [answers.belief(mine | {"number": infoset}) for infoset in infosets]
    for one in beliefs:
        one["left_out"] += len(one["rows"][_BELIEFS:])
        del one["rows"][_BELIEFS:]
    lists: dict[str, Any] = {k: listed(kind=k) for k in LISTS if k != "changed"}
    lists["changed"] = []  # has a list for each other policy
    for other in range(len(subject.candidates)):
        numbers_of(other)
        lists["changed"].append(listed(kind="changed", other=str(other)))
    tree = subject.need_tree()
    return {
        "overviews": answers.overview(mine),
        "infosets": [answers.state(mine | {"history": k})["infoset"] for k in keys],
        "grids": {key: answers.grid(mine | {"history": key}) for key in grids},
        "beliefs": beliefs,
        "rows_of_lists": [
            row_of(tree, numbers.policy, i, numbers.visits) for i in infosets
        ],
        "lists": lists,
    }


def _for_play(state: Any, strings: dict[str, int]) -> dict[str, Any]:
    """What a game against a policy needs at a state: what each player knows there, as
    numbers of strings, and for each move the players who can tell it, as bits."""
    if state.is_terminal():
        return {}
    players = range(state.num_players())
    each = zip(*(seen_moves(state, player) for player in players), strict=True)
    seen = [sum(sees << player for player, sees in enumerate(one)) for one in each]
    knows = [words_known_to(state, player) for player in players]
    numbers = [strings.setdefault(one, len(strings)) for one in knows]
    return {"knows": numbers, "seen": seen}


def page(values: dict[str, Any]) -> str:
    """The whole page, with values in it that cannot end their own element.

    Its policy of contents names the hashes of its script and its style, so a browser
    runs and loads nothing else.
    """
    scripts = [static_file(f"{one}.js") for one in ("saved", "page")]
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
        ("<!-- script -->", inside),
    ):
        assert mark in page_text
        page_text = page_text.replace(mark, filling)
    return page_text


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
