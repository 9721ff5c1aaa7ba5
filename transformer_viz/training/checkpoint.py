"""Atomic checkpoint file: tensors and progress of a training run."""

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from transformer_viz.store.folders import write_whole
from transformer_viz.training.runs.errors import RunError

State = dict[str, np.ndarray]
"""Number of a variable that training depends on -> its value."""


@dataclass
class Progress:
    """How far a run has got.

    Attributes:
        epoch: Finished epochs.
        batch: Finished batches of the current epoch.
        step: Finished steps.
        best: Metric of the best epoch so far, negated where lower is better, then its negated loss, which
            breaks ties; None before the first epoch.
        stale: Epochs since the best one.
        sums: Metric name -> [sum, count] over the batches of the current epoch.
        seconds: Time spent in steps.
    """

    epoch: int = 0
    batch: int = 0
    step: int = 0
    best: list[float] | None = None
    stale: int = 0
    sums: dict[str, list[float]] = field(default_factory=dict)
    seconds: float = 0.0


def write_checkpoint(path: Path, state: State, progress: Progress) -> None:
    """Write a checkpoint; a process killed meanwhile leaves either the old file or the new one.

    Args:
        path: The file.
        state: What `ModelTrainer.state` returns.
        progress: Stored as JSON in the metadata key "place".
    """
    data = save(state, metadata={"place": json.dumps(dataclasses.asdict(progress))})
    write_whole(path, data)


def read_checkpoint(path: Path) -> tuple[State, Progress] | None:
    """Return (state, `Progress`), or None if there is no checkpoint.

    Raises:
        RunError: If the file is damaged.
    """
    if not path.exists():
        return None
    try:
        with safe_open(path, framework="np") as file:
            progress = Progress(**json.loads(file.metadata()["place"]))
            return {name: file.get_tensor(name) for name in file.keys()}, progress  # noqa: SIM118  no mapping
    except (SafetensorError, OSError, ValueError, TypeError, KeyError) as error:
        raise RunError("training.checkpoint", path=path, reason=str(error)) from None
