"""The attention views in a notebook or as a standalone HTML file."""

import html
import os
from dataclasses import dataclass
from pathlib import Path

from transformer_viz.language import Words
from transformer_viz.pictures import views
from transformer_viz.pictures.lens import payload_of
from transformer_viz.values.effects import HeadEffects
from transformer_viz.values.head_roles import HeadRoles
from transformer_viz.values.trace import Trace

HEIGHT = 820
"""Height of a page in a notebook, in pixels."""


@dataclass(frozen=True)
class Page:
    """A standalone page of attention views; a notebook displays it as the last expression of a cell.

    Attributes:
        html: The complete page; it needs no server and no network.
    """

    html: str

    def __repr__(self):
        return f"Page({len(self.html):,} characters of HTML)"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file that any browser can open."""
        Path(path).write_text(self.html, encoding="utf-8")

    def _repr_html_(self):
        source = html.escape(self.html)
        return f'<iframe style="width: 100%; height: {HEIGHT}px; border: 0" srcdoc="{source}"></iframe>'


def show(
    trace: Trace,
    *,
    language: str = "en",
    effects: HeadEffects | None = None,
    head_roles: HeadRoles | None = None,
    **start: str | int,
) -> Page:
    """Return a page with all attention views of a trace, as in the app.

    Args:
        trace: As `Explorer.trace` returns it.
        language: "en" or "zh".
        effects: Result of `head_effects`, shown in the captions and to sort heads by; None: unknown.
        head_roles: What the model's heads usually do, `explorer.head_roles`; None: unknown.
        **start: Initial selection: kind ("encoder", "decoder", "cross"), layer and head, 0-based, view
            ("grid", "matrix", "lines", "steps").

    Raises:
        ValueError: If there is no such language.
    """
    payload = payload_of(trace, Words(language), effects=effects, head_roles=head_roles)
    title = f"{trace.model}: {trace.text}"
    return Page(views.page(payload, title=title, language=language, start=start))
