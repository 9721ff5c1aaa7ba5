import keras
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from transformer_viz.network.attention import MultiHeadAttention, PositionsInAttention, attend, rotation
from transformer_viz.network.block import Block
from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.layers import FeedForward
from transformer_viz.network.tensors import AXES, AttentionTrace, Intervention

SIZES = {
    "batch": 2,
    "head": 3,
    "query": 5,
    "key": 7,
    "head_dim": 11,
    "value_dim": 13,
    "d_model": 17,
}
LN3 = float(np.log(3))
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(SIZES["batch"], SIZES["query"], SIZES["d_model"])).astype("float32")
SOURCE = RANDOM.normal(size=(SIZES["batch"], SIZES["key"], SIZES["d_model"])).astype("float32")
MASK = RANDOM.random((SIZES["batch"], 1, SIZES["query"], SIZES["key"])) < 0.7
MASK[0, 0, 2] = False
NEUTRAL = Intervention(
    np.ones((3, 1, 1), "float32"), np.zeros((3, 5, 7), "float32"), np.ones((3, 5, 7), "float32")
)


def config(d_model, **changes):
    sizes = {"num_heads": 3, "head_dim": 11, "value_dim": 13, "positions": "none"}
    return TransformerConfig(d_model=d_model, **sizes | changes)


@pytest.fixture(scope="module")
def layer():
    keras.utils.set_random_seed(1)
    layer = MultiHeadAttention(config(17))
    layer.build((None, None, 17))
    for variable in layer.weights:
        variable.assign(RANDOM.normal(scale=0.4, size=variable.shape))
    return layer


@pytest.fixture(scope="module")
def trace(layer):
    return to_numpy(layer(X, SOURCE, MASK))


def to_numpy(value):
    return keras.tree.map_structure(keras.ops.convert_to_numpy, value)


@pytest.mark.parametrize("name", [name for name in AttentionTrace._fields if name != "unrotated"])
def test_every_tensor_has_its_named_axes(trace, name):
    assert getattr(trace, name).shape == tuple(SIZES[axis] for axis in AXES[name])


def test_a_query_is_kept_as_it_was_before_its_position_rotates_it(layer, trace):
    assert layer(X, SOURCE, MASK).unrotated is None
    places = np.array([[3, 0, 1, 9, 4]], "int32")
    turned = to_numpy(layer(X, X, None, places=PositionsInAttention(rotation=rotation(places, 6, 100.0))))
    assert turned.unrotated.shape == tuple(SIZES[axis] for axis in AXES["unrotated"])
    assert_array_equal(turned.unrotated, trace.query)
    pairs = turned.unrotated[..., :3] + 1j * turned.unrotated[..., 3:6]
    pairs = pairs * np.exp(1j * places[0][:, None] * 100.0 ** (-np.arange(3) / 3))
    assert_allclose(turned.query[..., :3], pairs.real, rtol=1e-4, atol=1e-5)
    assert_allclose(turned.query[..., 3:6], pairs.imag, rtol=1e-4, atol=1e-5)
    assert_array_equal(turned.query[..., 6:], turned.unrotated[..., 6:])


def test_attend_by_hand():
    """Scores 0 and ln 3 make weights 1/4 and 3/4."""
    one = np.ones((1, 1, 1, 1), "float32")
    key, value = np.float32([[[[0], [LN3]]]]), np.float32([[[[10], [20]]]])
    scores, weights, context = to_numpy(attend(one, key, value, np.array(True)))
    assert_allclose(scores[0, 0], [[0, LN3]], rtol=1e-6)
    assert_allclose(weights[0, 0], [[0.25, 0.75]], rtol=1e-6)
    assert_allclose(context[0, 0], [[17.5]], rtol=1e-6)


@pytest.mark.parametrize("use_bias", [True, False])
@pytest.mark.parametrize("source", [X, SOURCE], ids=["self", "cross"])
def test_equals_keras_with_the_same_parameters(use_bias, source):
    ours = MultiHeadAttention(config(17, attention_bias=use_bias))
    ours.build((None, None, 17))
    for variable in ours.weights:
        variable.assign(RANDOM.normal(scale=0.2, size=variable.shape))
    theirs = keras.layers.MultiHeadAttention(3, 11, 13, use_bias=use_bias)
    theirs.build(X.shape, source.shape, source.shape)
    named = {variable.path.partition("/")[2]: variable for variable in ours.weights}
    for variable in theirs.weights:
        name = variable.path.partition("/")[2].replace("attention_output", "output")
        variable.assign(np.reshape(named[name], variable.shape))
    mask = MASK[:, 0, :, : source.shape[1]]
    output, weights = theirs(X, source, source, attention_mask=mask, return_attention_scores=True)
    trace = ours(X, source, mask[:, None])
    assert_allclose(trace.output, output, atol=1e-6)
    assert_allclose(trace.weights, weights, atol=1e-6)


def test_no_mask_is_a_mask_that_hides_nothing():
    query, key, value = (RANDOM.normal(size=(2, 3, rows, 11)).astype("float32") for rows in (5, 7, 7))
    halved = NEUTRAL._replace(weight_gate=np.full((3, 5, 7), 0.5, "float32"))
    for change in (None, halved):
        without = attend(query, key, value, None, change)
        for ours, theirs in zip(without, attend(query, key, value, MASK | True, change), strict=True):
            assert_array_equal(ours, theirs)


def test_rows_sum_to_one_or_to_zero_when_fully_masked(trace):
    expected = np.broadcast_to(MASK.any(axis=-1), trace.weights.shape[:-1])
    assert expected.min() == 0
    assert_allclose(trace.weights.sum(axis=-1), expected, atol=1e-6)


def test_masked_cells_have_no_weight(trace):
    assert not trace.weights[~np.broadcast_to(MASK, trace.weights.shape)].any()


@pytest.mark.parametrize("changed", [False, True])
@pytest.mark.parametrize(("dtype", "size"), [("float16", 2.5e2), ("float32", 1e15), ("bfloat16", 1e15)])
def test_a_masked_key_takes_no_weight_from_scores_however_low(dtype, size, changed):
    ones = keras.ops.ones((1, 3, 3), dtype)
    neutral = Intervention(ones[:, :1, :1], 0 * ones, ones) if changed else None
    query, key = (keras.ops.full((1, 1, 3, 1), number, dtype) for number in (size, -size))
    mask = np.tri(3, dtype=bool)[None, None]
    scores, weights, _ = attend(query, key, key, mask, neutral)
    assert np.all(keras.ops.convert_to_numpy(scores) < -6e4)
    expected = np.tri(3) / np.arange(1, 4)[:, None]
    assert_allclose(keras.ops.convert_to_numpy(weights)[0, 0].astype("f4"), expected, rtol=4e-3)


def test_scores_are_recorded_before_the_mask(layer, trace):
    open_mask = to_numpy(layer(X, SOURCE, np.ones_like(MASK)))
    assert_array_equal(trace.scores, open_mask.scores)
    assert np.abs(trace.scores).max() < 1e3


def test_context_is_weights_times_value(trace):
    assert_allclose(trace.context, trace.weights @ trace.value, atol=1e-5)


def test_per_head_contributions_sum_to_the_output(layer, trace):
    kernel, bias = layer.output_dense.get_weights()
    by_head = kernel.reshape(3, 13, 17)
    contributions = np.einsum("bhqv,hvm->bhqm", trace.context, by_head)
    assert_allclose(contributions.sum(axis=1) + bias, trace.output, atol=1e-5)


def test_neutral_intervention_is_exactly_no_intervention(layer, trace):
    for ours, neutral in zip(trace, to_numpy(layer(X, SOURCE, MASK, intervention=NEUTRAL)), strict=True):
        assert_array_equal(ours, neutral)


def test_an_ablated_head_adds_nothing_and_the_others_stay(layer, trace):
    gate = np.float32([1, 0, 1]).reshape(3, 1, 1)
    ablated = to_numpy(layer(X, SOURCE, MASK, intervention=NEUTRAL._replace(head_gate=gate)))
    assert not ablated.context[:, 1].any()
    assert_array_equal(ablated.context[:, [0, 2]], trace.context[:, [0, 2]])
    assert_array_equal(ablated.weights, trace.weights)


def test_an_edge_cut_before_the_softmax_is_shared_out_among_the_rest(layer, trace):
    bias = np.zeros((3, 5, 7), "float32")
    bias[2, 4, 6] = -np.inf
    cut = to_numpy(layer(X, SOURCE, np.ones_like(MASK), intervention=NEUTRAL._replace(score_bias=bias)))
    assert not cut.weights[:, 2, 4, 6].any()
    assert_allclose(cut.weights.sum(axis=-1), 1, atol=1e-6)


def test_a_row_with_every_edge_cut_sums_to_zero(layer):
    bias = np.zeros((3, 5, 7), "float32")
    bias[2, 4] = -np.inf
    cut = to_numpy(layer(X, SOURCE, np.ones_like(MASK), intervention=NEUTRAL._replace(score_bias=bias)))
    assert not cut.weights[:, 2, 4].any()
    assert np.isfinite(cut.output).all()


def test_a_weight_gate_leaves_the_other_weights_alone(layer, trace):
    gate = np.ones((3, 5, 7), "float32")
    gate[0, 1, 3] = 0
    gated = to_numpy(layer(X, SOURCE, MASK, intervention=NEUTRAL._replace(weight_gate=gate)))
    assert_array_equal(gated.weights, trace.weights * gate)


def test_without_output_projection_the_joined_heads_are_the_output():
    layer = MultiHeadAttention(config(39, output_projection=False))
    x = RANDOM.normal(size=(2, 5, 39)).astype("float32")
    trace = to_numpy(layer(x, x, np.array(True)))
    assert_array_equal(trace.output, np.swapaxes(trace.context, 1, 2).reshape(2, 5, 39))


def test_feed_forward_by_hand():
    layer = FeedForward(config(1, ffn_dim=2))
    layer.build((None, None, 1))
    layer.set_weights([np.float32(part) for part in ([[1, -1]], [0, 0], [[2], [3]], [10])])
    hidden, output = to_numpy(layer(np.float32([[[4], [-5]]])))
    assert_array_equal(hidden, [[[4, 0], [0, 5]]])
    assert_array_equal(output, [[[18], [25]]])


def test_without_a_feed_forward_layer_nothing_is_added():
    trace = to_numpy(Block(config(17, ffn_dim=0), "encoder")(X, None))
    assert trace.ffn.hidden.shape == (2, 5, 0)
    assert not trace.ffn.output.any()
    assert_array_equal(trace.resid_post, trace.resid_mid)


@pytest.mark.parametrize("norm", ["post", "pre", "none"])
@pytest.mark.parametrize("ffn_dim", [0, 19])
def test_residual_stream_is_the_sum_of_what_was_added(norm, ffn_dim):
    config = TransformerConfig(d_model=14, num_heads=7, ffn_dim=ffn_dim, norm=norm, dropout=0.3)
    block = Block(config, "encoder")
    block.build((None, None, 14))
    x = RANDOM.normal(size=(2, 5, 14)).astype("float32")
    trace = to_numpy(block(x, np.array(True)))
    mid, post = x + trace.attention.output, trace.resid_mid + trace.ffn.output
    if norm == "post":
        mid = to_numpy(block.self_attention.sum_norm(mid))
        post = to_numpy(block.ffn.sum_norm(post)) if ffn_dim else post
    assert_array_equal(trace.resid_pre, x)
    assert_allclose(trace.resid_mid, mid, atol=1e-6)
    assert_allclose(trace.resid_post, post, atol=1e-6)


def test_without_residual_the_bare_sub_layer_goes_on():
    config = TransformerConfig(d_model=14, num_heads=7, ffn_dim=0, norm="none", residual=False)
    trace = to_numpy(
        Block(config, "encoder")(RANDOM.normal(size=(2, 5, 14)).astype("float32"), np.array(True))
    )
    assert_array_equal(trace.resid_post, trace.attention.output)


def test_norm_is_over_the_last_axis_with_the_stated_epsilon():
    config = TransformerConfig(d_model=14, num_heads=7)
    norm = Block(config, "encoder").self_attention.sum_norm
    x = RANDOM.normal(size=(2, 5, 14)).astype("float32")
    expected = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-6)
    assert_allclose(to_numpy(norm(x)), expected, atol=1e-5)
