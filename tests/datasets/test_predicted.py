import numpy as np
import pytest

from transformer_viz.data.predicted import ALL, CHANGED, UNSURE, WRONG, chosen_rows, predicted_rows

TEXTS = ["A good film.", "goodness, no", "Not GOOD", "房间好", "好，但不够好"]
PROBS = np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [0.3, 0.7], [0.55, 0.45]])
FRAME = predicted_rows(TEXTS, ["no", "yes"], PROBS, np.array([0, 0, 0, 1, 0]), np.array([0, 1, 0, 0, 0]))


@pytest.mark.parametrize(
    ("which", "word", "expected"),
    [
        (ALL, "", [0, 1, 2, 3, 4]),
        (WRONG, "", [2, 1]),
        (UNSURE, "", [4, 1, 3, 2, 0]),
        (CHANGED, "", [2, 3]),
        (WRONG, "good", [0, 2]),  # the rows of a word, right or wrong
        (ALL, "好", [3, 4]),
        (ALL, "GOODNESS", [1]),
        (ALL, ".", [0]),
    ],
)
def test_rows_are_chosen_by_kind_and_by_word(which, word, expected):
    assert chosen_rows(FRAME, which, word=word).index.tolist() == expected


def test_rows_of_a_cell_are_chosen_whatever_the_kind():
    assert chosen_rows(FRAME, WRONG, ("no", "no")).index.tolist() == [0, 4]
    assert chosen_rows(FRAME, ALL, ("no", "yes"), "not").index.tolist() == [2]
