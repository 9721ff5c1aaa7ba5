import pandas as pd
import pytest

from transformer_viz.ui.pages.train.counting import EXAMPLES, short_rows


def rows(count, **columns):
    return pd.DataFrame({"text": pd.Series(["字" * (1 + n) for n in range(count)], dtype=object), **columns})


def test_a_training_is_watched_with_short_rows_of_each_label_and_of_different_length():
    found = short_rows(rows(900, label=[f"{number % 2}" for number in range(900)]))
    lengths = [len(text) for text, _ in found]
    assert [length % 2 for length in lengths] == [1, 0, 1]
    assert 20 < lengths[0] < lengths[1] < lengths[2] < 180
    assert [target for _, target in found] == [None] * EXAMPLES


def test_of_pairs_the_targets_are_given_too():
    assert short_rows(rows(4, target=[*"abcd"])) == [("字" * 2, "b"), ("字" * 3, "c"), ("字" * 4, "d")]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7])
def test_few_rows_are_enough(count):
    found = short_rows(rows(count))
    assert len({text for text, _ in found}) == len(found) == min(count, EXAMPLES)
