"""The rows of a job: read, made or known by name, parted, and what the model card says of them."""

import hashlib
from pathlib import Path

import pandas as pd

from transformer_viz.data import NAMED, DataError
from transformer_viz.data.tasks import TASKS

TEST_ROWS = 1_000
"""Fresh texts a model of a built-in task is measured on."""

NUM_PROBES = 3
"""Rows held out whose attention is watched, if the job names no texts."""


def load_rows(job, read, columns):
    """Return the rows to train on and those to test on, from files or made by a built-in task."""
    if job.more_data and (job.data in NAMED or job.data in TASKS):
        raise DataError("rows.more", data=job.data)
    if job.data in NAMED:
        return _named_rows(job, columns)
    if job.data not in TASKS:
        rows = [read(job.data, job.columns, sha256=job.sha256)]
        rows = pd.concat(rows + [read(path, job.columns) for path in job.more_data], ignore_index=True)
        return rows, read(job.test, job.columns) if job.test else None
    if job.test:
        raise DataError("rows.task_test", data=job.data)
    task = TASKS[job.data]
    pairs = task.pairs(job.rows, seed=job.settings.seed)
    test = task.pairs(TEST_ROWS, seed=job.settings.seed + 1, unlike=[text for text, _ in pairs])
    frames = [pd.DataFrame(made, columns=columns, dtype=object).fillna("") for made in (pairs, test)]
    if columns[1] == "label" and frames[0]["label"].nunique() > len(frames[0]) // 10:
        raise DataError("rows.task_labels", data=task.name)
    return frames


def split_rows(job, split, rows, test):
    """Return the rows to train on, to validate and to test with, no text in two of them."""
    shares = {"validation": job.settings.validation, "seed": job.settings.seed}
    if test is None:
        train, validation, test = split(rows, test=job.settings.test_share, **shares)
        return train, validation, test if len(test) else None
    if job.settings.test_share:
        raise DataError("rows.test_share")
    return *split(rows, **shares)[:2], test


def joined_texts(frame):
    """Return text and target of each row as one text."""
    return (frame["text"] + " " + frame["target"]).str.strip()


def tokenizer_options(job):
    """Return what `Tokenizer.train` is told of the tokens a job asks for."""
    return {"kind": job.tokens, "lowercase": not job.keep_case}


def choose_probes(job, held_out):
    """Return (text, target or None) pairs to watch: those a job names, or the first ones held out."""
    watched = job.probes or held_out[:NUM_PROBES]
    return [(probe, None) if isinstance(probe, str) else tuple(probe) for probe in watched]


def describe_test(job, test):
    """Return what the model card says of the rows to test with; None if there are none."""
    if test is None:
        return None
    if job.test or job.data in TASKS or job.data in NAMED:
        return describe_source(job, job.test or job.data, test)
    return {"share_held_out": job.settings.test_share, "rows": len(test)}


def describe_source(job, path, rows):
    """Return what the model card says of rows: the task, the name or the file they came from, how many."""
    if path in TASKS:
        return {"task": path, "made_with_seed": job.settings.seed, "rows": len(rows)}
    if path in NAMED:
        return {"named": path, "rows": len(rows)}
    if path == job.data and job.more_data:
        return {"files": [_file(job, each) for each in (path, *job.more_data)], "rows": len(rows)}
    return {**_file(job, path), "rows": len(rows)}


def _file(job, path):
    known = job.sha256 if path == job.data else ""
    digest = known or hashlib.sha256(Path(path).read_bytes()).hexdigest()
    return {"file": Path(path).name, "sha256": digest}


def _named_rows(job, columns):
    """Return the rows of a named data set of labelled texts; a decoder alone reads the texts."""
    if job.test:
        raise DataError("rows.named_test", data=job.data)
    if job.config.has_decoder and job.config.has_encoder:
        raise DataError("rows.named_targets", data=job.data)
    return [frame.reindex(columns=columns, fill_value="") for frame in NAMED[job.data]()]
