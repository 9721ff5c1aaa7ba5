"""The seat of a visitor's session: the token that the data routes ask for, and what the workbench shows."""

import contextlib
import hashlib
import hmac
import json
import secrets
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Self

from cachetools import LRUCache

from transformer_viz.trace.request import Changes, Request

MOST_KEYS = 500
"""Answers of a session whose keys are known; a browser whose key is forgotten asks again."""

MOST_AT_ONCE = 4
"""Questions of one session that are worked on at a time: a page asks for a run and for its reasons."""


class Run(NamedTuple):
    """A run as the address and the session's widgets hold it: texts.

    Attributes:
        text: The text.
        target: What the decoder of an encoder-decoder reads; "": the model writes it.
        changes: JSON of `Changes.to_dict`; "": none.
        before: JSON of the request that is compared with; "": none.
    """

    text: str
    target: str = ""
    changes: str = ""
    before: str = ""

    @classmethod
    def of(cls, request: Request, changes: str, before: str) -> Self:
        """Return a request about a text as a run."""
        return cls(str(request.text), str(request.target or ""), changes, before)

    def request(self, model: str | Path) -> Request:
        """Return the run of a model as a request.

        Raises:
            ValueError, TypeError, RecursionError: If its changes are none.
        """
        changes = Changes(**json.loads(self.changes)) if self.changes else Changes()
        return Request(str(model), self.text, self.target or None, changes)


class Seat:
    """What the server knows of one session beside its widgets.

    Attributes:
        token: Whoever asks a data route proves by it that the page was shown to them.
        folder: Folder of the visitor's own models; None: there is only the shelf.
        visitor: Anonymous id of the session, for the log.
        shown: The run that the workbench shows, as far as the server was told; None: not yet.
    """

    def __init__(self, visitor: str):
        self.token = secrets.token_urlsafe(24)
        self.folder: Path | None = None
        self.visitor = visitor
        self.shown: Run | None = None
        self._secret = secrets.token_bytes(32)
        self._asked: LRUCache[str, object] = LRUCache(MOST_KEYS)
        self._lock = threading.Lock()
        self._working = 0

    def key_of(self, asked: object, facts: str) -> str:
        """Return the key of an answer, which nobody can guess: the same one whenever the same is asked.

        Args:
            asked: What was asked.
            facts: All that tells it from other questions and other answers.
        """
        key = hmac.new(self._secret, facts.encode(), hashlib.sha256).hexdigest()[:32]
        with self._lock:
            self._asked[key] = asked
        return key

    def asked_under(self, key: str) -> object | None:
        """Return what was asked under a key of this session; None: nothing, or it is forgotten."""
        with self._lock:
            return self._asked.get(key)

    @contextlib.contextmanager
    def working(self) -> Iterator[bool]:
        """Count a piece of work as long as the block lasts; yield False if there are too many."""
        with self._lock:
            self._working += 1
            fits = self._working <= MOST_AT_ONCE
        try:
            yield fits
        finally:
            with self._lock:
                self._working -= 1


_SEATS: weakref.WeakValueDictionary[str, Seat] = weakref.WeakValueDictionary()
"""Token -> seat, as long as its session holds it."""


def new_seat(visitor: str) -> Seat:
    """Return a seat for a session, which has to hold it."""
    seat = Seat(visitor)
    _SEATS[seat.token] = seat
    return seat


def seat_of(token: str) -> Seat | None:
    """Return the seat of a token; None: there is none, or its session has ended."""
    return _SEATS.get(token)
