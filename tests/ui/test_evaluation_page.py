"""The Evaluation page, run by Streamlit's own test harness against a real engine and a shipped model."""

import shutil

import pages
import pandas as pd
import pytest
from pages import again, shown
from shelf import place_of
from streamlit.testing.v1 import AppTest

from transformer_viz import store
from transformer_viz.store.load import load
from transformer_viz.training.runs.uploads import keep_upload
from transformer_viz.ui.shell.upload import file_key

pytestmark = pytest.mark.usefixtures("engine", "shipped")

TEXTS = [
    "房间干净，服务员好。",
    "房间很脏，隔音太差。",
    "早餐不错。",
    "再也不来了。",
    "位置很好。",
    "没睡好。",
] * 3


@pytest.fixture
def predicted():
    return load(place_of("hotel-zh")).predict(TEXTS)


@pytest.fixture
def labelled(predicted):
    """The texts with labels, as in the file that the model was trained on, of which each fifth is wrong."""
    values = {"好评": "1", "差评": "0"}
    labels = [values[label] for label in predicted["label"]]
    labels = [{"0": "1", "1": "0"}[label] if n % 5 == 0 else label for n, label in enumerate(labels)]
    return pd.DataFrame({"text": TEXTS, "label": labels})


@pytest.fixture
def beside(models_folder):
    """Return a function that puts a model beside the others as long as the test lasts."""
    put = []

    def copy(name, called):
        put.append(shutil.copytree(place_of(name), models_folder / called))
        return put[-1]

    yield copy
    for place in put:
        shutil.rmtree(place)


def opened(frame, **address):
    """Open the page with an upload, as if it had been chosen there."""
    upload = keep_upload(frame.to_csv(index=False).encode(), "rows.csv")
    app = AppTest.from_file(pages.APP, default_timeout=pages.PATIENCE)
    app.session_state[file_key("evaluation")] = upload, "rows.csv"
    for key, value in ({"model": "hotel-zh"} | address).items():
        app.query_params[key] = value
    return pages.go_to_page(app, "evaluation")


def rows_of(app):
    [table] = app.dataframe
    return table.value


def test_the_mistakes_stand_first_the_surest_of_them_at_the_top(labelled, predicted):
    app = opened(labelled, lang="en")
    wrong = [n for n in range(len(TEXTS)) if n % 5 == 0]
    assert f"**{1 - len(wrong) / len(TEXTS):.1%} of {len(TEXTS)} rows are right**" in shown(app)
    probs = predicted.filter(like="prob_").max(axis=1)
    expected = sorted(wrong, key=lambda n: -probs[n])
    assert rows_of(app)["text"].tolist() == [TEXTS[n] for n in expected]
    assert rows_of(app)["probability"].tolist() == pytest.approx([probs[n] for n in expected], abs=1e-5)


def test_a_cell_of_the_matrix_shows_its_rows_and_stays_in_the_address(labelled, predicted):
    app = opened(labelled, lang="en", evaluated="all")
    truth = labelled["label"].map({"1": "好评", "0": "差评"})
    counts = pd.crosstab(truth, predicted["label"]).reindex(index=["差评", "好评"], columns=["差评", "好评"])
    for row in range(2):
        for column in range(2):
            assert app.button(key=f"cell-{row}-{column}").label == str(counts.iloc[row, column])
    app.button(key="cell-0-1").click()
    again(app)
    assert app.query_params["confused"] in ("0-1", ["0-1"])
    chosen = (truth == "差评") & (predicted["label"] == "好评")
    assert rows_of(app)["text"].tolist() == [text for text, here in zip(TEXTS, chosen, strict=True) if here]
    reopened = opened(labelled, lang="zh", evaluated="all", confused="0-1")
    assert len(rows_of(reopened)) == chosen.sum() > 0


def test_texts_without_labels_are_predicted_too(labelled, predicted):
    app = opened(labelled[["text"]], lang="en")
    assert "rows are right" not in shown(app)
    assert sorted(rows_of(app)["predicted"]) == sorted(predicted["label"])


def test_a_label_that_the_model_does_not_know_is_named(labelled):
    app = opened(labelled.assign(label=["north"] + ["0", "1"] * 8 + ["0"]), lang="en")
    assert "north" in shown(app)
    assert not app.dataframe


def test_a_model_without_labels_offers_those_that_have_some(beside):
    beside("reviews-masked", "fills-in")
    app = pages.open_page("evaluation", model="fills-in", lang="en")
    assert "predicts no labels" in shown(app)
    app.button(key="open-hotel-zh").click()
    assert again(app).selectbox(key="model").value == "hotel-zh"


def test_words_that_speak_for_a_label_are_measured_when_asked(labelled):
    app = opened(pd.concat([labelled] * 2), lang="en")
    assert len(app.dataframe) == 1
    pages.press(app, "Leave out the words of 36 texts")
    again(app)
    assert "Over 36 of 36 rows" in shown(app)
    [against, in_favour, _] = [table.value for table in app.dataframe]
    assert "差" in "".join(against["word"])
    assert "好" in "".join(in_favour["word"])
    assert not [button for button in app.button if "Leave out" in button.label]


def test_two_models_stand_beside_each_other(labelled, predicted, beside):
    other = beside("hotel-zh", "other")
    stored = store.read_model(other)
    parameters = stored.parameters | {"classifier/bias": stored.parameters["classifier/bias"] + [30, 0]}
    facts = {"config": stored.config, "tokenizer": stored.tokenizer, "card": stored.card}
    store.write_model("other", parameters=parameters, folder=other.parent, overwrite=True, **facts)
    theirs = load(other).predict(TEXTS)["label"]
    differ = (theirs != predicted["label"]).to_numpy()
    truth = labelled["label"].map({"1": "好评", "0": "差评"})
    app = opened(labelled, lang="en", beside="other", evaluated="changed")
    right = [(differ & (each == truth)).sum() for each in (predicted["label"], theirs)]
    assert (
        f"in **{differ.sum()}** rows: hotel\\-zh is right in {right[0]} of them, other in {right[1]}"
        in shown(app)
    )
    assert 0 < differ.sum() == len(rows_of(app))
    assert rows_of(app)["other"].tolist() != rows_of(app)["predicted"].tolist()
