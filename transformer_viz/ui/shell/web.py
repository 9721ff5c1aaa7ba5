"""HTTP additions to Streamlit: security headers, a health check, the views, who is connected, and no requests
to other servers.
"""

import asyncio
import base64
import hashlib
import re
from concurrent.futures import ThreadPoolExecutor
from importlib import resources

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send
from streamlit import net_util

from transformer_viz.service.engine import EngineError
from transformer_viz.ui.shell.classroom import is_classroom, set_cookie
from transformer_viz.ui.shell.components import MODULES, served_module
from transformer_viz.ui.shell.language import DECLARATIONS
from transformer_viz.ui.shell.server import GOODBYE, presence, shared_engine

POLICY = (
    "default-src 'self'",
    "script-src 'self' blob: {inline}",  # Streamlit runs what loads the views from blob: URLs
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "media-src 'self' data: blob:",
    "worker-src 'self' blob:",
    "frame-src 'none'",
    "frame-ancestors 'none'",
    "object-src 'none'",
    "base-uri 'self'",
    "form-action 'self'",
)
"""Content security policy; {inline}: hashes of the inline scripts of Streamlit's page and of ours."""

HEADERS = {
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",  # the address holds the sentence
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
"""Further headers of every response."""

CLOSED = ("/_stcore/metrics",)
"""Routes of Streamlit that answer 404."""

HEALTH = "/health"
"""200 if the engine responds, 503 if not; Streamlit's own health check covers only the server."""

KEPT_SECONDS = 2
"""For how long the result of a health check is that of all others."""


class GuardedResponses:
    """ASGI middleware: adds `HEADERS` and `POLICY` to every response, answers 404 on routes in `CLOSED`."""

    def __init__(self, app):
        self.app = app
        self.headers = HEADERS | {"Content-Security-Policy": "; ".join(POLICY).format(inline=_hashes())}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message):
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self.headers.items():
                    headers[name] = value
                if is_classroom() and not any(part in scope["path"] for part in _NO_PAGES):
                    _give_cookie(scope, headers)
            await send(message)

        closed = scope["path"].rstrip("/").endswith(CLOSED)
        app = PlainTextResponse("Not found", 404) if closed else self.app
        await app(scope, receive, send_with_headers)


class NotedPresence:
    """ASGI middleware: notes who is connected, and who asks for something."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hold a connection."""
        if scope["type"] != "websocket":
            if not scope.get("path", "").endswith(GOODBYE):
                presence().note_sign()
            await self.app(scope, receive, send)
            return
        presence().connect()
        try:
            await self.app(scope, receive, send)
        finally:
            presence().disconnect()


_NO_PAGES = ("/data/", "/_stcore/", "/static/", "/media/", "/component/", "/views/", HEALTH)
_INLINE = re.compile(r"<script>(.*?)</script>", re.DOTALL)


class Health:
    """Whether the engine responds: one check at a time, whoever asks, in a thread of its own.

    The threads of the server also read the files of the pages, and are not to wait for the engine.
    """

    def __init__(self):
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="health")
        self._check: asyncio.Future[str | None] | None = None
        self._until = 0.0

    async def answer(self, _request: Request) -> PlainTextResponse:
        """Answer a request."""
        loop = asyncio.get_running_loop()
        if self._check is None or (self._check.done() and loop.time() > self._until):
            self._check = loop.run_in_executor(self._thread, _trouble)
            self._check.add_done_callback(self._keep)
        trouble = await asyncio.shield(self._check)
        return PlainTextResponse(f"engine: {trouble}", 503) if trouble else PlainTextResponse("ok")

    def _keep(self, check):
        self._until = check.get_loop().time() + KEPT_SECONDS


def _trouble():
    """Return the code of the error with which the engine answers; None: it responds."""
    try:
        shared_engine().check()
    except EngineError as error:
        return error.code
    return None


async def goodbye(_request: Request) -> Response:
    """Note that a page goes."""
    presence().note_goodbye()
    return Response(status_code=204)


def stay_offline() -> None:
    """Keep Streamlit from asking another server for this server's external address.

    It asks whenever a page of another origin requests its websocket; there is no setting against it.
    """
    net_util.get_external_ip = lambda: None


def _give_cookie(scope, headers):
    request = Headers(scope=scope)
    secure = "https" in (scope["scheme"], request.get("x-forwarded-proto"))
    if cookie := set_cookie(request, secure):
        headers.append("set-cookie", cookie)


def _hashes():
    """Return the sha256 hashes of the inline scripts, Streamlit's and ours, as a policy names them."""
    page = resources.files("streamlit").joinpath("static", "index.html").read_text(encoding="utf-8")
    scripts = (*_INLINE.findall(page), *DECLARATIONS.values())
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


_SERVED = f"/{{base:path}}{MODULES}"
"""Path of a module of the views; base: `server.baseUrlPath`."""

ROUTES = [
    Route(HEALTH, Health().answer),
    Route(_SERVED, served_module),
    Route(f"/{{base:path}}{GOODBYE}", goodbye, methods=["POST"]),
]
MIDDLEWARE = [Middleware(GuardedResponses), Middleware(NotedPresence)]
