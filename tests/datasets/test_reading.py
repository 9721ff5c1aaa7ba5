import csv
import gzip
import hashlib
import threading

import pytest

from transformer_viz.data import (
    DataError,
    ReadOptions,
    Source,
    delimited,
    files,
    preview,
    read_for_decoder,
    read_labelled,
    read_pairs,
    read_texts,
)

GOOD = "text,label\na film,1\nno film,0\n"


def test_rows_come_in_file_order_as_text(file):
    path = file('text,label\nNA,1.0\n"a, ""b""\nc",null\n')
    assert read_labelled(path).to_numpy().tolist() == [["NA", "1.0"], ['a, "b"\nc', "null"]]


def test_a_source_is_read_once_and_decoded_once_for_each_encoding(file, monkeypatch):
    path, counted = file(gzip.compress(GOOD.encode())), []
    for name in ("_read", "decode"):
        function = getattr(files, name)
        monkeypatch.setattr(
            files, name, lambda *given, of=function, **options: counted.append(of) or of(*given, **options)
        )
    source = Source(path)
    assert source.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert preview(source).kind == "labels"
    rows = read_labelled(source)
    assert len(counted) == 2
    read_labelled(source, options=ReadOptions(encoding="GBK"))
    assert len(counted) == 3
    assert rows.equals(read_labelled(path))
    assert rows.attrs["sha256"] == source.sha256


def test_columns_may_stand_in_any_order(file):
    assert read_labelled(file("label,text\n1,a film\n")).to_numpy().tolist() == [["a film", "1"]]


def test_gzip_is_known_by_its_content(file):
    assert len(read_labelled(file(gzip.compress(GOOD.encode()), "data.csv"))) == 2


def test_a_byte_order_mark_is_no_part_of_the_header(file):
    assert len(read_labelled(file(b"\xef\xbb\xbf" + GOOD.encode()))) == 2


SENTENCES = {
    "GBK": ("gb18030", "房间很大，服务也很好，就是送餐很慢。"),
    "Big5": ("big5", "房間很大，服務也很好，就是送餐很慢。"),
    "Shift JIS": ("cp932", "部屋は広くて、サービスもとても良かったです。"),
    "EUC-JP": ("euc_jp", "部屋は広くて、サービスもとても良かったです。"),
    "EUC-KR": ("cp949", "방이 넓고 서비스도 아주 좋았습니다"),
    "Windows-1251": ("cp1251", "Номер большой, и обслуживание очень хорошее."),
    "KOI8-R": ("koi8_r", "Номер большой, и обслуживание очень хорошее."),
    "UTF-16": ("utf-16", "Une chambre spacieuse où l’été n’est pas trop chaud."),
    "UTF-32": ("utf-32", "房间很大，服务也很好，就是送餐很慢。"),
    "UTF-8": ("utf-8-sig", "房间很大，服务也很好，就是送餐很慢。"),
}


@pytest.mark.parametrize("rows", [1, 5000])
@pytest.mark.parametrize("name", SENTENCES)
def test_an_encoding_that_is_clear_is_recognised_and_named(tmp_path, name, rows):
    codec, text = SENTENCES[name]
    path = tmp_path / "a.csv"
    path.write_bytes(("text,label\n" + f'"{text}",1\n' * rows).encode(codec))
    assert preview(path).encoding == name
    assert read_labelled(path)["text"].tolist() == [text] * rows


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
    monkeypatch.setattr(files, "MAX_BYTES", 2**20)
    path = file(gzip.compress(b" " * 2**24))
    with pytest.raises(DataError, match=r"has more than 1 MB\. Use a part of it"):
        read_labelled(path)


def test_reading_leaves_the_field_limit_of_csv_as_it_was(file):
    before = csv.field_size_limit()
    read_labelled(file(GOOD))
    assert csv.field_size_limit() == before


def test_two_readers_at_once_do_not_change_each_others_limit(file, monkeypatch):
    path = file("text,label\n" + "a" * 200_000 + ",1\n")
    inside, go = threading.Event(), threading.Event()
    header = delimited.column_names

    def slow(*arguments):
        inside.set()
        assert go.wait(10)
        return header(*arguments)

    monkeypatch.setattr(delimited, "column_names", slow)
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


ROWS = [["a, good film", "1"], ["no “film”; no", "0"]]
TABLES = {
    "csv": 'text,label\n"a, good film",1\nno “film”; no,0\n',
    "tsv": "text\tlabel\na, good film\t1\nno “film”; no\t0\n",
    "semicolon": 'text;label\na, good film;1\n"no “film”; no";0\n',
    "jsonl": '{"text": "a, good film", "label": 1}\n{"label": "0", "text": "no “film”; no"}\n',
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("kind", TABLES)
def test_a_format_is_known_by_its_content(file, kind, end, mark, packed):
    content = (mark + TABLES[kind].replace("\n", end)).encode()
    path = file(gzip.compress(content) if packed else content, "data.txt")
    assert read_labelled(path).to_numpy().tolist() == ROWS
    found = preview(path)
    assert (found.format, found.columns, found.kind) == (kind, ("text", "label"), "labels")
    assert found.guess["labels"] == {"text": "text", "label": "label"}
    assert [list(map(str, row)) for row in found.rows.to_numpy()] == ROWS


def test_plain_text_is_one_text_on_a_line(file):
    path = file("To be, or not to be, that is the question:\n\nWhether 'tis nobler\r\nin the mind\u2028to\n")
    texts = ["To be, or not to be, that is the question:", "Whether 'tis nobler", "in the mind\u2028to"]
    assert read_texts(path)["text"].tolist() == texts
    assert preview(path)[:3] == ("text", ("text",), {"texts": {"text": "text"}})
    assert preview(path).kind == "texts"


@pytest.mark.parametrize(
    "content", ["[Enter GHOST]\nMark me.\n", "Well, well.\nNo, no.\n", "{sigh}\nSo be it\n"]
)
def test_what_looks_a_little_like_a_table_is_plain_text(file, content):
    assert read_texts(file(content))["text"].tolist() == content.split("\n")[:2]


def test_texts_are_the_text_column_of_a_table(file):
    assert read_texts(file(TABLES["tsv"]))["text"].tolist() == [row[0] for row in ROWS]
    assert read_texts(file("text\na film\nb\n"))["text"].tolist() == ["a film", "b"]


def test_quotes_in_a_tsv_are_characters_unless_they_enclose_a_field(file):
    path = file('text\tlabel\n"good" film\t1\n"a ""b"" c"\t0\n6" nails\t0\n')
    assert read_labelled(path)["text"].tolist() == ['"good" film', 'a "b" c', '6" nails']
    path = file('text\tlabel\n"two\nlines\tand a tab"\t1\n')
    assert read_labelled(path)["text"].tolist() == ["two\nlines\tand a tab"]


def test_json_values_are_text_as_it_stands_in_the_file(file):
    lines = ['{"text": "a b", "label": 1.0}', '{"text": "c", "label": true}', '{"text": "d", "label": 1e400}']
    assert read_labelled(file("\n".join(lines)))["label"].tolist() == ["1.0", "true", "1e400"]


def test_a_preview_shows_every_column_and_five_rows(file):
    path = file("id,review,stars\n" + "".join(f"{i},a film {i},{i % 2}\n" for i in range(50)))
    found = preview(path)
    assert found.columns == ("id", "review", "stars")
    assert found.rows.to_numpy().tolist() == [[str(i), f"a film {i}", str(i % 2)] for i in range(5)]
    assert found.guess["labels"] == {"text": "review", "label": "stars"}


def test_a_preview_reads_only_the_first_rows(file):
    path = file("text,label\n" + "a film,1\n" * 2000 + "a,b,c\n")
    assert preview(path).kind == "labels"
    with pytest.raises(
        DataError, match=r"1 of 2,001 rows cannot be used: more fields .* line 2002 “a \| b \| c”"
    ):
        read_labelled(path)


def test_a_group_is_read_where_it_is_named(file):
    path = file("film,text,label\nx,a b,1\n")
    assert read_labelled(path, {"group": "film"}).to_numpy().tolist() == [["a b", "1", "x"]]
    assert list(read_labelled(path)) == ["text", "label"]


def test_pairs_are_read_by_either_name_of_their_text(file):
    path = file("source,target\na, b\n")
    expected = [["a", "b"]]
    for columns in (None, {"source": "source"}, {"text": "source", "target": "target"}):
        assert read_pairs(path, columns).to_numpy().tolist() == expected


def test_an_endless_file_is_refused():
    with pytest.raises(DataError, match=r"^/dev/zero is a pipe or a device\. Give the path of a CSV file\.$"):
        read_labelled("/dev/zero")


@pytest.mark.parametrize(
    ("content", "columns", "rows"),
    [
        ("Well, well.\nNo, no.\n", None, [["Well, well.", ""], ["No, no.", ""]]),
        ("text,target\na,b\n", None, [["a", "b"]]),
        (
            "text,title\na film it is,some words\nb film,other words\n",
            None,
            [["a film it is", ""], ["b film", ""]],
        ),
        ("text,title\na,b\n", {"target": "title"}, [["a", "b"]]),
        ("text,label\na,b\n", {"text": "label"}, [["b", ""]]),
    ],
)
def test_a_decoder_alone_reads_pairs_only_where_a_target_is_named(file, content, columns, rows):
    frame = read_for_decoder(file(content), columns)
    assert list(frame) == ["text", "target"]
    assert frame.to_numpy().tolist() == rows
