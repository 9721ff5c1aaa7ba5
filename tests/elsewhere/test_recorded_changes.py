"""Masks and ablated heads, against what the `transformers` library answered (record_changes.py)."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import transformer_viz as tv

FILES = sorted((Path(__file__).parent / "models").glob("*/changes.npz"))
MASKS = ("attention_mask", "target_attention_mask", "cross_attention_mask")
KINDS = ("encoder", "decoder", "cross")


@pytest.fixture(scope="module", params=FILES, ids=lambda file: file.parent.name)
def file(request):
    return request.param


@pytest.fixture(scope="module")
def explorer(file):
    return tv.load(file.parent)


@pytest.fixture(scope="module")
def recorded(file):
    return np.load(file)


def traced(explorer, recorded, **changes):
    """Return the trace of the recorded text, whose target stands behind what targets begin with."""
    target = {}
    if "target" in recorded:
        target = {"target": recorded["target"][0, len(explorer.config.target_start) :].tolist()}
    return explorer.trace(recorded["ids"][0].tolist(), **target, **changes)


def masks(recorded):
    return {name: recorded[name] for name in MASKS if name in recorded}


def ablated(recorded):
    places = recorded["ablated"].tolist()
    if len(places) == 1:
        return [tuple(places[0])]
    return [(kind, *place) for kind, place in zip(KINDS, places, strict=True)]


def weights(trace):
    """Return the weights of all layers by the names under which they are recorded."""
    first = [each.attention for each in trace.encoder] or [each.self_attention for each in trace.decoder]
    found = {"attentions": first}
    if trace.target_tokens:
        found["decoder"] = [each.self_attention for each in trace.decoder]
        found["cross"] = [each.cross_attention for each in trace.decoder]
    return {name: np.stack([each.weights for each in layers]) for name, layers in found.items()}


def assert_is_recorded(trace, recorded, kind):
    for name, ours in weights(trace).items():
        assert_allclose(ours, recorded[f"{kind}_{name}"], rtol=0, atol=2e-6)
    if f"{kind}_hidden" in recorded:
        assert_allclose(trace.values.final, recorded[f"{kind}_hidden"], rtol=0, atol=2e-5)
        return
    theirs = recorded[f"{kind}_logits"]
    assert_allclose(trace.logits, theirs, rtol=0, atol=2e-6 * max(10, np.abs(theirs).max()))


def test_a_mask_of_each_head_gives_the_answer_of_transformers(explorer, recorded):
    trace = traced(explorer, recorded, **masks(recorded))
    assert_is_recorded(trace, recorded, "masked")
    for name, mask in zip(("attentions", "decoder", "cross"), masks(recorded).values(), strict=False):
        theirs = recorded[f"masked_{name}"]
        assert_array_equal(theirs > 0, np.broadcast_to(mask, theirs.shape))


def test_cut_edges_give_the_answer_to_a_mask_without_them(explorer, recorded):
    config = explorer.config
    if config.has_decoder or config.causal or config.window is not None:  # a mask can add edges, no cut can
        return
    edges = np.argwhere(~recorded["attention_mask"]).tolist()
    cut = [(layer, *edge) for layer in range(explorer.config.num_layers) for edge in edges]
    assert_is_recorded(traced(explorer, recorded, cut=cut), recorded, "masked")


def test_an_ablated_head_gives_the_answer_of_transformers(explorer, recorded):
    trace = traced(explorer, recorded, ablate=ablated(recorded))
    assert_is_recorded(trace, recorded, "ablated")
    whole = traced(explorer, recorded)
    assert np.abs(trace.values.final - whole.values.final).max() > 1e-3
