"""A folder of files that cannot be used: the whole sentence for each."""

import gzip
import io
import tracemalloc
import zipfile

import pytest
from chinese import is_chinese

from transformer_viz.data import DataError, files, read_labelled, read_pairs, read_texts, split
from transformer_viz.language import sentence_of

GOOD = "text,label\n" + "".join(f"a film number {i},{i % 2}\n" for i in range(20))
CHINESE = "text,label\n" + "房间很大，服务也很好。,1\n太差了，再也不来了！,0\n" * 9


def workbook():
    """Return the bytes an .xlsx begins with: a zip archive."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
    return file.getvalue()


SAVE = "Save it as CSV in UTF-8."
UTF_16 = f" is in UTF-16 or is no text. {SAVE}"
OBJECT = 'Each line must be one whole object, such as {"text": "a film", "label": "1"}.'

BAD = {
    "wrong columns": (
        "a,b\n1,2\n",
        ": no column is clearly the text. Its columns are: a, b. "
        "Say which, on the command line: --columns text=NAME label=NAME",
    ),
    "gbk, damaged": (
        CHINESE.encode("gbk") + b"\xff\xff,1\n",
        ", line 2: not UTF-8. Save the file as CSV in UTF-8.",
    ),
    "latin-1": (
        "text,label\nun été à la mer,1\nnaïveté,0\n".encode("latin-1"),
        ", line 2: not UTF-8. Save the file as CSV in UTF-8.",
    ),
    "windows-1250": (
        "text,label\npříliš žluťoučký kůň,1\n".encode("cp1250"),
        ", line 2: not UTF-8. Save the file as CSV in UTF-8.",
    ),
    "utf-16, cut off": (GOOD.encode("utf-16")[:-1], ", line 21: not UTF-8. Save the file as CSV in UTF-8."),
    "utf-16 without mark": (GOOD.encode("utf-16-le"), UTF_16),
    "utf-16 big-endian": (GOOD.encode("utf-16-be"), UTF_16),
    "ragged, too long": (
        GOOD + "a good, long film,1\n",
        ", line 22: 3 fields instead of 2. A text with a comma or a quote in it must stand in quotes.",
    ),
    "ragged, too short": (
        GOOD + "a film\n",
        ", line 22: 1 field instead of 2. A text with a comma or a quote in it must stand in quotes.",
    ),
    "ragged tsv": (
        GOOD.replace(",", "\t") + "a film\n",
        ", line 22: 1 field instead of 2. A text with a tab or a quote in it must stand in quotes.",
    ),
    "ragged semicolons": (
        GOOD.replace(",", ";") + "a;film;1\n",
        ", line 22: 3 fields instead of 2. A text with a semicolon or a quote in it must stand in quotes.",
    ),
    "empty line": (GOOD + "\na,1\n", ", line 22 is empty. Remove it."),
    "empty first line": ("\n" + GOOD, ", line 1 is empty. Remove it."),
    "header over two lines": (
        '"a\nb",c\n1,2\n',
        ": no column is clearly the text. Its columns are: a b, c. "
        "Say which, on the command line: --columns text=NAME label=NAME",
    ),
    "missing label": (GOOD + "a film,\n", ", line 22: the label is empty. Fill it in or remove the row."),
    "missing text": (GOOD + " ,1\n", ", line 22: the text is empty. Fill it in or remove the row."),
    "open quote": (
        GOOD + '"a film,1\nno film,0\n',
        ", the row that begins in line 22: unexpected end of data. Is a quote left open, or a text longer "
        "than 1,000,000 characters?",
    ),
    "quote in the middle": (
        GOOD + '"a" film,1\n',
        ", the row that begins in line 22: ',' expected after '\"'. Is a quote left open, or a text longer "
        "than 1,000,000 characters?",
    ),
    "workbook": (
        workbook(),
        " is an Excel workbook or a zip archive, not a CSV. Save the table as CSV (UTF-8).",
    ),
    "parquet": (b"PAR1\x15\x04", " is a Parquet file, not a CSV. Save the table as CSV (UTF-8)."),
    "binary": (bytes(range(256)) * 4, UTF_16),
    "NUL": (GOOD * 60 + "a\0b,1\n", ", line 1261: a NUL character. Remove it."),
    "empty": ("", " is empty. Its first line must be: text,label"),
    "blank": (" \n\n", " is empty. Its first line must be: text,label"),
    "header only": ("text,label\n", " has a header but no rows."),
    "no header": (
        GOOD.partition("\n")[2],
        " seems to have no header: its first line is: a film number 0, 0. "
        "Add a first line that names the columns: text,label",
    ),
    "same column twice": (
        "text,label,text\na,1,b\n",
        " has two columns named 'text'. Give each its own name.",
    ),
    "too many columns": (
        ",".join(f"c{i}" for i in range(201)) + "\n",
        " has 201 columns; more than 200 are taken for a mistake. Keep those with texts and labels.",
    ),
    "too many labels": (
        "text,label\n" + "".join(f"t{i},{i}\n" for i in range(51)),
        " has 51 different labels; more than 50 are taken for a mistake. Is `label` the right column?",
    ),
    "web page": (
        "<!DOCTYPE html>\n<html><body>text,label</body></html>",
        " is a web page or XML, not a table. Download the file itself, or save a CSV.",
    ),
    "json array": (
        '[{"text": "a", "label": 1}]',
        " is one JSON array. Write one object on each line (JSONL), or save a CSV.",
    ),
    "jsonl, broken line": (
        '{"text": "a", "label": 1}\n{"text": "b", "label\n',
        f", line 2: not a JSON object (Unterminated string starting at). {OBJECT}",
    ),
    "jsonl, printed over lines": (
        '{\n  "text": "a"\n}\n',
        f", line 1: not a JSON object (Expecting property name enclosed in double quotes). {OBJECT}",
    ),
    "jsonl, no object": ('{"text": "a", "label": 1}\n"b"\n', f", line 2: not a JSON object. {OBJECT}"),
    "jsonl, nested too deeply": (
        '{"text": ' + "[" * 100_000,
        f", line 1: not a JSON object (nested too deeply). {OBJECT}",
    ),
    "jsonl, missing key": (
        '{"text": "a", "label": 1}\n{"text": "b"}\n',
        ", line 2: no 'label', the label. Add it or remove the line.",
    ),
    "jsonl, null": (
        '{"text": "a", "label": 1}\n{"text": null, "label": 1}\n',
        ", line 2: the text is empty. Fill it in or remove the row.",
    ),
    "jsonl, list": (
        '{"text": ["a", "b"], "label": 1}\n',
        ", line 1: 'text', the text, is no text but several values. Write one text.",
    ),
    "jsonl, empty line": ('{"text": "a", "label": 1}\n\n{}\n', ", line 2 is empty. Remove it."),
    "jsonl, long text": (
        '{"label": 1, "text": "' + "a" * 1_000_001 + '"}\n',
        ", line 1: the text has 1,000,001 characters, more than 1,000,000. Cut it into parts.",
    ),
    "gzip, cut off": (
        gzip.compress(GOOD.encode(), mtime=0)[:-9],
        " cannot be read: Compressed file ended before the end-of-stream marker was reached.",
    ),
    "gzip of a workbook": (
        gzip.compress(workbook()),
        " is an Excel workbook or a zip archive, not a CSV. Save the table as CSV (UTF-8).",
    ),
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


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (
            "a line\nand " + "a" * 1_000_000,
            ", line 2: the text has 1,000,004 characters, more than 1,000,000. ",
        ),
        (GOOD + '"a film', ", the row that begins in line 22: unexpected end of data. Is a quote left open"),
    ],
)
def test_texts_are_read_as_strictly(file, content, sentence):
    path = file(content)
    with pytest.raises(DataError) as error:
        read_texts(path)
    assert str(error.value).startswith(f"{path}{sentence}")
