"""Probabilities before and after a change, drawn as bars by the browser."""

from collections.abc import Mapping, Sequence

import numpy as np

from transformer_viz.text.shown import BLANK
from transformer_viz.text.unicode import visible
from transformer_viz.ui.shell.components import component
from transformer_viz.ui.shell.projector import is_projected


def show_bars(
    names: Sequence[str],
    before: np.ndarray,
    after: np.ndarray,
    *,
    labels: Mapping[str, str],
    alt: str,
    key: str,
) -> None:
    """Draw probabilities before and after a change, two bars for each name.

    Args:
        names: Label of each pair of bars, from top to bottom.
        before: float (name,) from 0 to 1.
        after: float (name,) from 0 to 1.
        labels: Legend entries "before" and "after".
        alt: Description for screen readers.
        key: Key on the page.
    """
    rows = [
        {"name": visible(name) or BLANK, "before": float(one), "after": float(other)}
        for name, one, other in zip(names, before, after, strict=True)
    ]
    data = {"rows": rows, "labels": {side: labels[side] for side in ("before", "after")}, "alt": alt}
    component("bars", "bars")(data=data | {"projected": is_projected()}, key=key)
