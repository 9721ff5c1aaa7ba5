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
    """Return a model of two layers of different numbers of heads, called with a dict."""
    inputs = keras.Input((LENGTH, WIDTH), name="text")
    first = keras.layers.MultiHeadAttention(3, 4, name="first")(inputs, inputs, use_causal_mask=True)
    second = keras.layers.MultiHeadAttention(2, 5, name="second")(first, inputs)
    return keras.Model({"text": inputs}, second, name="two")


def reads_another():
    """Return a model whose queries are of its first input, and keys and values of its second one."""
    queries, others = (keras.Input((LENGTH, WIDTH), name=name) for name in ("queries", "others"))
    return keras.Model(
        [queries, others], keras.layers.MultiHeadAttention(2, 5, name="cross")(queries, others)
    )


def nested():
    """Return a model with another one inside, of grouped queries, and with an attention without heads."""
    inputs = keras.Input((LENGTH, WIDTH), name="text")
    grouped = keras.layers.GroupQueryAttention(4, 6, 2, name="grouped")
    inner = keras.Model(inputs, grouped(inputs, inputs), name="inner")
    plain = keras.layers.Attention(name="plain")([inner(inputs), inputs])
    return keras.Model(inputs, plain, name="outer")


def with_classes():
    """Return a model of one layer and a distribution over classes for every token."""
    inputs = keras.Input((LENGTH, WIDTH))
    first = keras.layers.MultiHeadAttention(3, 4, name="first")(inputs, inputs)
    return keras.Model(inputs, keras.layers.Dense(5, activation="softmax", name="classes")(first))


def registered():
    """Return a model of a class, a layer and a function of one's own."""
    inputs = keras.Input((LENGTH, WIDTH))
    own = OwnAttention(2, 3, name="own")(inputs, inputs)
    return keras.Model(inputs, Registered(name="rest")(keras.layers.Dense(WIDTH, activation=twice)(own)))


def with_code(code):
    """Return a model with a function of its own in front of the attention, which is run when it is called."""
    inputs = keras.Input((LENGTH, WIDTH))
    own = keras.layers.Lambda(code, (LENGTH, WIDTH), name="own")
    return keras.Model(inputs, keras.layers.MultiHeadAttention(3, 4, name="first")(own(inputs), inputs))


def with_trap(file):
    """Return a model that writes the number of its process to a file."""
    return with_code(lambda x: [print(__import__("os").getpid(), file=open(file, "a")), x][1])
