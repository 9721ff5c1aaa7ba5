"""Plotly charts on a page, in the visitor's theme."""

from typing import Any

import streamlit as st

from transformer_viz.pictures.figures import Figure, enlarged
from transformer_viz.ui.shell.projector import is_projected


def theme() -> str:
    """Return the visitor's theme: "light" or "dark"."""
    return st.context.theme.type or "light"


def draw(
    figure: Figure,
    key: str,
    *,
    alt: str | None = None,
    file_name: str | None = None,
    toolbar: bool = True,
) -> None:
    """Show a Plotly figure, on a projector enlarged.

    Args:
        figure: Plotly figure.
        key: Key of the chart on the page.
        alt: Description for screen readers.
        file_name: Name of the saved picture, without extension.
        toolbar: Show the toolbar.
    """
    config: dict[str, Any] = {"displaylogo": False} if toolbar else {"displayModeBar": False}
    if file_name:
        config["toImageButtonOptions"] = {"filename": file_name, "scale": 2}
    figure = enlarged(figure) if is_projected() else figure
    st.plotly_chart(figure, width="stretch", key=key, config=config, alt=alt)
