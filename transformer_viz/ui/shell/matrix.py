"""Matrices drawn in place by the browser; Streamlit rebuilds a Plotly chart with every change."""

from collections.abc import Callable
from typing import Any, NamedTuple

from transformer_viz.ui.shell.components import component
from transformer_viz.ui.shell.language import t
from transformer_viz.ui.shell.projector import is_projected


class Captions(NamedTuple):
    """Texts that accompany a matrix.

    Attributes:
        title: Title above the saved picture.
        alt: Description for screen readers.
        file_name: Name of saved files, without extension; None: the panel's key.
    """

    title: str
    alt: str
    file_name: str | None = None


class Painting(NamedTuple):
    """What makes a matrix paintable.

    Attributes:
        applied: Number of the last stroke that the matrix contains.
        on_paint: Called on new strokes, which are then in `st.session_state[key].strokes`: [number, [row,
            column, last row, last column], whether these cells may be attended to] each.
    """

    applied: int
    on_paint: Callable[[], None]


def show_matrix(
    panel: dict[str, Any], key: str, captions: Captions, *, group: str, painting: Painting | None = None
) -> None:
    """Draw a matrix with as many token labels as fit.

    Args:
        panel: As `views.panel` returns it.
        key: Name of the panel in the session.
        captions: Its texts.
        group: Panels of a page with the same group share pointer and zoom; they show the same tokens.
        painting: Lets the visitor paint on it; None: read-only.
    """
    around: dict[str, Any] = {"alt": captions.alt, "group": group, "title": captions.title}
    around |= {"name": captions.file_name or key, "words": table_words()}
    around["projected"] = is_projected()
    around["paint"] = {"applied": painting.applied} if painting else None
    events = {"on_strokes_change": painting.on_paint, "default": {"strokes": []}} if painting else {}
    component("panel", "panel")(data=panel | around, key=key, **events)


def table_words() -> dict[str, str]:
    """Return the headings of a matrix shown as a table."""
    return {"table": t("lens.table"), "rows": t("lens.table_query"), "largest": t("matrix.largest")}
