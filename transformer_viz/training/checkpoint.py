"""One file to go on from: written whole or not at all."""

import dataclasses
import json
from dataclasses import dataclass, field

from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from transformer_viz.runs import RunError
from transformer_viz.runs.disk import write_whole


@dataclass
class Progress:
    """Where in a run training stands.

    Attributes:
        epoch: Epochs done.
        batch: Batches of the next one done.
        step: Steps done.
        best: Figure of the best epoch so far, negative where lower is better, and minus its loss, which tells
            equal figures apart; None before the first.
        stale: Epochs since then.
        sums: name -> [sum, count] of what the batches of this epoch measured.
        seconds: Time spent in steps.
    """

    epoch: int = 0
    batch: int = 0
    step: int = 0
    best: list | None = None
    stale: int = 0
    sums: dict = field(default_factory=dict)
    seconds: float = 0.0


def write_checkpoint(path, state, progress) -> None:
    """Write a trainer's state and its progress, so that a kill leaves the old file or the new one.

    Args:
        path: The file.
        state: As `ModelTrainer.state` returns it.
        progress: `Progress`.
    """
    data = save(state, metadata={"place": json.dumps(dataclasses.asdict(progress))})
    write_whole(path, data)


def read_checkpoint(path):
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
