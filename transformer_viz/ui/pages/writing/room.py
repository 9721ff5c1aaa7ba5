"""How much a model can write behind a text, and the request that holds every step of what is written."""

from typing import NamedTuple

from transformer_viz.ui.pages.writing.steps import Steps
from transformer_viz.ui.shell.answers import answer
from transformer_viz.values.config import TransformerConfig
from transformer_viz.values.request import Request


class Room(NamedTuple):
    """How much a model can write behind a text.

    Attributes:
        prompt: Token ids of the text that a decoder continues, without [START]; None: an encoder-decoder.
        most: Most tokens that can be written; the last one is not read any more.
    """

    prompt: tuple[int, ...] | None
    most: int

    @property
    def begin(self) -> int:
        """Position after which the first token is written."""
        return 0 if self.prompt is None else len(self.prompt)


def room_behind(config: TransformerConfig, request: Request) -> Room | None:
    """Return how much can be written behind a text; None if it cannot be read, which is then shown."""
    if config.has_encoder:
        return Room(None, config.target_max_len or config.max_len)
    trace = answer(request)
    if trace is None:
        return None
    return Room(tuple(map(int, trace.token_ids[1:])), config.max_len + 1 - len(trace.token_ids))


def request_of(request: Request, room: Room, steps: Steps) -> Request:
    """Return the request whose trace holds the distribution of every step.

    Args:
        request: That of the text alone.
        room: How much can be written.
        steps: What is written.
    """
    read = steps.ids[: steps.last(room.most)]
    if room.prompt is None:
        return Request(request.model, request.text, read)
    return Request(request.model, (*room.prompt, *read)) if read else request
