"""The attention weights of Keras models made elsewhere, beside what their layers return themselves."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import transformer_viz as tv
from transformer_viz.inspection.attention_of import NoAttentionError

LENGTH, WIDTH, HEADS = 6, 12, 3


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


def test_what_has_no_attention_layer_is_told_so_and_leaves_nothing_behind(batch):
    own = keras.layers.MultiHeadAttention._compute_attention
    with pytest.raises(NoAttentionError, match=r"^The model used no attention layer of Keras: "):
        tv.attention_of(keras.Sequential([keras.layers.Dense(3)]), batch)
    with pytest.raises(ValueError, match="not this time"):
        tv.attention_of(failing, batch)
    assert keras.layers.MultiHeadAttention._compute_attention is own
    assert not tf.config.functions_run_eagerly()


def failing(inputs, training):
    raise ValueError("not this time")


def test_the_weights_are_shown_as_they_are(batch):
    found = tv.attention_of(functional(), batch[:1])
    page = tv.show(found, [*"abcdef"], name="mine")
    assert "<title>mine</title>" in page.html
