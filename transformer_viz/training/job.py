"""From rows to a model folder: read or make them, train, write, test what was written once."""

import dataclasses
import datetime
import platform
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

import keras

from transformer_viz import __version__, store
from transformer_viz.config import TransformerConfig
from transformer_viz.explorer import load
from transformer_viz.training.lesson import Labels, Pairs
from transformer_viz.training.settings import TrainingSettings


@dataclass(frozen=True, kw_only=True)
class TrainingJob:
    """What was asked for.

    Attributes:
        config: `TransformerConfig`; its `labels` and `vocab_size` become those of the data.
        settings: `TrainingSettings`.
        data: File to train and validate on: labelled texts for an encoder, pairs for a decoder, or texts
            for a decoder alone; or the name of a data set or a built-in task.
        rows: Texts that a built-in task makes.
        out: The model folder to write; its name is the model's.
        test: File to measure the finished model on, once.
        label_names: label as in the file -> name to show; a label that is not in it keeps its own.
        card: Facts for the model card that no program knows: licence, source, command, examples.
        overwrite: Replace a model of that name.
        columns: role (text, label, target, group) -> column in the files; what is not in it is guessed.
        tokens: Kind of token, one of `TOKEN_KINDS`.
        keep_case: Tell upper from lower case.
    """

    config: TransformerConfig
    settings: TrainingSettings
    data: Path | str
    out: Path
    test: Path | None = None
    label_names: dict = field(default_factory=dict)
    card: dict = field(default_factory=dict)
    overwrite: bool = False
    rows: int = 20_000
    columns: dict = field(default_factory=dict)
    tokens: str = "words"
    keep_case: bool = False


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
    """
    folder, name = job.out.resolve().parent, job.out.resolve().name
    store.check_writable(name, folder=folder, overwrite=job.overwrite)
    lesson = (Pairs if job.config.has_decoder else Labels)(job)
    model, history = lesson.fit(job.settings, verbose)
    parts = {
        "config": lesson.config,
        "parameters": {key: keras.ops.convert_to_numpy(value) for key, value in model.parameters().items()},
        "folder": folder,
        **lesson.tokenizers,
    }
    card = _card(job, lesson, history)
    store.write_model(name, **parts, card=card, overwrite=job.overwrite)
    measured = lesson.measure(load(job.out.resolve()))
    if measured is not None:
        card["test"] = measured
        store.write_model(name, **parts, card=card, overwrite=True)
    return card


def _card(job, lesson, history):
    """Return what the model is, where it came from, and how to train it again."""
    figures = [epoch[f"val_{lesson.figure}"] for epoch in history]
    best = max(range(len(history)), key=figures.__getitem__)
    return {
        "parameters": lesson.config.num_parameters,
        **job.card,
        **lesson.card,
        "settings": dataclasses.asdict(job.settings),
        "versions": {
            "transformer-viz": __version__,
            "python": platform.python_version(),
            **{name: metadata.version(name) for name in ("keras", "tensorflow", "tokenizers", "numpy")},
        },
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "history": history,
        "best_epoch": best + 1,
        "validation": {"rows": lesson.num_validation, lesson.figure: figures[best]},
    }
