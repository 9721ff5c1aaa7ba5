import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from transformer_viz.questions.evaluation.cross_entropy import token_cross_entropy


@pytest.mark.parametrize("scale", [1, 30, 3000])
def test_surprise_and_its_gradient_are_those_of_tensorflow(scale):
    import tensorflow as tf

    random = np.random.default_rng(3)
    logits = tf.constant(scale * random.normal(size=(3, 5, 17)), tf.float32)
    targets = random.integers(0, 17, (3, 5)).astype(np.int32)
    counts = tf.constant(random.random((3, 5)), tf.float32)

    def both(function):
        with tf.GradientTape() as tape:
            tape.watch(logits)
            nats = function()
            total = tf.reduce_sum(nats * counts)
        return nats, tape.gradient(total, logits)

    ours, slope = both(lambda: token_cross_entropy(logits, targets)[0])
    theirs, expected = both(lambda: tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits))
    assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
    assert_allclose(slope, expected, rtol=1e-5, atol=1e-6)
    assert_array_equal(token_cross_entropy(logits, targets)[1], logits.numpy().argmax(axis=-1) == targets)
