import pytest

from transformer_viz.data import DataError, preview, read_labelled, read_pairs, read_texts

FILMS = [f"what a film number {i}" for i in range(20)]


def table(*columns, between=","):
    """Return the text of a table: each column is its name and its values, or one value for all rows."""
    names, values = zip(*columns, strict=True)
    values = [[value] * 20 if isinstance(value, str) else list(value) for value in values]
    return "\n".join(between.join(row) for row in [names, *zip(*values, strict=True)]) + "\n"


ROLES = "Roles here: text, label, second, group."

STARS = [str(i % 5) for i in range(20)]


@pytest.mark.parametrize(
    ("names", "text", "label"),
    [
        ("review,sentiment", "review", "sentiment"),
        ("Sentiment,Review", "Review", "Sentiment"),
        ("label,text,review", "text", "label"),
        ("category,label,sentence", "sentence", "label"),
        ("评论,标签", "评论", "标签"),
        ("text,target", "text", "target"),
        ("id,comment,class", "comment", "class"),
        (" Review Text ,Label", "Review Text", "Label"),
    ],
)
def test_well_known_names_are_known(file, names, text, label):
    path = file(names + "\n" + ",".join("xyz"[: names.count(",") + 1]) + "\n")
    assert preview(path).guess["labels"] == {"text": text, "label": label}


@pytest.mark.parametrize(
    ("names", "text", "target"),
    [
        ("source,target", "source", "target"),
        ("tgt,src", "src", "tgt"),
        ("en,fr", "en", "fr"),
        ("zh,en", "zh", "en"),
        ("id,原文,译文", "原文", "译文"),
        ("text,target", "text", "target"),
        ("question,answer", "question", "answer"),
    ],
)
def test_well_known_names_of_pairs_are_known(file, names, text, target):
    path = file(names + "\n" + ",".join("xyz"[: names.count(",") + 1]) + "\n")
    assert preview(path).guess["pairs"] == {"text": text, "target": target}


def test_content_tells_what_names_do_not(file):
    path = file(table(("n", map(str, range(20))), ("stars", STARS), ("what", FILMS)))
    assert preview(path).guess["labels"] == {"text": "what", "label": "stars"}
    assert read_texts(path)["text"].tolist() == FILMS
    path = file(table(("deutsch", FILMS), ("no", map(str, range(20))), ("latein", reversed(FILMS))))
    assert preview(path).kind == "pairs"
    assert read_pairs(path)["text"].tolist() == FILMS
    path = file(table(("a", [f"房间很好{i}" for i in range(20)]), ("b", STARS)))
    assert preview(path).guess["labels"] == {"text": "a", "label": "b"}


def test_one_name_leaves_the_other_to_content(file):
    path = file(table(("review", FILMS), ("stars", STARS), ("id", map(str, range(20)))))
    assert preview(path).guess["labels"] == {"text": "review", "label": "stars"}


@pytest.mark.parametrize(("values", "kind"), [(STARS, "labels"), (FILMS[::-1], "pairs")])
def test_a_target_is_a_label_where_its_values_come_again(file, values, kind):
    assert preview(file(table(("text", FILMS), ("target", values)))).kind == kind


ASK = "Say which, on the command line: --columns"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (
            table(("review", FILMS), ("comment", FILMS), ("label", STARS)),
            "several columns could be the text. Its columns are: review, comment, label. "
            f"{ASK} text=NAME label=NAME",
        ),
        (
            table(("text", FILMS), ("stars", STARS), ("mood", STARS)),
            "several columns could be the label. Its columns are: text, stars, mood. "
            f"{ASK} text=text label=NAME",
        ),
        (
            table(("title", FILMS), ("plot", FILMS), ("label", STARS)),
            "several columns could be the text. Its columns are: title, plot, label. "
            f"{ASK} text=NAME label=label",
        ),
        (
            table(("text", FILMS), ("n", map(str, range(20)))),
            f"no column is clearly the label. Its columns are: text, n. {ASK} text=text label=NAME",
        ),
        (
            table(*((f"column{i}", str(i)) for i in range(10))),
            "no column is clearly the text. Its columns are: column0, column1, column2, column3, column4, "
            f"column5, column6, column7, .... {ASK} text=NAME label=NAME",
        ),
    ],
)
def test_what_is_unclear_is_asked(file, content, sentence):
    path = file(content)
    with pytest.raises(DataError) as error:
        read_labelled(path)
    assert str(error.value) == f"{path}: {sentence}"
    assert "labels" not in preview(path).guess


@pytest.mark.parametrize("content", ["n,m\n1,2\n", "one\n"])
def test_a_preview_of_what_is_unclear_still_shows_the_columns(file, content):
    found = preview(file(content))
    assert found.columns
    assert len(found.rows) == 1


@pytest.mark.parametrize(
    ("content", "names", "header"),
    [
        ("a good film\t1\nno good film\t0\nbad film\t1\n", "a good film, 1", "text<TAB>label"),
        ("a film,pos\nno film,neg\nmore,pos\n", "a film, pos", "text,label"),
        ("what a film that is\nno good film of course\n", "what a film that is", "text,label"),
        ("a;0.5\nb;1\n", "a, 0.5", "text;label"),
    ],
)
def test_a_file_without_a_header_is_refused(file, content, names, header):
    path = file(content)
    with pytest.raises(DataError) as error:
        read_labelled(path)
    assert str(error.value) == (
        f"{path} seems to have no header: its first row is: {names}. If that is data, say so (on the command "
        f"line: --no-header), or add a first row that names the columns: {header}"
    )


def test_named_columns_are_taken(file):
    path = file("title,plot,mood\na,b,x\nc,d,y\n")
    rows = read_labelled(path, {"text": "plot", "label": "mood"})
    assert rows.to_numpy().tolist() == [["b", "x"], ["d", "y"]]
    assert read_texts(path, {"text": "title"})["text"].tolist() == ["a", "c"]
    assert read_pairs(path, {"text": "title", "target": "plot"})["target"].tolist() == ["b", "d"]


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"text": "plots"}, "{path} has no column 'plots'. Its columns are: title, plot, mood."),
        ({"texts": "plot"}, f"There is no role 'texts' for a column. {ROLES}"),
        (
            {"source": "plot"},
            "There is no role 'source' for a column. Roles here: text, label, second, group.",
        ),
        ({"text": "plot", "label": "plot"}, "The column 'plot' is named for two roles. Name one for each."),
    ],
)
def test_wrong_names_of_columns_are_said(file, columns, sentence):
    path = file("title,plot,mood\na,b,x\nc,d,y\n")
    with pytest.raises(DataError) as error:
        read_labelled(path, columns)
    assert str(error.value) == sentence.format(path=path)


PAIR = "premise,hypothesis,gold,label\n" + "".join(
    f"A man {verb}s in street {i}.,Somebody is {verb}ing.,x{i},{label}\n"
    for i in range(9)
    for verb, label in (("walk", "entailment"), ("sleep", "neutral"))
)


def test_two_texts_named_as_a_pair_with_a_label_are_read_as_one(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text(PAIR)
    found = preview(path)
    assert (found.kind, found.is_sure) == ("labels", True)
    assert found.guess["labels"] == {"text": "premise", "second": "hypothesis", "label": "label"}
    rows = read_labelled(path)
    assert rows.columns.tolist() == ["text", "label"]
    assert rows["text"][0] == "A man walks in street 0. [SEP] Somebody is walking."
    alone = read_labelled(path, {"text": "hypothesis", "label": "label"})
    assert alone["text"][0] == "Somebody is walking."
    swapped = read_texts(path, {"text": "hypothesis", "second": "premise"})
    assert swapped["text"][0] == "Somebody is walking. [SEP] A man walks in street 0."


def test_a_row_without_its_second_text_cannot_be_used(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text(PAIR + "A man waits.,,x,neutral\n")
    with pytest.raises(DataError, match="no text"):
        read_labelled(path)
