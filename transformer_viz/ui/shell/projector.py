"""Pictures and texts drawn larger, for a projector; kept in the URL of the pages that show attention."""

import streamlit as st

from transformer_viz.ui.shell.address import choose_whether, keep, to_address
from transformer_viz.ui.shell.language import t

KEY = "projector"
"""Name in the URL and in the session."""

STYLE = """<style>
.stMainBlockContainer { --projected: 1.65 }
.stMainBlockContainer :is([data-testid=stMarkdownContainer], [data-testid=stCaptionContainer])
  :is(p, li, th, td):not(.st-key-header *) { font-size: 1.125rem }
.stMainBlockContainer .stMarkdown h3 { font-size: 1.25rem }
.stMainBlockContainer .stTextInput input { font-size: 1.125rem }
.stMainBlockContainer .stCheckbox label { align-items: center }
.stMainBlockContainer .stSlider { min-width: 13rem }
.stMainBlockContainer [role=radiogroup] { flex-wrap: wrap }
</style>"""
"""Letters of at least 18 pixels below the header; `--projected` widens the panels."""

USUAL = "<style>.stMainBlockContainer { --projected: 1 }</style>"
"""Replaces it: a style element that is no longer sent would stay after a run of the page alone."""


def is_projected() -> bool:
    """Return whether the page is drawn larger; a page that does not keep it in its URL is not."""
    return st.query_params.get(KEY) == "1"


def is_for_projector() -> bool:
    """Return whether a projector was chosen, on this page or on another; one that does not draw itself larger
    still shows a lesson so.
    """
    keep_choice()
    return st.session_state[KEY]


def keep_choice() -> None:
    """Keep for the other pages that a projector was chosen."""
    keep(KEY, is_projected())


def keep_projector() -> None:
    """Keep in the URL whether a page whose views choose it is drawn larger, and enlarge its texts then."""
    keep_choice()
    to_address(KEY, "1" if st.session_state[KEY] else "")
    st.html(STYLE if st.session_state[KEY] else USUAL)


def choose_projector() -> None:
    """Show the switch, and enlarge the texts of the page while it is on."""
    is_on = choose_whether(KEY, t("lens.projector"), help=t("projector.help"))
    st.html(STYLE if is_on else USUAL)
