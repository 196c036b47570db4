"""Who may ask, and the server.

The server listens on the loopback address only. Other programs of this machine, and the
pages of others in the same browser, can reach it there, too. So all that is asked must
begin with a random token, which only the link has, and must name this machine as its
host: a page of another host whose name has been made to point here does not. The page
may load nothing from elsewhere, and no file is ever opened by a name that was asked.
"""

import json
import secrets
import socket
from typing import Any

import uvicorn
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import (
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.types import ASGIApp, Receive, Scope, Send

from mccfr_spiel.exploring.page_api import CHANGING, READING, PageApi
from mccfr_spiel.exploring.static_files import FILES, static_file
from mccfr_spiel.exploring.views import plain

HOST = "127.0.0.1"
_HOSTS = (HOST, "localhost")

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; "
    "style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Of every answer."""

_MOST_BYTES = 1_000_000
"""Of what a page sends."""


def application(answers: PageApi, token: str) -> ASGIApp:
    """The application: the page's files, and its questions.

    PageApi 421 to other hosts and 404 without the token.

    Args:
        answers: to the questions.
        token: with which all paths begin.
    """

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # `opened` turns off lifespans and WebSockets
            return
        response = await respond(Request(scope, receive))
        response.headers.update(HEADERS)
        await response(scope, receive, send)

    async def respond(request: Request) -> Response:
        host = request.headers.get("host", "").rpartition(":")
        given, slash, name = request.scope["path"].removeprefix("/").partition("/")
        if (host[0] if host[1] else host[2]) not in _HOSTS:
            return PlainTextResponse("This page is for this machine only.", 421)
        if not secrets.compare_digest(given.encode(), token.encode()):
            return PlainTextResponse("The link of this page has a token; use it.", 404)
        if not slash:
            return RedirectResponse(f"/{token}/")
        is_question = name.startswith("api/")
        methods = ("GET", "HEAD", "POST") if is_question else ("GET", "HEAD")
        if request.method not in methods:
            return PlainTextResponse("Method Not Allowed", 405)
        if is_question:
            return await answered(request, name.removeprefix("api/"))
        name = name or "page.html"
        if name not in FILES:
            return PlainTextResponse("There is no such file.", 404)
        return Response(static_file(name), media_type=FILES[name])

    async def answered(request: Request, name: str) -> Response:
        known, query = READING, dict[str, Any](request.query_params)
        if request.method == "POST":
            body = b""
            try:
                async for part in request.stream():
                    body += part
                    if len(body) > _MOST_BYTES:
                        return _refused("This is too long.")
                known, query = CHANGING, json.loads(body)
            except ClientDisconnect:
                return _refused("The page was left.")  # which nobody reads
            except (ValueError, RecursionError):
                return _refused("This is no JSON.")
            if not isinstance(query, dict):
                return _refused("This is no JSON object.")
        if name not in known:
            return _refused("There is no such question.", 404)
        try:
            answer = await run_in_threadpool(answers.answer, name, query)
            return JSONResponse(answer)
        except Exception as error:  # games raise what they like; the page says it
            return _refused(str(error) or type(error).__name__)

    return app


def _refused(words: str, status: int = 400) -> Response:
    return JSONResponse({"error": plain(words)}, status)


def opened(
    answers: PageApi, token: str, port: int
) -> tuple[uvicorn.Server, socket.socket]:
    """The server of an application, and a socket that listens on the loopback address.

    Raises:
        ValueError: the port is in use, or may not be used.
    """
    if not 0 <= port <= 65535:
        raise ValueError(f"port={port} is not in 0 .. 65535.")
    # By its protocol asyncio knows that small answers are not to be held back: without
    # it, the second part of an answer waits 40 ms for a sign that the first has come.
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        found.bind((HOST, port))
        found.listen(128)
    except OSError as error:
        found.close()
        raise ValueError(
            f"port={port} cannot be used: {error.strerror}. Another page may be open "
            "there; choose another port, or port=0 for any that is free."
        ) from error
    app = application(answers, token)
    # Without ws="none" an installed WebSocket library logs an error for each handshake.
    how = uvicorn.Config(
        app, log_level="error", access_log=False, lifespan="off", ws="none"
    )
    return uvicorn.Server(how), found
