"""Opening."""

import importlib
import os
import secrets
import threading
from typing import Any

import pyspiel

from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.common import refusals
from mccfr_spiel.common.display import html_line, line, never_raises
from mccfr_spiel.exploring.exporting import export
from mccfr_spiel.exploring.page_api import PageApi
from mccfr_spiel.exploring.subjects import Subject


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
        self._answers = PageApi(subject)
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
