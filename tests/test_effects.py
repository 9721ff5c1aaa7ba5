import numpy as np
import pytest
from numpy.testing import assert_allclose

from transformer_viz.inspection.effects import effects_of, head_effects
from transformer_viz.values.interventions import all_heads

TEXT, TARGET = "A lovely film, not good.", "one two three two"


def test_the_effect_on_a_class_is_how_much_less_probable_it_is_without_the_head(explorer):
    found = head_effects(explorer, TEXT)
    whole = explorer.trace(TEXT).probs
    assert list(found) == ["encoder"]
    assert found["encoder"].shape == (2, explorer.config.num_heads)
    without = explorer.trace(TEXT, ablate=[(1, 2)]).probs
    answer = whole.argmax()
    assert_allclose(found["encoder"][1, 2], whole[answer] - without[answer], atol=1e-7)
    assert np.abs(found["encoder"]).max() > 1e-4


def test_of_a_translator_it_is_the_mean_over_what_it_would_write(translator):
    found = head_effects(translator, TEXT, target=TARGET)
    assert list(found) == ["encoder", "decoder", "cross"]
    whole = translator.trace(TEXT, target=TARGET).probs
    without = translator.trace(TEXT, target=TARGET, ablate=[("cross", 0, 1)]).probs
    rows = np.arange(len(whole))
    drops = whole[rows, whole.argmax(axis=-1)] - without[rows, whole.argmax(axis=-1)]
    assert_allclose(found["cross"][0, 1], drops.mean(), atol=1e-6)


def test_it_is_found_under_the_changes_that_are_made_besides(writer):
    found = head_effects(writer, "one two three", positions="none")
    whole = writer.trace("one two three", positions="none").probs
    without = writer.trace("one two three", positions="none", ablate=[(0, 0)]).probs
    rows, answer = np.arange(len(whole)), whole.argmax(axis=-1)
    assert_allclose(found["decoder"][0, 0], (whole - without)[rows, answer].mean(), atol=1e-6)


def test_nothing_is_compiled_anew_for_a_head(explorer):
    head_effects(explorer, TEXT)
    before = explorer.num_compilations
    head_effects(explorer, "Another film, much longer than the first, and not a good one at all.")
    assert explorer.num_compilations == before


def test_heads_to_leave_out_are_no_change_besides(explorer):
    with pytest.raises(ValueError, match="ablate"):
        head_effects(explorer, TEXT, ablate=[(0, 0)])


def test_effects_come_one_by_one_in_the_order_of_the_heads(translator):
    heads = all_heads(translator.config)
    assert len(heads) == 3 * (2 + 3 + 3)
    found = list(effects_of(translator, translator.request(TEXT, target=TARGET), heads[5:9]))
    whole = head_effects(translator, TEXT, target=TARGET)
    assert [head for head, _ in found] == heads[5:9]
    assert_allclose([effect for _, effect in found], [whole[kind][n, h] for kind, n, h in heads[5:9]])
