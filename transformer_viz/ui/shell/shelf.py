"""The models a visitor sees: the shelf and, in classroom mode, the visitor's own."""

import itertools
import os
import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import NamedTuple

import streamlit as st

from transformer_viz import store
from transformer_viz.data.tasks import TASKS
from transformer_viz.network.config import TransformerConfig
from transformer_viz.store.names import is_name, name_from
from transformer_viz.store.places import command
from transformer_viz.ui.shell.card_facts import config_of, examples_of, part, text_in
from transformer_viz.ui.shell.classroom import is_classroom, is_teacher, own_models, owner, visitors_folder
from transformer_viz.ui.shell.language import escaped, sendable, t, words
from transformer_viz.ui.shell.server import sorted_models

VISITOR_BYTES = 100 * 10**6
"""Quota of one visitor's models in classroom mode, in bytes."""

VISITORS_BYTES = 4 * 10**9
"""Quota of all visitors' models together, in bytes: each new browser is another visitor."""


FEW_LABELS = 3
"""Most labels that are named where a model is chosen."""


class Home(NamedTuple):
    """The folder of the models that a visitor may add, rename and delete.

    Attributes:
        folder: Folder of models; None: the shelf.
        quota: As for `store.write_model`.
    """

    folder: Path | None = None
    quota: store.Quota | None = None


MAX_PURPOSE = 60
"""Most characters of what a card says that its model does."""


def home() -> Home:
    """Return the visitor's folder: in classroom mode a student's own, otherwise the shelf."""
    if not is_classroom() or is_teacher():
        return Home()
    return Home(own_models(owner()), store.Quota(VISITORS_BYTES, VISITOR_BYTES, visitors_folder()))


def shown_models() -> list[store.ModelSummary]:
    """Return the models a visitor sees, as `sorted_models` does; an own model hides one of the same name.

    Raises:
        ModelError: If a folder of models cannot be listed.
    """
    models = {model.name: model for model in store.list_models()}
    folder = home().folder
    if folder:
        models |= {model.name: model for model in store.list_models(folder)}
    return sorted_models(models.values())


def shown_model(reference: str) -> store.ModelSummary | None:
    """Return one of the models a visitor sees, without looking at the others; None: there is no such model.

    Args:
        reference: Its `reference`.
    """
    name, folder = os.path.basename(reference), home().folder
    found = (store.find_model(name, folder) if folder else None) or store.find_model(name)
    return found if found and found.reference == reference else None


def found_model(name: str, folder: Path | None) -> store.ModelSummary | None:
    """Return a usable model that a visitor sees; None: there is none.

    Args:
        name: Its name, or its `reference`.
        folder: Folder of the visitor's own models; None: there is only the shelf.
    """
    base = os.path.basename(name)
    found = (store.find_model(base, folder) if folder else None) or store.find_model(base)
    if found is None or found.problem or found.config is None:
        return None
    return found if name in (found.name, found.reference) else None


def usable_models(folder: Path | None) -> list[store.ModelSummary]:
    """Return the usable models that a visitor sees; argument as for `found_model`."""
    found = {model.name: model for model in store.list_models()}
    if folder:
        found |= {model.name: model for model in store.list_models(folder)}
    return sorted_models(model for model in found.values() if model.config and not model.problem)


def is_own(model: store.ModelSummary) -> bool:
    """Return whether the visitor may rename and delete a model."""
    return model.path.parent == (home().folder or store.models_folder())


def purpose_of(model: store.ModelSummary) -> str:
    """Return in a few words what a usable model does: as its card says, else by its output."""
    said = part(model.card, "purpose")
    if own := (text_in(said, words().language) or text_in(said, "en"))[:MAX_PURPOSE]:
        return sendable(own)
    config, task = config_of(model), text_in(part(model.card, "data"), "task")
    if config.labels:
        few = len(config.labels) <= FEW_LABELS
        return sendable(" / ".join(config.labels)) if few else t("purpose.labels", count=len(config.labels))
    if task in TASKS:
        return t(f"purpose.{task}")
    if config.fills_in:
        return t("purpose.hidden")
    if config.output == "none":
        return t("purpose.vectors")
    return t("purpose.continues" if config.architecture == "decoder" else "purpose.writes")


def kind_of(model: store.ModelSummary) -> int:
    """Return the place of what a usable model does: labels, next token, hidden tokens, target, vectors."""
    config = config_of(model)
    kinds = [bool(config.labels), not config.has_encoder, config.fills_in, config.has_decoder, True]
    return kinds.index(True)


def select_model(name: str) -> None:
    """Set the choice of model in the header."""
    st.session_state.model = name


def offer_models(said: str, is_able: Callable[[TransformerConfig], bool]) -> None:
    """Show a button for each usable model that is able to do something, which opens it; nothing if none is.

    Args:
        said: What they are able to do, above the buttons.
        is_able: Returns that of the config of a model.
    """
    found = [
        model for model in shown_models() if model.config and not model.problem and is_able(model.config)
    ]
    if found:
        st.markdown(said)
    with st.container(horizontal=True, gap="small"):
        for model in found:
            label = f"{escaped(model.name)} · {escaped(purpose_of(model))}"
            st.button(label, key=f"open-{model.name}", on_click=select_model, args=(model.name,))


def open_with_text(model: store.ModelSummary) -> None:
    """Open a model with the present text, even if that is an example of another model."""
    select_model(model.name)
    st.session_state.examples = examples_of(model.card)


def show_no_model() -> None:
    """Show that there is no model yet, and how to train one."""
    st.info(t("model.none"), icon=":material/school:")
    st.code(f"{command()} train --preset single-block --data reviews.csv --out my-model")


def name_problem(name: str, names: Collection[str]) -> str | None:
    """Return why a model cannot have a name, in the visitor's language; None if it can."""
    if not is_name(name):
        return t("name.rule")
    return t("name.taken", name=escaped(name)) if name in names else None


def free_name(name: str, names: Collection[str]) -> str:
    """Return a valid, unused name similar to this one."""
    fit = name_from(name, 60) or "model"
    stem = re.sub(r"-\d+$", "", fit)
    numbered = itertools.chain([fit], (f"{stem}-{number}" for number in itertools.count(2)))
    return next(name for name in numbered if name not in names and is_name(name))
