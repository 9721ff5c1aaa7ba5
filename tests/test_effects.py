import numpy as np
import pytest
from numpy.testing import assert_allclose
from small_models import REVIEWS, with_random_parameters

from transformer_viz.network.config import PAD_ID
from transformer_viz.network.presets import PRESETS
from transformer_viz.questions.effects import changed
from transformer_viz.questions.effects.answer import Answer, Certainty
from transformer_viz.questions.effects.heads import certainties, head_effects, joint_effect
from transformer_viz.questions.effects.result import ablations
from transformer_viz.trace.interventions import ATTENTION_KINDS, ActivationPatch

TEXT, TARGET = "A lovely film, not good.", "one two three two"


def log_odds(probs):
    return np.log(probs) - np.log1p(-probs)


def with_context(field, context):
    return lambda block: block._replace(**{field: getattr(block, field)._replace(context=context)})


@pytest.fixture(scope="module", params=["attention-only", "position-attention"])
def bare(request):
    """One layer of attention alone: no feed-forward, no residual connection, one sigmoid."""
    from transformer_viz.explorer.explorer import Explorer
    from transformer_viz.text.tokenizer import Tokenizer

    config = PRESETS[request.param].replace(vocab_size=43, d_model=14, num_heads=7, max_len=23)
    return Explorer(with_random_parameters(config), Tokenizer.train(REVIEWS, 43))


def test_the_effect_on_a_class_is_how_much_less_probable_it_is_without_the_head(explorer):
    found = head_effects(explorer, TEXT)
    whole = explorer.trace(TEXT).probs.astype("f8")
    assert list(found) == ["encoder"]
    assert found["encoder"].shape == found.log_odds["encoder"].shape == (2, explorer.config.num_heads)
    assert found["encoder"].dtype == np.float32
    without = explorer.trace(TEXT, ablate=[(1, 2)]).probs.astype("f8")
    answer = whole.argmax()
    assert_allclose(found["encoder"][1, 2], whole[answer] - without[answer], atol=1e-7)
    assert np.abs(found["encoder"]).max() > 1e-4
    assert_allclose(
        found.log_odds["encoder"][1, 2], log_odds(whole[answer]) - log_odds(without[answer]), atol=1e-5
    )
    assert_allclose(found.answer, [whole[answer], log_odds(whole[answer])], atol=1e-6)


def test_of_a_translator_it_is_the_mean_over_what_it_would_write(translator):
    found = head_effects(translator, TEXT, target=TARGET)
    assert len(found) == 3
    assert list(found) == ["encoder", "decoder", "cross"]
    whole = translator.trace(TEXT, target=TARGET).probs.astype("f8")
    without = translator.trace(TEXT, target=TARGET, ablate=[("cross", 0, 1)]).probs.astype("f8")
    at = np.arange(len(whole)), whole.argmax(axis=-1)
    assert_allclose(found["cross"][0, 1], (whole[at] - without[at]).mean(), atol=1e-6)
    drops = log_odds(whole[at]) - log_odds(without[at])
    assert_allclose(found.log_odds["cross"][0, 1], drops.mean(), rtol=1e-4, atol=5e-7)


def test_it_is_found_under_the_changes_that_are_made_besides(writer):
    found = head_effects(writer, "one two three", positions="none")
    whole = writer.trace("one two three", positions="none").probs
    without = writer.trace("one two three", positions="none", ablate=[(0, 0)]).probs
    rows, answer = np.arange(len(whole)), whole.argmax(axis=-1)
    assert_allclose(found["decoder"][0, 0], (whole - without)[rows, answer].mean(), atol=1e-6)


def test_in_bare_attention_the_log_odds_of_single_heads_add_up_to_those_of_all_together(bare):
    """The logit is linear in the contexts: z = c + sum over heads, by hand from one trace."""
    heads, trace = [(0, 1), (0, 4), (0, 6)], bare.trace(TEXT)
    pooled = trace.encoder[0].attention.context.mean(axis=1)  # (head, value_dim)
    kernel = bare.model.parameters()["classifier/kernel"].numpy().reshape(7, 2)
    sign = 1 if trace.probs[1] > trace.probs[0] else -1
    by_hand = sign * (pooled * kernel).sum(axis=1)
    effects, found = head_effects(bare, TEXT), joint_effect(bare, TEXT, heads)
    assert_allclose(effects.log_odds["encoder"][0], by_hand, atol=1e-5)
    assert_allclose(found.together.log_odds, by_hand[[1, 4, 6]].sum(), atol=1e-5)
    assert_allclose(found.alone.log_odds, found.together.log_odds, atol=1e-5)
    assert_allclose(effects.together.log_odds, by_hand.sum(), atol=1e-5)
    assert_allclose(effects.alone.log_odds, effects.together.log_odds, atol=1e-5)
    assert abs(effects.alone.probability - effects.together.probability) > 1e-3


def test_heads_together_are_ablated_in_one_run(explorer):
    heads = [(0, 1), (1, 2)]
    whole, without = explorer.trace(TEXT).probs, explorer.trace(TEXT, ablate=heads).probs
    found, answer = joint_effect(explorer, TEXT, [*heads, (0, 1)]), whole.argmax()
    assert_allclose(found.together.probability, whole[answer] - without[answer], atol=1e-6)
    single = head_effects(explorer, TEXT)["encoder"]
    assert_allclose(found.alone.probability, single[0, 1] + single[1, 2], atol=1e-6)
    assert joint_effect(explorer, TEXT, []) == (Certainty(0.0, 0.0), Certainty(0.0, 0.0))


def test_a_head_set_to_its_mean_over_this_text_is_patched_with_that_mean(translator):
    """`reference="own"` equals the mean of the traced contexts, computed here and given as a patch."""
    trace = translator.trace(TEXT, target=TARGET)
    for kind in ("encoder", "cross"):
        stack, field = ATTENTION_KINDS[kind]
        attention = getattr(getattr(trace, stack)[1], field)
        context = np.array(attention.context)
        context[2] = context[2].mean(axis=0)
        blocks = tuple(map(with_context(field, context), getattr(trace, stack)))
        other = trace.values._replace(**{stack: blocks})
        source = type(trace)(**{**vars(trace), "values": other})
        patch = ActivationPatch(source, f"{kind}.1.context.2")
        patched = translator.trace(TEXT, target=TARGET, patches=[patch]).probs
        found = head_effects(translator, TEXT, target=TARGET, reference="own")
        at = np.arange(len(trace.probs)), trace.probs.argmax(axis=-1)
        assert_allclose(found[kind][1, 2], (trace.probs[at] - patched[at]).mean(), atol=1e-6)
        assert abs(found[kind][1, 2] - head_effects(translator, TEXT, target=TARGET)[kind][1, 2]) > 1e-4


def test_the_mean_over_this_text_is_of_the_run_in_question_and_leaves_padding_out(explorer):
    changes = {"attention_mask": "causal", "padding": 3}
    trace = explorer.trace(TEXT, **changes)
    real = trace.token_ids != PAD_ID
    assert real.sum() == len(real) - 3
    mean = trace.encoder[0].attention.context[1][real].mean(axis=0)
    ablated = explorer.trace(TEXT, ablate=[(0, 1)], reference="own", **changes).encoder[0].attention
    assert_allclose(ablated.context[1], np.broadcast_to(mean, ablated.context[1].shape), atol=1e-6)


def test_the_mean_over_this_text_changes_nothing_where_only_the_mean_is_pooled(bare):
    found = head_effects(bare, TEXT, reference="own")
    assert_allclose(found.log_odds["encoder"], 0, atol=1e-5)
    others = head_effects(bare, TEXT, reference=["Funny, warm and beautifully shot."])
    assert np.abs(others.log_odds["encoder"]).max() > 0.01


def test_log_odds_are_exact_where_the_probability_is_1():
    found = Answer((0,), (1,)).certainty(np.array([[0.0, 60.0, 1.0]]), 1.0)
    assert found.probability == 1
    assert_allclose(found.log_odds, 60 - np.logaddexp(0, 1), rtol=1e-14)


@pytest.mark.parametrize(("fixture", "padding"), [("writer", "padding"), ("translator", "target_padding")])
def test_padding_behind_the_text_counts_as_no_answer(request, fixture, padding):
    explorer = request.getfixturevalue(fixture)
    target = {"target": TARGET} if fixture == "translator" else {}
    alone, padded = (head_effects(explorer, TEXT, **target, **each) for each in ({}, {padding: 6}))
    for kind, effects in alone.log_odds.items():
        assert_allclose(padded.log_odds[kind], effects, atol=1e-5)
    heads = [("decoder", 0, 0), ("decoder", 1, 2)]
    together = [joint_effect(explorer, TEXT, heads, **target, **each) for each in ({}, {padding: 6})]
    assert_allclose(together[1].together, together[0].together, atol=1e-5)


def test_nothing_is_compiled_anew_for_a_head(explorer):
    head_effects(explorer, TEXT, reference="own")
    compiled = explorer.num_compilations
    for text in (TEXT, "Another film, much longer than the first, and not a good one at all."):
        head_effects(explorer, text)
        head_effects(explorer, text, reference="own")
    assert explorer.num_compilations == compiled


@pytest.mark.quick("changes0-1", "changes1-3000", "changes2-1")
@pytest.mark.parametrize("most", [1, 3_000])
@pytest.mark.parametrize("changes", [{}, {"reference": "own"}, {"reference": ["Funny, warm."], "padding": 2}])
def test_passes_of_a_batch_are_those_of_one_head_each(
    explorer, translator, writer, monkeypatch, most, changes
):
    for model, target in ((explorer, {}), (translator, {"target": TARGET}), (writer, {})):
        together = head_effects(model, TEXT, **target, **changes)
        with monkeypatch.context() as patch:
            patch.setattr(changed, "MOST_NUMBERS", most)
            alone = head_effects(model, TEXT, **target, **changes)
        for kind, effects in together.items():
            assert_allclose(effects, alone[kind], atol=1e-6)
            assert changes or np.abs(effects).max() > 1e-4


def test_heads_to_leave_out_are_no_change_besides(explorer):
    with pytest.raises(ValueError, match="ablate"):
        head_effects(explorer, TEXT, ablate=[(0, 0)])


def test_a_time_limit_leaves_out_whole_batches(translator, monkeypatch):
    groups, request = ablations(translator.config), translator.request(TEXT, target=TARGET)
    assert len([*certainties(translator, request, groups, seconds=0)]) == len(groups)  # they fit into one
    monkeypatch.setattr(changed, "MOST_NUMBERS", 1)
    assert len([*certainties(translator, request, groups, seconds=0)]) == 1


def test_a_reference_is_a_list_of_texts(explorer):
    with pytest.raises(ValueError, match="`reference` must be a list of texts, or 'own'"):
        head_effects(explorer, TEXT, reference="A film")


def test_certainties_come_one_by_one_in_the_order_of_the_groups(translator):
    groups = ablations(translator.config)
    assert len(groups) == 1 + 3 * (2 + 3 + 3) + 1
    found = list(certainties(translator, translator.request(TEXT, target=TARGET), groups[5:9]))
    whole = head_effects(translator, TEXT, target=TARGET)
    drops = [whole.answer.minus(each).probability for each in found]
    assert_allclose(drops, [whole[kind][n, h] for ((kind, n, h),) in groups[5:9]], atol=1e-7)
