"""The Models page and the navigation, run by Streamlit's own test harness; no engine is needed here."""

import dataclasses
import io
import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pages
import pytest
from pages import again, go_to_page, listed, press, shown
from small_models import REVIEWS, write
from streamlit.proto.Metric_pb2 import Metric
from zipping import zipped

from transformer_viz import store
from transformer_viz.language import LANGUAGES, Words
from transformer_viz.network.config import CHOICES
from transformer_viz.training.model_card import thinned
from transformer_viz.ui.shell.card import (
    METRICS,
    NO_LICENCE,
    calibration_of,
    drawn_metric,
    metric_text,
    metrics_of,
    origin,
)
from transformer_viz.ui.shell.card_facts import examples_of, history_of, limits_in
from transformer_viz.ui.shell.shelf import free_name, purpose_of

ROOT = Path(__file__).parents[2]
CARD = {
    "task": "classification",
    "created": "2026-02-03T04:05:06+00:00",
    "source": "Six reviews",
    "licence": "CC0",
    "data": {"file": "reviews.csv", "rows": 6, "sha256": "0123456789abcdef" * 4},
    "test": {
        "accuracy": 0.75,
        "rows": 1234,
        "by_label": {"bad": {"precision": 0.875, "recall": 0.125, "f1": 0.25, "rows": 617}, "good": 5},
    },
    "validation": {"accuracy": 0.5, "rows": 2},
    "history": [{"loss": 0.9, "accuracy": 0.5, "val_loss": 0.8, "val_accuracy": 0.5}],
    "best_epoch": 1,
    "command": "python -m transformer_viz train --preset single-block",
    "versions": {"keras": "3.15.1"},
    "examples": [*REVIEWS[:2], "a *b* $c$"],
}


@pytest.fixture
def shelf(explorer, tmp_path, monkeypatch):
    """A folder with the models alpha, with a full card, and beta, with hardly any."""
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS", str(tmp_path))
    write(explorer, tmp_path)
    (tmp_path / "small").rename(tmp_path / "beta")
    stored = store.read_model("beta", tmp_path)
    parts = {"config": stored.config, "tokenizer": stored.tokenizer, "parameters": stored.parameters}
    store.write_model("alpha", **parts, card=CARD, folder=tmp_path)
    return tmp_path


def choose(app, row):
    app.session_state["shelf"] = {"selection": {"rows": [row], "columns": [], "cells": []}}
    return again(app)


def open_page(name="models", **address):
    return pages.open_page(name, **address)


def title(app):
    """Return the name of the model whose card is shown."""
    return app.main.subheader[0].value


def upload(app, data, name="model.zip"):
    [uploader] = app.file_uploader
    uploader.set_value((name, data, "application/zip"))
    return again(app)


def test_the_list_says_what_each_model_is(shelf):
    app = open_page()
    assert app.header[0].value == "What can each model do?"
    rows = app.dataframe[0].value.to_dict("records")
    assert [row["name"] for row in rows] == ["alpha", "beta"]
    alpha, beta = rows
    assert list(alpha) == ["name", "task", "test", "parameters"]
    assert (alpha["task"], alpha["test"]) == ("Text classification", "accuracy 75.0%")
    assert alpha["parameters"] == store.list_models()[0].config.num_parameters
    assert beta["test"] == ""


KERAS_FILE = zipped({"metadata.json": b"{}", "config.json": b"{}", "model.weights.h5": b""})


@pytest.mark.parametrize(
    ("file", "data", "lang", "said"),
    [
        ("torch.pt", b"\x80\x02", "en", "is a pickle"),
        ("torch.pt", b"\x80\x02", "zh", "那种 pickle 文件"),
        ("mine.keras", KERAS_FILE, "en", 'model = keras.saving.load_model("mine.keras")'),
        ("mine.keras", KERAS_FILE, "zh", 'model = keras.saving.load_model("mine.keras")'),
    ],
)
def test_a_file_beside_the_models_that_is_none_is_explained(shelf, file, data, lang, said):
    assert not open_page(lang=lang).info
    (shelf / file).write_bytes(data)
    [note] = open_page(lang=lang).info
    text = note.value.replace("\\", "")
    assert text.startswith(file)
    assert said in text


def test_the_card_shows_everything_that_is_known(shelf):
    app = open_page()
    assert title(app) == "alpha"
    metrics = {(metric.label, metric.value, metric.delta) for metric in app.metric}
    assert ("accuracy, test", "75.0%", "1,234 rows") in metrics
    assert ("accuracy, validation", "50.0%", "2 rows") in metrics
    assert len({metric.label for metric in app.metric}) == len(app.metric)
    [accuracy] = [metric for metric in app.metric if metric.label == "accuracy, test"]
    assert accuracy.help == "Share of texts whose likeliest label is the right one."
    size = sum(file.stat().st_size for file in (shelf / "alpha").iterdir())
    assert ("Parameters", "3,921", f"{size / 1e3:.0f} kB") in metrics
    assert Metric.MetricColor.GRAY not in {metric.color for metric in app.metric}
    assert app.code[0].value == CARD["command"]
    assert r"a \*b\* \$c\$" in shown(app)
    assert r"keras 3\.15\.1" in shown(app)
    tables = " ".join(str(value) for table in app.table for value in table.value.to_numpy().flat)
    for fact in (
        "2 encoder",
        "3 × 5",
        r"reviews\.csv",
        "CC0",
        "Six reviews",
        "2026\\-02\\-03",
        "0123456789abcdef",
        "learned",
        "bad, fair, good",
    ):
        assert fact.replace(", ", r"\, ") in tables or fact in tables
    [chart] = app.get("plotly_chart")
    figure = json.loads(chart.proto.spec)
    assert [trace["y"] for trace in figure["data"]] == [[0.9], [0.8], [0.5], [0.5]]


@pytest.mark.parametrize(
    ("epoch", "said"), [(0, "before the training"), (4, "after epoch 4"), (None, None), ("4", None)]
)
def test_a_card_says_after_which_epoch_the_model_was_saved(epoch, said):
    assert origin({"epoch": epoch}).get("Parameters") == said


@pytest.mark.parametrize(
    ("layers", "shown_layers"),
    [(None, []), (0, ["only the output layer"]), (2, ["the last 2 layers and the output layer"])],
)
def test_the_card_of_a_fine_tuned_model_names_its_parent(shelf, layers, shown_layers):
    stored = store.read_model("alpha")
    parts = {"config": stored.config, "tokenizer": stored.tokenizer, "parameters": stored.parameters}
    parent = {"name": "gpt-small", "sha256": "fedcba9876543210" * 4, "trainable_layers": layers}
    store.write_model("alpha", **parts, card={**CARD, "parent": parent}, overwrite=True)
    rows = [row for table in open_page().table for row in table.value.to_numpy().tolist()]
    assert ["Fine\\-tuned from", "gpt\\-small · fedcba9876543210"] in rows
    assert [row[1] for row in rows if row[0] == "Trained layers"] == shown_layers


def test_a_card_shows_the_confusion_matrix_of_the_test_set(shelf):
    stored = store.read_model("alpha")
    parts = {"config": stored.config, "tokenizer": stored.tokenizer, "parameters": stored.parameters}
    confusion = {"bad": {"bad": 1200, "good": 2}, "good": {"bad": 3, "good": "?"}, "odd": 5}
    store.write_model(
        "alpha", **parts, card={**CARD, "test": CARD["test"] | {"confusion": confusion}}, overwrite=True
    )
    [table] = [table.value for table in open_page().table if "True label" in table.value.columns]
    assert table.columns.tolist() == ["True label", "Predicted bad", "Predicted good"]
    assert table.to_numpy().tolist() == [["bad", "1,200", "2"], ["good", "3", ""]]


@pytest.mark.parametrize(
    ("value", "text"),
    [(54.0, "54.0"), (1072.79, "1,073"), (999.7, "1,000"), (0.0982, "0.0982"), (100.0, "100"), (0.0, "0.00")],
)
def test_a_perplexity_has_three_digits_at_least(value, text):
    assert metric_text("perplexity", value) == text


def test_a_card_that_says_little_shows_what_the_config_says(shelf):
    app = choose(open_page(), 1)
    assert title(app) == "beta"
    assert not app.get("plotly_chart")
    assert [metric.label for metric in app.metric] == ["Parameters"]


@pytest.mark.parametrize("value", [None, 5, "x", [], [5], {}, {"a": [1]}, True, 1e400, "<b>$x$"])
def test_whatever_stands_in_a_card_the_page_and_the_attention_page_can_be_opened(shelf, value):
    stored = store.read_model("alpha")
    parts = {"config": stored.config, "tokenizer": stored.tokenizer, "parameters": stored.parameters}
    store.write_model("alpha", **parts, card=dict.fromkeys(CARD, value), overwrite=True)
    app = open_page()
    assert title(app) == "alpha"
    assert isinstance(examples_of(store.list_models()[0].card), list)


SURROGATE, ODD = "\ud800", "a\x00b\u202ec\u2028d<b>$x$\ud83d[x](y)"
ODD_CARDS = {
    "surrogates": {
        name: {"by_label": {SURROGATE: {"precision": 0.5, "rows": 3}}, SURROGATE: 0.5}
        for name in ("test", "validation", "data", "versions")
    }
    | {"task": SURROGATE, "source": ODD, "licence": ODD, "command": SURROGATE, "examples": [SURROGATE, ODD]},
    "numbers": {
        "history": [{"loss": 10**300, "val_loss": float("nan")}, {"loss": "x", "epoch": "y"}],
        "test": {"accuracy": 1e300, "loss": float("inf"), "rows": 10**4000},
        "best_epoch": 10**99,
    },
    "long": {
        "task": "t" * 9_000,
        "test": {"f" * 9_000: 0.5, "by_label": {"l" * 9_000: {"f1": 0.5}}},
        "versions": {str(number): "v" for number in range(999)},
    },
    "epochs": {
        "history": [{"epoch": 1, "loss": 2}, {"epoch": 900, "loss": 1, "val_loss": 3}],
        "best_epoch": 900,
    },
}


@pytest.mark.parametrize("name", ODD_CARDS)
def test_odd_characters_and_numbers_never_break_a_page(shelf, monkeypatch, name):
    card = ODD_CARDS[name]
    stored = store.read_model("alpha")
    parts = {"config": stored.config, "tokenizer": stored.tokenizer, "parameters": stored.parameters}
    store.write_model("alpha", **parts, card=card, overwrite=True)
    app = open_page()
    assert title(app) == "alpha"
    seen = []
    monkeypatch.setattr(
        "transformer_viz.ui.pages.attention.page.show", lambda model: seen.append(examples_of(model.card))
    )
    go_to_page(app, "attention")
    assert seen == [["abcd<b>$x$[x](y)"] if name == "surrogates" else []]


def test_the_curves_of_a_long_training_stand_at_their_epochs(shelf):
    stored = store.read_model("alpha")
    parts = {"config": stored.config, "tokenizer": stored.tokenizer, "parameters": stored.parameters}
    history = [{"loss": 1 / number, "val_loss": 1 / number} for number in range(1, 5_001)]
    card = {"history": thinned(history, 4_321), "best_epoch": 4_321}
    store.write_model("alpha", **parts, card=card, overwrite=True)
    [chart] = open_page().get("plotly_chart")
    figure = json.loads(chart.proto.spec)
    epochs = figure["data"][0]["x"]
    assert (epochs[0], epochs[-1], 4_321 in epochs) == (1, 5_000, True)
    assert [shape["x0"] for shape in figure["layout"]["shapes"]] == [4_321]


def test_a_model_of_many_labels_names_the_first(shelf):
    stored = store.read_model("alpha")
    config = stored.config.replace(labels=[f"label{number}" for number in range(3_000)])
    parameters = {name: np.zeros(shape, np.float32) for name, shape in config.parameter_shapes().items()}
    store.write_model(
        "alpha", config=config, tokenizer=stored.tokenizer, parameters=parameters, card={}, overwrite=True
    )
    labels = rows_of(open_page())["Labels"]
    assert labels.startswith("label0, label1,")
    assert labels.endswith("label49, …")


def test_a_row_is_chosen_by_the_address_and_stands_in_it(shelf):
    app = open_page(show="beta")
    assert title(app) == "beta"
    choose(app, 0)
    assert app.query_params["show"] in ("alpha", ["alpha"])
    assert title(open_page(show="../../etc")) == "alpha"


def test_a_renamed_model_stays_chosen_under_its_new_name(shelf):
    app = open_page()
    app.text_input(key="models.rename-to-alpha").set_value("zeta")
    press(app, "Rename")
    assert (listed(app), title(app)) == (["beta", "zeta"], "zeta")
    assert "The model is now called **zeta**." in shown(app)
    assert store.read_model("zeta").card == CARD


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("beta", "There is already a model “beta”. Choose another name."),
        ("Big Model", "No spaces and no capitals: letters, digits, “"),
        ("../x", "No spaces and no capitals: letters, digits, “"),
        ("", "No spaces and no capitals: letters, digits, “"),
    ],
)
def test_a_name_that_will_not_do_is_refused_in_a_sentence(shelf, name, sentence):
    app = open_page()
    app.text_input(key="models.rename-to-alpha").set_value(name)
    press(app, "Rename")
    assert sentence in app.error[0].value
    assert listed(app) == ["alpha", "beta"]


def test_a_duplicate_is_offered_a_free_name(shelf):
    app = press(open_page(), "Duplicate")
    assert (listed(app), title(app)) == (["alpha", "alpha-2", "beta"], "alpha-2")
    press(app, "Duplicate")
    assert listed(app) == ["alpha", "alpha-2", "alpha-3", "beta"]


def test_a_deleted_model_is_restored_exactly(shelf):
    before = {file.name: file.read_bytes() for file in (shelf / "alpha").iterdir()}
    app = press(open_page(), "Delete")
    assert (listed(app), title(app)) == (["beta"], "beta")
    assert "**alpha** was deleted." in shown(app)
    press(app, "Undo")
    assert (listed(app), title(app)) == (["alpha", "beta"], "alpha")
    assert "was deleted" not in shown(app)
    assert {file.name: file.read_bytes() for file in (shelf / "alpha").iterdir()} == before


def test_each_of_several_deleted_models_can_be_taken_back(shelf):
    app = press(press(open_page(), "Delete"), "Delete")
    assert not app.dataframe
    assert "There is no model yet." in shown(app)
    for button in [button for button in app.button if button.label == "Undo"][:1]:
        button.click()
    again(app)
    assert listed(app) == ["alpha"]
    assert listed(press(app, "Undo")) == ["alpha", "beta"]


def test_after_a_deletion_the_one_below_is_chosen(shelf):
    store.duplicate_model("beta", "gamma")
    app = press(choose(open_page(), 1), "Delete")
    assert title(app) == "gamma"
    assert title(press(app, "Delete")) == "alpha"


def test_leaving_the_page_ends_the_offer_to_undo(shelf, monkeypatch):
    app = press(open_page(), "Delete")
    monkeypatch.setattr("transformer_viz.ui.pages.attention.page.show", lambda model: None)
    go_to_page(app, "attention")
    go_to_page(app, "models")
    assert listed(app) == ["beta"]
    assert "was deleted" not in shown(app)


def test_an_undo_that_comes_too_late_says_so(shelf):
    app = press(open_page(), "Delete")
    store.duplicate_model("beta", "alpha")
    press(app, "Undo")
    assert "another model has been given that name meanwhile" in app.error[0].value
    assert str(shelf) not in app.error[0].value
    store.delete_model("alpha")
    store.empty_trash(older_than=0)
    press(app, "Undo")
    assert "the trash was emptied" in app.error[0].value.replace("\\", "")


@pytest.mark.parametrize("label", ["Delete", "Rename", "Duplicate"])
def test_what_another_visitor_took_away_is_a_sentence(shelf, label):
    app = open_page()
    if label == "Rename":
        app.text_input(key="models.rename-to-alpha").set_value("zeta")
    shutil.rmtree(shelf / "alpha")
    press(app, label)
    assert listed(app) == ["beta"]


def test_the_page_after_another_visitor_changed_the_folder_shows_what_is_there(shelf):
    app = choose(open_page(), 1)
    store.rename_model("alpha", "zulu")
    again(app)
    assert (listed(app), title(app)) == (["beta", "zulu"], "beta")
    store.delete_model("beta")
    assert title(again(app)) == "zulu"


def test_a_damaged_model_says_what_is_wrong_and_can_be_deleted(shelf):
    (shelf / "beta" / "manifest.json").unlink()
    app = choose(open_page(), 1)
    assert app.dataframe[0].value["task"][1] == "⚠ cannot be used"
    assert "is missing" in app.error[0].value
    assert not {"Open", "Duplicate"} & {button.label for button in app.button}
    assert listed(press(app, "Delete")) == ["alpha"]


def test_a_folder_with_an_unfit_name_is_shown_and_left_alone(shelf):
    (shelf / "My Model").mkdir()
    app = open_page(show="My Model")
    assert title(app) == "My Model"
    assert not {"Open", "Rename", "Delete"} & {button.label for button in app.button}


def test_without_a_model_the_page_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS", str(tmp_path))
    app = open_page()
    assert "There is no model yet." in shown(app)
    assert "transformer_viz train" in app.code[0].value
    assert app.file_uploader


def test_a_packed_model_is_added_and_chosen(shelf):
    data = store.pack_model("beta")
    shutil.rmtree(shelf / "beta")
    app = upload(open_page(), data)
    assert (listed(app), title(app)) == (["alpha", "beta"], "beta"), shown(app)
    assert "**beta** was added." in shown(app)
    assert app.file_uploader[0].value is None


def test_a_packed_model_whose_name_is_taken_gets_another(shelf):
    app = upload(open_page(), store.pack_model("beta"))
    assert listed(app) == ["alpha", "beta"]
    assert "The name **beta** is taken" in shown(app)
    assert app.text_input(key="upload-to").value == "beta-2"
    app.text_input(key="upload-to").set_value("alpha")
    press(app, "Add the model")
    assert "There is already a model “alpha”." in app.error[0].value
    app.text_input(key="upload-to").set_value("guest")
    press(app, "Add the model")
    assert (listed(app), title(app)) == (["alpha", "beta", "guest"], "guest"), shown(app)


def hostile():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("../../etc/passwd", "x")
    return out.getvalue()


@pytest.mark.parametrize("data", [b"", b"MZ", b"\x89HDF\r\n\x1a\n", b"PK\x03\x04", KERAS_FILE, hostile()])
def test_any_other_file_is_refused_in_a_sentence(shelf, data):
    app = upload(open_page(), data, "../../evil.zip")
    assert app.error[0].value.startswith("This file was not added. ")
    assert listed(app) == ["alpha", "beta"]


def test_the_page_speaks_chinese(shelf):
    app = press(open_page(lang="zh"), "删除")
    assert app.header[0].value == "每个模型会做什么？"
    assert "已删除 **alpha**" in shown(app)


def rows_of(app):
    """Return the names and the values of the tables of the card, as they are read."""
    values = [table.value.to_numpy() for table in app.table]
    return {
        row[0].replace("\\", ""): row[1].replace("\\", "")
        for table in values
        for row in table
        if len(row) == 2
    }


@pytest.mark.parametrize("source", ["Made by the task dates", "dates"])
def test_what_the_app_itself_wrote_is_said_in_the_language_of_the_visitor(shelf, source):
    stored = store.read_model("alpha")
    card = CARD | {"source": source, "licence": NO_LICENCE, "data": {"task": "dates", "rows": 6}}
    config = stored.config.replace(norm="post", pooling="max", final_norm=False)
    parameters = {name: stored.parameters[name] for name in config.parameter_shapes()}
    store.write_model(
        "alpha", config=config, tokenizer=stored.tokenizer, parameters=parameters, card=card, overwrite=True
    )
    rows = rows_of(open_page(lang="zh"))
    assert rows["来源"] == "由本应用的任务“日期”生成"
    assert rows["许可"] == "无需许可：由程序生成"
    assert rows["层数"] == "编码器 2 层"
    assert rows["位置编码"] == "可学习位置编码"
    assert rows["层归一化"] == "后置（Post-LN）"
    assert rows["池化"] == "最大值"


def test_what_a_person_wrote_stays_as_it_is(shelf):
    rows = rows_of(open_page(lang="zh"))
    assert (rows["来源"], rows["许可"], rows["标签"]) == ("Six reviews", "CC0", "bad、fair、good")
    assert origin({"source": "Made by the task dates", "data": {"task": "my dates"}})["Source"] == (
        "Made by the task dates"
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_value_of_a_config_has_a_name(language):
    words = Words(language)
    for norm in CHOICES["norm"]:
        assert words(f"card.norm.{norm}")
    for pooling in CHOICES["pooling"]:
        assert words(f"card.pooling.{pooling}")
    for kind in CHOICES["positions"]:
        assert words(f"positions.kind.{kind.replace('-', '_')}")


def test_a_page_is_left_and_found_again_as_it_was(shelf, monkeypatch):
    seen = []
    monkeypatch.setattr("transformer_viz.ui.pages.attention.page.show", seen.append)
    app = open_page("attention", model="beta", lang="zh")
    go_to_page(app, "models")
    assert title(app) == "beta"
    assert not app.selectbox
    go_to_page(app, "attention")
    assert [model.name for model in seen] == ["beta", "beta"]
    assert app.selectbox(key="model").value == "beta"
    assert app.session_state["lang"] == "zh"


def test_open_shows_the_attention_of_the_model(shelf, monkeypatch):
    seen = []
    monkeypatch.setattr("transformer_viz.ui.pages.attention.page.show", seen.append)
    press(choose(open_page(lang="zh"), 1), "打开")
    assert [model.name for model in seen] == ["beta"]


@pytest.mark.parametrize("gone", ["renamed", "../../etc", "$x$"])
def test_a_model_that_is_gone_is_named_and_another_shown(shelf, monkeypatch, gone):
    seen = []
    monkeypatch.setattr("transformer_viz.ui.pages.attention.page.show", seen.append)
    app = open_page("attention", model=gone)
    assert [model.name for model in seen] == ["alpha"]
    assert app.toast[0].value.startswith("There is no model “")


def test_a_model_renamed_while_it_is_open_is_named_and_another_shown(shelf, monkeypatch):
    seen = []
    monkeypatch.setattr("transformer_viz.ui.pages.attention.page.show", seen.append)
    app = open_page("attention", model="beta")
    store.rename_model("beta", "zeta")
    again(app)
    assert [model.name for model in seen] == ["beta", "alpha"]
    assert "beta" in app.toast[0].value


def test_renaming_the_model_that_is_open_keeps_it_open(shelf, monkeypatch):
    seen = []
    monkeypatch.setattr("transformer_viz.ui.pages.attention.page.show", seen.append)
    app = go_to_page(open_page("attention", model="beta"), "models")
    app.text_input(key="models.rename-to-beta").set_value("zeta")
    go_to_page(press(app, "Rename"), "attention")
    assert [model.name for model in seen] == ["beta", "zeta"]


def test_metrics_of_a_decoder_omit_exact_match_and_shares(small_config):
    measured = {
        "rows": 5,
        "exact_match": 0.0,
        "bleu": 31.5,
        "token_accuracy": 0.5,
        "x": float("nan"),
        "share_held_out": 0.1,
    }
    assert metrics_of(measured, small_config) == {"bleu": 31.5, "exact_match": 0.0, "token_accuracy": 0.5}
    decoder = small_config.replace(architecture="decoder", labels=None, causal=None)
    assert metrics_of(measured, decoder) == {"bleu": 31.5, "token_accuracy": 0.5}


def test_a_translation_is_drawn_by_its_tokens(small_config):
    epoch = {
        f"{side}{name}": 0.5 for side in ("", "val_") for name in ("loss", "exact_match", "token_accuracy")
    }
    validation = {"rows": 5, "exact_match": 0.0, "token_accuracy": 0.5}
    assert drawn_metric(validation, epoch, small_config) == "exact_match"
    translated = epoch | {"val_bleu": 20.0}
    assert drawn_metric(validation | {"bleu": 20.0}, translated, small_config) == "token_accuracy"
    assert drawn_metric({}, {"loss": 1.0, "val_loss": 1.0}, small_config) is None


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_metric_has_a_name_and_a_gloss(language):
    for metric, name in METRICS.items():
        assert Words(language).has(name)
        assert Words(language).has(f"gloss.{metric}")


def test_the_card_tells_the_temperature_and_what_it_did(small_config, tmp_path):
    def told(card, **fields):
        return calibration_of(
            store.ModelSummary("m", small_config.replace(**fields), card, 0, None, tmp_path)
        )

    facts = {"calibration_error_before": 0.0461, "calibration_error": 0.0209, "temperature": 1.372}
    fitted = "1.37 (calibration error on the validation set: 4.6% before, 2.1% after)"
    assert told({"calibration": facts}, temperature=1.372) == {"Temperature": fitted}
    short = {"tokens": 24, "calibration_error_before": 0.1, "calibration_error": 0.034}
    both = facts | {"tokens": 1258, "sentences": short}
    assert told({"calibration": both}, temperature=1.372) == {
        "Temperature": "1.37 (calibration error on the validation set: in texts of about 1,258 tokens 4.6% "
        "before, 2.1% after; in sentences of about 24 tokens 10.0% before, 3.4% after)"
    }
    assert told({"calibration": {"calibration_error": "x"}}, temperature=2) == {"Temperature": "2"}
    assert told({}) == {"Temperature": "1 (not calibrated)"}
    assert told({}, architecture="decoder", labels=None, causal=None) == {}


def test_what_a_model_does_is_said_as_its_card_says_it():
    model = store.list_models()[0]

    def said(**card):
        return purpose_of(dataclasses.replace(model, card=card))

    assert said(purpose={"en": "film reviews", "zh": "影评"}) == "film reviews"
    assert len(said(purpose={"en": "x" * 99})) == 60
    for card in ({}, {"purpose": "x"}, {"purpose": {"zh": "影评"}}):
        assert said(**card) == said()


def test_the_limits_of_a_model_are_told_as_they_are_written():
    assert limits_in({"limits": {"en": "Not for poems.", "zh": "不适用于诗歌。"}}, "en") == "Not for poems."
    for card in ({"limits": {"zh": "不适用于诗歌。"}}, {"limits": ["x"]}, {}):
        assert limits_in(card, "en") == ""
    assert len(limits_in({"limits": {"en": "x" * 99_999}}, "en")) == 1000


def test_what_a_card_does_not_say_is_left_out():
    assert origin({"data": {"rows": True}, "source": 5}) == {}
    assert history_of({"history": [{"loss": 1}, 5]}) == []


def test_rows_of_several_files_name_them_all():
    files = [{"file": "train.csv", "sha256": "0"}, {"file": "more.csv"}, "no file", {"file": 5}]
    assert origin({"data": {"files": files, "rows": 7}}) == {"File": "train.csv, more.csv", "Rows": "7"}
    assert origin({"data": {"files": "train.csv"}}) == {}


@pytest.mark.parametrize(
    ("name", "free"),
    [
        ("new", "new"),
        ("a", "a-2"),
        ("My Model", "my-model"),
        ("日期 2", "日期-2"),
        ("☺", "model"),
        ("con", "con-2"),
        ("x" * 99, "x" * 60),
    ],
)
def test_a_free_name_is_fit_and_close_to_what_was_meant(name, free):
    assert free_name(name, ["a", "b"]) == free
