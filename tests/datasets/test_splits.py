import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_viz.data import DataError, split, split_pairs, split_texts


def frame(*rows):
    return pd.DataFrame(rows, columns=["text", "label"], dtype=object)


@given(
    st.lists(st.tuples(st.integers(0, 40), st.sampled_from("abc")), min_size=60, max_size=200),
    st.sampled_from([0.1, 0.3]),
    st.integers(0, 9),
)
def test_split_shares_out_every_row_and_no_text_twice(rows, share, seed):
    data = frame(*[(f"Text {number}{label}", label) for number, label in rows], *[("x", "a"), ("y", "a")] * 2)
    data = pd.concat([data, frame(*[(t, k) for k in "bc" for t in (f"{k}1", f"{k}2")])], ignore_index=True)
    train, validation, _ = split(data, validation=share, seed=seed)
    assert sorted([*train.index, *validation.index]) == list(data.index)
    assert not set(train["text"]) & set(validation["text"])
    assert set(train["label"]) == set(validation["label"]) == set("abc")


def test_split_keeps_the_proportions_and_is_repeatable():
    data = frame(*[(f"t{i}", "a" if i % 4 else "b") for i in range(1000)])
    train, validation, _ = split(data, validation=0.2, seed=3)
    again = split(data, validation=0.2, seed=3)
    assert (len(train), len(validation), (validation["label"] == "b").sum()) == (800, 200, 50)
    pd.testing.assert_frame_equal(train, again.train)
    assert list(train.index) != list(split(data, validation=0.2, seed=4).train.index)


def test_texts_that_differ_only_in_case_and_space_stay_on_one_side():
    data = frame(*[(variant, "a") for i in range(20) for variant in (f"Film {i}", f" film {i} ")])
    data = pd.concat([data, frame(*[(f"other {i}", "b") for i in range(20)])], ignore_index=True)
    train, validation, _ = split(data, validation=0.3)
    sides = [set(part["text"].str.strip().str.casefold()) for part in (train, validation)]
    assert not sides[0] & sides[1]


def test_rows_are_told_apart_by_their_place_not_their_index():
    data = frame(*[(f"t{i}", "ab"[i % 2]) for i in range(100)])
    twice = pd.concat([data, data.assign(text=data["text"] + "x")])
    train, validation, _ = split(twice, validation=0.2)
    assert (len(train), len(validation)) == (160, 40)
    assert dict(validation["label"].value_counts()) == {"a": 20, "b": 20}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("a", "1")] * 3, "There are 3 rows; training needs at least 10."),
        (
            [(f"t{i}", "1") for i in range(10)],
            "All rows have the label '1'; training needs at least two labels.",
        ),
        (
            [*[(f"t{i}", "1") for i in range(10)], ("x", "2")],
            "Fewer than two different texts have the label '2'",
        ),
    ],
)
def test_too_little_to_split_is_said(rows, message):
    with pytest.raises(DataError, match=message):
        split(frame(*rows))


def test_a_test_is_held_out_too_and_every_label_is_in_each_part():
    data = frame(*[(f"t{i}", "a" if i % 4 else "b") for i in range(1000)])
    parts = split(data, validation=0.1, test=0.2, seed=3)
    assert [len(part) for part in parts] == [700, 100, 200]
    assert [(part["label"] == "b").sum() for part in parts] == [175, 25, 50]
    assert sorted(index for part in parts for index in part.index) == list(range(1000))
    assert len(split(data).test) == 0
    assert list(split(data).test) == ["text", "label"]


@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.integers(0, 12), st.sampled_from("ab")), min_size=30, max_size=90
    ),
    st.sampled_from([0.0, 0.2]),
    st.integers(0, 9),
)
def test_no_text_and_no_group_is_on_two_sides_whatever_their_labels(rows, test, seed):
    data = pd.DataFrame(
        [
            (f" Text {text}" if text % 2 else f"text {text}", label, f"film {film}")
            for text, film, label in rows
        ]
        + [(f"own {i}", "ab"[i % 2], f"own {i}") for i in range(12)],
        columns=["text", "label", "group"],
        dtype=object,
    )
    parts = split(data, validation=0.2, test=test, seed=seed)
    assert sorted(index for part in parts for index in part.index) == list(data.index)
    for key in (lambda part: part["group"], lambda part: part["text"].str.strip().str.casefold()):
        sides = [set(key(part)) for part in parts]
        assert len(set.union(*sides)) == sum(map(len, sides))
    assert all(set(part["label"]) == {"a", "b"} for part in parts[: 3 if test else 2])


def test_a_group_holds_its_texts_together():
    data = frame(*[(f"text {i}", "ab"[i % 2]) for i in range(100)]).assign(
        group=[i // 10 for i in range(100)]
    )
    train, validation, _ = split(data, validation=0.2)
    assert (len(train), len(validation)) == (80, 20)
    assert set(validation["group"]) == set(data["group"]) - set(train["group"])


def test_pairs_and_texts_are_split_without_labels():
    data = pd.DataFrame(
        [(f"t{i // 2}", f"x{i}") for i in range(100)], columns=["text", "target"], dtype=object
    )
    parts = split_pairs(data, validation=0.1, test=0.1)
    assert [len(part) for part in parts] == [80, 10, 10]
    assert not set(parts.train["text"]) & {*parts.validation["text"], *parts.test["text"]}
    assert [len(part) for part in split_texts(data[["text"]].drop_duplicates())] == [45, 5, 0]


@pytest.mark.parametrize(
    ("texts", "test", "message"),
    [
        (["a"] * 9, 0.0, "There are 9 rows; training needs at least 10."),
        (["a", " A"] * 5, 0.0, "All rows have the same text; training needs at least two different ones."),
        (["a", "b"] * 5, 0.1, "There are two different texts; training and a test need at least three."),
    ],
)
def test_too_few_texts_are_said(texts, test, message):
    with pytest.raises(DataError) as error:
        split_texts(pd.DataFrame({"text": texts}), test=test)
    assert str(error.value) == message


def test_a_label_in_too_few_groups_is_said():
    data = frame(*[(f"t{i}", "ab"[i % 2]) for i in range(20)]).assign(group=[i % 2 for i in range(20)])
    with pytest.raises(DataError) as error:
        split(data)
    assert str(error.value) == (
        "Fewer than two different groups have the label 'a'; add some, or leave its rows out."
    )
    two = frame(*[(f"t{i}", "a") for i in range(9)], ("x", "b"), ("y", "b"))
    assert len(split(two).validation) == 2
    with pytest.raises(DataError, match="Fewer than three different texts have the label 'b'"):
        split(two, test=0.1)


@pytest.mark.parametrize("shares", [(0.0, 0.0), (1.0, 0.0), (0.5, 0.5), (0.1, -0.1), (np.nan, 0.0)])
def test_shares_that_leave_nothing_are_refused(shares):
    data = frame(*[(f"t{i}", "ab"[i % 2]) for i in range(20)])
    with pytest.raises(ValueError, match=r"both together below 1\. Received: "):
        split(data, validation=shares[0], test=shares[1])
