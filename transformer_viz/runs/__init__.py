"""Training runs as folders, without Keras.

`runs/<id>/` holds `job.json`, the request; `events.jsonl`, an append-only log; `checkpoint.safetensors`;
`model/`, the best model so far; `epochs/`, those of epochs 0, 1, 2, 4, 8, ...; `parent/`, a copy of the model
it is fine-tuned from; and `frames/`, the attention of a few probe texts over time. Pages read nothing but
this folder.
"""

from transformer_viz.runs.alike import runs_alike
from transformer_viz.runs.cost import Cost, estimate
from transformer_viz.runs.errors import BusyError, QuotaError, RunError, UnwritableError
from transformer_viz.runs.folder import TrainingRun
from transformer_viz.runs.job import LOWER_IS_BETTER, TrainingJob
from transformer_viz.runs.listing import (
    check_runs_folder,
    create_run,
    is_busy,
    list_runs,
    open_run,
    queue_run,
    queued_runs,
    runs_ahead,
    runs_folder,
)
from transformer_viz.runs.log import file_stamp
from transformer_viz.runs.quota import Quota
from transformer_viz.runs.settings import PRECISIONS, SCHEDULES, TrainingSettings
from transformer_viz.runs.state import ACTIVE, RunState
from transformer_viz.runs.uploads import Upload, keep_upload, sweep_runs, sweep_uploads, uploads_bytes

__all__ = [
    "ACTIVE",
    "LOWER_IS_BETTER",
    "PRECISIONS",
    "SCHEDULES",
    "BusyError",
    "Cost",
    "Quota",
    "QuotaError",
    "RunError",
    "RunState",
    "TrainingJob",
    "TrainingRun",
    "TrainingSettings",
    "UnwritableError",
    "Upload",
    "check_runs_folder",
    "create_run",
    "estimate",
    "file_stamp",
    "is_busy",
    "keep_upload",
    "list_runs",
    "open_run",
    "queue_run",
    "queued_runs",
    "runs_ahead",
    "runs_alike",
    "runs_folder",
    "sweep_runs",
    "sweep_uploads",
    "uploads_bytes",
]
