import keras
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference import Reference
from test_config import valid_configs

from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.model import Transformer
from transformer_viz.network.presets import PRESETS
from transformer_viz.network.tensors import flatten

TOKENS = np.array([[5, 17, 3, 41, 8, 29, 2]], dtype=np.int32)


def to_numpy(value):
    return keras.tree.map_structure(keras.ops.convert_to_numpy, value)


@pytest.mark.parametrize("name", PRESETS)
def test_a_model_has_exactly_the_parameters_its_config_declares(name):
    model = Transformer(PRESETS[name])
    shapes = {name: tuple(variable.shape) for name, variable in model.parameters().items()}
    assert shapes == PRESETS[name].parameter_shapes()
    assert model.count_params() == PRESETS[name].num_parameters


@pytest.fixture
def in_float64():
    """Compute in float64: rounding is nothing then, even where a config lets scores grow into hundreds."""
    keras.config.set_floatx("float64")
    keras.config.set_dtype_policy("float64")
    yield
    keras.config.set_floatx("float32")
    keras.config.set_dtype_policy("float32")


@pytest.mark.usefixtures("in_float64")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(valid_configs(), st.integers(0, 2**31))
def test_any_valid_config_equals_the_papers_equations_in_numpy(config, seed):
    random = np.random.default_rng(seed)
    model = Transformer(config)
    shapes = {name: tuple(variable.shape) for name, variable in model.parameters().items()}
    assert shapes == config.parameter_shapes()
    parameters = {name: random.normal(scale=0.4, size=shape).astype("f4") for name, shape in shapes.items()}
    for name, variable in model.parameters().items():
        variable.assign(parameters[name])
    texts = [padded(random, config.vocab_size, 5)]
    if config.architecture == "encoder-decoder":
        texts.append(padded(random, config.target_vocab_size, 4))
    reference = Reference(config, parameters)
    tables = {}
    if config.positions.startswith("sinusoidal"):  # which the model has in float32
        for side in ("", "target_")[: len(texts)]:
            rows = [reference.position(row, side) for row in range(config.max_len + 1)]
            tables[f"{side}position_table"] = np.array(rows)
    logits = to_numpy(model.trace(*(text[None] for text in texts), **tables).logits)[0]
    expected = reference.logits(*texts)
    assume(reference.largest_score < 1e6)  # beyond, even float64 rounds away which of two keys is read
    assert_allclose(logits, expected, atol=1e-6 * max(1, np.abs(expected).max()))


def padded(random, vocab_size, length):
    """Return a text of random tokens with some padding behind."""
    text = random.integers(1, vocab_size, length).astype("int32")
    text[random.integers(1, length + 1) :] = 0
    return text


def test_call_is_the_logits_of_trace(small_model):
    assert_array_equal(small_model(TOKENS), to_numpy(small_model.trace(TOKENS)).logits)


@pytest.mark.parametrize("length", [1, 5, 16])
@pytest.mark.parametrize("pooling", ["mean", "max", "first", "last"])
def test_padding_does_not_change_the_logits(small_config, small_model, pooling, length):
    model = Transformer(small_config.replace(pooling=pooling))
    for name, variable in model.parameters().items():
        variable.assign(small_model.parameters()[name])
    padded = np.pad(TOKENS, ((0, 0), (0, length)))
    assert_allclose(model(padded), model(TOKENS), atol=1e-5)


def test_without_positions_permuting_tokens_permutes_the_representation(small_config):
    model = Transformer(small_config.replace(positions="none"))
    order = np.random.default_rng(3).permutation(TOKENS.shape[1])
    trace, permuted = to_numpy(model.trace(TOKENS)), to_numpy(model.trace(TOKENS[:, order]))
    assert_allclose(permuted.final, trace.final[:, order], atol=1e-5)
    assert_allclose(permuted.logits, trace.logits, atol=1e-5)


def test_with_positions_the_order_matters(small_model):
    reversed_logits = to_numpy(small_model(TOKENS[:, ::-1].copy()))
    assert np.abs(reversed_logits - to_numpy(small_model(TOKENS))).max() > 1e-3


@pytest.fixture(params=["encoder", "encoder-decoder", "decoder"])
def explored(request, explorer, translator, writer):
    """An explorer of each architecture, with a text and a target for it."""
    return {
        "encoder": (explorer, "A lovely film, not good.", None),
        "encoder-decoder": (translator, "A lovely film, not good.", "one two three two"),
        "decoder": (writer, "A lovely film, not good.", None),
    }[request.param]


def test_rows_sum_to_one_and_masked_cells_have_no_weight(explored):
    explorer, text, target = explored
    trace = explorer.trace(text, target=target)
    count = 0
    for stack, _, kind, attention, queries, keys in trace.attentions():
        assert attention.weights.shape == (3, len(queries), len(keys))
        assert_allclose(attention.weights.sum(axis=-1), 1, atol=1e-6)
        if stack == "decoder" and kind == "self":
            assert not np.triu(attention.weights, 1).any()
            assert attention.scores[..., 0, 1].all()
        count += 1
    assert count == len(trace.encoder) + len(trace.decoder) * (1 + (target is not None))


def test_a_later_token_never_changes_what_a_decoder_said_before(translator, writer):
    for explorer, first, second in (
        (translator, "one two three two", "one two six nine"),
        (writer, "not good at all", "not good film funny"),
    ):
        sides = [
            explorer.trace("a film", target=text) if explorer is translator else explorer.trace(text)
            for text in (first, second)
        ]
        assert_array_equal(sides[0].logits[:3], sides[1].logits[:3])
        assert np.abs(sides[0].logits[3:] - sides[1].logits[3:]).max() > 1e-5


def test_deciding_step_by_step_equals_one_pass(translator, writer):
    whole = translator.trace("a lovely film", target="one two three")
    for length in range(4):
        step = translator.trace("a lovely film", target=" ".join(["one", "two", "three"][:length]))
        assert_allclose(step.logits[-1], whole.logits[length], atol=1e-5)
    whole = writer.trace("a lovely film")
    assert_allclose(writer.trace("a lovely").logits[-1], whole.logits[2], atol=1e-5)


@pytest.mark.parametrize("length", [1, 5])
def test_padding_never_changes_the_logits_of_real_tokens(explored, length):
    explorer, text, target = explored
    trace = explorer.trace(text, target=target)
    ids = [trace.token_ids[None]] + ([trace.target_ids[None]] if target else [])
    plain = to_numpy(explorer.model(ids))
    behind = to_numpy(explorer.model([np.pad(side, ((0, 0), (0, length))) for side in ids]))
    kept = behind[:, : plain.shape[1]] if plain.ndim == 3 else behind
    assert_allclose(kept, plain, atol=1e-5)


def test_compiled_equals_eager(explored):
    explorer, text, target = explored
    trace = explorer.trace(text, target=target)
    eager = explorer.model.trace(trace.token_ids[None], *([trace.target_ids[None]] if target else []))
    ours, theirs = flatten(trace.values), to_numpy(flatten(eager))
    assert ours.keys() == theirs.keys()
    for name, array in ours.items():
        assert_allclose(array, theirs[name][0], atol=2e-5, err_msg=name)


def test_the_stream_is_the_sum_of_what_was_added(writer, translator):
    trace = writer.trace("a lovely film")
    embedding = trace.values.token_embedding + trace.values.position_embedding
    added = sum(block.self_attention.output + block.ffn.output for block in trace.decoder)
    assert_allclose(embedding + added, trace.decoder[-1].resid_post, atol=1e-5)
    for block in translator.trace("a lovely film", target="one two").decoder:
        assert_allclose(block.resid_pre + block.self_attention.output, block.self_attention_sum, atol=1e-6)
        assert_allclose(block.resid_mid + block.cross_attention.output, block.cross_attention_sum, atol=1e-6)
        assert_allclose(block.resid_cross + block.ffn.output, block.ffn_sum, atol=1e-6)


def test_a_window_hides_what_is_farther_away(small_config):
    model = Transformer(small_config.replace(window=2))
    weights = to_numpy(model.trace(TOKENS)).encoder[0].attention.weights[0]
    distance = np.abs(np.subtract.outer(np.arange(7), np.arange(7)))
    assert (weights[:, distance <= 2] > 0).all()
    assert not weights[:, distance > 2].any()


def test_the_padding_position_is_a_row_of_its_own(small_config):
    model = Transformer(small_config.replace(padding_position=True))
    ids = np.array([[5, 17, 0]], np.int32)
    table, trace = to_numpy(model.embedding.position_table()), to_numpy(model.trace(ids))
    assert table.shape == (24, 14)
    assert_array_equal(trace.position_embedding[0], table[[1, 2, 0]])


def test_nothing_to_pool_is_zero(small_config):
    assert not to_numpy(Transformer(small_config.replace(pooling="max")).trace(np.zeros((1, 4)))).pooled.any()


def test_pooling_weights_say_what_each_position_gave(small_config):
    ids = np.pad(TOKENS, ((0, 0), (0, 2)))
    for pooling in ("mean", "first", "last", "attention"):
        trace = to_numpy(Transformer(small_config.replace(pooling=pooling)).trace(ids))
        assert_allclose(trace.pooling_weights.sum(axis=-1), 1, atol=1e-6)
        assert not trace.pooling_weights[:, 7:].any()
        assert_allclose(trace.pooling_weights @ trace.final[0], trace.pooled, atol=1e-5)


@pytest.mark.quick("encoder-decoder")
def test_every_architecture_learns_under_fit(explored):
    """The loss on one batch falls: gradients reach the parameters of both stacks."""
    explorer, text, target = explored
    model = Transformer(explorer.config)
    trace = explorer.trace(text, target=target)
    inputs = [trace.token_ids[None]] + ([trace.target_ids[None]] if target else [])
    answer = inputs[-1] if explorer.config.has_decoder else np.array([1])
    model.compile(keras.optimizers.Adam(0.01), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    inputs = inputs if target else inputs[0]
    losses = model.fit(inputs, answer, epochs=30, verbose=0).history["loss"]
    assert losses[-1] < 0.7 * losses[0]


def test_position_ids_choose_the_rows_of_the_table(small_model):
    ids = np.array([[6, 5, 4, 3, 2, 1, 0]], dtype=np.int32)
    trace = to_numpy(small_model.trace(TOKENS, position_ids=ids))
    assert_array_equal(trace.position_embedding[0], to_numpy(small_model.embedding.position_table())[ids[0]])


def test_a_zero_table_takes_the_positions_away(small_model):
    table = np.zeros_like(to_numpy(small_model.embedding.position_table()))
    order = [6, 5, 4, 3, 2, 1, 0]
    trace = to_numpy(small_model.trace(TOKENS, position_table=table))
    permuted = to_numpy(small_model.trace(TOKENS[:, order], position_table=table))
    assert_allclose(permuted.logits, trace.logits, atol=1e-5)


def test_the_residual_stream_runs_from_the_embeddings_to_the_last_block(small_model):
    trace = to_numpy(small_model.trace(TOKENS))
    first, last = trace.encoder
    assert_array_equal(first.resid_pre, trace.token_embedding + trace.position_embedding)
    assert_array_equal(last.resid_pre, first.resid_post)
    added = sum(block.attention.output + block.ffn.output for block in trace.encoder)
    assert_allclose(first.resid_pre + added, last.resid_post, atol=1e-5)


def test_scaled_embeddings_are_the_plain_ones_times_the_root_of_d_model(small_config, small_model):
    model = Transformer(small_config.replace(scale_embedding=True))
    for name, variable in model.parameters().items():
        variable.assign(small_model.parameters()[name])
    plain, scaled = (to_numpy(m.trace(TOKENS)).token_embedding for m in (small_model, model))
    assert_allclose(scaled, plain * np.sqrt(14), rtol=1e-6)


def test_dropout_works_in_training_only(small_config):
    model = Transformer(small_config.replace(dropout=0.5, embedding_dropout=0.5))
    assert_array_equal(model(TOKENS), model(TOKENS))
    assert np.abs(to_numpy(model(TOKENS, training=True)) - to_numpy(model(TOKENS))).max() > 0


def test_dropout_works_in_fit(small_config):
    model = Transformer(small_config.replace(dropout=0.5))
    model.compile(keras.optimizers.SGD(0.0), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    losses = {float(model.train_on_batch(TOKENS, np.array([1]))) for _ in range(5)}
    assert len(losses) > 1


def test_a_model_without_padding_mask_reads_padding(small_config):
    model = Transformer(small_config.replace(mask_padding=False))
    trace = to_numpy(model.trace(np.pad(TOKENS, ((0, 0), (0, 2)))))
    assert (trace.encoder[0].attention.weights[..., -2:] > 0).all()


def test_get_config_round_trip_builds_the_same_network(small_model):
    again = Transformer.from_config(small_model.get_config())
    assert again.config == small_model.config


def test_relu_and_gelu_differ(small_config):
    relu = TransformerConfig(vocab_size=11, d_model=8, num_heads=2, ffn_dim=16)
    model, other = Transformer(relu), Transformer(relu.replace(activation="gelu"))
    for name, variable in other.parameters().items():
        variable.assign(model.parameters()[name])
    ids = np.array([[3, 4, 5]])
    assert np.abs(to_numpy(model(ids)) - to_numpy(other(ids))).max() > 1e-6
