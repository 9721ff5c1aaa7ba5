"""The Masks page: what stands below the workbench with its masks."""

from transformer_viz import store
from transformer_viz.ui.shell.explained import show_explained


def show(_model: store.ModelSummary) -> None:
    """Show the page for one model."""
    show_explained("masks", r"\mathrm{weights}_{ij} = \frac{M_{ij}\, e^{s_{ij}}}{\sum_k M_{ik}\, e^{s_{ik}}}")
