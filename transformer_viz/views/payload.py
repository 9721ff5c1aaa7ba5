"""A trace as the views read it: a small JSON header, then arrays as bytes."""

import json
from collections.abc import Callable

import numpy as np

from transformer_viz.figures.theme import DIVERGING, HEADS, SEQUENTIAL
from transformer_viz.text import visible
from transformer_viz.trace import Attentions, Trace

ALIGNMENT = 8
"""Every array begins at a multiple of so many bytes."""

LARGEST = np.finfo(np.float16).max
"""Scores and lengths beyond it, which float16 cannot hold, are shown as it."""

VECTORS = ("query", "key", "value", "context")
"""What a row is computed from, step by step, and what comes of it."""

MOST_VECTORS = 16e6
"""Bytes of them that are sent; longer texts are not gone through step by step."""


def pack(
    trace: Trace,
    *,
    tokens: dict[str, tuple[list[str], list[str]]],
    words: dict,
    names: dict[str, str],
    titles: dict[str, str],
    figures: dict[str, dict[str, np.ndarray]],
    saying: Callable[[str, int, int], str],
    kinds: dict[str, Attentions] | None = None,
) -> bytes:
    """Return a trace in the form of the views: float16 weights and scores, token texts, and words.

    Positive float16 numbers are in the order of their bits, so the same bytes serve colours and
    reading.

    Args:
        trace: What is shown.
        tokens: Kind of attention ("encoder", "decoder", "cross") -> texts of its rows and of its columns.
        words: Words of the views, as `lens.js` asks for them.
        names: Kind of attention -> its name.
        titles: Kind of attention -> what stands beside the rows.
        figures: Kind of attention -> name of a figure -> float (layer, head), to sort heads by; NaN: none.
        saying: (kind, layer, head) -> what that head does, in words.
        kinds: What is shown of the trace, changed; None: all its attention as it is.

    Returns:
        Length of the header as uint64, header, arrays.
    """
    arrays, attentions = _Arrays(), []
    for kind, found in (kinds or trace.kinds()).items():
        weights = np.stack([layer.weights for layer in found.layers])
        num_layers, heads, queries, keys = weights.shape
        mask = np.broadcast_to(found.mask, (len(found.mask), queries, keys))
        described = {"weights": arrays.add(weights, np.float16), "mask": arrays.add(mask, np.uint8)}
        if found.layers[0].scores is not None:
            scores = np.stack([layer.scores for layer in found.layers])
            described["scores"] = arrays.add(scores.clip(-LARGEST, LARGEST), np.float16)
            values = np.stack([layer.value for layer in found.layers])
            norms = np.linalg.norm(values, axis=-1)
            described["norms"] = arrays.add(norms.clip(max=LARGEST), np.float16)
            vectors = {name: [getattr(layer, name) for layer in found.layers] for name in VECTORS}
            if sum(array.nbytes for layers in vectors.values() for array in layers) <= MOST_VECTORS:
                described |= {name: arrays.add(np.stack(v), np.float32) for name, v in vectors.items()}
        attentions.append(
            {
                "kind": kind,
                "name": names[kind],
                "queryTitle": titles[kind],
                "layers": num_layers,
                "heads": heads,
                "queries": queries,
                "keys": keys,
                "headDim": found.layers[0].query.shape[-1] if "query" in described else None,
                "valueDim": found.layers[0].value.shape[-1] if "value" in described else None,
                "maskHeads": len(mask),
                "queryTokens": [*map(visible, tokens[kind][0])],
                "keyTokens": [*map(visible, tokens[kind][1])],
                "figures": {name: _numbers(values) for name, values in figures[kind].items()},
                "sayings": [saying(kind, *divmod(number, heads)) for number in range(num_layers * heads)],
                "arrays": described,
            }
        )
    themes = {
        theme: {"sequential": SEQUENTIAL[theme], "diverging": DIVERGING[theme], "heads": HEADS[theme]}
        for theme in SEQUENTIAL
    }
    header = {"model": trace.model, "words": words, "themes": themes, "attentions": attentions}
    text = json.dumps(header, ensure_ascii=False).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    return len(text).to_bytes(ALIGNMENT, "little") + text + bytes(arrays.data)


class _Arrays:
    """Arrays one after the other."""

    def __init__(self):
        self.data = bytearray()

    def add(self, array, dtype):
        """Append an array; return where it stands and what it is."""
        place = len(self.data)
        self.data += np.ascontiguousarray(array, dtype=dtype).tobytes()
        self.data += bytes(-len(self.data) % ALIGNMENT)
        return {"dtype": np.dtype(dtype).name, "shape": array.shape, "at": place}


def _numbers(values):
    """Return numbers for JSON, None where there is none."""
    return [float(value) if np.isfinite(value) else None for value in np.ravel(values)]
