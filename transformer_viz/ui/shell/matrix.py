"""A matrix on a page, drawn in place: Streamlit builds a chart of Plotly anew with every change."""

from transformer_viz.ui.shell.components import component
from transformer_viz.ui.shell.language import t


def show_matrix(panel, key, *, alt, group, title="", file_name=None, applied=None, on_paint=None) -> None:
    """Draw a matrix, with as many of its tokens beside it as there is room for.

    Args:
        panel: As `views.panel` returns it.
        key: Name of the panel in the session.
        alt: What it is, for those who do not see it.
        group: Name of those panels of a page that are of the same tokens: they are pointed at and zoomed into
            together.
        title: What stands above it when it is saved.
        file_name: Name of what is saved, without its ending; None: the key.
        applied: Number of the last stroke that is in the matrix, where it can be painted; None: it cannot.
        on_paint: Called when there are new strokes, which then are `st.session_state[key].strokes`:
            [number, [row, column, last row, last column], whether they may be read] each.
    """
    paint = None if applied is None else {"applied": applied}
    around = {"alt": alt, "group": group, "title": title, "name": file_name or key}
    around |= {"paint": paint, "words": table_words()}
    events = {"on_strokes_change": on_paint, "default": {"strokes": []}} if on_paint else {}
    component("panel", "panel")(data=panel | around, key=key, **events)


def table_words() -> dict[str, str]:
    """Return the words of the table of a matrix."""
    return {"table": t("lens.table"), "rows": t("lens.table_query"), "largest": t("matrix.largest")}
