"""Streamlit's own texts in the visitor's language: its menu, its lists and tables, and its messages."""

from transformer_viz.language import Words
from transformer_viz.store.places import command
from transformer_viz.ui.shell.components import component
from transformer_viz.ui.shell.language import t, words

SAID_OTHERWISE = {
    "Connection error": "connection.lost",
    "Is Streamlit still running? If you accidentally stopped Streamlit, just restart it in your terminal:": (
        "connection.help"
    ),
}
"""Text of Streamlit's -> key of what the app says instead, in every language."""

EXAMPLE = "streamlit run yourscript.py"
"""The command below these."""


def translations() -> dict[str, str]:
    """Return text of Streamlit's -> the same in the visitor's language, where it differs."""
    own = words().under("streamlit")
    found = {text: own[name] for name, text in Words("en").under("streamlit").items() if own[name] != text}
    return found | {text: t(key) for text, key in SAID_OTHERWISE.items()} | {EXAMPLE: command()}


def translate_streamlit() -> None:
    """Have Streamlit's texts translated in the browser where it lays them over the page."""
    component("translated")(data=translations(), key="translated")
