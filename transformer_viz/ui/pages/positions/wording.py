"""Names, numbers and sentences of the Positions page."""

from transformer_viz.pictures.views.change import ROUNDING
from transformer_viz.ui.shell.language import t


def difference_text(number: float) -> str:
    """Return the size of a difference as it is read; what is rounding is none."""
    if number >= ROUNDING:
        return f"{number:.2f}" if number >= 0.01 else f"{number:.1g}"
    return t("positions.rounding", value=f"{number:.0e}") if number else "0"


def joined(*sentences: str) -> str:
    """Return sentences one after the other; a Chinese one brings its own space."""
    return " ".join(sentences).replace("。 ", "。")


def labels(*names: str) -> dict[str, str]:
    """Return the words of a picture by name."""
    return {name: t(f"positions.word.{name}") for name in names}
