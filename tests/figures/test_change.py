import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from transformer_viz.pictures.figures import attention_change
from transformer_viz.pictures.figures.change import LINE, LONGEST, MAX_CELLS, MAX_LABELS

LABELS = {name: name for name in ("before", "after", "difference", "weight", "reads", "query", "key")}
BEFORE = np.array([[0.5, 0.5, 0], [0.1, 0.2, 0.7], [0, 0, 1]])
AFTER = np.array([[0.25, 0.75, 0], [0.1, 0.2, 0.7], [1, 0, 0]])


def draw(before=BEFORE, after=AFTER, tokens=("the", "<b>", "the"), **options):
    return attention_change(before, after, tokens, labels=LABELS, **options)


def heatmaps(*args, **options):
    return [figure.data[0] for figure in draw(*args, **options)]


def of_tokens(tokens):
    """Return the layout of a panel of these tokens."""
    return draw(np.eye(len(tokens)), np.eye(len(tokens)), tokens)[0].layout


def square(layout):
    """Return width and height of what is inside the margins."""
    margin = layout.margin
    return layout.width - margin.l - margin.r, layout.height - margin.t - margin.b


def test_before_and_after_share_a_scale_and_the_difference_is_centred_on_zero():
    one, other, change = heatmaps()
    assert_allclose(one.z, BEFORE)
    assert_allclose(other.z, AFTER)
    assert_allclose(change.z, AFTER - BEFORE, atol=1e-7)
    assert (one.zmin, one.zmax) == (other.zmin, other.zmax) == (0, 1)
    assert (change.zmin, change.zmax) == (-1, 1)


def test_rounding_is_not_blown_up_to_a_difference():
    change = heatmaps(after=BEFORE + 1e-8)[2]
    assert change.zmax == 1


def test_a_cell_is_a_gap_where_it_was_masked_and_a_difference_where_it_was_not_both_times():
    lower = np.tril(np.ones((3, 3), bool))
    one, other, change = heatmaps(masks=(lower, lower.T))
    assert_array_equal(np.isnan(one.z), ~lower)
    assert_array_equal(np.isnan(other.z), ~lower.T)
    assert not np.isnan(change.z).any()
    assert_array_equal(np.isnan(heatmaps(masks=(lower, lower))[2].z), ~lower)


def test_tokens_are_no_markup_and_each_panel_names_its_rows_and_columns():
    for figure in draw():
        layout = figure.layout
        for axis in (layout.xaxis, layout.yaxis, layout.xaxis2, layout.yaxis2):
            assert axis.ticktext == ("the", "&lt;b&gt;", "the")
        assert layout.yaxis.autorange == "reversed"
        assert [layout[axis].showticklabels for axis in ("xaxis", "yaxis", "xaxis2", "yaxis2")] == [
            False,
            False,
            True,
            True,
        ]


def test_the_name_of_a_panel_stands_above_it_and_its_colour_bar_below_as_wide_as_it():
    for figure, name in zip(draw(), ("before", "after", "difference"), strict=True):
        title, columns, rows = figure.layout.annotations
        assert (title.text, columns.text, rows.text) == (f"<b>{name}</b>", "key", "query")
        assert title.y == columns.y == 1
        assert 0 < title.yshift <= figure.layout.margin.t
        assert (rows.textangle, rows.xanchor) == (-90, "center")
        assert -figure.layout.margin.l < rows.xshift < 0
        bar = figure.data[0].colorbar
        assert (bar.x, bar.len, bar.xpad, bar.y, bar.yanchor) == (0.5, 1, 0, 0, "top")
        assert bar.tickvals == (figure.data[0].zmin, sum(bar.tickvals) / 3, figure.data[0].zmax)


@pytest.mark.parametrize("size", [1, 2, 5, 18, 40, 41, 400])
@pytest.mark.parametrize("token", ["好", "a", "station", "[START]", "x" * 60])
def test_cells_are_square_whatever_the_window(size, token):
    layout = of_tokens([token] * size)
    width, height = square(layout)
    assert width == height >= 200
    assert not layout.margin.autoexpand


def test_all_tokens_are_written_where_they_have_room_and_every_nth_only_beyond():
    for size in range(1, MAX_LABELS + 1):
        layout = of_tokens([f"t{i}" for i in range(size)])
        step = square(layout)[0] / size
        written = layout.xaxis2.ticktext
        assert written == layout.yaxis2.ticktext
        if step >= LINE:
            assert len(written) == size
        else:
            assert len(written) == -(-size // 2)
        assert len(layout.xaxis.ticktext) == size
    assert len(of_tokens(["uncharacteristic"] * 20).xaxis2.ticktext) == 20  # names give way to cells
    assert len(of_tokens(list("房间很干净，服务也很好，下次还会来。")).xaxis2.ticktext) == 18


def test_characters_lie_flat_and_long_words_stand_upright_and_are_cut():
    assert of_tokens(["好"] * 24).xaxis2.tickangle == 0
    assert of_tokens(["station"] * 3).xaxis2.tickangle == 0
    assert of_tokens(["station"] * 12).xaxis2.tickangle == -90
    layout = of_tokens(["x" * 20])
    assert layout.xaxis2.ticktext[0].endswith("…")
    assert layout.xaxis.ticktext == ("x" * 20,)
    assert layout.margin.l < LONGEST + 40


@pytest.mark.parametrize("change", [0.37, 0.097, 0.0012, 0.00012, 1.2e-5])
def test_the_numbers_at_the_ends_of_a_colour_bar_have_room(change):
    before = np.full((3, 3), 0.25)
    figure = draw(before, before + change)[2]
    least, _, most = figure.data[0].colorbar.ticktext
    margin = figure.layout.margin
    assert 5.7 * len(least) / 2 <= margin.l
    assert 5.7 * len(most) / 2 <= margin.r


def test_many_tokens_are_not_written():
    layout = of_tokens([f"t{i}" for i in range(MAX_LABELS + 1)])
    assert not any(layout[axis].showticklabels for axis in ("xaxis", "yaxis", "xaxis2", "yaxis2"))
    assert layout.xaxis.ticktext[-1] == f"t{MAX_LABELS}"
    assert layout.margin.t < of_tokens(["a"]).margin.t  # no room is kept for them


def test_of_very_many_tokens_a_cell_is_the_strongest_of_its_block():
    size = 2 * MAX_CELLS + 1
    before, after = np.zeros((size, size)), np.zeros((size, size))
    before[4, 7], after[4, 8] = 0.5, 0.25
    figures = draw(before, after, [f"t{i}" for i in range(size)])
    one, other, change = (np.asarray(figure.data[0].z) for figure in figures)
    assert one.shape == other.shape == change.shape == (-(-size // 3),) * 2
    assert (one[1, 2], other[1, 2], change[1, 2]) == (0.5, 0.25, -0.5)
    assert figures[0].layout.xaxis.ticktext[1] == "t3 … t5"
    assert figures[0].layout.xaxis.ticktext[-1] == "t318 … t320"


def test_weights_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"must be \(query, key\) = \(2, 2\).*\(3, 3\) and \(3, 3\)"):
        draw(tokens=("a", "b"))
