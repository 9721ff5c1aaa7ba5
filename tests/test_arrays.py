"""Attention weights of other programs: read from any framework's arrays, shown, or refused with a way out."""

import json
import re

import numpy as np
import pytest
import tensorflow as tf
from playwright.sync_api import expect

import transformer_viz as tv
from transformer_viz.language import Words
from transformer_viz.pictures.arrays import kind_of, payload_of_attentions, readable_tokens
from transformer_viz.values.attention_arrays import by_kind, read_attention

TOKENS = ["[CLS]", "a", "lovely", "film", "[SEP]"]
TARGET = ["<s>", "one", "two", "</s>"]
RANDOM = np.random.default_rng(11)


def weights(queries=5, keys=5, *, heads=3, causal=False):
    """Return the weights of one layer, a batch of one text."""
    found = RANDOM.random((1, heads, queries, keys)) * (np.tri(queries, keys) if causal else 1)
    return (found / found.sum(axis=-1, keepdims=True)).astype(np.float32)


def layers(count=2, **options):
    return [weights(**options) for _ in range(count)]


def read(given, queries=TOKENS, keys=None):
    return read_attention(given, queries, queries if keys is None else keys, is_self=keys is None)


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


def test_a_row_without_keys_is_no_error():
    given = layers()
    given[0][0, 0, 2] = 0
    assert not read(given).layers[0].weights[0, 2].any()


def test_cross_attention_is_never_taken_for_masked():
    found = read(layers(queries=5, causal=True), TOKENS, TOKENS)
    assert found.mask.all()


def header(found, language):
    """Return the facts that the views are given."""
    payload = payload_of_attentions(found, Words(language), "mine")
    return json.loads(payload[8 : 8 + int.from_bytes(payload[:8], "little")])


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
        (changed(np.nan, 0, 0, 0), TOKENS, "Layer 1 contains values that are not finite numbers."),
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
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        tv.show(given, tokens)


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


def test_a_page_opens_on_the_clearest_head_and_says_what_it_does():
    given = layers()
    given[1][0, 2] = 0.96 * np.eye(5, k=-1) + 0.01
    given[1][0, 2, 0] = 0.2
    [facts] = header({"encoder": read(given)}, "en")["attentions"]
    assert facts["opening"] == [1, 2]
    assert facts["sayings"][1 * 3 + 2].startswith("In this text it attends to the previous token")


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
