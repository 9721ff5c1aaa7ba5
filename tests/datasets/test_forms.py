"""Forms in which people have their data: encodings to choose, workbooks, files without a header."""

import gzip
import json
import random

import pytest
from workbooks import workbook

from transformer_viz.data import (
    DataError,
    ReadOptions,
    preview,
    read_for_decoder,
    read_labelled,
    read_pairs,
    read_texts,
)
from transformer_viz.data.columns import example_of_several
from transformer_viz.data.encodings import decode, encoding_named
from transformer_viz.language import Problem

FILMS = [f"what a film number {i}" for i in range(20)]
STARS = [str(i % 5) for i in range(20)]
NO_HEADER = ReadOptions(has_header=False)
SKIPPING = ReadOptions(skip_bad_rows=True)

SPANISH = "text,label\n" + "".join(f"¿Qué película es la {i}?,sí\nNo sé 5 €,no\n" for i in range(9))


def test_an_encoding_can_be_chosen(file):
    path = file(SPANISH.encode("cp1252"))
    with pytest.raises(DataError, match="line 2: not UTF-8"):
        read_labelled(path)
    options = ReadOptions(encoding="Windows-1252")
    assert read_labelled(path, options=options)["text"][:2].tolist() == [
        "¿Qué película es la 0?",
        "No sé 5 €",
    ]
    assert preview(path, options).encoding == "Windows-1252"


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("cp1252", "Windows-1252"),
        ("latin-1", "Windows-1252"),
        ("windows-1252", "Windows-1252"),
        ("gb2312", "GBK"),
        ("utf8", "UTF-8"),
        ("UTF-8-SIG", "UTF-8"),
        ("shift_jis", "Shift JIS"),
        (" big5 ", "Big5"),
        ("utf-16", "UTF-16"),
    ],
)
def test_an_encoding_has_all_its_usual_names(name, encoding):
    assert encoding_named(name) == encoding


def test_an_encoding_nobody_knows_is_a_sentence():
    with pytest.raises(Problem, match=r"no encoding 'klingon' here\. Those known: UTF-8, GBK, .*UTF-32"):
        encoding_named("klingon")


SHORT = {
    "GBK": "房间很好 服务太差 味道不错 送餐很慢 太咸了 非常满意 不推荐 早餐一般 再也不来了 标签名称",
    "EUC-KR": "방이_넓고_좋았습니다 음식이_맛있어요 재미없다 추천합니다 그냥_그래요 실망했습니다",
    "Big5": "房間很大 送餐很慢 味道不錯 太鹹了 演員的演技太差 值得一看 浪費時間",
}


@pytest.mark.parametrize("encoding", SHORT)
def test_two_short_lines_are_enough_to_tell_chinese_from_korean(encoding):
    codec = {"GBK": "gb18030", "EUC-KR": "cp949", "Big5": "big5"}[encoding]
    draw = random.Random(0)
    for _ in range(60):
        first, second = draw.sample([text.replace("_", " ") for text in SHORT[encoding].split()], 2)
        assert decode(f"text,label\n{first},1\n{second},0\n".encode(codec)).encoding == encoding


def test_a_few_bytes_that_cannot_be_decoded_are_bad_rows(file):
    rows = "".join(f"房间很好，服务也不错，第{i}次,1\n" for i in range(60))
    for codec in ("gb18030", "utf-8"):
        content = f"text,label\n{rows}".encode(codec)
        path = file(content + b"\xff\xfe,1\n" + content[11:] + b"a \xff,1\n")
        with pytest.raises(DataError, match=r"2 of 122 rows cannot be used: characters that cannot be read"):
            read_labelled(path)
        rows_read = read_labelled(path, options=SKIPPING)
        assert len(rows_read) == 120
        assert rows_read["text"][60] == "房间很好，服务也不错，第0次"


SHEET = [["评论", "标签", "日期"], *([f"房间很好{i}", i % 2, None] for i in range(20))]


def test_a_workbook_is_read_as_it_would_be_saved(file):
    path = file(workbook({"Sheet1": SHEET}), "评论.xlsx")
    rows = read_labelled(path)
    assert rows.to_numpy().tolist() == [[f"房间很好{i}", str(i % 2)] for i in range(20)]
    found = preview(path)
    assert (found.format, found.kind, found.is_sure, found.encoding) == ("workbook", "labels", True, "")
    cells = [["a", "b"], [1.5, True], [3, None], ["NA", "1.0"]]
    rows = read_texts(file(workbook({"a": cells})), {"text": "a"})
    assert rows["text"].tolist() == ["1.5", "3", "NA"]


def test_title_blank_rows_and_totals_of_a_workbook_are_named(file):
    rows = [["六月的评论"], [], *SHEET, [None, None], ["合计", 10, None], [None, None, None]]
    path = file(workbook({"Empty": [], "Sheet1": rows, "Other": SHEET}))
    with pytest.raises(DataError, match=r"2 of 22 rows .*: above the header \(1\), a total \(1\)"):
        read_labelled(path)
    read = read_labelled(path, options=SKIPPING)
    assert read["text"].tolist() == [f"房间很好{i}" for i in range(20)]
    assert [row.line for row in read.attrs["bad_rows"].first] == [1, 25]
    assert read.attrs["bad_rows"].blank > 0
    assert preview(path).sheets == ("Sheet1", "Other")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (workbook({"a": SHEET})[:-30], "is a zip archive, not a table"),
        (workbook({"a": []}), "has no filled cells in any sheet."),
        (b"\xd0\xcf\x11\xe0" + bytes(3000), "cannot be read as a workbook: "),
    ],
    ids=["cut off", "empty", "encrypted"],
)
def test_a_workbook_that_cannot_be_read_is_a_sentence(file, content, sentence):
    with pytest.raises(DataError) as error:
        read_labelled(file(content))
    assert sentence in str(error.value)


def test_the_line_that_tells_excel_the_delimiter_is_no_header(file):
    path = file("sep=;\r\ntext;label\r\n" + "".join(f"a film, {i};{i % 2}\r\n" for i in range(20)))
    rows = read_labelled(path)
    assert rows["text"][3] == "a film, 3"
    assert preview(path).columns == ("text", "label")
    path = file("sep=^\ntext^label\na film^1\nno film^\n")
    with pytest.raises(DataError, match="line 4 “no film"):
        read_labelled(path)


def test_bars_are_delimiters(file):
    path = file("text|label\n" + "".join(f"a film, {i}|{i % 2}\n" for i in range(20)))
    assert preview(path)[:2] == ("pipe", ("text", "label"))
    assert read_labelled(path)["text"][3] == "a film, 3"
    assert preview(path).kind == "labels"


def test_fasttext_has_its_label_before_the_text(file):
    lines = [f"__label__{'good' if i % 2 else 'bad'} {film}" for i, film in enumerate(FILMS)]
    path = file("\n".join(lines) + "\n\n__label__good __label__long a film\nno label\n")
    found = preview(path)
    assert (found.format, found.columns, found.kind, found.is_sure) == (
        "fasttext",
        ("text", "label"),
        "labels",
        True,
    )
    assert not found.lacks_header
    rows = read_labelled(path, options=SKIPPING)
    assert rows["text"].tolist() == [*FILMS, "a film"]
    assert rows["label"].tolist()[-2:] == ["good", "good|long"]
    assert rows.attrs["bad_rows"].counts == {"missing.label": 1}


def test_an_array_of_objects_is_read(file):
    rows = [{"text": film, "label": int(star), "more": [1]} for film, star in zip(FILMS, STARS, strict=True)]
    path = file(json.dumps([*rows, {"text": None, "label": 1}, 3], indent=1))
    read = read_labelled(path, options=SKIPPING)
    assert read.to_numpy().tolist() == [[film, star] for film, star in zip(FILMS, STARS, strict=True)]
    assert read.attrs["bad_rows"].counts == {"json": 1, "missing.text": 1}
    assert path.read_text().splitlines()[read.attrs["bad_rows"].first[1].line - 1].strip() == "3"


HEADERLESS = {
    "tabs": "".join(f"{film} it is.\t{star}\n" for film, star in zip(FILMS, STARS, strict=True)),
    "commas": "".join(f"{film} it is,{star}\n" for film, star in zip(FILMS, STARS, strict=True)),
    "bars": "".join(f"{film} it is.|{star}\n" for film, star in zip(FILMS, STARS, strict=True)),
    "workbook": workbook({"a": [[f"{film} it is.", star] for film, star in zip(FILMS, STARS, strict=True)]}),
}


@pytest.mark.parametrize("form", HEADERLESS)
def test_a_table_without_a_header_is_never_taken_for_texts(file, form):
    path = file(HEADERLESS[form])
    for read in (read_labelled, read_texts, read_for_decoder):
        with pytest.raises(DataError, match="no header: its first row is: what a film number 0"):
            read(path)
    found = preview(path)
    assert found.lacks_header
    assert not found.guess
    found = preview(path, NO_HEADER)
    assert not found.lacks_header
    assert (found.kind, found.is_sure) == ("labels", True)
    assert found.guess["labels"] == {"text": "column 1", "label": "column 2"}
    assert len(read_labelled(path, options=NO_HEADER)) == 20


def test_pairs_without_a_header_are_pairs_where_their_scripts_differ(file):
    path = file("".join(f"room number {i}\t第{i}号房间很好\n" for i in range(20)))
    assert preview(path).lacks_header
    found = preview(path, NO_HEADER)
    assert (found.kind, found.is_sure) == ("pairs", True)
    assert read_pairs(path, options=NO_HEADER)["target"][3] == "第3号房间很好"


@pytest.mark.parametrize(
    ("content", "kind", "is_sure"),
    [
        ("text,label\na,1\n", "labels", True),
        ("en,fr\na b,c d\n", "pairs", True),
        ("A line.\nAnd another one.\n", "texts", True),
        ("text\na film\n", "texts", True),
        (
            "Class Index,Title,Description\n"
            + "".join(f"{i % 4},the title of {i},a description of it {i}\n" for i in range(20)),
            "pairs",
            False,
        ),
        ("id,text\n1,a film it is\n2,b film\n3,c film\n", "texts", True),
        ("when,text\nMay,a film it is\nJune,b film\nMay 3,c film\n", "texts", False),
    ],
    ids=["labels", "pairs", "lines", "texts", "news", "numbered texts", "texts and more"],
)
def test_a_kind_is_sure_only_where_the_file_says_it(file, content, kind, is_sure):
    found = preview(file(content))
    assert (found.kind, found.is_sure) == (kind, is_sure)


def test_up_to_a_thousand_labels_are_read_after_a_yes(file):
    path = file("text,intent\n" + "".join(f"what is it {i},intent {i % 77}\n" for i in range(770)))
    assert preview(path).kind == "labels"
    with pytest.raises(DataError, match="has 77 different labels"):
        read_labelled(path)
    assert read_labelled(path, options=ReadOptions(many_labels=True))["label"].nunique() == 77


@pytest.mark.parametrize(
    ("labels", "example"),
    [
        (["comedy|drama", "drama", "comedy", "comedy|crime", "crime"] * 4, "comedy|drama"),
        (["a; b", "b; c", "a"] * 4, "a; b"),
        (["yes", "no", "yes, but"] * 4, ""),
        (["London, UK", "Paris, France"] * 4, ""),
        (["1", "0"] * 4, ""),
        (["a|b"] + ["a", "b"] * 20, ""),
    ],
)
def test_labels_that_join_several_are_recognised(labels, example):
    assert example_of_several(labels) == example


def test_a_workbook_may_be_packed(file):
    assert len(read_labelled(file(gzip.compress(workbook({"a": SHEET}))))) == 20
