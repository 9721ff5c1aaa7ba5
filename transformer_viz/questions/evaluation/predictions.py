"""What a model says of each row of a file, written block by block: an interrupted file is taken up again."""

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from tqdm import tqdm

from transformer_viz.data import DataError, preview, read_for_decoder, read_labelled, read_texts
from transformer_viz.data.batches import by_length, pad
from transformer_viz.data.options import RECOGNISED, ReadOptions
from transformer_viz.data.written import FORMATS, writing, written
from transformer_viz.explorer.decode import generate_all
from transformer_viz.explorer.explorer import Explorer
from transformer_viz.language import Problem
from transformer_viz.network.config import END_ID
from transformer_viz.questions.evaluation.measure import true_labels
from transformer_viz.questions.evaluation.token_scores import token_scores

BLOCK = 4096
"""Rows that are written together."""

PART = 512
"""Rows of a block, of similar length, that are predicted together."""

BATCH_SIZE = 64
"""Rows of similar length that the model reads together."""


NO_LABELS = ("evaluation.label", "labels.many", "labels.most")
"""Errors of a column that only looks like the labels of a model."""


class FilePredictions(NamedTuple):
    """How a file was predicted.

    Attributes:
        rows: Number of rows.
        resumed: How many of them an earlier, interrupted call had written.
        accuracy: Share of rows whose label is the predicted one; None: the file has no labels of the model.
        source: The rows that were read: columns text, and label or target if there are any; `attrs` as of
            `data.read_labelled`.
    """

    rows: int
    resumed: int
    accuracy: float | None
    source: pd.DataFrame


def predict_file(
    explorer: Explorer,
    path: str | Path,
    out: str | Path,
    columns: Mapping[str, str] | None = None,
    options: ReadOptions = RECOGNISED,
    *,
    progress: bool = False,
    keep_going: Callable[[], None] = lambda: None,
) -> FilePredictions:
    """Write what a model says of each row of a file, in the order of the file.

    Of a classifier: columns text, label (of the file, if it has one that the model knows), predicted,
    probability and prob_LABEL. Of an encoder-decoder: text, target (if there is one), output, and
    log_likelihood, the mean over the tokens of the target, else of the output, in nats. Of a language model:
    text, tokens and log_likelihood, the mean over its tokens.

    Rows are written in blocks of `BLOCK`. Until all are there, they are in a hidden file beside `out`; a call
    with the same model and file goes on where one was interrupted, and ends with the same file.

    Args:
        explorer: `Explorer`.
        path: The file, as `data.read_labelled` reads it.
        out: The file to write, replacing an existing one: .csv (UTF-8 with a byte order mark, and an
            apostrophe before what a spreadsheet takes for a formula) or .jsonl.
        columns: role ("text", "label", "target") -> column in the file; missing ones are guessed.
        options: How the file is read.
        progress: Show a progress bar on standard error.
        keep_going: Called before each part of a block; may raise to stop.

    Raises:
        DataError: If the file cannot be read, or has a label, in a column that is named, that is none of the
            model's.
        ValueError: If the model predicts nothing of whole texts, `out` has another suffix, or the file cannot
            be written.
    """
    out = Path(out)
    if out.suffix not in FORMATS:
        raise Problem("predictions.suffix", path=out, formats=[*FORMATS])
    source, says = read_rows(explorer, path, columns, options)
    part = _Part(out, _key(explorer, source, options))
    with writing(out):
        done = part.begin()
        with tqdm(total=len(source), initial=done, unit="row", disable=not progress) as bar:
            for start in range(done, len(source), BLOCK):
                block, parts = source.iloc[start : start + BLOCK], []
                order = np.argsort(-block["text"].str.len().to_numpy(), kind="stable")
                for first in range(0, len(block), PART):
                    keep_going()
                    rows = block.iloc[order[first : first + PART]].reset_index(drop=True)
                    parts.append(says(explorer, rows))
                    bar.update(len(rows))
                frame = pd.concat(parts, ignore_index=True).iloc[np.argsort(order)]
                part.add(
                    written(frame, out.suffix, has_header=start == 0), start + len(block), right_in(frame)
                )
        if not len(source):
            part.add(b"", 0, None)
        right = part.finish()
    accuracy = None if right is None else right / max(len(source), 1)
    return FilePredictions(len(source), done, accuracy, source)


Says = Callable[[Explorer, pd.DataFrame], pd.DataFrame]
"""Returns what a model says of some rows, a row for each."""


def read_rows(
    explorer: Explorer, path: str | Path, columns: Mapping[str, str] | None, options: ReadOptions
) -> tuple[pd.DataFrame, Says]:
    """Return the rows of a file that a model can be asked about, and the function that asks it.

    Arguments and errors are those of `predict_file`.
    """
    config = explorer.config
    if config.fills_in:
        raise Problem("predictions.hidden", model=explorer.name)
    if config.has_decoder:
        rows = read_for_decoder(path, columns, options)
        return rows, of_pairs if config.has_encoder else of_texts
    explorer.check_answers()
    return _labelled_or_texts(explorer, path, columns or {}, options), of_classes


def _labelled_or_texts(explorer, path, columns, options):
    """Return labelled rows if the file has labels of the model, or its column of labels is named."""
    if "label" in columns:
        rows = read_labelled(path, columns, options)
        return rows.assign(label=true_labels(explorer, rows))
    guess = preview(path, options).guess
    if "labels" in guess:
        try:
            rows = read_labelled(path, columns or guess["labels"], options)
            return rows.assign(label=true_labels(explorer, rows))
        except DataError as error:
            if error.code not in NO_LABELS:
                raise
            columns = columns or {role: name for role, name in guess["labels"].items() if role != "label"}
    return read_texts(path, columns, options)


def of_classes(explorer: Explorer, rows: pd.DataFrame) -> pd.DataFrame:
    """Return what a classifier says: the rows, predicted, probability, and prob_LABEL for each label."""
    found = explorer.predict(rows["text"].tolist(), batch_size=BATCH_SIZE)
    probs = found.filter(regex="^prob_")
    frame = rows[[name for name in ("text", "label") if name in rows]].copy()
    return frame.assign(predicted=found["label"], probability=probs.max(axis=1)).join(probs)


def of_pairs(explorer: Explorer, rows: pd.DataFrame) -> pd.DataFrame:
    """Return what an encoder-decoder writes, and how likely target or output are to it."""
    written = generate_all(explorer, rows["text"], batch_size=BATCH_SIZE)
    has_target = rows["target"].astype(bool)
    config, start = explorer.config, [*explorer.config.target_start]
    source = explorer.encode(rows["text"])
    judged = rows["target"].where(has_target, written)
    options = {"max_len": config.target_max_len - len(start), "truncation": config.truncation}
    target = explorer.output_tokenizer.encode_batch(judged, **options)
    target = [np.array([*start, *ids, config.end_id], np.int32) for ids in target]

    def inputs(numbers, before):
        return {"token_ids": pad([source[row] for row in numbers], config.pad_id), "target_ids": before}

    means, _ = _log_likelihoods(explorer, target, len(start), inputs)
    given = {"target": rows["target"]} if any(rows["target"]) else {}
    return pd.DataFrame({"text": rows["text"], **given, "output": written, "log_likelihood": means})


def of_texts(explorer: Explorer, rows: pd.DataFrame) -> pd.DataFrame:
    """Return how many tokens of each text a language model predicts, and how likely they are to it."""
    texts = (rows["text"] + " " + rows["target"]).str.strip()
    end = [] if explorer.config.is_foreign else [END_ID]
    tokens = [np.array([*ids, *end], np.int32) for ids in explorer.encode(texts)]
    means, counts = _log_likelihoods(explorer, tokens, 1, lambda _, before: {"token_ids": before})
    return pd.DataFrame({"text": texts, "tokens": counts, "log_likelihood": means})


def of_written(explorer: Explorer, rows: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    """Return what a model that writes says of (text, target) pairs, a record for each; "" is no target."""
    frame = pd.DataFrame(rows, columns=pd.Index(["text", "target"]), dtype=object)
    says = of_pairs if explorer.config.has_encoder else of_texts
    return says(explorer, frame).to_dict("records")


def _log_likelihoods(explorer, tokens, given, inputs):
    """Return the mean log-likelihood of the tokens of each row after the first ones, and their number."""
    nats, counts = np.zeros(len(tokens)), np.zeros(len(tokens), int)
    for numbers in by_length(tokens, BATCH_SIZE):
        padded = pad([tokens[row] for row in numbers], explorer.config.pad_id)
        before, answers = padded[:, :-1], padded[:, 1:].copy()
        answers[:, : given - 1] = explorer.config.pad_id
        scores = token_scores(explorer, inputs(numbers, before), answers)
        nats[numbers] = scores.nats.sum(axis=-1, dtype=float)
        counts[numbers] = (answers != explorer.config.pad_id).sum(axis=-1)
    return -nats / np.maximum(counts, 1), counts


def right_in(frame: pd.DataFrame) -> int | None:
    """Return how many rows have the predicted label; None: there are no labels."""
    return (
        int(np.sum(frame["label"].to_numpy() == frame["predicted"].to_numpy())) if "label" in frame else None
    )


def _key(explorer, source, options):
    """Return a text that is the same only for the same model and rows."""
    digest = hashlib.sha256(explorer.config.to_json().encode())
    for name, variable in sorted(explorer.model.parameters().items()):
        digest.update(name.encode() + variable.numpy().tobytes())
    digest.update(source.to_json(orient="values").encode() + repr(options).encode())
    return digest.hexdigest()


class _Part:
    """The file that becomes `out` once it is complete, and beside it how far it is.

    A block counts once the file of its state names its end: what was written behind that is written anew.
    """

    def __init__(self, out: Path, key: str):
        self.out, self.key = out, key
        self.file, self.state = out.with_name(f".{out.name}.part"), out.with_name(f".{out.name}.state")
        self.right: int | None = None

    def begin(self) -> int:
        """Return how many rows are there already."""
        state = self._read()
        if (
            state.get("key") != self.key
            or not self.file.exists()
            or self.file.stat().st_size < state["bytes"]
        ):
            self.file.write_bytes(b"")
            self.state.unlink(missing_ok=True)
            return 0
        os.truncate(self.file, state["bytes"])
        self.right = state["right"]
        return state["rows"]

    def add(self, data: bytes, rows: int, right: int | None) -> None:
        """Append a block, after which there are so many rows."""
        with self.file.open("ab") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
            size = stream.tell()
        self.right = right if self.right is None or right is None else self.right + right
        state = {"key": self.key, "bytes": size, "rows": rows, "right": self.right}
        fresh = self.state.with_name(f"{self.state.name}-new")
        fresh.write_text(json.dumps(state))
        fresh.replace(self.state)

    def finish(self) -> int | None:
        """Put the file in its place; return how many of its rows are right."""
        self.file.replace(self.out)
        self.state.unlink(missing_ok=True)
        return self.right

    def _read(self):
        try:
            state = json.loads(self.state.read_text())
        except (OSError, ValueError):
            return {}
        return state if isinstance(state, dict) else {}
