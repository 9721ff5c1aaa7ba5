import gc
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from small_models import with_random_parameters, write
from test_config import valid_configs

from transformer_viz.explorer.explorer import Explorer
from transformer_viz.explorer.gradients import gradients
from transformer_viz.questions.effects.heads import head_effects
from transformer_viz.questions.evaluation.perplexity import evaluate_texts
from transformer_viz.questions.roles.measure import head_survey
from transformer_viz.store import ModelError, write_model
from transformer_viz.store.load import load
from transformer_viz.text.tokenizer import Tokenizer
from transformer_viz.trace.order import shuffled_order
from transformer_viz.trace.original_order import in_original_order
from transformer_viz.trace.request import Request
from transformer_viz.trace.trace import Trace

TEXT = "A lovely film, not good."


def test_a_model_whose_tokenizer_is_not_safe_is_refused_by_name(explorer, tmp_path):
    text = explorer.tokenizer.to_json().replace("\\\\w+(?:'", "(?:\\\\w+)+(?:'")
    assert text != explorer.tokenizer.to_json()
    parameters = {name: np.asarray(v.numpy()) for name, v in explorer.model.parameters().items()}
    place = write_model(
        "slow", config=explorer.config, tokenizer=text, card={}, parameters=parameters, folder=tmp_path
    )
    with pytest.raises(ModelError) as error:
        load(place)
    assert str(error.value).startswith(
        f"{place} cannot be used: tokenizer.json cannot be used: `pattern` of "
    )


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


def test_any_text_and_mask_share_one_compilation_and_any_intervention_another(small_model, explorer, reviews):
    explorer = Explorer(small_model, explorer.tokenizer)
    for text in (*reviews, "film", "good " * 40):
        explorer.trace(text)
    explorer.trace(TEXT, attention_mask=np.tril(np.ones((7, 7), bool)), positions="sinusoidal")
    assert explorer.num_compilations == 1
    explorer.trace(TEXT, ablate=[(1, 2)], cut=[(0, 1, 2, 3)], positions="none")
    explorer.trace("film", patterns={(0, 1): "uniform"}, scaling=False)
    explorer.trace(reviews[0], mute=[(0, 1, 2, 3)], residual=False)
    assert explorer.num_compilations == 2


def test_an_explorer_that_nobody_holds_is_freed_with_all_that_was_compiled_for_it(writer, reviews):
    model = with_random_parameters(writer.config)
    explorer = Explorer(model, writer.tokenizer)
    head_effects(explorer, TEXT)
    gradients(explorer, TEXT, output=5)
    evaluate_texts(explorer, reviews)
    head_survey(explorer, reviews)
    explorer.generate(TEXT, max_new=2)
    held = weakref.ref(explorer), weakref.ref(model)
    del explorer, model
    gc.collect()
    assert [each() for each in held] == [None, None]


def test_a_model_that_is_loaded_again_has_no_new_names_of_variables(explorer, tmp_path):
    config = explorer.config.replace(dropout=0.1, embedding_dropout=0.2)
    write(Explorer(with_random_parameters(config), explorer.tokenizer, name="again"), tmp_path)
    first, second = (load(tmp_path / "again").model for _ in range(2))
    assert len(first.variables) > len(first.weights)  # with the seeds of dropout
    assert [each.path for each in second.variables] == [each.path for each in first.variables]


def test_probs_are_the_softmax_of_the_logits(explorer):
    trace = explorer.trace(TEXT)
    assert_allclose(trace.probs, np.exp(trace.logits) / np.exp(trace.logits).sum(), rtol=1e-5)


def test_a_sigmoid_gives_both_labels_a_probability(explorer):
    from transformer_viz.network.model import Transformer

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


def test_a_row_that_may_attend_to_nothing_is_named(explorer):
    mask = np.ones((3, 7, 7), bool)
    mask[2, 4] = False
    trace = explorer.trace(TEXT, attention_mask=mask)
    assert trace.fully_masked == [("encoder", layer, "self", 2, 4) for layer in range(2)]
    assert np.isfinite(trace.logits).all()
    assert explorer.trace(TEXT).fully_masked == []


def test_taking_the_positions_away_makes_order_invisible(explorer):
    trace = explorer.trace("good lovely film", positions="none")
    shuffled = explorer.trace("film good lovely", positions="none")
    assert_allclose(trace.probs, shuffled.probs, atol=1e-5)


def test_tokens_are_read_in_the_order_that_is_given(explorer):
    trace, straight = explorer.trace("good lovely film", order=(2, 0, 1)), explorer.trace("film good lovely")
    assert trace.tokens == trace.words == ("film", "good", "lovely")
    assert trace.text == "good lovely film"
    assert_array_equal(trace.token_ids, straight.token_ids)
    assert_array_equal(trace.logits, straight.logits)
    assert np.abs(trace.logits - explorer.trace("good lovely film").logits).max() > 1e-3


def test_an_order_has_a_name(explorer, writer):
    trace = explorer.trace("good lovely film", order="reversed", padding=2)
    assert trace.tokens == ("film", "lovely", "good", "[PAD]", "[PAD]")
    assert writer.trace("good film", order="shuffled").tokens == ("[START]", "film", "good")
    with pytest.raises(ValueError, match=r"`order` must be 'reversed'"):
        explorer.trace("good film", order="sorted")


def test_without_positions_another_order_is_the_same_attention_and_with_them_it_is_not(explorer):
    order = shuffled_order(7, 1)

    def change(**positions):
        before, after = explorer.trace(TEXT, **positions), explorer.trace(TEXT, order=order, **positions)
        return max(
            np.abs(in_original_order(other.attention.weights, order) - one.attention.weights).max()
            for one, other in zip(before.encoder, after.encoder, strict=True)
        )

    assert change(positions="none") < 1e-5
    assert change() > 0.05


def test_an_encoder_decoder_writes_under_the_positions_and_the_order_of_its_run(translator):
    run = Request.of("translator", TEXT, positions="none")
    trace = translator.run(run)
    written = translator.generate(TEXT, positions="none").token_ids
    assert_array_equal(trace.target_ids[1:], written[:16])
    assert not trace.values.position_embedding.any()
    assert not trace.values.target_position_embedding.any()
    shuffled = translator.run(run.changed(order=shuffled_order(7, 1)))
    assert_array_equal(shuffled.target_ids, trace.target_ids)
    assert_allclose(shuffled.logits, trace.logits, atol=1e-4)


@pytest.mark.parametrize("positions", ["rotary", "relative"])
def test_positions_in_attention_are_taken_from_both_sides_of_an_encoder_decoder(translator, positions):
    model = with_random_parameters(translator.config.replace(positions=positions, rotary_width=4))
    explorer = Explorer(model, translator.tokenizer, target_tokenizer=translator.target_tokenizer)

    def alike(**changes):
        trace = explorer.trace("film film film", target="two two two", **changes)
        sides = trace.encoder[0].attention.weights, trace.decoder[0].self_attention.weights[:, 3:, 1:]
        return [float(np.ptp(side, axis=-1).max()) for side in sides]

    assert max(alike(positions="none")) < 1e-6
    assert min(alike()) > 1e-3
    with pytest.raises(ValueError, match=f"act on the scores of attention \\({positions}\\)"):
        explorer.trace("film", positions="sinusoidal")


@pytest.mark.parametrize("order", [(0, 1), (0, 1, 1), (0, 1, 3)])
def test_an_order_that_names_not_every_token_once_is_refused(explorer, order):
    with pytest.raises(ValueError, match=r"`order` must name each of the 3 tokens once, by its index from 0"):
        explorer.trace("good lovely film", order=order)


def test_the_start_of_a_decoder_keeps_its_place(writer):
    assert writer.trace("good film", order=(0, 2, 1)).tokens == ("[START]", "film", "good")
    with pytest.raises(ValueError, match=r"`order` must begin with 0"):
        writer.trace("good film", order=(1, 0, 2))


def test_a_long_text_is_cut_and_says_so(explorer):
    trace = explorer.trace("good " * 40)
    assert (len(trace.tokens), trace.num_dropped, trace.cut_at) == (23, 17, 23)


@pytest.mark.parametrize("name", ["explorer", "translator", "writer"])
def test_a_folder_round_trip_is_bit_exact(name, request, tmp_path):
    explorer = request.getfixturevalue(name)
    write(explorer, tmp_path)
    side = {"target": "one two"} if name == "translator" else {}
    assert load(tmp_path / explorer.name).trace(TEXT, **side) == explorer.trace(TEXT, **side)


@pytest.mark.parametrize("examples", [5, pytest.param(50, marks=pytest.mark.thorough)])
def test_any_valid_config_builds_traces_saves_and_loads(tmp_path, examples):
    words = " ".join(f"w{i}" for i in range(40))

    @settings(deadline=None, max_examples=examples)
    @given(valid_configs())
    def law(config):
        side, second = {}, None
        first = Tokenizer.train([words], config.vocab_size, markers=config.has_decoder or config.reads_start)
        if config.architecture == "encoder-decoder":
            second = Tokenizer.train([words], config.target_vocab_size, markers=True)
            side = {"target": "w3 w1"}
        explorer = Explorer(with_random_parameters(config), first, target_tokenizer=second, name="any")
        trace = explorer.trace("w0 w1 w2 zyzzyva", **side)
        trace.save(tmp_path / "t.npz")
        assert Trace.load(tmp_path / "t.npz") == trace
        write(explorer, tmp_path, overwrite=True)
        assert load(tmp_path / "any").trace("w0 w1 w2 zyzzyva", **side) == trace

    law()


def test_an_encoder_decoder_names_both_texts(translator):
    trace = translator.trace(TEXT, target="one two eleven")
    assert trace.tokens == ("a", "lovely", "film", ",", "not", "good", ".")
    assert trace.target_tokens == ("[START]", "one", "two", "[UNK]")
    assert trace.target_text[slice(*trace.target_offsets[1])] == "one"
    assert trace.labels[:4] == ("[PAD]", "[UNK]", "[START]", "[END]")
    assert trace.logits.shape == trace.probs.shape == (4, 13)
    assert_allclose(trace.probs.sum(axis=-1), 1, rtol=1e-5)
    assert (len(trace.encoder), len(trace.decoder)) == (2, 3)


def test_a_decoder_begins_with_start_and_has_no_cross_attention(writer):
    trace = writer.trace(TEXT)
    assert trace.tokens[0] == "[START]"
    assert trace.words[0] == ""
    assert trace.encoder == ()
    assert trace.decoder[0].cross_attention is None
    assert trace.probs.shape == (8, 43)


def test_predict_refuses_a_model_that_writes(writer):
    with pytest.raises(ValueError, match=r"writer predicts tokens, not classes\. Use `generate`\."):
        writer.predict([TEXT])


def test_weights_only_keeps_the_same_weights_in_less_memory(translator):
    whole, kept = (translator.trace(TEXT, target="one two", keep=keep) for keep in ("all", "weights"))
    for ours, theirs in zip(whole.attentions(), kept.attentions(), strict=True):
        assert_array_equal(ours[3].weights, theirs[3].weights)
        assert theirs[3].scores is None
    assert_array_equal(kept.logits, whole.logits)
    assert kept.nbytes < whole.nbytes / 3
    assert kept.to_frame().score.isna().all()


def test_a_table_of_ones_own_takes_the_place_of_the_positions(explorer):
    table = np.random.default_rng(0).normal(size=(30, 14)).astype("f4")
    trace = explorer.trace(TEXT, positions=table, position_ids=[29, 0, 1, 2, 3, 4, 5])
    assert_array_equal(trace.values.position_embedding, table[[29, 0, 1, 2, 3, 4, 5]])


@pytest.mark.parametrize("positions", [None, "sinusoidal"])
def test_a_shift_moves_every_token_on_in_the_table(explorer, positions):
    trace = explorer.trace(TEXT, shift=4, positions=positions)
    assert trace == explorer.trace(TEXT, position_ids=range(4, 11), positions=positions)
    assert trace != explorer.trace(TEXT, positions=positions)
    assert explorer.trace(TEXT, shift=0) == explorer.trace(TEXT)


@pytest.mark.parametrize("shift", [-1, 1.0, True, "5"])
def test_a_shift_is_a_whole_number_from_0(explorer, shift):
    with pytest.raises(ValueError, match=f"`shift` must be a whole number from 0. Received: {shift!r}."):
        explorer.trace(TEXT, shift=shift)


def test_a_decoder_needs_its_markers_and_an_encoder_decoder_its_second_tokenizer(
    explorer, writer, translator
):
    with pytest.raises(ValueError, match=r"needs \[START\] and \[END\] as tokens 2 and 3"):
        Explorer(writer.model, explorer.tokenizer)
    with pytest.raises(ValueError, match="needs a `target_tokenizer`"):
        Explorer(translator.model, translator.tokenizer)


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
            {"position_ids": [0, 1]},
            "`position_ids` must be 7 whole numbers from 0, one for each token. Received: [0, 1].",
        ),
        (
            {"positions": np.ones((3, 5))},
            "`positions` must be a kind or a table (any, 14). Received shape (3, 5).",
        ),
        (
            {"positions": np.ones((3, 14))},
            "The table of positions has 3 rows, and row 6 is asked for. Give a longer table, or lower "
            "`position_ids` and `shift`.",
        ),
        (
            {"position_ids": [0, 1, 2, 3, 4, 5, 23]},
            "The table of positions has 23 rows, and row 23 is asked for. Give a longer table, or lower "
            "`position_ids` and `shift`.",
        ),
        (
            {"shift": 17},
            "The table of positions has 23 rows, and row 23 is asked for. Give a longer table, or lower "
            "`position_ids` and `shift`.",
        ),
        ({"keep": "some"}, "`keep` must be one of all, weights, logits. Received: 'some'."),
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
