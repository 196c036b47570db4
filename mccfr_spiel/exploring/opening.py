"""`explore` opens a page on what was learned; `export` writes it into one file.

The file needs no server, and is for small games: all that the page could ask about
states and infosets is asked in advance, and the answers stand in it as JSON. The page's
own code is the same.
"""

import base64
import hashlib
import importlib
import json
import os
import pathlib
import secrets
import threading
from collections.abc import Callable, Iterable
from typing import Any

import pyspiel

from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.common import refusals
from mccfr_spiel.common.display import brief, html_line, line, never_raises
from mccfr_spiel.common.folders import write_file
from mccfr_spiel.common.limits import in_words
from mccfr_spiel.exploring import views
from mccfr_spiel.exploring.answers import Answers, static_file
from mccfr_spiel.exploring.subjects import Numbers, Subject


def explore(
    what: Any,
    game: pyspiel.Game | str | GameTree | None = None,
    *,
    port: int = 0,
) -> "Explorer":
    """Opens a page in which a policy can be looked at, played with and changed.

        page = ms.explore(solver)
        page.url                      # open it in a browser
        page.export("page.html")      # of a small game: one file that needs no server

    The page is served on the loopback address, so only this machine can reach it, and
    only by the link, which has a random token. It shows the policies as they are now,
    and is there until `stop`, or until the program ends; `wait` keeps a program from
    ending.

    What the page shows at a state, it finds there. What needs a pass over the game's
    whole tree (values, best responses, lists) is computed beside, when it is first
    asked for. A game of more than a million nodes has that only if its whole tree is
    there: the solver's own, or one of `load_tree` that is given as `game`.

    Args:
        what: a solver, a policy (see `nash_conv`), a folder of results or a file that
            `load_policy` reads; or a dictionary label -> one of these, to compare them.
        game: the game or its whole tree; needed if it is not told by `what`. Policies
            in files that have an abstraction need `GameTree(game, abstraction=...)`.
        port: of the loopback address; by default one that is free.

    Raises:
        ImportError: the extra `explore` is not installed.
        ValueError: a policy is of another game, a file is damaged, or the port is in
            use.
        OSError: a file cannot be read.
    """
    port = refusals.integer(port, "port", 0)
    subject = Subject(what, game)
    try:
        server = importlib.import_module("mccfr_spiel.exploring.server")
    except ImportError as error:
        raise ImportError(
            "The page needs starlette and uvicorn: pip install 'mccfr_spiel[explore]'. "
            "Without them, a page of a small game can be exported."
        ) from error
    return Explorer(subject, server, port)


class Explorer:
    """A page that is open.

    Attributes:
        url: its link, which has a random token, and which nobody else should get.
        subject: what it looks at.
    """

    def __init__(self, subject: Subject, server: Any, port: int) -> None:
        """Serves the page in a thread, by the module `server`; errors of `explore`."""
        self.subject, token = subject, secrets.token_urlsafe(24)
        self._answers = Answers(subject)
        self._server, self._socket = server.opened(self._answers, token, port)
        self._thread = threading.Thread(
            target=self._server.run, args=([self._socket],), daemon=True
        )
        self._thread.start()
        host, own_port = self._socket.getsockname()
        self.url = f"http://{host}:{own_port}/{token}/"

    @never_raises
    def __repr__(self) -> str:
        where = self.url if self._thread.is_alive() else "stopped"
        return line(self, self.subject.title, where)

    @never_raises
    def _repr_html_(self) -> str:
        return html_line(repr(self))

    def wait(self) -> None:
        """Keeps the program going until the page is stopped; Ctrl-C is heard."""
        while self._thread.is_alive():
            self._thread.join(0.5)

    def stop(self) -> None:
        """Closes the page: pending answers are finished, and a solve ends."""
        self._server.should_exit = True
        self._thread.join(5)
        self._answers.stop()
        self._socket.close()

    def export(self, path: str | os.PathLike[str]) -> None:
        """Writes the page of a small game into one file; see `export`."""
        export(self.subject, path)

    def __enter__(self) -> "Explorer":
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


# --- the page as one file that needs no server ----------------------------------------


MOST_NODES = 20_000
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
        ValueError: the game has more than MOST_NODES nodes, or no tree; see `explore`.
        OSError: the file cannot be written.
    """
    tree = subject.tree(60.0)
    if tree is None:
        why = subject.state_of_tree()[1]
        raise ValueError(f"A page in one file needs the game's whole tree. {why}")
    if tree.num_nodes > MOST_NODES:
        raise ValueError(
            f"{brief(subject.source)} has {tree.num_nodes:,} nodes; a page in one file "
            f"can have {MOST_NODES:,}. Open the page with its server instead."
        )
    data = page(contents(subject, tree)).encode()
    tell(f"Writing {in_words(len(data))} to {path}.")
    write_file(pathlib.Path(path), data)


def contents(subject: Subject, tree: GameTree) -> dict[str, Any]:
    """All that the page of a small game may ask.

    Its `states` are keyed by the moves before them, as the page's links are.
    """
    answers = Answers(subject)
    states, infoset_of, strings, grid_of = {}, {}, {}, {}
    first: dict[int, str] = {}  # infoset -> the key of one of its states
    grids: dict[tuple[int, ...], str] = {}  # public moves -> the key of a first state
    without_grid = ""
    # One pass takes a history off the stack and puts those with one move more on.
    stack: list[list[int]] = [[]]
    while stack:
        history = stack.pop()
        key = ",".join(map(str, history))
        state, infoset = views.follow(tree.game, tree, history)
        states[key] = views.state_view(state) | _for_play(state, strings)
        del states[key]["history"]
        stack += [[*history, move] for move in state.legal_actions()]
        if infoset is None:
            continue
        infoset_of[key] = infoset
        first.setdefault(infoset, key)
        # States that differ in their deals only share a grid.
        hidden = len(views.deals(tree.game, history))
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
    answers: Answers, which: int, keys: list[str], grids: Iterable[str]
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
    lists: dict[str, Any] = {k: listed(kind=k) for k in views.LISTS if k != "changed"}
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
            views.row_of(tree, numbers.policy, i, numbers.visits) for i in infosets
        ],
        "lists": lists,
    }


def _for_play(state: Any, strings: dict[str, int]) -> dict[str, Any]:
    """What a game against a policy needs at a state: what each player knows there, as
    numbers of strings, and for each move the players who can tell it, as bits."""
    if state.is_terminal():
        return {}
    players = range(state.num_players())
    each = zip(*(views.seen_moves(state, player) for player in players), strict=True)
    seen = [sum(sees << player for player, sees in enumerate(one)) for one in each]
    knows = [views.words_known_to(state, player) for player in players]
    numbers = [strings.setdefault(one, len(strings)) for one in knows]
    return {"knows": numbers, "seen": seen}


def page(values: dict[str, Any]) -> str:
    """The whole page, with values in it that cannot end their own element.

    Its policy of contents names the hashes of its script and its style, so a browser
    runs and loads nothing else.
    """
    scripts = [static_file(f"{one}.js") for one in ("saved", "page")]
    style = static_file("page.css")
    data = views.plain(values)
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
