"""What the views are given of real models."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from made_traces import unpack
from numpy.testing import assert_allclose, assert_array_equal
from shelf import shelved

from transformer_viz import store
from transformer_viz.language import Words
from transformer_viz.pictures.captions import HeadsInText, patterns_of_trace, role_order
from transformer_viz.pictures.lens import Around, payload_of
from transformer_viz.pictures.looks import apply_looks
from transformer_viz.pictures.parameters import projected_contexts
from transformer_viz.pictures.views import vectors_of
from transformer_viz.questions.roles.rules import ROLES

SHELF = Path(__file__).parents[2] / "models"
NAMES = sorted(path.name for path in SHELF.iterdir() if path.is_dir())


@pytest.fixture(autouse=True)
def shelf(monkeypatch):
    monkeypatch.setenv("TRANSFORMER_VIZ_MODELS", str(SHELF))


@pytest.mark.quick("attention-only", "single-block", "imdb-sentiment", "reverse-digits")
@pytest.mark.parametrize("name", NAMES)
def test_heads_joined_and_projected_are_what_each_layer_of_each_model_adds(name):
    explorer = shelved(name)
    text = explorer.card["examples"][0]
    asked = {"target": explorer.generate(text, keep=None).text} if explorer.target_tokenizer else {}
    trace = explorer.trace(text, **asked)
    for kind, found in trace.kinds().items():
        projected = projected_contexts(trace, kind, trace.model)
        added = np.stack([layer.output for layer in found.layers])
        assert_allclose(projected, added, atol=1e-5, rtol=1e-6)  # some are 50: float32 has seven digits


@pytest.mark.parametrize("name", NAMES)
def test_the_card_of_each_model_says_what_its_attention_is_worth(name):
    measured = store.read_model(SHELF / name).card["test"]
    intact = measured.get("accuracy", measured.get("token_accuracy"))
    assert 0 < measured["headless_accuracy"] < intact
    assert 0 < measured["uniform_accuracy"] < intact


@pytest.mark.quick("attention-only", "single-block", "imdb-sentiment", "reverse-digits", "reviews-next")
@pytest.mark.parametrize("name", NAMES)
def test_each_model_opens_on_a_head_with_a_pattern_unless_it_has_none(name):
    explorer = shelved(name)
    text = explorer.card["examples"][0]
    asked = {"target": explorer.generate(text, keep=None).text} if explorer.target_tokenizer else {}
    header, _ = unpack(payload_of(explorer.trace(text, **asked), Words("en"), head_roles=explorer.head_roles))
    opened = header["attentions"][-1]
    assert opened["kind"] == ("cross" if explorer.target_tokenizer else explorer.config.architecture)
    layer, head = opened["opening"]
    usual = (explorer.head_roles.short or explorer.head_roles).usual(opened["kind"])
    none = {"mixed", "even"}
    assert usual[layer][head].name not in none or {role.name for each in usual for role in each} <= none


def test_of_a_model_that_is_gone_there_is_nothing_to_compare_with(explorer):
    trace = explorer.trace("A dull film.")
    with pytest.raises(store.ModelError):
        store.read_model(trace.model)
    assert projected_contexts(trace, "encoder", trace.model) is None


def test_rollout_leaves_cross_attention_and_its_name_as_they_are():
    explorer = shelved("translate-en-fr")
    trace = explorer.trace("Where is it?", target="Où est")
    found = apply_looks(
        trace, {kind: (of.query_tokens, of.key_tokens) for kind, of in trace.kinds().items()}, ["rollout"]
    )
    assert found["encoder"].found.layers[0].weights.shape[0] == 1
    assert_allclose(found["cross"].found.layers[1].weights, trace.decoder[1].cross_attention.weights)
    text = payload_of(trace, Words("en"), ("rollout",)).decode("utf-8", "replace")
    assert text.count('"headTitle": "Layer {layer}, attention rollout"') == 2
    assert text.count('"headTitle": "Layer {layer}, head {head}"') == 1


PROJECTED = {
    "encoder": ("reads", "reads", "encoder_{}/attention"),
    "decoder": ("reads", "reads", "decoder_{}/self_attention"),
    "cross": ("reads", "memory", "decoder_{}/cross_attention"),
}
"""Kind of attention -> what its queries, and its keys and values, are made of, and the name of its layer."""


@pytest.mark.parametrize("name", ["translate-en-fr", "imdb-sentiment"])
def test_queries_keys_and_values_are_the_products_of_the_vectors_that_are_shown_as_their_inputs(name):
    explorer = shelved(name)
    trace, parameters = explorer.trace("This film was not good at all."), explorer.model.parameters()
    for kind, found in trace.kinds().items():
        vectors = vectors_of(trace, kind)
        reads, read, place = PROJECTED[kind]
        for layer in range(len(found.layers)):
            for part, source in (("query", reads), ("key", read), ("value", read)):
                given = vectors[source] if source == "memory" else vectors[source][layer]
                names = (f"{place.format(layer)}/{part}/{each}" for each in ("kernel", "bias"))
                kernel, bias = (np.asarray(parameters.get(each, 0)) for each in names)
                heads = np.split(given @ kernel + bias, len(found.layers[0].query), axis=-1)
                assert_allclose(vectors[part][layer], heads, atol=1e-4)


def test_the_vectors_are_most_of_a_payload_and_can_come_later():
    explorer = shelved("imdb-sentiment")
    trace = explorer.trace("This film was not good at all.")
    (whole, arrays), (header, left) = (
        unpack(payload_of(trace, Words("en"), around=Around(vectors_later=later))) for later in (False, True)
    )
    [of_whole], [of_header] = whole["attentions"], header["attentions"]
    assert (of_whole["later"], of_header["later"]) == (False, True)
    vectors = set(of_whole["sizes"])
    assert {"query", "key", "value", "context", "output", "token", "position"} <= vectors
    assert of_header["sizes"] == {}
    assert set(left["encoder"]) == set(arrays["encoder"]) - vectors
    for name, array in left["encoder"].items():
        assert_array_equal(array, arrays["encoder"][name])


def test_heads_are_put_in_order_by_what_they_do():
    trace = shelved("translate-en-fr").trace("Where is the station?", target="Où est la gare ?")
    for kind, found in trace.kinds().items():
        named = HeadsInText(kind, found, patterns_of_trace(trace)[kind]).roles
        flat = [role for layer in named for role in layer]
        order = np.argsort(-role_order(named).ravel())
        seen = [ROLES.index(flat[number].name) for number in order]
        assert seen == sorted(seen)
        assert len(set(seen)) > 1
        shares = np.nan_to_num([role.share for role in flat])  # "mixed" heads have none
        for one, other in itertools.pairwise(order):
            assert flat[one].name != flat[other].name or shares[one] >= shares[other]
