"""The Map page: what stands below the workbench with the steps of the model."""

from transformer_viz import store
from transformer_viz.ui.shell.lesson_strip import beside_lesson


def show(_model: store.ModelSummary) -> None:
    """Show the page for one model."""
    with beside_lesson("map"):
        pass
