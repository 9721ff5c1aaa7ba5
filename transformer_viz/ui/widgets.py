"""Sliders, figures and words of the Positions page."""

import streamlit as st

from transformer_viz.ui.address import choose_number
from transformer_viz.ui.language import t


def slide(key, least, most, default, *, step=1) -> int:
    """Show a slider over whole numbers, kept in the URL."""
    named = t(f"positions.{key}")
    said = t(f"positions.{key}.help")
    return choose_number(key, least, most, named, default=default, step=step, help=said, width=232)


def draw(figure, key, alt, model) -> None:
    """Show a figure, to be saved under the model's name."""
    picture = {"filename": f"{model.name}-{key}", "scale": 2}
    st.plotly_chart(figure, key=key, config={"displaylogo": False, "toImageButtonOptions": picture}, alt=alt)


def kind_name(kind) -> str:
    """Return the name of a kind of position table."""
    return t(f"positions.kind.{kind.replace('-', '_')}")


def words(*names) -> dict[str, str]:
    """Return the words of a picture by name."""
    return {name: t(f"positions.word.{name}") for name in names}


def theme() -> str:
    """Return the theme in use."""
    return st.context.theme.type or "light"
