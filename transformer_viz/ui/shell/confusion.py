"""The confusion matrix on the card of a classifier."""

import streamlit as st

from transformer_viz.ui.shell.card_facts import count_in
from transformer_viz.ui.shell.language import escaped, t


def show_confusion(confusion: dict) -> None:
    """Show how many test texts of each label were given each label, if the card has these counts."""
    rows = {label: row for label, row in confusion.items() if isinstance(row, dict)}
    if not rows:
        return
    st.markdown(f"#### {t('card.confusion')}")
    table = {t("card.true"): list(map(escaped, rows))}
    for label in rows:
        predicted = t("card.predicted", label=escaped(label))
        table[predicted] = [count_in(row, label) for row in rows.values()]
    st.table(table, border="horizontal", hide_index=True)
