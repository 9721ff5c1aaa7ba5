"""Colours of all figures, for the light and the dark theme, and how far their scales reach."""

import numpy as np
from numpy.typing import ArrayLike

SEQUENTIAL = {
    "light": [[0, "#f7faff"], [0.25, "#c3daf0"], [0.5, "#6aaed6"], [0.75, "#2272b5"], [1, "#08264f"]],
    "dark": [[0, "#141a26"], [0.25, "#1d3f74"], [0.5, "#2489ad"], [0.75, "#7bd6a8"], [1, "#fdf6c4"]],
}
"""Theme -> sequential colour scale, monotonic in lightness."""

DIVERGING = {
    "light": [[0, "#a6341b"], [0.25, "#e8a58c"], [0.5, "#f7f7f7"], [0.75, "#8fbce0"], [1, "#15559c"]],
    "dark": [[0, "#ff9a72"], [0.25, "#8f4a33"], [0.5, "#1b202b"], [0.75, "#2f6f9c"], [1, "#7cc7f2"]],
}
"""Theme -> diverging colour scale."""

EFFECTS = {
    "light": [[0, "#8a5a16"], [0.25, "#dcc097"], [0.5, "#f8f8f8"], [0.75, "#83c3bb"], [1, "#0b6f65"]],
    "dark": [[0, "#e0a458"], [0.25, "#71522a"], [0.5, "#1b202b"], [0.75, "#2a7f76"], [1, "#5fd6c6"]],
}
"""Theme -> diverging colour scale from what speaks against an answer to what speaks for it."""

BACKGROUND = {"light": "#ffffff", "dark": "#0f131b"}
"""Page background, as in `.streamlit/config.toml`."""

TEXT = {"light": "#31333f", "dark": "#e6e8ee"}
MUTED = {"light": "#6b7080", "dark": "#9aa1b0"}

GRID = {"light": "rgba(49,51,63,0.10)", "dark": "rgba(230,232,238,0.12)"}
"""Grid lines."""

HEADS = {
    "light": ["#1f6fb2", "#d1632b", "#2a8f5b", "#9b4fb0", "#b8860b", "#c2406f", "#4a7f8c", "#6f6f6f"],
    "dark": ["#3fa7c4", "#f0935e", "#63c58f", "#c58ad8", "#e0bb4f", "#ef7fa5", "#8fc3cf", "#a9a9a9"],
}
"""Categorical colours, in order."""

SIDES = {
    "light": {"train": "#9db2cc", "validation": "#1f6fb2"},
    "dark": {"train": "#66758c", "validation": "#3fa7c4"},
}
"""Colours of the training and the validation set."""

GAP = {"light": "#c4bfba", "dark": "#57524d"}
"""Colour of masked cells: a warm grey, far from all of the sequential scale, also for the colour-blind."""


def largest(values: ArrayLike) -> float:
    """Return the largest absolute value, ignoring NaN; 0 if there is none."""
    values = np.asarray(values)
    return float(np.nanmax(np.abs(values))) if values.size and not np.isnan(values).all() else 0.0


UNIFORM = 3
"""The colour scale of attention weights ends at no less than this many times that of uniform attention."""


def weight_limit(largest: float, visible: ArrayLike) -> float:
    """Return where the colour scale of attention weights ends; `weightLimit` in colour.js is the same.

    It ends at the largest weight, but not below three times the weight of uniform attention, so that a
    uniform head is pale; at most at 1.

    Args:
        largest: The largest weight, in [0, 1].
        visible: bool (..., query, key), True = the query may attend to the key.
    """
    keys = np.asarray(visible).sum(axis=-1).max(initial=1)
    return max(float(largest), min(1.0, UNIFORM / int(keys)))


def percent(share: float) -> str:
    """Return a weight, or a difference of two, in percent with at most one decimal; what is not 0 is not
    written as 0. `percent` in text.js is the same.
    """
    points, sign = abs(100 * share), "−" if share < 0 else ""
    return f"{sign}<0.1%" if 0 < points < 0.05 else f"{sign}{points:.1f}".removesuffix(".0") + "%"
