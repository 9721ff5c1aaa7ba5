"""The Positions page: position encodings, below the workbench with its experiments on them."""

import streamlit as st

from transformer_viz import store
from transformer_viz.network.config import TransformerConfig
from transformer_viz.ui.pages.positions.kinds import show_kinds, show_rotation
from transformer_viz.ui.pages.positions.table import show_table
from transformer_viz.ui.shell.card_facts import config_of
from transformer_viz.ui.shell.explained import show_explained
from transformer_viz.ui.shell.language import t
from transformer_viz.ui.shell.pipeline import show_pipeline
from transformer_viz.ui.shell.title_row import show_title_row

EXPERIMENT = "experiment"
"""The view that is the workbench."""

VIEWS = {"table": show_table, "rotation": show_rotation, "kinds": show_kinds}
"""The other views."""


def is_experiment() -> bool:
    """Show the title with the choice of a view; return whether it is the workbench."""
    names = {view: t(f"positions.view.{view}") for view in (EXPERIMENT, *VIEWS)}
    return show_title_row(t("positions.title"), "view", names, t("positions.view")) == EXPERIMENT


def show(model: store.ModelSummary) -> None:
    """Show the page for one model, without the workbench."""
    view = st.session_state["view"]
    if view != EXPERIMENT:
        show_pipeline(model, *part_with_positions(config_of(model)))
        VIEWS[view](model)
    show_explained(
        "positions",
        r"\mathrm{PE}_{p,\,2i} = \sin\left(p \,/\, 10000^{2i/d}\right) \qquad "
        r"\mathrm{PE}_{p,\,2i+1} = \cos\left(p \,/\, 10000^{2i/d}\right)",
    )


def part_with_positions(config: TransformerConfig) -> tuple[str, str]:
    """Return the first stack and the part of it that knows of positions."""
    return next(iter(config.stacks)), "self" if config.positions_in_attention else "positions"
