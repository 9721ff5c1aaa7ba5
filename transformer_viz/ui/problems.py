"""What went wrong with a training or its data, in the visitor's language and without paths of the server."""

import os
import re

import streamlit as st

from transformer_viz.runs import BusyError, QuotaError, UnwritableError, runs_folder
from transformer_viz.ui.card import bytes_of
from transformer_viz.ui.language import plain, t
from transformer_viz.ui.titles import title_of, titles_of

_FOLDERS = re.compile(r"(?<![\w:./\\])(?:[A-Za-z]:)?[\\/](?:[^\s\\/]+[\\/])+")
"""The folders of a whole path, up to the last part of it."""


def show_problem(error: Exception | str) -> None:
    """Show in one sentence what went wrong."""
    st.error(said(error), icon=":material/error:")


def said(error: Exception | str) -> str:
    """Return as Markdown of one sentence what went wrong: an error, or its sentence in a log."""
    if isinstance(error, UnwritableError):
        return t(f"disk.{error.cause}", reason=plain(error.reason))
    if isinstance(error, BusyError):
        return t("run.busy", run=plain(title_of(error.run)))
    if isinstance(error, QuotaError):
        largest = ", ".join(titles_of(error.largest).values()) if error.what == "trainings" else ""
        return t(
            f"quota.{error.what}",
            used=bytes_of(error.used),
            limit=bytes_of(error.limit),
            largest=plain(largest) or t("quota.none"),
        )
    return plain(without_folders(str(error)))


def without_folders(text: str) -> str:
    """Return a sentence with the last part of each path in it alone.

    >>> without_folders("/home/ann/runs/a-1/checkpoint.safetensors is damaged.")
    'checkpoint.safetensors is damaged.'
    """
    return _FOLDERS.sub("", text.replace(f"{runs_folder()}{os.sep}", ""))
