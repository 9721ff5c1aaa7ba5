"""A request is a value: a cache key, and the same after a way through JSON."""

import dataclasses
import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import transformer_viz as tv
from transformer_viz.explorer.decode import generate
from transformer_viz.trace.interventions import ActivationPatch
from transformer_viz.trace.request import EFFECTS, ChangeArguments, Changes, Request

HEADS = st.lists(st.tuples(st.sampled_from(["encoder", "cross"]), st.integers(0, 3), st.integers(0, 7)))
LAYERS = st.tuples(st.sampled_from(["encoder", "decoder"]), st.integers(0, 3))
MASKS = st.none() | st.sampled_from(["none", "causal", "window:2+causal", "painted:8cef"])
CHANGES = st.builds(
    Changes,
    ablate=HEADS,
    reference=st.lists(st.text()) | st.just("own"),
    ablate_ffn=st.lists(
        st.integers(0, 3) | st.tuples(st.sampled_from(["encoder", "decoder"]), st.integers(0, 3))
    ),
    cut=st.lists(st.tuples(*[st.integers(0, 9)] * 4)),
    patterns=st.dictionaries(st.tuples(st.integers(0, 3), st.integers(0, 3)), st.just("previous")),
    attention_mask=MASKS,
    cross_attention_mask=MASKS,
    positions=st.none() | st.just("sinusoidal"),
    order=st.none() | st.permutations(range(5)) | st.sampled_from(["reversed", "shuffled:3"]),
    padding=st.integers(0, 12),
    shift=st.integers(0, 12),
)
TEXTS = st.text() | st.lists(st.integers(0, 99))
REQUESTS = st.builds(
    Request,
    model=st.text(),
    text=TEXTS.map(lambda text: text if isinstance(text, str) else tuple(text)),
    target=st.none() | st.text(),
    changes=CHANGES,
    wants=st.sampled_from(["trace", "effects"]),
)


@given(REQUESTS)
def test_a_request_is_the_same_after_a_way_through_json(request_):
    again = Request.from_json(request_.to_json())
    assert again == request_
    assert hash(again) == hash(request_)


def test_only_what_is_changed_is_written():
    assert Request("m", "a text").to_json() == '{"model": "m", "text": "a text"}'
    changed = Request.of("m", "好", "x", ablate=[(0, 1)], attention_mask="causal")
    assert changed.to_json() == (
        '{"model": "m", "text": "好", "target": "x", '
        '"changes": {"ablate": [[0, 1]], "attention_mask": "causal"}}'
    )


def test_functions_that_take_changes_name_them_in_their_signatures():
    fields = [field.name for field in dataclasses.fields(Changes)]
    assert [*ChangeArguments.__annotations__] == fields
    takes = [tv.Explorer.trace, tv.Explorer.request, tv.Explorer.fill_in, tv.head_effects, tv.joint_effect]
    for function in (*takes, tv.gradients, generate, Request.of, Request.changed):
        names = list(inspect.signature(function).parameters)
        assert names[-len(fields) :] == fields, function
    ours, theirs = (inspect.signature(each).parameters for each in (tv.Explorer.generate, generate))
    assert [*ours.values()][1:] == [*theirs.values()][1:]
    config = tv.PRESETS["single-block"]
    assert {"d_model", "num_heads"} <= inspect.signature(config.replace).parameters.keys()


def test_lists_and_tuples_make_the_same_cache_key():
    one = Request.of("m", "text", ablate=[[0, 1]], order=[1, 0], patterns={(0, 1): "uniform"})
    other = Request.of("m", "text", ablate=((0, 1),), order=(1, 0), patterns=(((0, 1), "uniform"),))
    assert len({one, other, Request("m", "text"), Request("m", "text", wants=EFFECTS)}) == 3


def test_a_further_change_leaves_the_others():
    request = Request.of("m", "text", padding=2).changed(order=(1, 0))
    assert request.changes == Changes(padding=2, order=(1, 0))
    assert request.changes.changed_fields == ("order", "padding")


def test_arrays_are_computed_with_alike_after_a_way_through_json(explorer):
    mask = np.tri(7, dtype=bool)
    pattern = np.eye(7, k=-1, dtype=np.float32)
    request = explorer.request(
        "A dull film with a lovely ending", attention_mask=mask, patterns={(0, 1): pattern}
    )
    ours, again = explorer.run(request), explorer.run(Request.from_json(request.to_json()))
    assert_array_equal(ours.encoder[0].attention.weights[1], pattern)
    assert ours == again != explorer.trace("A dull film with a lovely ending")


@pytest.mark.parametrize(
    "text", ["", "[]", "3", "{}", '{"model": "m", "text": "t", "changes": {"cuts": []}}']
)
def test_what_is_no_request_is_refused(text):
    with pytest.raises(ValueError, match="This is no request to a model"):
        Request.from_json(text)


def test_an_activation_of_another_run_cannot_be_written(explorer):
    patch = ActivationPatch(explorer.trace("a film"), "encoder.0.resid_mid")
    with pytest.raises(ValueError, match="An activation of another run cannot be written as JSON"):
        Request.of("m", "text", patches=[patch]).to_json()
