"""Concatenation and output projection of heads."""

import numpy as np


def project_heads(
    context: np.ndarray, kernel: np.ndarray | None = None, bias: np.ndarray | None = None
) -> np.ndarray:
    """Return concat(head_1, ..., head_h) W^O + b (Vaswani et al., 2017, section 3.2.2).

    Without BLAS, which shares even a product of 0.2 ms among threads: where all cores are busy, they wait
    for one another for ten times as long.

    Args:
        context: float (head, query, value_dim).
        kernel: float (head * value_dim, d_model); None: no projection.
        bias: float (d_model,); None: 0.

    Returns:
        float32 (query, d_model).
    """
    joined = np.swapaxes(context, 0, 1).reshape(context.shape[1], -1)
    projected = joined if kernel is None else np.einsum("qc,cd->qd", joined, kernel)
    return np.asarray(projected if bias is None else projected + bias, np.float32)
