"""How large a trace is, before it is made: from the config alone."""

from transformer_viz.values.config import TransformerConfig

FLOAT = 4
"""Bytes of a number; of a mask, each cell takes one."""


def trace_bytes(
    config: TransformerConfig, length: int | None = None, target_length: int | None = None
) -> int:
    """Return the bytes of `Explorer.trace` of one text with nothing changed, as `Trace.nbytes` counts them.

    Args:
        config: Of the model.
        length: Tokens that are read, [START] of a decoder included; None: as many as the model reads.
        target_length: Tokens of the target of an encoder-decoder, [START] included; None: as many as it
            writes.
    """
    keys = config.max_len if length is None else length
    floats = keys + 2 * keys * config.d_model + config.num_layers * _block(config, keys)
    bools = _own_mask(config, keys, causal=config.causal)
    last = keys
    if config.architecture == "encoder-decoder":
        last = config.target_max_len if target_length is None else target_length
        block = _block(config, last) + _cross_attention(config, last, keys)
        floats += last + (2 * last + keys) * config.d_model + config.num_decoder_layers * block
        bools += _own_mask(config, last, causal=True) + keys
    return FLOAT * (floats + _output(config, last)) + bools


def _own_mask(config, length, *, causal):
    return length * length if causal or config.window is not None else length


def _block(config, length):
    """Return the numbers of one block: the stream around its sub-layers, and what these compute."""
    stream = 8 * length * config.d_model
    return stream + length * config.ffn_dim + _attention(config, length, length)


def _cross_attention(config, queries, keys):
    return 3 * queries * config.d_model + _attention(config, queries, keys)


def _attention(config, queries, keys):
    projected = (queries + keys) * config.num_heads * (config.head_dim + config.value_dim)
    return projected + 2 * config.num_heads * queries * keys + queries * config.d_model


def _output(config, length):
    """Return the numbers of the last state, pooling, logits and probabilities."""
    last = length * config.d_model
    if config.has_decoder:
        return last + 2 * length * config.num_outputs
    pooled = config.d_model + length * (config.pooling != "max")
    return last + pooled + config.num_outputs + len(config.labels)
