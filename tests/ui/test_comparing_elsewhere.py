"""From Positions and Masks to the comparison on Attention."""

import json

import numpy as np
import pages
import pytest
from bench import bench_on, open_bench

import transformer_viz as tv
from transformer_viz.network.named_masks import mask_to_bits
from transformer_viz.trace.request import Request

pytestmark = pytest.mark.usefixtures("engine", "shipped")

TEXT = "This film was not good at all"


def compared(page, **address):
    """Return what *Compare on Attention* on a page opens: A, the changes of B, and the bench with both."""
    there = bench_on(pages.open_page(page, **address)).menu["there"]
    bench = open_bench(**there)
    assert bench.header["key"]
    before = there["before"] | {"target": there["before"]["target"] or None}
    return Request.from_json(json.dumps(before)), there["changes"], bench


def chips(bench):
    """Return the changes that the views say are in force."""
    return [chip["text"] for chip in bench.views["acts"]["chips"]]


@pytest.mark.parametrize(
    ("address", "changes"),
    [
        ({"do": "shuffle", "seed": "3"}, {"order": "shuffled:3"}),
        ({"do": "remove"}, {"positions": "none"}),
        ({"do": "swap", "swap": "sinusoidal-halves"}, {"positions": "sinusoidal-halves"}),
    ],
)
def test_a_change_of_the_positions_is_compared_head_by_head(address, changes):
    before, found, _ = compared("positions", model="hotel-zh", text="房间很干净。", **address)
    assert before == Request(before.model, "房间很干净。")
    assert found == changes


@pytest.mark.parametrize(
    ("address", "former", "changes"),
    [
        ({"mask": "causal"}, {}, {"attention_mask": "causal"}),
        (
            {"mask": "window", "reach": "2", "pads": "3"},
            {"padding": 3},
            {"attention_mask": "window:2", "padding": 3},
        ),
    ],
)
def test_a_mask_is_compared_head_by_head(address, former, changes):
    before, found, _ = compared("masks", model="attention-only", text=TEXT, **address)
    assert before == Request.of(before.model, TEXT, **former)
    assert found == changes


def test_a_painted_mask_is_compared_head_by_head():
    bits = mask_to_bits(np.eye(3, dtype=bool))
    address = {"model": "attention-only", "text": "a dull film", "mask": "painted", "bits": bits}
    before, found, bench = compared("masks", **address)
    assert before == Request.of(before.model, "a dull film")
    assert found == {"attention_mask": f"painted:{bits}"}
    assert "mask: painted" in chips(bench)


@pytest.mark.quick(
    "cross-cross_attention_mask-painted-mask of the cross-attention: painted",
    "decoder-target_attention_mask-none-mask over the target: no mask",
)
@pytest.mark.parametrize(
    ("kind", "name", "mask", "chip"),
    [
        ("decoder", "target_attention_mask", "none", "mask over the target: no mask"),
        ("decoder", "target_attention_mask", "painted", "mask over the target: painted"),
        ("cross", "cross_attention_mask", "painted", "mask of the cross-attention: painted"),
    ],
)
def test_a_mask_of_a_translator_is_compared_head_by_head(kind, name, mask, chip):
    asked = {"model": "reverse-digits", "text": "3 1 4 1 5", "kind": kind}
    trace = tv.load("reverse-digits").trace(asked["text"])
    sides = len(trace.target_ids), len(trace.target_ids if kind == "decoder" else trace.token_ids)
    bits = mask_to_bits(np.tri(*sides, k=2, dtype=bool))
    painted = {"bits": bits} if mask == "painted" else {}
    before, found, bench = compared("masks", mask=mask, **asked, **painted)
    assert before == Request.of(before.model, asked["text"], trace.target_text if painted else None)
    assert found == {name: f"painted:{bits}" if painted else "none"}
    assert chip in chips(bench)


@pytest.mark.parametrize("model", [5, None, ["a"], "../models/attention-only", "gone"])
def test_an_address_that_names_no_model_to_compare_with_compares_nothing(model):
    before = json.dumps({"model": model, "text": "a dull film"})
    bench = bench_on(pages.open_page(model="attention-only", text="a lovely film", before=before))
    assert bench.views["acts"]["compare"]["act"] == {"do": "compare"}
