import csv
import gzip
import threading

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer_viz import datasets
from transformer_viz.datasets import DataError, describe, read_labelled, split

GOOD = "text,label\na film,1\nno film,0\n"


@pytest.fixture
def file(tmp_path):
    """Return a function that writes a file and returns its path."""

    def write(content, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def frame(*rows):
    return pd.DataFrame(rows, columns=["text", "label"], dtype=object)


def test_rows_come_in_file_order_as_text(file):
    path = file('text,label\nNA,1.0\n"a, ""b""\nc",null\n')
    assert read_labelled(path).to_numpy().tolist() == [["NA", "1.0"], ['a, "b"\nc', "null"]]


def test_columns_may_stand_in_any_order(file):
    assert read_labelled(file("label,text\n1,a film\n")).to_numpy().tolist() == [["a film", "1"]]


def test_gzip_is_known_by_its_content(file):
    assert len(read_labelled(file(gzip.compress(GOOD.encode()), "data.csv"))) == 2


def test_a_byte_order_mark_is_no_part_of_the_header(file):
    assert len(read_labelled(file(b"\xef\xbb\xbf" + GOOD.encode()))) == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty. Its first line must be: text,label"),
        ("text,label\n", "has a header but no rows."),
        ("a,b\n1,2\n", "must have exactly the columns text and label. Its first line is: a, b."),
        ("text,label,more\n1,2,3\n", "Its first line is: text, label, more."),
        ("text,text\n1,2\n", "Its first line is: text, text."),
        ("text;label\na;1\n", "Its first line is: text;label."),
        ("text,label\na,1\nb, c,1\n", "line 3: 3 fields instead of 2. A text with a comma"),
        ("text,label\na\n", "line 2: 1 fields instead of 2."),
        (
            'text,label\na,1\n"a,1\nb,2\n',
            "the row that begins in line 3: unexpected end of data. Is a quote left open",
        ),
        ("text,label\na,1\n\nb,1\n", "line 3 is empty. Remove it."),
        ("text,label\na,1\n ,1\n", "line 3: the text is empty. Fill it in or remove the row."),
        ("text,label\na,\n", "line 2: the label is empty."),
        ("text,label\na\x00b,1\n" + " " * 0, "is in UTF-16 or is no text."),
        ("text,label\n" + "a,1\n" * 300 + "a\x00b,1\n", "line 302: a NUL character. Remove it."),
        (GOOD.encode("utf-16"), "is in UTF-16 or is no text. Save it as CSV in UTF-8."),
        (GOOD.encode("utf-16-le"), "is in UTF-16 or is no text."),
        ("text,label\n一部好电影,1\n".encode("gbk"), "line 2: not UTF-8. Save the file as CSV in UTF-8."),
        ("text,label\na,1\ncaf\xe9,1\n".encode("latin-1"), "line 3: not UTF-8."),
        (b"PK\x03\x04....", "is an Excel workbook or a zip archive, not a CSV."),
        (b"PAR1....", "is a Parquet file, not a CSV."),
        (b"SQLite format 3\x00", "is an SQLite database, not a CSV."),
        (b"\xd0\xcf\x11\xe0....", "is an old Excel workbook, not a CSV."),
        (b"%PDF-1.7", "is a PDF, not a CSV."),
        (b"\x1f\x8b broken", "cannot be read"),
        (gzip.compress(GOOD.encode())[:-9], "cannot be read"),
        ("text,label\n" + "".join(f"t{i},{i}\n" for i in range(51)), "has 51 different labels; more than 50"),
        ("text,label\n" + "a" * 1_000_001 + ",1\n", "a text longer than 1,000,000 characters"),
    ],
    ids=lambda part: ascii(part)[:30],
)
def test_what_cannot_be_read_is_named_with_line_and_remedy(file, content, message):
    path = file(content)
    with pytest.raises(DataError) as error:
        read_labelled(path)
    assert str(error.value).startswith(str(path))
    assert message in str(error.value)


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    with pytest.raises(DataError, match=r"There is no file .*none\.csv\."):
        read_labelled(tmp_path / "none.csv")
    with pytest.raises(DataError, match=r"is a folder\. Give the path of a CSV file"):
        read_labelled(tmp_path)


@pytest.mark.parametrize("name", ["x" * 5000, "a\x00b", "a\ud800b"], ids=["long", "NUL", "surrogate"])
def test_a_name_that_no_file_can_have_is_refused(name):
    with pytest.raises(DataError, match="cannot be read: "):
        read_labelled(name)


def test_a_damaged_gzip_is_rows_or_a_sentence(file):
    packed = gzip.compress(b"text,label\n" + b"".join(b"film %d,%d\n" % (i, i % 2) for i in range(300)))
    refused = 0
    for place in range(10, len(packed), 9):
        damaged = bytearray(packed)
        damaged[place] ^= 0xFF
        path = file(bytes(damaged))
        try:
            read_labelled(path)
        except DataError as error:
            assert str(error).startswith(str(path))  # noqa: PT017
            refused += 1
    assert refused > 50


def test_a_gzip_bomb_is_not_unpacked(file, monkeypatch):
    monkeypatch.setattr(datasets, "MAX_BYTES", 2**20)
    path = file(gzip.compress(b" " * 2**24))
    with pytest.raises(DataError, match=r"has more than 1 MB\. Use a part of it"):
        read_labelled(path)


@settings(max_examples=200)
@given(content=st.binary() | st.text().map(lambda text: b"text,label\n" + text.encode("utf-8", "replace")))
def test_any_bytes_are_rows_or_a_sentence(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(content)
    try:
        rows = read_labelled(path)
    except DataError as error:
        assert str(error).startswith(str(path))  # noqa: PT017
    else:
        assert list(rows) == ["text", "label"]
        assert (rows["text"].str.strip() != "").all()


def test_reading_leaves_the_field_limit_of_csv_as_it_was(file):
    before = csv.field_size_limit()
    read_labelled(file(GOOD))
    assert csv.field_size_limit() == before


def test_two_readers_at_once_do_not_change_each_others_limit(file, monkeypatch):
    path = file("text,label\n" + "a" * 200_000 + ",1\n")
    inside, go = threading.Event(), threading.Event()
    rows = datasets._rows

    def slow(*arguments):
        inside.set()
        assert go.wait(10)
        return rows(*arguments)

    monkeypatch.setattr(datasets, "_rows", slow)
    before, results = csv.field_size_limit(), []
    readers = [threading.Thread(target=lambda: results.append(read_labelled(path))) for _ in range(2)]
    for reader in readers:
        reader.start()
    assert inside.wait(10)
    go.set()
    for reader in readers:
        reader.join(10)
    assert [len(result) for result in results] == [1, 1]
    assert csv.field_size_limit() == before


@given(
    st.lists(st.tuples(st.integers(0, 40), st.sampled_from("abc")), min_size=60, max_size=200),
    st.sampled_from([0.1, 0.3]),
    st.integers(0, 9),
)
def test_split_shares_out_every_row_and_no_text_twice(rows, share, seed):
    data = frame(*[(f"Text {number}{label}", label) for number, label in rows], *[("x", "a"), ("y", "a")] * 2)
    data = pd.concat([data, frame(*[(t, k) for k in "bc" for t in (f"{k}1", f"{k}2")])], ignore_index=True)
    train, validation = split(data, validation=share, seed=seed)
    assert sorted([*train.index, *validation.index]) == list(data.index)
    assert not set(train["text"]) & set(validation["text"])
    assert set(train["label"]) == set(validation["label"]) == set("abc")


def test_split_keeps_the_proportions_and_is_repeatable():
    data = frame(*[(f"t{i}", "a" if i % 4 else "b") for i in range(1000)])
    train, validation = split(data, validation=0.2, seed=3)
    again = split(data, validation=0.2, seed=3)
    assert (len(train), len(validation), (validation["label"] == "b").sum()) == (800, 200, 50)
    pd.testing.assert_frame_equal(train, again[0])
    assert list(train.index) != list(split(data, validation=0.2, seed=4)[0].index)


def test_texts_that_differ_only_in_case_and_space_stay_on_one_side():
    data = frame(*[(variant, "a") for i in range(20) for variant in (f"Film {i}", f" film {i} ")])
    data = pd.concat([data, frame(*[(f"other {i}", "b") for i in range(20)])], ignore_index=True)
    train, validation = split(data, validation=0.3)
    sides = [set(part["text"].str.strip().str.casefold()) for part in (train, validation)]
    assert not sides[0] & sides[1]


def test_rows_are_told_apart_by_their_place_not_their_index():
    data = frame(*[(f"t{i}", "ab"[i % 2]) for i in range(100)])
    twice = pd.concat([data, data.assign(text=data["text"] + "x")])
    train, validation = split(twice, validation=0.2)
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
            "The label '2' has fewer than two different texts",
        ),
    ],
)
def test_too_little_to_split_is_said(rows, message):
    with pytest.raises(DataError, match=message):
        split(frame(*rows))


def test_describe_counts():
    report = describe(frame(("a", "1"), ("bbb", "0"), ("a", "0"), ("cc", "1"), ("a", "1")))
    assert report == (5, {"0": 2, "1": 3}, 1, 2, 1)
    assert describe(frame()).rows == 0
    assert np.isfinite(report.median_chars)
