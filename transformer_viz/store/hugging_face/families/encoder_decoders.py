"""Families that read a text and write another: BART's and T5's."""

from dataclasses import replace

from transformer_viz.store.hugging_face.families.family import Family, Head, Layers, Pieces, block
from transformer_viz.text.piece_files import mbart_json, pegasus_json, t5_json


def _attention(ours: str, theirs: str, norm: str) -> Layers:
    """Return the layers of an attention of BART, and of its normalisation."""
    parts = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}
    layers: Layers = {f"{ours}/{part}": f"layers.{{}}.{theirs}.{name}" for part, name in parts.items()}
    return layers | {f"{ours}_norm": f"layers.{{}}.{norm}"}


def _stack(stack: str, layers: Layers) -> Layers:
    """Return the layers of a stack of BART's, whose names begin with it, and of its feed-forward layer."""
    layers = layers | {"ffn/hidden": "layers.{}.fc1", "ffn/output": "layers.{}.fc2"}
    layers |= {"ffn_norm": "layers.{}.final_layer_norm"}
    return block(stack, {ours: f"{stack}.{theirs}" for ours, theirs in layers.items()})


BART = Family(
    layers={
        "token_embedding": ("encoder.embed_tokens", "shared"),
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
    heads={"ForConditionalGeneration": Head({"output": ("lm_head", "final_logits_bias")})},
    first_position=2,
)

MBART = replace(
    BART,
    fixed=BART.fixed | {"norm": "pre", "final_norm": True},
    pieces=Pieces("sentencepiece.bpe.model", mbart_json),
)

PEGASUS = replace(
    MBART,
    fixed=MBART.fixed | {"embedding_norm": False},
    pieces=Pieces("spiece.model", pegasus_json),
    first_position=0,
    computed_positions=True,
)

MARIAN = replace(
    BART,
    fixed=BART.fixed | {"embedding_norm": False},
    required={
        "normalize_before": False,
        "normalize_embedding": False,
        "add_final_layer_norm": False,
        "share_encoder_decoder_embeddings": True,
    },
    heads={"MTModel": BART.heads["ForConditionalGeneration"]},
    sentence_pieces=True,
    first_position=0,
    computed_positions=True,
)

T5 = Family(
    layers={
        "token_embedding": ("encoder.embed_tokens", "shared"),
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
    heads={"ForConditionalGeneration": Head({"output": "lm_head"})},
    untied_if_stored=True,
    pieces=Pieces("spiece.model", t5_json),
    scales_output=True,
    unscaled=True,
)

MT5 = replace(
    T5,
    defaults=T5.defaults | {"feed_forward_proj": "gated-gelu"},
    scales_output=False,
)
