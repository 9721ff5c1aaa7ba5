"""One step of a text that a decoder writes, for the view that draws it."""

import base64
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from transformer_viz.explorer.sampling import possible
from transformer_viz.language import Words
from transformer_viz.network.config import PAD_ID, START_ID
from transformer_viz.pictures.labels import ARROW, GAP, axis_tokens, label_of
from transformer_viz.trace.top_tokens import KEPT, is_whole
from transformer_viz.trace.trace import Trace

LISTED = 50
"""Number of the likeliest tokens that are listed."""

SLIDERS = ("temperature", "top_k", "top_p")
"""Sliders whose tips are those of the glossary."""

MAX_PROMPT = 600
"""Most characters of the text that are shown, from its end."""


class Written(NamedTuple):
    """A text that is being written, and the step of it that is shown.

    Attributes:
        trace: The forward pass over what is written, without the last token if that is not read any more.
        here: The forward pass over the text up to the step, whose last row has the whole vocabulary; `trace`,
            if all its rows have.
        begin: Position after which the first token is written.
        ids: The token ids written so far.
        step: Number of the token that is being chosen, from 0; at most `len(trace.probs) - 1 - begin`.
        note: Why no more tokens can be written; "": they can.
        never: Ids of tokens that are never written.
    """

    trace: Trace
    here: Trace
    begin: int
    ids: tuple[int, ...]
    step: int
    note: str = ""
    never: tuple[int, ...] = (PAD_ID, START_ID)

    def log_probs(self, step: int) -> np.ndarray:
        """Return the log probability of each token at a step: float32 (token,); -inf: never written."""
        trace = self.here if step == self.step else self.trace
        logits = trace.logits[self.begin + step].astype(np.float64)
        logits -= logits.max()
        found = logits - np.log(np.exp(logits).sum())
        return possible(found.astype(np.float32), self.never)

    def chip(self, step: int) -> dict[str, Any]:
        """Return the token written at a step for `writing.js`, with its probability and its rank."""
        row, token = self.log_probs(step), self.ids[step]
        rank, is_known = 1 + int((row > row[token]).sum()), is_whole(self.trace) or step == self.step
        shown = str(rank) if is_known or rank <= KEPT else f"> {KEPT}"
        return {"word": label_of(self.trace, token), "share": float(np.exp(row[token])), "rank": shown}


def step_of(
    words: Words, written: Written, *, opening: Mapping[str, tuple[int, int] | None]
) -> dict[str, Any]:
    """Return a step in the format of `writing.js`, without what the page adds.

    Args:
        words: Sentences of the visitor's language.
        written: The text, and the step.
        opening: Kind of attention -> the head that is shown first; None: the mean of all.
    """
    trace, ids, step = written.trace, written.ids, written.step
    log_probs, labels = written.log_probs(step), words.under("generation")
    order = np.argsort(-log_probs, kind="stable")
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    chosen = int(ranks[ids[step]]) if step < len(ids) else None
    listed = [*range(min(LISTED, int(np.isfinite(log_probs).sum())))]
    if chosen is not None and chosen >= len(listed):
        listed.append(chosen)
    return {
        "chips": [written.chip(each) for each in range(min(len(ids), len(trace.probs) - written.begin))],
        "step": step,
        "note": written.note,
        "chosen": chosen,
        "ids": _packed(order, np.int32),
        "ranked": _packed(log_probs[order], np.float32),
        "candidates": [{"rank": rank, "word": label_of(trace, order[rank])} for rank in listed],
        "attention": {
            kind: _looked(words, written, kind, opening.get(kind))
            for kind in ("cross", "decoder")
            if kind in trace.kinds()
        },
        "helps": labels.pop("help") | {name: words(f"gloss.{name}") for name in SLIDERS},
        "labels": labels,
    }


def _looked(words, written, kind, opening):
    """Return where each head looked at the step, over the tokens that it could read."""
    found = written.trace.kinds()[kind]
    query = written.begin + written.step
    keys = len(found.key_tokens) if kind == "cross" else query + 1
    weights = np.stack([layer.weights[:, query, :keys] for layer in found.layers])
    return {
        "name": words(f"generation.kind_{kind}"),
        "tokens": axis_tokens(written.trace, found.key_tokens)[:keys],
        "layers": weights.shape[0],
        "heads": weights.shape[1],
        "weights": _packed(weights, np.float32),
        "opening": None if opening is None else [*opening],
    }


def prompt_text(text: str, *, translates: bool) -> str:
    """Return the text that the model was given for display: its end, and an arrow if another one is written.

    Args:
        text: The text, on one line.
        translates: Whether the model is an encoder-decoder.
    """
    shown = text if len(text) <= MAX_PROMPT else f"{GAP} {text[-MAX_PROMPT:]}"
    return shown + ARROW.rstrip() * translates


def _packed(numbers: ArrayLike, kind: type) -> str:
    return base64.b64encode(np.ascontiguousarray(numbers, kind).tobytes()).decode()
