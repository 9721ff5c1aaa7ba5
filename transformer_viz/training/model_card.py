"""The card of a trained model: its data, settings, versions of packages, and metrics of each epoch."""

import dataclasses
import datetime
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

from transformer_viz import store
from transformer_viz.store.hugging_face.origin import name_of_origin
from transformer_viz.training.dataset import Dataset
from transformer_viz.training.runs.folder import TrainingRun
from transformer_viz.version import __version__

PACKAGES = ("keras", "tensorflow", "tokenizers", "numpy")
"""Packages whose versions a card names."""

LONGEST_EXAMPLE = 200
"""Characters of the longest watched text that becomes an example."""

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
        "history": epochs,
        "best_epoch": best["epoch"],
        "validation": {"rows": dataset.num_validation, **_validation_metrics(best)},
    }


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
