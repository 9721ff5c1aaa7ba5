"""Attention weights of other programs: read from any framework's arrays, shown, or refused with a way out."""

import gzip
import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from made_traces import encoder_trace
from playwright.sync_api import expect

import transformer_viz as tv
from transformer_viz.language import Words
from transformer_viz.pictures.arrays import (
    attentions_shown,
    kind_of,
    payload_of_attentions,
    readable_tokens,
)
from transformer_viz.pictures.views import payload_bytes
from transformer_viz.trace.attention_arrays import by_kind, read_attention, read_kinds

TOKENS = ["[CLS]", "a", "lovely", "film", "[SEP]"]
TARGET = ["<s>", "one", "two", "</s>"]
RANDOM = np.random.default_rng(11)


def weights(queries=5, keys=5, *, heads=3, causal=False):
    """Return the weights of one layer, a batch of one text."""
    found = RANDOM.random((1, heads, queries, keys)) * (np.tri(queries, keys) if causal else 1)
    return (found / found.sum(axis=-1, keepdims=True)).astype(np.float32)


def layers(count=2, **options):
    return [weights(**options) for _ in range(count)]


def read(given, queries=TOKENS, keys=None, **options):
    return read_attention(given, queries, queries if keys is None else keys, is_self=keys is None, **options)


@pytest.mark.parametrize(
    "make",
    [
        tuple,
        np.stack,
        lambda given: [layer[0] for layer in given],
        lambda given: [layer.tolist() for layer in given],
        lambda given: [tf.constant(layer) for layer in given],
    ],
    ids=["tuple", "stacked", "no batch", "lists", "tensorflow"],
)
def test_weights_are_read_as_they_are(make):
    given = layers()
    found = read(make(given))
    for layer, expected in zip(found.layers, given, strict=True):
        np.testing.assert_array_equal(layer.weights, expected[0])
        assert layer.scores is None
    assert found.query_tokens == found.key_tokens == tuple(TOKENS)
    assert found.mask.all()


@pytest.mark.parametrize("make", [np.asarray, tf.constant, lambda layer: layer.tolist()])
def test_one_layer_or_one_matrix_is_enough(make):
    layer = weights()[0]
    for given in (layer, layer[None]):
        np.testing.assert_array_equal(read(make(given)).layers[0].weights, layer)
    np.testing.assert_array_equal(read(make(layer[1])).layers[0].weights, layer[1:2])


class Output(dict):
    """What a model of `transformers` returns: a mapping whose entries are attributes; others are None."""

    def __getattr__(self, name):
        return self.get(name) if name.endswith("attentions") else super().__getattribute__(name)


def test_the_output_of_a_model_is_read_whole():
    given = tuple(layers())
    for output in (
        Output(logits=np.ones((1, 5, 7)), attentions=given, cross_attentions=()),
        SimpleNamespace(attentions=given),
        (np.ones((1, 5, 7)), np.ones((1, 7)), given, ()),
    ):
        [(kind, found)] = read_kinds(output, TOKENS).items()
        assert kind == "self"
        for layer, expected in zip(found.layers, given, strict=True):
            np.testing.assert_array_equal(layer.weights, expected[0])


def test_the_output_of_an_encoder_decoder_has_three_kinds():
    output = Output(
        encoder_attentions=layers(),
        decoder_attentions=layers(1, queries=4, keys=4, causal=True),
        cross_attentions=layers(1, queries=4),
    )
    found = read_kinds(output, TOKENS, target_tokens=TARGET)
    assert {kind: each.layers[0].weights.shape[1:] for kind, each in found.items()} == {
        "encoder": (5, 5),
        "decoder": (4, 4),
        "cross": (4, 5),
    }
    with pytest.raises(ValueError, match=r"^`target_tokens` is missing"):
        tv.show(output, TOKENS)
    with pytest.raises(ValueError, match=r"^This tuple holds the attention weights of several kinds"):
        tv.show((*output.values(), np.ones(3)), TOKENS)


@pytest.mark.parametrize("output", [(), [], {}, Output(), Output(attentions=())])
def test_an_output_without_attention_says_how_to_get_it(output):
    with pytest.raises(ValueError, match=r'^There are no attention weights.* attn_implementation="eager"'):
        tv.show(output, TOKENS)


def steps(whole, kind):
    """Return one layer (1, head, query, key) in the steps of `generate()` after three tokens."""
    ends = [3, 4, 5]
    return {
        "with a cache": [whole[:, :, (0 if end == 3 else end - 1) : end, :end] for end in ends],
        "without a cache": [whole[:, :, :end, :end] for end in ends],
        "with a cache of fixed size": [
            np.pad(whole[:, :, (0 if end == 3 else end - 1) : end], ((0, 0), (0, 0), (0, 0), (0, 2)))
            for end in ends
        ],
    }[kind]


@pytest.mark.parametrize("kind", ["with a cache", "without a cache", "with a cache of fixed size"])
def test_the_steps_of_generate_are_joined(kind):
    given = layers(causal=True)
    stacked = tuple(zip(*(steps(layer, kind) for layer in given), strict=True))
    for tokens in (TOKENS, [*TOKENS, "last"]):
        [found] = read_kinds(Output(attentions=stacked), tokens).values()
        assert found.query_tokens == found.key_tokens == tuple(TOKENS)
        for layer, expected in zip(found.layers, given, strict=True):
            np.testing.assert_array_equal(layer.weights, expected[0])


def test_the_steps_of_a_translator_are_joined():
    decoder, cross = weights(4, 4, causal=True), weights(4, 5)
    output = Output(
        encoder_attentions=(weights(),),
        decoder_attentions=tuple((decoder[:, :, n : n + 1, : n + 1],) for n in range(4)),
        cross_attentions=tuple((cross[:, :, n : n + 1],) for n in range(4)),
    )
    for target in (TARGET, [*TARGET, "last"]):
        found = read_kinds(output, TOKENS, target_tokens=target)
        np.testing.assert_array_equal(found["decoder"].layers[0].weights, decoder[0])
        np.testing.assert_array_equal(found["cross"].layers[0].weights, cross[0])
        assert found["cross"].query_tokens == tuple(TARGET)
    beams = Output(attentions=((np.concatenate([decoder, decoder]),),))
    with pytest.raises(ValueError, match=r"hold 2 texts or beams\. Generate .* num_beams=1"):
        tv.show(beams, TARGET)


def test_half_precision_is_read_too():
    given = layers(1)
    for dtype in (tf.bfloat16, tf.float16):
        [layer] = read([tf.cast(each, dtype) for each in given]).layers
        np.testing.assert_allclose(layer.weights, given[0][0], atol=4e-3)


def test_pytorch_is_read_with_its_gradients():
    torch = pytest.importorskip("torch")
    given = layers(1)
    for dtype in (torch.float32, torch.bfloat16):
        tensor = torch.tensor(given[0], dtype=dtype, requires_grad=True)
        [layer] = read([tensor * 1]).layers
        np.testing.assert_allclose(layer.weights, given[0][0], atol=4e-3)


class Unreadable:
    """An array of PyTorch, which NumPy reads only without its gradient, on the CPU and as float32."""

    def __init__(self, array, *taken):
        self.array, self.taken = array, taken

    def __getattr__(self, name):
        if name not in ("detach", "cpu", "float"):
            raise AttributeError(name)
        return lambda: Unreadable(self.array, *self.taken, name)

    def numpy(self):
        assert self.taken == ("detach", "cpu", "float")
        return self.array

    def __array__(self, dtype=None, copy=None):
        raise TypeError("can't convert")


@pytest.mark.parametrize("make", [Unreadable, lambda layer: [Unreadable(head) for head in layer[0]]])
def test_arrays_that_numpy_cannot_read_are_converted_first(make):
    given = layers()
    for layer, expected in zip(read([make(each) for each in given]).layers, given, strict=True):
        np.testing.assert_array_equal(layer.weights, expected[0])


def test_layers_may_have_different_numbers_of_heads():
    given = {"first": weights(heads=2), "second": weights(heads=4), "third": weights(heads=1)}
    for language, sentence in (("en", "This layer has only 2 heads."), ("zh", "这一层只有 2 个头。")):
        [facts] = header({"encoder": read(given)}, language)["attentions"]
        assert facts["heads"] == 4
        assert [facts["sayings"].index(sentence), facts["sayings"].count(sentence)] == [2, 2]
    assert facts["roles"][2:4] == ["\u2013", "\u2013"]
    assert all(facts["figures"][name][2] is None for name in facts["figures"])
    assert all(facts["figures"][name][4] is not None for name in facts["figures"])
    layer, head = facts["opening"]
    assert head < (2, 4, 1)[layer]
    assert tv.show(given, TOKENS).html


def test_an_encoder_decoder_is_told_apart_by_the_lengths_of_its_texts():
    given = {
        "a": weights(),
        "b": weights(4, 4, causal=True),
        "c": weights(4, 5, heads=2),
        "d": weights(causal=True),
    }
    assert {kind: len(each) for kind, each in by_kind(given, TOKENS, TARGET).items()} == {
        "encoder": 2,
        "decoder": 1,
        "cross": 1,
    }
    html = tv.show(given, TOKENS, target_tokens=TARGET).html
    named = tv.show(
        [given["a"], given["d"]], TOKENS, decoder=[given["b"]], cross=[given["c"]], target_tokens=TARGET
    )
    assert html == named.html
    with pytest.raises(ValueError, match=r"^Both texts have 5 tokens, so that the shapes do not tell"):
        tv.show(layers(), TOKENS, target_tokens=TOKENS)
    with pytest.raises(ValueError, match=r"^Layer 0 is of \(3, 3\) .* \(5, 5\), \(4, 4\), \(4, 5\)\. Give"):
        tv.show([weights(3, 3)], TOKENS, target_tokens=TARGET)


def test_an_encoder_that_reads_no_later_token_is_not_taken_for_the_decoder():
    given = layers(queries=4, keys=4)
    page = tv.show(layers(causal=True), TOKENS, decoder=given, target_tokens=TARGET)
    assert page.html != tv.show(decoder=given, target_tokens=TARGET).html


def test_attention_to_no_later_token_is_that_of_a_decoder():
    masked, other = read(layers(causal=True)), read(layers())
    assert (kind_of(masked), kind_of(other)) == ("decoder", "encoder")
    np.testing.assert_array_equal(masked.mask[0, 0], np.tri(5, dtype=bool))
    assert not np.triu(masked.mask[0, 0], 1).any()


def test_keys_that_nothing_attends_to_are_masked():
    given = np.stack(layers())
    given[..., 4] = 0
    given /= given.sum(axis=-1, keepdims=True)
    np.testing.assert_array_equal(read(given).mask[0, 0], np.tile([True] * 4 + [False], (5, 1)))


def left_padded(alike):
    """Return the weights of a decoder whose first two tokens are padding, as `transformers` computes them."""
    given = np.stack(layers(causal=True))
    given[..., 2:, :2] = 0
    given /= given.sum(axis=-1, keepdims=True)
    given[..., :2, :] = 0
    given[..., :2, :alike] = 1 / alike
    return given


@pytest.mark.parametrize("alike", [5, 3])
def test_padding_in_front_of_a_decoder_is_masked(alike):
    given = left_padded(alike)
    inside = np.outer([0, 0, 1, 1, 1], [0, 0, 1, 1, 1]).astype(bool) & np.tri(5, dtype=bool)
    for options in ({}, {"attention_mask": [[0, 0, 1, 1, 1]]}):
        [found] = read_kinds(given, TOKENS, **options).values()
        assert kind_of(found) == "decoder"
        np.testing.assert_array_equal(found.mask[0, 0], inside)
        np.testing.assert_array_equal(found.layers[0].weights, given[0, 0] * inside)


def test_an_encoder_that_happens_to_read_nothing_earlier_has_no_padding():
    given = np.eye(5)
    given[0] = [0.5, 0, 0, 0, 0.5]
    assert read(given).mask.all()


@pytest.mark.parametrize(
    "mask", [np.tri(5), np.broadcast_to(np.tri(5), (3, 5, 5)), tf.constant(np.tri(5)[None, None])]
)
def test_a_mask_may_be_given(mask):
    given = weights(causal=True)
    [found] = read_kinds(given, TOKENS, attention_mask=mask).values()
    assert np.array_equal(np.broadcast_to(found.mask, (1, 3, 5, 5))[0, 2], np.tri(5, dtype=bool))


def test_a_mask_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"^`attention_mask` has the shape \(4,\)"):
        tv.show(layers(), TOKENS, attention_mask=[1, 1, 1, 0])
    inverted = [1, 1, 0, 0, 0]
    with pytest.raises(
        ValueError, match=r"^`attention_mask` excludes what is attended to: in layer 0, head 0"
    ):
        tv.show(left_padded(5), TOKENS, attention_mask=inverted)


def test_weight_that_goes_to_no_token_is_a_column():
    given = np.stack(layers(causal=True)) * 0.75
    for language, name, said in (
        ("en", "rest", "25% of its weight goes to no token."),
        ("zh", "其余", "它有 25% 的权重没有给任何词元。"),
    ):
        facts, arrays = unpacked({"self": read(given)}, language)
        assert facts["keyTokens"] == [*TOKENS, name]
        assert facts["queryTokens"] == TOKENS
        assert set(facts["usual"]) == {said}
        np.testing.assert_allclose(arrays["weights"][..., -1], 0.25, atol=1e-3)
        np.testing.assert_allclose(arrays["weights"][..., :-1], given[:, 0], atol=1e-3)
        np.testing.assert_array_equal(arrays["mask"][0, 0], np.hstack([np.tri(5), np.ones((5, 1))]))


def test_numbers_that_are_no_weights_are_shown_around_zero():
    given = RANDOM.normal(size=(2, 3, 5, 5))
    given[1, 2, 3, 4] = -123.0
    facts, arrays = unpacked({"self": read_attention(given, TOKENS, TOKENS, signed=True)}, "en", signed=True)
    np.testing.assert_allclose(arrays["weights"], given, rtol=1e-3)
    assert (facts["areNumbers"], facts["signed"], facts["opening"]) == (True, True, [1, 2])
    assert facts["sayings"][5] == "Strongest: -123, from “film” to “[SEP]”."
    assert set(facts["roles"]) == {""}
    assert not unpacked({"self": read(abs(given), signed=True)}, "en", signed=True)[0]["signed"]
    with pytest.raises(ValueError, match="signed=True"):
        tv.show(given, TOKENS)


@pytest.mark.parametrize("gap", [np.nan, -np.inf, -1e9, np.finfo(np.float16).min])
def test_masked_scores_are_gaps(gap):
    scores = np.where(np.tri(5), RANDOM.normal(size=(3, 5, 5)), gap)
    found = read(scores, signed=True)
    np.testing.assert_array_equal(found.mask[0, 0], np.tri(5, dtype=bool))
    np.testing.assert_allclose(found.layers[0].weights, np.tril(scores), rtol=1e-6)


def test_a_row_without_keys_is_no_error():
    given = layers()
    given[0][0, 0, 2] = 0
    assert not read(given).layers[0].weights[0, 2].any()


def test_cross_attention_is_never_taken_for_masked():
    found = read(layers(queries=5, causal=True), TOKENS, TOKENS)
    assert found.mask.all()


def header(found, language, **options):
    """Return the facts that the views are given."""
    payload = payload_of_attentions(found, Words(language), "mine", **options)
    return json.loads(payload[8 : 8 + int.from_bytes(payload[:8], "little")])


def unpacked(found, language, **options):
    """Return the facts of the only kind of attention, and its arrays by name."""
    payload = payload_of_attentions(found, Words(language), "mine", **options)
    [facts] = header(found, language, **options)["attentions"]
    begin = 8 + int.from_bytes(payload[:8], "little")
    arrays = {
        name: np.frombuffer(
            payload, each["dtype"], count=np.prod(each["shape"], dtype=int), offset=begin + each["at"]
        ).reshape(each["shape"])
        for name, each in facts["arrays"].items()
    }
    return facts, arrays


def changed(value, *place):
    given = layers()
    given[1][(0, *place)] = value
    return given


@pytest.mark.parametrize(
    ("given", "tokens", "message"),
    [
        ([], TOKENS, "There are no attention weights. Give one array (head, query, key) for each layer."),
        (
            [None],
            TOKENS,
            "Layer 0 has no attention weights, only None. In transformers, load the model with "
            'attn_implementation="eager" and call it with output_attentions=True. (Layers are numbered '
            "from 0.)",
        ),
        (layers(), "a film", "The tokens are one string. Give a list: "),
        (
            layers(),
            TARGET,
            "The attention weights are of (5, 5) queries and keys, the tokens are (4, 4). Give",
        ),
        (
            [weights(), weights(queries=4)],
            TOKENS,
            "Layer 1 is of (4, 5) queries and keys, layer 0 of (5, 5). If they are of an encoder-decoder,",
        ),
        ([np.ones((2, 3, 5, 5)) / 5], TOKENS, "Layer 0 holds 2 texts. Choose one of them, as in [layer[:1] "),
        ([np.ones((5, 5)) / 5], TOKENS, "Layer 0 has the shape (5, 5). It must be (head, query, key) or "),
        ([["text"]], TOKENS, "Layer 0 contains values that are not finite numbers."),
        (
            changed(np.nan, 1, 3, 0),
            TOKENS,
            "Layer 1 contains values that are not finite numbers. The first are in head 1, query 3. If that",
        ),
        (
            "a film",
            TOKENS,
            "Attention weights cannot be read from a str. Give an output of transformers, or ",
        ),
        (3, TOKENS, "Attention weights cannot be read from a int. Give an output of transformers, or one "),
        (
            changed(5.0, 2, 3),
            TOKENS,
            "Attention weights are not negative and add up to 1 in each row; those of layer 1, head 2, query "
            "3 add up to 25.",
        ),
        (changed([-1, 2, 0, 0, 0], 1, 0), TOKENS, "Attention weights are not negative and add up to 1"),
    ],
)
def test_what_are_no_weights_of_these_tokens_is_refused_with_a_way_out(given, tokens, message):
    with pytest.raises(ValueError, match=r"^" + re.escape(message)):
        tv.show(given, tokens)


def test_bertviz_arguments_are_understood():
    given = {"encoder_attention": layers(), "decoder_attention": layers(queries=4, keys=4)}
    given |= {"cross_attention": layers(queries=4)}
    tokens = {"encoder_tokens": TOKENS, "decoder_tokens": TARGET}
    page = tv.show(**given, **tokens, html_action="return")
    named = {"decoder": given["decoder_attention"], "cross": given["cross_attention"]}
    assert page.data == tv.show(given["encoder_attention"], TOKENS, **named, target_tokens=TARGET).html
    assert tv.show(attention=layers(1), tokens=TOKENS, layer=np.int64(0), heads=[np.int32(2), 1]).html
    with pytest.raises(
        ValueError, match=r"^`cross` and `cross_attention` are two names of the same argument"
    ):
        tv.show(cross=layers(queries=4), **given, **tokens)


def started(page):
    """Return the selection on which a page opens."""
    return json.loads(re.search(r"start: \(\) => \((\{.*?\})\)", page.html)[1])


def test_a_page_opens_where_it_is_told_in_the_numbers_of_all_layers():
    given = layers(4)
    page = tv.show(given, TOKENS, include_layers=[3, np.int64(1)], layer=np.int64(3), heads=[2, 0])
    assert started(page) == {"view": "all", "layer": 1, "head": 2, "shown": [2, 0]}
    assert started(tv.show(given, TOKENS, kind="encoder", head=1, view="grid")) == {
        "kind": "encoder",
        "head": 1,
        "view": "grid",
    }


def test_layers_that_are_left_out_do_not_change_the_numbers_of_the_others():
    given = {"self": read(layers(4))}
    shown = attentions_shown(given, Words("en"))["encoder"].of_layers([1, 3])
    payload = payload_bytes("", {"encoder": shown}, {})
    [facts] = json.loads(payload[8 : 8 + int.from_bytes(payload[:8], "little")])["attentions"]
    whole = header(given, "en")["attentions"][0]
    assert (facts["numbers"], whole["numbers"]) == ([2, 4], None)
    heads = [*range(3, 6), *range(9, 12)]
    for name in ("roles", "sayings", "usual"):
        assert facts[name] == [whole[name][head] for head in heads]


def test_a_page_of_many_weights_keeps_few_digits_of_them(monkeypatch):
    given = (RANDOM.random((2, 3, 64, 64)) ** 20).astype(np.float32)
    given /= given.sum(axis=-1, keepdims=True)
    shown = attentions_shown({"self": read(given, [*map(str, range(64))])}, Words("en"))["encoder"]
    assert shown.compact() is shown
    monkeypatch.setattr("transformer_viz.pictures.views.payload.MOST_EXACT", given.size - 1)
    found = np.stack([layer.weights for layer in shown.compact().found.layers])
    assert np.abs(found - given).max() <= 1 / 2048
    kept = given >= 2e-4
    assert (np.abs(found - given)[kept] / given[kept]).max() <= 1 / 16
    assert not found[given < 5e-5].any()
    exact, few = (len(gzip.compress(each.astype(np.float16).tobytes())) for each in (given, found))
    assert few < 0.6 * exact


def test_small_numbers_of_many_are_kept(monkeypatch):
    monkeypatch.setattr("transformer_viz.pictures.views.payload.MOST_EXACT", 1)
    given = 1e-6 * np.array([[1.0, -0.5], [0.25, 0.0]])
    shown = attentions_shown(read_kinds(given, ["a", "b"], signed=True), Words("en"), signed=True)["encoder"]
    np.testing.assert_allclose(shown.compact().found.layers[0].weights[0], given, rtol=1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layer": 99}, "`layer` must be a whole number from 0 to 1, of what is shown. Received: 99."),
        ({"layer": 0, "include_layers": [1]}, "`layer` must be a whole number from 0 to 1"),
        ({"include_layers": [2]}, "`include_layers` must be a whole number from 0 to 1"),
        ({"include_layers": []}, "`include_layers` is empty."),
        ({"head": 1.5}, "`head` must be a whole number from 0 to 2, of what is shown. Received: 1.5."),
        ({"heads": [0, 3]}, "`heads` must be a whole number from 0 to 2"),
        (
            {"view": "heads"},
            "`view` must be one of 'all', 'grid', 'matrix', 'lines', 'steps'. Received: 'heads'",
        ),
        ({"kind": "cross"}, "`kind` must be one of 'encoder'. Received: 'cross'."),
        ({"html_action": "save"}, "`html_action` must be one of 'view', 'return'. Received: 'save'."),
        ({"sentence_b_start": 5}, "`sentence_b_start` is 5. It must be the position of the first token of"),
        ({"head_roles": "x"}, "`head_roles` belongs to a trace of a model that is open here, not to"),
    ],
)
def test_an_argument_that_says_nothing_is_refused(options, message):
    with pytest.raises(ValueError, match=r"^" + re.escape(message)):
        tv.show(layers(), TOKENS, **options)


def test_an_argument_that_is_misspelt_is_refused():
    with pytest.raises(TypeError, match="languge"):
        tv.show(layers(), TOKENS, languge="zh")


def test_attention_between_two_sentences_can_be_chosen():
    given = {"self": read(np.stack(layers()) * 0.5)}
    [facts] = header(given, "en", sentence_b_start=2)["attentions"]
    assert facts["querySentences"] == [0, 0, 1, 1, 1]
    assert facts["keySentences"] == [0, 0, 1, 1, 1, -1]


def test_a_comparison_is_shown():
    a, b = encoder_trace(["a", "film"]), encoder_trace(["a", "good", "film"])
    page = tv.show(tv.compare(a, b), view="matrix")
    assert f"{a.text} → " in page.html
    with pytest.raises(ValueError, match=r"^`tokens` does not apply to a comparison"):
        tv.show(tv.compare(a, b), ["a", "film"])
    with pytest.raises(ValueError, match=r"^`signed` belongs to attention weights from elsewhere"):
        tv.show(a, signed=True)


def test_what_is_missing_is_named():
    with pytest.raises(ValueError, match="There are no attention weights"):
        tv.show()
    with pytest.raises(ValueError, match="`tokens` is missing"):
        tv.show(layers())
    with pytest.raises(ValueError, match="`target_tokens` is missing"):
        tv.show(layers(), TOKENS, cross=layers(queries=4))


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (["▁un", "believable"], ("un", "-believable")),
        (["Ġä½łå¥½", "Ċ"], ("你好", "␊")),
        (["ä»Ĭå¤©", "å¾Īå¥½", "ï¼ģ"], ("今天", "很好", "！")),
        (["å¥½"], ("好",)),
        (["à¸ª", "à¸§", "à¸±à¸ª", "<|endoftext|>"], ("ส", "ว", "ัส", "<|endoftext|>")),
        (["cafÃ©", "Ġau", "ĠlaitĊĊ", "ĠĠĠ", "Ġx"], ("café", "au", "lait␊␊", "␣␣␣", "x")),
        (["ä½", "ł", "å¥½", "å¥"], ("�", "�", "好", "�")),
        (["ł", "å¥½"], ("�", "好")),
        (["ä»Ĭå¤©", "<｜end▁of▁sentence｜>"], ("今天", "<｜end▁of▁sentence｜>")),
        (["Ġa", "你好", "b"], ("a", "你好", "-b")),
        (["<0x0A>", "▁a", "<0xE4>"], ("␊", "a", "<0xE4>")),
        (["ä", "Ã", "é", "über", "straße", "»", "ß", "«"], ("ä", "Ã", "é", "über", "straße", "»", "ß", "«")),
        (["Čau", "lidi", "je", "ďábel"], ("Čau", "lidi", "je", "ďábel")),
        (["Ġesù", "ĉu", "ł", "Đorđe"], ("Ġesù", "ĉu", "ł", "Đorđe")),
        (["[CLS]", "un", "##able"], ("[CLS]", "un", "-able")),
        (["你", "好"], ("你", "好")),
    ],
)
def test_tokens_are_shown_as_a_person_reads_them(tokens, expected):
    assert readable_tokens(tokens) == expected


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        (["Ġun", "believ", "able", "Ġfilm", "s", "!"], [[0, 3, "unbelievable"], [3, 5, "films"]]),
        (["[CLS]", "酒", "店", "很", "好", "[SEP]"], [[1, 3, "酒店"]]),
        (["a", "-", "b"], []),
    ],
)
def test_the_words_of_several_tokens_are_known(tokens, words):
    given = {"self": read([weights(len(tokens), len(tokens))], tokens)}
    [facts] = header(given, "en")["attentions"]
    assert facts["queryWords"] == facts["keyWords"] == words


def test_a_page_opens_on_the_clearest_head_and_says_what_it_does():
    given = layers()
    given[1][0, 2] = 0.96 * np.eye(5, k=-1) + 0.01
    given[1][0, 2, 0] = 0.2
    [facts] = header({"encoder": read(given)}, "en")["attentions"]
    assert facts["opening"] == [1, 2]
    assert facts["sayings"][1 * 3 + 2].startswith("Here each token reads the one before it")


def test_an_encoder_decoder_shows_its_three_kinds(browser, tmp_path):
    tv.show(
        layers(),
        TOKENS,
        decoder=layers(3, queries=4, keys=4, causal=True),
        cross=layers(3, queries=4),
        target_tokens=TARGET,
        name="mine",
    ).save(tmp_path / "mine.html")
    page = browser.new_page()
    page.goto((tmp_path / "mine.html").as_uri())
    expect(page.locator("h1")).to_have_text("mine")
    for kind in ("encoder self-attention", "masked self-attention", "cross-attention"):
        page.get_by_role("radio", name=kind).or_(page.get_by_role("button", name=kind)).first.click()
        expect(page.locator(".place")).to_contain_text(kind)
    page.close()


@pytest.mark.parametrize(
    ("language", "sentence"),
    [("en", "Here only the attention weights are known."), ("zh", "这里只有注意力权重。")],
)
def test_the_view_that_needs_more_than_weights_says_so(language, sentence):
    facts = header({"encoder": read(layers())}, language)
    assert sentence in facts["words"]["too_long"]
    assert not any(facts["attentions"][0]["sizes"].values())
