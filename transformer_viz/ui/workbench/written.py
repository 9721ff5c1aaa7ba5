"""A text that a model writes token by token: what is written, how much more can be, and how to ask for it."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple, Self

from transformer_viz.network.config import END_ID, TransformerConfig, never_written
from transformer_viz.trace.request import Request


class Steps(NamedTuple):
    """The token ids written so far, and the number of the one that is being chosen.

    Attributes:
        ids: [END] only as the last.
        step: At most the number of ids; one less if the last is [END].
        end_id: Id of [END].
    """

    ids: tuple[int, ...] = ()
    step: int = 0
    end_id: int = END_ID

    @classmethod
    def read(cls, text: str, config: TransformerConfig, most: int) -> Self:
        """Read the result of `text`; no steps if it is none.

        Args:
            text: Any text.
            config: Of the model that writes.
            most: Most tokens that can be written.
        """
        size, end_id = config.num_outputs, config.end_id
        nothing, never = cls(end_id=end_id), never_written(config)
        before, mark, after = text.partition("-")
        try:
            ids = tuple(map(int, before.split("."))) if before else ()
            step = int(after) if mark else len(ids)
        except ValueError:
            return nothing
        are_possible = all(0 <= token < size and token not in never for token in ids)
        if not are_possible or end_id in ids[:-1] or len(ids) > most:
            return nothing
        steps = cls(ids, step, end_id)
        return steps._replace(step=min(max(step, 0), steps.last(most)))

    def text(self) -> str:
        """Return the steps for the URL: the ids, and the number of the step if it is not the next one."""
        ids = ".".join(map(str, self.ids))
        return ids if self.step == len(self.ids) else f"{ids}-{self.step}"

    @property
    def has_ended(self) -> bool:
        """Whether [END] was written."""
        return self.ids[-1:] == (self.end_id,)

    def last(self, most: int) -> int:
        """Return the number of the last step, if at most so many tokens can be written."""
        return len(self.ids) - (self.has_ended or len(self.ids) == most)

    def before(self) -> Self:
        """Return the steps without the token of the one that is shown, and those behind it."""
        return self._replace(ids=self.ids[: self.step])

    def with_token(self, token: int) -> Self:
        """Return the steps after a token was chosen: what follows another one than before is cut."""
        ids, step = self.ids, self.step
        if ids[step : step + 1] != (token,):
            ids = (*ids[:step], token)
        return self._replace(ids=ids, step=step + 1)


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


def room_behind(
    config: TransformerConfig, model: str, text: str, ask: Callable[[Request], Any]
) -> Room | None:
    """Return how much can be written behind a text; None if it cannot be read.

    Args:
        config: Of the model.
        model: Its name or folder.
        text: The text as typed.
        ask: Returns the answer to a request; None: there is none.
    """
    if config.has_encoder:
        begin = len(config.target_start or ()) - 1
        return Room(None, (config.target_max_len or config.max_len) - begin, text, begin)
    trace = ask(Request(model, text))
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


SETTINGS = re.compile(r"([01](?:\.\d\d?)?|2)-([1-4]?\d|50)-(1|0\.(?:0[5-9]|[1-9]\d?))")
"""Temperature from 0 to 2, k from 1 to 50 (0: all tokens), p from 0.05 to 1, as sampling.js writes them."""


def sampling_of(settings: str) -> dict[str, Any]:
    """Return settings of the address as `distribution` takes them; the model's own of what is none."""
    found = SETTINGS.fullmatch(settings)
    if not found:
        return {}
    return {"temperature": float(found[1]), "top_k": int(found[2]) or None, "top_p": float(found[3])}
