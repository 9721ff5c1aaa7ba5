import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from transformer_viz.explorer import Explorer

TEXT = "A lovely film, not good."


def test_a_trace_has_no_batch_axis(explorer):
    trace = explorer.trace(TEXT)
    assert trace.encoder[0].attention.weights.shape == (3, 7, 7)
    assert trace.encoder[1].ffn.hidden.shape == (7, 11)
    assert trace.values.attention_mask.shape == (1, 1, 7)
    assert trace.logits.shape == trace.probs.shape == (3,)


def test_compiled_trace_equals_eager(explorer, small_model):
    trace = explorer.trace(TEXT)
    eager = small_model.trace(trace.token_ids[None])
    assert_allclose(trace.logits, eager.logits[0], atol=1e-5)
    for ours, theirs in zip(trace.encoder, eager.encoder, strict=True):
        assert_allclose(ours.attention.weights, theirs.attention.weights[0], atol=1e-6)


def test_any_text_and_any_intervention_share_one_compilation(explorer, reviews):
    for text in (*reviews, "film", "good " * 40):
        explorer.trace(text)
    explorer.trace(TEXT, ablate=[(1, 2)], cut=[(0, 1, 2, 3)], positions="none")
    explorer.trace(TEXT, attention_mask=np.tril(np.ones((7, 7), bool)), positions="sinusoidal")
    assert explorer.num_compilations == 1


def test_probs_are_the_softmax_of_the_logits(explorer):
    trace = explorer.trace(TEXT)
    assert_allclose(trace.probs, np.exp(trace.logits) / np.exp(trace.logits).sum(), rtol=1e-5)


def test_a_sigmoid_gives_both_labels_a_probability(explorer):
    from transformer_viz.model import Transformer

    config = explorer.config.replace(labels=("bad", "good"), output="sigmoid")
    trace = Explorer(Transformer(config), explorer.tokenizer).trace(TEXT)
    assert trace.logits.shape == (1,)
    positive = 1 / (1 + np.exp(-trace.logits[0]))
    assert_allclose(trace.probs, [1 - positive, positive], rtol=1e-5)  # float32 on both sides


def test_predict_agrees_with_trace_row_by_row(explorer, reviews):
    frame = explorer.predict(reviews, batch_size=4)
    assert list(frame) == ["text", "label", "prob_bad", "prob_fair", "prob_good"]
    assert list(frame.text) == reviews
    for row, text in zip(frame.to_dict("records"), reviews, strict=True):
        trace = explorer.trace(text)
        assert_allclose([row[f"prob_{label}"] for label in trace.labels], trace.probs, atol=1e-5)
        assert row["label"] == trace.labels[trace.probs.argmax()]


def test_predict_of_nothing_is_an_empty_table(explorer):
    assert list(explorer.predict([])) == ["text", "label", "prob_bad", "prob_fair", "prob_good"]


def test_predict_answers_for_a_text_without_words(explorer):
    assert np.isfinite(explorer.predict([""]).prob_good[0])


def test_an_ablated_head_has_no_context_and_changes_the_prediction(explorer):
    trace, ablated = explorer.trace(TEXT), explorer.trace(TEXT, ablate=[(1, 2)])
    assert not ablated.encoder[1].attention.context[2].any()
    assert_array_equal(ablated.encoder[0].attention.weights, trace.encoder[0].attention.weights)
    assert np.abs(ablated.probs - trace.probs).max() > 1e-3


def test_a_cut_edge_is_shared_out_among_the_rest(explorer):
    weights = explorer.trace(TEXT, cut=[(0, 1, 2, 3)]).encoder[0].attention.weights
    assert weights[1, 2, 3] == 0
    assert_allclose(weights.sum(axis=-1), 1, atol=1e-6)


def test_a_mask_of_ones_own_replaces_the_models(explorer):
    causal = np.tril(np.ones((7, 7), bool))
    trace = explorer.trace(TEXT, attention_mask=causal)
    assert not trace.encoder[1].attention.weights[:, ~causal].any()


def test_taking_the_positions_away_makes_order_invisible(explorer):
    trace = explorer.trace("good lovely film", positions="none")
    shuffled = explorer.trace("film good lovely", positions="none")
    assert_allclose(trace.probs, shuffled.probs, atol=1e-5)


def test_a_long_text_is_cut_and_says_so(explorer):
    trace = explorer.trace("good " * 40)
    assert (len(trace.tokens), trace.num_dropped, trace.cut_at) == (23, 17, 23)


@settings(deadline=None, max_examples=60)
@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_any_text_gives_a_trace_or_a_sentence(explorer, text):
    try:
        trace = explorer.trace(text)
    except ValueError as error:
        assert str(error) == "The text has no words. Type at least one."  # noqa: PT017
    else:
        assert np.isfinite(trace.probs).all()
        assert len(trace.tokens) == len(trace.words) == trace.encoder[0].attention.weights.shape[1]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"ablate": [(2, 0)]},
            "There is no head (2, 0): it must be (layer, head) with layer 0 to 1, head 0 to 2.",
        ),
        (
            {"ablate": [(0, -1)]},
            "There is no head (0, -1): it must be (layer, head) with layer 0 to 1, head 0 to 2.",
        ),
        (
            {"cut": [(0, 1, 2)]},
            "There is no edge (0, 1, 2): it must be (layer, head, query, key) with layer 0 to 1, head 0 to 2"
            ", query 0 to 6, key 0 to 6.",
        ),
        (
            {"attention_mask": np.ones((7, 6), bool)},
            "`attention_mask` must be bool and broadcast to (head, query, key) = (3, 7, 7). Received bool of "
            "shape (7, 6).",
        ),
        (
            {"attention_mask": np.ones((7, 7))},
            "`attention_mask` must be bool and broadcast to (head, query, key) = (3, 7, 7). Received float64 "
            "of shape (7, 7).",
        ),
        (
            {"positions": "rope"},
            "`positions` must be one of none, one-hot, sinusoidal, sinusoidal-halves. Received: 'rope'.",
        ),
        (
            {"positions": "one-hot"},
            "`positions` = 'one-hot' needs `d_model` >= `max_len`: 14 is less than 23.",
        ),
    ],
)
def test_error_names_the_argument_and_the_value(explorer, values, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011  the whole message is compared
        explorer.trace(TEXT, **values)
    assert str(error.value) == message
