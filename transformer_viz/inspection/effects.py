"""What each head does for the answer, found by leaving it out."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from transformer_viz.inspection.explorer import Explorer
from transformer_viz.values.interventions import all_heads, by_kind
from transformer_viz.values.request import Request


def head_effects(explorer: Explorer, text: str | Sequence[int], **changes: Any) -> dict[str, np.ndarray]:
    """Return by how much the answer becomes less probable without each head (Michel et al., 2019, section 3).

    The answer is what the model says with all its heads: a class; of a decoder, the likeliest token after
    each position; what an encoder puts in the place of each [MASK], where there is one. The model runs once
    for each head; nothing is compiled anew.

    Args:
        explorer: `Explorer`.
        text: What to read.
        **changes: `target`, and further changes, as `Explorer.trace` takes them, but no `ablate`.

    Returns:
        Kind ("encoder", "decoder", "cross", as the model has them) -> float32 (layer, head), from -1 to 1:
        the probability of the answer less that without the head, of tokens the mean over all of them.
        Below 0, the answer is more probable without the head.

    Raises:
        ValueError: If `ablate` is among the changes; as `Explorer.trace`.
    """
    request = explorer.request(text, **changes)
    return by_kind(effects_of(explorer, request, all_heads(explorer.config)))


def effects_of(
    explorer: Explorer, request: Request, heads: Iterable[tuple[str, int, int]]
) -> Iterator[tuple[tuple[str, int, int], float]]:
    """Yield ((kind, layer, head), effect) for each of these heads in turn.

    The model runs between two of them: whoever takes only some of them spends only their time.

    Args:
        explorer: `Explorer`.
        request: For an encoder-decoder, one with a target.
        heads: (kind, layer, head) each.

    Raises:
        ValueError: If the request removes heads already.
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
