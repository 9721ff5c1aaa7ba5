import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from transformer_viz.positions import position_table, sinusoidal_positions


def by_definition(position, dimension, d_model):
    """PE as printed in section 3.5 of the paper."""
    angle = position / 10_000 ** (2 * (dimension // 2) / d_model)
    return np.sin(angle) if dimension % 2 == 0 else np.cos(angle)


def test_interleaved_table_is_the_papers_formula():
    table = np.asarray(sinusoidal_positions(np.arange(13), 6))
    expected = [[by_definition(p, i, 6) for i in range(6)] for p in range(13)]
    assert_allclose(table, expected, atol=1e-6)


def test_halves_put_all_sines_first_and_end_at_the_longest_wavelength():
    table = np.asarray(sinusoidal_positions(np.array([3]), 6, halves=True))[0]
    angles = 3 * 10_000.0 ** (-np.arange(3) / 2)
    assert_allclose(table, [*np.sin(angles), *np.cos(angles)], atol=1e-6)


@pytest.mark.parametrize("halves", [False, True])
def test_a_shift_is_one_rotation_for_all_positions(halves):
    """PE(p + k) is a linear function of PE(p), the same for every p (section 3.5)."""
    table = np.asarray(sinusoidal_positions(np.arange(40), 8, halves=halves), dtype=np.float64)
    before, after = table[:-5], table[5:]
    rotation = np.linalg.lstsq(before, after, rcond=None)[0]
    assert_allclose(before @ rotation, after, atol=1e-5)


def test_any_integers_are_positions_in_any_order():
    table = np.asarray(sinusoidal_positions(np.arange(9), 4))
    assert_array_equal(np.asarray(sinusoidal_positions(np.array([[7, 0, 3]]), 4))[0], table[[7, 0, 3]])


def test_one_hot_table_is_the_identity():
    assert_array_equal(np.asarray(position_table("one-hot", 3, 5)), np.eye(3, 5))


def test_none_adds_nothing():
    assert not np.asarray(position_table("none", 3, 5)).any()


def test_odd_width_is_refused():
    with pytest.raises(ValueError, match=r"`d_model` must be even\. Received: 5\."):
        sinusoidal_positions(np.arange(3), 5)


def test_a_learned_table_cannot_be_computed():
    with pytest.raises(ValueError, match=r"Received: 'learned'; a learned table belongs to its model\."):
        position_table("learned", 3, 4)
