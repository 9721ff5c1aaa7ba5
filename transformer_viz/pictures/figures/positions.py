"""Figures of position encodings: heatmap, curves, similarity of positions, comparison of kinds."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike
from plotly.colors import sample_colorscale

from transformer_viz.pictures.figures.panels import (
    axis_of,
    bare_layout,
    number_axis,
    panel_words,
    signed_heatmap,
)
from transformer_viz.pictures.theme import BACKGROUND, HEADS, MUTED, TEXT, largest

HEIGHT = 440
"""Height of a figure of one table, in pixels."""

PANEL, GAP = 190, 74
"""Height of a panel in `kinds_grid` and of the gap between two rows, in pixels."""

BETWEEN = 0.06
"""Gap between two columns of panels, as a fraction of the width."""

SPECTRUM = {
    "light": [[0, "#d1632b"], [0.5, "#9b4fb0"], [1, "#1f6fb2"]],
    "dark": [[0, "#f0935e"], [0.5, "#c58ad8"], [1, "#3fa7c4"]],
}
"""Colour scale over the dimensions, for more curves than `HEADS` has colours."""


def position_heatmap(table: np.ndarray, *, labels: Mapping[str, str], theme: str = "light") -> go.Figure:
    """Draw a position encoding table as a heatmap.

    Args:
        table: float (position, dimension), signed.
        labels: Axis titles: "position", "dimension", "value".
        theme: "light" or "dark".

    Returns:
        One heatmap, position 0 at the top, colours centred on zero.
    """
    bar = {"title": {"text": labels["value"], "side": "right"}, "thickness": 12, "outlinewidth": 0}
    heatmap = signed_heatmap(
        table, largest(table), theme, colorbar=bar, hovertemplate=_hover(labels, "%{z:.3f}")
    )
    layout = bare_layout(
        theme,
        HEIGHT,
        xaxis=number_axis(labels["dimension"], theme, side="top"),
        yaxis=number_axis(labels["position"], theme, autorange="reversed"),
    )
    return go.Figure([heatmap], layout)


def dimension_curves(
    table: ArrayLike, dimensions: Sequence[int], *, labels: Mapping[str, str], theme: str = "light"
) -> go.Figure:
    """Draw columns of a position encoding table as curves over the positions.

    Args:
        table: float (position, dimension).
        dimensions: Columns to draw.
        labels: Axis titles: "position", "dimension", "value".
        theme: "light" or "dark".

    Returns:
        One named curve per column; with a legend if there are at most as many as `HEADS` has colours,
        otherwise coloured by dimension.
    """
    table = np.asarray(table, dtype=np.float32)
    shares = [dimension / max(table.shape[1] - 1, 1) for dimension in dimensions]
    columns = {f"{labels['dimension']} {dimension}": table[:, dimension] for dimension in dimensions}
    return _curves(np.arange(len(table)), columns, shares, labels["position"], labels["value"], theme)


def distance_curves(
    bias: ArrayLike, distances: ArrayLike, *, labels: Mapping[str, str], theme: str = "light"
) -> go.Figure:
    """Draw the relative position bias of each head as curves over the distance.

    Args:
        bias: float (distance, head).
        distances: int (distance,), key - query.
        labels: "head", with a place for its {number}, and the axis titles "offset" and "bias".
        theme: "light" or "dark".

    Returns:
        One named curve per head; with a legend if there are at most as many as `HEADS` has colours, otherwise
        coloured by number.
    """
    bias = np.asarray(bias, dtype=np.float32)
    heads = bias.shape[1]
    columns = {labels["head"].format(number=head + 1): bias[:, head] for head in range(heads)}
    shares = [head / max(heads - 1, 1) for head in range(heads)]
    return _curves(distances, columns, shares, labels["offset"], labels["bias"], theme)


def distance_heatmap(
    bias: np.ndarray, distances: ArrayLike, *, labels: Mapping[str, str], theme: str = "light"
) -> go.Figure:
    """Draw the relative position bias of each head as a heatmap: head 1 at the top, colours centred on zero.

    Arguments as for `distance_curves`.
    """
    names = [labels["head"].format(number=head + 1) for head in range(bias.shape[1])]
    bar = {"title": {"text": labels["bias"], "side": "right"}, "thickness": 12, "outlinewidth": 0}
    hover = f"%{{y}} · {labels['offset']} %{{x}}<br>{labels['bias']}: %{{z:.3f}}<extra></extra>"
    heatmap = signed_heatmap(
        bias.T, largest(bias), theme, x=np.asarray(distances), y=names, colorbar=bar, hovertemplate=hover
    )
    layout = bare_layout(
        theme,
        HEIGHT,
        xaxis=number_axis(labels["offset"], theme, side="top"),
        yaxis=number_axis(None, theme, autorange="reversed"),
    )
    return go.Figure([heatmap], layout)


def _curves(x, columns, shares, x_title, y_title, theme):
    """Return a figure of named curves; if they are many, coloured by their shares of the spectrum."""
    few = len(columns) <= len(HEADS[theme])
    colours = HEADS[theme] if few else sample_colorscale(SPECTRUM[theme], shares)
    curves = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": x,
            "y": column,
            "name": name,
            "line": {"color": colours[number], "width": 2.2 if few else 1},
            "hovertemplate": f"%{{fullData.name}} · {x_title} %{{x}}: %{{y:.3f}}<extra></extra>",
        }
        for number, (name, column) in enumerate(columns.items())
    ]
    layout = bare_layout(
        theme,
        HEIGHT,
        showlegend=few,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        xaxis=number_axis(x_title, theme),
        yaxis=number_axis(y_title, theme, showgrid=True, rangemode="tozero"),
    )
    return go.Figure(curves, layout)


def similarity_map(
    similarity: np.ndarray, profile: ArrayLike, *, labels: Mapping[str, str], theme: str = "light"
) -> go.Figure:
    """Draw the similarity of positions, and its mean over their distance.

    Args:
        similarity: float (position, position).
        profile: float (position,), the mean at each distance.
        labels: Axis titles: "position", "similarity", "distance", "mean".
        theme: "light" or "dark".

    Returns:
        A heatmap centred on zero, and the profile as a curve beside it.
    """
    hover = f"{labels['position']} %{{y}} · %{{x}}<br>{labels['similarity']}: %{{z:.3f}}<extra></extra>"
    bar = {"orientation": "h", "thickness": 10, "outlinewidth": 0, "nticks": 5}
    bar |= {"x": 0.24, "len": 0.36, "y": 0, "yanchor": "bottom"}
    heatmap = signed_heatmap(similarity, largest(similarity), theme, colorbar=bar, hovertemplate=hover)
    curve = {
        "type": "scatter",
        "mode": "lines",
        "y": np.asarray(profile, dtype=np.float32),
        "line": {"color": HEADS[theme][1], "width": 2.5},
        "xaxis": "x2",
        "yaxis": "y2",
        "hovertemplate": f"{labels['distance']} %{{x}}: %{{y:.3f}}<extra></extra>",
    }
    square = {"constrain": "domain", "constraintoward": "top"}
    layout = bare_layout(
        theme,
        HEIGHT,
        xaxis=number_axis(labels["position"], theme, domain=[0, 0.48], side="top", constrain="domain"),
        yaxis=number_axis(labels["position"], theme, domain=[0.12, 1], scaleanchor="x", **square)
        | {"autorange": "reversed"},
        xaxis2=number_axis(labels["distance"], theme, domain=[0.6, 1], anchor="y2"),
        yaxis2=number_axis(labels["mean"], theme, anchor="x2", showgrid=True, zeroline=True)
        | {"zerolinecolor": MUTED[theme], "rangemode": "tozero"},
    )
    return go.Figure([heatmap, curve], layout)


def kinds_grid(
    tables: Mapping[str, np.ndarray],
    wavelengths: Mapping[str, np.ndarray],
    *,
    labels: Mapping[str, str],
    columns: int = 2,
    theme: str = "light",
) -> go.Figure:
    """Draw position encoding tables of several kinds, each on its own scale centred on zero.

    Args:
        tables: Title -> float (position, dimension); NaN where a position has no row.
        wavelengths: Title -> float (dimension,), wavelength of each column in tokens; only for titles that
            have one.
        labels: Axis titles: "position", "dimension", "value", "wavelength".
        columns: Panels per row.
        theme: "light" or "dark".

    Returns:
        One heatmap per table, in order, then one trace of markers per entry of `wavelengths`.
    """
    rows = math.ceil(len(tables) / columns)
    height = rows * (PANEL + GAP)
    traces, lines, axes, words = [], [], {}, []
    for panel, (title, table) in enumerate(tables.items()):
        row, column = divmod(panel, columns)
        width = (1 - BETWEEN * (columns - 1)) / columns
        left, right = column * (width + BETWEEN), column * (width + BETWEEN) + width
        top = 1 - (row * (PANEL + GAP)) / height
        place = {"xaxis": axis_of("x", panel), "yaxis": axis_of("y", panel)}
        hover = f"{title}<br>" + _hover(labels, "%{z:.3f}")
        traces.append(
            signed_heatmap(table, largest(table), theme, showscale=False, hovertemplate=hover, **place)
        )
        number = panel + 1 if panel else ""
        lowest = panel + columns >= len(tables)
        axes[f"xaxis{number}"] = number_axis(
            labels["dimension"] if lowest else None,
            theme,
            domain=[left, right],
            anchor=place["yaxis"],
            range=[-0.5, table.shape[1] - 0.5],
        )
        axes[f"yaxis{number}"] = number_axis(
            None if column else labels["position"],
            theme,
            domain=[top - PANEL / height, top],
            anchor=place["xaxis"],
            range=[len(table) - 0.5, -0.5],
        )
        words.append(
            panel_words(f"<b>{title}</b>", theme, x=left, y=top, xanchor="left", yanchor="bottom")
            | {"font": {"size": 14, "color": TEXT[theme]}}
        )
        if title in wavelengths:
            lines.append(_waves(wavelengths[title], len(table), labels, theme, place))
    return go.Figure([*traces, *lines], bare_layout(theme, height + 30, annotations=words, **axes))


def _waves(lengths, rows, labels, theme, place):
    """Return a marker at the wavelength of each column, if it is within the table."""
    lengths = np.asarray(lengths, dtype=np.float32)
    return {
        "type": "scatter",
        "mode": "markers",
        "x": np.arange(len(lengths)),
        "y": np.where(lengths < rows, lengths, np.float32("nan")),
        "customdata": lengths,
        "marker": {"color": BACKGROUND[theme], "size": 7, "line": {"color": TEXT[theme], "width": 1.5}},
        "hovertemplate": f"{labels['wavelength']}: %{{customdata:,.1f}}<extra></extra>",
        **place,
    }


def _hover(labels, value):
    return (
        f"{labels['position']} %{{y}} · {labels['dimension']} %{{x}}<br>"
        f"{labels['value']}: {value}<extra></extra>"
    )
