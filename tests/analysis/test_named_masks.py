import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from transformer_viz.network import masks
from transformer_viz.network.named_masks import (
    causal_mask,
    mask_from_bits,
    mask_to_bits,
    named_mask,
    padding_mask,
    window_mask,
)

IDS = np.array([5, 2, 7, 0, 0])


def test_each_mask_is_the_one_the_layers_have():
    assert_array_equal(padding_mask(IDS), np.asarray(masks.padding_mask(IDS[None]))[0, 0])
    assert_array_equal(causal_mask(7), np.asarray(masks.causal_mask(7))[0, 0])
    for reach in (0, 2, 9):
        assert_array_equal(window_mask(7, reach), np.asarray(masks.window_mask(7, reach))[0, 0])


def test_masks_of_cross_attention_need_not_be_square():
    assert_array_equal(causal_mask(2, 3), [[True, False, False], [True, True, False]])
    assert_array_equal(window_mask(2, 0, 3), np.eye(2, 3, dtype=bool))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("none", [[1, 1, 1], [1, 1, 1]]),
        ("padding", [[1, 1, 0], [1, 1, 0]]),
        ("causal", [[1, 0, 0], [1, 1, 0]]),
        ("window:0", [[1, 0, 0], [0, 1, 0]]),
        ("window:1+causal", [[1, 0, 0], [1, 1, 0]]),
        ("painted:b4", [[1, 0, 1], [1, 0, 1]]),
        ("painted:b4+padding", [[1, 0, 0], [1, 0, 0]]),
    ],
)
def test_a_name_stands_for_a_mask(name, expected):
    mask = named_mask(name, 2, np.array([4, 9, 0]))
    assert mask.dtype == bool
    assert_array_equal(mask, np.array(expected, bool))


@pytest.mark.parametrize("name", ["", "causal:1", "window", "window:-1", "window:x", "padding+", "diagonal"])
def test_a_name_that_is_none_is_refused(name):
    with pytest.raises(ValueError, match=re.escape(f"There is no mask {name!r}. Write 'none', ")):
        named_mask(name, 2, IDS)


@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (3, 3), (2, 5), (32, 32), (31, 17)])
def test_a_packed_mask_is_unpacked_again(shape):
    mask = np.random.default_rng(3).random(shape) < 0.5
    packed = mask_to_bits(mask)
    assert len(packed) == -(-mask.size // 4)
    assert_array_equal(mask_from_bits(packed, shape), mask)


def test_the_first_cell_is_the_first_bit():
    assert mask_to_bits(np.array([[True, False], [False, True]])) == "9"


@pytest.mark.parametrize("packed", ["", "9b", "9b80", "9bg", "9B8", "٣٣٣", "-1a"])
def test_digits_of_another_mask_are_refused(packed):
    with pytest.raises(ValueError, match=r"of 3 × 3 cells has 3 hexadecimal digits\. Received \d: "):
        mask_from_bits(packed, (3, 3))
