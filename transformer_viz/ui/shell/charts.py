"""Charts of Plotly on a page, in the visitor's theme."""

import streamlit as st


def theme() -> str:
    """Return the visitor's theme: "light" or "dark"."""
    return st.context.theme.type or "light"


def draw(figure, key, *, alt=None, file_name=None, toolbar=True, width="stretch") -> None:
    """Show a figure.

    Args:
        figure: Plotly figure.
        key: Name of the chart on the page.
        alt: Description for those who do not see it.
        file_name: Name of the picture that the toolbar saves, without its ending.
        toolbar: Whether there is a toolbar.
        width: As `st.plotly_chart` takes it.
    """
    config = {"displaylogo": False} if toolbar else {"displayModeBar": False}
    if file_name:
        config["toImageButtonOptions"] = {"filename": file_name, "scale": 2}
    st.plotly_chart(figure, width=width, key=key, config=config, alt=alt)
