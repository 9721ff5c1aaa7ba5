"""Labels, numbers and sentences of the Positions page."""

from transformer_viz.pictures.views.change import ROUNDING
from transformer_viz.ui.shell.language import t


def difference_text(number: float) -> str:
    """Return a difference as text; below `ROUNDING`, it is marked as a rounding error."""
    if number >= ROUNDING:
        return f"{number:.2f}" if number >= 0.01 else f"{number:.1g}"
    return t("positions.rounding", value=f"{number:.0e}") if number else "0"


def labels(*names: str) -> dict[str, str]:
    """Return the labels of a figure by name."""
    return {name: t(f"positions.word.{name}") for name in names}
