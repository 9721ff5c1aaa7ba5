"""Errors about models, training runs and data as sentences, without paths of the server."""

import os
import re
from pathlib import Path

import streamlit as st

from transformer_viz import store
from transformer_viz.language import Phrase, sentence_of
from transformer_viz.training.runs.errors import BusyError, QuotaError, UnwritableError
from transformer_viz.training.runs.listing import runs_folder
from transformer_viz.ui.shell.card import size_text
from transformer_viz.ui.shell.language import escaped, t, words
from transformer_viz.ui.shell.shelf import home
from transformer_viz.ui.shell.titles import title_of, titles_of

_FOLDERS = re.compile(r"(?<![\w:./\\])(?:[A-Za-z]:)?[\\/](?:[^\s\\/]+[\\/])+")
"""The folders of an absolute path, without its last part."""

_OTHERS = re.compile(r"\bvisitors[\\/][0-9a-f]+[\\/]models[\\/]")
"""The models folder of another visitor, relative to the runs."""


def show_problem(error: Exception | Phrase | str) -> None:
    """Show an error as one sentence."""
    st.error(error_text(error), icon=":material/error:")


def error_text(error: Exception | Phrase | str) -> str:
    """Return an error as one sentence of Markdown in the visitor's language.

    Args:
        error: An error, or its English sentence from a log.
    """
    if isinstance(error, UnwritableError):
        reason = words().translate(error.reason, under="error.reason.")
        return t(f"disk.{error.cause}", reason=escaped(reason))
    if isinstance(error, BusyError):
        return t("run.busy", run=escaped(title_of(error.run)))
    if isinstance(error, QuotaError):
        largest = t("list.comma").join(titles_of(error.largest).values()) if error.what == "trainings" else ""
        return t(
            f"quota.{error.what if error.ever else 'large'}",
            used=size_text(error.used),
            limit=size_text(error.limit),
            largest=escaped(largest) or t("quota.none"),
        )
    if isinstance(error, store.QuotaError) and error.is_shared:
        return t("models.full", used=size_text(error.used), limit=size_text(error.limit))
    return escaped(without_folders(sentence_of(error, words().language), home().folder))


def without_folders(text: str, own: Path | None) -> str:
    """Return a sentence with models named as in the list, and other paths reduced to their last part.

    Args:
        text: The sentence.
        own: Folder of the visitor's own models; None: there is only the shelf.

    >>> without_folders("/home/ann/runs/a-1/checkpoint.safetensors is damaged.", None)
    'checkpoint.safetensors is damaged.'
    """
    for folder in filter(None, (own, *store.shelves(), runs_folder())):
        places = {str(folder), os.path.abspath(folder), os.path.realpath(folder)}
        for place in sorted(places, key=len, reverse=True):
            text = text.replace(f"{place}{os.sep}", "").replace(place, folder.name)
    return _FOLDERS.sub("", _OTHERS.sub("", text))
