"""`explore`: opens a page in the browser that shows policies."""

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
    """Opens a page to look at policies, play against them and change them.

        page = ms.explore(solver)
        page.url                      # open it in a browser
        page.export("page.html")      # small games: one file that needs no server

    The server listens on the loopback address, so only this machine can reach the page,
    and only through its link, which contains a random token. The page shows a snapshot
    of a solver's policies. It stays open until `stop` or the end of the program; `wait`
    blocks until then.

    Policies at single states are shown at once. Values, best responses and lists need a
    pass over the game's whole tree, which runs in a thread when the page first needs
    it. Games with more than a million nodes have these only if a complete tree is
    supplied: the solver's own, or a tree from `load_tree` that is passed as `game`.

    Args:
        what: a solver, a policy (see `nash_conv`), a folder of results or a file that
            `load_policy` reads; or a dictionary label -> one of these, to compare them.
        game: the game or its whole tree; required if `what` does not name the game.
            Policy files with an abstraction need `GameTree(game, abstraction=...)`.
        port: port on the loopback address; 0 for a free one.

    Raises:
        ImportError: the extra `explore` is not installed.
        ValueError: a policy is for another game, a file is damaged, or the port is in
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
            "Exporting the page of a small game works without them."
        ) from error
    return Explorer(subject, server, port)


class Explorer:
    """An open page.

    Attributes:
        url: the link. It contains a random token and should not be shared.
        subject: the game and the policies that the page shows.
    """

    def __init__(self, subject: Subject, server: Any, port: int) -> None:
        """Starts the server in a thread.

        Args:
            subject: the game and the policies to show.
            server: the module `server`, which needs the extra `explore`.
            port: see `explore`.
        """
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
        """Blocks until the page is stopped or the user presses Ctrl-C."""
        while self._thread.is_alive():
            self._thread.join(0.5)

    def stop(self) -> None:
        """Closes the page: finishes pending answers and ends a running solve."""
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
