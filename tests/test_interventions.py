import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import Reference
from small_models import with_random_parameters

from transformer_viz.explorer.explorer import Explorer
from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.model import Transformer
from transformer_viz.network.tensors import flatten
from transformer_viz.trace.interventions import ActivationPatch, build
from transformer_viz.trace.request import Changes

TEXT, OTHER, TARGET = "A lovely film, not good.", "A dull plot, not funny.", "one two three two"


@pytest.fixture(params=["encoder", "encoder-decoder", "decoder"])
def ask(request, explorer, translator, writer):
    """Return a function that traces a text on a model of each architecture, with its kinds of attention."""
    chosen = {"encoder": explorer, "encoder-decoder": translator, "decoder": writer}[request.param]
    target = TARGET if chosen is translator else None

    def ask(text=TEXT, **changes):
        return chosen.trace(text, target=target, **changes)

    ask.explorer = chosen
    ask.kinds = {"encoder": ["encoder"], "decoder": ["decoder"]}.get(
        request.param, ["encoder", "decoder", "cross"]
    )
    return ask


def attention(trace, kind, layer):
    if kind == "encoder":
        return trace.encoder[layer].attention
    block = trace.decoder[layer]
    return block.self_attention if kind == "decoder" else block.cross_attention


def test_neutral_interventions_are_ones_and_zeros(ask):
    config = ask.explorer.config
    lengths = dict.fromkeys(config.stacks, 7)
    for change in build(config, Changes(), lengths, {}).values():
        for name, array in flatten(change).items():
            assert np.all(array == (1 if name.endswith(("gate", "residual")) else 0))


def test_a_pass_without_interventions_equals_one_with_neutral_ones_to_the_bit(ask):
    explorer = ask.explorer
    mask = np.tril(np.ones((len(ask().tokens),) * 2, bool))
    for changes in ({}, {"attention_mask": mask, "positions": "none"}):
        target = TARGET if len(ask.kinds) == 3 else None
        prepared = explorer.prepare(explorer.request(TEXT, target=target, **changes))
        assert prepared.interventions == {}
        neutral = prepared._replace(interventions=explorer.forward.interventions(prepared, Changes()))
        without, with_neutral = flatten(explorer.compute(prepared)), flatten(explorer.compute(neutral))
        assert without.keys() == with_neutral.keys()
        for name, tensor in without.items():
            assert_array_equal(tensor, with_neutral[name], err_msg=name)


def test_every_kind_of_head_is_ablated(ask):
    for kind in ask.kinds:
        trace, ablated = ask(), ask(ablate=[(kind, 1, 2)])
        assert not attention(ablated, kind, 1).context[2].any()
        assert_array_equal(attention(ablated, kind, 1).context[0], attention(trace, kind, 1).context[0])
        assert np.abs(ablated.logits - trace.logits).max() > 1e-5


def test_a_head_without_a_name_is_one_of_the_first_stack(ask):
    assert ask(ablate=[(1, 2)]) == ask(ablate=[(ask.kinds[0], 1, 2)])


def test_a_head_ablated_to_its_mean_gives_its_mean(ask):
    texts = [(TEXT, TARGET), (OTHER, TARGET)] if len(ask.kinds) == 3 else [TEXT, OTHER]
    traces = [ask(TEXT), ask(OTHER)]
    for kind in ask.kinds:
        mean = np.concatenate([attention(trace, kind, 1).context[2] for trace in traces]).mean(axis=0)
        context = attention(ask(ablate=[(kind, 1, 2)], reference=texts), kind, 1).context[2]
        assert_allclose(context, np.broadcast_to(mean, context.shape), atol=1e-6)


def test_an_edge_cut_before_the_softmax_is_shared_out_and_one_muted_after_is_not(ask):
    for kind in ask.kinds:
        before = attention(ask(), kind, 0).weights[1, 3]
        cut = attention(ask(cut=[(kind, 0, 1, 3, 2)]), kind, 0).weights[1, 3]
        muted = attention(ask(mute=[(kind, 0, 1, 3, 2)]), kind, 0).weights[1, 3]
        assert cut[2] == muted[2] == 0
        assert_allclose(cut, np.where(np.arange(len(cut)) == 2, 0, before) / (1 - before[2]), atol=1e-6)
        assert_array_equal(muted, np.where(np.arange(len(cut)) == 2, 0, before))


def test_a_pattern_takes_the_place_of_a_heads_weights(ask):
    for kind in ask.kinds:
        shape = attention(ask(), kind, 0).weights.shape[1:]
        painted = np.random.default_rng(0).random(shape).astype("f4")
        traced = ask(patterns={(kind, 0, 1): painted})
        assert_array_equal(attention(traced, kind, 0).weights[1], painted)
        assert_array_equal(attention(traced, kind, 0).weights[2], attention(ask(), kind, 0).weights[2])


def test_without_scaling_the_weights_are_the_softmax_of_what_was_divided_times_the_root(ask):
    scaled, found = ask(), ask(scaling=False)
    for kind in ask.kinds[:2]:  # the first layer of a stack reads what it read before
        before, after = attention(scaled, kind, 0), attention(found, kind, 0)
        assert_array_equal(after.query, before.query)
        scores = (after.query.astype(np.float64) @ np.swapaxes(after.key, 1, 2)).astype(np.float64)
        if kind == "decoder":
            scores = np.where(np.tri(scores.shape[-1]), scores, -np.inf)
        else:
            assert_allclose(scores, before.scores * np.sqrt(ask.explorer.config.head_dim), atol=1e-4)
        expected = np.exp(scores - scores.max(axis=-1, keepdims=True))
        assert_allclose(after.weights, expected / expected.sum(axis=-1, keepdims=True), atol=1e-5)
    for kind in ask.kinds:
        for layer in range(len(found.encoder if kind == "encoder" else found.decoder)):
            after = attention(found, kind, layer)
            assert np.abs(after.weights - attention(scaled, kind, layer).weights).max() > 1e-3


def test_without_residual_connections_it_is_the_model_that_has_none(ask):
    """Nor are there any while it writes: `test_writing` has that."""
    explorer = ask.explorer
    without = Transformer(explorer.config.replace(residual=False))
    for name, value in explorer.model.parameters().items():
        without.parameters()[name].assign(value)
    other = Explorer(without, explorer.tokenizer, target_tokenizer=explorer.target_tokenizer)
    target = TARGET if len(ask.kinds) == 3 else None
    expected = other.trace(TEXT, target=target)
    found = ask(residual=False)
    for one, two in zip(found.encoder + found.decoder, expected.encoder + expected.decoder, strict=True):
        assert_allclose(one.resid_post, two.resid_post, atol=1e-6)
    assert_allclose(found.logits, expected.logits, atol=1e-6)
    assert np.abs(found.logits - ask().logits).max() > 1e-3


FFN_CONFIGS = {
    "post": {"norm": "post"},
    "pre": {"norm": "pre", "architecture": "decoder", "final_norm": True},
    "sandwich": {"norm": "sandwich"},
    "parallel": {"norm": "pre", "parallel": True, "gated_ffn": True},
    "without residual": {"norm": "post", "residual": False},
    "encoder-decoder": {"architecture": "encoder-decoder", "target_vocab_size": 13, "num_decoder_layers": 2},
}
"""Ways in which a block adds what its feed-forward layer returns."""


@pytest.mark.parametrize("name", FFN_CONFIGS)
@pytest.mark.parametrize("layers", [[1], [2, ("decoder", 1)]])
def test_a_feed_forward_layer_that_is_switched_off_adds_nothing(name, layers):
    sizes = {"vocab_size": 23, "max_len": 9, "d_model": 14, "num_heads": 2, "num_layers": 3, "ffn_dim": 11}
    config = TransformerConfig(**sizes | FFN_CONFIGS[name])
    random, first = np.random.default_rng(4), next(iter(config.stacks))
    off = [layer if isinstance(layer, tuple) else (first, layer) for layer in layers]
    off = [(stack, layer) for stack, layer in off if stack in config.stacks]
    model = with_random_parameters(config)
    texts = [random.integers(1, 13, size).astype("int32") for size in (7, 5)[: len(config.stacks)]]
    lengths = {stack: len(text) for stack, text in zip(config.stacks, texts, strict=True)}
    changes = build(config, Changes(ablate_ffn=off), lengths, {})
    trace = model.trace(*(text[None] for text in texts), interventions=changes)
    for stack, layer in off:
        block = getattr(trace, stack)[layer]
        added = block.ffn.output if block.ffn_added is None else block.ffn_added
        assert not np.any(added)
    parameters = {name: np.asarray(value) for name, value in model.parameters().items()}
    expected = Reference(config, parameters, off).logits(*texts)
    assert_allclose(np.asarray(trace.logits)[0], expected, atol=1e-4)
    assert np.abs(expected - Reference(config, parameters).logits(*texts)).max() > 1e-2


def test_feed_forward_layers_are_switched_off_by_their_stack_and_layer(ask):
    stack = ask.kinds[0]
    off = ask(ablate_ffn=1)
    assert off == ask(ablate_ffn=[1]) == ask(ablate_ffn=(stack, 1)) == ask(ablate_ffn=[(stack, 1)])
    block = getattr(off, stack)[1]
    assert not block.ffn.output.any()
    assert_array_equal(block.resid_mid, getattr(ask(), stack)[1].resid_mid)
    assert np.abs(off.logits - ask().logits).max() > 1e-4


def test_uniform_attention_is_alike_on_all_that_may_be_read(ask):
    for kind in ask.kinds:
        weights = attention(ask(patterns={(kind, 0, 1): "uniform"}), kind, 0).weights[1]
        may = np.tril(np.ones(weights.shape)) if kind == "decoder" else np.ones(weights.shape)
        assert_allclose(weights, may / may.sum(axis=-1, keepdims=True), rtol=1e-6)


def test_previous_token_attention_reads_the_token_before(ask):
    weights = attention(ask(patterns={(0, 1): "previous"}), ask.kinds[0], 0).weights[1]
    assert_array_equal(weights.argmax(axis=-1), [0, *range(len(weights) - 1)])
    assert_array_equal(weights.sum(axis=-1), 1)


def test_a_patched_stream_goes_on_as_in_the_other_run(ask):
    """All of the last block's output is patched, so the answer is the other run's."""
    stack = list(ask.explorer.config.stacks)[-1]
    last = ask.explorer.config.stacks[stack] - 1
    other = ask(OTHER)
    patched = ask(patches=[ActivationPatch(other, f"{stack}.{last}.resid_post")])
    assert_allclose(patched.logits, other.logits, atol=1e-5)


@pytest.mark.parametrize("site", ["resid_pre", "resid_mid", "resid_post"])
def test_a_patch_of_some_positions_leaves_the_others(ask, site):
    stack = ask.kinds[0]
    trace, other = ask(), ask(OTHER)
    patched = ask(patches=[ActivationPatch(other, f"{stack}.0.{site}", positions=(1, 4))])
    ours, theirs = (getattr(getattr(run, stack)[0], site) for run in (trace, other))
    expected = ours.copy()
    expected[[1, 4]] = theirs[[1, 4]]
    assert_array_equal(getattr(getattr(patched, stack)[0], site), expected)


def test_a_patched_context_is_the_other_runs(ask):
    other = ask(OTHER)
    for kind in ask.kinds:
        patched = ask(patches=[ActivationPatch(other, f"{kind}.1.context.2", positions=(0, 3))])
        context = attention(patched, kind, 1).context[2]
        assert_array_equal(context[[0, 3]], attention(other, kind, 1).context[2][[0, 3]])
        assert_array_equal(context[1:3], attention(ask(), kind, 1).context[2][1:3])


def test_a_token_that_is_left_out_is_read_as_one_that_says_nothing(ask):
    own, places = ask(), [2, 4]
    found = ask(leave_out=places)
    ids = own.token_ids.copy()
    ids[places] = ask.explorer.config.unk_id
    assert [found.tokens[place] for place in places] == ["[UNK]", "[UNK]"]
    assert_array_equal(found.token_ids, ids)
    assert (found.text, found.offsets) == (own.text, own.offsets)
    target = TARGET if len(ask.kinds) == 3 else None
    start = int(ask.explorer.config.reads_start)
    assert_array_equal(
        found.logits, ask.explorer.trace([int(each) for each in ids[start:]], target=target).logits
    )
    assert not np.array_equal(found.logits, own.logits)
    assert_array_equal(ask(leave_out=places[0]).token_ids[[2, 4]], [ids[2], own.token_ids[4]])
    moved = ask(leave_out=places, order="reversed")
    assert sum(token == "[UNK]" for token in moved.tokens) == sum(token == "[UNK]" for token in found.tokens)


def test_everything_combines_and_compiles_nothing_again(ask):
    other = ask(OTHER)
    kind = ask.kinds[0]
    ask(ablate=[(kind, 0, 0)])
    before = ask.explorer.num_compilations
    ask(
        ablate=[(kind, 0, 0)],
        cut=[(kind, 1, 1, 2, 0)],
        mute=[(kind, 1, 2, 3, 1)],
        patterns={(kind, 0, 2): "previous"},
        patches=[ActivationPatch(other, f"{kind}.1.resid_mid", positions=(2,))],
        positions="none",
        attention_mask=np.eye(len(other.tokens), dtype=bool),
        position_ids=np.arange(len(other.tokens))[::-1],
    )
    ask("film")
    assert ask.explorer.num_compilations == before


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ablate": [("middle", 0, 0)]}, "There is no attention 'middle' in this model. It has: encoder"),
        ({"patterns": {(0, 0): "diagonal"}}, "A pattern must be one of uniform, previous or an array"),
        ({"patterns": {(0, 0): np.ones((2, 2))}}, r"shape \(query, key\) = \(7, 7\). Received: \(2, 2\)"),
        (
            {"patches": [(None, "encoder.0.resid")]},
            "There is no place 'encoder.0.resid' to patch. Write, for",
        ),
        ({"patches": [(..., "encoder.7.resid_pre")]}, "The other run has no 'encoder.7.resid_pre'"),
        ({"patches": [(..., "encoder.0.resid_pre")]}, r"has shape \(1, 14\), this one's \(7, 14\)"),
        (
            {"patches": [(..., "encoder.0.resid_pre", (3,))]},
            r"`positions` must be from 0 to 0. Received: \(3,",
        ),
        ({"patches": [(..., "encoder.0.context.9")]}, r"There is no head \(0, 9\)"),
        ({"ablate_ffn": [2]}, r"no feed-forward layer 2\. Layers count from 0; the last: \('encoder', 1\)\."),
        ({"ablate_ffn": [("decoder", 0)]}, r"no feed-forward layer \('decoder', 0\)\."),
        ({"ablate_ffn": "ffn"}, r"`ablate_ffn` must be a list, such as \[1\]\. Received: 'ffn'"),
        ({"leave_out": [7]}, "names tokens of the text by their index, here from 0 to 6. Received: 7"),
        ({"leave_out": [-1]}, "here from 0 to 6. Received: -1"),
        ({"leave_out": "film"}, r"`leave_out` must be a list, such as \[3\]. Received: 'film'"),
    ],
)
def test_what_is_not_there_is_named(explorer, changes, message):
    one = explorer.trace("film")
    if "patches" in changes:
        changes = {"patches": [ActivationPatch(one, *patch[1:]) for patch in changes["patches"]]}
    with pytest.raises(ValueError, match=message):
        explorer.trace(TEXT, **changes)


def test_a_model_without_feed_forward_layers_has_none_to_switch_off():
    config = TransformerConfig(d_model=14, num_heads=2, ffn_dim=0)
    with pytest.raises(ValueError, match="This model has no feed-forward layers"):
        build(config, Changes(ablate_ffn=[0]), {"encoder": 3}, {})


def test_a_trace_of_weights_only_cannot_be_patched_from(explorer):
    kept = explorer.trace(TEXT, keep="weights")
    with pytest.raises(ValueError, match="Trace it with the same model, keeping all"):
        explorer.trace(TEXT, patches=[ActivationPatch(kept, "encoder.0.context.1")])
