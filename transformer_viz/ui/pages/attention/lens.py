"""The views of attention on the page."""

from transformer_viz.pictures.lens import payload_of, projected_of
from transformer_viz.ui.shell.components import component
from transformer_viz.ui.shell.language import words
from transformer_viz.values.trace import Trace


def show_lens(trace: Trace, model: str, looks=(), effects=None) -> bytes:
    """Show the attention of a trace; return what is shown.

    Args:
        trace: What is shown.
        model: Name or path of the model it is of.
        looks: As in `payload_of`.
        effects: As in `payload_of`.
    """
    projected = {} if looks else {kind: projected_of(trace, kind, model) for kind in trace.kinds()}
    payload = payload_of(trace, words(), looks, effects, projected)
    component("streamlit", "lens")(data=payload, key="lens")
    return payload
