"""The evidence for the role of a head: its weight on every pattern, in one text and over many."""

import numpy as np
import pytest

from transformer_viz.language import Words
from transformer_viz.network.tensors import Attentions, AttentionTrace
from transformer_viz.pictures.captions import HeadsInText
from transformer_viz.pictures.evidence import evidence_of
from transformer_viz.questions.roles.result import HeadRoles, KindRoles
from transformer_viz.questions.roles.rules import MEASURES, ROLES, measures_of

TOKENS = ("the", "cat", "the", "cat", "the", ".")
SIZE = len(TOKENS)
NAMES = MEASURES["encoder"]
WORDS = Words("en")


def heads_of(*layers, tokens=TOKENS, possible=ROLES, typical=None):
    """Return the heads of some layers, each an array (head, query, key)."""
    traces = [AttentionTrace(None, None, None, None, layer, None, None) for layer in layers]
    mask = np.ones((1, 1, len(tokens), len(tokens)), bool)
    patterns = [frozenset(possible)] * len(layers)
    return HeadsInText("encoder", Attentions(traces, mask, tokens, tokens), patterns, typical)


@pytest.fixture
def weights():
    """Random weights: (layer, head, query, key)."""
    made = np.random.default_rng(4).random((2, 3, SIZE, SIZE)) ** 4
    return made / made.sum(axis=-1, keepdims=True)


def at(found, name):
    return found.numbers[..., NAMES.index(name)]


def test_shares_of_a_text_are_means_over_the_rows_that_could_show_the_pattern(weights):
    mean, spread, held, uniform, here = range(5)
    found = evidence_of(WORDS, heads_of(*weights))
    for name, keys in (
        ("itself", {0: [0], 1: [1], 2: [2], 3: [3], 4: [4], 5: [5]}),
        ("previous", {1: [0], 2: [1], 3: [2], 4: [3], 5: [4]}),
        ("same", {0: [2, 4], 1: [3], 2: [0, 4], 3: [1], 4: [0, 2]}),
        ("after_same", {2: [1], 3: [2], 4: [1, 3]}),
    ):
        rows = [weights[..., row, columns].sum(axis=-1) for row, columns in keys.items()]
        np.testing.assert_allclose(at(found, name)[here], np.mean(rows, axis=0), rtol=1e-6)
        evenly = np.mean([len(columns) / SIZE for columns in keys.values()])
        np.testing.assert_allclose(at(found, name)[uniform], evenly)
    np.testing.assert_allclose(at(found, "focused")[here], weights.max(axis=-1).mean(axis=-1))
    np.testing.assert_allclose(at(found, "token")[here], weights.mean(axis=-2).max(axis=-1))
    assert np.isnan(found.numbers[[mean, spread, held]]).all()
    assert found.texts == [0] * len(NAMES)


def test_what_a_layer_cannot_have_or_a_text_cannot_show_is_unknown(weights):
    found = evidence_of(WORDS, heads_of(*weights, possible={"itself", "even"}))
    known = ~np.isnan(found.numbers[4]).any(axis=(0, 1))
    assert [name for name, is_known in zip(NAMES, known, strict=True) if is_known] == ["itself", "even"]
    no_repeats = evidence_of(WORDS, heads_of(*weights, tokens=tuple("abcdef")))
    assert np.isnan(at(no_repeats, "same")[4]).all()


def test_a_text_without_a_choice_has_no_evidence():
    found = evidence_of(WORDS, heads_of(np.ones((2, 1, 1)), tokens=("one",)))
    assert found.numbers.shape == (5, 1, 2, len(NAMES))
    assert np.isnan(found.numbers).all()


def test_over_many_texts_the_kept_numbers_are_shown(weights):
    random = np.random.default_rng(5)
    share, spread, even, held = random.random((4, 2, 3, len(NAMES)))
    texts = np.arange(90, 90 + len(NAMES))
    ratio = np.empty((2, 3, 0))
    kept = KindRoles(NAMES, share, spread, even, held, np.ones(len(NAMES)), texts, ratio, ratio)
    found = evidence_of(WORDS, heads_of(*weights), HeadRoles(200, {"encoder": kept}))
    np.testing.assert_array_equal(found.numbers[:4], np.stack([share, spread, held, even]))
    np.testing.assert_array_equal(found.numbers[4], evidence_of(WORDS, heads_of(*weights)).numbers[4])
    assert found.texts == texts.tolist()


TYPICAL = {"pets": ("cat",), "<b>*wild*</b>": ("lion", "bear", "wolf", "lynx", "boar", "deer")}


def kept_words():
    """Return the kept roles of heads that were measured with the words of two labels."""
    names = measures_of("encoder", TYPICAL)
    shares = np.random.default_rng(6).random((4, 2, 3, len(names)))
    ratios = np.ones((2, 2, 3, 2))
    kind = KindRoles(names, *shares, np.ones(len(names)), np.full(len(names), 200), *ratios)
    return HeadRoles(200, {"encoder": kind}, TYPICAL)


def test_words_typical_of_each_label_are_measures_of_their_own_even_if_a_layer_has_no_places(weights):
    keys = np.isin(TOKENS, ["cat"])
    typical = {"words:pets": keys, "words:<b>*wild*</b>": np.zeros(SIZE, bool)}
    found = evidence_of(WORDS, heads_of(*weights, possible={"even"}, typical=typical), kept_words())
    names = measures_of("encoder", TYPICAL)
    pets, wild = (names.index(name) for name in typical)
    np.testing.assert_allclose(found.numbers[4, ..., pets], weights[..., keys].sum(-1).mean(-1), rtol=1e-6)
    assert np.isnan(found.numbers[4, ..., wild]).all()  # this text has none
    assert found.numbers.shape == (5, 2, 3, len(names))
    assert found.texts[wild] == 200


@pytest.mark.parametrize(
    ("language", "name", "meaning"),
    [
        ("en", "“pets” words", "Weight on words typical of “pets” texts, such as cat"),
        ("zh", "“pets”字词", "“pets”文本的典型字词（如cat）的权重"),
    ],
)
def test_a_measure_of_words_names_its_label_and_some_of_them(weights, language, name, meaning):
    typical = dict.fromkeys(("words:pets", "words:<b>*wild*</b>"), np.zeros(SIZE, bool))
    found = evidence_of(Words(language), heads_of(*weights, typical=typical), kept_words())
    assert (name, meaning) == (found.names[8], found.meanings[8])
    assert "lynx" in found.meanings[9]
    assert "deer" not in found.meanings[9]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_measure_has_a_name_and_a_meaning_of_its_own(weights, language):
    found = evidence_of(Words(language), heads_of(*weights))
    assert len(set(found.names)) == len(set(found.meanings)) == len(NAMES)
    assert found.meanings == [Words(language)(f"measure.{name}", places=4) for name in NAMES]
    assert set(found.names).isdisjoint(found.meanings)
