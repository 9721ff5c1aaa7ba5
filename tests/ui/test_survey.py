"""What a head does over a file of the visitor's, on the Attention page."""

import base64
import csv
import gzip
import io
import json
import shutil

import numpy as np
import pages
import pytest
from bench import bench_on, told_to
from numpy.testing import assert_allclose
from pages import again, go_to_page, shown
from small_models import write

import transformer_viz as tv
from transformer_viz import store
from transformer_viz.language import Words
from transformer_viz.pictures.captions import role_name
from transformer_viz.questions.roles.rules import MEASURES
from transformer_viz.questions.roles.survey import MAX_SURVEY_TEXTS, SurveyRequest

pytestmark = pytest.mark.usefixtures("engine")

TEXTS = [
    f"{first} {second} {last}"
    for first in ("A lovely film", "A dull plot", "Great music", "The story")
    for second in ("and a clever story", "not good at all", "funny and warm", "with a film", "for two hours")
    for last in (".", ", a film !", "of my life .", ", not a plot .", "; great acting .", "?")
]


def open_page(**address):
    """Return the page once its workbench shows what the address says."""
    app = pages.open_page(**address)
    bench_on(app)
    return app


def opened(app):
    """Open the box: unlike a browser, AppTest does not tell the app what is open."""
    app.session_state["survey"] = True
    return app


def press(app, label):
    """Press the one button of this label in the open box."""
    [button] = [button for button in app.button if button.label == label]
    button.click()
    return again(opened(app))


def bring(app, texts, name="mine.txt", *, packed=False):
    """Upload a file of texts, one on a line."""
    if not app.file_uploader:
        again(opened(app))
    data = texts if isinstance(texts, bytes) else "\n".join(texts).encode()
    uploader = next(box for box in app.file_uploader if box.key == "survey-upload")
    uploader.set_value((name, gzip.compress(data) if packed else data, "text/plain"))
    return again(opened(app))


def measure(app):
    return press(app, "Measure")


def sheet(app):
    """Return what the evidence of the selected head is given."""
    [found] = [each for each in app.get("bidi_component") if each.proto.component_name.endswith("sheet")]
    return json.loads(found.proto.json)


def charts(app):
    """Return the heights of the bars and lines of each chart."""
    found = [json.loads(chart.proto.spec)["data"] for chart in app.get("plotly_chart")]
    return [[np.frombuffer(base64.b64decode(each["y"]["bdata"]), "f4") for each in data] for data in found]


def offered(app, key):
    """Return the buttons of a list of texts."""
    return [button for button in app.button if (button.key or "").startswith(f"survey-{key}-")]


def test_a_head_is_measured_over_a_file_and_shown_with_its_texts(explorer):
    app = measure(bring(open_page(text="A dull film.", layer="2", head="3"), TEXTS))
    survey = tv.head_survey(explorer, TEXTS)
    assert not app.error
    assert "mine.txt: 120 texts." in shown(app).replace("\\", "")
    found = sheet(app)
    assert found["place"] == {"kind": "encoder", "layer": 1, "head": 2}
    assert found["role"] == role_name(Words("en"), survey.usual("encoder", 1, 2))
    numbers = {each["name"]: each for each in found["measured"]}
    roles = survey.roles.kinds["encoder"]
    for pattern, name in (("itself", "itself"), ("previous", "previous token"), ("focused", "focused")):
        place = MEASURES["encoder"].index(pattern)
        assert numbers[name]["mean"] == pytest.approx(roles.share[1, 2, place], abs=2e-3)
        assert numbers[name]["texts"] == 120
    here = np.diagonal(explorer.trace("A dull film.").encoder[1].attention.weights[2], -1).mean()
    assert numbers["previous token"]["here"] == pytest.approx(here, abs=1e-5)
    (distance, even), (entropy,) = charts(app)
    assert_allclose(distance, survey.distances["encoder"][1, 2], atol=1e-5)
    assert_allclose(even, survey.even_distances["encoder"], atol=1e-5)
    assert_allclose(entropy, survey.entropies["encoder"][1, 2], atol=1e-5)
    chosen = next(box for box in app.selectbox if box.label == "Pattern").value
    for key, expected in (
        ("top", survey.top_texts("encoder", 1, 2, chosen)),
        ("some", survey.random_texts()),
    ):
        shares = survey.shares_of("encoder", 1, 2, chosen)
        labels = [button.label.replace("\\", "") for button in offered(app, key)]
        assert [label.partition(" · ")[0] for label in labels] == [
            "—" if np.isnan(shares[number]) else f"{shares[number]:.0%}" for number in expected
        ]


WORDS = {"good": ("film", "lovely", "*great*"), "bad": ("plot", "dull")}


@pytest.fixture
def worded(models_folder):
    """A copy of the small model."""
    yield shutil.copytree(models_folder / "small", models_folder / "worded")
    shutil.rmtree(models_folder / "worded")


def test_words_typical_of_a_label_are_measured_if_they_are_kept_with_the_model(worded, explorer):
    store.write_head_roles("worded", tv.head_roles(explorer, TEXTS, words=WORDS))
    app = measure(bring(open_page(model="worded", text="A dull film.", layer="2", head="3"), TEXTS))
    survey = tv.head_survey(tv.load("worded"), TEXTS)
    row = next(each for each in sheet(app)["measured"] if each["name"] == "“bad” words")
    assert row["meaning"] == "Weight on words typical of “bad” texts, such as plot, dull"
    kind = survey.roles.kinds["encoder"]
    place = kind.names.index("words:bad")
    assert row["mean"] == pytest.approx(kind.share[1, 2, place], abs=2e-3)
    assert row["uniform"] == pytest.approx(kind.even[1, 2, place], abs=2e-3)
    here = explorer.trace("A dull film.").encoder[1].attention.weights[2][:, 1].mean()
    assert row["here"] == pytest.approx(here, abs=1e-5)
    patterns = next(box for box in app.selectbox if box.label == "Pattern")
    assert "“good” words" in patterns.options
    patterns.set_value("words:good")
    app = again(app)
    said = shown(app)
    assert "such as film, lovely, *great*" in said.replace("\\", "")
    assert " *great*" not in said  # Markdown would make it italic
    assert len(offered(app, "top")) == 8


def test_another_head_and_another_pattern_need_no_new_measurement(monkeypatch):
    app = measure(bring(open_page(text="A dull film."), TEXTS))
    monkeypatch.setattr("transformer_viz.service.engine.Engine.survey", None)
    app.session_state["survey-head"] = {"kind": "encoder", "layer": 1, "head": 1}
    app = again(app)
    assert sheet(app)["place"] == {"kind": "encoder", "layer": 1, "head": 1}
    before = [button.label for button in offered(app, "top")]
    next(box for box in app.selectbox if box.label == "Pattern").set_value("punctuation")
    app = again(app)
    assert [button.label for button in offered(app, "top")] != before
    app = go_to_page(go_to_page(app, "masks"), "attention")
    assert len(offered(app, "top")) == 8  # the file box is empty again, its result is not lost


def test_a_text_of_the_list_is_opened_on_the_page():
    app = measure(bring(open_page(text="A dull film."), TEXTS))
    first = offered(app, "top")[0]
    first.click()
    app = again(app)
    text = told_to(app)["opened"]["text"]
    assert text in TEXTS
    assert bench_on(app).said["text"] == text
    assert first.label.replace("\\", "").endswith(text)
    assert len(offered(app, "top")) == 8


@pytest.mark.parametrize(("count", "is_named"), [(99, False), (100, True)])
def test_a_role_is_named_from_a_hundred_texts_on(count, is_named):
    app = measure(bring(open_page(text="A dull film."), TEXTS[:count]))
    said = "Too few texts to name a usual pattern: it takes at least 100 in which the pattern can occur."
    assert (said not in shown(app).replace("\\", "")) == is_named
    if not is_named:
        assert sheet(app)["role"] == ""
    assert len(charts(app)) == 2


def test_a_table_is_asked_for_its_column_and_may_be_packed():
    file = io.StringIO()
    csv.writer(file).writerows(
        [["id", "review"], *([str(number), text] for number, text in enumerate(TEXTS))]
    )
    app = bring(open_page(text="A dull film."), file.getvalue().encode(), "mine.csv.gz", packed=True)
    assert next(box for box in app.selectbox if box.key == "survey-text").value == "review"
    assert sheet(measure(app))["measured"][0]["texts"] == 120
    next(box for box in app.selectbox if box.key == "survey-text").set_value("id")
    assert "Measure" in {button.label for button in again(app).button}


def test_of_a_longer_file_a_part_is_measured_and_the_rest_is_said_to_be_left_out(monkeypatch):
    assert MAX_SURVEY_TEXTS == 1000
    monkeypatch.setattr("transformer_viz.ui.pages.attention.survey.MAX_SURVEY_TEXTS", 50)
    app = bring(open_page(text="A dull film."), [*TEXTS, "film", "good " * 40])
    assert "50 of its 122 texts, evenly spaced, are measured; the others are left out." in shown(app)
    said = shown(measure(app))
    assert "1 text is longer than the model reads; it was cut." in said


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_file_that_cannot_be_read_or_measured_is_a_sentence(language):
    words = Words(language)
    app = bring(open_page(text="A dull film.", lang=language), b"\xff\xfe\x00", "My texts.txt")
    assert [error.value for error in app.error] != []
    assert "My texts.txt" in app.error[0].value.replace("\\", "")
    app = press(bring(app, ["film", "plot"]), words("survey.measure"))
    sentence = words.sentences["error.head_roles.no_texts"]
    assert [error.value.replace("\\", "") for error in app.error] == [sentence]
    app = press(bring(app, TEXTS), words("survey.measure"))
    assert not app.error
    assert len(offered(app, "top")) == 8


def test_rows_that_cannot_be_used_are_asked_about_before_they_are_left_out():
    rows = "".join(f"{number},{text.replace(',', '')}\n" for number, text in enumerate(TEXTS))
    app = bring(open_page(text="A dull film."), f"number,text\n{rows}120,\n".encode(), "mine.csv")
    assert "**1** of 121 rows cannot be used: no text" in shown(app)
    assert "Measure" not in [button.label for button in app.button]
    [box] = [box for box in app.checkbox if box.label == "**Leave this row out**"]
    box.check()
    again(opened(app))
    assert "mine.csv: 120 texts." in shown(app).replace("\\", "")


def test_a_measurement_that_was_stopped_is_started_again(monkeypatch):
    app = bring(open_page(text="A dull film."), TEXTS)
    app.session_state["cancelled"] = SurveyRequest("small", tuple(TEXTS))
    with monkeypatch.context() as patch:
        patch.setattr("transformer_viz.service.engine.Engine.survey", None)
        app = measure(app)
        assert "Stopped." in shown(app)
    app = press(app, "Start again")
    assert len(offered(app, "top")) == 8


def test_an_encoder_decoder_reads_targets_or_writes_them(translator, models_folder):
    write(translator, models_folder)
    try:
        file = "source,target\n" + "\n".join(f"{text},one two three" for text in ("A film", "A dull plot"))
        app = bring(open_page(model="translator", text="A dull film."), file.encode(), "mine.csv")
        assert next(box for box in app.selectbox if box.key == "survey-target").value == "target"
        app = measure(app)
        assert sheet(app)["place"]["kind"] == "cross"
        assert len(charts(app)) == 1
        offered(app, "some")[0].click()
        app = again(app)
        assert told_to(app)["opened"]["target"] == "one two three"
        app = bring(app, ["A film", "A dull plot"])
        assert len(offered(measure(app), "some")) == 2
    finally:
        shutil.rmtree(models_folder / "translator")


def test_the_numbers_can_be_downloaded():
    app = measure(bring(open_page(text="A dull film."), TEXTS))
    labels = {button.label for button in app.get("download_button")}
    assert {"Each text and head (CSV)", "Patterns and histograms (JSON)"} <= labels


def test_a_file_that_is_removed_is_gone():
    app = measure(bring(open_page(text="A dull film."), TEXTS))
    next(box for box in app.file_uploader if box.key == "survey-upload").set_value(None)
    assert not offered(again(app), "top")


def test_without_a_file_there_is_nothing_to_press():
    app = open_page(text="A dull film.")
    assert not app.file_uploader
    app = again(opened(app))
    assert len(app.file_uploader) == 1
    assert "Measure" not in {button.label for button in app.button}
    assert "One text does not show what a head does" in shown(app)
