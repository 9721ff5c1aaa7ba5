"""Models of the Hugging Face hub, against what the `transformers` library answered (record.py)."""

import ast
import json
import mmap
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from safetensors.numpy import load_file, save_file
from sentencepiece import sentencepiece_model_pb2

import transformer_viz as tv
from transformer_viz import store
from transformer_viz.inspection.batched import batched_attention
from transformer_viz.inspection.decode import generate_all
from transformer_viz.inspection.evaluation import evaluate_generation
from transformer_viz.inspection.perplexity import evaluate_masked_tokens, evaluate_texts
from transformer_viz.network.initial import parameters_to_be_read
from transformer_viz.network.model import Transformer
from transformer_viz.pictures.parameters import parameters_of
from transformer_viz.store import ModelError
from transformer_viz.store.hugging_face.tensors import stored_tensors
from transformer_viz.values.config import never_written
from transformer_viz.values.tensors import Past

HERE = Path(__file__).parent
FOLDERS = sorted((HERE / "models").iterdir())


def texts():
    """Return the texts of record.py, which cannot be imported without torch."""
    tree = ast.parse((HERE / "record.py").read_text(encoding="utf-8"))
    [found] = [node for node in tree.body if isinstance(node, ast.Assign) and node.targets[0].id == "TEXTS"]
    return ast.literal_eval(found.value)


TEXTS = texts()

DIFFERENT = (
    *("albert-classes", "bart", "bert-masked", "electra-small", "gemma2", "gemma3", "gpt2", "gpt-neox"),
    *("llama-yarn", "modernbert-mean", "mpnet-classes", "phi3", "qwen3-classes", "t5", "t5-untied"),
)
"""Folders that differ in what lies between weights and logits; gradients are compiled for each."""


@pytest.fixture(scope="module", params=FOLDERS, ids=lambda folder: folder.name)
def folder(request):
    return request.param


@pytest.fixture(scope="module")
def explorer(folder):
    return tv.load(folder)


@pytest.fixture(scope="module")
def answers(folder):
    return np.load(folder / "answers.npz")


@pytest.fixture(scope="module")
def trace(explorer, answers):
    """A batch of two texts, the shorter one behind padding; of an encoder-decoder with two targets."""
    ids = np.where(answers["mask"], answers["ids"], -1).astype(np.int32)
    return explorer.model.trace(ids, answers["target"].astype(np.int32) if "target" in answers else None)


def given(explorer):
    """Return the target that an encoder-decoder is asked about: its own could change with what is changed."""
    return {"target": "The film"} if explorer.target_tokenizer else {}


def weights(blocks):
    layers = [block.attention if hasattr(block, "attention") else block.self_attention for block in blocks]
    return np.stack([np.asarray(layer.weights) for layer in layers], axis=1)


def test_weights_are_those_of_transformers(trace, answers):
    found, real = weights(trace.encoder or trace.decoder), answers["mask"].astype(bool)
    for row, length in enumerate(real.sum(axis=1)):
        ours, theirs = (each[row, :, :, :length] for each in (found, answers["attentions"]))
        assert_allclose(ours, theirs, atol=2e-6)
    if "target" in answers:
        cross = np.stack([np.asarray(block.cross_attention.weights) for block in trace.decoder], axis=1)
        assert_allclose(weights(trace.decoder), answers["decoder"], atol=2e-6)
        assert_allclose(cross, answers["cross"], atol=2e-6)


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


@pytest.mark.parametrize("number", range(len(TEXTS)))
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


def test_a_text_is_traced_with_readable_tokens(explorer):
    trace = explorer.trace(TEXTS[1])
    assert not any("Ġ" in token or "Ã" in token for token in trace.tokens)
    outputs = 2 if explorer.config.output == "sigmoid" else explorer.config.num_outputs
    assert trace.probs.shape[-1] == len(trace.labels) == outputs
    if explorer.config.num_outputs:
        assert_allclose(trace.probs.sum(axis=-1), 1, atol=1e-5)
    joined = "".join(trace.text[begin:end] for begin, end in trace.offsets)
    assert "friend" in joined


def test_rows_of_the_embedding_that_are_no_tokens_are_named_by_their_ids(explorer):
    size = explorer.config.vocab_size
    assert explorer.tokenizer.vocabulary[-2:] == (f"[{size - 2}]", f"[{size - 1}]")
    assert all(explorer.tokenizer.vocabulary)


def test_ids_of_the_hub_can_be_given_as_they_are(folder, explorer):
    expected = json.loads((folder / "texts.json").read_text())[0]["ids"]
    trace = explorer.trace(expected)
    assert trace.token_ids.tolist() == expected


def test_a_head_can_be_ablated(explorer):
    texts = given(explorer)
    with_all, without = (explorer.trace(TEXTS[0], ablate=heads, **texts) for heads in ((), [(0, 1)]))
    assert np.abs(with_all.values.final - without.values.final).max() > 1e-4


def test_a_logit_has_a_gradient_with_respect_to_the_weights(folder, explorer):
    if folder.name not in DIFFERENT:
        return
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


def test_texts_are_written_alike_with_and_without_kept_keys(explorer):
    if not explorer.config.has_decoder:
        return
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


def test_the_output_layer_reads_the_answer_behind_the_last_block(explorer):
    if not explorer.config.num_outputs:
        return
    trace = explorer.trace(TEXTS[0], **given(explorer))
    found = tv.logit_lens(explorer, trace)
    final = found[len(found) - len(trace.target_tokens or trace.tokens) :].reset_index()
    if trace.probs.ndim == 1:  # the classes are read off one token
        if explorer.config.pooling == "mean":  # or off all, of which each alone says something else
            return
        final = final[-1:] if explorer.config.pooling == "last" else final[:1]
    probs = np.atleast_2d(trace.probs)
    assert [*final.answer] == [trace.labels[number] for number in probs.argmax(axis=-1)]
    assert_allclose(final.probability, probs.max(axis=-1), atol=2e-5)


def test_without_positions_nothing_is_rotated(explorer):
    if explorer.config.positions != "rotary":
        return
    length = len(explorer.trace(TEXTS[0]).tokens)
    traces = (
        explorer.trace(TEXTS[0], **change)
        for change in ({"positions": "none"}, {"position_ids": [3] * length}, {})
    )
    without, at_one_place, own = (weights(trace.encoder or trace.decoder) for trace in traces)
    assert_allclose(without, at_one_place, atol=1e-6)
    assert np.abs(without - own).max() > 1e-3


def test_the_targets_of_an_encoder_decoder_begin_as_it_was_trained(folder, explorer, answers):
    if not explorer.target_tokenizer:
        return
    start = explorer.config.target_start
    assert answers["target"][:, : len(start)].tolist() == [[*start]] * 2
    theirs = json.loads((folder / "texts.json").read_text())[0]
    inner = [number for number, special in zip(theirs["ids"], theirs["special"], strict=True) if not special]
    if "target" in theirs:  # made of other pieces; the end is left to the model
        inner = theirs["target"][:-1]
    trace = explorer.trace("A café.", target=TEXTS[0])
    assert trace.target_ids.tolist() == [*start, *inner][: explorer.config.target_max_len]
    assert explorer.trace("A café.", target=inner[:5]).target_ids.tolist() == [*start, *inner[:5]]


def test_what_a_target_begins_with_is_read_even_if_it_is_called_padding(explorer):
    if not explorer.target_tokenizer:
        return
    trace = explorer.trace(TEXTS[0], target="")
    assert trace.read.all()
    assert_allclose(trace.answer_probs, trace.probs[-1])
    padded = explorer.trace(TEXTS[0], target="", target_padding=2)
    assert padded.read.tolist() == [True] * len(trace.target_tokens) + [False] * 2


def test_the_scores_hold_the_position_bias_and_without_scaling_it_stays_as_it_is(explorer):
    if not explorer.config.has_relative_bias:
        return
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


def test_without_relative_positions_nothing_is_added_to_the_scores(explorer):
    if not explorer.config.has_relative_bias:
        return
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


def test_a_mask_that_is_given_holds_in_all_layers(explorer):
    config = explorer.config
    if not config.unlimited_layers:
        return
    own, given_mask = explorer.trace(TEXTS[0]), "causal" if config.causal else "none"
    trace = explorer.trace(TEXTS[0], attention_mask=given_mask)
    assert len({mask.tobytes() for mask in own_masks(trace)}) == 1
    first = config.unlimited_layers[0]
    assert_array_equal(own_masks(trace)[0], own_masks(own)[first])
    painted = explorer.trace(TEXTS[0], attention_mask=own_masks(own)[-1])
    assert all(np.array_equal(mask, own_masks(own)[-1]) for mask in own_masks(painted))


def test_uniform_attention_is_even_over_what_the_layer_may_attend_to(explorer):
    if not explorer.config.unlimited_layers:
        return
    layers = range(explorer.config.num_layers)
    trace = explorer.trace(TEXTS[0], patterns={(layer, 1): "uniform" for layer in layers})
    found = weights(trace.encoder or trace.decoder)
    for layer, mask in enumerate(own_masks(trace)):
        assert_allclose(found[1, layer], mask / mask.sum(axis=-1, keepdims=True), atol=1e-6)


def test_several_texts_in_one_pass_have_the_masks_of_each_layer(explorer):
    if not explorer.config.unlimited_layers:
        return
    prepared = [explorer.prepare(explorer.request(text)) for text in TEXTS[:2]]
    for text, (_, found) in zip(TEXTS, batched_attention(explorer, prepared), strict=False):
        alone = next(iter(explorer.trace(text).kinds().values()))
        [kind] = found.values()
        assert_array_equal(*np.broadcast_arrays(kind.mask, alone.mask))
        for one, other in zip(kind.layers, alone.layers, strict=True):
            assert_allclose(one.weights, other.weights, atol=2e-6)


def test_kept_keys_give_the_logits_of_the_whole_text(explorer):
    config = explorer.config
    if config.architecture != "decoder":
        return
    ids = explorer.trace(TEXTS[0]).token_ids[None]
    sizes = (config.head_dim, config.value_dim)
    past = Past(*(np.zeros((config.num_layers, 1, config.num_heads, 0, size), np.float32) for size in sizes))
    whole = np.asarray(explorer.model.trace(ids).logits)[0]
    begin = 0
    for end in (3, 4, 7, *range(8, ids.shape[1] + 1)):
        logits, past = explorer.model.extend(ids[:, begin:end], past)
        assert_allclose(np.asarray(logits)[0], whole[end - 1], atol=1e-5)
        begin = end


def test_the_outputs_of_sandwiched_sublayers_are_normalised_and_added(explorer):
    if explorer.config.norm != "sandwich":
        return
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


def test_scores_and_logits_stay_below_their_caps(explorer):
    cap, most = explorer.config.score_cap, explorer.config.logit_cap
    if cap is None or most is None:
        return
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
    first, second, *_ = tv.load(HERE / "models" / "modernbert").trace(TEXTS[0]).encoder
    assert_array_equal(first.attention_input, first.resid_pre)
    assert np.abs(second.attention_input - second.resid_pre).max() > 0.1


def test_layers_and_bases_are_read_from_older_files_too(copied):
    older = {"layer_types": ..., "rope_parameters": ...}
    for name, values in (
        ("modernbert", {"global_rope_theta": 500.0, "local_rope_theta": 20.0}),
        ("gemma3", {"rope_theta": 500.0, "rope_local_base_freq": 20.0}),
        (
            "gemma3-scaled",
            {
                "rope_theta": 500.0,
                "rope_local_base_freq": 20.0,
                "rope_scaling": {"type": "linear", "factor": 4.0},
            },
        ),
        ("gemma2", {"rope_theta": 10_000.0}),
        ("qwen2-mixed", {}),
    ):
        folder = copied(name)
        config = store.read_config(folder)
        assert config.unlimited_layers
        assert store.read_config(changed(folder, **older, **values)) == config
    alternating = changed(copied("gpt-neo"), attention_layers=..., attention_types=...)
    assert store.read_config(alternating).unlimited_layers == (0, 2)
    config = store.read_config(changed(copied("modernbert-masked"), rope_parameters=..., layer_types=...))
    assert (config.rotary_base, config.window_rotary_base) == (160_000, 10_000)


def test_the_scaling_factors_of_rotary_positions_are_read(copied):
    folder = copied("llama-scaled")
    kept, between, scaled = store.read_config(folder).rotary_scaling
    assert (kept, scaled) == (1, 3)
    assert 2 < between < 3
    parts = json.loads((folder / "config.json").read_text())["rope_parameters"]
    config, older = store.read_config(folder), {"rope_theta": parts.pop("rope_theta"), "rope_scaling": parts}
    assert store.read_config(changed(folder, rope_parameters=..., **older)) == config
    gemma = store.read_config(copied("gemma3-scaled"))
    assert gemma.rotary_of(2) == (500, (4.0,) * 4)  # the third block is without a window
    assert gemma.rotary_of(1) == (20, ())


def test_a_scaling_that_depends_on_the_length_holds_for_texts_as_long_as_in_pre_training(copied):
    folder = copied("phi3-long")
    config = store.read_config(folder)
    assert (config.rotary_scaling, config.max_len) == ((1.0, 1.5), 40)
    parts = {"type": "su", "short_factor": [1.0, 1.5], "long_factor": [2.0, 9.0]}
    older = {"rope_theta": 50.0, "rope_scaling": parts, "original_max_position_embeddings": 40}
    assert store.read_config(changed(folder, rope_parameters=..., **older)) == config
    folder = copied("llama")
    config, dynamic = store.read_config(folder), {"rope_type": "dynamic", "factor": 4.0, "rope_theta": 500.0}
    assert store.read_config(changed(folder, rope_parameters=dynamic)) == config


def test_layers_that_all_are_alike_are_no_mixture(copied):
    folder = copied("qwen2-mixed")
    config = store.read_config(folder)
    alike = config.replace(unlimited_layers=())
    assert store.read_config(changed(folder, layer_types=..., max_window_layers=0)) == alike
    assert store.read_config(changed(folder, max_window_layers=3)) == alike.replace(window=None)
    assert store.read_config(changed(folder, use_sliding_window=False)) == alike.replace(window=None)


def test_a_model_with_another_head_opens_without_it(copied):
    for name, kind, left_out in (
        ("gpt2-classes", "GPT2ForTokenClassification", "score.weight"),
        ("mistral", "MistralForQuestionAnswering", "lm_head.weight"),
        ("llama", "LlamaModel", "lm_head.weight"),
        ("bert-classes", "BertForTokenClassification", "classifier.weight"),
    ):
        folder = changed(copied(name), architectures=[kind])
        config = store.read_config(folder)
        assert (config.architecture, config.output) == ("encoder", "none")
        assert config.causal == (name != "bert-classes")
        assert left_out in store.read_model(folder).card["left_out"]


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


def test_a_typed_mask_is_a_gap(explorer):
    if not explorer.config.fills_in:
        return
    name = explorer.tokenizer.mask
    trace = explorer.trace(f"The film was {name}.")
    assert [trace.tokens[place] for place in trace.gaps] == [name]


@pytest.fixture
def copied(tmp_path):
    """A copy of a folder that a test may damage."""

    def copy(name):
        return Path(shutil.copytree(HERE / "models" / name, tmp_path / name))

    return copy


def changed(folder, **values):
    file = folder / "config.json"
    content = json.loads(file.read_text()) | values
    file.write_text(json.dumps({name: value for name, value in content.items() if value is not ...}))
    return folder


KINDS = "kinds of attention that are not understood"
ROPE = "these rotary positions are incomplete, or scaled in a way that is not understood"
YARN = {"rope_type": "yarn", "rope_theta": 50.0, "factor": 2.0, "original_max_position_embeddings": 24}
LONGROPE = {"rope_type": "longrope", "rope_theta": 50.0, "short_factor": [1.0, 1.5]}
LLAMA3 = {"rope_type": "llama3", "factor": 3.0, "low_freq_factor": 0.5, "high_freq_factor": 2.0}


@pytest.mark.parametrize(
    ("name", "values", "says"),
    [
        ("bert", {"model_type": "deberta"}, "type deberta cannot be read. Types that can: albert, bart,"),
        ("bert", {"quantization_config": {"bits": 4}}, "this model is quantised"),
        ("bert", {"position_embedding_type": "relative_key"}, "`position_embedding_type` = relative_key is"),
        ("bert", {"hidden_act": "mish"}, "the activation mish is not known"),
        ("bert", {"hidden_size": ...}, "has no `hidden_size`"),
        ("bert", {"num_hidden_layers": 3}, "there is no tensor for encoder_2/attention/query/kernel"),
        ("bert", {"num_hidden_layers": 10**9}, "num_layers"),
        ("bert", {"hidden_size": 10**9}, "d_model"),
        ("bert", {"hidden_size": "wide"}, "`d_model` must be a whole number"),
        ("bert", {"vocab_size": 10**7}, "vocab_size"),
        ("llama", {"rope_parameters": {"rope_theta": "x"}}, ROPE),
        ("llama", {"rope_parameters": {"rope_theta": 10**400}}, ROPE),
        ("llama", {"rope_parameters": {"partial_rotary_factor": 1e308}}, ROPE),
        ("llama", {"rope_parameters": {"rope_type": "ntk", "factor": 4.0}}, ROPE),
        ("llama", {"rope_parameters": {"rope_type": ["yarn"], "factor": 4.0}}, ROPE),
        ("llama-yarn", {"rope_parameters": YARN | {"factor": "2"}}, ROPE),
        ("llama-yarn", {"rope_parameters": YARN | {"beta_fast": -1}}, ROPE),
        ("llama-yarn", {"rope_parameters": YARN | {"rope_theta": 1.0}}, ROPE),
        ("llama-yarn", {"rope_parameters": YARN | {"attention_factor": 0}}, ROPE),
        ("llama-yarn", {"rope_parameters": YARN | {"attention_factor": 1e200}}, ROPE),
        ("llama-yarn", {"rope_parameters": YARN | {"mscale": 1e9, "mscale_all_dim": 1.0}}, ROPE),
        ("llama-yarn", {"rope_parameters": YARN | {"original_max_position_embeddings": 1}}, ROPE),
        ("phi3-long", {"rope_parameters": LONGROPE | {"short_factor": [1.0]}}, ROPE),
        ("phi3-long", {"rope_parameters": LONGROPE | {"short_factor": [1.0, 0]}}, ROPE),
        ("phi3-long", {"rope_parameters": LONGROPE | {"short_factor": None}}, ROPE),
        ("llama", {"rope_parameters": {"rope_type": "linear", "factor": 0}}, ROPE),
        ("llama-scaled", {"rope_parameters": LLAMA3 | {"low_freq_factor": 2.0}}, ROPE),
        ("llama-scaled", {"rope_parameters": LLAMA3 | {"factor": "3"}}, ROPE),
        ("llama-scaled", {"rope_parameters": LLAMA3, "hidden_size": 10**9}, "d_model"),
        ("gpt2", {"n_embd": 20}, "has shape (332, 24), and config.json asks for (332, 20)"),
        ("gpt-neox", {"num_attention_heads": 3}, "`rotary_width` = 5 must be even"),
        ("bert-classes", {"id2label": {"0": 1, "1": 2}}, "labels"),
        ("bert", {"num_hidden_layers": 1}, "16 tensors inside the blocks are not understood"),
        ("bert", {"intermediate_size": 41}, "has shape (24, 40), and config.json asks for (24, 41)"),
        ("bert-classes", {"problem_type": "regression"}, "a model that predicts a number"),
        ("bert-classes", {"problem_type": "multi_label_classification"}, "several labels at once"),
        ("electra", {"embedding_size": 12}, "has shape (154, 24), and config.json asks for (154, 12)"),
        ("opt", {"word_embed_proj_dim": 12}, "`word_embed_proj_dim` = 12 is not understood, only 24"),
        ("albert", {"num_hidden_groups": 2}, "`num_hidden_groups` = 2 is not understood, only 1"),
        ("llama", {"rope_parameters": {"rope_type": "llama3"}}, ROPE),
        ("phi3", {"num_key_value_heads": 4}, "there is no tensor for decoder_0/self_attention/query/kernel"),
        ("stablelm", {"use_parallel_residual": True}, "`use_parallel_residual` = True is not understood"),
        ("bart", {"decoder_attention_heads": 2}, "`decoder_attention_heads` = 2 is not understood, only 4"),
        ("marian", {"add_final_layer_norm": True}, "`add_final_layer_norm` = True is not understood"),
        ("marian", {"decoder_start_token_id": 10**6}, "`target_start` = (1000000,) names a token"),
        ("mpnet", {"relative_attention_num_buckets": 16}, "`relative_attention_num_buckets` = 16 is not"),
        ("t5", {"feed_forward_proj": "gated-mish"}, "the activation mish is not known"),
        ("t5", {"relative_attention_num_buckets": 2}, "`relative_buckets` = 2 must be at least 4"),
        ("t5", {"relative_attention_num_buckets": 10}, "has shape (8, 4), and config.json asks for (10, 4)"),
        ("t5", {"relative_attention_max_distance": 10**9}, "relative_reach"),
        ("t5", {"num_decoder_layers": 2}, "13 tensors inside the blocks are not understood"),
        ("qwen2", {"layer_types": ["full_attention", "sliding_attention"]}, KINDS),
        ("qwen2-mixed", {"layer_types": ["full_attention", "chunked_attention", "full_attention"]}, KINDS),
        ("qwen2-mixed", {"layer_types": ["full_attention", "sliding_attention"]}, KINDS),
        ("gpt-neo", {"attention_layers": ...}, KINDS),
        ("gpt-neo", {"attention_layers": ["global", ["local"], "global"]}, KINDS),
        ("qwen2-mixed", {"layer_types": None, "max_window_layers": -1}, KINDS),
        ("gemma3", {"layer_types": None, "sliding_window_pattern": 0}, KINDS),
        ("mistral", {"layer_types": ["full_attention", "sliding_attention"]}, KINDS),
        ("gemma2", {"model_type": "gemma3"}, "models of type gemma3 cannot be read"),
        ("gemma2", {"use_bidirectional_attention": True}, "`use_bidirectional_attention` = True is not"),
        ("gemma2", {"query_pre_attn_scalar": 0}, "`query_pre_attn_scalar` = 0 is not understood"),
        ("gemma3", {"attn_logit_softcapping": 50.0}, "`attn_logit_softcapping` = 50.0 is not understood"),
        ("gemma3", {"rope_parameters": {"full_attention": {"rope_type": "yarn", "factor": 8.0}}}, ROPE),
        ("gemma3", {"rope_parameters": None, "rope_scaling": {"rope_type": "longrope"}}, ROPE),
        ("llama", {"rope_parameters": {"full_attention": {}}}, ROPE),
        ("modernbert", {"rope_scaling": {"rope_type": "linear", "factor": 8.0}}, "`rope_scaling` = "),
        ("modernbert", {"classifier_activation": "silu"}, "`classifier_activation` = silu is not understood"),
        ("modernbert-classes", {"classifier_pooling": "max"}, "`classifier_pooling` = max is not understood"),
        (
            "modernbert-classes",
            {"classifier_activation": "silu", "hidden_activation": "silu"},
            "`classifier_activation` = silu is not understood, only gelu",
        ),
        (
            "bart",
            {"architectures": ["BartForSequenceClassification"]},
            "the output layer of BartForSequenceClassification is not supported",
        ),
        ("modernbert", {"norm_bias": True}, "there is no tensor for embedding_norm/beta"),
        ("modernbert", {"num_hidden_layers": 6, "layer_types": None}, "no tensor for encoder_5/attention/"),
    ],
)
def test_what_is_not_understood_is_refused_with_a_sentence(copied, name, values, says):
    with pytest.raises(ModelError, match=says.replace("(", r"\(").replace(")", r"\)")):
        store.read_model(changed(copied(name), **values))


def test_files_that_are_missing_or_cut_off_are_named(copied):
    folder = copied("bert")
    weights = folder / "model.safetensors"
    data = weights.read_bytes()
    weights.write_bytes(data[: len(data) // 2])
    with pytest.raises(ModelError, match="damaged or cut off"):
        store.read_model(folder)
    weights.unlink()
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04 a pickle")
    with pytest.raises(ModelError, match="files of pickles are never opened"):
        store.read_model(folder)
    weights.write_bytes(data)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match=r"has no tokenizer\.json"):
        store.read_model(folder)


@pytest.mark.parametrize("name", ["bert-masked", "electra", "distilbert"])
def test_a_vocab_txt_alone_gives_the_same_tokens(copied, name):
    folder = copied(name)
    vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match=r"has no tokenizer\.json"):
        store.read_model(folder)
    before = store.stamp(folder)
    (folder / "vocab.txt").write_text(
        "\n".join(sorted(vocabulary, key=vocabulary.get)) + "\n", encoding="utf-8"
    )
    assert store.stamp(folder) != before
    found, whole = tv.load(folder), tv.load(HERE / "models" / name)
    assert found.config == whole.config
    for text in (*TEXTS, "A film [SEP] another one"):
        ours, theirs = (each.tokenizer.encode(text, max_len=99, start=True) for each in (found, whole))
        assert (ours.ids.tolist(), ours.offsets) == (theirs.ids.tolist(), theirs.offsets)


def test_a_vocab_txt_says_whether_capitals_count_and_must_be_berts(copied):
    folder = copied("bert")
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\nFilm\nfilm\n", encoding="utf-8")
    assert tv.load(folder).trace("Film film").token_ids.tolist() == [2, 5, 5, 3]
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    assert tv.load(folder).trace("Film film").token_ids.tolist() == [2, 4, 5, 3]
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\nfilm\n", encoding="utf-8")
    with pytest.raises(
        ModelError, match=r"vocab\.txt is not the vocabulary of a BERT: it lacks \[CLS\], \[SEP\]"
    ):
        tv.load(folder)


def test_a_byte_that_is_a_character_is_shown_as_one():
    tokens = tv.load(HERE / "models" / "llama").trace("Z\n€").tokens
    assert tokens[-5:] == ("Z", "\n", "<0xE2>", "<0x82>", "<0xAC>")


def test_how_a_target_begins_is_read_from_either_file(copied):
    folder = copied("bart")
    assert "forced_bos_token_id" not in json.loads((folder / "config.json").read_text())
    assert store.read_config(folder).target_start == (2, 0)
    changed(folder, forced_bos_token_id=None, decoder_start_token_id=None)
    assert store.read_config(folder).target_start == (2, 0)
    changed(folder, forced_bos_token_id=7, decoder_start_token_id=5)
    assert store.read_config(folder).target_start == (5, 7)
    (folder / "generation_config.json").unlink()
    changed(folder, forced_bos_token_id=..., decoder_start_token_id=...)
    assert store.read_config(folder).target_start == (1,)  # the token of padding


def test_the_files_of_a_marian_model_are_read_or_named(copied):
    folder = copied("marian-pieces")
    explorer = tv.load(folder)
    assert explorer.tokenizer.encode(">>fra<< The film", max_len=9).tokens[0].endswith(">>fra<<")
    assert not any("\u2063" in token for token in (*explorer.labels, *explorer.tokenizer.vocabulary))
    assert "\u2063" not in explorer.target_tokenizer.decode(range(explorer.config.vocab_size))
    pieces = (folder / "target.spm").read_bytes()
    proto = sentencepiece_model_pb2.ModelProto.FromString(pieces)
    proto.normalizer_spec.precompiled_charsmap = b"\xff" * 40
    (folder / "target.spm").write_bytes(proto.SerializeToString())
    with pytest.raises(ModelError, match=r"target\.spm.*this SentencePiece model cannot be used"):
        tv.load(folder)
    proto.trainer_spec.model_type = 2
    (folder / "target.spm").write_bytes(proto.SerializeToString())
    with pytest.raises(ModelError, match=r"target\.spm.*not a unigram model"):
        tv.load(folder)
    (folder / "target.spm").write_bytes(pieces[: len(pieces) // 2])
    with pytest.raises(ModelError, match=r"target\.spm.*damaged, or not a SentencePiece model"):
        tv.load(folder)
    (folder / "target.spm").unlink()
    with pytest.raises(ModelError, match=r"has no target\.spm. A Marian model needs source\.spm"):
        tv.load(folder)
    (folder / "target.spm").write_bytes(pieces)
    for vocabulary in ('{"</s>": 0, "<unk>": 2}', '{"</s>": 0, "<unk>": "1"}', '{"</s>": 0, "a": 1}'):
        (folder / "vocab.json").write_text(vocabulary)
        with pytest.raises(ModelError, match=r"vocab\.json must number its tokens from 0 without gaps"):
            tv.load(folder)


def test_shards_and_half_precision_are_the_same_numbers(copied):
    folder = copied("gpt2")
    arrays = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names, index = sorted(arrays), {}
    for number, part in enumerate((names[::2], names[1::2])):
        file = f"model-{number}.safetensors"
        save_file({name: arrays[name].astype(np.float16) for name in part}, folder / file)
        index |= dict.fromkeys(part, file)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
    whole, found = store.read_model(HERE / "models" / "gpt2"), store.read_model(folder)
    for name, array in whole.parameters.items():
        assert_allclose(found.parameters[name], array.astype(np.float16), rtol=0)
    (folder / "model-1.safetensors").unlink()
    with pytest.raises(ModelError, match=r"model-1\.safetensors is missing"):
        store.read_model(folder)


def test_bfloat16_is_the_upper_half_of_float32(copied):
    folder = copied("bert")
    file = folder / "model.safetensors"
    arrays = load_file(file)
    data = b"".join((array.view(np.uint32) >> 16).astype("<u2").tobytes() for array in arrays.values())
    header, begin = {}, 0
    for name, array in arrays.items():
        end = begin + 2 * array.size
        header[name] = {"dtype": "BF16", "shape": list(array.shape), "data_offsets": [begin, end]}
        begin = end
    text = json.dumps(header).encode()
    file.write_bytes(len(text).to_bytes(8, "little") + text + data)
    for name, tensor in stored_tensors(folder).items():
        upper = arrays[name].view(np.uint32) & np.uint32(0xFFFF0000)
        assert (tensor.read() == upper.view(np.float32)).all()


def test_buffers_of_other_types_are_left_alone(copied):
    folder = copied("bert")
    arrays = load_file(folder / "model.safetensors")
    arrays["embeddings.position_ids"] = np.arange(48)[None]
    save_file(arrays, folder / "model.safetensors")
    assert (
        store.read_model(folder).parameters.keys()
        == store.read_model(HERE / "models" / "bert").parameters.keys()
    )
    arrays["embeddings.LayerNorm.weight"] = np.ones(24, np.int64)
    save_file(arrays, folder / "model.safetensors")
    with pytest.raises(ModelError, match=r"embeddings\.LayerNorm\.weight has type I64"):
        store.read_model(folder)


def test_tensors_outside_the_blocks_that_are_not_read_are_named(copied):
    folder = copied("bert-masked")
    arrays = load_file(folder / "model.safetensors")
    arrays |= {"cls.seq_relationship.bias": np.zeros(2, np.float32), "embeddings.position_ids": np.arange(9)}
    save_file(arrays, folder / "model.safetensors")
    assert store.read_model(folder).card["left_out"] == ["cls.seq_relationship.bias"]
    assert tv.load(folder).card["left_out"] == ["cls.seq_relationship.bias"]


def test_only_an_output_layer_of_its_own_may_lack_a_bias(copied):
    folder = copied("bert-masked")
    arrays = load_file(folder / "model.safetensors")
    del arrays["cls.predictions.bias"]
    save_file(arrays, folder / "model.safetensors")
    with pytest.raises(ModelError, match="there is no tensor for output/bias"):
        store.read_model(folder)
    llama = store.read_model(HERE / "models" / "llama")  # whose lm_head has none
    assert not llama.parameters["output/bias"].any()


def test_roles_of_heads_are_kept_in_the_folder(copied):
    folder = copied("bert-masked")
    before = store.stamp(folder)
    found = tv.head_roles(tv.load(folder), TEXTS)
    store.write_head_roles(folder.name, found, folder.parent)
    assert store.read_head_roles(folder) == found
    assert tv.load(folder).head_roles == found
    assert store.stamp(folder) != before


def test_folders_are_listed_among_models(copied):
    folder = copied("gpt2")
    changed(copied("bert"), model_type="deberta")
    broken, found = store.list_models(folder.parent)
    assert (found.name, found.config.architecture, found.error) == ("gpt2", "decoder", None)
    assert "models of type deberta cannot be read" in broken.problem


def cross_entropy(logits, targets):
    """Return the sum over tokens of -log p, from logits (token, choice)."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_probs = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return -log_probs[np.arange(len(targets)), targets].sum()


@pytest.mark.parametrize("name", ["gpt2", "llama", "gemma2", "mistral"])
def test_the_perplexity_of_a_text_is_that_of_transformers(name):
    folder = HERE / "models" / name
    answers = np.load(folder / "answers.npz")
    ids, logits = answers["ids"][0], answers["logits"][0]
    found = evaluate_texts(tv.load(folder), [TEXTS[0]])
    assert found.tokens == len(ids) - 1
    assert_allclose(found.perplexity, np.exp(cross_entropy(logits[:-1], ids[1:]) / found.tokens), rtol=1e-5)
    assert found.token_accuracy == (logits[:-1].argmax(axis=-1) == ids[1:]).mean()


def test_each_token_of_texts_longer_than_the_model_reads_is_predicted_once():
    explorer = tv.load(HERE / "models" / "gpt2")
    texts = [TEXTS[0], " ".join(TEXTS[:2] * 3), "", TEXTS[3]]
    most, nats, count = explorer.config.max_len, 0.0, 0
    for text in texts:
        ids = explorer.tokenizer.encode(text, max_len=10**6).ids
        for begin in range(0, len(ids) - 1, most):
            part = ids[begin : begin + most + 1]
            logits = explorer.trace(part[:-1]).logits
            nats, count = nats + cross_entropy(logits, part[1:]), count + len(part) - 1
    for size in (1, 3):
        found = evaluate_texts(explorer, texts, batch_size=size)
        assert (found.texts, found.tokens) == (4, count)
        assert_allclose(found.perplexity, np.exp(nats / count), rtol=1e-5)


@pytest.mark.parametrize("name", ["bart", "t5"])
def test_translations_are_evaluated_by_what_the_decoder_says_of_the_right_ones(name):
    explorer = tv.load(HERE / "models" / name)
    rows = pd.DataFrame({"text": [TEXTS[0], "A café."], "target": ["The film", TEXTS[3]]})
    nats, answers, right = 0.0, 0, 0
    for text, target in rows.itertuples(index=False):
        trace = explorer.trace(text, target=target)
        first = len(explorer.config.target_start)
        after = [*trace.target_ids[first:], explorer.config.end_id]
        logits = trace.logits[first - 1 :]
        nats, answers = nats + cross_entropy(logits, after), answers + len(after)
        right += (logits.argmax(axis=-1) == after).sum()
    found = evaluate_generation(explorer, rows)
    assert_allclose(found.perplexity, np.exp(nats / answers), rtol=1e-4)
    assert_allclose(found.token_accuracy, right / answers)


def test_what_depends_on_our_own_special_tokens_is_not_evaluated():
    rows = pd.DataFrame({"text": ["The film"], "target": ["was good"]})
    with pytest.raises(ValueError, match="gpt2 cannot be evaluated in this way"):
        evaluate_generation(tv.load(HERE / "models" / "gpt2"), rows)
    with pytest.raises(ValueError, match="bert-masked cannot be evaluated in this way"):
        evaluate_masked_tokens(tv.load(HERE / "models" / "bert-masked"), ["The film was good."] * 20)


def test_a_folder_of_the_hub_is_copied_as_it_is_and_never_deleted(copied):
    folder = copied("gpt2")
    for act in (store.pack_model, store.read_files):
        with pytest.raises(ModelError, match="copy it as it is"):
            act("gpt2", folder.parent)
    with pytest.raises(ModelError, match="is not deleted"):
        store.delete_model("gpt2", folder.parent)
    store.rename_model("gpt2", "mine", folder.parent)
    assert store.read_config("mine", folder.parent).architecture == "decoder"


def test_a_folder_may_be_made_of_links(tmp_path):
    folder = tmp_path / "linked"
    folder.mkdir()
    for file in (HERE / "models" / "bert").iterdir():
        (folder / file.name).symlink_to(file)
    (tmp_path / "link").symlink_to(folder)
    assert [model.error for model in store.list_models(tmp_path)] == [None, None]
    assert store.read_model("link", tmp_path).config == store.read_config(folder)


def test_a_header_that_lies_about_its_size_takes_no_memory(copied):
    file = copied("bert") / "model.safetensors"
    file.write_bytes((2**40).to_bytes(8, "little") + b"{}")
    with pytest.raises(ModelError, match="damaged or cut off"):
        store.read_model(file.parent)


def is_view_of_a_file(array):
    while array is not None and not isinstance(array, mmap.mmap):
        array = getattr(array, "base", None)
    return array is not None


def test_arrays_are_views_of_the_file_and_pictures_keep_copies():
    place = HERE / "models" / "bert-masked"
    names = ("encoder_0/attention/query/kernel", "token_embedding/embeddings")
    stored = store.read_model(place)
    kept = parameters_of(str(place), lambda config: names)
    for name in names:
        assert is_view_of_a_file(stored.parameters[name])
        assert not is_view_of_a_file(kept[name])
        assert_array_equal(kept[name], stored.parameters[name])


def test_a_model_whose_parameters_are_read_begins_with_zeros():
    config = store.read_config(HERE / "models" / "bert-masked")
    with parameters_to_be_read():
        read = Transformer(config).parameters()
    made = Transformer(config).parameters()
    for name, variable in read.items():
        if name.endswith(("kernel", "embeddings")):
            assert not np.asarray(variable).any()
            assert np.asarray(made[name]).any()
    loaded = tv.load(HERE / "models" / "bert-masked").model.parameters()
    for name, array in store.read_model(HERE / "models" / "bert-masked").parameters.items():
        assert_array_equal(loaded[name], array)
