"""A folder of files that cannot be used: the whole sentence for each."""

import gzip
import io
import json
import tracemalloc
import zipfile

import pytest
from chinese import is_chinese

from transformer_viz.data import (
    BadRows,
    DataError,
    ReadOptions,
    files,
    read_labelled,
    read_pairs,
    read_texts,
    split,
)
from transformer_viz.language import sentence_of

GOOD = "text,label\n" + "".join(f"a film number {i},{i % 2}\n" for i in range(20))
CHINESE = "text,label\n" + "房间很大，服务也很好。,1\n太差了，再也不来了！,0\n" * 9


def archive(name):
    """Return the bytes of a zip archive with one file."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as zipped:
        zipped.writestr(name, GOOD)
    return file.getvalue()


SAVE = "Save it as CSV in UTF-8."
UTF_16 = f" is in UTF-16 or is no text. {SAVE}"
OTHER = "not a table. Save the table as CSV (UTF-8) or as an Excel workbook (.xlsx)."
CHOOSE = (
    "Choose the encoding (Excel in Western Europe and America writes Windows-1252; on the command line: "
    "--encoding Windows-1252), or save the file as CSV in UTF-8."
)
MISPLACED = "a quote in the wrong place or left open (1)"
WIDTH = "more fields than columns, as when a text is not in quotes (1)"


def some(rows, kinds, first):
    """Return the end of the sentence about one bad row."""
    return (
        f": 1 of {rows} rows cannot be used: {kinds}. The first: {first}. "
        "Correct them, or leave them out (on the command line: --skip-bad-rows)."
    )


def none(rows, kinds, first):
    """Return the end of the sentence about a file without any good row."""
    return (
        f": none of its rows can be used ({rows} in all): {kinds}. The first: {first}. "
        "Are columns and encoding the right ones?"
    )


BAD = {
    "wrong columns": (
        "a,b\n1,2\n",
        ": no column is clearly the text. Its columns are: a, b. "
        "Say which, on the command line: --columns text=NAME label=NAME",
    ),
    "gbk, damaged": (
        CHINESE.encode("gbk") + b"\xff\xff,1\n",
        some(19, "characters that cannot be read in this encoding (1)", "line 20 “�� | 1”"),
    ),
    "latin-1": (
        "text,label\nun été à la mer,1\nnaïveté,0\n".encode("latin-1"),
        f", line 2: not UTF-8. {CHOOSE}",
    ),
    "windows-1250": (
        "text,label\npříliš žluťoučký kůň,1\n".encode("cp1250"),
        f", line 2: not UTF-8. {CHOOSE}",
    ),
    "utf-16, cut off": (GOOD.encode("utf-16")[:-1], f", line 21: not UTF-16. {CHOOSE}"),
    "utf-16 without mark": (GOOD.encode("utf-16-le"), UTF_16),
    "utf-16 big-endian": (GOOD.encode("utf-16-be"), UTF_16),
    "ragged, too long": (
        GOOD + "a good, long film,1\n",
        some(21, WIDTH, "line 22 “a good | long film | 1”"),
    ),
    "ragged, too short": (GOOD + "a film\n", some(21, "no label (1)", "line 22 “a film | ”")),
    "ragged tsv": (
        GOOD.replace(",", "\t") + "a film\n",
        some(21, "no label (1)", "line 22 “a film | ”"),
    ),
    "ragged semicolons": (
        GOOD.replace(",", ";") + "a;film;1\n",
        some(21, WIDTH, "line 22 “a | film | 1”"),
    ),
    "header over two lines": (
        '"a\nb",c\n1,2\n',
        ": no column is clearly the text. Its columns are: a b, c. "
        "Say which, on the command line: --columns text=NAME label=NAME",
    ),
    "missing label": (GOOD + "a film,\n", some(21, "no label (1)", "line 22 “a film | ”")),
    "missing text": (GOOD + " ,1\n", some(21, "no text (1)", "line 22 “ | 1”")),
    "open quote": (GOOD + '"a film,1\nno film,0\n', some(22, MISPLACED, 'line 22 “"a film,1”')),
    "quote in the middle": (GOOD + '"a" film,1\n', some(21, MISPLACED, 'line 22 “"a" film,1”')),
    "text of a million characters": (
        GOOD + "a" * 1_000_001 + ",1\n",
        some(21, MISPLACED, f"line 22 “{'a' * 59}…”"),
    ),
    "total": (GOOD + "Total,10\n", some(21, "a total (1)", "line 22 “Total | 10”")),
    "title": (
        "Reviews of May,\n" + GOOD,
        some(21, "above the header (1)", "line 1 “Reviews of May | ”"),
    ),
    "zip": (archive("a.csv"), f" is a zip archive, {OTHER}"),
    "parquet": (b"PAR1\x15\x04", f" is a Parquet file, {OTHER}"),
    "binary": (bytes(range(256)) * 4, UTF_16),
    "NUL": (
        GOOD * 60 + "a\0b,1\n",
        some("1,260", "characters that cannot be read in this encoding (1)", "line 1261 “a�b | 1”"),
    ),
    "empty": ("", " is empty. Its first line must be: text,label"),
    "blank": (" \n\n", " is empty. Its first line must be: text,label"),
    "header only": ("text,label\n", " has a header but no rows."),
    "no header": (
        GOOD.partition("\n")[2],
        " seems to have no header: its first row is: a film number 0, 0. If that is data, say so (on the "
        "command line: --no-header), or add a first row that names the columns: text,label",
    ),
    "same column twice": (
        "text,label,text\na,1,b\n",
        " has two columns named 'text'. Give each its own name.",
    ),
    "too many columns": (
        ",".join(f"c{i}" for i in range(201)) + "\n",
        " has 201 columns; more than 200 are taken for a mistake. Keep those with texts and labels.",
    ),
    "many labels": (
        "text,label\n" + "".join(f"t{i},{i}\n" for i in range(51)),
        " has 51 different labels. If `label` is the right column, say so (on the command line: "
        "--many-labels); otherwise name another.",
    ),
    "too many labels": (
        "text,label\n" + "".join(f"t{i},{i}\n" for i in range(1001)),
        " has 1,001 different labels; at most 1,000 can be learned. Is `label` the right column?",
    ),
    "a column for each label": (
        "text,funny,sad\n" + "".join(f"a film {i},{i % 2},{i % 3 % 2}\n" for i in range(20)),
        ": each of the columns funny, sad stands for a label, so a text can have several. Here a text has "
        "one label: take one of these columns as the label, on the command line: --columns text=text "
        "label=funny",
    ),
    "web page": (
        "<!DOCTYPE html>\n<html><body>text,label</body></html>",
        " is a web page or XML, not a table. Download the file itself, or save a CSV.",
    ),
    "json array, cut off": (
        '[{"text": "a", "label": 1},\n{"text": "b"',
        " is not a whole JSON array: Expecting ',' delimiter: line 2 column 13 (char 40). "
        'Write [{"text": "a film", "label": "1"}, ...], or one object on each line.',
    ),
    "jsonl, broken line": (
        '{"text": "a", "label": 1}\n{"text": "b", "label\n',
        some(2, "not a whole JSON object (1)", 'line 2 “{"text": "b", "label”'),
    ),
    "jsonl, printed over lines": (
        '{\n  "text": "a"\n}\n',
        none(3, "not a whole JSON object (3)", 'line 1 “{”, line 2 “"text": "a"”, line 3 “}”'),
    ),
    "jsonl, no object": (
        '{"text": "a", "label": 1}\n"b"\n',
        some(2, "not a whole JSON object (1)", 'line 2 “"b"”'),
    ),
    "jsonl, nested too deeply": (
        '{"text": ' + "[" * 100_000,
        none(1, "not a whole JSON object (1)", f'line 1 “{{"text": {"[" * 50}…”'),
    ),
    "jsonl, missing key": (
        '{"text": "a", "label": 1}\n{"text": "b"}\n',
        some(2, "no label (1)", "line 2 “b | ”"),
    ),
    "jsonl, null": (
        '{"text": "a", "label": 1}\n{"text": null, "label": 1}\n',
        some(2, "no text (1)", "line 2 “ | 1”"),
    ),
    "jsonl, list": (
        '{"text": ["a", "b"], "label": 1}\n',
        none(1, "several values as text (1)", "line 1 “['a', 'b'] | 1”"),
    ),
    "jsonl, long text": (
        '{"label": 1, "text": "' + "a" * 1_000_001 + '"}\n',
        none(1, "text too long (1)", f"line 1 “1 | {'a' * 55}…”"),
    ),
    "gzip, cut off": (
        gzip.compress(GOOD.encode(), mtime=0)[:-9],
        " cannot be read: Compressed file ended before the end-of-stream marker was reached.",
    ),
    "gzip of a zip": (gzip.compress(archive("a.csv")), f" is a zip archive, {OTHER}"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_one_whole_sentence(file, name):
    content, sentence = BAD[name]
    path = file(content, "reviews.csv")
    with pytest.raises(DataError) as error:
        read_labelled(path)
    assert str(error.value) == f"{path}{sentence}"
    assert is_chinese(sentence_of(error.value, "zh")), sentence_of(error.value, "zh")


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (3, "There are 3 rows; training needs at least 10."),
        (12, "All rows have the label '1'; training needs at least two labels."),
    ],
)
def test_rows_that_cannot_be_split_are_said(file, rows, sentence):
    path = file("text,label\n" + "".join(f"film {i},1\n" for i in range(rows)))
    with pytest.raises(DataError) as error:
        split(read_labelled(path))
    assert str(error.value) == sentence
    assert is_chinese(sentence_of(error.value, "zh"))


@pytest.mark.parametrize("read", [read_pairs, read_texts])
def test_an_empty_file_says_what_would_be_in_it(file, read):
    path = file("")
    with pytest.raises(DataError) as error:
        read(path)
    remedy = "Its first line must be: text,target" if read is read_pairs else "Put one text on each line."
    assert str(error.value) == f"{path} is empty. {remedy}"


@pytest.mark.parametrize("packed", [False, True])
def test_too_large_a_file_is_refused_without_holding_it(file, packed, monkeypatch):
    monkeypatch.setattr(files, "MAX_BYTES", 2**20)
    content = b"text,label\n" + b"a film,1\n" * 2**22
    path = file(gzip.compress(content) if packed else content)
    tracemalloc.start()
    with pytest.raises(DataError) as error:
        read_labelled(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert str(error.value) == f"{path} has more than 1 MB. Use a part of it."
    assert peak < 2**23


def test_a_gzip_bomb_is_refused_at_the_real_limit(file):
    path = file(gzip.compress(gzip.compress(b"\0" * 2**20) * 1) + gzip.compress(b"\0" * 2**24) * 40)
    assert path.stat().st_size < 2**20
    with pytest.raises(DataError) as error:
        read_labelled(path)
    assert str(error.value) == f"{path} has more than 500 MB. Use a part of it."


def test_texts_are_read_as_strictly(file):
    path = file("a line\nand " + "a" * 1_000_000)
    with pytest.raises(DataError) as error:
        read_texts(path)
    assert str(error.value) == str(path) + some(2, "text too long (1)", f"line 2 “and {'a' * 55}…”")


EVERY_KIND = (
    GOOD + "\n,,\na film,\n,1\na film without a label\na, b,1\n" + '"c" d,1\n' + ",\n\n" + "合计,20\n"
)
"""Of 26 rows that are not blank, six cannot be used."""


def test_bad_rows_are_counted_by_kind_and_left_out_only_if_that_is_said(file):
    path = file(EVERY_KIND)
    with pytest.raises(DataError) as error:
        read_labelled(path)
    assert str(error.value) == (
        f"{path}: 6 of 26 rows cannot be used: no label (2), {WIDTH}, {MISPLACED}, a total (1), no text (1). "
        "The first: line 24 “a film | ”, line 25 “ | 1”, line 26 “a film without a label | ”. "
        "Correct them, or leave them out (on the command line: --skip-bad-rows)."
    )
    rows = read_labelled(path, options=ReadOptions(skip_bad_rows=True))
    assert rows["text"].tolist() == [f"a film number {i}" for i in range(20)]
    bad = rows.attrs["bad_rows"]
    assert (bad.count, bad.rows, bad.blank) == (6, 26, 4)
    assert bad.counts == {"missing.label": 2, "missing.text": 1, "width": 1, "quote": 1, "total": 1}
    assert [row.line for row in bad.first] == [24, 25, 26]
    assert BadRows.from_json(json.loads(json.dumps(bad.to_json()))) == bad
    said = [sentence_of(each, language) for language in ("en", "zh") for each in bad.said()]
    assert said[1] == f"{path}: 4 blank rows are skipped."
    assert is_chinese(said[2].replace(str(path), ""))


def test_a_file_of_blank_lines_and_good_rows_is_read_and_the_blank_ones_are_counted(file):
    for content in (
        GOOD.replace("\n", "\n\n"),
        GOOD + ",,,\n" * 21,
        GOOD.replace(",", "\t").replace("\n", "\n\t\n"),
    ):
        rows = read_labelled(file(content))
        assert len(rows) == 20
        assert rows.attrs["bad_rows"].blank == 21
        assert rows.attrs["bad_rows"].count == 0
