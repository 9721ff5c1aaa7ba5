"""The distribution from which a decoder's next token is drawn, in NumPy."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from transformer_viz.language import Problem
from transformer_viz.network.config import PAD_ID, START_ID


def possible(log_probs: ArrayLike, never: Sequence[int] = (PAD_ID, START_ID)) -> np.ndarray:
    """Return log probabilities with -inf for tokens that are never written: a copy.

    Args:
        log_probs: float (..., token).
        never: Ids of these tokens: [PAD] and [START].
    """
    found = np.array(log_probs)
    found[..., [*never]] = -np.inf
    return found


def distribution(
    log_probs: ArrayLike, *, temperature: float = 1.0, top_k: int | None = None, top_p: float = 1.0
) -> np.ndarray:
    """Return the probabilities with which the next token is drawn: float64, same shape, sum 1.

    The three settings act one after the other: the softmax at a temperature (Ackley et al., 1985; Hinton et
    al., 2015, eq. 1), then the top k tokens (Fan et al., 2018, section 5.4), then the nucleus, the likeliest
    tokens whose probabilities reach p together (Holtzman et al., 2020, section 3.1); the token that crosses p
    is kept. What is kept is normalised each time. Of equally likely tokens those with smaller ids are kept.
    `distribution` in sampling.js is the same.

    Args:
        log_probs: float (..., token), log probabilities or logits; -inf: impossible.
        temperature: 1 changes nothing; 0: the likeliest token alone.
        top_k: Number of tokens to keep, at least 1; None: all.
        top_p: In (0, 1]; 1: all tokens are kept.

    Raises:
        ValueError: If a setting is out of range.
    """
    check_sampling(temperature, top_k, top_p)
    log_probs = np.asarray(log_probs, np.float64)
    order = np.argsort(-log_probs, axis=-1, kind="stable")
    ranked = np.take_along_axis(log_probs, order, axis=-1)
    ranked = ranked - ranked[..., :1]
    shares = np.exp(ranked / temperature) if temperature else np.zeros_like(ranked)
    shares[..., 0] = 1
    if top_k is not None:
        shares[..., top_k:] = 0
    shares /= shares.sum(axis=-1, keepdims=True)
    if top_p < 1:
        before = shares.cumsum(axis=-1) - shares
        shares[before >= top_p] = 0
        shares /= shares.sum(axis=-1, keepdims=True)
    found = np.empty_like(shares)
    np.put_along_axis(found, order, shares, axis=-1)
    return found


def check_sampling(temperature: float, top_k: int | None, top_p: float) -> None:
    """Check the settings of `distribution`.

    Raises:
        ValueError: If one is out of range.
    """
    if not 0 <= temperature < np.inf:
        raise Problem("writing.temperature", received=temperature)
    if top_k is not None and top_k < 1:
        raise Problem("writing.top_k", received=top_k)
    if not 0 < top_p <= 1:
        raise Problem("writing.top_p", received=top_p)
