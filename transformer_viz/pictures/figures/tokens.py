"""Tokens as Plotly shows them."""

import html

from transformer_viz.text.tokenizer import visible


def axis_label(token) -> str:
    """Return a token as Plotly must be given it: nothing in it is markup, nothing invisible."""
    return html.escape(visible(token), quote=False).replace("$", "&#36;") or "␠"
