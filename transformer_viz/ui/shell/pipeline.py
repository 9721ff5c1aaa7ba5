"""The line of the model's steps on the pages about one part of it."""

from transformer_viz import store
from transformer_viz.pictures.pipeline import pipeline_of
from transformer_viz.ui.shell.card_facts import config_of
from transformer_viz.ui.shell.components import component
from transformer_viz.ui.shell.language import words
from transformer_viz.ui.shell.projector import is_projected


def show_pipeline(model: store.ModelSummary, stack: str, part: str) -> None:
    """Show the steps of a model, and which of them the page is about.

    Args:
        model: The model.
        stack: "encoder" or "decoder".
        part: Part of the stack, as `trace.stream.StreamStep` names it.
    """
    line = {"model": model.name, "pipeline": pipeline_of(config_of(model), words())}
    line |= {"lit": {"stack": stack, "part": part}, "projected": is_projected()}
    component("where", "pipeline")(data=line, key="pipeline")
