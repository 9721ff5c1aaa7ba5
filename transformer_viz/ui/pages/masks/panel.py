"""A matrix on the Masks page, drawn in place: Streamlit builds a chart of Plotly anew with every change."""

from transformer_viz.ui.shell.charts import theme
from transformer_viz.ui.shell.components import component

BACKGROUND = {"light": "#ffffff", "dark": "#0f131b"}
"""Behind a picture that is saved."""


def show_matrix(panel, key, *, alt, applied=None, on_paint=None) -> None:
    """Draw a matrix, with as many of its tokens beside it as there is room for.

    Args:
        panel: As `views.panel` returns it.
        key: Name of the panel in the session, and of the file it is saved as.
        alt: What it is, for those who do not see it.
        applied: Number of the last stroke that is in the matrix, where it can be painted; None: it cannot.
        on_paint: Called when there are new strokes, which then are `st.session_state[key].strokes`:
            [number, [row, column, last row, last column], whether they may be read] each.
    """
    paint = None if applied is None else {"applied": applied}
    around = {"alt": alt, "name": key, "background": BACKGROUND[theme()]}
    events = {"on_strokes_change": on_paint, "default": {"strokes": []}} if on_paint else {}
    component("panel", "panel")(data=panel | around | {"paint": paint}, key=key, **events)
