"""Models of the Hugging Face hub, against what `transformers` answered (record.py, record_changes.py).

A law is asked of the folders that have what it is about. Models run op by op: compiling a graph would take
longer than all laws about it; `DIFFERENT` says of which the graphs are compiled, too.
"""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from recorded import FOLDERS, HERE, TEXTS, having, on, one_of_each, tokenizer_kind

import transformer_viz as tv
from transformer_viz.explorer.batched import batched_attention
from transformer_viz.explorer.decode import generate_all
from transformer_viz.network.config import never_written
from transformer_viz.network.tensors import KVCache, flatten

pytestmark = pytest.mark.filterwarnings("ignore:.*softmax over axis")  # of a token that reads itself alone

DIFFERENT = [
    HERE / "models" / name
    for name in (
        *("albert-classes", "bart", "bert-masked", "electra-small", "gemma2", "gemma3", "gpt2"),
        *("gpt-neox", "llama-yarn", "modernbert-mean", "mpnet", "phi3", "qwen3-classes", "t5", "t5-untied"),
    )
]
"""Folders that differ in what lies between weights and logits."""

CHANGED = [folder for folder in FOLDERS if (folder / "changes.npz").exists()]
"""Folders of which answers under masks are recorded."""

MASKS = ("attention_mask", "target_attention_mask", "cross_attention_mask")
KINDS = ("encoder", "decoder", "cross")


@pytest.fixture
def explorer(folder, uncompiled):
    return uncompiled(folder)


@pytest.fixture
def answers(folder):
    return np.load(folder / "answers.npz")


@pytest.fixture
def trace(explorer, answers):
    """A batch of two texts, the shorter one behind padding; of an encoder-decoder with two targets."""
    ids = np.where(answers["mask"], answers["ids"], -1).astype(np.int32)
    return explorer.model.trace(ids, answers["target"].astype(np.int32) if "target" in answers else None)


@pytest.fixture
def recorded(folder):
    """What the model answered under random masks, and with some heads left out (record_changes.py)."""
    return np.load(folder / "changes.npz")


def given(explorer):
    """Return the target that an encoder-decoder is asked about: its own could change with what is changed."""
    return {"target": "The film"} if explorer.target_tokenizer else {}


def weights(blocks):
    layers = [block.attention if hasattr(block, "attention") else block.self_attention for block in blocks]
    return np.stack([np.asarray(layer.weights) for layer in layers], axis=1)


def traced(explorer, recorded, **changes):
    """Return the trace of the recorded text, whose target stands behind what targets begin with."""
    target = {}
    if "target" in recorded:
        target = {"target": recorded["target"][0, len(explorer.config.target_start) :].tolist()}
    return explorer.trace(recorded["ids"][0].tolist(), **target, **changes)


def masks(recorded):
    return {name: recorded[name] for name in MASKS if name in recorded}


def ablated(recorded):
    places = recorded["ablated"].tolist()
    if len(places) == 1:
        return [tuple(places[0])]
    return [(kind, *place) for kind, place in zip(KINDS, places, strict=True)]


def recorded_weights(trace):
    """Return the weights of all layers by the names under which they are recorded."""
    first = [each.attention for each in trace.encoder] or [each.self_attention for each in trace.decoder]
    found = {"attentions": first}
    if trace.target_tokens:
        found["decoder"] = [each.self_attention for each in trace.decoder]
        found["cross"] = [each.cross_attention for each in trace.decoder]
    return {name: np.stack([each.weights for each in layers]) for name, layers in found.items()}


def assert_is_recorded(trace, recorded, kind):
    for name, ours in recorded_weights(trace).items():
        assert_allclose(ours, recorded[f"{kind}_{name}"], rtol=0, atol=2e-6)
    if f"{kind}_hidden" in recorded:
        assert_allclose(trace.values.final, recorded[f"{kind}_hidden"], rtol=0, atol=2e-5)
        return
    theirs = recorded[f"{kind}_logits"]
    assert_allclose(trace.logits, theirs, rtol=0, atol=2e-6 * max(10, np.abs(theirs).max()))


@on(FOLDERS)
def test_weights_are_those_of_transformers(trace, answers):
    found, real = weights(trace.encoder or trace.decoder), answers["mask"].astype(bool)
    for row, length in enumerate(real.sum(axis=1)):
        ours, theirs = (each[row, :, :, :length] for each in (found, answers["attentions"]))
        assert_allclose(ours, theirs, atol=2e-6)
    if "target" in answers:
        cross = np.stack([np.asarray(block.cross_attention.weights) for block in trace.decoder], axis=1)
        assert_allclose(weights(trace.decoder), answers["decoder"], atol=2e-6)
        assert_allclose(cross, answers["cross"], atol=2e-6)


@on(FOLDERS)
def test_vectors_and_logits_are_those_of_transformers(trace, answers):
    real = answers["mask"].astype(bool)
    if "target" in answers:
        assert_allclose(np.asarray(trace.memory)[real], answers["memory"][real], atol=2e-5)
        real = np.ones(answers["target"].shape, bool)
    assert_allclose(np.asarray(trace.final)[real], answers["hidden"][real], atol=2e-5)
    if "logits" in answers:
        ours, theirs = np.asarray(trace.logits), answers["logits"]
        rows = real if theirs.ndim == 3 else slice(None)
        assert_allclose(ours[rows], theirs[rows], atol=2e-6 * max(10, np.abs(theirs).max()))


@on(CHANGED)
def test_a_mask_of_each_head_gives_the_answer_of_transformers(explorer, recorded):
    trace = traced(explorer, recorded, **masks(recorded))
    assert_is_recorded(trace, recorded, "masked")
    for name, mask in zip(("attentions", "decoder", "cross"), masks(recorded).values(), strict=False):
        theirs = recorded[f"masked_{name}"]
        assert_array_equal(theirs > 0, np.broadcast_to(mask, theirs.shape))


@having(lambda config: config.architecture == "encoder" and not config.causal and config.window is None)
def test_cut_edges_give_the_answer_to_a_mask_without_them(explorer, recorded):
    edges = np.argwhere(~recorded["attention_mask"]).tolist()
    cut = [(layer, *edge) for layer in range(explorer.config.num_layers) for edge in edges]
    assert_is_recorded(traced(explorer, recorded, cut=cut), recorded, "masked")


@on(CHANGED)
def test_an_ablated_head_gives_the_answer_of_transformers(explorer, recorded):
    trace = traced(explorer, recorded, ablate=ablated(recorded))
    assert_is_recorded(trace, recorded, "ablated")
    whole = traced(explorer, recorded)
    assert np.abs(trace.values.final - whole.values.final).max() > 1e-3


@pytest.mark.parametrize("number", range(len(TEXTS)))
@one_of_each(tokenizer_kind)
def test_tokens_are_those_of_transformers(folder, explorer, number):
    expected = json.loads((folder / "texts.json").read_text())[number]
    found = explorer.tokenizer.encode(TEXTS[number], max_len=1000, start=explorer.config.reads_start)
    assert found.ids.tolist() == expected["ids"]
    inner = slice(int(explorer.config.reads_start), len(found.ids) - explorer.config.reads_end)
    assert not any(expected["special"][inner][:1])
    for (begin, end), (first, last) in zip(
        found.offsets[inner], (expected["offsets"] or found.offsets)[inner], strict=True
    ):
        assert found.text[begin:end] == found.text[first:last].lstrip(" ")


@one_of_each(lambda *of: (tokenizer_kind(*of), of[1].architecture, of[1].output))
def test_a_text_is_traced_with_readable_tokens(explorer):
    trace = explorer.trace(TEXTS[1], **given(explorer))
    assert not any("Ġ" in token or "Ã" in token for token in trace.tokens)
    outputs = 2 if explorer.config.output == "sigmoid" else explorer.config.num_outputs
    assert trace.probs.shape[-1] == len(trace.labels) == outputs
    if explorer.config.num_outputs:
        assert_allclose(trace.probs.sum(axis=-1), 1, atol=1e-5)
    joined = "".join(trace.text[begin:end] for begin, end in trace.offsets)
    assert "friend" in joined


@one_of_each(tokenizer_kind)
def test_rows_of_the_embedding_that_are_no_tokens_are_named_by_their_ids(explorer):
    size = explorer.config.vocab_size
    assert explorer.tokenizer.vocabulary[-2:] == (f"[{size - 2}]", f"[{size - 1}]")
    assert all(explorer.tokenizer.vocabulary)


@one_of_each(tokenizer_kind)
def test_ids_of_the_hub_can_be_given_as_they_are(folder, explorer):
    expected = json.loads((folder / "texts.json").read_text())[0]["ids"]
    trace = explorer.trace(expected, **given(explorer))
    assert trace.token_ids.tolist() == expected


@on([folder for folder in FOLDERS if (folder / "pair.npz").exists()])
def test_a_second_text_behind_a_typed_mark_gives_the_answer_of_transformers_to_a_pair(folder, explorer):
    pair = np.load(folder / "pair.npz")
    first, second = pair["texts"]
    trace = explorer.trace(f"{first} [SEP] {second}")
    assert trace.token_ids.tolist() == pair["ids"].tolist()
    marks = [trace.text[begin:end] for begin, end in trace.offsets].count("[SEP]")
    assert (
        len(trace.tokens)
        == len(explorer.trace(first).tokens) + len(explorer.trace(second).tokens) - 2 + marks
    )
    for asked in (trace, explorer.trace(pair["ids"].tolist())):
        assert_allclose(recorded_weights(asked)["attentions"], pair["attentions"], rtol=0, atol=2e-6)
        assert_allclose(asked.logits, pair["logits"], rtol=0, atol=2e-5)


@on([folder for folder in FOLDERS if folder not in CHANGED])
def test_a_head_can_be_ablated(explorer):
    texts = given(explorer)
    with_all, without = (explorer.trace(TEXTS[0], ablate=heads, **texts) for heads in ((), [(0, 1)]))
    assert np.abs(with_all.values.final - without.values.final).max() > 1e-4


@pytest.mark.quick("albert-classes", "gpt-neox", "t5-untied")
@on(DIFFERENT)
def test_compiled_graphs_give_what_the_layers_give(folder, opened):
    explorer = opened(folder)
    for heads in ((), [(0, 1)]):
        prepared = explorer.prepare(explorer.request(TEXTS[0], ablate=heads, **given(explorer)))
        found = flatten(explorer.compute(prepared))
        layers = flatten(explorer.forward(prepared.inputs, prepared.interventions or None))
        assert found.keys() == layers.keys()
        for name, array in found.items():
            assert_allclose(array, layers[name][0], atol=2e-5, err_msg=name)


@pytest.mark.quick("bert-masked", "gpt2", "t5")
@on(DIFFERENT)
def test_a_logit_has_a_gradient_with_respect_to_the_weights(folder, opened):
    explorer = opened(folder)
    output, step = min(1, explorer.config.num_outputs - 1), 1e-2
    stack = next(iter(explorer.config.stacks))
    found = tv.gradients(explorer, TEXTS[0], output=output, **given(explorer)).weights[stack]

    def logit(value):
        trace = explorer.trace(TEXTS[0], patterns={(0, 1): value}, **given(explorer))
        return np.atleast_2d(trace.logits)[-1, output]

    trace = explorer.trace(TEXTS[0], **given(explorer))
    block = (trace.encoder or trace.decoder)[0]
    own = np.array((block.attention if stack == "encoder" else block.self_attention).weights[1])
    more, less = own.copy(), own.copy()
    more[2, 1] += step
    less[2, 1] -= step
    assert_allclose(found[0, 1, 2, 1], (logit(more) - logit(less)) / (2 * step), rtol=0.05, atol=1e-4)


@pytest.mark.quick("bart", "gemma2", "gpt2", "llama-yarn", "t5")
@having(lambda config: config.has_decoder)
def test_texts_are_written_alike_with_and_without_kept_keys(explorer):
    found, never = explorer.generate("The film was", max_new=4), [*never_written(explorer.config)]
    prompt = [*explorer.tokenizer.encode("The film was", max_len=9, start=explorer.config.reads_start).ids]
    for count, token in enumerate(found.token_ids):
        written = found.token_ids[:count]
        if explorer.target_tokenizer:
            trace = explorer.trace("The film was", target=written)
        else:
            trace = explorer.trace([*prompt, *written])
        probs = np.array(trace.probs[-1])
        probs[never] = 0
        assert probs.argmax() == token
    if explorer.target_tokenizer:
        assert found.text == generate_all(explorer, ["The film was"], max_new=4)[0]


@having(lambda config: config.predicts_tokens or (config.num_outputs and config.pooling != "mean"))
def test_the_output_layer_reads_the_answer_behind_the_last_block(explorer):
    trace = explorer.trace(TEXTS[0], **given(explorer))
    found = tv.logit_lens(explorer, trace)
    final = found[len(found) - len(trace.target_tokens or trace.tokens) :].reset_index()
    if trace.probs.ndim == 1:  # the classes are read off one token
        final = final[-1:] if explorer.config.pooling == "last" else final[:1]
    probs = np.atleast_2d(trace.probs)
    assert [*final.answer] == [trace.labels[number] for number in probs.argmax(axis=-1)]
    assert_allclose(final.probability, probs.max(axis=-1), atol=2e-5)


@having(lambda config: config.positions == "rotary")
def test_without_positions_nothing_is_rotated(explorer):
    length = len(explorer.trace(TEXTS[0]).tokens)
    traces = (
        explorer.trace(TEXTS[0], **change)
        for change in ({"positions": "none"}, {"position_ids": [3] * length}, {})
    )
    without, at_one_place, own = (weights(trace.encoder or trace.decoder) for trace in traces)
    assert_allclose(without, at_one_place, atol=1e-6)
    assert np.abs(without - own).max() > 1e-3


@having(lambda config: config.architecture == "encoder-decoder")
def test_the_targets_of_an_encoder_decoder_begin_as_it_was_trained(folder, explorer, answers):
    start = explorer.config.target_start
    assert answers["target"][:, : len(start)].tolist() == [[*start]] * 2
    theirs = json.loads((folder / "texts.json").read_text())[0]
    inner = [number for number, special in zip(theirs["ids"], theirs["special"], strict=True) if not special]
    if "target" in theirs:  # made of other pieces; the end is left to the model
        inner = theirs["target"][:-1]
    trace = explorer.trace("A café.", target=TEXTS[0])
    assert trace.target_ids.tolist() == [*start, *inner][: explorer.config.target_max_len]
    assert explorer.trace("A café.", target=inner[:5]).target_ids.tolist() == [*start, *inner[:5]]


@having(lambda config: config.architecture == "encoder-decoder")
def test_what_a_target_begins_with_is_read_even_if_it_is_called_padding(explorer):
    trace = explorer.trace(TEXTS[0], target="")
    assert trace.is_real.all()
    assert_allclose(trace.answer_probs, trace.probs[-1])
    padded = explorer.trace(TEXTS[0], target="", target_padding=2)
    assert padded.is_real.tolist() == [True] * len(trace.target_tokens) + [False] * 2


@having(lambda config: config.has_relative_bias)
def test_the_scores_hold_the_position_bias_and_without_scaling_it_stays_as_it_is(explorer):
    width = explorer.config.head_dim
    for scaling, divided in ((True, width**0.5), (False, 1)):
        trace = explorer.trace(TEXTS[0], scaling=scaling, **given(explorer))
        sides = [(trace.encoder[0].attention, trace.values.position_bias, trace.values.attention_mask)]
        if trace.decoder:
            found, values = trace.decoder[0].self_attention, trace.values
            sides.append((found, values.target_position_bias, values.target_attention_mask))
        for found, bias, mask in sides:
            products = np.einsum("hqd,hkd->hqk", found.query, found.key)
            assert_allclose(found.scores, products / width**0.5 + bias, atol=1e-5)
            powers = np.where(mask, np.exp(products / divided + bias), 0)
            assert_allclose(found.weights, powers / powers.sum(axis=-1, keepdims=True), atol=1e-5)


@having(lambda config: config.has_relative_bias)
def test_without_relative_positions_nothing_is_added_to_the_scores(explorer):
    trace, target = explorer.trace(TEXTS[0], positions="none", **given(explorer)), given(explorer)
    for block in first_attentions(trace):
        products = np.einsum("hqd,hkd->hqk", block.query, block.key) / explorer.config.head_dim**0.5
        added = block.scores - products
        assert_allclose(added, np.broadcast_to(added[:, :1, :1], added.shape), atol=1e-5)
    for with_bias, without in zip(
        first_attentions(explorer.trace(TEXTS[0], **target)), first_attentions(trace), strict=True
    ):
        assert np.abs(with_bias.weights - without.weights).max() > 1e-3


def first_attentions(trace):
    """Return the self-attention of the first block of each stack."""
    return [
        *(block.attention for block in trace.encoder[:1]),
        *(block.self_attention for block in trace.decoder[:1]),
    ]


def own_masks(trace):
    """Return the mask of the self-attention over the text in each layer: bool (query, key)."""
    found, length = trace.kinds()["encoder" if trace.encoder else "decoder"], len(trace.tokens)
    return [np.broadcast_to(found.mask_of(layer)[0], (length, length)) for layer in range(len(found.layers))]


@one_of_each(lambda _, config: (config.window, config.unlimited_layers, config.causal, config.has_decoder))
def test_each_layer_has_the_window_it_was_made_with(explorer):
    config, trace = explorer.config, explorer.trace(TEXTS[0], **given(explorer))
    index = np.arange(len(trace.tokens))
    distance = index[:, None] - index
    blocks = trace.encoder or trace.decoder
    for layer, mask in enumerate(own_masks(trace)):
        near = np.abs(distance) <= (len(index) if config.window_of(layer) is None else config.window)
        assert_array_equal(mask, near & (distance >= 0) if config.causal else near)
        assert_array_equal(weights(blocks)[:, layer].min(axis=0) > 0, mask)
    assert len({mask.tobytes() for mask in own_masks(trace)}) == 1 + bool(config.unlimited_layers)


@having(lambda config: config.unlimited_layers)
def test_a_mask_that_is_given_holds_in_all_layers(explorer):
    config = explorer.config
    own, given_mask = explorer.trace(TEXTS[0]), "causal" if config.causal else "none"
    trace = explorer.trace(TEXTS[0], attention_mask=given_mask)
    assert len({mask.tobytes() for mask in own_masks(trace)}) == 1
    first = config.unlimited_layers[0]
    assert_array_equal(own_masks(trace)[0], own_masks(own)[first])
    painted = explorer.trace(TEXTS[0], attention_mask=own_masks(own)[-1])
    assert all(np.array_equal(mask, own_masks(own)[-1]) for mask in own_masks(painted))


@having(lambda config: config.unlimited_layers)
def test_uniform_attention_is_even_over_what_the_layer_may_attend_to(explorer):
    layers = range(explorer.config.num_layers)
    trace = explorer.trace(TEXTS[0], patterns={(layer, 1): "uniform" for layer in layers})
    found = weights(trace.encoder or trace.decoder)
    for layer, mask in enumerate(own_masks(trace)):
        assert_allclose(found[1, layer], mask / mask.sum(axis=-1, keepdims=True), atol=1e-6)


@having(lambda config: config.unlimited_layers)
def test_several_texts_in_one_pass_have_the_masks_of_each_layer(explorer):
    prepared = [explorer.prepare(explorer.request(text)) for text in TEXTS[:2]]
    for text, (_, found) in zip(TEXTS, batched_attention(explorer, prepared), strict=False):
        alone = next(iter(explorer.trace(text).kinds().values()))
        [kind] = found.values()
        assert_array_equal(*np.broadcast_arrays(kind.mask, alone.mask))
        for one, other in zip(kind.layers, alone.layers, strict=True):
            assert_allclose(one.weights, other.weights, atol=2e-6)


@having(lambda config: config.architecture == "decoder")
def test_kept_keys_give_the_logits_of_the_whole_text(explorer):
    config = explorer.config
    ids = explorer.trace(TEXTS[0]).token_ids[None]
    sizes = (config.head_dim, config.value_dim)
    past = KVCache(
        *(np.zeros((config.num_layers, 1, config.num_heads, 0, size), np.float32) for size in sizes)
    )
    whole = np.asarray(explorer.model.trace(ids).logits)[0]
    begin = 0
    for end in (3, 4, 7, 8, ids.shape[1]):
        logits, past = explorer.model.extend(ids[:, begin:end], past)
        assert_allclose(np.asarray(logits)[0], whole[end - 1], atol=1e-5)
        begin = end


@having(lambda config: config.norm == "sandwich")
def test_the_outputs_of_sandwiched_sublayers_are_normalised_and_added(explorer):
    parameters = explorer.model.parameters()
    for layer, block in enumerate(explorer.trace(TEXTS[0]).decoder):
        for name, output, added in (
            ("self_attention", block.self_attention.output, block.self_attention_added),
            ("ffn", block.ffn.output, block.ffn_added),
        ):
            size = np.sqrt((output**2).mean(axis=-1, keepdims=True) + explorer.config.norm_epsilon)
            scale = np.asarray(parameters[f"decoder_{layer}/{name}_output_norm/scale"])
            assert_allclose(added, output / size * scale, atol=1e-5)
        assert_allclose(block.resid_pre + block.self_attention_added, block.resid_mid, atol=1e-6)
        assert_allclose(block.resid_mid + block.ffn_added, block.resid_post, atol=1e-6)


@having(lambda config: config.score_cap and config.logit_cap)
def test_scores_and_logits_stay_below_their_caps(explorer):
    cap, most = explorer.config.score_cap, explorer.config.logit_cap
    for scaling in (True, False):
        trace = explorer.trace(TEXTS[0], scaling=scaling)
        layer = trace.decoder[0].self_attention
        products = np.einsum("hqd,hkd->hqk", layer.query, layer.key) / explorer.config.head_dim**0.5
        assert np.abs(products).max() > cap > np.abs(layer.scores).max()
        assert_allclose(layer.scores, cap * np.tanh(products / cap), atol=1e-5)
        divided = 1 if scaling else explorer.config.head_dim**-0.5
        powers = np.exp(cap * np.tanh(products / divided / cap)) * own_masks(trace)[0]
        assert_allclose(layer.weights, powers / powers.sum(axis=-1, keepdims=True), atol=1e-5)
        assert np.abs(trace.logits).max() < most


def test_the_first_attention_of_modernbert_reads_what_the_embeddings_were_normalised_to():
    first, second, *_ = tv.load(HERE / "models" / "modernbert-masked").trace(TEXTS[0]).encoder
    assert_array_equal(first.attention_input, first.resid_pre)
    assert np.abs(second.attention_input - second.resid_pre).max() > 0.1


def test_the_last_token_that_is_read_decides_in_classifiers_of_language_models():
    explorer = tv.load(HERE / "models" / "qwen3-classes")
    trace = explorer.trace(TEXTS[0], padding=3)
    assert trace.values.pooling_weights.argmax() == len(trace.tokens) - 4
    assert_allclose(trace.probs, explorer.trace(TEXTS[0]).probs, atol=1e-6)


def test_a_model_of_one_label_says_the_sigmoid_of_its_score():
    explorer = tv.load(HERE / "models" / "bert-score")
    trace = explorer.trace(TEXTS[0])
    assert trace.labels == ("not relevant", "relevant")
    assert_allclose(trace.probs[1], 1 / (1 + np.exp(-trace.logits[0])), atol=1e-6)


@having(lambda config: config.fills_in)
def test_a_typed_mask_is_a_gap(explorer):
    name = explorer.tokenizer.mask
    trace = explorer.trace(f"The film was {name}.")
    assert [trace.tokens[place] for place in trace.gaps] == [name]
