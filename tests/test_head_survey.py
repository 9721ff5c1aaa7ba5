"""Surveys of heads: each number by hand, batches beside single texts, and which texts are named."""

import dataclasses
import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from small_models import with_random_parameters

import transformer_viz as tv
from transformer_viz.explorer.explorer import Explorer
from transformer_viz.questions.roles.result import HeadRoles, KindRoles
from transformer_viz.questions.roles.rules import FEWEST_TEXTS, MEASURES
from transformer_viz.questions.roles.survey import (
    DISTANCES,
    ENTROPY_BINS,
    HeadSurvey,
    distance_histogram,
    entropy_histogram,
)

TEXTS = ["A lovely film.", "film", "", "A dull and lifeless story; not good at all.", "a film a film"]
PAIRS = [
    ("A lovely film.", "one two three two"),
    ("A dull plot, not funny.", "two one"),
    ("Great music!", "six"),
]
NAMES = MEASURES["encoder"]


@pytest.fixture(scope="module")
def found(explorer):
    return tv.head_survey(explorer, TEXTS)


def weights_of(explorer, text):
    """Return the weights of one text alone: (layer, head, query, key)."""
    return np.stack([block.attention.weights for block in explorer.trace(text).encoder])


def bin_of(distance):
    return next(number for number, (first, last) in enumerate(DISTANCES) if first <= distance <= last)


def test_the_roles_are_those_of_head_roles_and_their_mean_is_that_of_the_shares(explorer, found):
    roles = tv.head_roles(explorer, TEXTS)
    assert found.roles == roles
    for name in ("itself", "previous", "same", "focused"):
        number = NAMES.index(name)
        mean = np.nanmean(found.shares["encoder"][..., number], axis=0)
        assert_allclose(mean, roles.kinds["encoder"].share[..., number], atol=6e-4)


def test_each_share_is_the_weight_of_the_head_on_the_pattern_in_that_text(explorer, found):
    assert found.shares["encoder"].dtype == np.float32
    assert found.shares["encoder"].shape == (len(TEXTS), 2, 3, len(NAMES))
    for number in (0, 3, 4):
        weights = weights_of(explorer, TEXTS[number])
        before = np.diagonal(weights, -1, axis1=-2, axis2=-1).mean(axis=-1)
        share = found.shares["encoder"][number, ..., NAMES.index("previous")]
        assert_allclose(share, before, atol=1e-5)
        share = found.shares["encoder"][number, ..., NAMES.index("focused")]
        assert_allclose(share, weights.max(axis=-1).mean(axis=-1), atol=1e-5)


def test_a_text_without_the_place_and_a_layer_without_the_pattern_have_no_share(found):
    shares = found.shares["encoder"]
    assert np.isnan(shares[[1, 2]]).all()  # one token, and none
    same, after = NAMES.index("same"), NAMES.index("after_same")
    assert list(np.isnan(shares[:, 1, 0, same])) == [True, True, True, True, False]
    assert np.isnan(shares[:, 0, :, after]).all()  # in the first layer no key knows the token before it
    assert not np.isnan(shares[4, 1, :, after]).any()


def test_distances_are_shares_of_all_weight_by_key_minus_query(explorer, found):
    expected, even = np.zeros((2, 3, len(DISTANCES))), np.zeros(len(DISTANCES))
    for number in (0, 3, 4):
        weights = weights_of(explorer, TEXTS[number])
        length = weights.shape[-1]
        for query in range(length):
            for key in range(length):
                expected[..., bin_of(key - query)] += weights[..., query, key]
                even[bin_of(key - query)] += 1 / length
    assert_allclose(found.distances["encoder"], expected / expected.sum(-1, keepdims=True), atol=1e-5)
    assert_allclose(found.even_distances["encoder"], even / even.sum(), atol=1e-5)


def test_every_distance_falls_into_the_bin_that_names_it():
    size = 41
    for query, key in ((20, 20), (20, 19), (20, 22), (20, 16), (20, 15), (20, 4), (20, 3), (20, 37), (0, 40)):
        weights = np.zeros((1, 1, size))
        weights[0, 0, key] = 1
        counted = distance_histogram(weights, np.array([query]))
        assert list(np.flatnonzero(counted[0])) == [bin_of(key - query)]
        assert counted.sum() == 1


def test_entropies_are_shares_of_queries_by_their_entropy_relative_to_uniform(explorer, found):
    expected = np.zeros((2, 3, ENTROPY_BINS))
    for number in (0, 3, 4):
        weights = weights_of(explorer, TEXTS[number]).astype(np.float64)
        relative = -(weights * np.log(weights)).sum(-1) / np.log(weights.shape[-1])
        for layer, head, query in np.ndindex(relative.shape):
            expected[layer, head, int(10 * relative[layer, head, query])] += 1
    assert_allclose(found.entropies["encoder"], expected / expected.sum(-1, keepdims=True), atol=1e-6)


def test_a_row_on_one_key_is_in_the_first_bin_and_a_uniform_row_in_the_last():
    weights = np.array([[[0, 1, 0, 0], [0.25] * 4, [0.5, 0.5, 0, 0], [1, 0, 0, 0]]])
    counted = entropy_histogram(weights, np.array([4, 4, 4, 1]))  # the last row has no choice
    assert list(counted[0]) == [1, 0, 0, 0, 0, 1, 0, 0, 0, 1]


def test_queries_without_a_choice_are_left_out_of_the_distances(writer):
    survey = tv.head_survey(writer, ["a film"])
    weights = np.stack([block.self_attention.weights for block in writer.trace("a film").decoder])
    expected = weights[..., 1:, :].sum(axis=(-1, -2))
    at_itself = np.diagonal(weights, axis1=-2, axis2=-1)[..., 1:].sum(-1) / expected
    assert_allclose(survey.distances["decoder"][..., bin_of(0)], at_itself, atol=1e-5)


def unmasked(small_config, tokenizer, **changes):
    config = small_config.replace(mask_padding=False, **changes)
    return Explorer(with_random_parameters(config), tokenizer, name="unmasked")


@pytest.mark.parametrize("kind", ["encoder", "unmasked", "writer"])
def test_a_text_in_a_batch_is_measured_as_it_is_alone(kind, explorer, writer, small_config, reviews):
    model = {"encoder": explorer, "writer": writer}.get(kind) or unmasked(small_config, explorer.tokenizer)
    texts = [*reviews, "a film", "", "good " * 40]
    together = tv.head_survey(model, texts)
    for number, text in enumerate(texts):
        if text:
            alone = tv.head_survey(model, [text])
            for name, shares in together.shares.items():
                assert_allclose(shares[number], alone.shares[name][0], atol=2e-5)
    assert [*together.cut] == [*[False] * 8, True]


def test_pairs_in_a_batch_are_measured_as_they_are_alone(translator):
    together = tv.head_survey(translator, PAIRS)
    assert {kind: shares.shape for kind, shares in together.shares.items()} == {
        "encoder": (3, 2, 3, 11),
        "decoder": (3, 3, 3, 11),
        "cross": (3, 3, 3, 7),
    }
    assert set(together.distances) == set(together.even_distances) == {"encoder", "decoder"}
    assert set(together.entropies) == {"encoder", "decoder", "cross"}
    for number, pair in enumerate(PAIRS):
        trace = translator.trace(pair[0], target=pair[1])
        for kind, each in trace.kinds().items():
            weights = np.stack([layer.weights for layer in each.layers])
            rows = np.flatnonzero(np.broadcast_to(each.mask_of(0), weights.shape[1:])[0].sum(-1) > 1)
            largest = weights[..., rows, :].max(-1).mean(-1)
            place = MEASURES[kind].index("focused")
            assert_allclose(together.shares[kind][number, ..., place], largest, atol=2e-5)


def test_the_texts_keep_their_order_and_progress_counts_every_one(explorer):
    seen = []
    survey = tv.head_survey(explorer, TEXTS, progress=seen.append)
    assert survey.texts == tuple(TEXTS)
    assert seen == [1, 2, 3, 4, 5]
    with pytest.raises(ValueError, match="None of the texts has two tokens"):
        tv.head_survey(explorer, ["", "film"])


def made(shares, texts=None, held=1.0):
    """Return a survey of one head that gives "previous" these shares."""
    column, count = NAMES.index("previous"), len(shares)
    array = np.full((count, 1, 1, len(NAMES)), np.nan, np.float32)
    array[:, 0, 0, column] = shares
    mean = np.zeros((1, 1, len(NAMES)))
    mean[..., column] = 0.9
    texts = count if texts is None else texts
    counts = np.full(len(NAMES), texts)
    no_words = np.empty((1, 1, 0))
    measured = mean, mean, mean / 9, held * (mean > 0), np.ones(len(NAMES)), counts, no_words, no_words
    numbers = KindRoles(NAMES, *measured)
    roles = HeadRoles(max(texts, 1), {"encoder": numbers})
    named = tuple(f"text {number}" for number in range(count))
    return HeadSurvey(roles, named, np.zeros(count, bool), {"encoder": array}, {}, {}, {})


def test_the_top_texts_are_those_with_the_most_weight_and_equal_ones_keep_their_order():
    survey = made([0.5, np.nan, 0.9, 0.5, 0.1, 0.9])
    assert survey.top_texts("encoder", 0, 0, "previous") == [2, 5, 0, 3, 4]
    assert survey.top_texts("encoder", 0, 0, "previous", count=2) == [2, 5]
    assert survey.top_texts("encoder", 0, 0, "same") == []
    assert made([0.5, 0.2] * 20).top_texts("encoder", 0, 0, "previous", count=20) == [*range(0, 40, 2)]


def test_random_texts_are_the_same_for_the_same_seed_and_leave_out_texts_without_a_place():
    survey = made([0.1, np.nan, *np.linspace(0, 1, 30), np.nan])
    chosen = survey.random_texts(seed=3)
    assert chosen == survey.random_texts(seed=3) == sorted(set(chosen))
    assert len(chosen) == 8
    assert survey.random_texts(seed=4) != chosen
    assert survey.random_texts(count=99) == [0, *range(2, 32)]


@pytest.mark.parametrize(("texts", "name"), [(FEWEST_TEXTS - 1, None), (FEWEST_TEXTS, "previous")])
def test_a_usual_role_is_stated_from_a_least_number_of_texts(texts, name):
    role = made([0.9] * FEWEST_TEXTS, texts).usual("encoder", 0, 0)
    assert (role and role.name) == name


def test_the_frame_has_one_row_for_each_text_and_head(found):
    frame = found.to_frame()
    assert list(frame.columns) == ["text", "kind", "layer", "head", *NAMES]
    assert len(frame) == len(TEXTS) * 2 * 3
    [row] = frame[(frame["text"] == 3) & (frame["layer"] == 1) & (frame["head"] == 2)].to_dict("records")
    assert_array_equal([row[name] for name in NAMES], found.shares["encoder"][3, 1, 2])


def test_roles_and_histograms_are_written_as_json_with_their_bins(found):
    content = json.loads(found.to_json())
    assert HeadRoles.from_json(json.dumps(content["roles"])) == found.roles
    assert content["distance_bins"][0] == [None, -17]
    assert content["distance_bins"][-1] == [17, None]
    assert content["entropy_bins"] == ENTROPY_BINS
    for name in ("distances", "even_distances", "entropies"):
        assert_allclose(content[name]["encoder"], getattr(found, name)["encoder"], atol=6e-4)


def test_a_survey_cannot_be_changed(found):
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.texts = ()
