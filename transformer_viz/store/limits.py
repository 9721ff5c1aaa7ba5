"""Limits of model sizes, derived from the config.

They bound the resources of a server with many users; larger models can still be built.
"""

from pathlib import Path

from transformer_viz.language import Phrase
from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.trace_size import trace_bytes
from transformer_viz.store.format import MAX_PARAMETERS, ModelError
from transformer_viz.text.rules import MAX_TOKENS

MAX_LAYERS = 256
"""Blocks of all stacks together."""

MAX_TRACE = 2_000_000_000
"""Bytes of the full trace of the longest text."""

MAX_LABEL = 200
"""Characters of a label."""

LARGEST_FIELDS = {
    "num_layers": MAX_LAYERS,
    "num_decoder_layers": MAX_LAYERS,
    "num_heads": 256,
    "d_model": 8_192,
    "embedding_dim": 8_192,
    "head_dim": 8_192,
    "value_dim": 8_192,
    "ffn_dim": 32_768,
    "vocab_size": MAX_TOKENS,
    "target_vocab_size": MAX_TOKENS,
    "max_len": 16_384,
    "target_max_len": 16_384,
    "window": 16_384,
    "relative_buckets": 4_096,
    "relative_reach": 16_384,
}
"""Field of a config -> maximum."""

MAX_LABELS = 10_000
"""Classes of a model."""


def check_limits(config: TransformerConfig) -> None:
    """Check that a model of this config may be opened here.

    Raises:
        ModelError: If it is too large; names the field, its value, the limit and how to fix it.
    """
    check_sizes(config)
    if config.num_parameters > MAX_PARAMETERS:
        raise ModelError(
            "limits.parameters",
            d_model=config.d_model,
            vocab_size=config.vocab_size,
            layers=Phrase("limits.layers", count=sum(config.stacks.values())),
            parameters=config.num_parameters,
            most=MAX_PARAMETERS,
        )
    _check_trace(config, sum(config.stacks.values()))


def check_sizes(config: TransformerConfig) -> None:
    """Check each field of a config, and its labels, but not how many parameters there are together.

    Raises:
        ModelError: If one is too large.
    """
    for name, most in LARGEST_FIELDS.items():
        value = getattr(config, name)
        if value is not None and value > most:
            raise _too_large(name, value, most)
    layers = sum(config.stacks.values())
    if layers > MAX_LAYERS:
        raise ModelError("limits.layers_together", layers=layers, most=MAX_LAYERS)
    _check_labels(config.labels)


def check_config(file: Path, config: TransformerConfig) -> None:
    """Check the limits of a config from a file."""
    try:
        check_limits(config)
    except ModelError as error:
        raise ModelError("store.unusable", file=file, reason=error) from None


def _check_labels(labels):
    if len(labels) > MAX_LABELS:
        raise ModelError("limits.labels", labels=len(labels), most=MAX_LABELS)
    longest = max(map(len, labels), default=0)
    if longest > MAX_LABEL:
        raise ModelError("limits.label", length=longest, most=MAX_LABEL)


def _check_trace(config, layers):
    """Check the memory of the longest text's trace, dominated by heads times length squared."""
    size = trace_bytes(config)
    if size > MAX_TRACE:
        lengths = Phrase("limits.length", length=config.max_len)
        if config.target_max_len is not None:
            lengths = Phrase("limits.lengths", length=config.max_len, target=config.target_max_len)
        raise ModelError(
            "limits.trace",
            lengths=lengths,
            heads=config.num_heads,
            layers=Phrase("limits.layers", count=layers),
            size=size / 1e9,
            most=MAX_TRACE / 1e9,
        )


def _too_large(field, value, most):
    if value < 10**30:
        return ModelError("limits.field", field=field, value=value, most=most)
    return ModelError("limits.huge_field", field=field, most=most)
