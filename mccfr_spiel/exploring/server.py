"""The HTTP server of a page, with access control.

The server listens on the loopback address only. Other programs on this machine and
other pages in the same browser can still reach it. Every path must therefore begin with
a random token that only the link contains, and the Host header must name this machine,
which defeats DNS rebinding. A content security policy keeps the page from loading
anything else, and no request can name a file outside of `FILES`.
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
"""Headers of every response."""

_MAX_BYTES = 1_000_000
"""The largest request body in bytes."""


def application(api: PageApi, token: str) -> ASGIApp:
    """The ASGI application: static files and the page's requests.

    Requests from other hosts get status 421; requests with a wrong token get 404.

    Args:
        api: answers the page's requests.
        token: first part of all paths.
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
            return PlainTextResponse("This page accepts local requests only.", 421)
        if not secrets.compare_digest(given.encode(), token.encode()):
            return PlainTextResponse("The token is missing: open the full link.", 404)
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
        allowed, query = READING, dict[str, Any](request.query_params)
        if request.method == "POST":
            body = b""
            try:
                async for part in request.stream():
                    body += part
                    if len(body) > _MAX_BYTES:
                        return _refused("This is too long.")
                allowed, query = CHANGING, json.loads(body)
            except ClientDisconnect:
                return _refused("The client disconnected.")  # read by nobody
            except (ValueError, RecursionError):
                return _refused("The body must be valid JSON.")
            if not isinstance(query, dict):
                return _refused("The body must be a JSON object.")
        if name not in allowed:
            return _refused(f"Unknown request {name!r}.", 404)
        try:
            answer = await run_in_threadpool(api.answer, name, query)
            return JSONResponse(answer)
        except Exception as error:  # a game's code may raise any; the page shows it
            return _refused(str(error) or type(error).__name__)

    return app


def _refused(message: str, status: int = 400) -> Response:
    return JSONResponse({"error": plain(message)}, status)


def opened(api: PageApi, token: str, port: int) -> tuple[uvicorn.Server, socket.socket]:
    """The server of an application, and the socket that listens for requests.

    Raises:
        ValueError: the port is out of range, in use, or forbidden.
    """
    if not 0 <= port <= 65535:
        raise ValueError(f"port={port} must be in 0 .. 65535.")
    # asyncio sets TCP_NODELAY only if the socket names the protocol. Without it, the
    # second packet of an answer waits 40 ms for the acknowledgment of the first.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.bind((HOST, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise ValueError(
            f"port={port} cannot be used: {error.strerror}. Another page may be using "
            "it. Choose another port, or port=0 for a free one."
        ) from error
    app = application(api, token)
    # Without ws="none" an installed WebSocket library logs an error for each handshake.
    config = uvicorn.Config(
        app, log_level="error", access_log=False, lifespan="off", ws="none"
    )
    return uvicorn.Server(config), listener
