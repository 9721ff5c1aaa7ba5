import re

import keras
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.masks import causal_mask, own_masks, padding_mask, window_mask
from transformer_viz.network.named_masks import mask_from_bits, mask_to_bits, named_mask

IDS = np.array([5, 2, 7, 0, 0])
THREE, FIVE = np.arange(3), np.arange(5)


def test_padding_is_read_by_nobody():
    mask = padding_mask(np.array([[5, 2, 0], [7, 0, 0]]))
    assert mask.shape == (2, 1, 1, 3)
    assert_array_equal(mask[:, 0, 0], [[True, True, False], [True, False, False]])


def test_causal_rows_read_themselves_and_what_came_before():
    assert_array_equal(causal_mask(THREE, THREE), np.tril(np.ones((3, 3), bool)))


def test_a_window_reaches_the_same_distance_to_both_sides():
    mask = window_mask(FIVE, FIVE, 1)
    assert_array_equal(mask.sum(axis=1), [2, 3, 3, 3, 2])
    assert_array_equal(mask, mask.T)


def test_masks_need_not_be_square():
    assert_array_equal(causal_mask(THREE[:2], THREE), [[True, False, False], [True, True, False]])
    assert_array_equal(causal_mask(FIVE[3:], FIVE).sum(axis=1), [4, 5])
    assert_array_equal(window_mask(THREE[:2], THREE, 0), np.eye(2, 3, dtype=bool))


def test_masks_merge_by_and():
    merged = padding_mask(np.array([[5, 2, 0]])) & causal_mask(THREE, THREE)
    assert_array_equal(merged[0, 0], [[True, False, False], [True, True, False], [True, True, False]])


@pytest.mark.parametrize(
    "config",
    [
        TransformerConfig(architecture="encoder-decoder", window=1),
        TransformerConfig(architecture="decoder", num_layers=2, window=0, unlimited_layers=(1,)),
        TransformerConfig(mask_padding=False),
    ],
)
def test_tensors_and_arrays_have_the_same_masks(config):
    ops, ids = keras.ops, np.array([[5, 2, 7, 0], [3, 0, 0, 0]])
    arrays = [ids, np.arange(4)]
    if config.architecture == "encoder-decoder":
        arrays += [ids[:, :3], THREE]
    found, expected = own_masks(config, *map(ops.convert_to_tensor, arrays)), own_masks(config, *arrays)
    assert found.keys() == expected.keys()
    for name, mask in expected.items():
        assert mask.dtype == bool
        assert_array_equal(ops.convert_to_numpy(found[name]), mask)
    assert expected["attention_mask"].all() == (not config.mask_padding)


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
