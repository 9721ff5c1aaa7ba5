"""The binary payload of the attention views: a JSON header, then arrays."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from transformer_viz.network.tensors import Attentions
from transformer_viz.pictures.theme import BACKGROUND, DIVERGING, EFFECTS, GAP, HEADS, SEQUENTIAL, TEXT
from transformer_viz.text.unicode import visible
from transformer_viz.trace.interventions import ATTENTION_KINDS
from transformer_viz.trace.trace import Trace

ALIGNMENT = 8
"""Alignment of each array, in bytes."""

LARGEST = np.finfo(np.float16).max
"""Scores and norms are clipped to it: the largest float16."""

THEMES = {
    theme: {"sequential": SEQUENTIAL[theme], "diverging": DIVERGING[theme], "effects": EFFECTS[theme]}
    | {"heads": HEADS[theme], "gap": GAP[theme], "text": TEXT[theme], "background": BACKGROUND[theme]}
    for theme in SEQUENTIAL
}
"""Theme -> its colour scales."""

MAX_VECTOR_BYTES = 16e6
"""Maximum size of the vectors in bytes; longer texts have no step-by-step view."""

MAX_SCORES = 4_000_000
"""Most attention weights of one kind that come with their scores, and with their effects."""

RESIDUAL = {"encoder": "resid_pre", "decoder": "resid_pre", "cross": "resid_mid"}
"""Kind of attention -> field of a block with the residual stream before it."""


MOST_EXACT = MAX_SCORES
"""Most weights of one kind that a page keeps as they are, in half precision."""

STEP_EXPONENT = -10
"""Weights of a page with more are rounded to 1/1024."""

LEAST = 1e-4
"""Smallest weight that such a page keeps; no line is drawn for a smaller one."""

OF_NO_LAYER = ("token", "position", "bias", "memory")
"""Vectors that all layers share."""


Word = tuple[int, int, str]
"""Tokens that are one word, from one to before another, and the word."""


class Evidence(NamedTuple):
    """The evidence for the roles of heads.

    Attributes:
        names: Short name of each measure.
        meanings: What each measures.
        texts: Number of texts that could show it; 0: not measured over many.
        numbers: float (5, layer, head, measure): over many texts the mean, its spread, the share of texts in
            which the head has that role, and the mean under uniform attention (without them, of this text);
            then the measure in this text. NaN: unknown, or cannot be shown.
    """

    names: list[str]
    meanings: list[str]
    texts: list[int]
    numbers: np.ndarray


class AttentionPayload(NamedTuple):
    """One kind of attention with its metrics, captions and labels.

    Attributes:
        found: Its layers.
        tokens: Labels of rows and columns.
        name: Name of the kind of attention.
        title: Title of the rows.
        head_title: Title template of a head, with {layer} and {head}.
        metrics: Name -> float (layer, head), to sort heads by; NaN: unknown.
        roles: Short role name of each head, by layer.
        captions: What is said of each head first, by layer: what it does in this text.
        vectors: Name -> float32 array, from `vectors_of`; empty: no step-by-step view.
        later: Whether there are vectors that the views can ask for.
        sentences: Index of the sentence of each row and column: int (query,), int (key,).
        evidence: The evidence for the roles; None: not shown.
        shares: Share of each head's usual role as text, by layer; "": the head has none. None: unknown.
        opening: Layer and head shown first, 0-based.
        before: The run that these layers are compared with; None: none.
        places: Of each row and of each column, its position in the text before and in this one, -1: none:
            int (query, 2), int (key, 2). None: both are the number of the row or column.
        has_edges: Whether a cell is an edge of the model, that can be cut.
        covered: Layer, head and row, 0-based, whose weights are not shown yet; None: all are.
        cap: `score_cap` of the model.
        words: Words of several rows, and of columns, for where not every token has room for its label.
        signed: Whether the weights are no weights but any numbers, coloured around zero if some are negative.
        numbers: Numbers of the layers, 1-based, if some are left out; None: all are there.
        effects: Effect of each cell on the answer: float (layer, head, query, key); None: unknown.
        ablated: Effect of each head, measured: float (layer, head); None: estimated by its cells.
        effects_before, ablated_before: As `effects` and `ablated`, of the run that these are compared with.
        usual: What is said of each head below, by layer: what it usually does; "": nothing. None: of no head.
        row_help: What a row is, where its label does not say it; "": it does.
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
    later: bool = False
    evidence: Evidence | None = None
    shares: list[list[str]] | None = None
    opening: tuple[int, int] = (0, 0)
    before: Attentions | None = None
    places: tuple[np.ndarray, np.ndarray] | None = None
    has_edges: bool = False
    covered: tuple[int, int, int] | None = None
    cap: float | None = None
    words: tuple[list[Word], list[Word]] = ([], [])
    signed: bool = False
    numbers: tuple[int, ...] | None = None
    effects: np.ndarray | None = None
    ablated: np.ndarray | None = None
    effects_before: np.ndarray | None = None
    ablated_before: np.ndarray | None = None
    usual: list[list[str]] | None = None
    row_help: str = ""

    def number(self, layer: int) -> int:
        """Return the number of a layer, 1-based."""
        return self.numbers[layer] if self.numbers else layer + 1

    def compact(self) -> Self:
        """Return a copy with numbers that can be compressed, if there are more than `MOST_EXACT`.

        They are rounded to 1/1024 of the largest one that there can be, small ones to three binary digits
        after the first; what is below `LEAST` of it is 0.
        """
        if sum(layer.weights.size for layer in self.found.layers) <= MOST_EXACT:
            return self
        most = 1.0
        if self.signed:
            most = max(float(np.abs(layer.weights).max()) for layer in self.found.layers) or 1.0
        return self._replace(
            found=_rounded(self.found, most), before=self.before and _rounded(self.before, most)
        )

    def of_layers(self, layers: Sequence[int]) -> Self:
        """Return a copy with some of the layers, 0-based and in ascending order, which keep their numbers."""
        where = list(layers)
        first = where.index(self.opening[0]) if self.opening[0] in where else 0
        return self._replace(
            found=_of_layers(self.found, where),
            metrics={name: values[where] for name, values in self.metrics.items()},
            roles=[self.roles[layer] for layer in where],
            captions=[self.captions[layer] for layer in where],
            usual=self.usual and [self.usual[layer] for layer in where],
            vectors={
                name: array if name in OF_NO_LAYER else array[where] for name, array in self.vectors.items()
            },
            evidence=self.evidence and self.evidence._replace(numbers=self.evidence.numbers[:, where]),
            shares=self.shares and [self.shares[layer] for layer in where],
            opening=(first, self.opening[1]),
            before=self.before and _of_layers(self.before, where),
            numbers=tuple(layer + 1 for layer in where),
            effects=None if self.effects is None else self.effects[where],
            ablated=None if self.ablated is None else self.ablated[where],
            effects_before=None if self.effects_before is None else self.effects_before[where],
            ablated_before=None if self.ablated_before is None else self.ablated_before[where],
        )


def payload_bytes(
    model: str, shown: dict[str, AttentionPayload], words: dict, **around: dict[str, Any] | str | None
) -> bytes:
    """Return the payload: float16 weights and scores, token labels, and words.

    Positive float16 numbers sort like their bit patterns, so a value's bits also index the colour scale.

    Args:
        model: Name of the model.
        shown: Kind of attention ("encoder", "decoder", "cross") -> what to show.
        words: Words of the views, by the names that `lens.js` uses.
        **around: What else the views are given. said: what stands beside them; None: nothing. acts: as
            `changes.acts_of` returns it; None: nothing can be changed. lesson: as `LessonView.header` returns
            it; None: there is none. pipeline: as `pipeline.pipeline_of` returns it; None: not shown. run: as
            `run_of` returns it, if effects on the answer may follow; None: they do not. answer: what the
            model answers, for saved pictures, as "b", and as "a" of the run that is compared with; None: not
            said.

    Returns:
        As `packed`.
    """
    arrays = Arrays()
    attentions = [_attention(kind, facts, arrays) for kind, facts in shown.items()]
    header = {"model": model, "words": words, "attentions": attentions}
    return packed(header | {name: facts for name, facts in around.items() if facts is not None}, arrays)


def run_of(trace: Trace) -> str:
    """Return a name for a run, by which its effects find it: the same answer to the same tokens has one."""
    largest = np.asarray(trace.logits.max(axis=-1))  # of a large vocabulary not all logits are there
    facts = (trace.model, trace.tokens, trace.target_tokens, largest.tobytes())
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]


def effect_arrays(
    arrays: "Arrays",
    cells: Mapping[str, np.ndarray],
    ablated: Mapping[str, np.ndarray] | None = None,
    agreements: Mapping[str, Sequence[float | None]] | None = None,
    before: Mapping[str, np.ndarray] | None = None,
    ablated_before: Mapping[str, np.ndarray] | None = None,
) -> dict[str, Any]:
    """Append the effects on an answer for the views that show its run already; return their description.

    Args:
        arrays: Where they are appended.
        cells: Kind of attention -> effect of each cell: float (layer, head, query, key).
        ablated: Kind -> effect of each head, measured: float (layer, head); None: estimated by its cells.
        agreements: Kind -> rank correlation of estimated with measured heads of each layer over some texts;
            None: unknown.
        before: As `cells`, of the run that is compared with; None: there is none.
        ablated_before: As `ablated`, of that run.
    """
    ours, theirs, cells_before = ablated or {}, ablated_before or {}, before or {}
    return {
        kind: _effects(found, ours.get(kind), arrays, cells_before.get(kind), theirs.get(kind))
        | {"agreements": (agreements or {}).get(kind)}
        for kind, found in cells.items()
    }


def packed(header: dict[str, Any], arrays: "Arrays") -> bytes:
    """Return a header, to which the colours of both themes are added, and its arrays, for `unpack` in
    payload.js: length of the header as uint64, header, arrays.
    """
    text = json.dumps(header | {"themes": THEMES}, ensure_ascii=False).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    return b"".join([len(text).to_bytes(ALIGNMENT, "little"), text, arrays.data])


def vectors_of(trace: Trace, kind: str, projected: np.ndarray | None = None) -> dict[str, np.ndarray]:
    """Return the vectors of each step of one kind of attention, stacked over its layers.

    Args:
        trace: The trace.
        kind: "encoder", "decoder" or "cross".
        projected: Output projection of the concatenated contexts, from `project_heads`, to compare with the
            layers' outputs: float (layer, query, d_model); None: unknown.

    Returns:
        Name -> float32 array; empty if the trace lacks them or they exceed `MAX_VECTOR_BYTES`. "reads" is the
        input of the query projection, "memory" that of the others in cross-attention, (key, d_model) for all
        layers; "error" is the largest difference of `projected` and the layer's output, of each query.
    """
    layers = trace.kinds()[kind].layers
    if layers[0].query is None:
        return {}
    blocks = trace.encoder if kind == "encoder" else trace.decoder
    side = "target_" if kind != "encoder" and trace.encoder else ""
    names = ("query", "key", "value", "context", "unrotated")
    stacks = {name: [getattr(layer, name) for layer in layers] for name in names}
    stacks["output"] = [layer.output for layer in layers]
    stacks["stream"] = [getattr(block, RESIDUAL[kind]) for block in blocks]
    stacks["reads"] = [getattr(block, f"{ATTENTION_KINDS[kind][1]}_input") for block in blocks]
    vectors = {name: np.stack(arrays) for name, arrays in stacks.items() if arrays[0] is not None}
    if kind == "cross":
        vectors |= {} if trace.values.memory is None else {"memory": trace.values.memory}
    elif "stream" in vectors:
        vectors["token"] = getattr(trace.values, f"{side}token_embedding")
        position = getattr(trace.values, f"{side}position_embedding")
        vectors["position"] = np.zeros_like(vectors["token"]) if position is None else position
        bias = getattr(trace.values, f"{side}position_bias")
        vectors |= {} if bias is None else {"bias": bias}
    if projected is not None:
        vectors["error"] = np.abs(projected - vectors["output"]).max(axis=-1, keepdims=True)
    return vectors if sum(array.nbytes for array in vectors.values()) <= MAX_VECTOR_BYTES else {}


def _attention(kind, shown, arrays):
    """Append the arrays of one kind of attention; return its part of the header."""
    found, vectors = shown.found, shown.vectors
    weights = _weights(found)
    if shown.covered is not None:
        weights[shown.covered] = 0
    num_layers, heads, queries, keys = weights.shape
    mask = np.broadcast_to(found.mask, (*found.mask.shape[:2], queries, keys))
    if shown.before is not None:
        before = _weights(shown.before)
        mask, before_mask = np.broadcast_arrays(mask, shown.before.mask)
    described = {"weights": arrays.add(weights, np.float16), "mask": arrays.add(mask, np.uint8)}
    if shown.before is not None:
        described["before"] = arrays.add(before, np.float16)
        described["beforeMask"] = arrays.add(before_mask, np.uint8)
    facts = {}
    if found.layers[0].scores is None:
        facts |= {} if shown.signed else {"lacking": "only_weights"}
    elif weights.size > MAX_SCORES:
        facts["lacking"] = "no_scores"
    else:
        scores = np.stack([layer.scores for layer in found.layers])
        if shown.covered is not None:
            scores[shown.covered] = 0
        described["scores"] = arrays.add(scores.clip(-LARGEST, LARGEST), np.float16)
        if found.layers[0].value is not None:
            norms = np.linalg.norm(np.stack([layer.value for layer in found.layers]), axis=-1)
            described["norms"] = arrays.add(norms.clip(max=LARGEST), np.float16)
    described |= {name: arrays.add(array, np.float32) for name, array in vectors.items()}
    if shown.evidence is not None:
        names, meanings, texts, measured = shown.evidence
        described["evidence"] = arrays.add(measured, np.float32)
        facts["measures"] = [
            {"name": name, "meaning": meaning, "texts": count}
            for name, meaning, count in zip(names, meanings, texts, strict=True)
        ]
    if shown.effects is not None or shown.ablated is not None:
        facts["effects"] = _effects(
            shown.effects, shown.ablated, arrays, shown.effects_before, shown.ablated_before
        )
    if shown.shares is not None:
        facts["shares"] = [share for layer in shown.shares for share in layer]
    if shown.places is not None:
        facts["places"] = [side.tolist() for side in shown.places]
    rows, columns = shown.tokens
    return facts | {
        "kind": kind,
        "name": shown.name,
        "queryTitle": shown.title,
        "headTitle": shown.head_title,
        "opening": shown.opening,
        "layers": num_layers,
        "heads": heads,
        "queries": queries,
        "keys": keys,
        "sizes": {name: array.shape[-1] for name, array in vectors.items()},
        "later": shown.later,
        "maskLayers": mask.shape[0],
        "maskHeads": mask.shape[1],
        "cap": shown.cap,
        "areNumbers": shown.signed,
        "signed": shown.signed and bool((weights < 0).any()),
        "numbers": shown.numbers,
        "hasEdges": shown.has_edges,
        "covered": shown.covered,
        "queryTokens": [*map(visible, rows)],
        "keyTokens": [*map(visible, columns)],
        "queryWords": shown.words[0],
        "keyWords": shown.words[1],
        "querySentences": shown.sentences[0].tolist(),
        "keySentences": shown.sentences[1].tolist(),
        "figures": {name: _numbers(values) for name, values in shown.metrics.items()},
        "roles": [role for layer in shown.roles for role in layer],
        "sayings": [caption for layer in shown.captions for caption in layer],
        "usual": [said for layer in shown.usual or () for said in layer],
        "rowHelp": shown.row_help,
        "arrays": described,
    }


def _effects(cells, ablated, arrays, before=None, ablated_before=None):
    """Append the effects of one kind of attention; return that of each head, and where the cells are, unless
    they are unknown or too many.
    """
    found = {"heads": _numbers(_of_heads(cells, ablated)), "isMeasured": ablated is not None}
    if before is not None:
        found["headsBefore"] = _numbers(_of_heads(before, ablated_before))
    if cells is None or cells.size > MAX_SCORES:
        return found
    found["cells"] = arrays.add(cells, np.float16)
    return found if before is None else found | {"before": arrays.add(before, np.float16)}


def _of_heads(cells, ablated):
    """Return the effect of each head: as measured, else the sum of its cells."""
    return np.nansum(cells, axis=(2, 3)) if ablated is None else ablated


def _rounded(found, most):
    layers = [layer._replace(weights=most * _with_few_digits(layer.weights / most)) for layer in found.layers]
    return found._replace(layers=layers)


def _with_few_digits(shares):
    shares = np.where(np.abs(shares) < LEAST, np.float32(0), shares)
    _, exponents = np.frexp(shares)
    steps = np.ldexp(np.float32(1), np.minimum(exponents - 4, STEP_EXPONENT))
    return np.round(shares / steps) * steps


def _of_layers(found, layers):
    mask = found.mask if len(found.mask) == 1 else found.mask[layers]
    return found._replace(layers=[found.layers[layer] for layer in layers], mask=mask)


def _weights(found):
    """Return the weights of all layers, converted layer by layer: float16 (layer, head, query, key)."""
    return np.stack(
        [np.nan_to_num(layer.weights).clip(-LARGEST, LARGEST).astype(np.float16) for layer in found.layers]
    )


class Arrays:
    """Aligned concatenation of arrays."""

    def __init__(self):
        self.data = bytearray()

    def add(self, array: np.ndarray, dtype: type[np.generic]) -> dict[str, Any]:
        """Append an array; return its dtype, shape and byte offset."""
        place = len(self.data)
        self.data += np.ascontiguousarray(array, dtype=dtype).reshape(-1).view(np.uint8).data
        self.data += bytes(-len(self.data) % ALIGNMENT)
        return {"dtype": np.dtype(dtype).name, "shape": array.shape, "at": place}


def _numbers(values):
    """Return numbers for JSON; non-finite ones are None."""
    return [float(value) if np.isfinite(value) else None for value in np.ravel(values)]
