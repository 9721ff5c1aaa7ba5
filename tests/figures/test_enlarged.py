"""Figures for a projector: everything in pixels is larger, the data and the colours are not touched."""

import re

import numpy as np
import pytest

from transformer_viz.pictures.figures import (
    dimension_curves,
    enlarged,
    kinds_grid,
    position_heatmap,
    rotation_circles,
    similarity_map,
)
from transformer_viz.pictures.figures.enlarged import PROJECTED
from transformer_viz.pictures.views.modules import FOLDER

TABLE = np.linspace(-1, 1, 35, dtype=np.float32).reshape(5, 7)
WORDS = ("position", "dimension", "value", "similarity", "distance", "mean", "wavelength")
LABELS = {word: word for word in WORDS} | {"pair": "{pair} {degrees}"}

FIGURES = {
    "heatmap": lambda: position_heatmap(TABLE, labels=LABELS),
    "curves": lambda: dimension_curves(TABLE, [0, 3], labels=LABELS),
    "similarity": lambda: similarity_map(TABLE @ TABLE.T, TABLE[0, :5], labels=LABELS),
    "kinds": lambda: kinds_grid({"a": TABLE, "b": TABLE}, {"a": np.arange(7)}, labels=LABELS),
    "rotation": lambda: rotation_circles(np.array([1.0, 0.1]), [0, 1], [0, 7], 5, labels=LABELS),
}


def measures(drawn, wanted, path=()):
    """Return path -> number, for every number in a figure under a name of `wanted`."""
    found = {}
    for name, value in drawn.items() if isinstance(drawn, dict) else enumerate(drawn):
        if isinstance(value, dict | list | tuple):
            found |= measures(value, wanted, (*path, name))
        elif name in wanted:
            found[(*path, name)] = value
    return found


@pytest.mark.parametrize("name", FIGURES)
def test_letters_have_at_least_18_pixels_and_lines_and_the_figure_are_larger(name):
    usual, large = FIGURES[name](), enlarged(FIGURES[name]())
    before, after = (measures(figure.to_dict(), {"size", "width"}) for figure in (usual, large))
    letters = [size for path, size in after.items() if "font" in path[-2] and path[-1] == "size"]
    assert min(letters) >= 18
    axes = [axis for axis in large.to_dict()["layout"] if re.match("[xy]axis", axis)]
    assert {path[1] for path in after if "tickfont" in path} >= set(axes)
    assert all(after[path] > number for path, number in before.items() if number > 0)
    assert large.layout.height == pytest.approx(PROJECTED * usual.layout.height)


def test_the_data_stay_as_they_are():
    usual, large = FIGURES["heatmap"](), enlarged(FIGURES["heatmap"]())
    before, after = (figure.to_plotly_json()["data"][0] for figure in (usual, large))
    assert {name: after[name] for name in ("z", "zmin", "zmax", "colorscale")} == {
        name: before[name] for name in ("z", "zmin", "zmax", "colorscale")
    }
    assert large.layout.xaxis.title.text == usual.layout.xaxis.title.text


def test_figures_and_views_are_enlarged_alike():
    assert re.search(r"PROJECTED = ([\d.]+);", (FOLDER / "enlarged.js").read_text("utf-8"))[1] == str(
        PROJECTED
    )
