"""Matrices side by side, drawn in place by the browser."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import streamlit as st

from transformer_viz.ui.shell.components import component
from transformer_viz.ui.shell.language import t
from transformer_viz.ui.shell.projector import is_projected

KEY, PAINTED = "panels", "paint"
"""Key of the panels of a page, and of those of which one can be painted."""


class Panel(NamedTuple):
    """A matrix with its texts.

    Attributes:
        matrix: As `views.panel` returns it.
        heading: Its name above it.
        title: Title above the saved picture.
        alt: Description for screen readers.
        file_name: Name of saved files, without extension.
        formula: Below its name, with _ and ^ in front of what stands below and above the line; "": none.
        applied: Number of the last painted stroke that it contains; None: it cannot be painted.
    """

    matrix: dict[str, Any]
    heading: str
    title: str
    alt: str
    file_name: str
    formula: str = ""
    applied: int | None = None


def show_panels(
    panels: Sequence[Panel],
    least: int,
    share: int = 0,
    *,
    on_paint: Callable[[list], None] | None = None,
) -> None:
    """Draw matrices of the same tokens side by side as far as they fit; they share pointer and zoom.

    Args:
        panels: The matrices.
        least: Least width of each, in pixels.
        share: Least width of each, in percent of the width of all.
        on_paint: Called with the strokes painted on one of them: [number, [row, column, last row, last
            column], whether these cells may be attended to] each; None: none can be painted.
    """
    data = {"panels": [_packed(panel) for panel in panels], "least": least, "share": share}
    if on_paint is None:
        component("panels", "panel", "panels")(data=data, key=KEY)
        return

    def painted():
        on_paint(st.session_state[PAINTED].strokes)

    events = {"on_strokes_change": painted, "default": {"strokes": []}}
    component("panels", "panel", "panels")(data=data, key=PAINTED, **events)


def table_words() -> dict[str, str]:
    """Return the headings of a matrix shown as a table."""
    return {"table": t("lens.table"), "rows": t("lens.table_query"), "largest": t("matrix.largest")}


def _packed(panel):
    """Return a panel as `panels.js` reads it."""
    around: dict[str, Any] = {"heading": panel.heading, "formula": panel.formula, "title": panel.title}
    around |= {"alt": panel.alt, "name": panel.file_name, "projected": is_projected()}
    around["words"] = table_words()
    around["paint"] = None if panel.applied is None else {"applied": panel.applied}
    return panel.matrix | around
