"""The table of predicted rows, one of which opens on Attention."""

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from transformer_viz.ui.shell.language import t

MOST = 1_000
"""Most rows that are shown; all of them are in the file that can be saved."""

FORMATS = {"probability": "percent", "log_likelihood": "%.2f"}
"""Column -> how its numbers are written."""


def show_rows(frame: Any, names: Mapping[str, str], key: str, open_row: Callable[[str], None]) -> None:
    """Show rows with a button that opens the chosen one.

    Args:
        frame: DataFrame with a column text.
        names: Column -> its title.
        key: Key of the table: another one for other rows.
        open_row: Called with the text of the row.
    """
    shown = frame.head(MOST)
    chosen = st.dataframe(
        shown.set_axis([names[name] for name in shown], axis=1),
        hide_index=True,
        on_select="rerun",
        selection_mode="single-row",
        key=key,
        column_config={
            names[name]: st.column_config.NumberColumn(format=form, width="small")
            for name, form in FORMATS.items()
            if name in names
        },
    )
    picked = chosen["selection"]["rows"]
    st.button(
        t("evaluation.open"),
        key="leave-evaluation",
        icon=":material/visibility:",
        disabled=not picked,
        help=t("evaluation.open.help"),
        on_click=open_row,
        args=(shown["text"].iloc[picked[0]] if picked else "",),
    )
