"""The one style sheet of all pages: each one added or removed restyles the whole page."""

import functools
from importlib import resources

import streamlit as st

from transformer_viz.pictures.theme import BACKGROUND, MUTED
from transformer_viz.ui.shell.language import t

COLOURS = {
    "light": {
        "background": BACKGROUND["light"],
        "muted": MUTED["light"],
        "line": "#e2e7ee",
        "on-primary": "#ffffff",
        "ink": "#18202e",
        "lost": "#b2342c",
        "gained": "#15589a",
        "for": "#0d7a70",
        "against": "#8a5a16",
        "strip": "#f4f7fb",
        "strip-title": "#1f6fb2",
    },
    "dark": {
        "background": BACKGROUND["dark"],
        "muted": MUTED["dark"],
        "line": "#2a3344",
        "on-primary": "#06222c",  # white on the primary button has too little contrast for a projector
        "ink": "#eceff5",
        "lost": "#f0958c",
        "gained": "#7fb8e6",
        "for": "#3fb8a9",
        "against": "#d29a4e",
        "strip": "#161c27",
        "strip-title": "#7fb8e6",
    },
}
"""Theme -> name of a custom property -> colour."""


def show_style() -> None:
    """Apply the style sheet, with the colours of the theme and Streamlit's texts in the language."""
    theme = "dark" if st.context.theme.type == "dark" else "light"
    found = COLOURS[theme] | {
        "primary": st.get_option(f"theme.{theme}.primaryColor"),
        "connecting": f'"{t("connection.trying")}"',
        "skip": f'"{t("connection.skip")}"',
        "upload": f'"{t("upload.button")}"',
        "upload-limit": f'"{t("upload.limit", most=st.get_option("server.maxUploadSize"))}"',
    }
    declared = "; ".join(f"--app-{name}: {value}" for name, value in found.items())
    st.html(f"<style>:root {{ {declared} }}\n{_rules()}</style>")


@functools.cache
def _rules():
    return resources.files("transformer_viz.ui").joinpath("app.css").read_text(encoding="utf-8")
