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
    ("size", "height", "every"),
    [
        (MANY, SMALL, 1),
        (MANY + 1, LARGE, 1),
        (MAX_LABELS, LARGE, 1),
        (MAX_LABELS + 1, LARGE, 2),
        (150, LARGE, 4),
    ],
)
def test_many_tokens_make_it_larger_and_then_thin_their_labels_out(size, height, every):
    tokens = [f"t{i}" for i in range(size)]
    layout = matrix(np.zeros((size, size)), tokens, tokens, labels=LABELS).layout
    assert layout.height == height
    for axis in (layout.xaxis, layout.yaxis):
        assert axis.ticktext == tuple(tokens[::every])
        assert axis.tickvals == tuple(range(0, size, every))
        assert axis.showticklabels is not False


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


def test_every_cell_of_a_painted_mask_says_whether_it_may_be_read():
    [cells] = paintable_mask(MASK, ROWS, COLUMNS, labels=LABELS).data
    assert_array_equal(np.isnan(cells.z), ~MASK)
    assert_array_equal(cells.text, [["yes", "no", "yes"], ["no", "yes", "yes"]])
    assert cells.hovertemplate.startswith("%{y} attends to %{x}<br>%{text}")


def test_bars_stand_before_and_after():
    names = {"before": "own", "after": "causal"}
    before, after = before_after_bars(["bad", "$x"], [0.75, 0.25], [0.5, 0.5], labels=names).data
    assert (before.name, after.name) == ("own", "causal")
    assert_allclose([before.x, after.x], [[0.75, 0.25], [0.5, 0.5]])
    assert before.text == ("75.0%", "25.0%")
