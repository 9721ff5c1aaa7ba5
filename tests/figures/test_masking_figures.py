import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from transformer_viz.figures import before_after_bars, matrix, matrix_with_sums, paintable_mask
from transformer_viz.figures.masking import LARGE, MANY, MAX_LABELS, SMALL
from transformer_viz.figures.theme import DIVERGING, GAP, SEQUENTIAL

LABELS = {"value": "score", "reads": "attends to", "sum": "row sum", "may": "yes", "may_not": "no"}
VALUES = np.array([[0.1, np.nan, 0.7], [0.5, 0.25, 0.25]])
MASK = np.array([[True, False, True], [False, True, True]])
ROWS, COLUMNS = ("the", "<b>"), ("the", "dog", "the")


def test_a_matrix_holds_its_values_with_gaps():
    trace = matrix(VALUES, ROWS, COLUMNS, labels=LABELS, limit=0.7).data[0]
    assert_allclose(trace.z, VALUES.astype(np.float32))
    assert trace.z.dtype == np.float32
    assert (trace.zmin, trace.zmax, trace.hoverongaps) == (0, 0.7, False)
    assert trace.colorbar.ticktext == ("0", "0.7")
    assert trace.colorscale[0][1] == SEQUENTIAL["light"][0][1]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_signed_values_are_centred_on_zero(theme):
    figure = matrix(VALUES - 0.3, ROWS, COLUMNS, labels=LABELS, limit=2.5, signed=True, theme=theme)
    assert (figure.data[0].zmin, figure.data[0].zmax) == (-2.5, 2.5)
    assert figure.data[0].colorscale[2] == (0.5, DIVERGING[theme][2][1])
    assert figure.layout.shapes[0].fillcolor == GAP[theme]


def test_the_first_token_is_top_left_and_equal_tokens_keep_their_columns():
    layout = matrix(VALUES, ROWS, COLUMNS, labels=LABELS).layout
    assert layout.yaxis.range == (1.5, -0.5)
    assert layout.xaxis.side == "top"
    assert layout.xaxis.ticktext == COLUMNS
    assert layout.yaxis.ticktext == ("the", "&lt;b&gt;")


@pytest.mark.parametrize(
    ("size", "height", "shown"),
    [(MANY, SMALL, True), (MANY + 1, LARGE, True), (MAX_LABELS, LARGE, True), (MAX_LABELS + 1, LARGE, False)],
)
def test_many_tokens_make_it_larger_and_then_unlabelled(size, height, shown):
    layout = matrix(np.zeros((size, size)), ["t"] * size, ["t"] * size, labels=LABELS).layout
    assert (layout.height, layout.xaxis.showticklabels, layout.yaxis.showticklabels) == (height, shown, shown)


def test_values_that_do_not_fit_the_tokens_are_refused():
    with pytest.raises(ValueError, match=r"must be \(query, key\) = \(3, 2\).* Received shape \(2, 3\)"):
        matrix(VALUES, COLUMNS, ROWS, labels=LABELS)


def test_row_sums_stand_beside_their_rows():
    values = np.array([[0.25, 0.25, 0], [0.5, 0.25, 0.25]])
    weights, sums = matrix_with_sums(values, ROWS, COLUMNS, sums=values.sum(axis=1), labels=LABELS).data
    assert_allclose(weights.z, values)
    assert_allclose(sums.x, [0.5, 1])
    assert (tuple(sums.y), sums.text, sums.orientation) == ((0, 1), ("0.50", "1.00"), "h")
    assert sums.marker.color[0] != sums.marker.color[1]


def test_every_cell_of_a_painted_mask_has_a_point_row_by_row():
    cells, points = paintable_mask(MASK, ROWS, COLUMNS, labels=LABELS).data
    assert_array_equal(np.isnan(cells.z), ~MASK)
    assert_array_equal(points.y, [0, 0, 0, 1, 1, 1])
    assert_array_equal(points.x, [0, 1, 2, 0, 1, 2])
    assert points.text == ("yes", "no", "yes", "no", "yes", "yes")


def test_a_painted_mask_is_clicked_or_marked_with_a_box():
    first, second = (paintable_mask(MASK, ROWS, COLUMNS, labels=LABELS, revision=i) for i in (1, 2))
    assert (first.layout.clickmode, first.layout.dragmode) == ("event+select", "pan")
    assert first.to_json() != second.to_json()
    assert paintable_mask(MASK, ROWS, COLUMNS, labels=LABELS, box=True).layout.dragmode == "select"


def test_bars_stand_before_and_after():
    names = {"before": "own", "after": "causal"}
    before, after = before_after_bars(["bad", "$x"], [0.75, 0.25], [0.5, 0.5], labels=names).data
    assert (before.name, after.name) == ("own", "causal")
    assert_allclose([before.x, after.x], [[0.75, 0.25], [0.5, 0.5]])
    assert before.text == ("75.0%", "25.0%")
