"""Files of one's own on the Train page: what is recognised, what is asked, and what the run then reads."""

import json

import pytest
from pages import again, open_page, press, shown
from test_train import runs, widget
from workbooks import workbook

from transformer_viz.data import ReadOptions
from transformer_viz.training.labelled_texts import LabelledTexts
from transformer_viz.training.runs.listing import list_runs

assert runs  # the fixture: a folder of runs, and a trainer, for each test

FILMS = [f"a {word} film, number {i}" for i in range(60) for word in ("lovely", "dull")]
STARS = ["5", "1"] * 60


def bring(content, name, **address):
    """Return the page with a file uploaded."""
    app = open_page("train", task="file", **address)
    app.file_uploader[0].set_value((name, content if isinstance(content, bytes) else content.encode(), ""))
    return again(app)


def can_start(app):
    return "Start training" in [button.label for button in app.main.button]


def tick(app, label):
    """Tick a box."""
    widget(app.checkbox, label).check()
    return again(app)


def started(app):
    """Start the training with one epoch; return the job of the run, which nobody waits for."""
    widget(app.select_slider, "Epochs").set_value(1)
    press(again(app), "Start training")
    [run] = list_runs()
    run.stop()
    return run.job


def test_a_workbook_with_a_title_and_a_total_is_trained_on():
    rows = [["Reviews of May"], [], ["review", "stars"]]
    rows += [[text, int(star)] for text, star in zip(FILMS, STARS, strict=True)]
    content = workbook({"May": [*rows, ["Total", 360]], "June": rows})
    app = bring(content, "reviews.xlsx")
    assert "The sheet **May** is read; the others are not: June." in shown(app)
    assert "1 blank row was skipped." in shown(app)
    said = shown(app).replace("\\", "")
    assert "**2** of 122 rows cannot be used: above the header (1), a total (1)." in said
    assert not can_start(app)
    app = tick(app, "**Leave these 2 rows out**")
    assert "**120** rows" in shown(app)
    job = started(app)
    assert job.columns == {"text": "review", "label": "stars"}
    assert job.options == ReadOptions(skip_bad_rows=True)
    data = LabelledTexts(job)
    assert data.num_rows + data.num_validation + len(data.test) == 120
    assert data.card["data"]["left_out"] == {"title": 1, "total": 1}
    assert sum(bad.count for bad in data.left_out) == 2


WESTERN = (
    "text;label\n"
    + "".join(f"¡Qué película número {i}!;sí\nNo sé qué decir {i};no\n" for i in range(40))
    + "\n;no\nSin etiqueta;\nÚnico;quizás\n\n"
)


def test_a_western_file_with_gaps_is_trained_on_once_its_encoding_is_chosen():
    app = bring(WESTERN.encode("cp1252"), "opiniones.csv")
    assert ["opiniones" in error.value and "Windows" in error.value for error in app.error] == [True]
    widget(app.selectbox, "Encoding").set_value("Windows-1252")
    again(app)
    assert not app.error
    assert app.dataframe[0].value["text"][0] == "¡Qué película número 0!"
    assert "2 blank rows were skipped." in shown(app)
    assert not can_start(app)
    job = started(tick(app, "**Leave these 3 rows out**"))
    assert job.options == ReadOptions(encoding="Windows-1252", skip_bad_rows=True)
    left_out = {"missing.text": 1, "missing.label": 1, "rare": 1}
    assert LabelledTexts(job).card["data"]["left_out"] == left_out


def test_bad_rows_are_named_in_the_readers_language_with_the_first_three():
    app = bring(WESTERN, "opiniones.csv", lang="zh")
    assert "已跳过 2 个空行。" in shown(app)
    said = shown(app).replace("\\", "")
    assert "83 行中有 **3** 行无法使用：缺少文本（1 行）、缺少标签（1 行）、标签的文本太少（1 行）" in said
    lines, reasons, contents = (app.table[0].value[name].tolist() for name in ("行", "问题", "内容"))
    assert lines == ["83", "84", ""]
    assert reasons == ["缺少文本", "缺少标签", "标签的文本太少"]
    assert [content.replace("\\", "") for content in contents] == ["| no", "Sin etiqueta |", "quizás | Único"]
    assert widget(app.checkbox, "**略去这 3 行**").value is False


def test_jsonl_with_nulls_is_trained_on_and_the_model_says_what_was_left_out(runs):
    from transformer_viz import store
    from transformer_viz.training.job import work

    lines = [{"text": text, "label": star} for text, star in zip(FILMS, STARS, strict=True)]
    lines[3]["text"] = lines[7]["label"] = None
    app = bring("\n".join(map(json.dumps, lines)), "reviews.jsonl")
    assert "The first row is data" not in [box.label for box in app.checkbox]
    app = tick(app, "**Leave these 2 rows out**")
    started(app)
    [run] = list_runs()
    run.queue()
    work(run)
    state = run.state()
    assert (state.status, state.facts["train"] + state.facts["validation"]) == ("finished", 118 - 12)
    [left_out] = state.facts["left_out"]
    assert left_out["counts"] == {"missing.text": 1, "missing.label": 1}
    assert store.read_model(run.model).card["data"]["left_out"] == left_out["counts"]
    said = shown(open_page("train", run=run.id)).replace("\\", "")
    assert "2 of 120 rows are left out: no text (1), no label (1). The first: line 4 “ | 1”" in said


def test_a_file_of_a_hundred_labels_is_trained_on_after_a_yes():
    rows = "".join(f"what is question {i} about,intent {i % 100}\n" for i in range(500))
    app = bring(f"text,intent\n{rows}", "intents.csv")
    assert "There are 100 different labels." in shown(app)
    assert "100 labels, the most frequent: " in shown(app)
    assert not can_start(app)
    job = started(tick(app, "**Yes, learn all 100 labels**"))
    assert job.options == ReadOptions(many_labels=True)
    assert len(LabelledTexts(job).config.labels) == 100


def test_a_file_without_a_header_is_read_from_its_first_row():
    content = "".join(f"{text}\t{star}\n" for text, star in zip(FILMS, STARS, strict=True))
    app = bring(content, "reviews.tsv")
    assert "The file seems to have no header" in shown(app)
    assert widget(app.checkbox, "The first row is data").value
    assert widget(app.selectbox, "Text column").value == "column 1"
    assert "**120** rows" in shown(app)
    widget(app.checkbox, "The first row is data").uncheck()
    assert "**119** rows" not in shown(again(app))
    assert not can_start(app)
    widget(app.checkbox, "The first row is data").check()
    job = started(again(app))
    assert job.options == ReadOptions(has_header=False)
    assert job.columns == {"text": "column 1", "label": "column 2"}


def test_what_is_to_be_learned_is_asked_where_the_file_does_not_say_it():
    rows = "".join(f"{i % 4},the title of {i},a description of {i} it is\n" for i in range(120))
    app = bring(f"Class Index,Title,Description\n{rows}", "news.csv")
    assert "The file does not show what is to be learned" in shown(app)
    assert widget(app.selectbox, "Data type").value is None
    assert not can_start(app)
    widget(app.selectbox, "Data type").set_value("labels")
    again(app)
    assert widget(app.selectbox, "Label column").value == "Class Index"
    assert widget(app.selectbox, "Text column").value is None
    assert not can_start(app)
    widget(app.selectbox, "Text column").set_value("Description")
    assert can_start(again(app))


def test_labels_in_columns_of_their_own_or_joined_in_one_cell_are_named():
    rows = "".join(f"a film of number {i},{i % 2},{i % 3 % 2}\n" for i in range(120))
    app = bring(f"text,funny,sad\n{rows}", "films.csv")
    assert "Here a text can have several labels, each in a column of its own: funny, sad." in shown(app)
    assert widget(app.selectbox, "Data type").value == "labels"
    assert widget(app.selectbox, "Label column").value is None
    widget(app.selectbox, "Label column").set_value("sad")
    assert can_start(again(app))
    genres = ("comedy|drama", "drama", "comedy", "crime|drama")
    app = bring("text,genre\n" + "".join(f"film {i},{genres[i % 4]}\n" for i in range(120)), "films.csv")
    assert "Labels such as “comedy\\|drama” seem to join several" in shown(app)


def test_of_few_rows_it_is_said_that_they_are_few_and_there_are_steps_enough_for_a_curve():
    rows = "".join(f"{text},{star}\n" for text, star in zip(FILMS[:60], STARS, strict=False))
    app = bring(f"text,label\n{rows.replace(', number', '')}", "reviews.csv")
    assert "60 rows are too few to learn much" in shown(app)
    assert "**150** steps" in shown(app)
    press(app, "Start training")
    [run] = list_runs()
    run.stop()
    assert (run.job.settings.batch_size, run.job.settings.epochs) == (8, 25)


@pytest.mark.parametrize("name", ["notes.zip", "reviews.parquet", "reviews"])
def test_any_file_can_be_chosen_and_is_refused_in_the_readers_language(name):
    app = bring(b"PAR1" + bytes(30), name, lang="zh")
    assert ["不是表格" in error.value for error in app.error] == [True]
    assert app.file_uploader[0].proto.type == []
