"""Attention masks: bool, True = may attend, broadcastable to (batch, head, query, key), merged with `&`.

Written with operators alone, the same functions make NumPy arrays and tensors of any backend.
"""

from typing import Any

from transformer_viz.network.config import PAD_ID, TransformerConfig

Array = Any


def padding_mask(token_ids: Array, pad_id: int = PAD_ID) -> Array:
    """Return the padding mask: every token but [PAD] may be attended to.

    Args:
        token_ids: int (batch, position).
        pad_id: Id of [PAD].

    Returns:
        bool (batch, 1, 1, key).

    >>> import numpy as np
    >>> padding_mask(np.array([[5, 2, 0]]))[0, 0, 0].tolist()
    [True, True, False]
    """
    return (token_ids != pad_id)[:, None, None, :]


def causal_mask(query_index: Array, key_index: Array) -> Array:
    """Return the causal or look-ahead mask: a position attends to itself and earlier positions.

    Vaswani et al., 2017, section 3.2.3.

    Args:
        query_index: int (query,), positions of the queries: `arange(length)`.
        key_index: int (key,), positions of the keys.

    Returns:
        bool (query, key).

    >>> import numpy as np
    >>> causal_mask(np.arange(3), np.arange(3)).astype(int).tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """
    return key_index <= query_index[:, None]


def window_mask(query_index: Array, key_index: Array, reach: int) -> Array:
    """Return the window mask: a position attends to those at most `reach` away, on both sides.

    Beltagy et al., 2020, section 3.1.

    Args:
        query_index: As for `causal_mask`.
        key_index: The same.
        reach: Largest distance; 0: each position attends only to itself.

    Returns:
        bool (query, key).
    """
    return abs(key_index - query_index[:, None]) <= reach


def readable(config: TransformerConfig, token_ids: Array) -> Array:
    """Return which tokens a model attends to: bool (batch, 1, 1, key); not [PAD] if it masks padding."""
    mask = padding_mask(token_ids, config.pad_id)
    return mask if config.mask_padding else mask | True


def hides_nothing(config: TransformerConfig) -> bool:
    """Return whether a model's own mask of its first stack is all True for every text."""
    return not config.mask_padding and not config.causal and config.window is None


def self_attention_mask(
    config: TransformerConfig, token_ids: Array, index: Array, *, causal: bool, window: int | None
) -> Array:
    """Return a model's own mask of self-attention.

    Args:
        config: `TransformerConfig`.
        token_ids: int (batch, position).
        index: `arange` of the positions.
        causal: Whether the stack has a causal mask.
        window: Reach of the window; None: none.

    Returns:
        bool (batch, 1, query or 1, key).
    """
    mask = readable(config, token_ids)
    if causal:
        mask = mask & causal_mask(index, index)
    if window is not None:
        mask = mask & window_mask(index, index, window)
    return mask


def own_masks(
    config: TransformerConfig,
    token_ids: Array,
    index: Array,
    target_ids: Array | None = None,
    target_index: Array | None = None,
) -> dict[str, Array]:
    """Return a model's own masks, by the names of the arguments of `Transformer.trace`.

    Args:
        config: `TransformerConfig`.
        token_ids: int (batch, position).
        index: `arange` of its positions.
        target_ids: int (batch, target), for an encoder-decoder.
        target_index: `arange` of its positions.
    """
    masks = {
        "attention_mask": self_attention_mask(
            config, token_ids, index, causal=config.causal, window=config.window
        )
    }
    if config.unlimited_layers:
        masks["full_attention_mask"] = self_attention_mask(
            config, token_ids, index, causal=config.causal, window=None
        )
    if target_ids is not None:
        masks["target_attention_mask"] = self_attention_mask(
            config, target_ids, target_index, causal=True, window=config.window
        )
        masks["cross_attention_mask"] = readable(config, token_ids)
    return masks
