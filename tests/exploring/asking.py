"""Asks an ASGI application as uvicorn does, without a socket."""

import asyncio
import dataclasses
import importlib
import json
import threading
import time
import urllib.parse
from typing import Any, NamedTuple

import mccfr_spiel as ms
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.exploring.answers import Answers
from mccfr_spiel.exploring.server import application
from mccfr_spiel.exploring.subjects import Numbers, Subject
from tests.small_games import Tree, chance, leaf, move, small_game

importlib.import_module("mccfr_spiel.games")  # registers them


TOKEN = "a-token"
VISIT = "0123456789abcdef"
HOST = "127.0.0.1:8000"


class Reply(NamedTuple):
    """What was answered."""

    status: int
    headers: dict[str, str]
    text: str

    def json(self) -> Any:
        return json.loads(self.text)


def reply_to(
    app: Any, method: str, path: str, query: dict[str, Any], body: bytes, host: str
) -> Reply:
    """The answer to one request."""
    scope = {
        "type": "http",
        "method": method,
        "path": urllib.parse.unquote(path),
        "query_string": urllib.parse.urlencode(query).encode(),
        "headers": [(b"host", host.encode())],
    }
    messages: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body}

    async def send(message: dict[str, Any]) -> None:
        messages.append(message)

    asyncio.run(app(scope, receive, send))
    text = b"".join(message.get("body", b"") for message in messages[1:])
    headers = {k.decode(): v.decode() for k, v in messages[0]["headers"]}
    return Reply(messages[0]["status"], headers, text.decode())


def numbers_of_first(subject: Subject) -> Numbers:
    """The numbers of the first policy, once they are there."""
    subject.tree(60)
    return subject.evaluation(subject.candidate(0)).numbers(60)


class Page:
    """A page that asks until it is answered."""

    def __init__(self, what: Any, game: Any = None, visit: str = VISIT) -> None:
        self.answers = Answers(Subject(what, game))
        self.visit = visit
        self._app = application(self.answers, TOKEN)

    def get(self, path: str, host: str = HOST, **query: Any) -> Reply:
        return reply_to(self._app, "GET", path, query, b"", host)

    def post(self, path: str, body: bytes) -> Reply:
        return reply_to(self._app, "POST", path, {}, body, HOST)

    def reply(self, name: str, **query: Any) -> Reply:
        return self.get(f"/{TOKEN}/api/{name}", **({"visit": self.visit} | query))

    def ask(self, name: str, **query: Any) -> Any:
        end = time.monotonic() + 120
        while time.monotonic() < end:
            reply = self.reply(name, **query)
            assert reply.status == 200, reply.text
            if not reply.json().get("working"):
                return reply.json()
            time.sleep(0.01)
        raise AssertionError("There is no answer.")

    def do(self, name: str, **query: Any) -> Reply:
        body = json.dumps({"visit": self.visit} | query).encode()
        return self.post(f"/{TOKEN}/api/{name}", body)

    @property
    def tree(self) -> GameTree:
        """The whole tree, once it is there."""
        tree = self.answers.subject.tree(60)
        assert tree is not None
        return tree

    def numbers(self) -> Numbers:
        """Those of the first policy."""
        return numbers_of_first(self.answers.subject)

    def infoset(self, state: Any, **query: Any) -> Any:
        """The answer for a state, once the numbers are there."""
        self.ask("overview", **query)
        history = ",".join(map(str, state.history()))
        return self.ask("state", history=history, **query)


def held_tree(monkeypatch: Any) -> threading.Event:
    """Lets no tree be made before the event is set."""
    expand_all, may_go_on = GameTree.expand_all, threading.Event()
    monkeypatch.setattr(
        GameTree, "expand_all", lambda tree: may_go_on.wait(60) and expand_all(tree)
    )
    return may_go_on


def solved(game: str, iterations: int = 200) -> ms.Solver:
    """A solver after some iterations."""
    solver = ms.Solver(game, ms.EXTERNAL_SAMPLING, seed=3)
    solver.iterate(iterations)
    return solver


# --- strings that try to become HTML -----------------------------------------

HOSTILE = "</script><script>window.stolen=1</script><img src=x onerror='stolen=1'>"


def hostile_policy() -> ms.SequencePolicy:
    """The uniform policy of a game in which player 0 guesses a coin; its states and
    moves are named like HTML."""

    def guess(right: int) -> Tree:
        ends = [leaf(s, -s) for s in (1.0 - 2 * (side != right) for side in (0, 1))]
        tree = move(0, HOSTILE, *ends)
        return dataclasses.replace(tree, names=("<b>left</b>" + HOSTILE, "&lt;right"))

    coin = chance((0.5, guess(0)), (0.5, guess(1)))
    game = small_game(dataclasses.replace(coin, names=(HOSTILE, "<!-- x -->")))
    return ms.Solver(game, ms.CFR).average_policy()
