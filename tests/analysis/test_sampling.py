"""The distribution of the next token, against computations of one token at a time."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from transformer_viz.explorer.sampling import distribution, possible
from transformer_viz.network.config import PAD_ID, START_ID

SETTINGS = [
    (1.0, None, 1.0),
    (0.4, None, 1.0),
    (1.7, 5, 1.0),
    (1.0, None, 0.6),
    (0.8, 7, 0.85),
    (2.0, 3, 0.05),
]


def naive(scores, temperature, top_k, top_p):
    """Return the same, token by token, with Python's numbers."""
    powers = {token: math.exp(score / temperature) for token, score in enumerate(scores)}
    ranked = sorted(powers, key=lambda token: (-scores[token], token))[:top_k]
    total, kept, reached = sum(powers[token] for token in ranked), [], 0.0
    for token in ranked:
        kept.append(token)
        reached += powers[token] / total
        if reached >= top_p:
            break
    total = sum(powers[token] for token in kept)
    return [powers[token] / total if token in kept else 0.0 for token in range(len(scores))]


@pytest.mark.parametrize(("temperature", "top_k", "top_p"), SETTINGS)
def test_it_is_what_is_computed_token_by_token(temperature, top_k, top_p):
    scores = np.random.default_rng(5).normal(scale=2, size=(3, 17))
    found = distribution(scores, temperature=temperature, top_k=top_k, top_p=top_p)
    expected = [naive(row, temperature, top_k, top_p) for row in scores.tolist()]
    assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize(("temperature", "top_k", "top_p"), SETTINGS)
def test_it_sums_to_one_and_keeps_the_order_of_the_tokens(temperature, top_k, top_p):
    scores = np.random.default_rng(6).normal(size=29)
    found = distribution(scores, temperature=temperature, top_k=top_k, top_p=top_p)
    assert_allclose(found.sum(), 1)
    assert (np.diff(found[np.argsort(-scores)]) <= 0).all()
    assert (found > 0).sum() <= (top_k or 29)
    assert_allclose(distribution(scores + 7, temperature=temperature, top_k=top_k, top_p=top_p), found)


def test_without_settings_it_is_the_models_own():
    probs = np.random.default_rng(7).dirichlet(np.ones(11))
    assert_allclose(distribution(np.log(probs)), probs)


@pytest.mark.parametrize("settings", [{"temperature": 0}, {"top_k": 1}, {"top_p": 1e-9}])
def test_each_setting_ends_at_the_likeliest_token(settings):
    scores = np.random.default_rng(8).normal(size=13)
    assert_array_equal(distribution(scores, **settings), np.arange(13) == scores.argmax())


def test_the_token_that_crosses_p_is_kept():
    log_probs = np.log([0.5, 0.3, 0.15, 0.05])
    assert_allclose(distribution(log_probs, top_p=0.5 - 1e-9), [1, 0, 0, 0])
    assert_allclose(distribution(log_probs, top_p=0.79), [0.625, 0.375, 0, 0])
    assert_allclose(distribution(log_probs, top_p=0.81), np.array([0.5, 0.3, 0.15, 0]) / 0.95)


def test_p_is_reached_after_temperature_and_k():
    """At temperature 0.5 the shares are 25 : 9 : 2.25, of the first two 0.735 and 0.265."""
    log_probs = np.log([0.5, 0.3, 0.15, 0.05])
    found = distribution(log_probs, temperature=0.5, top_k=2, top_p=0.72)
    assert_allclose(found, [1, 0, 0, 0])  # of all four it would take two


def test_of_equally_likely_tokens_those_with_smaller_ids_are_kept():
    assert_array_equal(distribution(np.zeros(5), top_k=2), [0.5, 0.5, 0, 0, 0])
    assert_array_equal(distribution(np.zeros(4), temperature=0), [1, 0, 0, 0])


def test_an_impossible_token_stays_impossible_at_any_temperature():
    scores = possible(np.zeros(6, np.float32))
    assert_array_equal(np.flatnonzero(np.isinf(scores)), [PAD_ID, START_ID])
    assert_allclose(distribution(scores, temperature=100), np.where(np.isinf(scores), 0, 0.25))


WRONG = {"temperature": (-0.1, math.inf, math.nan), "top_k": (0,), "top_p": (0, 1.01, math.nan)}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in WRONG for value in WRONG[name]])
def test_a_setting_out_of_range_is_named(name, value):
    with pytest.raises(ValueError, match=rf"`{name}` must be"):
        distribution(np.zeros(3), **{name: value})
