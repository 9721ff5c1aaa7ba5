"""A training while it runs: loss and one figure over the steps, of the rows trained on and held out."""

import plotly.graph_objects as go

from transformer_viz.figures.theme import GRID, MUTED, SIDES, TEXT

HEIGHT = 250
"""Pixels of the whole plot."""


def learning_curves(steps, epochs, *, figure, total_steps, labels, theme="light"):
    """Draw the loss and one figure over the steps, side by side.

    Args:
        steps: One dict for each moment of the training rows: "step", "loss" and `figure`.
        epochs: One dict for each epoch: "step", "val_loss" and "val_" + `figure`.
        figure: Name of the second panel's figure.
        total_steps: Steps there will be at most: the axes end there, so that they stand still.
        labels: Words of the picture: "step", "loss", "figure", "train", "validation".
        theme: "light" or "dark".

    Returns:
        `plotly.graph_objects.Figure`: for each panel a trace of the training and one of the validation rows.
    """
    traces, axes, titles = [], {}, []
    for place, (key, title) in enumerate((("loss", labels["loss"]), (figure, labels["figure"]))):
        number = place + 1 if place else ""
        for rows, prefix, side, mode in (
            (steps, "", "train", "lines"),
            (epochs, "val_", "validation", "lines+markers"),
        ):
            traces.append(
                {
                    "type": "scatter",
                    "mode": mode,
                    "x": [row["step"] for row in rows],
                    "y": [row[prefix + key] for row in rows],
                    "name": labels[side],
                    "legendgroup": side,
                    "showlegend": not place,
                    "xaxis": f"x{number}",
                    "yaxis": f"y{number}",
                    "line": {"color": SIDES[theme][side], "width": 2.5 if prefix else 1.5},
                    "marker": {"size": 8},
                    "hovertemplate": f"{labels[side]}: %{{y:.4f}}<extra></extra>",
                }
            )
        common = {"gridcolor": GRID[theme], "zeroline": False, "fixedrange": True}
        common["tickfont"] = {"size": 12, "color": TEXT[theme]}
        axes[f"xaxis{number}"] = common | {
            "domain": [0.58, 1] if place else [0, 0.42],
            "anchor": f"y{number}",
            "range": [0, total_steps],
            "showgrid": False,
            "title": {"text": labels["step"], "font": {"size": 12, "color": MUTED[theme]}},
        }
        axes[f"yaxis{number}"] = common | {
            "anchor": f"x{number}",
            "rangemode": "tozero",
            "automargin": True,
        }
        titles.append(
            {
                "text": title,
                "x": 0.58 if place else 0,
                "y": 1.02,
                "xref": "paper",
                "yref": "paper",
                "xanchor": "left",
                "yanchor": "bottom",
                "showarrow": False,
                "font": {"size": 13, "color": MUTED[theme]},
            }
        )
    axes["yaxis2"] |= {"range": [0, 1.02], "tickformat": ".0%"}
    layout = {
        "height": HEIGHT,
        "margin": {"l": 10, "r": 10, "t": 30, "b": 10},
        "font": {"color": TEXT[theme], "size": 13},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "hovermode": "x unified",
        "legend": {"orientation": "h", "x": 1, "xanchor": "right", "y": -0.28, "yanchor": "top"},
        "annotations": titles,
        **axes,
    }
    return go.Figure(traces, layout)
