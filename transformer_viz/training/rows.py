"""Training, validation and test rows of a job, and their description in the model card."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from transformer_viz.data import NAMED, BadRows, DataError, Split, text_keys, without_rare_labels
from transformer_viz.data.tasks import TASKS
from transformer_viz.network.config import TransformerConfig
from transformer_viz.questions.roles.rules import FEWEST_TEXTS
from transformer_viz.training.runs.job import TrainingJob

Reader = Callable[..., pd.DataFrame]
"""`read_labelled` or another reader of `data`."""

TEST_ROWS = 1_000
"""Test rows generated for a built-in task."""

ROLE_TEXTS = 300
"""Largest number of validation texts over which the roles of heads are measured."""

NUM_PROBES = 3
"""Validation rows whose attention is recorded if the job names no probes."""


def load_rows(job: TrainingJob, read: Reader, columns: list[str]) -> tuple[pd.DataFrame, pd.DataFrame | None]:
    """Return the training rows and the test rows (None: to be split off), from files or a built-in task.

    Rows from files have a column is_first: whether they are of the first file; what is left out of their
    files is in `attrs["left_out"]`, a list of `BadRows`.
    """
    if job.more_data and (job.data in NAMED or job.data in TASKS):
        raise DataError("rows.more", data=job.data)
    if job.data in NAMED:
        return _named_rows(job, columns)
    if job.data not in TASKS:
        return _file_rows(job, read, has_labels=columns[1] == "label")
    if job.test:
        raise DataError("rows.task_test", data=job.data)
    task, seed = TASKS[job.data], job.settings.seed
    pairs = task.pairs(job.rows, seed=seed)
    train, test = (
        pd.DataFrame(made, columns=columns, dtype=object).fillna("")
        for made in (pairs, task.pairs(TEST_ROWS, seed=seed + 1, unlike=[text for text, _ in pairs]))
    )
    if columns[1] == "label" and len(set(train["label"])) > len(train) // 10:
        raise DataError("rows.task_labels", data=task.name)
    return train, test


def _file_rows(job, read, has_labels):
    """Return the rows of the files of a job."""
    files = [read(job.data, job.columns, job.options, sha256=job.sha256)]
    files += [read(path, job.columns, job.options) for path in job.more_data]
    left_out = [rows.attrs["bad_rows"] for rows in files]
    rows = pd.concat(
        [each.assign(is_first=number == 0) for number, each in enumerate(files)], ignore_index=True
    )
    test = read(job.test, job.columns, job.options) if job.test else None
    if has_labels:
        rows, rare = without_rare_labels(rows, job.data, test=job.settings.test_share > 0)
        if rare.count and not (job.options.skip_bad_rows and len(rows)):
            raise rare.refusal()
        left_out.append(rare)
        if test is not None and job.options.skip_bad_rows:
            test = test.loc[~test["label"].isin(_lost_labels(rows, files))]
    if test is not None:
        left_out.append(test.attrs["bad_rows"])
    rows.attrs = {"left_out": _said(left_out)}
    return rows, test


def _said(left_out: Iterable[BadRows]) -> list[BadRows]:
    """Return those of which there is something to say."""
    return [bad for bad in left_out if bad.count or bad.blank]


def _lost_labels(rows, files):
    """Return the labels of the files that no row has any more."""
    return {label for each in files for label in each["label"]} - set(rows["label"])


def split_rows(
    job: TrainingJob, read: Reader, split: Callable[..., Split], rows: pd.DataFrame, test: pd.DataFrame | None
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame | None]:
    """Return training, validation and test rows; no text is in two of them.

    Args:
        job: `TrainingJob`. Of the rows of its `train_only`, those whose text is none of the others are added
            to the training rows.
        read: Reader of the files.
        split: `data.split` or another function with these arguments.
        rows: Rows to split.
        test: Test rows; None: they are split off as well.
    """
    train, validation, test = _split(job, split, rows, test)
    if job.train_only:
        files = [read(path, job.columns, job.options) for path in job.train_only]
        rows.attrs.setdefault("left_out", []).extend(_said(each.attrs["bad_rows"] for each in files))
        more = pd.concat(files)
        known = pd.concat([rows] if test is None else [rows, test])
        train = pd.concat([train, more.loc[~text_keys(more).isin(text_keys(known))]], ignore_index=True)
    return train, validation, test


def _split(job, split, rows, test):
    shares = {"validation": job.settings.validation, "seed": job.settings.seed}
    if test is None:
        train, validation, test = split(rows, test=job.settings.test_share, **shares)
        return train, validation, test if len(test) else None
    if job.settings.test_share:
        raise DataError("rows.test_share")
    return *split(rows, **shares)[:2], test


def joined_texts(frame: pd.DataFrame) -> pd.Series:
    """Return text and target of each row as one text."""
    return (frame["text"] + " " + frame["target"]).str.strip()


def tokenizer_options(job: TrainingJob) -> dict[str, Any]:
    """Return the keyword arguments of `Tokenizer.train` that the job sets."""
    return {"kind": job.tokens, "lowercase": not job.keep_case}


def choose_probes(job: TrainingJob, validation: Iterable) -> list[tuple[str, str | None]]:
    """Return the (text, target or None) pairs to record: those of the job, or the first validation rows."""
    watched = job.probes or islice(validation, NUM_PROBES)
    return [(probe, None) if isinstance(probe, str) else tuple(probe) for probe in watched]


def of_first_file(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the first file, which has the texts that the model is for.

    All rows if those are fewer than `FEWEST_TEXTS`, or none is from a file.
    """
    if "is_first" not in rows:
        return rows
    first = rows.loc[rows["is_first"].eq(True)]
    return first if len(first) >= FEWEST_TEXTS else rows


def choose_role_texts(
    config: TransformerConfig, rows: pd.DataFrame, most: int = ROLE_TEXTS
) -> list[str] | list[tuple[str, str]]:
    """Return the texts over which the roles of heads are measured, drawn at random.

    They are of the first file, as `of_first_file`; empty if there are fewer than `FEWEST_TEXTS`.

    Args:
        config: Config of the model; an encoder-decoder gets (text, target) pairs.
        rows: Rows that it was not trained on.
        most: Most texts.
    """
    rows = of_first_file(rows)
    if len(rows) < FEWEST_TEXTS:
        return []
    chosen = np.random.default_rng(0).choice(len(rows), min(most, len(rows)), replace=False)
    rows = rows.iloc[sorted(chosen)]
    if config.architecture == "encoder-decoder":
        return list(zip(rows["text"], rows["target"], strict=True))
    return (joined_texts(rows) if "target" in rows else rows["text"]).tolist()


def describe_test(job: TrainingJob, test: pd.DataFrame | None) -> dict | None:
    """Return the description of the test rows for the model card; None without test rows."""
    if test is None:
        return None
    if job.test or job.data in TASKS or job.data in NAMED:
        return describe_source(job, job.test or job.data, test)
    return {"share_held_out": job.settings.test_share, "rows": len(test)}


def describe_source(job: TrainingJob, path: str, rows: pd.DataFrame) -> dict:
    """Return the source of some rows for the model card: task, data set or file, and how many rows."""
    if path in TASKS:
        return {"task": path, "made_with_seed": job.settings.seed, "rows": len(rows)}
    if path in NAMED:
        return {"named": path, "rows": len(rows)}
    facts: dict[str, Any] = {"rows": len(rows)}
    if left_out := _counted(rows.attrs.get("left_out", [])):
        facts["left_out"] = left_out
    if path == job.data and job.train_only:
        facts["train_only"] = [_file(job, each) for each in job.train_only]
    if path == job.data and job.more_data:
        return {"files": [_file(job, each) for each in (path, *job.more_data)], **facts}
    return {**_file(job, path), **facts}


def _counted(left_out: list[BadRows]) -> dict[str, int]:
    """Return the kind of fault -> number of rows that are left out of all files."""
    total = sum((Counter(bad.counts) for bad in left_out), Counter())
    return dict(total.most_common())


def _file(job, path):
    known = job.sha256 if path == job.data else ""
    digest = known or hashlib.sha256(Path(path).read_bytes()).hexdigest()
    return {"file": Path(path).name, "sha256": digest}


def _named_rows(job, columns):
    """Return training and test rows of a named data set; a decoder alone reads the texts without labels."""
    if job.test:
        raise DataError("rows.named_test", data=job.data)
    if job.config.has_decoder and job.config.has_encoder:
        raise DataError("rows.named_targets", data=job.data)
    train, test = (frame.reindex(columns=columns, fill_value="") for frame in NAMED[job.data]())
    return train, test
