"""Models with attention of their own, under any backend: as tutorials write them, and as KerasHub does.

Every layer keeps the weights that it computed, to be compared with what is recorded.
"""

import sys

import keras
import numpy as np
from keras import ops

import transformer_viz as tv

LENGTH, WIDTH, HEADS, VOCABULARY = 6, 12, 3, 20

KEPT = []
"""The weights that the layers here computed, in order; while a model is built, without numbers."""


def keep(weights):
    """Remember weights, and return them."""
    KEPT.append(weights)
    return weights


def native_softmax():
    """Return the softmax of the backend's own library."""
    if keras.backend.backend() == "tensorflow":
        import tensorflow

        return tensorflow.nn.softmax
    if keras.backend.backend() == "jax":
        import jax

        return jax.nn.softmax
    import torch

    return torch.nn.functional.softmax


class SplitHeads(keras.layers.Layer):
    """Several heads with the backend's own softmax, and a mask that is added as a large number."""

    def __init__(self):
        super().__init__(name="split_heads")
        self.query, self.key, self.value = (keras.layers.Dense(WIDTH) for _ in range(3))
        self.out = keras.layers.Dense(WIDTH)

    def split_heads(self, x):
        x = ops.reshape(x, (-1, ops.shape(x)[1], HEADS, WIDTH // HEADS))
        return ops.transpose(x, (0, 2, 1, 3))

    def call(self, x):
        query, key, value = (self.split_heads(each(x)) for each in (self.query, self.key, self.value))
        scores = ops.matmul(query, ops.transpose(key, (0, 1, 3, 2))) / (WIDTH // HEADS) ** 0.5
        scores += (1 - ops.tril(ops.ones((LENGTH, LENGTH)))) * -1e9
        weights = keep(native_softmax()(scores, -1))
        context = ops.transpose(ops.matmul(weights, value), (0, 2, 1, 3))
        return self.out(ops.reshape(context, (-1, LENGTH, WIDTH)))


class AddWeight(keras.layers.Layer):
    """One head without an axis of its own, of parameters made by `add_weight`."""

    def build(self, shape):
        self.projections = [
            self.add_weight(name=name, shape=(shape[-1], shape[-1])) for name in ("query", "key", "value")
        ]

    def call(self, x):
        query, key, value = (ops.matmul(x, each) for each in self.projections)
        scores = ops.matmul(query, ops.transpose(key, (0, 2, 1))) / WIDTH**0.5
        return ops.matmul(keep(keras.activations.softmax(scores)), value)


class SoftmaxLayer(keras.layers.Layer):
    """Several heads with a layer for the softmax, which takes the mask."""

    def __init__(self):
        super().__init__(name="softmax_layer")
        self.queries = keras.layers.EinsumDense("btd,dhe->bhte", (HEADS, None, 4))
        self.keys = keras.layers.EinsumDense("btd,dhe->bhte", (HEADS, None, 4))
        self.softmax = keras.layers.Softmax()

    def call(self, x):
        scores = ops.einsum("bhqe,bhke->bhqk", self.queries(x), self.keys(x))
        mask = ops.tril(ops.ones((1, 1, LENGTH, LENGTH), "bool"))
        weights = keep(self.softmax(scores, mask))
        return x + ops.einsum("bhqk,bkd->bqd", weights, x)


def tutorial(layer):
    """Return a model that classifies what one layer makes of its inputs."""
    inputs = keras.Input((LENGTH, WIDTH))
    pooled = keras.layers.GlobalAveragePooling1D()(layer(inputs))
    return keras.Model(inputs, keras.layers.Dense(5, activation="softmax", name="classes")(pooled))


def dot_layers():
    """Return an encoder-decoder of layers alone: Luong's attention, and a distribution for every token."""
    source, target = keras.Input((LENGTH, WIDTH)), keras.Input((4, WIDTH))
    scores = keras.layers.Dot(axes=2)([target, source])
    weights = keras.layers.Activation("softmax", name="attention")(scores)
    weights = keras.layers.Lambda(keep, output_shape=(4, LENGTH))(weights)
    context = keras.layers.Dot(axes=(2, 1))([weights, source])
    tokens = keras.layers.Dense(VOCABULARY, activation="softmax", name="tokens")(context)
    return keras.Model([source, target], [tokens, weights])


class Rotary(keras.layers.Layer):
    """Keys and values that heads share, turned by their places; a softmax layer of its own (as Llama's)."""

    def build(self, shape):
        self.queries = keras.layers.EinsumDense("btd,dhe->bthe", (None, 4, 6), name="queries")
        self.keys = keras.layers.EinsumDense("btd,dhe->bthe", (None, 2, 6), name="keys")
        self.softmax = keras.layers.Softmax(axis=-1, dtype="float32", name="softmax")
        for each in (self.queries, self.keys):
            each.build(shape)

    def turned(self, x):
        angles = ops.arange(ops.shape(x)[1], dtype="float32")[:, None, None] / 10.0 ** ops.arange(3.0)
        first, second = ops.split(x, 2, axis=-1)
        cosine, sine = ops.cos(angles), ops.sin(angles)
        return ops.concatenate([first * cosine - second * sine, second * cosine + first * sine], axis=-1)

    def call(self, x, mask):
        keys = ops.repeat(self.turned(self.keys(x)), 2, axis=2)
        scores = ops.einsum("bqhe,bkhe->bhqk", self.turned(self.queries(x)), keys)
        weights = keep(self.softmax(scores, mask[:, None]))
        return ops.einsum("bhqk,bkd->bqd", weights, x)


class Grouped(Rotary):
    """Groups of heads on an axis of their own (as Gemma's): (batch, key head, group, query, key)."""

    def call(self, x, mask):
        queries = ops.reshape(self.queries(x), (-1, ops.shape(x)[1], 2, 2, 6))
        scores = ops.einsum("bqnge,bkne->bngqk", queries, self.keys(x))
        weights = keep(self.softmax(scores, mask=mask[:, None, None]))
        return ops.einsum("bngqk,bkd->bqd", weights, x)


class Relative(keras.layers.Layer):
    """A bias for every distance, unscaled scores, and a mask that is added (as T5's)."""

    def build(self, shape):
        self.queries, self.keys = (
            keras.layers.EinsumDense("btd,dhe->bthe", (None, HEADS, 4), name=name) for name in ("q", "k")
        )
        self.bias = self.add_weight(name="bias", shape=(HEADS, 2 * LENGTH))
        for each in (self.queries, self.keys):
            each.build(shape)

    def call(self, x, mask):
        places = ops.arange(ops.shape(x)[1])
        bias = ops.take(self.bias, places[None] - places[:, None] + LENGTH, axis=1)
        scores = ops.einsum("bqhe,bkhe->bhqk", self.queries(x), self.keys(x)) + bias
        scores += ops.where(mask, 0.0, -1e9)[:, None]
        return ops.einsum("bhqk,bkd->bqd", keep(ops.nn.softmax(scores)), x)


class Sloped(keras.layers.Layer):
    """Scores that fall with the distance, from one projection for queries and keys (as Bloom's)."""

    def build(self, shape):
        self.both = keras.layers.Dense(2 * WIDTH, name="both")
        self.both.build(shape)

    def call(self, x, mask):
        both = ops.reshape(self.both(x), (-1, ops.shape(x)[1], HEADS, 2, WIDTH // HEADS))
        slopes = (0.5 ** ops.arange(1.0, HEADS + 1))[:, None, None] * ops.arange(float(LENGTH))
        scores = ops.einsum("bqhe,bkhe->bhqk", both[..., 0, :], both[..., 1, :]) / 2 + slopes
        scores = ops.where(mask[:, None], scores, -1e9)
        return ops.einsum("bhqk,bkd->bqd", keep(ops.softmax(scores, axis=-1)), x)


def backbone(attention):
    """Return a decoder of two blocks, with the inputs of KerasHub's backbones."""
    token_ids = keras.Input((LENGTH,), dtype="int32", name="token_ids")
    padding_mask = keras.Input((LENGTH,), dtype="int32", name="padding_mask")
    x = keras.layers.Embedding(VOCABULARY, WIDTH)(token_ids)
    mask = keras.layers.Lambda(masked, output_shape=(LENGTH, LENGTH))(padding_mask)
    for number in range(2):
        x = x + attention(name=f"attention_{number}")(keras.layers.LayerNormalization()(x), mask)
        x = x + keras.layers.Dense(WIDTH, activation="gelu")(x)
    return keras.Model({"token_ids": token_ids, "padding_mask": padding_mask}, x)


def masked(padding_mask):
    """Return which tokens each token of a decoder may attend to: bool (batch, query, key)."""
    length = ops.shape(padding_mask)[1]
    causal = ops.arange(length)[None] <= ops.arange(length)[:, None]
    return ops.logical_and(causal, ops.cast(padding_mask, "bool")[:, None])


class Stock(keras.Model):
    """Layers of Keras alone, in few bits, that are built when they are called."""

    def __init__(self):
        super().__init__(name="stock")
        self.multi = keras.layers.MultiHeadAttention(HEADS, 4, name="multi", dtype="bfloat16")
        self.grouped = keras.layers.GroupQueryAttention(4, 6, 2, name="grouped")
        self.plain = keras.layers.Attention(name="plain")

    def call(self, x):
        x = self.multi(x, x, use_causal_mask=True)
        return self.plain([self.grouped(x, x), x])

    def kept(self, x):
        """Return the weights that the layers return themselves."""
        x, first = self.multi(x, x, use_causal_mask=True, return_attention_scores=True)
        y, second = self.grouped(x, x, return_attention_scores=True)
        return first, second, self.plain([y, x], return_attention_scores=True)[1]


def vectors(length=LENGTH):
    return np.random.default_rng(1).normal(size=(2, length, WIDTH)).astype("f4")


def tokens():
    ids = np.arange(2 * LENGTH, dtype="i4").reshape(2, LENGTH)
    return {"token_ids": ids, "padding_mask": np.array([[1] * LENGTH, [1] * 4 + [0] * 2], "i4")}


TUTORIALS = {
    "split_heads": lambda: (tutorial(SplitHeads()), vectors()),
    "add_weight": lambda: (tutorial(AddWeight(name="add_weight")), vectors()),
    "softmax_layer": lambda: (tutorial(SoftmaxLayer()), vectors()),
    "dot_layers": lambda: (dot_layers(), [vectors(), vectors(4)]),
}
"""Name -> function that returns a model and inputs of it."""

BACKBONES = {
    "rotary": lambda: (backbone(Rotary), tokens()),
    "grouped": lambda: (backbone(Grouped), tokens()),
    "relative": lambda: (backbone(Relative), tokens()),
    "sloped": lambda: (backbone(Sloped), tokens()),
}
"""As `TUTORIALS`."""


MODELS = TUTORIALS | BACKBONES | {"stock": lambda: (Stock(), vectors())}


def answers(name):
    """Return what a model computes before, while and after it is recorded, by name.

    Returns:
        "before" (of a model that is built), "meanwhile", "after" -> all results, flat; "kept N" -> weights as
        a layer kept them; "found PATH" -> as `attention_of` returns them.
    """
    keras.utils.set_random_seed(5)
    model, inputs = MODELS[name]()
    found, meanwhile = {}, []

    def watched(*args, training):
        meanwhile.append(model(*args, training=training))
        return meanwhile[0]

    if model.built:
        found["before"] = flat(model(inputs, training=False))
    KEPT.clear()
    weights = tv.attention_of(watched, inputs)
    if isinstance(model, Stock):
        KEPT.extend(model.kept(inputs))
    found |= {f"kept {number}": numbers(each) for number, each in enumerate(KEPT)}
    found |= {f"found {path}": each for path, each in weights.items()}
    return found | {"meanwhile": flat(*meanwhile), "after": flat(model(inputs, training=False))}


def numbers(tensor):
    return ops.convert_to_numpy(ops.cast(tensor, "float32"))


def flat(results):
    """Return all numbers of nested tensors."""
    return np.concatenate([np.ravel(numbers(each)) for each in keras.tree.flatten(results)])


def write(folder):
    """Write the answers of all models."""
    for name in MODELS:
        np.savez(f"{folder}/{name}.npz", **answers(name))


if __name__ == "__main__":
    write(sys.argv[1])
