"""Arrays within lists and dicts, taken apart and put together again."""

import numpy as np
import pytest
import tensorflow as tf

from transformer_viz.values.nested_arrays import put_together, taken_apart


def test_what_is_taken_apart_is_put_together_as_it_was():
    nested = {"a": (np.ones((2, 3), "f2"), [np.array(5), None, True]), "b": [[1, 2.5], "text"], "c": {}}
    structure, arrays = taken_apart(nested)
    found = put_together(structure, arrays)
    assert repr(found) == repr(nested)


def test_arrays_of_tensorflow_become_those_of_numpy_and_texts_need_no_pickle():
    given = [tf.constant([[1, 2]], tf.int64), tf.constant(["a", "é"]), np.array(["b"], object)]
    structure, arrays = taken_apart(given)
    assert structure == {"list": [{"array": 0}, {"array": 1}, {"array": 2}]}
    assert [array.dtype.str for array in arrays] == ["<i8", "|S2", "<U1"]
    assert arrays[1].tolist() == [b"a", "é".encode()]


@pytest.mark.parametrize(
    ("given", "received"),
    [
        ({1: np.ones(2)}, "dict"),
        ([object()], "object"),
        (np.array([{}]), r"ndarray \(object\)"),
        (tf.constant([1.0], tf.bfloat16), r"EagerTensor \(bfloat16\)"),
        (np.ones(1, "M8[s]"), r"ndarray \(datetime64\[s\]\)"),
    ],
)
def test_anything_else_is_refused(given, received):
    with pytest.raises(ValueError, match=rf"^`inputs` must be arrays of numbers.* Received: {received}\.$"):
        taken_apart(given)
