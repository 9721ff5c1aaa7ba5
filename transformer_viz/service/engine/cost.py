"""Cost estimate of a trace, from the sizes of the model and its input."""

from transformer_viz.network.config import TransformerConfig
from transformer_viz.trace.request import Request

QUICK_CHARS = 2_000
"""Longest text for the quick child, in characters."""

QUICK_WEIGHTS = 2_000_000
"""Most attention weights of one trace in the quick child, over all layers and heads."""

QUICK_FLOPS = 4e9
"""Most floating-point operations with parameters of one trace in the quick child."""


def seems_quick(config: TransformerConfig, request: Request) -> bool:
    """Return whether a trace is cheap, assuming at most one token per character.

    Args:
        config: Of the model.
        request: With the target, if the model is an encoder-decoder.
    """
    source, target = len(request.text), len(request.target or ())
    padding, target_padding = request.changes.padding, request.changes.target_padding
    return max(source, target) <= QUICK_CHARS and is_quick(config, source + padding, target + target_padding)


def is_quick(config: TransformerConfig, source: int, target: int) -> bool:
    """Return whether a trace is cheap.

    Args:
        config: Of the model.
        source: Tokens of the text without [START] and [END]; those beyond `max_len` do not count.
        target: Tokens of the target; 0 without one.
    """
    tokens = min(config.max_len, source + 1)
    lengths = dict.fromkeys(config.stacks, tokens)
    if config.architecture == "encoder-decoder":
        lengths["decoder"] = min(config.target_max_len or config.max_len, target + 1)
    attentions = [(config.stacks[stack], length, length) for stack, length in lengths.items()]
    if config.architecture == "encoder-decoder":
        attentions.append((config.stacks["decoder"], lengths["decoder"], tokens))
    weights = config.num_heads * sum(layers * queries * keys for layers, queries, keys in attentions)
    flops = 2 * config.num_parameters * max(lengths.values())
    return weights <= QUICK_WEIGHTS and flops <= QUICK_FLOPS
