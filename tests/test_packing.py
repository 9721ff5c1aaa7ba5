import numpy as np
import pytest
from numpy.testing import assert_array_equal

from transformer_viz.data.packing import Stream
from transformer_viz.network.config import END_ID, PAD_ID, START_ID, TransformerConfig

TEXTS = [np.array(text, np.int32) for text in ([7, 8], [9], [10, 11, 12, 13, 14, 15], [], [16])]


def test_rows_by_hand():
    rows = Stream(TEXTS, 4).rows(range(4))
    assert rows.token_ids.tolist() == [[2, 7, 8, 2], [9, 2, 10, 11], [12, 13, 14, 15], [2, 2, 16, 2]]
    assert rows.next_ids.tolist() == [[7, 8, 3, 9], [3, 10, 11, 12], [13, 14, 15, 3], [3, 16, 3, 0]]
    assert rows.position_ids.tolist() == [[0, 1, 2, 0], [0, 0, 1, 2], [0, 1, 2, 3], [0, 0, 1, 0]]
    assert rows.texts.tolist() == [[1, 1, 1, 2], [1, 2, 2, 2], [1, 1, 1, 1], [1, 2, 2, 3]]


def test_a_token_reads_its_own_text_and_nothing_after_it():
    rows = Stream(TEXTS, 4).rows([1])
    causal = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 1, 0], [0, 1, 1, 1]]
    both = [[1, 0, 0, 0], [0, 1, 1, 1], [0, 1, 1, 1], [0, 1, 1, 1]]
    near = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]
    assert_array_equal(rows.mask(causal=True), np.array(causal, bool)[None, None])
    assert_array_equal(rows.mask(causal=False), np.array(both, bool)[None, None])
    assert_array_equal(rows.mask(causal=True, window=1), np.array(near, bool)[None, None])
    config = TransformerConfig(architecture="decoder", num_layers=2, window=1, unlimited_layers=(1,))
    inputs = rows.inputs(config)
    assert_array_equal(inputs["attention_mask"], np.array(near, bool)[None, None])
    assert_array_equal(inputs["full_attention_mask"], np.array(causal, bool)[None, None])


@pytest.mark.parametrize("length", [1, 2, 3, 7, 21, 64])
def test_every_token_and_every_end_is_predicted_once_whatever_the_length_of_a_row(length):
    stream = Stream(TEXTS, length)
    predicted = stream.rows(range(len(stream))).next_ids.ravel()
    assert predicted[predicted != PAD_ID].tolist() == [i for text in TEXTS for i in (*text, END_ID)]
    assert (predicted == PAD_ID).sum() < length


def test_what_is_predicted_is_what_is_read_next():
    rows = Stream(TEXTS, 5).rows(range(4))
    read, after = rows.token_ids.ravel()[1:], rows.next_ids.ravel()[:-1]
    assert_array_equal(np.where(after == END_ID, START_ID, after), read)


def test_texts_come_in_the_order_asked_for_and_rows_too():
    stream = Stream(TEXTS, 3, order=[4, 1, 0, 3, 2])
    first = stream.rows(range(len(stream))).token_ids
    assert first.ravel()[:6].tolist() == [START_ID, 16, START_ID, 9, START_ID, 7]
    assert_array_equal(stream.rows([2, 0]).token_ids, first[[2, 0]])
