"""The sentences on effects of heads."""

from pathlib import Path

import numpy as np
import pytest
from shelf import shelved

from transformer_viz.language import Words
from transformer_viz.pictures.effects import effect_text, effect_texts, signed, together_text
from transformer_viz.pictures.lens import payload_of
from transformer_viz.questions.effects.answer import Certainty
from transformer_viz.questions.effects.heads import head_effects
from transformer_viz.questions.effects.result import HeadEffects

SHELF = Path(__file__).parents[2] / "models"
ENGLISH, TEXT = Words("en"), "I could not stop smiling, what a lovely film."


@pytest.fixture(scope="module")
def found():
    explorer = shelved("imdb-sentiment")
    return explorer, explorer.trace(TEXT), head_effects(explorer, TEXT)


def text(found, before, drop, words=ENGLISH, heads="this head"):
    return effect_text(words, found[1], heads, Certainty(*before), Certainty(*drop))


def test_a_fall_and_a_rise_are_told_with_both_changes(found):
    assert text(found, (0.971, 3.51), (0.021, 0.5651)) == (
        "With this head set to zero, the probability of “positive” falls from 97.1% to 95.0% "
        "(−2.1 points, −0.57 log-odds)."
    )
    assert text(found, (0.5, 0.0), (-0.25, -1.0986)) == (
        "With this head set to zero, the probability of “positive” rises from 50.0% to 75.0% "
        "(+25.0 points, +1.1 log-odds)."
    )


def test_no_effect_is_told_as_zero_points(found):
    assert text(found, (0.9999, 9.2), (0.0004, 1.609)) == (
        "With this head set to zero, the probability of “positive” stays at 100.0% (−1.6 log-odds)."
    )
    assert text(found, (0.9999, 9.2), (0.0, 1e-9)) == (
        "With this head set to zero, the probability of “positive” does not change."
    )
    assert text(found, (0.971, 3.51), (0.021, 0.5651), Words("zh"), "这个头") == (
        "这个头置零后，“positive”的概率从 97.1% 降到 95.0%（−2.1 个百分点，对数几率 −0.57）。"
    )


def test_small_changes_keep_two_digits():
    changes = {-12.34: "−12.3", 1.0: "+1.0", -0.5: "−0.50", 0.0612: "+0.061", -4.127e-5: "−0.000041"}
    assert {change: signed(change) for change in changes} == changes


def test_each_caption_tells_what_a_run_without_the_head_gives(found):
    explorer, trace, effects = found
    said = effect_texts(ENGLISH, trace, effects, "encoder")
    payload = payload_of(trace, ENGLISH, (), effects)
    assert np.shape(said) == (4, 8)
    best = trace.probs.argmax()
    for head, sentence in enumerate(said[2]):
        after = explorer.trace(TEXT, ablate=[(2, head)]).probs[best]
        assert f"{trace.probs[best]:.1%}" in sentence
        assert f"{after:.1%}" in sentence
        assert sentence in payload.decode("utf-8", "replace")
    averaged = payload_of(trace, ENGLISH, ("mean",), effects).decode("utf-8", "replace")
    assert "set to zero" not in averaged


def test_the_effect_of_all_heads_stands_beside_the_largest_of_a_single_one(found):
    explorer, trace, effects = found
    heads = [(layer, head) for layer in range(4) for head in range(8)]
    after = explorer.trace(TEXT, ablate=heads).probs[trace.probs.argmax()]
    said = together_text(ENGLISH, trace, effects)
    assert said.startswith(f"Without any head, the probability of “positive” is {after:.1%} instead of ")
    points, log_odds = (float(np.abs(side["encoder"]).max()) for side in (effects, effects.log_odds))
    little = "it hardly changes (at most" if points < 0.01 else "it changes by at most"
    numbers = f"{signed(100 * points)} points, {signed(log_odds)} log-odds".replace("+", "")
    assert f"{little} {numbers}" in said


def of_all(trace, answer, together, single, words=ENGLISH):
    """Return the sentence on all heads, of two heads of which one does something: (probability, log-odds)."""
    sides = ({"encoder": np.array([[each, 0.0]])} for each in single)
    return together_text(words, trace, HeadEffects(Certainty(*answer), *sides, Certainty(*together)))


def test_an_answer_that_only_all_heads_together_carry_is_said_to_become_a_coin_toss(found):
    saturated = (0.999, 6.9), (0.484, 6.8), (-0.003, -1.2)
    assert of_all(found[1], *saturated) == (
        "Without any head, the probability of “positive” is 51.5% instead of 99.9%, a coin toss. "
        "Without any single head, it hardly changes (at most 0.30 points, 1.2 log-odds)."
    )
    assert of_all(found[1], *saturated, Words("zh")) == (
        "关掉全部头：“positive”的概率从 99.9% 变为 51.5%，等于抛硬币。"
        "只关其中任何一个：几乎不变（最多变化 0.30 个百分点，对数几率 1.2）。"
    )


def test_the_largest_change_without_one_head_is_said(found):
    assert of_all(found[1], (0.9, 2.2), (0.3, 1.8), (0.25, 1.58)) == (
        "Without any head, the probability of “positive” is 60.0% instead of 90.0%. "
        "Without one head, it changes by at most 25.0 points, 1.6 log-odds."
    )


def test_of_predicted_tokens_it_is_the_mean_probability(translator):
    trace = translator.trace("A lovely film.", target="one two")
    effects = head_effects(translator, "A lovely film.", target="one two")
    said = effect_texts(ENGLISH, trace, effects, "cross")
    assert np.shape(said) == (3, 3)
    assert said[0][0].startswith("With this head set to zero, the mean probability of the predicted tokens ")
