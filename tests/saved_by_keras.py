"""Models that Keras saves, with what only the code that made them knows."""

import keras

LENGTH, WIDTH = 6, 12


@keras.saving.register_keras_serializable("mine")
class Registered(keras.Model):
    """A subclassed model whose file names none of its layers."""

    def __init__(self, **options):
        super().__init__(**options)
        self.attention = keras.layers.MultiHeadAttention(3, 4, name="inside")

    def call(self, inputs):
        return self.attention(inputs, inputs)


@keras.saving.register_keras_serializable("mine")
class OwnAttention(keras.layers.MultiHeadAttention):
    """An attention layer of one's own."""


@keras.saving.register_keras_serializable("mine")
def twice(inputs):
    """Return the double, as an activation."""
    return 2 * inputs


def functional():
    """Return a model of two layers of different numbers of heads."""
    inputs = keras.Input((LENGTH, WIDTH), name="text")
    first = keras.layers.MultiHeadAttention(3, 4, name="first")(inputs, inputs, use_causal_mask=True)
    return keras.Model(
        inputs, keras.layers.MultiHeadAttention(2, 5, name="second")(first, inputs), name="two"
    )


def nested():
    """Return a model with another one inside, of grouped queries, and with an attention without heads."""
    inputs = keras.Input((LENGTH, WIDTH), name="text")
    grouped = keras.layers.GroupQueryAttention(4, 6, 2, name="grouped")
    inner = keras.Model(inputs, grouped(inputs, inputs), name="inner")
    plain = keras.layers.Attention(name="plain")([inner(inputs), inputs])
    return keras.Model(inputs, plain, name="outer")


def registered():
    """Return a model of a class, a layer and a function of one's own."""
    inputs = keras.Input((LENGTH, WIDTH))
    own = OwnAttention(2, 3, name="own")(inputs, inputs)
    return keras.Model(inputs, Registered(name="rest")(keras.layers.Dense(WIDTH, activation=twice)(own)))


def with_code(file):
    """Return a model that writes a file whenever it is called, as it is while it is opened."""
    inputs = keras.Input((LENGTH, WIDTH))
    trap = keras.layers.Lambda(lambda x: [open(file, "a").close(), x][1], (LENGTH, WIDTH), name="trap")
    layer = keras.layers.MultiHeadAttention(3, 4, name="first")
    return keras.Model(inputs, layer(trap(inputs), inputs))
