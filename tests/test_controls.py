"""Uniform attention and no heads, against changes made by other means."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from small_models import with_random_parameters

from transformer_viz.explorer.controls import HEADLESS, UNIFORM, with_intervention
from transformer_viz.explorer.explorer import Explorer
from transformer_viz.trace.interventions import all_heads

TEXT, TARGET = "A lovely film, not good.", "one two three two"


@pytest.fixture(params=["explorer", "translator", "writer", "biased"])
def chosen(request, translator):
    """Return an explorer of each architecture, and one with a position bias, and its traced text."""
    if request.param == "biased":
        model = with_random_parameters(translator.config.replace(positions="relative"))
        explorer = Explorer(model, translator.tokenizer, target_tokenizer=translator.target_tokenizer)
        return explorer, {"target": TARGET}
    explorer = request.getfixturevalue(request.param)
    return explorer, {"target": TARGET} if request.param == "translator" else {}


def logits(chosen, intervention):
    explorer, target = chosen
    trace = explorer.trace(TEXT, **target)
    both = {"token_ids": trace.token_ids, "target_ids": trace.target_ids}
    inputs = {name: ids[None] for name, ids in both.items() if len(ids)}
    return np.asarray(with_intervention(explorer.model, intervention)(inputs))[0]


@pytest.mark.quick("explorer", "translator")
def test_uniform_attention_is_the_uniform_pattern_of_every_head(chosen):
    explorer, target = chosen
    patterns = dict.fromkeys(all_heads(explorer.config), "uniform")
    assert_allclose(
        logits(chosen, UNIFORM), explorer.trace(TEXT, patterns=patterns, **target).logits, atol=1e-5
    )
    assert np.abs(logits(chosen, UNIFORM) - explorer.trace(TEXT, **target).logits).max() > 1e-2


def test_no_heads_are_all_heads_ablated(chosen):
    explorer, target = chosen
    ablated = explorer.trace(TEXT, ablate=all_heads(explorer.config), **target).logits
    assert_allclose(logits(chosen, HEADLESS), ablated, atol=1e-5)
    assert np.abs(ablated - explorer.trace(TEXT, **target).logits).max() > 1e-2


def test_a_score_gate_of_1_changes_nothing_at_all(chosen):
    neutral = UNIFORM._replace(score_gate=1.0)
    assert_array_equal(logits(chosen, neutral), logits(chosen, UNIFORM._replace(score_gate=None)))
