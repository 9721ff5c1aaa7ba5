import numpy as np
import pytest
from numpy.testing import assert_array_equal

from transformer_viz.figures import weights_heatmap
from transformer_viz.figures.heatmap import MAX_LABELS, axis_label

LABELS = {"query": "reads", "key": "is read", "weight": "weight", "reads": "attends to"}
WEIGHTS = np.array([[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]])


def draw(weights=WEIGHTS, rows=("the", "cat"), columns=("the", "dog", "the"), **options):
    return weights_heatmap(weights, rows, columns, labels=LABELS, **options)


def test_rows_read_and_columns_are_read_from_the_top_left():
    figure = draw()
    assert_array_equal(figure.data[0].z, WEIGHTS.astype("float32"))
    assert figure.layout.xaxis.title.text == "is read"
    assert figure.layout.yaxis.title.text == "reads"
    assert figure.layout.yaxis.autorange == "reversed"
    assert figure.layout.xaxis.side == "top"


def test_equal_tokens_keep_their_own_columns():
    axis = draw().layout.xaxis
    assert (axis.tickvals, axis.ticktext) == ((0, 1, 2), ("the", "dog", "the"))


def test_values_travel_as_float32():
    assert draw().data[0].z.dtype == np.float32


def test_masked_cells_are_gaps_and_do_not_set_the_scale():
    mask = np.array([[True, True, False], [True, True, True]])
    trace = draw(mask=mask, vmax=0.5).data[0]
    assert_array_equal(np.isnan(trace.z), ~mask)
    assert (trace.zmin, trace.zmax, trace.hoverongaps) == (0, 0.5, False)


def test_the_scale_is_zero_to_one_unless_said_otherwise():
    assert (draw().data[0].zmin, draw().data[0].zmax) == (0, 1)


def test_the_exact_value_and_the_direction_stand_in_the_hover_text():
    template = draw().data[0].hovertemplate
    assert template == "%{y} attends to %{x}<br>weight: %{z:.4f}<extra></extra>"


@pytest.mark.parametrize(
    ("token", "label"),
    [
        ("<b>", "&lt;b&gt;"),
        ("<br />", "&lt;br /&gt;"),
        ("$x$", "&#36;x&#36;"),
        ("a&amp;b", "a&amp;amp;b"),
        ("\x00", "␀"),
        ("\u202e", "⟨U+202E⟩"),
        ("好", "好"),
        ("", "␠"),
    ],
)
def test_no_token_is_markup_or_invisible(token, label):
    assert axis_label(token) == label
    assert draw(columns=("the", token, "the")).layout.xaxis.ticktext[1] == label


def test_of_many_tokens_every_nth_is_written_and_none_of_the_cells_is_lost():
    size = 2 * MAX_LABELS + 1
    tokens = [f"t{i}" for i in range(size)]
    figure = draw(np.zeros((size, size)), tokens, tokens)
    assert figure.layout.xaxis2.ticktext[:2] == ("t0", "t5")
    assert figure.layout.yaxis2.ticktext[:2] == ("t0", "t3")
    assert figure.layout.xaxis.ticktext == tuple(tokens)
    assert not figure.layout.xaxis.showticklabels
    assert figure.data[0].z.shape == (size, size)


def test_weights_that_do_not_fit_the_tokens_are_refused():
    with pytest.raises(ValueError, match=r"must be \(query, key\) = \(2, 3\).* Received shape \(3, 2\)"):
        draw(WEIGHTS.T)
