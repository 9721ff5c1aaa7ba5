"""Whatever a file holds, each reader returns rows that can be used, or says in a sentence why not."""

import gzip
import random
import zlib

import hostile
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer_viz.data import (
    RECOGNISED,
    DataError,
    ReadOptions,
    Source,
    preview,
    read_for_decoder,
    read_labelled,
    read_pairs,
    read_texts,
    split,
)
from transformer_viz.data.read import MAX_LABEL
from transformer_viz.data.table import MAX_CHARS

SKIPPING = ReadOptions(skip_bad_rows=True)

READERS = (
    (read_labelled, RECOGNISED),
    (read_labelled, SKIPPING),
    (read_pairs, SKIPPING),
    (read_texts, RECOGNISED),
    (read_for_decoder, SKIPPING),
)


def check(path):
    """Read a file in all ways; return how many of them gave rows."""
    usable = 0
    for read, options in READERS:
        try:
            rows = read(path, options=options)
        except DataError as error:
            check_sentence(error)
            continue
        usable += 1
        bad = rows.attrs["bad_rows"]
        assert bad.count + len(rows) == bad.rows
        assert options.skip_bad_rows or not bad.count
        assert len(rows) > 0
        for column in rows:
            most = MAX_LABEL if column == "label" else MAX_CHARS
            for value in rows[column]:
                assert type(value) is str
                assert len(value) <= most
                assert value.strip() or (column == "target" and read is read_for_decoder)
                value.encode()  # raises if no page and no tokenizer can take it
    try:
        found = preview(path)
    except DataError as error:
        check_sentence(error)
        assert not usable
    else:
        assert len(found.rows.columns) == len(found.columns) == len(set(found.columns))
    return usable


def check_sentence(error):
    sentence = str(error)
    assert sentence[0].isupper() or sentence.startswith("/")
    assert len(sentence) < 2000
    assert sentence.isprintable()


@pytest.mark.parametrize("kind", hostile.DATA)
def test_every_kind_of_hostile_file_is_rows_or_a_sentence(file, kind):
    for content in {hostile.DATA[kind](random.Random(seed)) for seed in range(3)}:
        check(file(content))


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_rows_or_a_sentence(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes(content)
    check(path)


VALID = {
    "csv": hostile.CSV,
    "quoted csv": b'text,label\n"a ""good"" film,\nyes",1\n"no, bad",0\n',
    "tsv": hostile.table(hostile.good(12), between="\t"),
    "semicolon": hostile.table(hostile.good(12), between=";"),
    "pairs": hostile.table([(f"one {i}", f"eins {i}") for i in range(12)], ("en", "de")),
    "jsonl": hostile.JSONL,
    "text": "To be, or not to be.\n再见，朋友。\n".encode() * 6,
    "gzip": gzip.compress(hostile.CSV, mtime=0),
}


@pytest.mark.parametrize("kind", VALID)
def test_what_was_valid_is_read(file, kind):
    assert check(file(VALID[kind])) > 0


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(list(VALID)), st.integers(0, 2**32))
def test_any_mutation_of_a_valid_file_is_rows_or_a_sentence(tmp_path_factory, kind, seed):
    path = tmp_path_factory.getbasetemp() / "mutated"
    path.write_bytes(hostile.mutated(VALID[kind], random.Random(seed)))
    check(path)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32))
def test_any_mutation_within_a_gzip_is_rows_or_a_sentence(tmp_path_factory, seed):
    """Mutate the content, not the container, so that the reader behind gzip is reached."""
    path = tmp_path_factory.getbasetemp() / "packed"
    packer = zlib.compressobj(wbits=31)
    path.write_bytes(packer.compress(hostile.mutated(hostile.CSV, random.Random(seed))) + packer.flush())
    check(path)


LINES = st.lists(
    st.dictionaries(st.sampled_from(["text", "label", "target", "x"]), st.text() | st.none() | st.integers())
)


@settings(max_examples=150, deadline=None)
@given(LINES, st.booleans())
def test_any_objects_are_rows_or_a_sentence(tmp_path_factory, objects, ascii_only):
    import json

    path = tmp_path_factory.getbasetemp() / "objects"
    text = "\n".join(json.dumps(each, ensure_ascii=ascii_only) for each in objects)
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    check(path)


def test_a_label_that_is_a_text_is_taken_for_a_mistake(file):
    path = file("text,label\n" + f"a film,{'a' * 201}\n" * 12)
    with pytest.raises(DataError) as error:
        read_labelled(path)
    first = ", ".join(f"line {line} “a film | {'a' * 50}…”" for line in (2, 3, 4))
    assert str(error.value) == (
        f"{path}: none of its rows can be used (12 in all): label too long (12). The first: {first}. "
        "Are columns and encoding the right ones?"
    )


def test_half_of_a_character_is_named_with_its_line(file):
    good, half = '{"text": "a film", "label": "1"}\n', '{"text": "a \\ud83d film", "label": "1"}\n'
    path = file(good * 3 + half)
    with pytest.raises(DataError) as error:
        read_labelled(path)
    assert str(error.value).startswith(
        f"{path}: 1 of 4 rows cannot be used: half a character, an escape like \\ud83d by itself (1). "
        "The first: line 4 “"
    )
    whole = '{"text": "a \\ud83d\\ude00 film", "label": "1"}\n'
    assert read_labelled(file(good + whole))["text"][1] == "a 😀 film"


@pytest.mark.parametrize("end", [".csv", ".jsonl", ".txt", ".tsv"])
def test_more_rows_than_are_read_are_refused(file, monkeypatch, end):
    monkeypatch.setattr("transformer_viz.data.table.MAX_ROWS", 1000)
    content = {
        ".csv": "text,label\n" + "a,1\n" * 1001,
        ".jsonl": '{"text": "a", "label": "b"}\n' * 1001,
        ".txt": "To be, or not to be.\n" * 1001,
        ".tsv": "text\tlabel\n" + "a\t1\n" * 1001,
    }[end]
    read = read_texts if end == ".txt" else read_labelled
    path = file(content)
    with pytest.raises(DataError) as error:
        read(path)
    assert str(error.value) == f"{path} has more than 1,000 rows. Use a part of it."
    assert len(read(file(content[: content.rstrip().rindex("\n") + 1]))) == 1000


def test_a_preview_of_an_upload_may_be_smaller_than_what_is_read_elsewhere(file):
    path = file(gzip.compress(hostile.table(hostile.good(200_000))))
    with pytest.raises(DataError) as error:
        preview(Source(path, most_bytes=2**20))
    assert str(error.value) == f"{path} has more than 1 MB. Use a part of it."
    assert preview(path).kind == "labels"


def test_odd_labels_are_labels_all_the_way(file):
    """What is hostile to a page is still a label: it is split, and stands in the rows as it is."""
    odd = [label for label in hostile.LABELS if label.strip() and len(label) <= MAX_LABEL][:12]
    rows = read_labelled(file(hostile.objects([(f"film {i}", odd[i % 12]) for i in range(120)])))
    assert set(rows["label"]) == {label.strip() for label in odd}
    assert set(split(rows).train["label"]) == set(rows["label"])
