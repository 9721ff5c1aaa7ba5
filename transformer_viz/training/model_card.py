"""The card of a trained model: its data, settings, versions of packages, and metrics of each epoch."""

import dataclasses
import datetime
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from transformer_viz import store
from transformer_viz.store.hugging_face.origin import name_of_origin
from transformer_viz.training.dataset import Dataset
from transformer_viz.training.runs.folder import TrainingRun
from transformer_viz.version import __version__

PACKAGES = ("keras", "tensorflow", "tokenizers", "numpy")
"""Packages whose versions a card names."""

LONGEST_EXAMPLE = 200
"""Characters of the longest watched text that becomes an example."""

MANY_EPOCHS = 300
"""Epochs beyond which the history of a card has only some."""

NOT_METRICS = ("event", "time", "step", "best", "seconds", "epoch")
"""Entries of an epoch event that are not metrics."""


def model_card(run: TrainingRun, dataset: Dataset, seconds: float) -> dict:
    """Return the card of the best model of a run so far, without test metrics.

    Args:
        run: `TrainingRun`, with at least one epoch in its log.
        dataset: Its data.
        seconds: Time spent in training steps.
    """
    state, job = run.state(), run.job
    best: Any = state.best
    epochs = [
        {name: value for name, value in epoch.items() if name not in NOT_METRICS} for epoch in state.epochs
    ]
    return {
        "parameters": dataset.config.num_parameters,
        **_parent_facts(run),
        **job.card,
        "examples": job.card.get("examples") or short_probes(dataset),
        **dataset.card,
        "settings": dataclasses.asdict(job.settings),
        "versions": {
            "transformer-viz": __version__,
            "python": platform.python_version(),
            **{name: metadata.version(name) for name in PACKAGES},
        },
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "device": state.device,
        "seconds": round(seconds, 1),
        "history": thinned(epochs, best["epoch"]),
        "best_epoch": best["epoch"],
        "validation": {"rows": dataset.num_validation, **_validation_metrics(best)},
    }


def thinned(epochs: list[dict], best: int) -> list[dict]:
    """Return the history of a card: all epochs, or of many some with their numbers.

    These are evenly spaced, beside the best one and 1, 2, 4, 8, ..., whose models are kept.

    Args:
        epochs: Metrics of each epoch.
        best: Number of the best one, from 1.
    """
    if len(epochs) <= MANY_EPOCHS:
        return epochs
    even = {*np.linspace(1, len(epochs), MANY_EPOCHS).round().astype(int)}
    return [
        {"epoch": number, **epoch}
        for number, epoch in enumerate(epochs, start=1)
        if number in even or number == best or not number & (number - 1)
    ]


def short_probes(dataset: Dataset) -> list[str]:
    """Return the watched texts that are short enough to be examples."""
    return [text for text, _ in dataset.probes if len(text) <= LONGEST_EXAMPLE]


def _validation_metrics(epoch):
    """Return the validation metrics of an epoch event, except the loss, which the history has."""
    measured = {name.removeprefix("val_"): value for name, value in epoch.items() if name.startswith("val_")}
    return {name: value for name, value in measured.items() if name != "loss"}


def _parent_facts(run):
    """Return which model this one was fine-tuned from."""
    if not run.job.parent:
        return {}
    facts = {
        "name": name_of_origin(Path(run.job.parent)) or Path(run.job.parent).resolve().name,
        "sha256": store.read_hash(run.parent),
        "trainable_layers": run.job.trainable_layers,
    }
    return {"parent": {name: fact for name, fact in facts.items() if fact is not None}}
