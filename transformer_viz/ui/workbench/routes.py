"""The data routes: what the workbench asks and gets, beside Streamlit's own messages.

A question is answered by lines of JSON, one for each step of the work, and by the bytes of the answer behind
the last one. Every route asks for the token of a session, and refuses pages of other servers.
"""

import asyncio
import contextlib
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote, urlsplit

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from transformer_viz.ui.shell.unexpected import note_unexpected
from transformer_viz.ui.workbench.asked import UnknownError
from transformer_viz.ui.workbench.question import GoneError, Question, Tell, export, vectors, view
from transformer_viz.ui.workbench.seat import Run, Seat, seat_of
from transformer_viz.ui.workbench.stream import FAULTS, WriteOn

ROUTE = "data"
"""Path of all data routes, beside Streamlit's own files."""

TOKEN = "X-Token"  # noqa: S105  the name of a header
"""Header with the token of a session; a page of another server cannot send it unasked."""

MAX_BODY = 300_000
"""Largest question, in bytes."""

KEPT = {"Cache-Control": "private, immutable, max-age=86400", "Vary": TOKEN}
"""Under one key there is always the same."""

NEVER_KEPT = {"Cache-Control": "no-store"}

TOO_MUCH, FAILED = {"refused": "Too much at once."}, {"refused": "This failed."}

WORKERS = 64
"""Questions that are worked on at a time; each waits for the engine most of the time."""

Answer = Callable[[Seat, Request], Awaitable[Response]]

_WORKERS = ThreadPoolExecutor(WORKERS, thread_name_prefix="data")


class RefusedError(Exception):
    """A request that is not answered.

    Attributes:
        status: The status of the response.
    """

    def __init__(self, status: int, said: str):
        super().__init__(said)
        self.status = status


def guarded(answer: Answer) -> Callable[[Request], Awaitable[Response]]:
    """Return a route that answers only a page of this server, to whom it gave its token."""

    async def route(request: Request) -> Response:
        try:
            if is_foreign(request):
                raise RefusedError(403, "Another page asks.")
            seat = seat_of(request.headers.get(TOKEN, ""))
            if seat is None:
                raise RefusedError(403, "The session of this page has ended.")
            return await answer(seat, request)
        except RefusedError as refused:
            return JSONResponse({"refused": str(refused)}, refused.status, NEVER_KEPT)
        except ClientDisconnect:
            return Response(status_code=204)
        except Exception as error:
            note_unexpected(error, by="server")
            return JSONResponse(FAILED, 500, NEVER_KEPT)

    return route


def is_foreign(request: Request) -> bool:
    """Return whether a page of another server sends a request."""
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site", "same-origin")
    if origin is not None and _server_of(origin) != request.headers.get("host"):
        return True
    return site not in ("same-origin", "none")


def _server_of(origin):
    """Return the name and port of an origin; None: it has none."""
    try:
        return urlsplit(origin).netloc or None
    except ValueError:
        return None


async def question_in(request: Request) -> Any:
    """Return the JSON that a request holds; half a character in it, which no answer can carry, is a "?".

    Raises:
        RefusedError: If it is none, or too long.
    """
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MAX_BODY:
            raise RefusedError(413, "This is too long.")
    try:
        return json.loads(json.dumps(json.loads(body), ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        raise RefusedError(400, "This is no JSON.") from None


async def ask(seat: Seat, request: Request) -> Response:
    """Answer a question: lines of JSON while it is worked on, then the answer's key and its bytes."""
    given = await question_in(request)
    try:
        question = Question.read(seat, given)
    except UnknownError as error:
        raise RefusedError(400, str(error)) from None
    return StreamingResponse(answered(seat, question), 200, NEVER_KEPT, "application/octet-stream")


async def write(seat: Seat, request: Request) -> Response:
    """Write a text on: a line of JSON for each token, as soon as it is drawn."""
    given = await question_in(request)
    try:
        asked = WriteOn.read(seat, given)
    except UnknownError as error:
        raise RefusedError(400, str(error)) from None
    return StreamingResponse(written(seat, asked), 200, NEVER_KEPT, "application/x-ndjson")


def written(seat: Seat, asked: WriteOn) -> AsyncIterator[bytes]:
    """Yield the lines of a text that is written on; what ends it early, the page says."""

    def work(tell: Tell) -> Iterator[bytes]:
        with contextlib.suppress(*FAULTS):
            yield from map(_line, asked.lines(tell))

    return streamed(seat, work, lambda refused: b"")


def answered(seat: Seat, question: Question) -> AsyncIterator[bytes]:
    """Yield what is told while a question is worked on, and its answer."""

    def work(tell: Tell) -> Iterator[bytes]:
        header, content = question.answer(tell)
        yield _line(header | {"bytes": len(content)}) + content

    return streamed(seat, work, lambda refused: _line(refused | {"bytes": 0}))


async def streamed(
    seat: Seat, work: Callable[[Tell], Iterator[bytes]], refuse: Callable[[dict[str, str]], bytes]
) -> AsyncIterator[bytes]:
    """Yield what comes of some work, as soon as it does; whoever goes ends the work.

    Args:
        seat: Of the session that asks.
        work: Yields bytes, given what sends a line of JSON between them; that raises `GoneError` once nobody
            reads any more, also for None, which sends nothing.
        refuse: Returns what is sent in place of an answer that there is not.
    """
    loop, sent, gone = asyncio.get_running_loop(), asyncio.Queue[bytes | None](), threading.Event()

    def send(content: bytes | None) -> None:
        loop.call_soon_threadsafe(sent.put_nowait, content)

    def tell(line: dict[str, Any] | None) -> None:
        if gone.is_set():
            raise GoneError
        if line is not None:
            send(_line(line))

    def run() -> None:
        with seat.working() as fits, contextlib.suppress(GoneError):
            try:
                for content in work(tell) if fits else [refuse(TOO_MUCH)]:
                    tell(None)
                    send(content)
            except GoneError:
                raise
            except Exception as error:
                note_unexpected(error, seat.visitor)
                send(refuse(FAILED))
        send(None)

    loop.run_in_executor(_WORKERS, run)
    try:
        while (content := await sent.get()) is not None:
            yield content
    finally:
        gone.set()


def _line(facts):
    return json.dumps(facts, ensure_ascii=False).encode() + b"\n"


async def get_view(seat: Seat, request: Request) -> Response:
    """Return the bytes of an answer by its key."""
    question = seat.asked_under(request.path_params["key"])
    if not isinstance(question, Question):
        raise RefusedError(404, "There is no such answer.")
    content = await asyncio.get_running_loop().run_in_executor(_WORKERS, view, question)
    if content is None:
        raise RefusedError(404, "There is no such answer any more.")
    return Response(content, 200, KEPT, "application/octet-stream")


async def get_vectors(seat: Seat, request: Request) -> Response:
    """Return the vectors of one layer of a run by its key."""
    place = request.path_params
    question = seat.asked_under(place["key"])
    if not isinstance(question, Question):
        raise RefusedError(404, "There is no such answer.")
    work = asyncio.get_running_loop().run_in_executor(
        _WORKERS, vectors, question, place["kind"], int(place["layer"])
    )
    content = await work
    if content is None:
        raise RefusedError(404, "There is no such layer.")
    return Response(content, 200, KEPT, "application/octet-stream")


async def save(seat: Seat, request: Request) -> Response:
    """Return a file with what a run shows; the selection on which a page opens is sent with the request."""
    given = await question_in(request)
    question = seat.asked_under(request.path_params["key"])
    if not isinstance(question, Question):
        raise RefusedError(404, "There is no such answer.")
    kind = request.path_params["kind"]
    work = asyncio.get_running_loop().run_in_executor(_WORKERS, export, question, kind, given)
    file = await work
    if file is None:
        raise RefusedError(404, "There is no such file.")
    named = f"attachment; filename*=utf-8''{quote(file.name)}"
    return Response(file.content, 200, NEVER_KEPT | {"Content-Disposition": named}, file.mime)


async def note_shown(seat: Seat, request: Request) -> Response:
    """Note which run the workbench shows, for the other pages of the session."""
    given = await question_in(request)
    try:
        shown = Run(*(str(given[name]) for name in Run._fields))
        shown.request("")
    except (TypeError, KeyError, ValueError, RecursionError):
        raise RefusedError(400, "This is no run.") from None
    seat.shown = shown
    return Response(status_code=204)


def _route(path: str, answer: Answer, *methods: str) -> Route:
    return Route(f"/{{base:path}}{ROUTE}/{path}", guarded(answer), methods=[*methods])


ROUTES = [
    _route("ask", ask, "POST"),
    _route("view/{key}", get_view, "GET"),
    _route("vectors/{key}/{kind}/{layer:int}", get_vectors, "GET"),
    _route("save/{key}/{kind}", save, "POST"),
    _route("shown", note_shown, "POST"),
    _route("write", write, "POST"),
]
