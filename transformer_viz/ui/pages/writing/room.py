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
        text: The text that they follow: for a decoder as far as it is read.
        begin: Position after which the first token is written.
    """

    prompt: tuple[int, ...] | None
    most: int
    text: str
    begin: int


def room_behind(config: TransformerConfig, model: str, text: str) -> Room | None:
    """Return how much can be written behind a text; None if it cannot be read, which is then shown."""
    if config.has_encoder:
        begin = len(config.target_start or ()) - 1
        return Room(None, (config.target_max_len or config.max_len) - begin, text, begin)
    trace = answer(Request(model, text))
    if trace is None:
        return None
    most, read = config.max_len + 1 - len(trace.token_ids), trace.text[: trace.offsets[-1][1]]
    prompt = tuple(map(int, trace.token_ids[1:]))
    return Room(prompt, most, read, len(prompt))


def request_of(model: str, text: str, room: Room, steps: Steps) -> Request:
    """Return the request whose trace holds the distribution of every step.

    Args:
        model: Name or folder of the model.
        text: The text as typed.
        room: How much can be written.
        steps: What is written.
    """
    read = steps.ids[: steps.last(room.most)]
    if room.prompt is None:
        return Request(model, text, read)
    return Request(model, (*room.prompt, *read) if read else text)
