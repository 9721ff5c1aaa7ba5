"""Families of models in Hugging Face folders, as tables: what their tensors and settings are called.

A layer of ours -> the layer of theirs that holds its arrays; `{}` is the number of a block. Behind it may
stand which part of a fused array it is: `[0/3]` the first of three (queries, keys and values), `[0/2]` the
first half, `[0//3]` the first of three in each head. Of several names, the first that a file has holds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

Layers = dict[str, str | tuple[str, ...]]


@dataclass(frozen=True)
class Family:
    """What the models of some `model_type`s have in common.

    Attributes:
        layers: Our layer -> theirs, without the prefix of the base model.
        prefixes: What may stand before the names of the base model's tensors.
        settings: Field of our config -> name of theirs.
        fixed: Field of our config -> its value in this family.
        defaults: Name of their setting -> its value where a file leaves it out.
        required: Name of their setting -> the only value that is understood; a file may leave it out.
        equal: Name of their setting -> another that has the same value in what is understood.
        heads: Ending of an architecture's name ("ForMaskedLM") -> our layer -> theirs, prefix included.
        head_fields: The same -> field of our config -> its value.
        first_position: Rows of the table of positions that no text uses.
        transposed: Whether kernels are stored as (output, input), as by torch's linear layers.
        gain_offset: Added to the gains of the normalisation.
        tied: Whether the output layer is the token embedding where a file does not say.
        untied_if_stored: Whether an output layer in the file counts, whatever its settings say.
        scales_output: Whether the vectors in front of a tied output layer are divided by sqrt(d_model).
        wordpiece: Whether its tokens can be made from a vocab.txt.
        sentence_pieces: Whether they can be made from source.spm, target.spm and vocab.json.
        unscaled: Whether scores are not divided by sqrt(head_dim).
        computed_positions: Whether the table of positions is computed where a file does not have it: sines,
            then cosines.
    """

    layers: Layers
    prefixes: tuple[str, ...]
    settings: dict[str, str]
    fixed: dict[str, Any] = field(default_factory=dict)
    defaults: dict[str, Any] = field(default_factory=dict)
    required: Mapping[str, Any] = field(default_factory=dict)
    equal: Mapping[str, str] = field(default_factory=dict)
    heads: Mapping[str, Layers] = field(default_factory=dict)
    head_fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    first_position: int = 0
    transposed: bool = True
    gain_offset: float = 0.0
    tied: bool = True
    untied_if_stored: bool = False
    scales_output: bool = False
    wordpiece: bool = False
    sentence_pieces: bool = False
    unscaled: bool = False
    computed_positions: bool = False


def _block(stack: str, layers: Layers) -> Layers:
    return {f"{stack}_{{}}/{ours}": theirs for ours, theirs in layers.items()}


def _attention(ours: str, theirs: str, norm: str) -> Layers:
    """Return the layers of an attention of BART, and of its normalisation."""
    parts = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}
    layers: Layers = {f"{ours}/{part}": f"layers.{{}}.{theirs}.{name}" for part, name in parts.items()}
    return layers | {f"{ours}_norm": f"layers.{{}}.{norm}"}


def _stack(stack: str, layers: Layers) -> Layers:
    """Return the layers of a stack of BART's, whose names begin with it, and of its feed-forward layer."""
    layers = layers | {"ffn/hidden": "layers.{}.fc1", "ffn/output": "layers.{}.fc2"}
    layers |= {"ffn_norm": "layers.{}.final_layer_norm"}
    return _block(stack, {ours: f"{stack}.{theirs}" for ours, theirs in layers.items()})


MASKED, CLASSES = "ForMaskedLM", "ForSequenceClassification"

SIZES = {
    "vocab_size": "vocab_size",
    "max_len": "max_position_embeddings",
    "d_model": "hidden_size",
    "num_layers": "num_hidden_layers",
    "num_heads": "num_attention_heads",
    "ffn_dim": "intermediate_size",
}

ENCODER = {"architecture": "encoder", "positions": "learned", "norm": "post", "embedding_norm": True}
DECODER = {"architecture": "decoder", "norm": "pre", "final_norm": True}
TRANSFORMED = {"output": "tokens", "output_transform": True, "vocabulary_bias": True}
POOLED = {"output": "softmax", "pooling": "first"}

BERT = Family(
    layers={
        "token_embedding": "embeddings.word_embeddings",
        "position_embedding": "embeddings.position_embeddings",
        "segment_embedding": "embeddings.token_type_embeddings",
        "embedding_norm": "embeddings.LayerNorm",
        **_block(
            "encoder",
            {
                "attention/query": "encoder.layer.{}.attention.self.query",
                "attention/key": "encoder.layer.{}.attention.self.key",
                "attention/value": "encoder.layer.{}.attention.self.value",
                "attention/output": "encoder.layer.{}.attention.output.dense",
                "attention_norm": "encoder.layer.{}.attention.output.LayerNorm",
                "ffn/hidden": "encoder.layer.{}.intermediate.dense",
                "ffn/output": "encoder.layer.{}.output.dense",
                "ffn_norm": "encoder.layer.{}.output.LayerNorm",
            },
        ),
    },
    prefixes=("bert.", ""),
    settings=SIZES
    | {"activation": "hidden_act", "norm_epsilon": "layer_norm_eps", "segments": "type_vocab_size"},
    fixed=ENCODER,
    defaults={"layer_norm_eps": 1e-12, "type_vocab_size": 2, "hidden_act": "gelu"},
    required={"position_embedding_type": "absolute", "is_decoder": False, "add_cross_attention": False},
    heads={
        MASKED: {
            "transform": "cls.predictions.transform.dense",
            "transform_norm": "cls.predictions.transform.LayerNorm",
            "output": "cls.predictions",
        },
        CLASSES: {"pooled": "bert.pooler.dense", "classifier": "classifier"},
    },
    head_fields={MASKED: TRANSFORMED, CLASSES: POOLED | {"pooled_activation": "tanh"}},
    wordpiece=True,
)

NARROW = {"embedding_dim": "embedding_size"}

ELECTRA = replace(
    BERT,
    layers=BERT.layers | {"embedding_projection": "embeddings_project"},
    prefixes=("electra.", ""),
    settings=BERT.settings | NARROW,
    defaults=BERT.defaults | {"embedding_size": 128},
    heads={
        MASKED: {
            "transform": "generator_predictions.dense",
            "transform_norm": "generator_predictions.LayerNorm",
            "output": "generator_lm_head",
        },
        CLASSES: {"pooled": "classifier.dense", "classifier": "classifier.out_proj"},
    },
    head_fields={MASKED: TRANSFORMED, CLASSES: POOLED | {"pooled_activation": "gelu"}},
)

ALBERT = replace(
    BERT,
    layers=BERT.layers
    | {"embedding_projection": "encoder.embedding_hidden_mapping_in"}
    | _block(
        "encoder",
        {
            name: f"encoder.albert_layer_groups.0.albert_layers.0.{theirs}"  # the same in all blocks
            for name, theirs in {
                "attention/query": "attention.query",
                "attention/key": "attention.key",
                "attention/value": "attention.value",
                "attention/output": "attention.dense",
                "attention_norm": "attention.LayerNorm",
                "ffn/hidden": "ffn",
                "ffn/output": "ffn_output",
                "ffn_norm": "full_layer_layer_norm",
            }.items()
        },
    ),
    prefixes=("albert.", ""),
    settings=BERT.settings | NARROW,
    defaults=BERT.defaults | {"hidden_act": "gelu_new", "embedding_size": 128},
    required={**BERT.required, "num_hidden_groups": 1, "inner_group_num": 1},
    heads={
        MASKED: {
            "transform": "predictions.dense",
            "transform_norm": "predictions.LayerNorm",
            "output": "predictions",
        },
        CLASSES: {"pooled": "albert.pooler", "classifier": "classifier"},
    },
    wordpiece=False,
)

ROBERTA = replace(
    BERT,
    prefixes=("roberta.", ""),
    defaults=BERT.defaults | {"layer_norm_eps": 1e-5, "type_vocab_size": 1},
    heads={
        MASKED: {"transform": "lm_head.dense", "transform_norm": "lm_head.layer_norm", "output": "lm_head"},
        CLASSES: {"pooled": "classifier.dense", "classifier": "classifier.out_proj"},
    },
    first_position=2,
    wordpiece=False,
)

DATA2VEC = replace(
    ROBERTA,
    prefixes=("data2vec_text.", ""),
    defaults=ROBERTA.defaults | {"layer_norm_eps": 1e-12, "type_vocab_size": 2},
)

DISTILBERT = Family(
    layers={
        "token_embedding": "embeddings.word_embeddings",
        "position_embedding": "embeddings.position_embeddings",
        "embedding_norm": "embeddings.LayerNorm",
        **_block(
            "encoder",
            {
                "attention/query": "transformer.layer.{}.attention.q_lin",
                "attention/key": "transformer.layer.{}.attention.k_lin",
                "attention/value": "transformer.layer.{}.attention.v_lin",
                "attention/output": "transformer.layer.{}.attention.out_lin",
                "attention_norm": "transformer.layer.{}.sa_layer_norm",
                "ffn/hidden": "transformer.layer.{}.ffn.lin1",
                "ffn/output": "transformer.layer.{}.ffn.lin2",
                "ffn_norm": "transformer.layer.{}.output_layer_norm",
            },
        ),
    },
    prefixes=("distilbert.", ""),
    settings={
        "vocab_size": "vocab_size",
        "max_len": "max_position_embeddings",
        "d_model": "dim",
        "num_layers": "n_layers",
        "num_heads": "n_heads",
        "ffn_dim": "hidden_dim",
        "activation": "activation",
    },
    fixed=ENCODER | {"norm_epsilon": 1e-12},
    defaults={"activation": "gelu"},
    heads={
        MASKED: {
            "transform": "vocab_transform",
            "transform_norm": "vocab_layer_norm",
            "output": "vocab_projector",
        },
        CLASSES: {"pooled": "pre_classifier", "classifier": "classifier"},
    },
    head_fields={MASKED: TRANSFORMED, CLASSES: POOLED | {"pooled_activation": "relu"}},
    wordpiece=True,
)

GPT2 = Family(
    layers={
        "token_embedding": "wte",
        "position_embedding": "wpe",
        "decoder_norm": "ln_f",
        **_block(
            "decoder",
            {
                "self_attention/query": "h.{}.attn.c_attn[0/3]",
                "self_attention/key": "h.{}.attn.c_attn[1/3]",
                "self_attention/value": "h.{}.attn.c_attn[2/3]",
                "self_attention/output": "h.{}.attn.c_proj",
                "self_attention_norm": "h.{}.ln_1",
                "ffn/hidden": "h.{}.mlp.c_fc",
                "ffn/output": "h.{}.mlp.c_proj",
                "ffn_norm": "h.{}.ln_2",
            },
        ),
    },
    prefixes=("transformer.", ""),
    settings={
        "vocab_size": "vocab_size",
        "max_len": "n_positions",
        "d_model": "n_embd",
        "num_layers": "n_layer",
        "num_heads": "n_head",
        "ffn_dim": "n_inner",
        "activation": "activation_function",
        "norm_epsilon": "layer_norm_epsilon",
    },
    fixed=DECODER | {"positions": "learned"},
    defaults={"activation_function": "gelu_new", "layer_norm_epsilon": 1e-5, "n_inner": None},
    required={
        "scale_attn_by_inverse_layer_idx": False,
        "scale_attn_weights": True,
        "add_cross_attention": False,
    },
    heads={"LMHeadModel": {"output": "lm_head"}},
    transposed=False,
)

OPT = Family(
    layers={
        "token_embedding": "embed_tokens",
        "position_embedding": "embed_positions",
        "decoder_norm": "final_layer_norm",
        **_block(
            "decoder",
            {
                "self_attention/query": "layers.{}.self_attn.q_proj",
                "self_attention/key": "layers.{}.self_attn.k_proj",
                "self_attention/value": "layers.{}.self_attn.v_proj",
                "self_attention/output": "layers.{}.self_attn.out_proj",
                "self_attention_norm": "layers.{}.self_attn_layer_norm",
                "ffn/hidden": "layers.{}.fc1",
                "ffn/output": "layers.{}.fc2",
                "ffn_norm": "layers.{}.final_layer_norm",
            },
        ),
    },
    prefixes=("model.decoder.", "decoder."),
    settings=SIZES | {"ffn_dim": "ffn_dim", "activation": "activation_function"},
    fixed=DECODER | {"positions": "learned", "norm_epsilon": 1e-5},
    defaults={"activation_function": "relu"},
    required={
        "do_layer_norm_before": True,
        "_remove_final_layer_norm": False,
        "enable_bias": True,
        "layer_norm_elementwise_affine": True,
    },
    heads={"ForCausalLM": {"output": "lm_head"}},
    first_position=2,
)

GPT_NEOX = Family(
    layers={
        "token_embedding": "embed_in",
        "decoder_norm": "final_layer_norm",
        **_block(
            "decoder",
            {
                "self_attention/query": "layers.{}.attention.query_key_value[0//3]",
                "self_attention/key": "layers.{}.attention.query_key_value[1//3]",
                "self_attention/value": "layers.{}.attention.query_key_value[2//3]",
                "self_attention/output": "layers.{}.attention.dense",
                "self_attention_norm": "layers.{}.input_layernorm",
                "ffn/hidden": "layers.{}.mlp.dense_h_to_4h",
                "ffn/output": "layers.{}.mlp.dense_4h_to_h",
                "ffn_norm": "layers.{}.post_attention_layernorm",
            },
        ),
    },
    prefixes=("gpt_neox.",),
    settings=SIZES
    | {
        "activation": "hidden_act",
        "norm_epsilon": "layer_norm_eps",
        "parallel": "use_parallel_residual",
        "attention_bias": "attention_bias",
    },
    fixed=DECODER | {"positions": "rotary"},
    defaults={
        "hidden_act": "gelu",
        "layer_norm_eps": 1e-5,
        "use_parallel_residual": True,
        "attention_bias": True,
        "rotary_pct": 0.25,
    },
    heads={"ForCausalLM": {"output": "embed_out"}},
    tied=False,
)

LLAMA = Family(
    layers={
        "token_embedding": "embed_tokens",
        "decoder_norm": "norm",
        **_block(
            "decoder",
            {
                "self_attention/query": "layers.{}.self_attn.q_proj",
                "self_attention/key": "layers.{}.self_attn.k_proj",
                "self_attention/value": "layers.{}.self_attn.v_proj",
                "self_attention/output": "layers.{}.self_attn.o_proj",
                "self_attention/query_norm": "layers.{}.self_attn.q_norm",
                "self_attention/key_norm": "layers.{}.self_attn.k_norm",
                "self_attention_norm": "layers.{}.input_layernorm",
                "ffn/gate": "layers.{}.mlp.gate_proj",
                "ffn/hidden": "layers.{}.mlp.up_proj",
                "ffn/output": "layers.{}.mlp.down_proj",
                "ffn_norm": "layers.{}.post_attention_layernorm",
            },
        ),
    },
    prefixes=("model.",),
    settings=SIZES
    | {
        "activation": "hidden_act",
        "norm_epsilon": "rms_norm_eps",
        "num_kv_heads": "num_key_value_heads",
        "head_dim": "head_dim",
        "attention_bias": "attention_bias",
        "ffn_bias": "mlp_bias",
    },
    fixed=DECODER | {"positions": "rotary", "norm_kind": "rms", "gated_ffn": True},
    defaults={
        "hidden_act": "silu",
        "rms_norm_eps": 1e-6,
        "num_key_value_heads": None,
        "head_dim": None,
        "attention_bias": False,
        "mlp_bias": False,
    },
    heads={"ForCausalLM": {"output": "lm_head"}},
    tied=False,
)

MISTRAL = replace(
    LLAMA,
    settings=LLAMA.settings | {"window": "sliding_window"},
    defaults=LLAMA.defaults | {"sliding_window": 4096},
)

QWEN2 = replace(
    LLAMA,
    settings={ours: theirs for ours, theirs in LLAMA.settings.items() if ours != "attention_bias"},
    fixed=LLAMA.fixed | {"attention_bias": True, "output_bias": False},
    required={"use_sliding_window": False},
)

QWEN3 = replace(
    LLAMA,
    fixed=LLAMA.fixed | {"qk_norm": True},
    defaults=LLAMA.defaults | {"head_dim": 128},
    required={"use_sliding_window": False},
)

STARCODER2 = replace(
    LLAMA,
    layers=LLAMA.layers
    | _block("decoder", {"ffn/hidden": "layers.{}.mlp.c_fc", "ffn/output": "layers.{}.mlp.c_proj"}),
    settings=LLAMA.settings
    | {
        "norm_epsilon": "norm_epsilon",
        "window": "sliding_window",
        "attention_bias": "use_bias",
        "ffn_bias": "use_bias",
    },
    fixed=DECODER | {"positions": "rotary"},
    defaults=LLAMA.defaults
    | {
        "hidden_act": "gelu_pytorch_tanh",
        "norm_epsilon": 1e-5,
        "num_key_value_heads": 2,
        "sliding_window": None,
        "use_bias": True,
    },
    tied=True,
)

STABLELM = replace(
    LLAMA,
    settings=SIZES
    | {
        "activation": "hidden_act",
        "norm_epsilon": "layer_norm_eps",
        "num_kv_heads": "num_key_value_heads",
        "attention_bias": "use_qkv_bias",
    },
    fixed=DECODER | {"positions": "rotary", "gated_ffn": True, "ffn_bias": False, "output_bias": False},
    defaults={
        "hidden_act": "silu",
        "layer_norm_eps": 1e-5,
        "num_key_value_heads": 32,
        "use_qkv_bias": False,
        "rotary_pct": 0.25,
    },
    required={"qk_layernorm": False, "use_parallel_residual": False},
)

PHI = replace(
    LLAMA,
    layers=LLAMA.layers
    | {"decoder_norm": "final_layernorm"}
    | _block(
        "decoder",
        {
            "self_attention/output": "layers.{}.self_attn.dense",
            "ffn/hidden": "layers.{}.mlp.fc1",
            "ffn/output": "layers.{}.mlp.fc2",
            "ffn_norm": "layers.{}.input_layernorm",
        },
    ),
    settings=SIZES
    | {
        "activation": "hidden_act",
        "norm_epsilon": "layer_norm_eps",
        "num_kv_heads": "num_key_value_heads",
    },
    fixed=DECODER | {"positions": "rotary", "parallel": True},
    defaults={
        "hidden_act": "gelu_new",
        "layer_norm_eps": 1e-5,
        "num_key_value_heads": None,
        "rotary_pct": 0.5,
    },
    required={"qk_layernorm": False},
)

PHI3 = replace(
    LLAMA,
    layers=LLAMA.layers
    | _block(
        "decoder",
        {
            "self_attention/query": "layers.{}.self_attn.qkv_proj[0/3]",
            "self_attention/key": "layers.{}.self_attn.qkv_proj[1/3]",
            "self_attention/value": "layers.{}.self_attn.qkv_proj[2/3]",
            "ffn/gate": "layers.{}.mlp.gate_up_proj[0/2]",
            "ffn/hidden": "layers.{}.mlp.gate_up_proj[1/2]",
        },
    ),
    settings=SIZES
    | {
        "activation": "hidden_act",
        "norm_epsilon": "rms_norm_eps",
        "num_kv_heads": "num_key_value_heads",
        "window": "sliding_window",
    },
    fixed=LLAMA.fixed | {"attention_bias": False, "ffn_bias": False},
    defaults={
        "hidden_act": "silu",
        "rms_norm_eps": 1e-5,
        "num_key_value_heads": None,
        "sliding_window": None,
    },
)

GEMMA = replace(
    LLAMA,
    fixed=LLAMA.fixed | {"scale_embedding": True},
    defaults=LLAMA.defaults | {"hidden_act": "gelu_pytorch_tanh", "head_dim": 256},
    gain_offset=1.0,
    tied=True,
)

BART = Family(
    layers={
        "token_embedding": ("shared", "encoder.embed_tokens"),
        "target_token_embedding": ("decoder.embed_tokens", "shared"),
        "position_embedding": "encoder.embed_positions",
        "target_position_embedding": "decoder.embed_positions",
        "embedding_norm": "encoder.layernorm_embedding",
        "target_embedding_norm": "decoder.layernorm_embedding",
        "encoder_norm": "encoder.layer_norm",
        "decoder_norm": "decoder.layer_norm",
        **_stack("encoder", _attention("attention", "self_attn", "self_attn_layer_norm")),
        **_stack(
            "decoder",
            _attention("self_attention", "self_attn", "self_attn_layer_norm")
            | _attention("cross_attention", "encoder_attn", "encoder_attn_layer_norm"),
        ),
    },
    prefixes=("model.", ""),
    settings={
        "vocab_size": "vocab_size",
        "max_len": "max_position_embeddings",
        "d_model": "d_model",
        "num_layers": "encoder_layers",
        "num_decoder_layers": "decoder_layers",
        "num_heads": "encoder_attention_heads",
        "ffn_dim": "encoder_ffn_dim",
        "activation": "activation_function",
        "scale_embedding": "scale_embedding",
    },
    fixed={
        "architecture": "encoder-decoder",
        "positions": "learned",
        "norm": "post",
        "norm_epsilon": 1e-5,
        "embedding_norm": True,
        "vocabulary_bias": True,
    },
    defaults={"activation_function": "gelu", "scale_embedding": False},
    equal={"decoder_attention_heads": "encoder_attention_heads", "decoder_ffn_dim": "encoder_ffn_dim"},
    heads={"ForConditionalGeneration": {"output": ("lm_head", "final_logits_bias")}},
    first_position=2,
)

MBART = replace(BART, fixed=BART.fixed | {"norm": "pre", "final_norm": True})

PEGASUS = replace(
    MBART,
    fixed=MBART.fixed | {"embedding_norm": False},
    first_position=0,
    computed_positions=True,
)

MARIAN = replace(
    BART,
    fixed=BART.fixed | {"embedding_norm": False},
    required={"normalize_before": False, "normalize_embedding": False, "add_final_layer_norm": False},
    heads={"MTModel": BART.heads["ForConditionalGeneration"]},
    sentence_pieces=True,
    first_position=0,
    computed_positions=True,
)

T5 = Family(
    layers={
        "token_embedding": ("shared", "encoder.embed_tokens"),
        "target_token_embedding": ("decoder.embed_tokens", "shared"),
        "encoder_norm": "encoder.final_layer_norm",
        "decoder_norm": "decoder.final_layer_norm",
        **{
            f"{stack}_relative_bias": f"{stack}.block.0.layer.0.SelfAttention.relative_attention_bias"
            for stack in ("encoder", "decoder")
        },
        **{
            f"{stack}_{{}}/{ours}": f"{stack}.block.{{}}.layer.{number}.{theirs}"
            for stack, names in {
                "encoder": (("attention", "SelfAttention"),),
                "decoder": (("self_attention", "SelfAttention"), ("cross_attention", "EncDecAttention")),
            }.items()
            for number, (name, attention) in enumerate(names)
            for ours, theirs in {
                f"{name}/query": f"{attention}.q",
                f"{name}/key": f"{attention}.k",
                f"{name}/value": f"{attention}.v",
                f"{name}/output": f"{attention}.o",
                f"{name}_norm": "layer_norm",
            }.items()
        },
        **{
            f"{stack}_{{}}/{ours}": tuple(f"{stack}.block.{{}}.layer.{number}.{each}" for each in theirs)
            for stack, number in (("encoder", 1), ("decoder", 2))
            for ours, theirs in {
                "ffn/gate": ("DenseReluDense.wi_0",),
                "ffn/hidden": ("DenseReluDense.wi_1", "DenseReluDense.wi"),
                "ffn/output": ("DenseReluDense.wo",),
                "ffn_norm": ("layer_norm",),
            }.items()
        },
    },
    prefixes=("",),
    settings={
        "vocab_size": "vocab_size",
        "max_len": "n_positions",
        "d_model": "d_model",
        "head_dim": "d_kv",
        "num_layers": "num_layers",
        "num_decoder_layers": "num_decoder_layers",
        "num_heads": "num_heads",
        "ffn_dim": "d_ff",
        "activation": "feed_forward_proj",
        "norm_epsilon": "layer_norm_epsilon",
        "relative_buckets": "relative_attention_num_buckets",
        "relative_reach": "relative_attention_max_distance",
    },
    fixed={
        "architecture": "encoder-decoder",
        "positions": "relative",
        "norm": "pre",
        "norm_kind": "rms",
        "final_norm": True,
        "attention_bias": False,
        "ffn_bias": False,
    },
    defaults={
        "n_positions": 512,
        "num_decoder_layers": None,
        "feed_forward_proj": "relu",
        "layer_norm_epsilon": 1e-6,
        "relative_attention_num_buckets": 32,
        "relative_attention_max_distance": 128,
    },
    heads={"ForConditionalGeneration": {"output": "lm_head"}},
    untied_if_stored=True,
    scales_output=True,
    unscaled=True,
)

MT5 = replace(
    T5,
    defaults=T5.defaults | {"feed_forward_proj": "gated-gelu"},
    scales_output=False,
)

FAMILIES = {
    "bert": BERT,
    "albert": ALBERT,
    "distilbert": DISTILBERT,
    "electra": ELECTRA,
    "roberta": ROBERTA,
    "xlm-roberta": ROBERTA,
    "camembert": ROBERTA,
    "data2vec-text": DATA2VEC,
    "gpt2": GPT2,
    "opt": OPT,
    "gpt_neox": GPT_NEOX,
    "llama": LLAMA,
    "mistral": MISTRAL,
    "qwen2": QWEN2,
    "qwen3": QWEN3,
    "gemma": GEMMA,
    "starcoder2": STARCODER2,
    "stablelm": STABLELM,
    "phi": PHI,
    "phi3": PHI3,
    "bart": BART,
    "mbart": MBART,
    "pegasus": PEGASUS,
    "marian": MARIAN,
    "t5": T5,
    "mt5": MT5,
}
"""`model_type` in a config.json -> its family."""

ACTIVATIONS = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu-tanh",
    "gelu_pytorch_tanh": "gelu-tanh",
    "gelu_fast": "gelu-tanh",
    "silu": "silu",
    "swish": "silu",
}
"""Their name of an activation -> ours."""

BUFFERS = ("position_ids", "rotary_emb.inv_freq", "attn.bias", "attn.masked_bias", "attention.bias")
BUFFERS += ("attention.masked_bias", "EncDecAttention.relative_attention_bias.weight")
"""Endings of names of tensors that are not used: no parameters, or, of T5's cross-attention, never read."""
