import pandas as pd

from transformer_viz.data import DataReport, Split, TextReport, describe, evenly_spaced
from transformer_viz.text.tokenizer import Tokenizer


def frame(*rows, columns=("text", "label")):
    return pd.DataFrame(rows, columns=list(columns), dtype=object)


def test_describe_counts():
    report = describe(frame(("a", "1"), ("bbb", "0"), ("a", "0"), ("cc", "1"), ("a", "1")))
    assert report == DataReport(
        rows=5,
        labels={"0": 2, "1": 3},
        duplicates=2,
        conflicting=1,
        texts={"text": TextReport(median_chars=1, longest_chars=3)},
        sizes={},
    )


def test_describe_of_nothing_counts_nothing():
    tokenizer = Tokenizer.train(["a"], 9)
    report = describe(frame(), tokenizer=tokenizer, max_len=3)
    assert report == (0, {}, 0, 0, {"text": (0, 0, 0, 0, 0, 0.0, 0.0)}, {})


def test_tokens_are_counted_by_hand():
    tokenizer = Tokenizer.train(["good film", "good plot"], 9)
    data = frame(("good film", "1"), ("good plot", "0"), ("bad film and bad plot", "0"), ("film", "1"))
    parts = Split(data.iloc[[0, 1]], data.iloc[[2, 3]], data.iloc[:0])
    found = describe(data, tokenizer=tokenizer, max_len=2, parts=parts)
    assert found.texts["text"] == TextReport(
        median_chars=9,
        longest_chars=21,
        median_tokens=2,
        longest_tokens=5,
        cut_rows=1,
        cut_share=0.25,
        unknown_share=3 / 6,  # bad, and, bad among the six tokens of the rows held out
    )
    assert found.sizes == {"train": 2, "validation": 2, "test": 0}
    assert describe(data, tokenizer=tokenizer).texts["text"].unknown_share == 3 / 10
    assert describe(data, tokenizer=tokenizer).texts["text"].cut_rows is None


def test_rows_held_out_are_told_apart_by_their_place_not_their_index():
    tokenizer = Tokenizer.train(["good"], 9)
    train, held_out = frame(("good", "1")), frame(("bad", "1"))
    parts = Split(train, held_out, held_out.iloc[:0])
    found = describe(pd.concat([train, held_out]), tokenizer=tokenizer, parts=parts)
    assert found.texts["text"].unknown_share == 1.0


def test_both_sides_of_pairs_are_counted():
    source, target = Tokenizer.train(["one two"], 9), Tokenizer.train(["eins"], 9, kind="characters")
    data = frame(("one two", "eins"), ("one two", "drei"), ("two", "eins"), columns=("text", "target"))
    found = describe(data, tokenizer={"text": source, "target": target}, max_len={"text": 1, "target": 9})
    assert (found.labels, found.duplicates, found.conflicting) == ({}, 1, 1)
    assert found.texts["text"] == (7, 7, 2, 2, 2, 2 / 3, 0.0)
    assert found.texts["target"] == (4, 4, 4, 4, 0, 0.0, 2 / 12)  # d and r of drei


def test_texts_alone_are_counted():
    found = describe(frame(("a b",), ("a b",), ("c",), columns=("text",)))
    assert found == (3, {}, 1, 0, {"text": TextReport(3, 3)}, {})


def test_of_many_texts_some_are_counted_evenly_spread():
    tokenizer = Tokenizer.train(["good film"], 9)
    data = frame(*[("good film " * (1 + number // 50), "1") for number in range(100)])
    found = describe(data, tokenizer=tokenizer, max_len=2, most=10)
    assert found.rows == 100
    text = found.texts["text"]
    assert (text.median_tokens, text.longest_tokens) == (3, 4)
    assert (text.cut_rows, text.cut_share) == (50, 0.5)
    assert list(evenly_spaced(data, 5).index) == [0, 24, 49, 74, 99]
    assert evenly_spaced(data, 100) is data
    assert describe(data, tokenizer=tokenizer, max_len=2, most=100) == describe(
        data, tokenizer=tokenizer, max_len=2
    )
