"""A matrix on the Masks page, drawn in place: Streamlit builds a chart of Plotly anew with every change."""

import base64
import functools

import streamlit as st

from transformer_viz import views
from transformer_viz.text import visible
from transformer_viz.ui.mask_script import SCRIPT, STYLE

IMPORTED = ("colour", "text")
"""Modules of the views that the script imports."""


@functools.cache
def component():
    """Return what draws a matrix; registered once in a process."""
    script = SCRIPT
    for name in IMPORTED:
        text = base64.b64encode(views.module(name).encode()).decode()
        script = script.replace(f"./{name}.js", f"data:text/javascript;base64,{text}")
    return st.components.v2.component("transformer_viz.mask_panel", html="<div></div>", css=STYLE, js=script)


def show_matrix(figure, key, rows, columns, *, alt, applied=None, words=(), on_paint=None) -> None:
    """Draw the figure of a matrix, with as many of its tokens beside it as there is room for.

    Args:
        figure: As `figures.matrix`, `figures.matrix_with_sums` or `figures.paintable_mask` returns it.
        key: Name of the panel in the session.
        rows: Display strings of the rows.
        columns: Display strings of the columns.
        alt: What it is, for those who do not see it.
        applied: Number of the last stroke that is in the figure, where it can be painted; None: it cannot.
        words: What is said of a cell that may be read and of one that may not.
        on_paint: Called when there are new strokes, which then are `st.session_state[key].strokes`:
            [number, [row, column, last row, last column], whether they may be read] each.
    """
    data = {
        "figure": figure.to_json(),
        "rows": [visible(token) or "␠" for token in rows],
        "columns": [visible(token) or "␠" for token in columns],
        "paint": None if applied is None else {"applied": applied},
        "words": words,
        "alt": alt,
    }
    events = {"on_strokes_change": on_paint, "default": {"strokes": []}} if on_paint else {}
    component()(data=data, key=key, **events)
