"""Colours shared by all figures, for the light and the dark theme."""

SEQUENTIAL = {
    "light": [[0, "#f7faff"], [0.25, "#c3daf0"], [0.5, "#6aaed6"], [0.75, "#2272b5"], [1, "#08264f"]],
    "dark": [[0, "#141a26"], [0.25, "#1d3f74"], [0.5, "#2489ad"], [0.75, "#7bd6a8"], [1, "#fdf6c4"]],
}
"""Theme -> colour scale of values from none to most; lightness alone tells them apart."""

TEXT = {"light": "#31333f", "dark": "#e6e8ee"}
MUTED = {"light": "#6b7080", "dark": "#9aa1b0"}
