"""The views of attention outside the app: in a notebook, or as a file that needs nothing else."""

import html
from dataclasses import dataclass
from pathlib import Path

from transformer_viz.language import Words
from transformer_viz.pictures import views
from transformer_viz.pictures.lens import payload_of
from transformer_viz.values.trace import Trace

HEIGHT = 820
"""Pixels of a page in a notebook."""


@dataclass(frozen=True)
class Page:
    """A page of attention; as the last thing in a notebook's cell it shows itself.

    Attributes:
        html: The whole of it: it needs no server and no network.
    """

    html: str

    def save(self, path) -> None:
        """Write the page to a file that any browser opens."""
        Path(path).write_text(self.html, encoding="utf-8")

    def _repr_html_(self):
        source = html.escape(self.html)
        return f'<iframe style="width: 100%; height: {HEIGHT}px; border: 0" srcdoc="{source}"></iframe>'


def show(trace: Trace, *, language="en", effects=None, **start) -> Page:
    """Return the attention of a trace as the app shows it, with all its views.

    Args:
        trace: As `Explorer.trace` returns it.
        language: "en" or "zh".
        effects: What `head_effects` returned, to order heads by it; None: it is not known.
        **start: What is chosen first: kind ("encoder", "decoder", "cross"), layer and head, 0-based, view
            ("grid", "matrix", "lines", "steps").

    Raises:
        ValueError: If there is no such language.
    """
    payload = payload_of(trace, Words(language), effects=effects)
    return Page(views.page(payload, title=f"{trace.model}: {trace.text}", start=start))
