import base64
import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from transformer_viz.pictures.views import MAX_CELLS, attention_change

LABELS = {name: name for name in ("weight", "reads", "query", "key")}
BEFORE = np.array([[0.5, 0.5, 0], [0.1, 0.2, 0.7], [0, 0, 1]])
AFTER = np.array([[0.25, 0.75, 0], [0.1, 0.2, 0.7], [1, 0, 0]])


def panels(before=BEFORE, after=AFTER, tokens=("the", "<b>", "the"), **options):
    """Return before, after and the difference as the browser reads them."""
    drawn = attention_change(before, after, tokens, labels=LABELS, **options)
    assert list(drawn) == ["before", "after", "difference"]
    return json.loads(json.dumps(list(drawn.values())))


def numbers(panel):
    values = np.frombuffer(base64.b64decode(panel["values"]), np.float32)
    return values.reshape(len(panel["rows"]), len(panel["columns"]))


def test_before_and_after_share_a_scale_and_the_difference_is_centred_on_zero():
    one, other, change = panels()
    assert_allclose(numbers(one), BEFORE)
    assert_allclose(numbers(other), AFTER)
    assert_allclose(numbers(change), AFTER - BEFORE, atol=1e-7)
    assert one["limit"] == other["limit"] == change["limit"] == 1
    assert [panel["signed"] for panel in (one, other, change)] == [False, False, True]


@pytest.mark.parametrize("keys", [3, 5])
def test_the_scale_of_uniform_weights_ends_at_three_times_them(keys):
    weights, mask = np.zeros((6, 6)), np.arange(6) < keys
    weights[:, :keys] = 1 / keys
    assert_allclose(
        [panel["limit"] for panel in panels(weights, weights, [*"abcdef"], masks=[mask] * 2)], 3 / keys
    )


def test_rounding_is_not_blown_up_to_a_difference():
    change = panels(after=BEFORE + 1e-8)[2]
    assert change["limit"] == 1


def test_a_cell_is_a_gap_where_it_was_masked_and_a_difference_where_it_was_not_both_times():
    lower = np.tril(np.ones((3, 3), bool))
    one, other, change = map(numbers, panels(masks=(lower, lower.T)))
    assert_array_equal(np.isnan(one), ~lower)
    assert_array_equal(np.isnan(other), ~lower.T)
    assert not np.isnan(change).any()
    assert_array_equal(np.isnan(numbers(panels(masks=(lower, lower))[2])), ~lower)


def test_tokens_are_text_and_each_panel_names_its_rows_and_columns():
    for panel in panels():
        assert panel["rows"] == panel["columns"] == ["the", "<b>", "the"]
        assert (panel["rowTitle"], panel["columnTitle"]) == ("query", "key")


def test_the_scale_names_its_ends_and_its_middle_and_a_difference_is_said_with_its_sign():
    one, other, change = panels(after=0.5 * AFTER)
    assert one["ticks"] == other["ticks"] == ["0%", "50%", "100%"]
    assert change["ticks"] == ["−100%", "0%", "100%"]
    assert one["says"] == other["says"] == ["{row} reads {column}\nweight: {value}", None]
    assert change["says"] == ["{row} reads {column}\nweight: {change}", None]


def test_of_very_many_tokens_a_cell_is_the_strongest_of_its_block():
    size = 2 * MAX_CELLS + 1
    before, after = np.zeros((size, size)), np.zeros((size, size))
    before[4, 7], after[4, 8] = 0.5, 0.25
    drawn = panels(before, after, [f"t{i}" for i in range(size)])
    one, other, change = map(numbers, drawn)
    assert one.shape == other.shape == change.shape == (-(-size // 3),) * 2
    assert (one[1, 2], other[1, 2], change[1, 2]) == (0.5, 0.25, -0.5)
    for panel in drawn:
        assert panel["rows"][1] == panel["columns"][1] == "t3 … t5"
        assert panel["columns"][-1] == f"t{size - 1}"


def test_weights_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"must be \(query, key\) = \(2, 2\).*\(3, 3\) and \(3, 3\)"):
        panels(tokens=("a", "b"))
