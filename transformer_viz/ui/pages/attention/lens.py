"""The attention views on the page."""

import threading

from cachetools import LRUCache, cached

from transformer_viz import store
from transformer_viz.language import Words
from transformer_viz.pictures.lens import payload_of, projected_contexts
from transformer_viz.pictures.vocabulary import preferences_of
from transformer_viz.ui.shell.components import component
from transformer_viz.ui.shell.heads import forget_other_model, head_roles_of
from transformer_viz.ui.shell.language import words
from transformer_viz.values.effects import HeadEffects
from transformer_viz.values.request import Request
from transformer_viz.values.trace import Trace

MAX_BYTES = 64 * 2**20
"""Memory of cached payloads, in bytes; a larger one is computed in every rerun."""


def show_lens(
    trace: Trace, request: Request, looks: tuple[str, ...] = (), effects: HeadEffects | None = None
) -> bytes:
    """Show the attention views of a trace; return their payload.

    Args:
        trace: The answer to the request.
        request: The request.
        looks: As in `payload_of`.
        effects: As in `payload_of`.
    """
    forget_other_model(request.model)
    try:
        stamp = store.stamp(request.model)
    except store.ModelError:  # deleted in the meantime; its answer is still shown
        stamp = ""
    payload = _payload(trace, words(), looks, effects, request, stamp)
    component("streamlit", "lens")(data=payload, key="lens")
    return payload


@cached(
    LRUCache(MAX_BYTES, getsizeof=len),
    key=lambda trace, words, looks, effects, *asked: (words.language, looks, effects is None, *asked),
    lock=threading.Lock(),
)
def _payload(trace, words: Words, looks, effects, request, stamp):
    """Return the payload of an answer; a rewritten model has another stamp."""
    model = request.model
    projected = {} if looks else {kind: projected_contexts(trace, kind, model) for kind in trace.kinds()}
    return payload_of(trace, words, looks, effects, projected, head_roles_of(model), preferences_of(model))
