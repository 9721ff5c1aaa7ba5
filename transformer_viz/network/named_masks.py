"""Names of attention masks, and the digits of painted ones."""

import numpy as np
from numpy.typing import ArrayLike

from transformer_viz.language import Problem
from transformer_viz.network.config import PAD_ID
from transformer_viz.network.masks import causal_mask, padding_mask, window_mask


def named_mask(name: str, queries: int, key_ids: np.ndarray, pad_id: int = PAD_ID) -> np.ndarray:
    """Return the mask of a name.

    Args:
        name: "none" (no mask), "padding", "causal", "window:3" (the reach), "painted:" and a result of
            `mask_to_bits`, or several of them joined by "+" (their intersection).
        queries: Number of rows.
        key_ids: int (key,), the token ids of the columns.
        pad_id: Id of [PAD].

    Returns:
        bool (query, key).

    Raises:
        ValueError: If there is no such mask, or a painted one has another size.

    >>> named_mask("causal+padding", 3, np.array([5, 2, 0])).astype(int).tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 0]]
    """
    rows, columns = np.arange(queries), np.arange(len(key_ids))
    mask = np.ones((len(rows), len(columns)), bool)
    for part in name.split("+"):
        match part.split(":"):
            case ["none"]:
                continue
            case ["padding"]:
                mask = mask & padding_mask(key_ids[None], pad_id)[0, 0]
            case ["causal"]:
                mask = mask & causal_mask(rows, columns)
            case ["window", reach] if reach.isdecimal():
                mask = mask & window_mask(rows, columns, int(reach))
            case ["painted", bits]:
                mask = mask & mask_from_bits(bits, mask.shape)
            case _:
                raise Problem("mask.missing", name=repr(name))
    return mask


def mask_to_bits(mask: ArrayLike) -> str:
    """Return a mask as hexadecimal digits of four cells each, row by row, padded with 0.

    Args:
        mask: bool (query, key).

    >>> mask_to_bits(np.tri(3, dtype=bool))
    '9b8'
    """
    cells = np.asarray(mask, bool).ravel()
    return np.packbits(cells).tobytes().hex()[: -(-cells.size // 4)]


def mask_from_bits(bits: str, shape: tuple[int, int]) -> np.ndarray:
    """Return the mask of hexadecimal digits.

    Args:
        bits: Hexadecimal digits, from `mask_to_bits`.
        shape: (query, key).

    Returns:
        bool (query, key).

    Raises:
        ValueError: If the digits do not encode a mask of that shape.
    """
    size = shape[0] * shape[1]
    digits = -(-size // 4)
    good = len(bits) == digits and all(digit in "0123456789abcdef" for digit in bits)
    if not good:
        found = {"found": len(bits), "received": repr(bits[:16])}
        raise Problem("mask.painted", rows=shape[0], columns=shape[1], digits=digits, **found)
    even = bits + "0" * (digits % 2)
    return np.unpackbits(np.frombuffer(bytes.fromhex(even), np.uint8))[:size].astype(bool).reshape(shape)
