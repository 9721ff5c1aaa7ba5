"""The size of a trace, computed from the config before the trace exists."""

from transformer_viz.network.config import TransformerConfig

FLOAT = 4
"""Bytes of a number; a cell of a mask takes one."""


def trace_bytes(
    config: TransformerConfig, length: int | None = None, target_length: int | None = None
) -> int:
    """Return `Trace.nbytes` of a trace without interventions.

    Args:
        config: Config of the model.
        length: Tokens of the text, a decoder's [START] included; None: `max_len`.
        target_length: Tokens of an encoder-decoder's target, [START] included; None: `target_max_len`.
    """
    keys = config.max_len if length is None else length
    floats = keys + _embedding(config, keys) + config.num_layers * _block(config, keys)
    floats += config.score_cap is not None
    bools = _own_mask(config.window, keys, causal=config.causal)
    bools += len(config.unlimited_layers) * _own_mask(None, keys, causal=config.causal)
    last = keys
    if config.architecture == "encoder-decoder":
        last = config.target_max_len if target_length is None else target_length
        block = _block(config, last) + _cross_attention(config, last, keys)
        floats += last + _embedding(config, last) + keys * config.d_model + config.num_decoder_layers * block
        bools += _own_mask(config.window, last, causal=True) + keys
    return FLOAT * (floats + _output(config, last)) + bools


def _embedding(config, length):
    """Return the count of numbers in token and position embeddings, or in the position bias."""
    bias = config.num_heads * length**2 if config.has_relative_bias else 0
    return length * config.embedding_dim * (1 if config.positions_in_attention else 2) + bias


def _own_mask(window, length, *, causal):
    return length * length if causal or window is not None else length


def _block(config, length):
    """Return the count of numbers in one block: the residual stream and the tensors of its sub-layers."""
    added = (1 + (config.ffn_dim > 0)) * (config.norm == "sandwich")
    stream = (8 + added) * length * config.d_model
    unrotated = length * config.num_heads * config.head_dim * (config.positions == "rotary")
    return stream + length * config.ffn_dim + _attention(config, length, length) + unrotated


def _cross_attention(config, queries, keys):
    return (3 + (config.norm == "sandwich")) * queries * config.d_model + _attention(config, queries, keys)


def _attention(config, queries, keys):
    projected = (queries + keys) * config.num_heads * (config.head_dim + config.value_dim)
    return projected + 2 * config.num_heads * queries * keys + queries * config.d_model


def _output(config, length):
    """Return the count of numbers in the final residual stream, pooling, logits and probabilities."""
    last = length * config.d_model
    if config.has_decoder:
        return last + 2 * length * config.num_outputs
    pooled = config.d_model + length * (config.pooling != "max")
    return last + pooled + config.num_outputs + len(config.labels)
