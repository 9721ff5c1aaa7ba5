"""Folders of the Hugging Face hub: what is read of them, what is refused, and how they are kept."""

import json
import mmap
import shutil
import traceback

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from recorded import HERE, TEXTS, changed
from safetensors.numpy import load_file, save_file
from sentencepiece import sentencepiece_model_pb2

import transformer_viz as tv
from transformer_viz import store
from transformer_viz.cli.main import main
from transformer_viz.language import sentence_of
from transformer_viz.network.layers import parameters_to_be_read
from transformer_viz.network.model import Transformer
from transformer_viz.pictures.parameters import parameters_of
from transformer_viz.questions.evaluation.measure import evaluate
from transformer_viz.store import ModelError
from transformer_viz.store.hugging_face.tensors import stored_tensors

pytestmark = pytest.mark.usefixtures("no_graphs")


def test_layers_and_bases_are_read_from_older_files_too(copied):
    older = {"layer_types": ..., "rope_parameters": ...}
    for name, values in (
        ("modernbert-masked", {"global_rope_theta": 500.0, "local_rope_theta": 20.0}),
        (
            "gemma3",
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
    config = store.read_config(changed(copied("modernbert-classes"), rope_parameters=..., layer_types=...))
    assert (config.rotary_base, config.window_rotary_base) == (160_000, 10_000)


def test_the_scaling_factors_of_rotary_positions_are_read(copied):
    folder = copied("llama-scaled")
    kept, between, scaled = store.read_config(folder).rotary_scaling
    assert (kept, scaled) == (1, 3)
    assert 2 < between < 3
    parts = json.loads((folder / "config.json").read_text())["rope_parameters"]
    config, older = store.read_config(folder), {"rope_theta": parts.pop("rope_theta"), "rope_scaling": parts}
    assert store.read_config(changed(folder, rope_parameters=..., **older)) == config
    gemma = store.read_config(copied("gemma3"))
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
    for name, kind, left_out, told in (
        (
            "gpt2-classes",
            "GPT2ForTokenClassification",
            "score.weight",
            "This model gives every token a class",
        ),
        ("mistral", "MistralForQuestionAnswering", "lm_head.weight", "This model marks the answer"),
        ("llama", "LlamaModel", "lm_head.weight", "This model has no output layer"),
        ("bert-classes", "BertForTokenClassification", "classifier.weight", "This model gives every token a"),
        ("bert", "BertForNextSentencePrediction", "cls.predictions.bias", "This model has an output layer"),
    ):
        folder = changed(copied(name), architectures=[kind])
        config = store.read_config(folder)
        assert (config.architecture, config.output) == ("encoder", "none")
        assert config.causal == (not name.startswith("bert"))
        card = store.read_model(folder).card
        assert left_out in card["left_out"] or name == "bert"
        assert card["limits"]["en"].startswith(told)
        assert (f"({kind})" in card["limits"]["en"]) == ("For" in kind)


@pytest.mark.parametrize("name", ["bert-classes", "gpt2-classes"])
@pytest.mark.parametrize("kind", ["regression", "multi_label_classification"])
def test_a_classifier_that_does_not_choose_one_label_opens_without_its_answer(copied, name, kind):
    folder = changed(copied(name), problem_type=kind)
    whole, found = tv.load(HERE / "models" / name), tv.load(folder)
    assert (found.config.output, found.config.labels) == ("none", ())
    what = {"regression": "用数值给文本评分", "multi_label_classification": "多个标签"}[kind]
    assert what in found.card["limits"]["zh"]
    ours, theirs = (each.trace(TEXTS[0]).encoder[-1] for each in (found, whole))
    assert_array_equal(ours.attention.weights, theirs.attention.weights)


def test_a_model_without_an_answer_says_what_it_has_to_whoever_asks_for_one(copied, capsys):
    folder = changed(copied("bert-classes"), architectures=["BertForQuestionAnswering"])
    explorer = tv.load(folder)
    trace = explorer.trace(TEXTS[0])
    rows = pd.DataFrame({"text": TEXTS[:1], "label": ["a"]})
    for ask in (
        lambda: explorer.predict(TEXTS[:1]),
        lambda: tv.head_effects(explorer, TEXTS[0]),
        lambda: tv.joint_effect(explorer, TEXTS[0], [(0, 1)]),
        lambda: tv.gradients(explorer, TEXTS[0], output=0),
        lambda: tv.logit_lens(explorer, trace),
        lambda: evaluate(explorer, rows),
    ):
        with pytest.raises(
            ValueError, match=r"^This model marks the answer .*\(BertForQuestionAnswering\)\."
        ):
            ask()
    assert main(["predict", "--model", str(folder), "--text", "a"]) == 2
    assert "This model marks the answer to a question" in capsys.readouterr().err
    assert main(["trace", "--model", str(folder), "--text", "a", "--out", str(folder / "t.npz")]) == 0
    assert "This model marks the answer to a question" in capsys.readouterr().out


def test_a_token_beyond_the_embeddings_is_named(copied):
    folder = copied("bert")
    content = json.loads((folder / "tokenizer.json").read_text())
    rows = store.read_config(folder).vocab_size
    flags = dict.fromkeys(("special", "single_word", "lstrip", "rstrip", "normalized"), False)
    numbers = range(len(content["model"]["vocab"]), rows + 1)  # of the tokens without a row, one is too many
    content["added_tokens"] += [{"id": number, "content": f"<{number}>"} | flags for number in numbers]
    (folder / "tokenizer.json").write_text(json.dumps(content))
    explorer = tv.load(folder)
    assert explorer.trace(f"a <{rows - 1}> film").tokens
    with pytest.raises(ValueError, match=rf"token {rows}, but the model has embeddings for {rows:,} tokens"):
        explorer.trace(f"a <{rows}> film")
    with pytest.raises(ValueError, match=rf"^Token ids must be whole numbers from 0 to {rows - 1}\."):
        explorer.trace([rows])


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
        ("bert", {"num_hidden_layers": 1}, "16 tensors are not understood"),
        ("bert", {"intermediate_size": 41}, "has shape (24, 40), and config.json asks for (24, 41)"),
        (
            "electra-classes",
            {"embedding_size": 12},
            "has shape (155, 24), and config.json asks",
        ),
        ("opt", {"word_embed_proj_dim": 12}, "`word_embed_proj_dim` = 12 is not understood, only 24"),
        ("albert", {"num_hidden_groups": 2}, "`num_hidden_groups` = 2 is not understood, only 1"),
        ("llama", {"rope_parameters": {"rope_type": "llama3"}}, ROPE),
        ("phi3", {"num_key_value_heads": 4}, "there is no tensor for decoder_0/self_attention/query/kernel"),
        ("stablelm", {"use_parallel_residual": True}, "`use_parallel_residual` = True is not understood"),
        ("bart", {"decoder_attention_heads": 2}, "`decoder_attention_heads` = 2 is not understood, only 4"),
        ("marian-pieces", {"add_final_layer_norm": True}, "`add_final_layer_norm` = True is not understood"),
        ("marian-pieces", {"share_encoder_decoder_embeddings": False}, "_embeddings` = False is not"),
        ("marian-pieces", {"decoder_start_token_id": 10**6}, "`target_start` = (1000000,) names a token"),
        ("mpnet", {"relative_attention_num_buckets": 16}, "`relative_attention_num_buckets` = 16 is not"),
        ("t5", {"feed_forward_proj": "gated-mish"}, "the activation mish is not known"),
        ("t5", {"relative_attention_num_buckets": 2}, "`relative_buckets` = 2 must be at least 4"),
        ("t5", {"relative_attention_num_buckets": 10}, "has shape (8, 4), and config.json asks for (10, 4)"),
        ("t5", {"relative_attention_max_distance": 10**9}, "relative_reach"),
        ("t5", {"num_decoder_layers": 2}, "13 tensors are not understood"),
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
        (
            "gemma3",
            {"attn_logit_softcapping": 50.0},
            "`attn_logit_softcapping` = 50.0 is not understood",
        ),
        (
            "gemma3",
            {"rope_parameters": {"full_attention": {"rope_type": "yarn", "factor": 8.0}}},
            ROPE,
        ),
        ("gemma3", {"rope_parameters": None, "rope_scaling": {"rope_type": "longrope"}}, ROPE),
        ("llama", {"rope_parameters": {"full_attention": {}}}, ROPE),
        ("modernbert-masked", {"rope_scaling": {"rope_type": "linear", "factor": 8.0}}, "`rope_scaling` = "),
        (
            "modernbert-masked",
            {"classifier_activation": "silu"},
            "`classifier_activation` = silu is not understood",
        ),
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
        ("modernbert-masked", {"norm_bias": True}, "there is no tensor for embedding_norm/beta"),
        (
            "modernbert-masked",
            {"num_hidden_layers": 6, "layer_types": None},
            "no tensor for encoder_5/attention/",
        ),
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
    with pytest.raises(ModelError, match=r"a pickle .* which is never opened here"):
        store.read_model(folder)
    weights.write_bytes(data)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match=r"has no tokenizer\.json"):
        store.read_model(folder)


@pytest.mark.parametrize("name", ["bert-masked", "electra-small", "distilbert"])
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


def test_the_examples_of_a_chinese_vocabulary_are_chinese(copied):
    folder = copied("bert-masked")
    assert tv.load(folder).card["examples"] == ["The cat sat on the [MASK] because it was tired."]
    content = json.loads((folder / "tokenizer.json").read_text())
    for first, examples in (
        ("\u4e00", ["小猫趴在垫子上，因为它[MASK]了。"]),
        ("\u3041", ["The cat sat on the [MASK] because it was tired."]),  # Japanese
    ):
        written = [chr(ord(first) + place) * 4 for place in range(60)] + [
            chr(0x5000 + place) * 4 for place in range(200)
        ]
        vocabulary = content["model"]["vocab"]
        kept = [
            token for token in vocabulary if token.startswith("[") and token.endswith("]") and len(token) > 2
        ]
        tokens = [*kept, *written][: len(vocabulary)]
        model = content["model"] | {"vocab": {token: number for number, token in enumerate(tokens)}}
        text = json.dumps(content | {"model": model}, ensure_ascii=False)
        (folder / "tokenizer.json").write_text(text, encoding="utf-8")
        assert tv.load(folder).card["examples"] == examples


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


def test_a_tokenizer_json_of_a_marian_model_splits_texts_and_targets(copied):
    folder, text = copied("marian-pieces"), (HERE / "models" / "pegasus" / "tokenizer.json").read_text()
    (folder / "tokenizer.json").write_text(text)
    found = store.read_model(folder)
    assert found.tokenizer == found.target_tokenizer == text


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


def with_tensors(folder, **arrays):
    """Change tensors of a folder, or leave out those that are ...; return the folder."""
    file = folder / "model.safetensors"
    found = load_file(file) | arrays
    save_file({name: array for name, array in found.items() if array is not ...}, file)
    return folder


@pytest.mark.parametrize(
    ("name", "tensor"),
    [
        ("bert-masked", "bert.encoder.embedding_hidden_mapping_in.weight"),
        ("bert-masked", "cls.predictions.transform.gate.weight"),
        ("gpt2", "lm_head.bias"),
        ("llama", "model.embed_positions.weight"),
        ("t5", "encoder.proj.weight"),
    ],
)
def test_a_tensor_that_is_neither_read_nor_of_another_head_is_named(copied, name, tensor):
    folder = with_tensors(copied(name), **{tensor: np.ones(24, np.float32)})
    with pytest.raises(ModelError, match=f"a tensor is not understood: {tensor}") as refused:
        store.read_config(folder)
    assert "无法理解" in sentence_of(refused.value, "zh")


@pytest.mark.parametrize(
    ("name", "copy", "other"),
    [
        ("gpt2", "lm_head.weight", "transformer.wte.weight"),
        ("bert-masked", "cls.predictions.decoder.weight", "bert.embeddings.word_embeddings.weight"),
        ("bart", "model.decoder.embed_tokens.weight", "model.shared.weight"),
    ],
)
def test_a_tensor_that_is_shared_may_be_stored_twice_if_it_is_the_same(copied, name, copy, other):
    folder = copied(name)
    shared = load_file(folder / "model.safetensors")[other]
    whole = store.read_model(HERE / "models" / name)
    found = store.read_model(with_tensors(folder, **{copy: shared.copy()}))
    assert found.card["left_out"] == whole.card["left_out"]
    with_tensors(folder, **{copy: shared + np.float32(1e-3)})
    with pytest.raises(ModelError, match=f"{copy} and {other} differ.*`tie_word_embeddings` to false"):
        store.read_model(folder)


def test_where_nothing_is_shared_each_layer_reads_its_own_tensor(copied):
    folder = changed(copied("bert-masked"), tie_word_embeddings=False)
    arrays = load_file(folder / "model.safetensors")
    kernel = arrays["bert.embeddings.word_embeddings.weight"] + 1
    bias = arrays["cls.predictions.bias"] + 2
    own = {"cls.predictions.decoder.weight": kernel, "cls.predictions.decoder.bias": bias}
    found = store.read_model(with_tensors(folder, **own))
    assert_array_equal(found.parameters["output/kernel"], kernel.T)
    assert_array_equal(found.parameters["output/bias"], bias)
    assert found.card["left_out"] == store.read_model(HERE / "models" / "bert-masked").card["left_out"]
    folder = changed(copied("bart"), tie_word_embeddings=False)
    shared = load_file(folder / "model.safetensors")["model.shared.weight"]
    names = ("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight")
    own = {name: shared + np.float32(number) for number, name in enumerate(names, 1)}
    found = store.read_model(with_tensors(folder, **own))
    for number, name in enumerate(("token_embedding/embeddings", "target_token_embedding/embeddings"), 1):
        assert_array_equal(found.parameters[name], shared + np.float32(number))
    assert_array_equal(found.parameters["output/kernel"], (shared + np.float32(3)).T)


def test_a_folder_says_of_its_tokenizer_whether_a_second_text_has_a_segment(copied):
    folder = copied("bert-masked")
    assert store.read_config(folder).separator == (3,)
    (folder / "tokenizer_config.json").write_text('{"model_input_names": ["input_ids", "attention_mask"]}')
    assert store.read_config(folder).separator == ()
    assert store.read_config(HERE / "models" / "xlm-roberta").separator == ()
    assert store.read_config(HERE / "models" / "distilbert").separator == ()  # it has no segments
    (folder / "tokenizer_config.json").unlink()
    content = json.loads((folder / "tokenizer.json").read_text())
    content["post_processor"]["pair"][0]["SpecialToken"]["type_id"] = 1
    (folder / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(ModelError, match="numbers the tokens of two texts in a way that is not understood"):
        store.read_config(folder)


def test_what_is_read_at_most_here_is_said_and_that_a_text_is_cut(copied):
    whole, found = (
        tv.load(HERE / "models" / "llama"),
        tv.load(changed(copied("llama"), max_position_embeddings=100_000)),
    )
    assert "tokens" not in repr(whole)
    assert repr(found).endswith(", reads 4,096 of 100,000 tokens)")
    assert (whole.card.get("longest"), found.card["longest"]) == (None, 100_000)
    for keep in ("all", "weights"):
        assert "num_dropped=3" in repr(whole.trace("good " * 49, keep=keep))
        assert "num_dropped" not in repr(whole.trace("good", keep=keep))


def made(folder, **files):
    """Write files into a new folder; of names with a dot write "__"."""
    folder.mkdir()
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


def test_what_is_no_model_is_named_and_how_to_get_one(tmp_path):
    base = json.dumps({"base_model_name_or_path": "somebody/base"})
    checkpoints = made(tmp_path / "training", trainer_state__json="{}")
    for step in (500, 1000):
        (checkpoints / f"checkpoint-{step}").mkdir()
    for folder, says in (
        (
            made(tmp_path / "lora", adapter_config__json=base),
            r"an adapter, which changes a model \(somebody/base\)",
        ),
        (made(tmp_path / "q4", a__gguf="GGUF"), r"holds a GGUF \(a\.gguf\)"),
        (checkpoints, "Give the folder of one of them: .*checkpoint-1000"),
        ("bert-base-uncased", "is loaded as “hf:bert-base-uncased”"),
        ("google-bert/bert-base-uncased", "is loaded as “hf:google-bert/bert-base-uncased”"),
    ):
        with pytest.raises(ModelError, match=says):
            tv.load(folder)
    with pytest.raises(ModelError) as refused:
        tv.load("./nowhere")
    assert "hf:" not in str(refused.value)


def test_a_refusal_comes_with_the_lines_that_help(copied, capsys):
    folder = changed(copied("bert"), model_type="deberta")
    with pytest.raises(
        ModelError, match=r"`tv\.show\(output\.attentions, tokens\)` shows its attention"
    ) as refused:
        store.read_config(folder)
    assert f"name = {str(folder)!r}" in refused.value.lines
    assert refused.value.lines in "".join(traceback.format_exception(refused.value))
    [listed] = store.list_models(folder.parent)
    assert listed.error.lines == refused.value.lines
    assert main(["predict", "--model", str(folder), "--text", "a"]) == 2
    assert refused.value.lines in capsys.readouterr().err
    t5 = changed(copied("t5"), architectures=["T5ForSequenceClassification"])
    with pytest.raises(ModelError) as refused:
        store.read_config(t5)
    assert ".get_encoder()" in refused.value.lines
    for lines in (refused.value.lines, listed.error.lines):
        compile(lines, "lines", "exec")


def test_a_pickle_comes_with_the_lines_that_convert_it(copied):
    folder = copied("bert-masked")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(
        ModelError, match=r"as a pickle \(pytorch_model\.bin\), which is never opened"
    ) as refused:
        store.read_model(folder)
    assert refused.value.lines.splitlines() == [
        "from transformers import AutoTokenizer, BertForMaskedLM",
        f"BertForMaskedLM.from_pretrained({str(folder)!r}).save_pretrained('bert-masked-safetensors')",
        f"AutoTokenizer.from_pretrained({str(folder)!r}).save_pretrained('bert-masked-safetensors')",
    ]


def test_files_that_are_larger_than_any_real_one_are_not_read(copied, monkeypatch):
    for name, most in (("config.json", 2**20), ("generation_config.json", 2**20)):
        folder = copied("gpt2")
        content = json.loads((folder / "config.json").read_text()) | {"more": "x" * most}
        (folder / name).write_text(json.dumps(content))
        with pytest.raises(ModelError, match=rf"{name} has [\d,]+ bytes, more than the 1,048,576"):
            store.read_config(folder)
        shutil.rmtree(folder)
    folder = copied("gpt2")
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text(" " * (2**25 + 1))
    with pytest.raises(ModelError, match=r"index\.json has 33,554,433 bytes, more than the 33,554,432"):
        store.read_config(folder)
    empty = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
    for count, says in (
        (100_001, "has 100,001 tensors, more than the 100,000"),
        (700_000, "the list of its tensors has"),
    ):
        header = json.dumps({str(number): empty for number in range(count)}).encode()
        (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
        with pytest.raises(ModelError, match=says):
            store.read_config(folder)


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


def test_how_well_effects_are_estimated_is_kept_in_the_folder(copied):
    folder = copied("bert-masked")
    before, card = store.stamp(folder), store.read_model(folder).card
    rows = [{"what": "heads", "kind": "encoder", "layer": 0, "count": 4, "correlation": 0.7, "sign": 1.0}]
    facts = {"effects": rows, "effects_texts": 2}
    store.write_in_card(folder.name, facts, folder.parent)
    assert store.read_model(folder).card == card | facts
    [listed] = store.list_models(folder.parent)
    assert listed.card["effects"] == rows
    assert store.stamp(folder) != before
    (folder / "transformer_viz.json").write_text('{"effects": "many", "source": "elsewhere"}')
    assert store.read_model(folder).card == card | {"effects": "many"}
    (folder / "transformer_viz.json").write_text("[")
    with pytest.raises(ModelError, match=r"transformer_viz\.json"):
        store.read_config(folder)


def test_folders_are_listed_among_models(copied):
    folder = copied("gpt2")
    changed(copied("bert"), model_type="deberta")
    broken, found = store.list_models(folder.parent)
    assert (found.name, found.config.architecture, found.error) == ("gpt2", "decoder", None)
    assert "models of type deberta cannot be read" in broken.problem


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
