"""Labels of the figures of the Positions page."""

from transformer_viz.ui.shell.language import t


def labels(*names: str) -> dict[str, str]:
    """Return the labels of a figure by name."""
    return {name: t(f"positions.word.{name}") for name in names}
