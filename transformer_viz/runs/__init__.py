"""Training runs as folders: what was asked, what happened, where to go on from; no Keras.

`runs/<id>/` holds `job.json`, what was asked; `events.jsonl`, what happened, only ever appended to;
`checkpoint.safetensors`, where to go on from; `model/`, a model folder with the best so far; `frames/`, the
attention of a few probe texts as it formed. Whoever shows a run reads this folder and nothing else.
"""

from transformer_viz.runs.cost import Cost, estimate
from transformer_viz.runs.folder import (
    RunError,
    RunState,
    TrainingRun,
    create_run,
    list_runs,
    open_run,
    queued_runs,
    runs_folder,
)
from transformer_viz.runs.job import LOWER_IS_BETTER, TrainingJob
from transformer_viz.runs.settings import PRECISIONS, SCHEDULES, TrainingSettings

__all__ = [
    "LOWER_IS_BETTER",
    "PRECISIONS",
    "SCHEDULES",
    "Cost",
    "RunError",
    "RunState",
    "TrainingJob",
    "TrainingRun",
    "TrainingSettings",
    "create_run",
    "estimate",
    "list_runs",
    "open_run",
    "queued_runs",
    "runs_folder",
]
