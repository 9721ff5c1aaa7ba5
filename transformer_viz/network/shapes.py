"""The names and shapes of a model's parameters, computed from its config."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformer_viz.network.config import TransformerConfig

SELF_ATTENTION = {"encoder": "attention", "decoder": "self_attention"}
"""Stack -> name of its layers of self-attention in the names of parameters."""


def parameter_shapes(config: "TransformerConfig") -> dict[str, tuple[int, ...]]:
    """Return name -> shape of every parameter, in the order the model creates them."""
    shapes = _embedding_shapes(config, "")
    if config.architecture == "encoder-decoder":
        shapes |= _embedding_shapes(config, "target_")
    if config.has_relative_bias:
        table = (config.relative_buckets, config.num_heads)
        shapes |= {f"{stack}_relative_bias/embeddings": table for stack in config.stacks}
    for stack, count in config.stacks.items():
        for layer in range(count):
            block = _block_shapes(config, stack, layer).items()
            shapes |= {f"{stack}_{layer}/{name}": shape for name, shape in block}
        if config.final_norm:
            shapes |= _norm_shapes(config, f"{stack}_norm")
    if config.predicts_tokens:
        return shapes | _vocabulary_shapes(config)
    if config.output == "none":
        return shapes
    if config.pooling == "attention":
        shapes |= _dense("pooling", config.d_model, 1)
    if config.pooled_activation != "none":
        shapes |= _dense("pooled", config.d_model, config.d_model)
    if config.pooled_norm:
        shapes |= _norm_shapes(config, "pooled_norm")
    return shapes | _dense("classifier", config.d_model, config.num_outputs)


def _embedding_shapes(config, side):
    shapes, width = {}, config.embedding_dim
    if not (side and config.tie_embeddings):
        shapes[f"{side}token_embedding/embeddings"] = (getattr(config, f"{side}vocab_size"), width)
    if config.positions == "learned":
        rows = getattr(config, f"{side}max_len") + config.padding_position
        shapes[f"{side}position_embedding/embeddings"] = (rows, width)
    if config.segments and not side:
        shapes["segment_embedding/embeddings"] = (config.segments, width)
    if config.embedding_norm:
        shapes |= _norm_shapes(config, f"{side}embedding_norm", width)
    if config.projects_embeddings:
        shapes |= _dense(f"{side}embedding_projection", width, config.d_model)
    return shapes


def _vocabulary_shapes(config):
    shapes, width = {}, config.d_model
    if config.output_transform:
        width = config.embedding_dim
        shapes |= _dense("transform", config.d_model, width)
        shapes |= _norm_shapes(config, "transform_norm", width)
    if not config.tie_embeddings:
        return shapes | _dense("output", width, config.num_outputs)
    return shapes | ({"output/bias": (config.num_outputs,)} if config.vocabulary_bias else {})


def reads_normalised(config: "TransformerConfig", sublayer: str, layer: int) -> bool:
    """Return whether a sub-layer reads normalised vectors.

    Args:
        config: The config.
        sublayer: Name of its layer: one of `SELF_ATTENTION`, "cross_attention" or "ffn".
        layer: Number of its block, from 0.
    """
    is_first = layer == 0 and sublayer in SELF_ATTENTION.values()
    return config.normalises_inputs and (config.first_norm or not is_first)


def in_other_stack(name: str) -> str:
    """Return the name that a parameter of one stack has in the other one; other parameters keep theirs.

    >>> in_other_stack("encoder_0/attention/query/kernel"), in_other_stack("decoder_norm/gamma")
    ('decoder_0/self_attention/query/kernel', 'encoder_norm/gamma')
    """
    stack, mark, rest = name.partition("_")
    if stack not in SELF_ATTENTION:
        return name
    [other] = SELF_ATTENTION.keys() - {stack}
    layer, slash, part = rest.partition("/")
    if part.startswith(own := SELF_ATTENTION[stack]):
        part = SELF_ATTENTION[other] + part.removeprefix(own)
    return f"{other}{mark}{layer}{slash}{part}"


def _norm_names(config, sublayer, layer) -> tuple[str, ...]:
    """Return the names of the normalisations of a sub-layer; arguments as for `reads_normalised`."""
    has_norm = config.norm == "post" or reads_normalised(config, sublayer, layer)
    names = (f"{sublayer}_norm",) if has_norm else ()
    return (*names, f"{sublayer}_output_norm") if config.norm == "sandwich" else names


def _block_shapes(config, stack, layer) -> dict[str, tuple[int, ...]]:
    names = [SELF_ATTENTION[stack]]
    if len(config.stacks) == 2 and stack == "decoder":
        names.append("cross_attention")
    shapes = {}
    for name in names:
        shapes |= {f"{name}/{part}": shape for part, shape in _attention_shapes(config).items()}
        for norm in _norm_names(config, name, layer):
            shapes |= _norm_shapes(config, norm)
    if config.ffn_dim:
        for part in ("hidden", "gate") if config.gated_ffn else ("hidden",):
            shapes |= _dense(f"ffn/{part}", config.d_model, config.ffn_dim, config.ffn_bias)
        shapes |= _dense("ffn/output", config.ffn_dim, config.d_model, config.ffn_bias)
        for norm in _norm_names(config, "ffn", layer):
            shapes |= _norm_shapes(config, norm)
    return shapes


def _attention_shapes(config):
    shapes, heads = {}, config.num_kv_heads
    widths = {
        "query": config.num_heads * config.head_dim,
        "key": heads * config.head_dim,
        "value": heads * config.value_dim,
    }
    for name, width in widths.items():
        shapes |= _dense(name, config.d_model, width, config.attention_bias)
    if config.output_projection:
        shapes |= _dense("output", config.num_heads * config.value_dim, config.d_model, config.output_bias)
    if config.qk_norm:
        shapes |= {f"{name}_norm/scale": (config.head_dim,) for name in ("query", "key")}
    return shapes


def _norm_shapes(config, name, width=None):
    parts = ("gamma", "beta") if config.norm_kind == "layer" else ("scale",)
    return {f"{name}/{part}": (width or config.d_model,) for part in parts}


def _dense(name, inputs, outputs, bias=True):
    kernel = {f"{name}/kernel": (inputs, outputs)}
    return kernel | {f"{name}/bias": (outputs,)} if bias else kernel
