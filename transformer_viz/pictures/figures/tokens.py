"""Token labels for Plotly."""

import html

from transformer_viz.text.unicode import visible


def axis_label(token: str) -> str:
    """Return a token escaped for Plotly, with invisible characters made visible."""
    return html.escape(visible(token), quote=False).replace("$", "&#36;") or "␣"
