"""What is said of a head in the text that is shown is true of the weights of this text."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shelf import place_of

import transformer_viz as tv
from transformer_viz.language import Words
from transformer_viz.network.tensors import Attentions, AttentionTrace
from transformer_viz.pictures.captions import HeadsInText, captions_of
from transformer_viz.pictures.here import MIN_GATHERED, MOST_EVEN, PLACES
from transformer_viz.pictures.lens import described
from transformer_viz.questions.roles.result import Role
from transformer_viz.questions.roles.rules import ROLES

TOKENS = ("the", "film", "was", "not", "bad", ".")
SIZE = len(TOKENS)
KEYS = np.eye(SIZE)
EVEN = np.full((SIZE, SIZE), 1 / SIZE)
CAUSAL = np.tril(np.ones((SIZE, SIZE), bool))


def heads_of(weights, mask=None, kind="encoder", queries=TOKENS, keys=TOKENS, possible=ROLES):
    """Return one head with some weights (query, key)."""
    layer = AttentionTrace(None, None, None, None, np.asarray(weights, float)[None], None, None)
    allowed = np.ones((len(queries), len(keys)), bool) if mask is None else np.asarray(mask)
    return HeadsInText(kind, Attentions([layer], allowed[None, None], queries, keys), [frozenset(possible)])


def found(*args, **options):
    return heads_of(*args, **options).here(0, 0)


def said(*args, language="en", **options):
    """Return the sentences on one head in this text."""
    heads = heads_of(*args, **options)
    return captions_of(Words(language), heads, options.get("keys", TOKENS)).here[0][0]


def mixed_with(weights, share):
    """Return weights of which a share lies as in the first argument, and the rest evenly."""
    return share * np.asarray(weights) + (1 - share) * EVEN


def normalised(weights):
    weights = np.asarray(weights, float)
    return weights / np.maximum(weights.sum(axis=-1, keepdims=True), 1e-12)


def test_a_token_that_every_row_reads_most_is_named_with_its_mean_weight():
    weights = mixed_with(KEYS[[4] * SIZE], 0.7)
    assert said(weights) == "Here every row reads “bad” (75% on average)."
    assert said(weights, language="zh") == "这里每一行都看“bad”（平均 75%）。"


def test_a_row_that_hardly_prefers_the_token_is_not_one_of_every():
    weights = mixed_with(KEYS[[4] * SIZE], 0.9)
    weights[2] = mixed_with(KEYS[[4] * SIZE], 0.05)[2]
    assert said(weights) == "Here 5 of 6 rows read “bad” (92%)."


def test_rows_that_read_the_same_token_are_named_with_the_weight_of_each():
    weights = EVEN.copy()
    for row, share in ((1, 0.96), (3, 0.93), (4, 0.89)):
        weights[row] = (1 - share) / (SIZE - 1)
        weights[row, 4] = share
    assert said(weights) == "Here “film”, “not” and “bad” read “bad”: 96%, 93%, 89%."
    assert said(weights, language="zh") == "这里“film”、“not”和“bad”都看“bad”：96%、93%、89%。"


def test_of_many_such_rows_it_is_said_how_many_they_are():
    weights = EVEN.copy()
    weights[:4] = mixed_with(KEYS[[4] * SIZE], 0.88)[:4]
    assert said(weights) == "Here 4 of 6 rows read “bad” (90%)."
    weights[0] = mixed_with(KEYS[[4] * SIZE], 0.5)[0]
    assert said(weights) == "Here 4 of 6 rows read “bad” (58–90%)."
    assert said(weights, language="zh") == "这里 6 行中有 4 行看“bad”（58%–90%）。"


def test_a_pattern_is_said_of_each_token_only_if_each_has_it():
    weights = mixed_with(np.eye(SIZE, k=-1), 0.8)
    assert said(weights) == "Here each token reads the one before it (83% on average)."
    weights[3] = KEYS[5]
    assert said(weights) == "Here most tokens read the one before them (67% on average)."
    weights[4] = weights[5] = KEYS[0]
    assert "before" not in said(weights)


def test_a_head_without_a_preference_spreads_evenly_with_its_largest_weight_beside_an_even_share():
    weights = EVEN.copy()
    weights[0, :2] += 0.1, -0.1
    assert said(weights) == (
        "Here the weight is spread almost evenly: no token gets more than 27% of a row; an even share is 17%."
    )
    assert said(normalised(CAUSAL), CAUSAL) == (
        "Here each row spreads its weight almost evenly over the tokens that it may read: none gets more "
        "than 1.0 times an even share."
    )


def test_rows_that_read_different_tokens_are_said_to_do_so():
    weights = mixed_with(KEYS[[2, 4, 5, 1, 0, 3]], 0.9)
    assert said(weights) == (
        "Here different rows read different tokens: the largest weight of a row is 92% on average."
    )


def test_without_a_pattern_the_largest_weight_is_said():
    weights = np.tile(normalised([[4, 3, 3, 1, 1, 1]]), (SIZE, 1))
    weights[1] = normalised([1, 1, 1, 3, 6, 3])
    assert said(weights) == ("Here there is no clear pattern. The largest weight: “film” reads “bad” (40%).")


def test_a_text_of_one_token_has_nothing_to_choose():
    one = ("film",)
    assert said([[1.0]], queries=one, keys=one) == (
        "Here there is nothing to choose: each row may read one token only."
    )
    assert said([[1.0]] * 3, kind="cross", queries=TOKENS[:3], keys=one).startswith(
        "Here there is nothing to choose"
    )


def test_rows_without_any_weight_read_nothing_and_are_not_counted():
    weights, mask = mixed_with(KEYS[[4] * SIZE], 0.88), np.ones((SIZE, SIZE), bool)
    weights[[1, 2]], mask[1] = 0, False  # one is masked, one has lost its weights
    assert found(weights, mask).rows == SIZE - 2
    assert said(weights, mask) == "Here every row reads “bad” (90% on average)."
    nothing = "Here no token is read: the rows have no weight."
    assert said(0 * weights, mask) == said(0 * weights, 0 * mask > 0) == nothing


def test_rows_of_nan_are_rows_without_weight():
    weights = mixed_with(KEYS[[4] * SIZE], 0.88)
    weights[2] = np.nan
    assert said(weights) == "Here every row reads “bad” (90% on average)."
    assert said(np.full((SIZE, SIZE), np.nan)).startswith("Here no token is read")


def test_the_first_row_of_a_causal_text_reads_itself_and_is_one_of_every():
    weights = np.where(CAUSAL, 0.02, 0.0)
    weights[:, 0] = 1 - weights[:, 1:].sum(axis=-1)
    assert said(weights, CAUSAL, kind="decoder").startswith("Here every row reads “the” (")
    weights[:, 0], weights[:, 1] = weights[:, 1].copy(), weights[:, 0].copy()
    weights[0] = KEYS[0]
    assert said(weights, CAUSAL, kind="decoder").startswith("Here 5 of 6 rows read “film” (")


def test_cross_attention_that_follows_the_source_is_said_to_do_so():
    weights = mixed_with(np.eye(SIZE), 0.9)
    assert said(weights, kind="cross") == (
        "Here each row reads its own place in the source, from beginning to end (94% on average)."
    )
    assert said(weights[::-1], kind="cross").startswith("Here the rows read the source backwards")


def test_a_long_text_is_described_by_how_many_rows_do_it():
    tokens = tuple(f"w{number}" for number in range(512))
    weights = np.full((512, 512), 0.05 / 511)
    weights[np.arange(512), np.where(np.arange(512) < 400, 7, np.arange(512))] = 0.95
    assert said(weights, queries=tokens, keys=tokens) == "Here 400 of 512 rows read “w7” (95%)."


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("each", [True, False])
@pytest.mark.parametrize("name", sorted(PLACES))
def test_every_pattern_has_a_sentence_of_its_own(language, each, name):
    words = Words(language)
    key = f"here.{'each' if each else 'most'}"
    facts = {"percent": "50%", "places": 4}
    others = {words(f"{key}.{other}", **facts) for other in PLACES - {name}}
    assert words(f"{key}.{name}", **facts) not in others


def holds(here, weights, mask):
    """Return whether what is said of a head is true of its weights."""
    reading = np.flatnonzero(weights.max(axis=-1) > 0)
    keys, choices, queries = weights.argmax(axis=-1), mask.sum(axis=-1), list(here.queries)
    free = choices > 1
    are_told = (keys[queries] == here.key).all() and np.allclose(weights[queries, here.key], here.shares)
    laws = {
        "nothing": lambda: not weights[free].any(),
        "alone": lambda: choices.max() <= 1,
        "even": lambda: (weights[free] * choices[free, None]).max() <= MOST_EVEN + 1e-9,
        "every": lambda: are_told and queries == reading.tolist(),
        "read": lambda: are_told and len(queries) > 1,
        "mixed": lambda: are_told and here.share == weights[free].max(),
        "focused": lambda: weights[reading].max(axis=-1).mean() >= MIN_GATHERED - 1e-9,
        "itself": lambda: leads(0),
        "previous": lambda: leads(-1),
        "next": lambda: leads(1),
    }

    def leads(step):
        wanted = np.arange(len(weights)) + step
        able = (wanted >= 0) & (wanted < len(weights)) & free
        able &= mask[np.arange(len(weights)), wanted.clip(0, len(weights) - 1)]
        is_so = (keys == wanted)[able]
        return is_so.all() if here.each else is_so.mean() > 0.5

    return laws[here.name]() if here.name in laws else here.name in PLACES


@given(
    st.integers(0, 10**6), st.integers(1, 9), st.floats(0.2, 30), st.sampled_from(["none", "causal", "pad"])
)
def test_whatever_the_weights_are_what_is_said_holds(seed, size, power, masked):
    random = np.random.default_rng(seed)
    mask = np.ones((size, size), bool)
    if masked == "causal":
        mask = np.tril(mask)
    elif masked == "pad":
        mask[:, size // 2 :] = False
    weights = normalised(random.random((size, size)) ** power * mask)
    weights[random.random(size) < 0.1] = 0
    tokens = tuple(random.choice(["a", "b", "c", "."], size))
    here = found(weights, mask, queries=tokens, keys=tokens)
    assert holds(here, weights, mask), here
    assert 0 <= here.share <= 1 + 1e-9
    text = said(weights, mask, queries=tokens, keys=tokens)
    assert text.startswith("Here")
    assert "nan" not in text
    assert "{" not in text


def test_what_is_said_of_every_head_of_a_shipped_model_holds():
    trace = tv.load(place_of("imdb-sentiment")).trace("Predictable, but not good at all.")
    attention = trace.kinds()["encoder"]
    heads = HeadsInText("encoder", attention, [frozenset(ROLES)] * len(attention.layers))
    names = set()
    for layer, found_there in enumerate(attention.layers):
        for head, weights in enumerate(np.asarray(found_there.weights)):
            here = heads.here(layer, head)
            names.add(here.name)
            assert holds(here, weights, np.ones(weights.shape, bool))
    assert {"read", "every", "previous"} <= names
    shown = described(trace, Words("en"))["encoder"]
    assert all(re.match(r"Here .*\d%", sentence) for layer in shown.captions for sentence in layer)


def test_without_a_role_a_head_is_described_all_the_same():
    heads = heads_of(mixed_with(KEYS[[4] * SIZE], 0.7))
    heads.roles = [[Role("mixed", np.nan, np.nan, 1.0, 0, 1)]]
    assert heads.here(0, 0).name == "every"
