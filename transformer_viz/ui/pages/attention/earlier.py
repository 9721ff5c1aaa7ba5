"""The runs that a visitor has seen on the Attention page: any of them becomes A or B of a comparison."""

from pathlib import Path

import streamlit as st

from transformer_viz.pictures.changes import FOR_ALL
from transformer_viz.ui.shell.changing import compare_with, use_as_b
from transformer_viz.ui.shell.language import escaped, t
from transformer_viz.values.request import Request

RUNS = "earlier-runs"
"""Session key of the requests, the latest first."""

MENU = "earlier-runs-menu"
"""Session key of whether the list is open."""

MOST = 12
"""Most runs that are kept."""

MOST_CHARS = 48
"""Longest text that is written out, in characters."""


def remember_run(request: Request) -> None:
    """Put a run first among those seen."""
    seen = [each for each in st.session_state.get(RUNS, ()) if each != request]
    st.session_state[RUNS] = [request, *seen][:MOST]


def show_runs() -> None:
    """Show the runs seen so far, if there are several, each with buttons that make it A or B.

    The list is made as it is opened: its elements would be sent with every run of the page, up to 48 of them.
    """
    runs = st.session_state.get(RUNS, ())
    if len(runs) < 2:
        return
    menu = st.popover(t("runs.earlier"), icon=":material/history:", key=MENU, on_change="rerun")
    if not menu.open:
        return
    with menu:
        for number, request in enumerate(runs):
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                for side, use, text in (("A", compare_with, t("runs.a")), ("B", use_as_b, t("runs.b"))):
                    st.button(side, key=f"run-{side}-{number}", on_click=use, args=(request,), help=text)
                st.markdown(name_of(request))


def name_of(request: Request) -> str:
    """Return text, model and number of changes of a run, as Markdown."""
    text = str(request.text)
    short = text if len(text) <= MOST_CHARS else f"{text[:MOST_CHARS]} …"
    parts = [f"**{escaped(short)}**", escaped(Path(request.model).name)]
    changes = request.changes
    count = len(changes.ablate) + len(changes.cut) + len(changes.patterns)
    count += len(set(FOR_ALL).intersection(changes.given) - {"reference"})
    if count:
        parts.append(t("runs.changes", count=count))
    return " · ".join(parts)
