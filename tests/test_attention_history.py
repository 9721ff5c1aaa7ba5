"""What any Keras model attends to while it is trained, and the page that plays it."""

import importlib.util
import json
import os
import subprocess
import sys

import keras
import numpy as np
import pytest
from lens_page import painted, watched_pages
from made_traces import unpack_heads
from playwright.sync_api import expect
from running_app import ROOT

import transformer_viz as tv
from transformer_viz.language import Words
from transformer_viz.pictures import epochs

LENGTH, WIDTH = 6, 8
ROWS = np.random.default_rng(0).normal(size=(64, LENGTH, WIDTH)).astype("f4")
WANTED = ROWS[:, 0, :1]
TOKENS = [[*"abcdef"], [*"uvwxyz"]]
OTHERS = [name for name in ("jax", "torch") if importlib.util.find_spec(name)]


def compiled(outputs, inputs):
    model = keras.Model(inputs, outputs)
    model.compile("adam", "mse")
    return model


def new_model():
    """Return a model with dropout and two attention layers, the second of which is causal."""
    keras.utils.set_random_seed(1)
    inputs = keras.Input((LENGTH, WIDTH))
    first = keras.layers.MultiHeadAttention(2, 4, name="first", dropout=0.1)(inputs, inputs)
    second = keras.layers.MultiHeadAttention(3, 4, name="second")(first, first, use_causal_mask=True)
    return compiled(keras.layers.Dense(1)(keras.layers.GlobalAveragePooling1D()(second)), inputs)


def fit(model, *callbacks, **options):
    options = {"batch_size": 16, "epochs": 3, "verbose": 0} | options
    return model.fit(ROWS, WANTED, callbacks=[*callbacks], **options)


class Snapshots(keras.callbacks.Callback):
    """Keeps the parameters before the first epoch and after each."""

    def on_train_begin(self, logs=None):
        self.parameters = [self.model.get_weights()]

    def on_epoch_end(self, epoch, logs=None):
        self.parameters.append(self.model.get_weights())


@pytest.fixture(scope="module")
def trained():
    """Return a history, the model, its parameters over time and the metrics that `fit` returned."""
    history, snapshots, model = tv.AttentionHistory(ROWS[:2]), Snapshots(), new_model()
    return history, model, snapshots, fit(model, history, snapshots, validation_split=0.25)


def test_each_record_is_what_the_model_attended_to_after_that_epoch(trained):
    history, _, snapshots, fitted = trained
    assert history.epochs == [0, 1, 2, 3]
    again = new_model()
    for recorded, parameters in zip(history.attention, snapshots.parameters, strict=True):
        again.set_weights(parameters)
        expected = tv.attention_of(again, ROWS[:2])
        assert recorded.keys() == expected.keys() == {"first", "second"}
        for path, weights in expected.items():
            np.testing.assert_array_equal(recorded[path], weights)
    assert not np.array_equal(history.attention[0]["first"], history.attention[-1]["first"])
    assert history.logs[0] == {}
    for name, values in fitted.history.items():
        assert [logs[name] for logs in history.logs[1:]] == values


def test_a_training_that_is_recorded_learns_the_same(trained):
    plain = new_model()
    fit(plain, validation_split=0.25)
    for one, other in zip(plain.get_weights(), trained[1].get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("every", "count", "expected"), [(2, 5, [0, 2, 4, 5]), (3, 3, [0, 3]), (9, 2, [0, 2])]
)
def test_every_so_many_epochs_and_the_last_one_are_recorded(every, count, expected):
    history = tv.AttentionHistory(ROWS[:1], every=every, layers="second")
    fit(new_model(), history, epochs=count)
    assert history.epochs == expected
    assert all([*attention] == ["second"] for attention in history.attention)


def test_a_training_that_stops_early_is_recorded_to_its_end():
    stop = keras.callbacks.EarlyStopping("loss", min_delta=1e9, patience=2)
    history = tv.AttentionHistory(ROWS[:1], every=10)
    fit(new_model(), stop, history, epochs=50)
    assert history.epochs == [0, 3]


def test_a_further_training_is_continued_and_that_of_another_model_begins_anew(trained):
    history, model = tv.AttentionHistory(ROWS[:1]), new_model()
    fit(model, history, epochs=2)
    fit(model, history, epochs=3, initial_epoch=2)
    fit(model, history, epochs=1)
    assert history.epochs == [0, 1, 2, 3, 4]
    before = history.attention
    fit(new_model(), history, epochs=1)
    assert history.epochs == [0, 1]
    assert len(before) == 5


class Reader(keras.Model):
    """A model that is subclassed, takes named inputs, and is built by what it first reads."""

    def __init__(self):
        super().__init__()
        self.attention = keras.layers.MultiHeadAttention(2, 4)
        self.head = keras.layers.Dense(1)

    def call(self, inputs):
        return self.head(self.attention(inputs["text"], inputs["memory"])[:, 0])


def test_a_subclassed_model_of_several_inputs_is_recorded():
    history, model = tv.AttentionHistory({"text": ROWS[:1], "memory": ROWS[:1, :4]}), Reader()
    model.compile("adam", "mse")
    model.fit({"text": ROWS, "memory": ROWS[:, :4]}, WANTED, verbose=0, callbacks=[history])
    [before], [after] = (attention.values() for attention in history.attention)
    assert before.shape == after.shape == (1, 2, LENGTH, 4)
    page = tv.show(history, TOKENS[0][:4], target_tokens=TOKENS[1])
    assert repr(page).startswith("Page('Attention heads during training', Layer 1, head")


def test_a_model_without_attention_is_told_so_before_it_is_trained():
    inputs = keras.Input((LENGTH, WIDTH))
    model = compiled(keras.layers.Dense(1)(keras.layers.Flatten()(inputs)), inputs)
    before = model.get_weights()
    with pytest.raises(ValueError, match=r"^The model computed no softmax"):
        fit(model, tv.AttentionHistory(ROWS[:1]))
    np.testing.assert_array_equal(model.get_weights()[0], before[0])


@pytest.mark.parametrize("every", [0, -1, 1.5, "2"])
def test_epochs_are_counted_by_whole_numbers(every):
    with pytest.raises(ValueError, match="`every` must be a whole number of epochs"):
        tv.AttentionHistory(ROWS[:1], every=every)


ELSEWHERE = """
import keras, numpy as np
import transformer_viz as tv
rows = np.random.default_rng(0).normal(size=(32, 6, 8)).astype("f4")
inputs = keras.Input((6, 8))
attention = keras.layers.MultiHeadAttention(2, 4, name="own")(inputs, inputs)
model = keras.Model(inputs, keras.layers.Dense(1)(attention[:, 0]))
model.compile("adam", "mse")
history = tv.AttentionHistory(rows[:1])
model.fit(rows, rows[:, 0, :1], epochs=2, verbose=0, callbacks=[history])
assert history.epochs == [0, 1, 2]
assert not np.array_equal(history.attention[1]["own"], history.attention[2]["own"])
np.testing.assert_allclose(history.attention[2]["own"], tv.attention_of(model, rows[:1])["own"], atol=1e-6)
assert len(tv.show(history, list("abcdef")).html) > 10_000
print(keras.backend.backend())
"""


@pytest.mark.parametrize("backend", OTHERS)
def test_trainings_under_other_backends_are_recorded(backend):
    environment = os.environ | {"KERAS_BACKEND": backend, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", ELSEWHERE]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, [backend]), done.stderr


@pytest.fixture
def page(browser, trained, tmp_path):
    """A saved page of the history."""
    with watched_pages(browser) as new_page:
        opened = new_page(viewport={"width": 1000, "height": 900})
        tv.show(trained[0], TOKENS, name="mine", layer=0).save(tmp_path / "history.html")
        opened.goto((tmp_path / "history.html").as_uri())
        painted(opened)
        yield opened


def table(page, head):
    """Return the largest numbers of each row of a head."""
    figure = page.locator("figure").nth(head)
    button = figure.get_by_role("button", name="Show as table")
    button.click()
    rows = figure.locator("tbody tr").all_inner_texts()
    button.click()
    return rows


def assert_shown(page, history, epoch, layer, text, heads):
    expect(page.locator("output")).to_have_text(f"Epoch {epoch}")
    expect(page.locator("figcaption")).to_have_text([f"Head {head + 1}" for head in range(heads)])
    for head in range(heads):
        weights = history.attention[epoch][layer][text, head]
        for row, said in zip(weights, table(page, head), strict=True):
            key = int(np.rint(100 * row).argmax())
            assert f"{TOKENS[text][key]} {np.rint(100 * row[key]):.0f}" in said.replace("\t", " ")


def test_the_page_plays_all_epochs_of_the_chosen_layer_and_sentence(page, trained):
    history = trained[0]
    expect(page).to_have_title("mine")
    layer, sentence = page.get_by_label("Layer"), page.get_by_label("Sentence")
    assert layer.locator("option").all_inner_texts() == ["1 · first", "2 · second"]
    assert_shown(page, history, 3, "first", 0, 2)
    layer.select_option(label="2 · second")
    assert_shown(page, history, 3, "second", 0, 3)
    slider = page.get_by_role("slider", name="Epoch")
    slider.press("Home")
    sentence.select_option(label="2 · u v w x y z")
    assert_shown(page, history, 0, "second", 1, 3)
    page.get_by_role("button", name="Play").click()
    expect(page.locator("output")).to_have_text("Epoch 3")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_follows_the_theme_of_the_system(page, scheme):
    page.emulate_media(color_scheme=scheme)
    painted(page)
    corner = "canvas => [...canvas.getContext('2d').getImageData(canvas.width / 2, 40, 1, 1).data]"
    background = page.locator("body").evaluate("body => getComputedStyle(body).backgroundColor")
    assert (sum(page.locator("figure canvas").first.evaluate(corner)[:3]) > 380) == (scheme == "light")
    assert (background == "rgb(255, 255, 255)") == (scheme == "light")


def test_a_picture_of_it_shows_the_last_epoch(trained, tmp_path):
    pytest.importorskip("matplotlib")
    history, model, *_ = trained
    options = {"layer": 1, "view": "all", "name": "mine"}
    tv.show(history, TOKENS, layer=1, name="mine").save(tmp_path / "history.svg")
    tv.show(tv.attention_of(model, ROWS[:1]), TOKENS[0], **options).save(tmp_path / "last.svg")
    assert (tmp_path / "history.svg").read_text("utf-8") == (tmp_path / "last.svg").read_text("utf-8")


def test_tokens_that_do_not_fit_are_refused(trained):
    history = trained[0]
    for tokens, said in (
        (None, "`tokens` is missing"),
        ("abcdef", "The tokens are one string"),
        (TOKENS[0], "recorded for 2 inputs, and there are tokens of 1"),
        ([TOKENS[0]] * 3, "recorded for 2 inputs, and there are tokens of 3"),
        ([[*"abc"]] * 2, r"of \(6, 6\) queries and keys, the tokens are \(3, 3\)"),
    ):
        with pytest.raises(ValueError, match=said):
            tv.show(history, tokens)
    with pytest.raises(ValueError, match="`layer` must be a whole number from 0 to 1"):
        tv.show(history, TOKENS, layer=2)


@pytest.mark.parametrize("option", [{"head": 1}, {"view": "lines"}, {"signed": True}, {"kind": "encoder"}])
def test_what_does_not_apply_to_a_history_is_refused(trained, option):
    with pytest.raises(ValueError, match=f"`{next(iter(option))}` does not apply to the history"):
        tv.show(trained[0], TOKENS, **option)


def test_what_was_not_given_to_a_training_says_so():
    with pytest.raises(ValueError, match=r"callbacks=\[history\]"):
        tv.show(tv.AttentionHistory(ROWS[:1]), TOKENS[0])


@pytest.mark.parametrize(("most", "expected"), [(4, [0, 1, 2, 3]), (3, [0, 2, 3]), (0, [0, 3])])
def test_of_many_weights_fewer_epochs_are_played_with_the_first_and_the_last(
    trained, monkeypatch, most, expected
):
    history = trained[0]
    size = sum(weights.size for weights in history.attention[0].values())
    monkeypatch.setattr(epochs, "MAX_WEIGHTS", most * size)
    texts = epochs.watched_texts(history, TOKENS, None)
    payload = epochs.heads_by_epoch(history, texts, Words("en"), layer=0, name="mine")
    begin = 8 + int.from_bytes(payload[:8], "little")
    for where in json.loads(payload[8:begin])["played"]:
        header, weights = unpack_heads(payload[begin + where["at"] :])
        assert header["steps"] == expected
        assert [len(line["steps"]) for line in header["pictures"][0]["lines"]] == [4] * len(weights[0])
