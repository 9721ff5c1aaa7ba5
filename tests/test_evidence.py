"""The evidence for the role of a head: its weight on every pattern, in one text and over many."""

import numpy as np
import pytest

from transformer_viz.language import Words
from transformer_viz.pictures.captions import HeadsInText
from transformer_viz.pictures.evidence import evidence_of
from transformer_viz.values.kind_roles import KindRoles
from transformer_viz.values.patterns import MEASURES, ROLES
from transformer_viz.values.tensors import Attentions, AttentionTrace

TOKENS = ("the", "cat", "the", "cat", "the", ".")
SIZE = len(TOKENS)
NAMES = MEASURES["encoder"]
WORDS = Words("en")


def heads_of(*layers, tokens=TOKENS, possible=ROLES):
    """Return the heads of some layers, each an array (head, query, key)."""
    traces = [AttentionTrace(None, None, None, None, layer, None, None) for layer in layers]
    mask = np.ones((1, len(tokens), len(tokens)), bool)
    patterns = [frozenset(possible)] * len(layers)
    return HeadsInText("encoder", Attentions(traces, mask, tokens, tokens), patterns)


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
    kept = KindRoles(NAMES, share, spread, even, held, np.ones(len(NAMES)), texts)
    found = evidence_of(WORDS, heads_of(*weights), kept)
    np.testing.assert_array_equal(found.numbers[:4], np.stack([share, spread, held, even]))
    np.testing.assert_array_equal(found.numbers[4], evidence_of(WORDS, heads_of(*weights)).numbers[4])
    assert found.texts == texts.tolist()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_measure_has_a_name_and_a_meaning_of_its_own(weights, language):
    found = evidence_of(Words(language), heads_of(*weights))
    assert len(set(found.names)) == len(set(found.meanings)) == len(NAMES)
    assert found.meanings == [Words(language)(f"measure.{name}") for name in NAMES]
    assert set(found.names).isdisjoint(found.meanings)
