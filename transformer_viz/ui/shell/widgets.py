"""Sliders, figures and words of the Positions page."""

import contextlib

import streamlit as st

from transformer_viz import store
from transformer_viz.pictures.figures.change import NOTHING
from transformer_viz.ui.shell.address import choose_number
from transformer_viz.ui.shell.language import plain, t
from transformer_viz.ui.shell.shelf import shown_models

OFFERED = 2
"""Models with positions that are offered where the chosen one has none."""


def slide(key, least, most, default, *, step=1) -> int:
    """Show a slider over whole numbers, kept in the URL."""
    named = t(f"positions.{key}")
    said = t(f"positions.{key}.help")
    return choose_number(key, least, most, named, default=default, step=step, help=said, width=232)


def draw(figure, key, alt, model, width="stretch") -> None:
    """Show a figure, to be saved under the model's name."""
    picture = {"filename": f"{model.name}-{key}", "scale": 2}
    config = {"displaylogo": False, "toImageButtonOptions": picture}
    st.plotly_chart(figure, width=width, key=key, config=config, alt=alt)


def show_lack(said) -> None:
    """Say what a model without positions lacks, and offer to open models that have them."""
    others = []
    with contextlib.suppress(store.ModelError):  # the next page says that they cannot be listed
        others = [
            model.name for model in shown_models() if not model.problem and model.config.positions != "none"
        ]
    more = [t("positions.lacks.others")] if others else []
    st.info(together(said, *more), icon=":material/shuffle:")
    with st.container(horizontal=True, gap="small"):
        for name in others[:OFFERED]:
            label = t("positions.open", model=plain(name))
            st.button(label, key=f"open-{name}", icon=":material/visibility:", on_click=choose, args=(name,))


def choose(name) -> None:
    """Choose a model, as the select box of the sidebar does."""
    st.session_state.model = name


def measured(number) -> str:
    """Return the size of a difference as it is read; what is rounding is none."""
    if number >= NOTHING:
        return f"{number:.2f}" if number >= 0.01 else f"{number:.1g}"
    return t("positions.rounding", value=f"{number:.0e}") if number else "0"


def together(*sentences) -> str:
    """Return sentences one after the other; a Chinese one brings its own space."""
    return " ".join(sentences).replace("。 ", "。")


def kind_name(kind) -> str:
    """Return the name of a kind of position table."""
    return t(f"positions.kind.{kind.replace('-', '_')}")


def words(*names) -> dict[str, str]:
    """Return the words of a picture by name."""
    return {name: t(f"positions.word.{name}") for name in names}


def theme() -> str:
    """Return the theme in use."""
    return st.context.theme.type or "light"
