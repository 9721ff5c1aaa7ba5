"""Head ablation: the effect of each head on the probability of the answer."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from transformer_viz.inspection.explorer import Explorer
from transformer_viz.values.interventions import all_heads, by_kind
from transformer_viz.values.request import Request


def head_effects(explorer: Explorer, text: str | Sequence[int], **changes: Any) -> dict[str, np.ndarray]:
    """Return how much less probable the answer is without each head (Michel et al., 2019, section 3).

    The answer is the model's prediction with all heads: the class; for a decoder, the likeliest token after
    each position; for a masked language model, the likeliest token at each [MASK], or at each position if
    there is none. This takes one forward pass per head, without recompilation.

    Args:
        explorer: `Explorer`.
        text: Text or token ids.
        **changes: As for `Explorer.trace`, except `ablate`.

    Returns:
        Kind ("encoder", "decoder", "cross", for those of the model) -> float32 (layer, head) in [-1, 1]: the
        probability of the answer with all heads minus that without the head, averaged over tokens. Negative:
        the answer is more probable without the head.

    Raises:
        ValueError: If `ablate` is among the changes; also as `Explorer.trace`.
    """
    request = explorer.request(text, **changes)
    return by_kind(effects_of(explorer, request, all_heads(explorer.config)))


def effects_of(
    explorer: Explorer, request: Request, heads: Iterable[tuple[str, int, int]]
) -> Iterator[tuple[tuple[str, int, int], float]]:
    """Yield ((kind, layer, head), effect) for each of these heads, computed lazily.

    Args:
        explorer: `Explorer`.
        request: For an encoder-decoder, with a target.
        heads: (kind, layer, head) of each head.

    Raises:
        ValueError: If the request already ablates heads.
    """
    if request.changes.ablate:
        raise ValueError(
            "`ablate` cannot be given: each head is left out in turn. Use `trace` with `ablate`."
        )
    probs = _probs(explorer, request)
    answer = probs.argmax(axis=-1)[..., None]
    for head in heads:
        without = _probs(explorer, request.changed(ablate=(head,)))
        yield head, float(np.take_along_axis(probs - without, answer, axis=-1).mean())


def _probs(explorer, request):
    trace = explorer.run(request, keep="logits")
    return trace.probs[trace.gaps] if len(trace.gaps) else trace.probs
