import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from transformer_viz.network.positions import (
    position_similarity,
    position_table,
    similarity_by_distance,
    sinusoidal_rates,
)
from transformer_viz.pictures.figures import (
    dimension_curves,
    kinds_grid,
    position_heatmap,
    rotation_circles,
    similarity_map,
)

TABLE = position_table("sinusoidal", 7, 10)
LABELS = {
    name: name for name in ("position", "dimension", "value", "similarity", "distance", "mean", "wavelength")
}
ROTATION = {"position": "position", "pair": "pair {pair}: {degrees}°"}


def test_the_heatmap_holds_every_number_with_the_first_position_at_the_top():
    figure = position_heatmap(2 * TABLE, labels=LABELS)
    [heatmap] = figure.data
    assert_array_equal(heatmap.z, 2 * TABLE)
    assert (heatmap.zmin, heatmap.zmax) == (-2, 2)
    assert figure.layout.yaxis.autorange == "reversed"
    assert (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text) == ("dimension", "position")


def test_each_curve_is_one_column_over_the_positions():
    figure = dimension_curves(TABLE, [0, 9], labels=LABELS)
    for curve, dimension in zip(figure.data, (0, 9), strict=True):
        assert_array_equal(curve.y, TABLE[:, dimension])
        assert curve.name == f"dimension {dimension}"
    assert figure.layout.showlegend
    assert figure.data[0].line.color != figure.data[1].line.color


def test_of_many_curves_the_colour_says_which_come_first_and_there_is_no_legend():
    figure = dimension_curves(TABLE, list(range(10)), labels=LABELS)
    assert len({curve.line.color for curve in figure.data}) == 10
    assert not figure.layout.showlegend


def test_similarity_stands_beside_its_mean_by_distance():
    similarity = position_similarity(TABLE)
    profile = similarity_by_distance(similarity)
    heatmap, curve = similarity_map(similarity, profile, labels=LABELS).data
    assert_allclose(heatmap.z, similarity, rtol=1e-6)
    assert heatmap.zmin == -heatmap.zmax == pytest.approx(-5)
    assert_allclose(curve.y, profile, rtol=1e-6)


def test_each_kind_has_a_panel_on_its_own_scale_and_marks_after_one_wavelength():
    waves = np.array([2 * math.pi, 2 * math.pi, 70])
    tables = {"waves": TABLE[:, :3], "nothing": np.zeros((7, 3)), "gaps": np.full((7, 3), np.nan)}
    figure = kinds_grid(tables, {"waves": waves}, labels=LABELS)
    *panels, marks = figure.data
    for panel, table in zip(panels, tables.values(), strict=True):
        assert_array_equal(panel.z, table.astype("float32"))
    assert [panel.zmax for panel in panels] == [1, 1, 1]
    assert_allclose(marks.y, [2 * math.pi, 2 * math.pi, math.nan], rtol=1e-6)
    assert marks.xaxis == panels[0].xaxis
    assert figure.layout.yaxis.range == (6.5, -0.5)
    assert [note.text for note in figure.layout.annotations] == [f"<b>{name}</b>" for name in tables]
    domains = [figure.layout[axis].domain for axis in ("xaxis", "xaxis2", "xaxis3")]
    assert domains[0] == domains[2]
    assert domains[0][1] < domains[1][0]


def ends(wedge):
    """Return the angles at which a wedge begins and ends: its second point and the last but one."""
    return [math.atan2(wedge.y[i], wedge.x[i]) % (2 * math.pi) for i in (1, -2)]


@pytest.mark.parametrize("k", [1, 5, 50])
def test_in_each_circle_every_position_turns_by_the_same_angle(k):
    rates = sinusoidal_rates(10)
    figure = rotation_circles(rates, [0, 3], [0, 4, 9], k, labels=ROTATION)
    assert len(figure.data) == 2 * (1 + 3)
    for panel, pair in enumerate((0, 3)):
        for wedge, position in zip(figure.data[4 * panel + 1 : 4 * panel + 4], (0, 4, 9), strict=True):
            begin, end = ends(wedge)
            assert_allclose(math.cos(begin - position * rates[pair]), 1, atol=1e-5)
            assert_allclose(math.cos(end - begin - k * rates[pair]), 1, atol=1e-5)
            assert wedge.name == f"position {position} → {position + k}"
    assert figure.layout.annotations[0].text == f"pair 0: {math.degrees(k):,.0f}°"
