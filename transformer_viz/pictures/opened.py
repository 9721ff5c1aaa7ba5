"""What a page of attention views shows, and where it opens: for the page itself, and for pictures of it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from transformer_viz.network.tensors import Attentions
from transformer_viz.pictures.views import AttentionPayload


class Opened(NamedTuple):
    """What a page shows, and the selection on which it opens.

    Attributes:
        model: Name of the model.
        title: Title of the page.
        language: Of its words, "en" or "zh".
        attentions: Kind of attention -> what the views show of it.
        labels: Words of the views.
        start: The selection as the views take it: any of "kind", "layer", "head" and "shown" (the heads with
            lines), 0-based among what is shown, and "view".
    """

    model: str
    title: str
    language: str
    attentions: dict[str, AttentionPayload]
    labels: dict[str, Any]
    start: Mapping[str, Any]

    @property
    def view(self) -> str:
        """Name of the view."""
        return self.start.get("view", "all")

    @property
    def attention(self) -> AttentionPayload:
        """The selected kind of attention; by default the last, as in the views."""
        return self.attentions[self.start.get("kind") or list(self.attentions)[-1]]

    @property
    def layer(self) -> int:
        """The selected layer."""
        return self.start.get("layer", self.attention.opening[0])

    @property
    def head(self) -> int:
        """The selected head."""
        last = len(self.attention.found.layers[self.layer].weights) - 1
        return min(self.start.get("head", self.attention.opening[1]), last)

    @property
    def heads(self) -> list[int]:
        """The heads whose lines are shown."""
        return list(self.start.get("shown") or [self.head])

    @property
    def name(self) -> str:
        """Name of the selected head."""
        return self.attention.head_title.format(layer=self.attention.number(self.layer), head=self.head + 1)


def numbers_of(found: Attentions, layer: int, head: int) -> np.ndarray:
    """Return the numbers of one head with NaN where they are masked: float (query, key)."""
    weights = found.layers[layer].weights
    mask = np.broadcast_to(found.mask_of(layer), weights.shape)
    return np.where(mask[head], weights[head], np.nan)
