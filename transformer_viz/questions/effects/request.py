"""A request for effects, as the engine and every cache know it."""

import json
from dataclasses import dataclass, replace
from typing import Self

from transformer_viz.trace.request import Request


@dataclass(frozen=True)
class EffectsRequest:
    """A request for the effects on an answer.

    Attributes:
        request: The text and the changes in force.
        answer: A class or a token, by name or number; None: see `Asked`.
        versus: Another one; None: all others.
        position: Of the token that answers; None: see `Asked`.
    """

    request: Request
    answer: str | int | None = None
    versus: str | int | None = None
    position: int | None = None

    @property
    def model(self) -> str:
        """Name or folder of the model."""
        return self.request.model

    def of_model(self, model: str) -> Self:
        """Return the same request to another model."""
        return replace(self, request=self.request.of_model(model))

    def to_json(self) -> str:
        """Return the request as JSON."""
        return json.dumps([self.request.to_json(), self.answer, self.versus, self.position])
