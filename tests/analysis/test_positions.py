import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from transformer_viz.network.positions import (
    one_hot_positions,
    position_similarity,
    position_table,
    relative_buckets,
    shift_error,
    shift_rotation,
    similarity_by_distance,
    sinusoidal_positions,
    sinusoidal_rates,
)


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
@pytest.mark.parametrize("k", [0, 1, 5, 64, -3])
def test_a_shift_is_one_rotation_for_all_positions(halves, k):
    """PE(p + k) is a linear function of PE(p), the same for every p (section 3.5); float64."""
    table = sinusoidal_positions(np.arange(-3, 1100), 64, halves=halves, dtype="float64")
    rotation = shift_rotation(k, 64, halves=halves)
    positions = np.arange(3, 1030)
    assert_allclose(table[positions + k], table[positions] @ rotation.T, atol=1e-12)
    assert_allclose(rotation @ rotation.T, np.eye(64), atol=1e-12)
    assert shift_error(k, 1024, 64, halves=halves) < 1e-12


@pytest.mark.parametrize("halves", [False, True])
def test_the_rotation_holds_for_the_table_a_model_adds_in_float32(halves):
    table = position_table("sinusoidal-halves" if halves else "sinusoidal", 40, 8)
    assert_allclose(table[:-5] @ shift_rotation(5, 8, halves=halves).T, table[5:], atol=1e-6)


def test_another_rotation_is_not_the_shift():
    table = sinusoidal_positions(np.arange(40), 8, dtype="float64")
    assert np.abs(table[:-5] @ shift_rotation(4, 8).T - table[5:]).max() > 0.5
    assert np.abs(table[:-5] @ shift_rotation(5, 8, halves=True).T - table[5:]).max() > 0.1


def test_the_rotation_of_a_quarter_turn_by_hand():
    """Two columns turn by 1 radian for each position: a shift by pi / 2 makes a cosine of the sine."""
    assert_allclose(shift_rotation(np.pi / 2, 2), [[0, 1], [-1, 0]], atol=1e-12)


def test_the_rates_run_from_one_to_the_longest_wavelength():
    assert_allclose(sinusoidal_rates(4), [1, 1 / 100])
    assert_allclose(sinusoidal_rates(6, halves=True), [1, 1 / 100, 1 / 10_000])


@pytest.mark.parametrize("kind", ["none", "one-hot", "sinusoidal", "sinusoidal-halves"])
def test_it_is_the_table_a_model_adds(kind, small_config):
    from small_models import with_random_parameters

    model = with_random_parameters(small_config.replace(positions=kind, max_len=11))
    assert_array_equal(np.asarray(model.embedding.position_table()), position_table(kind, 11, 14))
    added = np.asarray(model.trace(np.array([[5, 4, 3]])).position_embedding)
    assert_array_equal(added[0], position_table(kind, 3, 14))


def test_similarity_by_hand():
    table = [[3, 4], [4, -3], [0, 0]]
    assert_allclose(position_similarity(table), [[25, 0, 0], [0, 25, 0], [0, 0, 0]])
    assert_allclose(position_similarity(table, cosine=True), np.diag([1, 1, 0]), atol=1e-15)


def test_similarity_by_distance_is_the_mean_of_each_diagonal():
    assert_allclose(similarity_by_distance([[1, 2, 9], [2, 3, 4], [9, 4, 5]]), [3, 3, 9])


def test_the_similarity_of_a_sinusoidal_table_depends_on_the_distance_alone():
    """PE(p) . PE(p + d) is the sum of cos(d * rate)."""
    similarity = position_similarity(sinusoidal_positions(np.arange(30), 16, dtype="float64"))
    profile = np.cos(np.arange(30)[:, None] * sinusoidal_rates(16)).sum(axis=-1)
    assert_allclose(similarity[7, 7:], profile[:23], atol=1e-12)
    assert_allclose(similarity_by_distance(similarity), profile, atol=1e-12)


def test_any_integers_are_positions_in_any_order():
    table = np.asarray(sinusoidal_positions(np.arange(9), 4))
    assert_array_equal(np.asarray(sinusoidal_positions(np.array([[7, 0, 3]]), 4))[0], table[[7, 0, 3]])


def test_one_hot_table_is_the_identity():
    assert_array_equal(np.asarray(position_table("one-hot", 3, 5)), np.eye(3, 5))


def test_a_position_without_a_dimension_is_no_dimension():
    assert_array_equal(one_hot_positions([1, 4], 3), [[0, 1, 0], [0, 0, 0]])
    with pytest.raises(ValueError, match="needs `d_model` >= `max_len`: 3 is less than 4"):
        position_table("one-hot", 4, 3)


def test_none_adds_nothing():
    assert not np.asarray(position_table("none", 3, 5)).any()


def test_odd_width_is_refused():
    with pytest.raises(ValueError, match=r"`d_model` must be even\. Received: 5\."):
        sinusoidal_positions(np.arange(3), 5)


def test_a_learned_table_cannot_be_computed():
    with pytest.raises(ValueError, match=r"Received: 'learned'; a learned table belongs to its model\."):
        position_table("learned", 3, 4)


@pytest.mark.parametrize(
    ("causal", "expected"),
    [
        (False, [15, 15, 14, 14, 11, 10, 9, 8, 7, 1, 0, 17, 23, 24, 24, 25, 26, 30, 31, 31]),
        (True, [31, 29, 29, 26, 18, 16, 12, 8, 7, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    ],
)
def test_buckets_of_distances_are_those_of_t5(causal, expected):
    """The numbers are those of T5Attention in `transformers`."""
    offsets = [-128, -91, -90, -64, -23, -16, -12, -8, -7, -1, 0, 1, 7, 8, 11, 12, 16, 64, 91, 128]
    found = relative_buckets(32, 128, causal=causal)
    assert found.shape == (257,)
    assert found[np.add(offsets, 128)].tolist() == expected
