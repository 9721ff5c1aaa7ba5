"""The rows of a training file, counted before a run."""

from itertools import chain
from typing import NamedTuple

import streamlit as st

from transformer_viz.data import (
    DataReport,
    describe,
    evenly_spaced,
    read_labelled,
    read_pairs,
    read_texts,
    split,
    split_pairs,
    split_texts,
)
from transformer_viz.runs import Upload
from transformer_viz.text.tokenizer import Tokenizer

MAX_VOCABULARY = 20_000
"""Maximum vocabulary size counted for the report."""

MAX_COUNTED = 20_000
"""Maximum number of texts tokenized for the report."""

READERS = {
    "labels": (read_labelled, split),
    "pairs": (read_pairs, split_pairs),
    "texts": (read_texts, split_texts),
}
"""Kind of rows -> functions that read and split them."""


class Reading(NamedTuple):
    """How the texts of a file are read.

    Attributes:
        tokens: Kind of tokens, as in `TrainingJob`.
        target_tokens: Kind of tokens of the targets, as in `TrainingJob`; "": one vocabulary with the texts.
        keep_case: Whether case is distinguished.
        max_len: Longest text in tokens.
        test_share: Share of test rows.
    """

    tokens: str
    target_tokens: str
    keep_case: bool
    max_len: int
    test_share: float


class Counted(NamedTuple):
    """Report, vocabulary sizes and examples of a file; the target's size is None if it shares the text's."""

    report: DataReport
    vocab: int
    target_vocab: int | None
    examples: list


@st.cache_data(max_entries=8, show_spinner=False)
def count(upload: Upload, kind: str, columns: tuple[tuple[str, str], ...], reading: Reading) -> Counted:
    """Read an upload and describe its rows.

    Raises:
        DataError: If it cannot be used; names the place and the reason.
    """
    read, split_rows = READERS[kind]
    rows = read(upload.path, dict(columns), sha256=upload.sha256)
    parts = split_rows(rows, test=reading.test_share)
    tokenizers = _tokenizers(evenly_spaced(parts.train, MAX_COUNTED), reading)
    report = describe(rows, tokenizer=tokenizers, max_len=reading.max_len, parts=parts, most=MAX_COUNTED)
    first = parts.validation.iloc[parts.validation["text"].str.len().argsort(kind="stable")[:200:60]]
    targets = first["target"] if kind == "pairs" else [None] * len(first)
    sizes = {name: tokenizer.vocab_size for name, tokenizer in tokenizers.items()}
    own = sizes["target"] if reading.target_tokens else None
    return Counted(report, sizes["text"], own, list(zip(first["text"], targets, strict=True)))


def _tokenizers(rows, reading) -> dict[str, Tokenizer]:
    """Return column -> tokenizer of its texts; one for both columns unless the target has its own tokens."""

    def train(kind, *names):
        texts = chain.from_iterable(rows[name] for name in names)
        return Tokenizer.train(texts, MAX_VOCABULARY, kind=kind, lowercase=not reading.keep_case)

    if reading.target_tokens:
        return {"text": train(reading.tokens, "text"), "target": train(reading.target_tokens, "target")}
    shared = [name for name in ("text", "target") if name in rows]
    return dict.fromkeys(("text", "target"), train(reading.tokens, *shared))
