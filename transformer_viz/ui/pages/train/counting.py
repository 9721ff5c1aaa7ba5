"""The rows of a training file, counted before a run."""

from itertools import chain
from typing import Any, NamedTuple

import streamlit as st

from transformer_viz.data import (
    BadRows,
    DataReport,
    ReadOptions,
    describe,
    evenly_spaced,
    read_labelled,
    read_pairs,
    read_texts,
    split,
    split_pairs,
    split_texts,
    without_rare_labels,
)
from transformer_viz.data.columns import example_of_several
from transformer_viz.text.tokenizer import Tokenizer
from transformer_viz.training.runs.recipes import Reading
from transformer_viz.training.runs.uploads import Upload
from transformer_viz.ui.shell.upload import source_of

MAX_VOCABULARY = 20_000
"""Maximum vocabulary size counted for the report."""

EXAMPLES, SHORT = 3, 200
"""Rows with which a training is watched, and the number of the shortest rows among which they are chosen."""

MAX_COUNTED = 20_000
"""Maximum number of texts tokenized for the report."""

READERS = {
    "labels": (read_labelled, split),
    "pairs": (read_pairs, split_pairs),
    "texts": (read_texts, split_texts),
}
"""Kind of rows -> functions that read and split them."""


class Counted(NamedTuple):
    """What is known of a file once it has been read.

    Attributes:
        report: Its statistics.
        bad_rows: Rows that are left out of them.
        joined: A label that seems to join several; "": none.
        vocab: Vocabulary size.
        target_vocab: That of the target; None if it shares the text's.
        examples: (text, target or None) pairs.
    """

    report: DataReport
    bad_rows: BadRows
    joined: str
    vocab: int
    target_vocab: int | None
    examples: list[tuple[str, str | None]]


@st.cache_data(max_entries=8, show_spinner=False)
def count(
    upload: Upload,
    kind: str,
    columns: tuple[tuple[str, str], ...],
    reading: Reading,
    test_share: float,
    options: ReadOptions,
) -> Counted:
    """Read an upload and describe its rows, but for those that cannot be used.

    Raises:
        DataError: If it cannot be used; names the place and the reason.
    """
    read, split_rows = READERS[kind]
    options = options._replace(skip_bad_rows=True, many_labels=True)
    rows = read(source_of(upload), dict(columns), options)
    bad, joined = rows.attrs["bad_rows"], ""
    if kind == "labels":
        joined = example_of_several(rows["label"].tolist())
        rows, rare = without_rare_labels(rows, str(upload.path), test=test_share > 0)
        if rare.count and not len(rows):
            raise rare.refusal()
        bad = bad.joined(rare)
    parts = split_rows(rows, test=test_share)
    tokenizers = _tokenizers(evenly_spaced(parts.train, MAX_COUNTED), reading)
    report = describe(rows, tokenizer=tokenizers, max_len=reading.max_len, parts=parts, most=MAX_COUNTED)
    sizes = {name: tokenizer.vocab_size for name, tokenizer in tokenizers.items()}
    own = sizes["target"] if reading.target_tokens else None
    few = parts.validation if len(parts.validation) >= EXAMPLES else parts.train
    return Counted(report, bad, joined, sizes["text"], own, short_rows(few))


def short_rows(rows: Any) -> list[tuple[str, str | None]]:
    """Return a few short rows of different length, of each label in turn: (text, target or None).

    Args:
        rows: With the column text, and label or target if they have one.
    """
    ranked = rows.iloc[rows["text"].map(len).argsort(kind="stable").iloc[:SHORT]]
    groups = [ranked]
    if "label" in ranked:
        groups = [group for _, group in ranked.groupby("label", sort=True)]
    found = []
    for number in range(min(EXAMPLES, len(ranked))):
        group = groups[number % len(groups)]
        row = group.iloc[len(group) * (number + 1) // (EXAMPLES + 1)]
        found.append((row["text"], row.get("target")))
    return found


def _tokenizers(rows, reading) -> dict[str, Tokenizer]:
    """Return column -> tokenizer of its texts; one for both columns unless the target has its own tokens."""

    def train(kind, *names):
        texts = chain.from_iterable(rows[name] for name in names)
        return Tokenizer.train(texts, MAX_VOCABULARY, kind=kind, lowercase=not reading.keep_case)

    if reading.target_tokens:
        return {"text": train(reading.tokens, "text"), "target": train(reading.target_tokens, "target")}
    shared = [name for name in ("text", "target") if name in rows]
    return dict.fromkeys(("text", "target"), train(reading.tokens, *shared))
