"""Families of language models."""

from dataclasses import replace

from transformer_viz.store.hugging_face.families.family import (
    FULL,
    SIZES,
    SLIDING,
    Family,
    Head,
    Pieces,
    block,
)
from transformer_viz.text.piece_files import llama_json

DECODER = {"architecture": "decoder", "norm": "pre", "final_norm": True}

GPT2 = Family(
    layers={
        "token_embedding": "wte",
        "position_embedding": "wpe",
        "decoder_norm": "ln_f",
        **block(
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
    heads={"LMHeadModel": Head({"output": "lm_head"})},
    transposed=False,
)

GPT_NEO = replace(
    GPT2,
    layers=GPT2.layers
    | block(
        "decoder",
        {
            "self_attention/query": "h.{}.attn.attention.q_proj",
            "self_attention/key": "h.{}.attn.attention.k_proj",
            "self_attention/value": "h.{}.attn.attention.v_proj",
            "self_attention/output": "h.{}.attn.attention.out_proj",
        },
    ),
    settings=SIZES
    | {
        "num_layers": "num_layers",
        "num_heads": "num_heads",
        "activation": "activation_function",
        "norm_epsilon": "layer_norm_epsilon",
        "window": "window_size",
    },
    fixed=GPT2.fixed | {"attention_bias": False, "output_bias": True},
    defaults={
        "activation_function": "gelu_new",
        "layer_norm_epsilon": 1e-5,
        "intermediate_size": None,
        "window_size": 256,
    },
    required={},
    heads={"ForCausalLM": Head({"output": "lm_head"})},
    transposed=True,
    unscaled=True,
    kinds=("attention_layers", "attention_types"),
    mixed=("", 2, "first"),
)

OPT = Family(
    layers={
        "token_embedding": "embed_tokens",
        "position_embedding": "embed_positions",
        "decoder_norm": "final_layer_norm",
        **block(
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
    heads={"ForCausalLM": Head({"output": "lm_head"})},
    first_position=2,
)

GPT_NEOX = Family(
    layers={
        "token_embedding": "embed_in",
        "decoder_norm": "final_layer_norm",
        **block(
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
    heads={"ForCausalLM": Head({"output": "embed_out"})},
    tied=False,
)

LLAMA = Family(
    layers={
        "token_embedding": "embed_tokens",
        "decoder_norm": "norm",
        **block(
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
    prefixes=("model.", "transformer.", ""),
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
    heads={"ForCausalLM": Head({"output": "lm_head"})},
    tied=False,
    pieces=Pieces("tokenizer.model", llama_json),
)

MISTRAL = replace(
    LLAMA,
    settings=LLAMA.settings | {"window": "sliding_window"},
    defaults=LLAMA.defaults | {"sliding_window": 4096},
)

QWEN2 = replace(
    MISTRAL,
    settings={ours: theirs for ours, theirs in MISTRAL.settings.items() if ours != "attention_bias"},
    fixed=LLAMA.fixed | {"attention_bias": True, "output_bias": False},
    switches={"window": "use_sliding_window"},
    mixed=("max_window_layers", 28, "below"),
)

QWEN3 = replace(
    QWEN2,
    settings=MISTRAL.settings,
    fixed=LLAMA.fixed | {"qk_norm": True},
    defaults=MISTRAL.defaults | {"head_dim": 128},
)

STARCODER2 = replace(
    LLAMA,
    layers=LLAMA.layers
    | block("decoder", {"ffn/hidden": "layers.{}.mlp.c_fc", "ffn/output": "layers.{}.mlp.c_proj"}),
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
    | block(
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
    | block(
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

GEMMA2 = replace(
    GEMMA,
    layers=GEMMA.layers
    | block(
        "decoder",
        {
            "self_attention_output_norm": "layers.{}.post_attention_layernorm",
            "ffn_norm": "layers.{}.pre_feedforward_layernorm",
            "ffn_output_norm": "layers.{}.post_feedforward_layernorm",
        },
    ),
    settings={ours: theirs for ours, theirs in MISTRAL.settings.items() if ours != "ffn_bias"}
    | {
        "activation": "hidden_activation",
        "score_cap": "attn_logit_softcapping",
        "logit_cap": "final_logit_softcapping",
    },
    fixed=GEMMA.fixed | {"norm": "sandwich", "ffn_bias": False},
    defaults=GEMMA.defaults
    | {
        "hidden_activation": "gelu_pytorch_tanh",
        "num_key_value_heads": 4,
        "query_pre_attn_scalar": 256,
        "sliding_window": 4096,
        "attn_logit_softcapping": 50.0,
        "final_logit_softcapping": 30.0,
    },
    required={"use_bidirectional_attention": False},
    query_scalar="query_pre_attn_scalar",
    mixed=("", 2, "last"),
)

GEMMA3 = replace(
    GEMMA2,
    settings={ours: theirs for ours, theirs in GEMMA2.settings.items() if ours != "score_cap"},
    fixed=GEMMA2.fixed | {"qk_norm": True},
    defaults=GEMMA2.defaults | {"final_logit_softcapping": None},
    required={**GEMMA2.required, "attn_logit_softcapping": None},
    mixed=("sliding_window_pattern", 6, "last"),
    rotary_bases={
        "rotary_base": (FULL, "rope_theta", 1_000_000.0),
        "window_rotary_base": (SLIDING, "rope_local_base_freq", 10_000.0),
    },
)
