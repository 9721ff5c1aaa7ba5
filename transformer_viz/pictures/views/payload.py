"""Attention as the views read it: a small JSON header, then arrays as bytes."""

import json
from typing import NamedTuple

import numpy as np

from transformer_viz.pictures.figures.theme import DIVERGING, HEADS, SEQUENTIAL
from transformer_viz.text.tokenizer import visible
from transformer_viz.values.trace import Attentions, Trace

ALIGNMENT = 8
"""Every array begins at a multiple of so many bytes."""

LARGEST = np.finfo(np.float16).max
"""Scores and lengths beyond it, which float16 cannot hold, are shown as it."""

MOST_VECTORS = 16e6
"""Bytes of vectors that are sent; longer texts are not gone through step by step."""

READS = {"encoder": "attention_input", "decoder": "self_attention_input", "cross": "cross_attention_input"}
"""Kind of attention -> field of a block with what its queries are projected from."""

STREAM = {"encoder": "resid_pre", "decoder": "resid_pre", "cross": "resid_mid"}
"""Kind of attention -> field of a block with the residual stream before it."""


class AttentionPayload(NamedTuple):
    """One kind of attention, with the texts around it.

    Attributes:
        found: Its layers.
        tokens: Texts of its rows and of its columns.
        name: What it is called.
        title: What stands beside the rows.
        head_title: What one head is called, with {layer} and {head} for their numbers.
        metrics: Name -> float (layer, head), to sort heads by; NaN: none.
        roles: The same in a word or two, to stand below its picture.
        captions: What each head of each layer does, in words.
        vectors: Name -> float32 array, from `vectors_of`; empty: it cannot be gone through step by step.
        sentences: Number of the sentence each row and each column is of: int (query,), int (key,).
    """

    found: Attentions
    tokens: tuple[list[str], list[str]]
    name: str
    title: str
    head_title: str
    metrics: dict[str, np.ndarray]
    roles: list[list[str]]
    captions: list[list[str]]
    vectors: dict[str, np.ndarray]
    sentences: tuple[np.ndarray, np.ndarray]


def payload_bytes(model: str, shown: dict[str, AttentionPayload], words: dict) -> bytes:
    """Return attention in the form of the views: float16 weights and scores, token texts, and words.

    Positive float16 numbers are in the order of their bits, so the same bytes serve colours and
    reading.

    Args:
        model: Name of the model.
        shown: Kind of attention ("encoder", "decoder", "cross") -> what there is of it.
        words: Words of the views, as `lens.js` asks for them.

    Returns:
        Length of the header as uint64, header, arrays.
    """
    arrays = _Arrays()
    attentions = [_attention(kind, facts, arrays) for kind, facts in shown.items()]
    themes = {
        theme: {"sequential": SEQUENTIAL[theme], "diverging": DIVERGING[theme], "heads": HEADS[theme]}
        for theme in SEQUENTIAL
    }
    header = {"model": model, "words": words, "themes": themes, "attentions": attentions}
    text = json.dumps(header, ensure_ascii=False).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    return len(text).to_bytes(ALIGNMENT, "little") + text + bytes(arrays.data)


def vectors_of(trace: Trace, kind: str, projected: np.ndarray | None = None) -> dict[str, np.ndarray]:
    """Return every vector on the way through one kind of attention, stacked over its layers.

    Args:
        trace: What was computed.
        kind: "encoder", "decoder" or "cross".
        projected: The heads' contexts joined and projected anew, from `project_heads`: float (layer, query,
            d_model); None: there is nothing to compare the layers' outputs with.

    Returns:
        Name -> float32 array; empty where they are not in the trace, or more than `MOST_VECTORS`.
    """
    layers = trace.kinds()[kind].layers
    if layers[0].query is None:
        return {}
    blocks = trace.encoder if kind == "encoder" else trace.decoder
    side = "target_" if kind != "encoder" and trace.encoder else ""
    stacks = {
        name: [getattr(layer, name) for layer in layers] for name in ("query", "key", "value", "context")
    }
    stacks["output"] = [layer.output for layer in layers]
    stacks["stream"] = [getattr(block, STREAM[kind]) for block in blocks]
    stacks["reads"] = [getattr(block, READS[kind]) for block in blocks]
    vectors = {name: np.stack(arrays) for name, arrays in stacks.items() if arrays[0] is not None}
    if kind != "cross" and "stream" in vectors:
        vectors["token"] = getattr(trace.values, f"{side}token_embedding")
        vectors["position"] = getattr(trace.values, f"{side}position_embedding")
    if projected is not None:
        vectors["projected"] = projected
    return vectors if sum(array.nbytes for array in vectors.values()) <= MOST_VECTORS else {}


def _attention(kind, shown, arrays):
    """Append the arrays of one kind of attention; return what the header says of it."""
    found, vectors = shown.found, shown.vectors
    weights = np.stack([layer.weights for layer in found.layers])
    num_layers, heads, queries, keys = weights.shape
    mask = np.broadcast_to(found.mask, (len(found.mask), queries, keys))
    described = {"weights": arrays.add(weights, np.float16), "mask": arrays.add(mask, np.uint8)}
    if found.layers[0].scores is not None:
        scores = np.stack([layer.scores for layer in found.layers])
        described["scores"] = arrays.add(scores.clip(-LARGEST, LARGEST), np.float16)
        norms = np.linalg.norm(np.stack([layer.value for layer in found.layers]), axis=-1)
        described["norms"] = arrays.add(norms.clip(max=LARGEST), np.float16)
    described |= {name: arrays.add(array, np.float32) for name, array in vectors.items()}
    rows, columns = shown.tokens
    return {
        "kind": kind,
        "name": shown.name,
        "queryTitle": shown.title,
        "headTitle": shown.head_title,
        "layers": num_layers,
        "heads": heads,
        "queries": queries,
        "keys": keys,
        "sizes": {name: array.shape[-1] for name, array in vectors.items()},
        "maskHeads": len(mask),
        "queryTokens": [*map(visible, rows)],
        "keyTokens": [*map(visible, columns)],
        "querySentences": shown.sentences[0].tolist(),
        "keySentences": shown.sentences[1].tolist(),
        "figures": {name: _numbers(values) for name, values in shown.metrics.items()},
        "roles": [role for layer in shown.roles for role in layer],
        "sayings": [said for layer in shown.captions for said in layer],
        "arrays": described,
    }


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
