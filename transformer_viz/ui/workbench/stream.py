"""A text that is written on: a line of JSON for each token, with those that were likeliest in its place."""

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from transformer_viz import store
from transformer_viz.explorer.sampling import distribution, possible
from transformer_viz.network.config import never_written
from transformer_viz.pictures.labels import label_of
from transformer_viz.service.engine import EngineError
from transformer_viz.trace.request import Request
from transformer_viz.trace.trace import Trace
from transformer_viz.ui.shell.answers import cached_answer
from transformer_viz.ui.shell.card_facts import config_of
from transformer_viz.ui.shell.sentence import MAX_CHARS
from transformer_viz.ui.shell.shelf import found_model
from transformer_viz.ui.workbench.asked import UnknownError
from transformer_viz.ui.workbench.question import Tell
from transformer_viz.ui.workbench.seat import Seat
from transformer_viz.ui.workbench.written import Steps, request_of, room_behind, sampling_of

LISTED = 50
"""Number of the likeliest tokens of each step that are sent."""

MOST = 20
"""Most tokens that are written on at once."""


class WriteOn(NamedTuple):
    """What is to be written on.

    Attributes:
        model: The model.
        text: The text that it continues or translates.
        written: What is written already, as the address has it.
        settings: Of the sampling, as the address has them.
    """

    model: store.ModelSummary
    text: str
    written: str
    settings: str

    @classmethod
    def read(cls, seat: Seat, given: Any) -> Self:
        """Read what a browser asks.

        Raises:
            UnknownError: If no page asks this.
        """
        named = [given.get(name) if isinstance(given, dict) else None for name in cls._fields]
        if not all(isinstance(each, str) for each in named):
            raise UnknownError("A text, what is written, and settings are texts.")
        name, text, written, settings = map(str, named)
        model = found_model(name, seat.folder)
        if model is None or not config_of(model).has_decoder:
            raise UnknownError("There is no such model that writes.")
        return cls(model, text[:MAX_CHARS], written, settings)

    def lines(self, tell: Tell) -> Iterator[dict[str, Any]]:
        """Yield a line for each token that is drawn, until the text ends, is full, or nobody reads any more.

        Args:
            tell: Is called between two steps; raises if nobody reads any more.
        """
        config, reference, random = config_of(self.model), self.model.reference, np.random.default_rng()
        ask = partial(_asked, tell)
        room = room_behind(config, reference, self.text, ask)
        if room is None:
            return
        never = never_written(config)
        steps = Steps.read(self.written, config, room.most).before()
        for _ in range(MOST):
            if steps.has_ended or len(steps.ids) == room.most:
                return
            trace = ask(request_of(reference, self.text, room, steps))
            logits = trace.logits[room.begin + steps.step].astype(np.float64)
            log_probs = possible((logits - np.logaddexp.reduce(logits)).astype(np.float32), never)
            token = int(
                random.choice(len(log_probs), p=distribution(log_probs, **sampling_of(self.settings)))
            )
            yield _line(trace, log_probs, token)
            steps = steps.with_token(token)


def _line(trace: Trace, log_probs: np.ndarray, token: int) -> dict[str, Any]:
    """Return a token with its probability and rank, and the likeliest ones in its place."""
    likeliest = np.argsort(-log_probs, kind="stable")[:LISTED]
    likeliest = likeliest[np.isfinite(log_probs[likeliest])].tolist()
    rank = int((log_probs > log_probs[token]).sum())
    return {
        "token": token,
        "chip": {
            "word": label_of(trace, token),
            "share": float(np.exp(log_probs[token])),
            "rank": str(rank + 1),
        },
        "likeliest": [[label_of(trace, each), round(float(log_probs[each]), 4)] for each in likeliest],
    }


def _asked(tell: Tell, request: Request) -> Any:
    """Return the answer of the engine, or the one that is kept.

    Raises:
        EngineError, ModelError, ValueError: As `Engine.answer`.
    """
    return cached_answer(request, store.stamp(request.model), lambda *_: tell(None))


FAULTS = (EngineError, store.ModelError, ValueError)
"""What ends a stream early; the page then says why."""
