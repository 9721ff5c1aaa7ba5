"""Finished runs that differ in one setting alone, and the best of those that a lesson asks about."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from transformer_viz.lessons.lesson import Lesson
from transformer_viz.training.runs.folder import TrainingRun
from transformer_viz.training.runs.job import LOWER_IS_BETTER

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


class Trainings(NamedTuple):
    """How the trainings that a lesson asks about have ended.

    Attributes:
        best: Number of the right choice, from 0, as a text.
        metric: Name of the metric that selects the best epoch.
        scores: That of the best epoch on the validation rows, for each choice.
    """

    best: str
    metric: str
    scores: tuple[float, ...]


def best_training(lesson: Lesson, runs: Iterable[TrainingRun]) -> Trainings | None:
    """Return which of the trainings that are asked about is the best, by the visitor's own runs.

    None until each of them has finished, with nothing else different.

    Args:
        lesson: The lesson.
        runs: The visitor's runs, the newest first.
    """
    asked = lesson.predict
    if asked is None or lesson.task is None:
        return None
    found = runs_alike(runs, lesson.task, asked.setting, asked.values)
    if found is None:
        return None
    metric = next(iter(found.values())).job.metric
    scores = [(found[value].state().best or {}).get(f"val_{metric}", np.nan) for value in asked.values]
    if not np.isfinite(scores).all():
        return None
    number = int(np.argmin(scores) if metric in LOWER_IS_BETTER else np.argmax(scores))
    return Trainings(str(number), metric, tuple(scores))
