"""How good estimated effects are: beside what happens without a cell, a head or a word."""

import contextlib
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from transformer_viz.explorer.explorer import Explorer
from transformer_viz.explorer.forward import Prepared
from transformer_viz.questions.effects.answer import Asked, Certainty
from transformer_viz.questions.effects.changed import changed_logits
from transformer_viz.questions.effects.measure import estimate, left_out
from transformer_viz.questions.effects.result import Effects
from transformer_viz.questions.effects.words import Word, words_of
from transformer_viz.text.special import MASK
from transformer_viz.text.tokenizer import NoTokensError
from transformer_viz.trace.interventions import all_heads
from transformer_viz.trace.request import Request

CELLS = 6
"""Cells of each layer that are measured in a text, drawn by their weight: those that a picture shows."""

DIGITS = 4
"""Digits after the point to which effects are compared: what is smaller is the rounding of float32."""

MATTERS = 0.05
"""Least measured effect whose sign counts."""

COLUMNS = ("what", "kind", "layer", "estimated", "measured")
"""Of what `pairs` yields."""

KEPT = ["what", "kind", "layer", "count", "correlation", "sign"]
"""Columns that a card keeps."""


def quality(explorer: Explorer, texts: Iterable[str | tuple[str, str]], *, seed: int = 0) -> pd.DataFrame:
    """Return how well estimated effects on the prediction agree with measured ones.

    A cell is muted, a head ablated, a word left out. The estimate of a word is the sum of all cells in which
    it is read. Texts without tokens are left out.

    Args:
        explorer: `Explorer`.
        texts: Texts; for an encoder-decoder (text, target) pairs, or texts whose target it writes. Where a
            masked language model finds no [MASK], the middle word becomes one.
        seed: Of the cells that are drawn.

    Returns:
        A row for the cells and one for the heads of each kind of attention and layer, and one for words:
        columns what ("cells", "heads", "words"), kind, layer (0-based; <NA> for words), count, correlation
        (Spearman's, over all texts), sign (share of equal signs where the measured effect is beyond 0.05),
        estimated and measured (means of sizes).
    """
    rows, random = [], np.random.default_rng(seed)
    for each in texts:
        text, target = (each, None) if isinstance(each, str) else each
        if explorer.config.fills_in and MASK not in text:
            text = _with_gap(text)
        with contextlib.suppress(NoTokensError):
            rows += pairs(explorer, explorer.with_target(explorer.request(text, target=target)), random)
    frame = pd.DataFrame(rows, columns=pd.Index(COLUMNS))
    frame["layer"] = frame["layer"].astype("Int64")
    groups: Any = frame.groupby(["what", "kind", "layer"], sort=False, dropna=False)
    found = [(*group, *agreement(part)) for group, part in groups]
    names = ["what", "kind", "layer", "count", "correlation", "sign", "estimated", "measured"]
    return pd.DataFrame(found, columns=pd.Index(names))


def card_facts(found: pd.DataFrame, texts: int) -> dict[str, Any]:
    """Return what a card keeps of the result of `quality` over a number of texts."""
    rows = json.loads(str(found[KEPT].to_json(orient="records", double_precision=3)))
    return {"effects": rows, "effects_texts": texts}


def pairs(explorer: Explorer, request: Request, random: np.random.Generator) -> Iterator[tuple[Any, ...]]:
    """Yield (what, kind, layer, estimated, measured) of cells, heads and words of one text.

    Args:
        explorer: `Explorer`.
        request: For an encoder-decoder, with a target.
        random: Draws the cells.
    """
    prepared = explorer.prepare(request)
    found, weights = estimate(explorer, prepared, Asked()), _weights(explorer, request)
    cells = [*_drawn(weights, random)]
    for (kind, layer, *place), drop in zip(
        cells, _drops(explorer, request, found, "mute", cells), strict=True
    ):
        yield "cells", kind, layer, float(found.cells[kind][layer, *place]), drop
    heads = all_heads(explorer.config)
    for (kind, layer, head), drop in zip(
        heads, _drops(explorer, request, found, "ablate", heads), strict=True
    ):
        yield "heads", kind, layer, float(found.heads[kind][layer, head]), drop
    yield from _of_words(explorer, prepared, found)


def read_effects(found: Effects, words: Sequence[Word]) -> list[float]:
    """Return the estimated effect of each word: the sum of all cells in which it is read."""
    sides = {"text": "encoder" if "encoder" in found.cells else "decoder", "target": "decoder"}
    read = {}
    for side, kind in sides.items():
        kinds = [kind, "cross"] if side == "text" and "cross" in found.cells else [kind]
        read[side] = sum(found.cells[each].sum(axis=(0, 1, 2)) for each in kinds if each in found.cells)
    return [float(read[word.side][list(word.tokens)].sum()) for word in words]


def _with_gap(text):
    """Return a text whose middle word is hidden."""
    words = text.split()
    return " ".join([*words[: len(words) // 2], MASK, *words[len(words) // 2 + 1 :]])


def _weights(explorer, request):
    """Return kind -> weights (layer, head, query, key)."""
    kinds = explorer.run(request, keep="weights").kinds()
    return {kind: np.stack([each.weights for each in found.layers]) for kind, found in kinds.items()}


def _drawn(weights, random):
    """Yield (kind, layer, head, query, key) of some cells of each layer, drawn by their weight."""
    for kind, layers in weights.items():
        for layer, heads in enumerate(layers):
            shares = heads.ravel().astype(np.float64)
            count = min(CELLS, np.count_nonzero(shares))
            for cell in random.choice(shares.size, count, replace=False, p=shares / shares.sum()):
                yield kind, layer, *map(int, np.unravel_index(cell, heads.shape))


def _drops(explorer, request, found, change, places):
    """Return what f loses with each head ablated, or each cell muted."""
    answer, config = found.answer, explorer.config
    changes = [{change: (place,)} for place in places]
    drops = []
    for batch in changed_logits(explorer, request, changes):
        for logits in batch:
            now: Certainty = answer.certainty(answer.logits(config, logits), config.temperature)
            drops.append(found.certainty.log_odds - now.log_odds)
    return drops


def _of_words(explorer, prepared: Prepared, found):
    words = words_of(prepared.source, prepared.target)
    without = {word: f for part in left_out(explorer, prepared, found.answer, words) for word, f in part}
    for word, estimated in zip(words, read_effects(found, words), strict=True):
        if np.isfinite(without[word]):
            yield "words", word.side, pd.NA, estimated, found.certainty.log_odds - without[word]


def agreement(part: pd.DataFrame) -> tuple[float, ...]:
    """Return count, rank correlation, share of equal signs, and mean sizes of some effects.

    Args:
        part: With columns estimated and measured.

    >>> agreement(pd.DataFrame({"estimated": [0, 0, 0, 0.2], "measured": [1e-6, -1e-6, 0, 0.1]}))[:2]
    (4, 1.0)
    """
    estimated, measured = (part[name].to_numpy(float).round(DIGITS) for name in ("estimated", "measured"))
    matters = np.abs(measured) > MATTERS
    same = np.sign(estimated[matters]) == np.sign(measured[matters])
    return (
        len(part),
        spearman(estimated, measured),
        float(same.mean()) if same.size else math.nan,
        float(np.abs(estimated).mean()),
        float(np.abs(measured).mean()),
    )


def spearman(one: np.ndarray, other: np.ndarray) -> float:
    """Return the rank correlation of two lists of numbers, ties with their mean rank; NaN: of a constant."""
    ranks: Any = pd.DataFrame({"one": one, "other": other}).rank()
    return float(ranks.corr().iloc[0, 1])
