"""From a CSV to a model folder: read, split, tokenize, train, test once, write."""

import dataclasses
import datetime
import hashlib
import platform
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

import keras

from transformer_viz import __version__, store
from transformer_viz.config import TransformerConfig
from transformer_viz.datasets import DataError, read_labelled, split
from transformer_viz.evaluation import evaluate
from transformer_viz.explorer import load
from transformer_viz.text import Tokenizer
from transformer_viz.training.fit import fit_classifier
from transformer_viz.training.settings import TrainingSettings


@dataclass(frozen=True, kw_only=True)
class TrainingJob:
    """What was asked for.

    Attributes:
        config: `TransformerConfig`; its `labels` and `vocab_size` become those of the data.
        settings: `TrainingSettings`.
        data: CSV of text,label (plain or gzip) to train and validate on.
        out: The model folder to write; its name is the model's.
        test: CSV to measure the finished model on, once.
        label_names: label as in the file -> name to show; a label that is not in it keeps its own.
        card: Facts for the model card that no program knows: licence, source, command, examples.
        overwrite: Replace a model of that name.
    """

    config: TransformerConfig
    settings: TrainingSettings
    data: Path
    out: Path
    test: Path | None = None
    label_names: dict = field(default_factory=dict)
    card: dict = field(default_factory=dict)
    overwrite: bool = False


def run_job(job: TrainingJob, *, verbose=1) -> dict:
    """Train, keep the best epoch, write the model folder, and test what was written.

    Args:
        job: What to do.
        verbose: As in `keras.Model.fit`: 1 a progress bar, 2 a line for each epoch, 0 silence.

    Returns:
        The card that was written.

    Raises:
        DataError: If a file cannot be used.
        ModelError: If the folder cannot be written.
        ValueError: If the architecture does not classify.
    """
    if job.config.has_decoder:
        raise ValueError(
            f"Rows with labels train architecture 'encoder', not {job.config.architecture!r}. Choose another "
            "preset: attention-only, single-block, ..."
        )
    folder, name = job.out.resolve().parent, job.out.resolve().name
    store.check_writable(name, folder=folder, overwrite=job.overwrite)
    rows = read_labelled(job.data)
    test_rows = read_labelled(job.test) if job.test else None
    names = _label_names(sorted(rows["label"].unique()), job.label_names)
    train, validation = split(rows, validation=job.settings.validation, seed=job.settings.seed)
    tokenizer = Tokenizer.train(train["text"], job.config.vocab_size)
    config = job.config.replace(labels=tuple(names.values()), vocab_size=tokenizer.vocab_size)

    def prepare(frame):
        token_ids = tokenizer.encode_batch(
            frame["text"], max_len=config.max_len, truncation=config.truncation
        )
        return token_ids, frame["label"].map(list(names).index).to_numpy()

    model, history = fit_classifier(
        config, job.settings, prepare(train), prepare(validation), verbose=verbose
    )
    parts = {
        "config": config,
        "tokenizer": tokenizer.to_json(),
        "parameters": {key: keras.ops.convert_to_numpy(value) for key, value in model.parameters().items()},
        "folder": folder,
    }
    card = _card(job, names, config, history, rows, len(validation))
    store.write_model(name, **parts, card=card, overwrite=job.overwrite)
    if test_rows is not None:
        card["test"] = {**_facts(job.test, test_rows), **_measure(job.out.resolve(), test_rows)}
        store.write_model(name, **parts, card=card, overwrite=True)
    return card


def _card(job, names, config, history, rows, num_validation):
    """Return what the model is, where it came from, and how to train it again."""
    best = max(range(len(history)), key=lambda epoch: history[epoch]["val_accuracy"])
    return {
        "task": "classification",
        "label_values": {name: value for value, name in names.items()},
        "parameters": config.num_parameters,
        **job.card,
        "data": _facts(job.data, rows),
        "settings": dataclasses.asdict(job.settings),
        "versions": {
            "transformer-viz": __version__,
            "python": platform.python_version(),
            **{name: metadata.version(name) for name in ("keras", "tensorflow", "tokenizers", "numpy")},
        },
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "history": history,
        "best_epoch": best + 1,
        "validation": {"rows": num_validation, "accuracy": history[best]["val_accuracy"]},
    }


def _label_names(values, names):
    """Return label as in the file -> name to show, in the order of the labels."""
    strange = names.keys() - set(values)
    if strange:
        raise DataError(
            f"The data have no label '{min(strange)}' to be named '{names[min(strange)]}'. "
            f"Labels: {', '.join(values)}."
        )
    return {value: names.get(value, value) for value in values}


def _measure(folder, rows):
    """Return the figures of the model as it was stored, on rows it has not seen."""
    result = evaluate(load(folder), rows, progress=True)
    return {
        "accuracy": result.accuracy,
        "by_label": result.by_label.to_dict("index"),
        "confusion": result.confusion.to_dict("index"),
    }


def _facts(path, rows):
    digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    return {"file": Path(path).name, "sha256": digest, "rows": len(rows)}
