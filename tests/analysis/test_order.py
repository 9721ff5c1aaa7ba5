import numpy as np
import pytest
from numpy.testing import assert_array_equal

from transformer_viz.analysis import in_original_order, shuffled_order


@pytest.mark.parametrize("seed", range(20))
def test_an_order_names_every_token_once_and_is_another_one(seed):
    for length in (2, 3, 11):
        order = shuffled_order(length, seed)
        assert sorted(order) == list(range(length))
        assert order != tuple(range(length))
        assert order == shuffled_order(length, seed)


def test_the_first_tokens_keep_their_place():
    assert all(shuffled_order(7, seed, fixed=1)[0] == 0 for seed in range(20))
    assert len({shuffled_order(7, seed, fixed=1) for seed in range(20)}) > 10


@pytest.mark.parametrize(("length", "fixed"), [(0, 0), (1, 0), (1, 1), (2, 1)])
def test_nothing_to_exchange_is_the_first_order(length, fixed):
    assert shuffled_order(length, 3, fixed=fixed) == tuple(range(length))


def test_rows_and_columns_go_back_to_their_tokens():
    first = np.arange(2 * 5 * 5).reshape(2, 5, 5)
    order = (3, 0, 4, 1, 2)
    shuffled = first[:, order][:, :, order]
    assert_array_equal(in_original_order(shuffled, order), first)
    assert not (in_original_order(shuffled, np.argsort(order)) == first).all()
