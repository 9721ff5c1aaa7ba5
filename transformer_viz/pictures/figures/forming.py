"""Attention as it forms: all heads of a layer side by side, at one moment or played from first to last."""

import math

import numpy as np
import plotly.graph_objects as go

from transformer_viz.pictures.figures.theme import GRID, HEADS, MUTED, SEQUENTIAL, TEXT
from transformer_viz.pictures.figures.tokens import axis_label

MOST_IN_A_ROW = 4
"""Panels side by side."""

MAX_LABELS = 20
"""More tokens than this are not written on the axes; hovering names them."""

PANEL, LINES = 215, 170
"""Pixels: height of a row of panels, and of the curves below."""

GAP = 54
"""Pixels between two rows: room for the tokens above the lower one."""


def heads_grid(weights, query_tokens, key_tokens, *, labels, theme="light"):
    """Draw the attention weights of all heads of a layer, on one colour scale from 0 to 1.

    Args:
        weights: float (head, query, key).
        query_tokens: Display strings of the rows, who reads.
        key_tokens: Display strings of the columns, who is read.
        labels: Words of the picture: "head", "weight", "reads" (between the two tokens of the hover text).
        theme: "light" or "dark".

    Returns:
        `plotly.graph_objects.Figure`; trace i is head i, its z in percent as uint8, NaN-free.
    """
    grid = _Grid(query_tokens, key_tokens, len(weights), curves=False)
    return go.Figure(_panels(weights, labels, theme), grid.layout(labels, theme))


def time_lapse(weights, steps, query_tokens, key_tokens, *, entropies, figure, labels, theme="light"):
    """Draw how the heads of a layer formed, with a slider over the steps and a button that plays them.

    Below stand the entropy of each head and one figure of the whole model over the same steps, and a line
    through both that says where the panels are.

    Args:
        weights: float (frame, head, query, key).
        steps: Step of each frame.
        query_tokens: Display strings of the rows, who reads.
        key_tokens: Display strings of the columns, who is read.
        entropies: float (frame, head), in nats.
        figure: (steps, values) of the figure that says how good the model was.
        labels: Words of the picture: as of `heads_grid`, and "step", "entropy", "figure", "play", "pause".
        theme: "light" or "dark".

    Returns:
        `plotly.graph_objects.Figure` that opens at the last frame; one frame for each step.
    """
    heads = len(weights[0])
    grid = _Grid(query_tokens, key_tokens, heads, curves=True)
    panels = _panels(weights[-1], labels, theme)
    curves = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": list(steps),
            "y": [round(float(value), 4) for value in np.asarray(entropies)[:, head]],
            "name": f"{labels['head']} {head + 1}",
            "line": {"color": HEADS[theme][head % len(HEADS[theme])], "width": 2},
            "xaxis": axis_of("x", heads),
            "yaxis": axis_of("y", heads),
            "showlegend": False,
        }
        for head in range(heads)
    ]
    good = {
        "type": "scatter",
        "mode": "lines+markers",
        "x": list(figure[0]),
        "y": list(figure[1]),
        "name": labels["figure"],
        "line": {"color": HEADS[theme][0], "width": 2.5},
        "xaxis": axis_of("x", heads + 1),
        "yaxis": axis_of("y", heads + 1),
        "showlegend": False,
    }
    tops = (np.nanmax(entropies), max([1, *figure[1]]))
    marks = [_mark(steps[-1], float(top), heads + place, theme) for place, top in enumerate(tops)]
    frames = [
        {
            "name": str(step),
            "data": [
                *({"type": "heatmap", "z": _percent(head)} for head in frame),
                *({"type": "scatter", "x": [step, step]} for _ in marks),
            ],
            "traces": [*range(heads), 2 * heads + 1, 2 * heads + 2],
        }
        for step, frame in zip(steps, weights, strict=True)
    ]
    layout = grid.layout(labels, theme) | _player(steps, labels, theme)
    for panel in (heads, heads + 1):
        layout[f"xaxis{panel + 1}"]["range"] = [0, steps[-1]]
    return go.Figure([*panels, *curves, good, *marks], layout, frames=frames)


class _Grid:
    """Where the panels stand, as shares of the plot, rows of at most `MOST_IN_A_ROW` from the top."""

    def __init__(self, query_tokens, key_tokens, heads, *, curves):
        self.rows_text, self.columns_text = (
            [axis_label(token) for token in side] for side in (query_tokens, key_tokens)
        )
        self.heads, self.curves = heads, curves
        self.columns = min(heads, MOST_IN_A_ROW)
        self.rows = math.ceil(heads / MOST_IN_A_ROW)
        self.height = self.rows * (PANEL + GAP) + (LINES + GAP if curves else 0)

    def place(self, panel):
        """Return ((left, right), (bottom, top)) of a panel."""
        row, column = divmod(panel, MOST_IN_A_ROW)
        width = 1 / self.columns
        top = 1 - (row * (PANEL + GAP) + GAP) / self.height
        left = column * width + (0.02 if column else 0)
        return (left, (column + 1) * width - 0.01), (top - PANEL / self.height, top)

    @staticmethod
    def axis(tokens, theme):
        """Return an axis whose positions are whole numbers and whose texts are the tokens."""
        return {
            "tickmode": "array",
            "tickvals": list(range(len(tokens))),
            "ticktext": tokens,
            "showticklabels": len(tokens) <= MAX_LABELS,
            "tickfont": {"size": 11, "color": TEXT[theme]},
            "ticks": "",
            "showgrid": False,
            "zeroline": False,
            "fixedrange": True,
        }

    def layout(self, labels, theme):
        """Return the layout: axes of every panel, their titles, and those of the curves."""
        axes, titles = {}, []
        slant = 0 if max(map(len, self.columns_text)) <= 2 else -90
        for panel in range(self.heads):
            (left, right), up = self.place(panel)
            number = panel + 1 if panel else ""
            axes |= {
                f"xaxis{number}": self.axis(self.columns_text, theme)
                | {"domain": (left, right), "anchor": axis_of("y", panel), "side": "top", "tickangle": slant},
                f"yaxis{number}": self.axis(self.rows_text, theme)
                | {"domain": up, "anchor": axis_of("x", panel), "autorange": "reversed"},
            }
            if panel % MOST_IN_A_ROW:
                axes[f"yaxis{number}"]["showticklabels"] = False
            name = f"{labels['head']} {panel + 1}"
            below = _words(name, (left + right) / 2, up[0], theme) | {"yanchor": "top", "xanchor": "center"}
            if self.curves:  # in the colour of its curve
                below["font"] = {"size": 12, "color": HEADS[theme][panel % len(HEADS[theme])]}
            titles.append(below)
        if self.curves:
            top = LINES / self.height
            for place, (title, across) in enumerate(
                ((labels["entropy"], (0, 0.47)), (labels["figure"], (0.55, 1)))
            ):
                number = self.heads + place + 1
                line = {"gridcolor": GRID[theme], "zeroline": False, "fixedrange": True}
                line |= {"tickfont": {"size": 11, "color": TEXT[theme]}}
                axes |= {
                    f"xaxis{number}": line | {"domain": across, "anchor": f"y{number}", "showgrid": False},
                    f"yaxis{number}": line
                    | {"domain": (0, top), "anchor": f"x{number}", "rangemode": "tozero", "nticks": 5},
                }
                titles.append(_words(title, across[0], top, theme) | {"yanchor": "bottom"})
        return {
            "height": self.height + (140 if self.curves else 40),
            "margin": {"l": 10, "r": 10, "t": 10, "b": 30},
            "font": {"color": TEXT[theme], "size": 12},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "annotations": titles,
            **axes,
        }


def axis_of(letter, panel) -> str:
    """Return Plotly's name of the axis of a panel, counted from 0."""
    return letter if panel == 0 else f"{letter}{panel + 1}"


def _panels(weights, labels, theme):
    return [
        {
            "type": "heatmap",
            "z": _percent(head),
            "zmin": 0,
            "zmax": 100,
            "colorscale": SEQUENTIAL[theme],
            "showscale": False,
            "xaxis": axis_of("x", number),
            "yaxis": axis_of("y", number),
            "xgap": 1,
            "ygap": 1,
            "name": f"{labels['head']} {number + 1}",
            "hovertemplate": f"%{{y}} {labels['reads']} %{{x}}: %{{z}} %<extra>%{{fullData.name}}</extra>",
        }
        for number, head in enumerate(weights)
    ]


def _percent(weights):
    return np.rint(np.asarray(weights, np.float32) * 100).astype(np.uint8)


def _mark(step, top, panel, theme):
    """Return the line that says at which step the panels are."""
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [step, step],
        "y": [0, top],
        "line": {"color": MUTED[theme], "width": 1.5, "dash": "dot"},
        "xaxis": axis_of("x", panel),
        "yaxis": axis_of("y", panel),
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _words(text, x, y, theme):
    return {
        "text": text,
        "x": x,
        "y": y,
        "xref": "paper",
        "yref": "paper",
        "xanchor": "left",
        "showarrow": False,
        "font": {"size": 12, "color": MUTED[theme]},
    }


def _player(steps, labels, theme):
    """Return the slider over the frames and the buttons that play and pause."""

    def go_to(names, duration):
        frame = {"duration": duration, "redraw": True}
        return [
            names,
            {"frame": frame, "mode": "immediate", "fromcurrent": True, "transition": {"duration": 0}},
        ]

    common = {"font": {"color": TEXT[theme], "size": 12}, "bordercolor": MUTED[theme], "bgcolor": GRID[theme]}
    return {
        "margin": {"l": 10, "r": 10, "t": 10, "b": 130},
        "sliders": [
            {
                "active": len(steps) - 1,
                "x": 0,
                "len": 1,
                "y": 0,
                "yanchor": "top",
                "pad": {"t": 44},
                "currentvalue": {"prefix": f"{labels['step']} ", "xanchor": "right", "font": {"size": 13}},
                "steps": [
                    {"label": str(step), "method": "animate", "args": go_to([str(step)], 0)} for step in steps
                ],
                **common,
            }
        ],
        "updatemenus": [
            {
                "type": "buttons",
                "direction": "left",
                "x": 0,
                "xanchor": "left",
                "y": 0,
                "yanchor": "top",
                "pad": {"t": 34},
                "showactive": False,
                "buttons": [
                    {"label": f"▶ {labels['play']}", "method": "animate", "args": go_to(None, 250)},
                    {"label": f"❚❚ {labels['pause']}", "method": "animate", "args": go_to([None], 0)},
                ],
                **common,
            }
        ],
    }
