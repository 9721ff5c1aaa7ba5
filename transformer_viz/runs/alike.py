"""Finished runs that differ in one setting alone."""

import dataclasses
from collections.abc import Iterable, Sequence

from transformer_viz.runs.folder import TrainingRun

WATCHED = {"probes": (), "frame_steps": 0, "card": {}, "out": "", "overwrite": False}
"""Fields of a job that have no influence on the training -> the value with which jobs are compared."""


def runs_alike(
    runs: Iterable[TrainingRun], data: str, setting: str, values: Sequence[float]
) -> dict[float, TrainingRun] | None:
    """Return value -> the last finished run with that value of a setting, of runs alike in all else.

    None if there are none for all values.

    Args:
        runs: The newest first.
        data: Their data: a task, or the path of a file.
        setting: A field of `TrainingSettings`.
        values: Its values.
    """
    groups = []
    for run in runs:
        if run.status != "finished" or run.job.data != data:
            continue
        value = getattr(run.job.settings, setting)
        if value not in values:
            continue
        settings = dataclasses.replace(run.job.settings, **{setting: values[0]})
        rest = dataclasses.replace(run.job, settings=settings, **WATCHED)
        found = next((found for others, found in groups if others == rest), None)
        if found is None:
            groups.append((rest, found := {}))
        found.setdefault(value, run)
        if len(found) == len(values):
            return found
    return None
