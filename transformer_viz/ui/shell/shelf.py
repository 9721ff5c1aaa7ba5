"""The models a visitor sees: the shelf, and in classroom mode the visitor's own beside it."""

from pathlib import Path
from typing import NamedTuple

import streamlit as st

from transformer_viz import store
from transformer_viz.store.format import NAME
from transformer_viz.store.places import command
from transformer_viz.ui.shell.classroom import is_classroom, is_teacher, own_models, owner, visitors_folder
from transformer_viz.ui.shell.language import escaped, t
from transformer_viz.ui.shell.server import sorted_models

VISITOR_BYTES = 100 * 10**6
"""Bytes that the models of one visitor of a class may take."""

VISITORS_BYTES = 4 * 10**9
"""Bytes that the models of all visitors together may take: each new browser is another visitor."""


class Home(NamedTuple):
    """Where a visitor's models stand: what they may rename and delete, and where what they add goes.

    Attributes:
        folder: Folder of models; None: the shelf.
        quota: Bytes that its models may take, as in `store.write_model`.
    """

    folder: Path | None = None
    quota: store.SharedQuota | None = None


def home() -> Home:
    """Return the visitor's own place; it is the shelf but for the students of a class."""
    if not is_classroom() or is_teacher():
        return Home()
    return Home(own_models(owner()), store.SharedQuota(VISITOR_BYTES, VISITORS_BYTES, visitors_folder()))


def shown_models() -> list[store.ModelSummary]:
    """Return the models a visitor sees, the one to show first in front; an own one hides one of its name.

    Raises:
        ModelError: If a folder of models cannot be listed.
    """
    models = {model.name: model for model in store.list_models()}
    folder = home().folder
    if folder:
        models |= {model.name: model for model in store.list_models(folder)}
    return sorted_models(models.values())


def is_own(model: store.ModelSummary) -> bool:
    """Return whether the visitor may rename and delete a model."""
    return model.path.parent == (home().folder or store.models_folder())


def choose_model(name) -> None:
    """Choose a model, as the select box of the sidebar does."""
    st.session_state.model = name


def show_no_model() -> None:
    """Say that there is nothing to look into yet, and how to come by something."""
    st.info(t("model.none"), icon=":material/school:")
    st.code(f"{command()} train --preset single-block --data reviews.csv --out my-model")


def name_problem(name, names) -> str | None:
    """Say in the visitor's language why a name for a model will not do; None if it will."""
    if not NAME.fullmatch(name or ""):
        return t("name.rule")
    return t("name.taken", name=escaped(name)) if name in names else None
