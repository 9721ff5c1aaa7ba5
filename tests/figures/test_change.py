import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from transformer_viz.figures import attention_change
from transformer_viz.figures.change import ACROSS, MAX_CELLS, MAX_LABELS

LABELS = {name: name for name in ("before", "after", "difference", "weight", "reads")}
BEFORE = np.array([[0.5, 0.5, 0], [0.1, 0.2, 0.7], [0, 0, 1]])
AFTER = np.array([[0.25, 0.75, 0], [0.1, 0.2, 0.7], [1, 0, 0]])


def draw(before=BEFORE, after=AFTER, tokens=("the", "<b>", "the"), **options):
    return attention_change(before, after, tokens, labels=LABELS, **options)


def test_before_and_after_share_a_scale_and_the_difference_is_centred_on_zero():
    one, other, change, *_ = draw().data
    assert_allclose(one.z, BEFORE)
    assert_allclose(other.z, AFTER)
    assert_allclose(change.z, AFTER - BEFORE, atol=1e-7)
    assert (one.zmin, one.zmax) == (other.zmin, other.zmax) == (0, 1)
    assert (change.zmin, change.zmax) == (-1, 1)


def test_rounding_is_not_blown_up_to_a_difference():
    change = draw(after=BEFORE + 1e-8).data[2]
    assert change.zmax == 1


def test_a_cell_is_a_gap_where_it_was_masked_and_a_difference_where_it_was_not_both_times():
    lower = np.tril(np.ones((3, 3), bool))
    one, other, change, *_ = draw(masks=(lower, lower.T)).data
    assert_array_equal(np.isnan(one.z), ~lower)
    assert_array_equal(np.isnan(other.z), ~lower.T)
    assert not np.isnan(change.z).any()
    assert_array_equal(np.isnan(draw(masks=(lower, lower)).data[2].z), ~lower)


def test_tokens_are_no_markup_and_only_the_first_panel_names_its_rows():
    layout = draw().layout
    assert layout.xaxis3.ticktext == layout.xaxis6.ticktext == ("the", "&lt;b&gt;", "the")
    assert layout.yaxis.autorange == "reversed"
    assert layout.yaxis4.ticktext == ("the", "&lt;b&gt;", "the")
    assert [layout[f"yaxis{axis}"].showticklabels for axis in ("", 2, 3, 4)] == [False, False, False, True]


def test_where_there_is_no_room_every_nth_token_is_written_and_hovering_names_each():
    tokens = [f"t{i}" for i in range(2 * ACROSS)]
    layout = draw(np.eye(len(tokens)), np.eye(len(tokens)), tokens).layout
    assert layout.xaxis4.ticktext == tuple(tokens[::2])
    assert layout.xaxis.ticktext == tuple(tokens)


def test_many_tokens_are_not_written():
    size = MAX_LABELS + 1
    figure = draw(np.eye(size), np.eye(size), [f"t{i}" for i in range(size)])
    assert not any(figure.layout[f"xaxis{axis}"].showticklabels for axis in range(4, 7))
    assert figure.layout.xaxis.ticktext[-1] == f"t{MAX_LABELS}"


def test_of_very_many_tokens_a_cell_is_the_strongest_of_its_block():
    size = 2 * MAX_CELLS + 1
    before, after = np.zeros((size, size)), np.zeros((size, size))
    before[4, 7], after[4, 8] = 0.5, 0.25
    figure = draw(before, after, [f"t{i}" for i in range(size)])
    one, other, change = (np.asarray(trace.z) for trace in figure.data[:3])
    assert one.shape == other.shape == change.shape == (-(-size // 3),) * 2
    assert (one[1, 2], other[1, 2], change[1, 2]) == (0.5, 0.25, -0.5)
    assert figure.layout.xaxis.ticktext[1] == "t3 … t5"
    assert figure.layout.xaxis.ticktext[-1] == "t318 … t320"


def test_weights_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"must be \(query, key\) = \(2, 2\).*\(3, 3\) and \(3, 3\)"):
        draw(tokens=("a", "b"))
