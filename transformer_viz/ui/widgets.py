"""Sliders, figures and words of the Positions page."""

import streamlit as st

from transformer_viz.ui.address import number_from_address, to_address
from transformer_viz.ui.language import t


def slide(key, least, most, default, *, step=1) -> int:
    """Show a slider over whole numbers, kept in the URL."""
    number_from_address(key, least, most, default)
    st.session_state[key] -= (st.session_state[key] - least) % step
    number = st.slider(
        t(f"positions.{key}"),
        least,
        most,
        step=step,
        key=key,
        persist_state="session",
        help=t(f"positions.{key}.help"),
        width=232,
    )
    to_address(key, "" if number == default else str(number))
    return number


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
