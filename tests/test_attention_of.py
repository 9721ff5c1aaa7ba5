"""The attention weights of Keras models made elsewhere, beside what their layers return or keep."""

import importlib.util
import os
import subprocess
import sys
import threading
from pathlib import Path

import attention_models
import keras
import numpy as np
import pytest
import tensorflow as tf
from running_app import ROOT

import transformer_viz as tv
from transformer_viz.explorer.attention_of import NoAttentionError
from transformer_viz.language import sentence_of

LENGTH, WIDTH, HEADS = 6, 12, 3

BACKENDS = [name for name in ("tensorflow", "jax", "torch") if importlib.util.find_spec(name)]


@pytest.fixture(scope="module")
def batch():
    return np.random.default_rng(1).normal(size=(2, LENGTH, WIDTH)).astype("f4")


def multi_head(name, **options):
    return keras.layers.MultiHeadAttention(HEADS, 4, name=name, **options)


def functional():
    """Return a model of a causal layer, and one that reads its output."""
    inputs = keras.Input((LENGTH, WIDTH))
    first = multi_head("first")(inputs, inputs, use_causal_mask=True)
    return keras.Model(inputs, multi_head("second", dropout=0.5)(first, inputs))


class Block(keras.layers.Layer):
    """A layer with an attention inside, which computes within a `tf.function`."""

    def __init__(self):
        super().__init__(name="block")
        self.attention = multi_head("inner")

    def call(self, inputs):
        return self.traced(inputs)

    @tf.function
    def traced(self, inputs):
        return inputs + self.attention(inputs, inputs)


class Nested(keras.Model):
    """A subclassed model that uses one block twice."""

    def __init__(self):
        super().__init__(name="nested")
        self.block = Block()

    def call(self, inputs):
        return self.block(self.block(inputs))


def test_each_layer_gives_the_weights_that_it_returns_itself(batch):
    model = functional()
    found = tv.attention_of(model, batch)
    assert list(found) == ["first", "second"]
    first, weights = model.get_layer("first")(
        batch, batch, use_causal_mask=True, return_attention_scores=True
    )
    np.testing.assert_allclose(found["first"], weights, atol=1e-6)
    assert not np.triu(found["first"], 1).any()
    weights = model.get_layer("second")(first, batch, return_attention_scores=True)[1]
    np.testing.assert_allclose(found["second"], weights, atol=1e-6)
    assert found["second"].shape == (2, HEADS, LENGTH, LENGTH)


@pytest.mark.parametrize("make", [functional, Nested])
def test_a_model_predicts_the_same_before_meanwhile_and_afterwards(make, batch):
    model = make()
    before, during = model(batch).numpy(), []
    parameters = [array.copy() for array in model.get_weights()]
    tv.attention_of(lambda inputs, training: during.append(model(inputs, training=training)), batch)
    np.testing.assert_array_equal(during[0], before)
    np.testing.assert_array_equal(model(batch), before)
    np.testing.assert_array_equal(model.predict(batch, verbose=0), model.predict(batch, verbose=0))
    for one, other in zip(parameters, model.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_layer_in_a_function_that_is_used_twice_is_found_twice(batch):
    model = Nested()
    found = tv.attention_of(model, batch)  # which also builds it
    assert [name.split("/")[-1] for name in found] == ["inner", "inner (2)"]
    inner = model.block.attention
    _, weights = inner(batch, batch, return_attention_scores=True)
    np.testing.assert_allclose(next(iter(found.values())), weights, atol=1e-6)
    assert not np.allclose(*found.values())


def test_an_encoder_decoder_has_cross_attention_of_its_own_shape(batch):
    text, target = keras.Input((LENGTH, WIDTH)), keras.Input((4, WIDTH))
    model = keras.Model([text, target], multi_head("cross")(target, text))
    found = tv.attention_of(model, [batch, batch[:, :4]])
    assert found["cross"].shape == (2, HEADS, 4, LENGTH)
    np.testing.assert_allclose(found["cross"].sum(axis=-1), 1, atol=1e-6)


@pytest.mark.parametrize("causal", [False, True])
def test_heads_that_share_keys_and_attention_without_heads_are_found(causal, batch):
    inputs = keras.Input((LENGTH, WIDTH))
    grouped = keras.layers.GroupQueryAttention(4, 6, 2, name="grouped")
    plain = keras.layers.Attention(name="plain")
    outputs = plain([grouped(inputs, inputs, use_causal_mask=causal), inputs], use_causal_mask=causal)
    found = tv.attention_of(keras.Model(inputs, outputs), batch)
    out, weights = grouped(batch, batch, use_causal_mask=causal, return_attention_scores=True)
    np.testing.assert_allclose(found["grouped"], weights, atol=1e-6)
    assert found["grouped"].shape == (2, 6, LENGTH, LENGTH)
    weights = plain([out, batch], use_causal_mask=causal, return_attention_scores=True)[1]
    np.testing.assert_allclose(found["plain"], np.asarray(weights)[:, None], atol=1e-6)


def test_two_attention_axes_are_one(batch):
    image = np.random.default_rng(2).normal(size=(1, 2, 3, WIDTH)).astype("f4")
    inputs = keras.Input((2, 3, WIDTH))
    layer = multi_head("image", attention_axes=(1, 2))
    found = tv.attention_of(keras.Model(inputs, layer(inputs, inputs)), image)
    assert found["image"].shape == (1, HEADS, 6, 6)
    np.testing.assert_allclose(found["image"].sum(axis=-1), 1, atol=1e-6)


def test_a_mask_of_the_model_is_in_force(batch):
    layer = keras.layers.MultiHeadAttention(HEADS, 4)
    mask = np.tile(np.arange(LENGTH) < 4, (2, LENGTH, 1))
    found = tv.attention_of(lambda inputs, training: layer(inputs, inputs, attention_mask=mask), batch)
    [weights] = found.values()
    assert not weights[..., 4:].any()


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Return a function from a backend to a folder of the answers of all `attention_models`."""
    folders = {}

    def written(backend):
        if backend in folders:
            return folders[backend]
        folders[backend] = tmp_path_factory.mktemp(backend)
        if backend == keras.backend.backend():
            attention_models.write(folders[backend])
        else:
            environment = {"KERAS_BACKEND": backend, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT)}
            command = [sys.executable, attention_models.__file__, folders[backend]]
            subprocess.run(command, env=os.environ | environment, check=True)
        return folders[backend]

    return written


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", attention_models.MODELS)
def test_layers_of_ones_own_are_recorded_as_they_compute_under_every_backend(name, backend, answers):
    given = dict(np.load(answers(backend) / f"{name}.npz"))
    kept = [each for key, each in given.items() if key.startswith("kept ")]
    found = [each for key, each in given.items() if key.startswith("found ")]
    assert len(found) == len(kept) > 0
    for one, other in zip(found, kept, strict=True):
        assert one.ndim == 4
        np.testing.assert_allclose(one, other.reshape(one.shape), atol=0.02 if name == "stock" else 1e-6)
        np.testing.assert_allclose(one.sum(axis=-1), 1, atol=0.02 if name == "stock" else 1e-5)
    for time in ("before", "after"):
        np.testing.assert_array_equal(given.get(time, given["meanwhile"]), given["meanwhile"])


@pytest.mark.parametrize(("axes", "queries"), [(2, 4), (1, 3), ((1, 2), 12), (-2, 4)])
def test_axes_without_attention_are_of_the_batch(axes, queries):
    image = np.random.default_rng(2).normal(size=(2, 3, 4, WIDTH)).astype("f4")
    layer = keras.layers.MultiHeadAttention(HEADS, 4, attention_axes=axes)
    [found] = tv.attention_of(layer, image, image).values()
    weights = layer(image, image, return_attention_scores=True)[1]
    assert found.shape == (24 // queries, HEADS, queries, queries)
    np.testing.assert_allclose(found, np.reshape(weights, found.shape), atol=1e-6)


def square(x):
    return keras.ops.matmul(x, keras.ops.transpose(x, (0, 2, 1)))


SOFTMAXES = {
    "classes": (lambda x: keras.ops.softmax(x[:, 0]) * 1, "fewer than four axes"),
    "experts": (lambda x: keras.ops.softmax(x) * 1, "the last two are no sequences of the inputs"),
    "positions": (lambda x: keras.ops.softmax(x[..., :1], axis=1) * 1, "sum to 1 over its last axis"),
    "pixels, returned": (lambda x: tf.nn.softmax(x[:, None]), "the model returns it"),
    "pairs, returned": (lambda x: tf.nn.softmax(square(x)), "the model returns it"),
    "pixels, returned beside": (lambda x: (x, tf.nn.softmax(x[:, None])), "the model returns it"),
}


@pytest.mark.parametrize("name", SOFTMAXES)
def test_a_softmax_that_is_no_attention_is_listed_and_recorded_only_by_name(name, batch):
    compute, reason = SOFTMAXES[name]
    attention = multi_head("attention")

    def model(x):
        return compute(x + attention(x, x))

    found = tv.attention_of(model, batch)
    assert list(found) == ["attention"]
    assert reason in str(found.left_out["softmax"])
    assert f"softmax: left out, {found.left_out['softmax']}" in repr(found)
    [weights] = tv.attention_of(model, batch, layers="softmax").values()
    assert weights.ndim == 4
    np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-6)


def test_weights_that_a_model_returns_beside_its_result_are_recorded(batch):
    found = tv.attention_of(lambda x: (x, keras.ops.softmax(square(x))), batch)
    np.testing.assert_allclose(found["softmax"][:, 0], keras.ops.softmax(square(batch)), atol=1e-6)


def test_layers_are_chosen_by_their_paths_or_the_ends_of_these(batch):
    model = Nested()
    found = tv.attention_of(model, batch)
    first, second = found
    assert list(tv.attention_of(model, batch, layers=first)) == [first, second]
    assert list(tv.attention_of(model, batch, layers=["inner"])) == [first, second]
    [(path, weights)] = tv.attention_of(model, batch, layers=["inner (2)"]).items()
    assert path == second
    np.testing.assert_array_equal(weights, found[second])
    with pytest.raises(ValueError, match=rf"layer named ner\. These were: {first} \(2, 3, 6, 6\), "):
        tv.attention_of(model, batch, layers="ner")


def test_a_model_is_called_with_all_that_is_given(batch):
    layer = multi_head("cross")
    found = tv.attention_of(layer, batch, batch[:, :4], use_causal_mask=True)
    assert found["cross"].shape == (2, HEADS, LENGTH, 4)
    assert not np.triu(found["cross"], 1).any()
    by_name = tv.attention_of(lambda x, *, y: layer(x, y, use_causal_mask=True), batch, y=batch[:, :4])
    np.testing.assert_array_equal(by_name["cross"], found["cross"])


def test_what_another_thread_computes_meanwhile_is_not_recorded(batch):
    layer, other = multi_head("here"), multi_head("there")
    other(batch, batch)

    def model(x):
        thread = threading.Thread(target=lambda: other(x, x))
        thread.start()
        thread.join()
        return layer(x, x)

    assert list(tv.attention_of(model, batch)) == ["here"]


def test_what_has_no_attention_layer_is_told_so_and_leaves_nothing_behind(batch):
    before = keras.Operation.__call__, keras.layers.Softmax.call, tf.nn.softmax
    with pytest.raises(NoAttentionError, match=r"^The model computed no softmax"):
        tv.attention_of(keras.Sequential([keras.layers.Dense(3)]), batch)
    classes = keras.layers.Dense(3, activation="softmax", name="classes")
    with pytest.raises(NoAttentionError, match=r'classes \(2, 6, 3\).* layers="\.\.\."\)\.$'):
        tv.attention_of(keras.Sequential([classes]), batch)
    with pytest.raises(ValueError, match="not this time"):
        tv.attention_of(failing, batch)
    assert before == (keras.Operation.__call__, keras.layers.Softmax.call, tf.nn.softmax)
    assert not tf.config.functions_run_eagerly()


@pytest.mark.parametrize("kind", [str, Path])
def test_a_file_is_left_to_whoever_trusts_it(batch, tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    model = functional()
    model.save("model.keras")
    lines = ('model = keras.saving.load_model("model.keras")', "weights = tv.attention_of(model, inputs)")
    with pytest.raises(ValueError, match="opens no file, as loading one can run code") as error:
        tv.attention_of(kind("model.keras"), batch, trusted=True)
    sentences = [sentence_of(error.value, language) for language in ("en", "zh")]
    assert all(f"`{line}`" in sentence for line in lines for sentence in sentences)
    assert sentences[1].startswith("tv.attention_of 不打开文件：")
    names = {"keras": keras, "tv": tv, "inputs": batch}
    exec("\n".join(lines), names)
    np.testing.assert_array_equal(names["weights"]["first"], tv.attention_of(model, batch)["first"])


def test_the_name_of_a_file_stays_within_its_quotes(batch):
    with pytest.raises(ValueError, match=r'load_model\("a\\"\); b\(\\"\.keras"\)`'):
        tv.attention_of('a"); b(".keras', batch)


def failing(inputs, training):
    raise ValueError("not this time")


def test_the_weights_are_shown_as_they_are(batch):
    found = tv.attention_of(functional(), batch[:1])
    page = tv.show(found, [*"abcdef"], name="mine")
    assert "<title>mine</title>" in page.html
