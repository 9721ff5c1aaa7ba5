import numpy as np
import pytest
from numpy.testing import assert_array_equal

from transformer_viz.trace.order import named_order, permutation_of, shuffled_order
from transformer_viz.trace.original_order import in_original_order


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


def test_a_named_order_leaves_special_tokens_at_the_ends_and_the_padding_where_they_are():
    tokens = ("[CLS]", "a", "[UNK]", "b", "c", "[SEP]", "[PAD]", "[PAD]")
    assert named_order("reversed", tokens) == (0, 4, 3, 2, 1, 5, 6, 7)
    assert named_order("shuffled", tokens) == (0, *(1 + i for i in shuffled_order(4, 0)), 5, 6, 7)
    assert named_order("shuffled:3", tokens)[1:5] == tuple(1 + i for i in shuffled_order(4, 3))
    read = [tokens[i] for i in named_order("shuffled", tokens)]
    assert named_order("shuffled", read) == named_order("shuffled", tokens)
    assert named_order("reversed", ("[CLS]", "[SEP]")) == (0, 1)
    assert named_order("reversed", ()) == ()


@pytest.mark.parametrize("name", ["", "sorted", "shuffled:x", "shuffled:-1", "reversed:1"])
def test_an_unknown_order_is_refused(name):
    with pytest.raises(ValueError, match=r"`order` must be 'reversed', 'shuffled' or 'shuffled:7'"):
        named_order(name, "abc")


def test_a_permutation_is_taken_as_it_is_and_the_padding_stays():
    assert permutation_of(None, "abc") == (0, 1, 2)
    assert permutation_of([2, 0, 1], "abc") == (2, 0, 1)
    assert permutation_of([1, 0], ["a", "b", "[PAD]"]) == (1, 0, 2)
    assert permutation_of("reversed", "abc") == (2, 1, 0)


def test_rows_and_columns_go_back_to_their_tokens():
    first = np.arange(2 * 5 * 5).reshape(2, 5, 5)
    order = (3, 0, 4, 1, 2)
    shuffled = first[:, order][:, :, order]
    assert_array_equal(in_original_order(shuffled, order), first)
    assert not (in_original_order(shuffled, np.argsort(order)) == first).all()
