"""Writes small random folders of all model types of `transformers`: the other half of check_hub_types.py.

    python tests/elsewhere/hub_types.py FOLDER [NAME...]

Of each type that can be opened here one folder for each of its classes, and one for each entry of `VARIANTS`;
of each other type its config alone, as nothing else is read of it. Beside a model lies what `transformers`
answers to a text (answers.npz) and to a pair of texts (pair.npz).
"""

import contextlib
import json
import logging
import sys
import warnings
from pathlib import Path

import numpy as np
import record
import torch
import transformers
from answers_of import answers
from hub_texts import SECOND, TARGET, TEXT
from record import BART, ENDS, LABELS, LLAMA, LLAMA3, LONGROPE, MODERNBERT, SIZES, T5, YARN
from transformers.models.auto import modeling_auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

SEED = 0

BERT = SIZES | {"pad_token_id": 0}
ROBERTA = SIZES | {"pad_token_id": 1, "max_position_embeddings": 50, "type_vocab_size": 1}
GPT = SIZES | {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": None}
GROUPED = SIZES | LLAMA | {"pad_token_id": None}
GEMMA = GROUPED | {"head_dim": 8, "query_pre_attn_scalar": 6}
DISTILBERT = {"dim": 24, "n_layers": 2, "n_heads": 4, "hidden_dim": 40, "max_position_embeddings": 48}
PEGASUS = BART | {"scale_embedding": True, "activation_function": "relu"} | ENDS


def bert_pieces():
    """ALBERT's: pieces of sentences between BERT's marks, whose second text has a segment of its own."""
    found = record.unigram("[CLS]", "[SEP]", "[MASK]")
    ends = [(name, found.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    found.post_processor = record.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ends
    )
    return found


def roberta_bytes():
    return record.byte_level(record.ROBERTA, "roberta")


def gpt_bytes():
    return record.byte_level(record.GPT)


TYPES = {
    "bert": (record.wordpiece, BERT),
    "albert": (bert_pieces, BERT | {"embedding_size": 14}),
    "distilbert": (record.wordpiece, DISTILBERT),
    "electra": (record.wordpiece, BERT | {"embedding_size": 14}),
    "roberta": (roberta_bytes, ROBERTA),
    "xlm-roberta": (record.unigram, ROBERTA),
    "camembert": (record.unigram, ROBERTA),
    "data2vec-text": (roberta_bytes, ROBERTA),
    "mpnet": (roberta_bytes, ROBERTA),
    "modernbert": (record.wordpiece, MODERNBERT),
    "gpt2": (gpt_bytes, {"n_embd": 24, "n_layer": 2, "n_head": 4, "n_positions": 48}),
    "opt": (
        lambda: record.byte_level(["<s>", "<pad>", "</s>"], "</s>"),
        SIZES | {"ffn_dim": 40, "word_embed_proj_dim": 24, "bos_token_id": 2},
    ),
    "gpt_neo": (
        gpt_bytes,
        {"hidden_size": 24, "num_layers": 2, "num_heads": 4, "intermediate_size": 40, "window_size": 5}
        | {"max_position_embeddings": 48, "attention_types": [[["local", "global"], 1]]},
    ),
    "gpt_neox": (gpt_bytes, GPT | {"rotary_pct": 0.67}),
    "llama": (record.llama_pieces, GROUPED),
    "mistral": (record.llama_pieces, GROUPED | {"sliding_window": 5}),
    "qwen2": (gpt_bytes, GPT | {"num_key_value_heads": 2}),
    "qwen3": (gpt_bytes, GPT | {"num_key_value_heads": 2, "head_dim": 8}),
    "gemma": (record.llama_pieces, GROUPED | {"num_key_value_heads": 1, "head_dim": 8}),
    "gemma2": (record.llama_pieces, GEMMA | {"sliding_window": 5}),
    "gemma3_text": (record.llama_pieces, GEMMA | {"sliding_window": 6, "sliding_window_pattern": 2}),
    "starcoder2": (gpt_bytes, GPT | {"num_key_value_heads": 2, "sliding_window": 6}),
    "stablelm": (gpt_bytes, GPT | {"num_key_value_heads": 2, "partial_rotary_factor": 0.67}),
    "phi": (gpt_bytes, GPT | {"num_key_value_heads": 2, "partial_rotary_factor": 0.67}),
    "phi3": (record.llama_pieces, GROUPED | {"sliding_window": 7}),
    "bart": (roberta_bytes, BART | {"decoder_layers": 3}),
    "mbart": (record.unigram, BART | {"scale_embedding": True, "decoder_start_token_id": 2}),
    "pegasus": (record.pieces_with_end, PEGASUS),
    "marian": (record.pieces_with_end, PEGASUS | {"activation_function": "swish"}),
    "t5": (record.pieces_with_end, T5 | ENDS | {"num_decoder_layers": 3}),
    "mt5": (record.pieces_with_end, T5 | ENDS),
}
"""Type that is opened here -> its tokenizer, and settings that make it small."""

MAIN = {
    **dict.fromkeys(("bert", "albert", "distilbert", "electra", "roberta", "xlm-roberta"), "MaskedLM"),
    **dict.fromkeys(("camembert", "data2vec-text", "mpnet", "modernbert"), "MaskedLM"),
    **dict.fromkeys(("bart", "mbart", "pegasus", "t5", "mt5"), "ConditionalGeneration"),
    "marian": "MTModel",
}
"""Type -> ending of the class of its variants; of others "CausalLM"."""

VARIANTS = {
    "bert": (
        {"type_vocab_size": 3},
        {"hidden_act": "gelu_new", "layer_norm_eps": 1e-5},
        {"hidden_act": "mish"},
        {"tie_word_embeddings": False},
        {"is_decoder": True},
        {"position_embedding_type": "relative_key"},
        {"tokenizer": record.unigram, "pad_token_id": 1},
        {"tokenizer": roberta_bytes, "pad_token_id": 1},
        {"class": "Model", "tokenizer": record.unigram, "pad_token_id": 1},
        {"names": ["input_ids", "attention_mask"]},
        {"class": "SequenceClassification", "problem_type": "multi_label_classification"},
        {"class": "SequenceClassification", "id2label": {0: "relevant"}},
        {"class": "SequenceClassification", **LABELS},
        {"dtype": "bfloat16"},
        {"dtype": "float16", "shard": "20KB"},
    ),
    "albert": (
        {"embedding_size": 24},
        {"class": "Model", "embedding_size": 24},
        {"class": "SequenceClassification", "embedding_size": 24},
        {"num_hidden_groups": 2},
        {"inner_group_num": 2},
        {"tokenizer": record.unigram},
    ),
    "distilbert": ({"sinusoidal_pos_embds": True}, {"activation": "relu"}, {"tie_word_embeddings": False}),
    "electra": ({"embedding_size": 24}, {"tokenizer": record.unigram, "pad_token_id": 1}),
    "roberta": (
        {"type_vocab_size": 2},
        {"type_vocab_size": 10},
        {"type_vocab_size": 2, "tokenizer": record.unigram},
        {"class": "Model", "type_vocab_size": 2},
        {"tie_word_embeddings": False},
    ),
    "xlm-roberta": ({"type_vocab_size": 2}, {"class": "SequenceClassification", "type_vocab_size": 2}),
    "data2vec-text": ({"type_vocab_size": 2},),
    "mpnet": ({"relative_attention_num_buckets": 16},),
    "modernbert": (
        {"class": "SequenceClassification", "classifier_pooling": "mean"},
        {"norm_bias": True, "attention_bias": True, "mlp_bias": True},
        {"classifier_bias": True, "decoder_bias": False},
        {"hidden_activation": "silu"},
        {"global_attn_every_n_layers": 1},
        {"tie_word_embeddings": False},
    ),
    "gpt2": (
        {"n_inner": 40, "activation_function": "relu"},
        {"scale_attn_by_inverse_layer_idx": True},
        {"scale_attn_weights": False},
        {"reorder_and_upcast_attn": True},
        {"tie_word_embeddings": False},
    ),
    "opt": (
        {"word_embed_proj_dim": 12, "do_layer_norm_before": False},
        {"word_embed_proj_dim": 12},
        {"do_layer_norm_before": False},
        {"enable_bias": False},
        {"layer_norm_elementwise_affine": False},
        {"tie_word_embeddings": False},
    ),
    "gpt_neo": ({"attention_types": [[["global"], 2]]}, {"activation_function": "relu"}),
    "gpt_neox": (
        {"use_parallel_residual": False},
        {"attention_bias": False},
        {"rotary_pct": 1.0, "tie_word_embeddings": True},
    ),
    "llama": (
        {"num_key_value_heads": 4, "head_dim": 8},
        {"attention_bias": True, "mlp_bias": True},
        {"tie_word_embeddings": True},
        {"rope_parameters": LLAMA3},
        {"rope_parameters": YARN},
        {"rope_parameters": {"rope_type": "linear", "rope_theta": 50.0, "factor": 4.0}},
        {"rope_parameters": {"rope_type": "dynamic", "rope_theta": 50.0, "factor": 4.0}},
        {"hidden_act": "gelu"},
    ),
    "mistral": ({"sliding_window": None}, {"head_dim": 8}),
    "qwen2": (
        {"tie_word_embeddings": True},
        {"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1},
    ),
    "qwen3": (
        {"attention_bias": True},
        {"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1},
    ),
    "gemma2": (
        {"attn_logit_softcapping": None, "final_logit_softcapping": None},
        {"attention_bias": True},
        {"use_bidirectional_attention": True},
    ),
    "gemma3_text": (
        {"use_bidirectional_attention": True},
        {"class": "Model", "use_bidirectional_attention": True},
        {"final_logit_softcapping": 4.0},
    ),
    "starcoder2": ({"use_bias": False}, {"sliding_window": None}, {"tie_word_embeddings": False}),
    "stablelm": ({"use_qkv_bias": True}, {"qk_layernorm": True}, {"use_parallel_residual": True}),
    "phi": ({"qk_layernorm": True}, {"tie_word_embeddings": True}, {"partial_rotary_factor": 1.0}),
    "phi3": (
        {"max_position_embeddings": 400, "original_max_position_embeddings": 40}
        | {"partial_rotary_factor": 0.67, "rope_parameters": LONGROPE},
        {"sliding_window": None, "tie_word_embeddings": True},
    ),
    "bart": (
        {"encoder_layers": 1, "scale_embedding": True},
        {"decoder_attention_heads": 2},
        {"decoder_ffn_dim": 48},
        {"tie_word_embeddings": False},
        {"forced_bos_token_id": 0},
    ),
    "mbart": ({"tie_word_embeddings": False},),
    "pegasus": ({"scale_embedding": False},),
    "marian": (
        {"share_encoder_decoder_embeddings": False},
        {"scale_embedding": False},
        {"tie_word_embeddings": False},
    ),
    "t5": (
        {"feed_forward_proj": "gated-gelu"},
        {"feed_forward_proj": "gated-silu"},
        {"tie_word_embeddings": False},
        {"tie_word_embeddings": False, "feed_forward_proj": "gated-gelu"},
        {"num_decoder_layers": 1},
        {"is_decoder": True},
    ),
    "mt5": ({"tie_word_embeddings": False},),
}
"""Type -> what its further folders have beside the settings of `TYPES`.

No settings are the ending of a "class", the "tokenizer", the "names" of what it gives, "dtype", and the size
of a "shard".
"""


def main(folder, *names):
    """Write the folders, or those that are named."""
    logging.disable()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    for name, (kind, cls, given) in folders().items():
        if not names or name in names:
            place = Path(folder, name.replace("/", "+"))
            write_config(place, kind) if cls is None else write(place, kind, cls, dict(given))


def folders():
    """Return name of a folder -> type of model, name of its class, what it has beside the type's settings.

    The class is None where nothing but the config is written.
    """
    found = {}
    for kind in sorted(CONFIG_MAPPING_NAMES):
        if kind not in TYPES:
            found[kind] = kind, None, {}
            continue
        for cls in classes(kind):
            found[f"{kind}/{cls}"] = kind, cls, {}
        for variant in VARIANTS.get(kind, ()):
            cls = class_of(kind, variant.get("class", MAIN.get(kind, "CausalLM")))
            said = {
                name: getattr(value, "__name__", value) for name, value in variant.items() if name != "class"
            }
            text = json.dumps(said, separators=(",", ":")).replace('"', "").replace("/", "")
            found[f"{kind}/{cls} {text}"] = kind, cls, variant
    return found


def classes(kind):
    """Return the names of the classes of a type."""
    found = set()
    for name, table in vars(modeling_auto).items():
        if name.endswith("_MAPPING_NAMES") and kind in table:
            each = table[kind]
            found |= {each} if isinstance(each, str) else {*each}
    config = transformers.CONFIG_MAPPING[kind]
    return sorted(
        each for each in found if getattr(getattr(transformers, each), "config_class", None) is config
    )


def class_of(kind, ending):
    """Return the name of a type's class, by its ending, or of the one that writes."""
    endings = (f"For{ending}", ending, "LMHeadModel")
    return next(cls for end in endings for cls in classes(kind) if cls.endswith(end))


def write_config(place, kind):
    """Write the config of a type as it is by default."""
    place.mkdir(parents=True)
    content = {"model_type": kind}
    with contextlib.suppress(Exception):  # some need parts that are not given
        content = transformers.CONFIG_MAPPING[kind]().to_dict() | content
    (place / "config.json").write_text(json.dumps(content, default=str))


def write(place, kind, cls, given):
    """Write a model with its tokenizer, and what it answers; what fails there is said in failed.txt."""
    make, settings = TYPES[kind]
    backend = given.pop("tokenizer", make)()
    names, dtype, shard = given.pop("names", None), given.pop("dtype", None), given.pop("shard", None)
    given.pop("class", None)
    settings = settings | given | {"vocab_size": backend.get_vocab_size() + 2}
    place.mkdir(parents=True)
    torch.manual_seed(SEED)
    try:
        cls = getattr(transformers, cls)
        model = cls(cls.config_class(**settings)).eval()
        noise = 0.05 if "t5" in kind else 0.15  # scores that are not divided would be as large as 15
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter), alpha=noise)
        if dtype:
            model = model.to(getattr(torch, dtype))
        model.save_pretrained(place, **({"max_shard_size": shard} if shard else {}))
        has_segments = any("token_type" in name for name, _ in model.named_parameters())
        if names is None:
            names = ["input_ids", *(["token_type_ids"] if has_segments else []), "attention_mask"]
        fast = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, model_input_names=names)
        fast.save_pretrained(place)
        np.savez(place / "answers.npz", **answers(place, TEXT, TARGET))
        sides = backend.encode("a", "a").sequence_ids
        if None in sides[sides.index(0) : sides.index(1)]:  # there is something between two texts
            np.savez(place / "pair.npz", **answers(place, TEXT, TARGET, SECOND))
    except Exception as error:  # of the library: told in the results
        (place / "failed.txt").write_text(f"{type(error).__name__}: {error}"[:200])


if __name__ == "__main__":
    main(*sys.argv[1:])
