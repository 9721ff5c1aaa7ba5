"""Runs that differ in one setting: the last finished one of each value, with nothing else different."""

import dataclasses

import pytest

from transformer_viz.network.presets import PRESETS
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.listing import create_run, list_runs, runs_alike
from transformer_viz.training.runs.settings import TrainingSettings

JOB = TrainingJob(config=PRESETS["vaswani-tiny"], settings=TrainingSettings(warmup=0.2), data="reverse")


@pytest.fixture
def trained(tmp_path):
    """Return a function that makes a run whose job and settings are changed, by default a finished one."""

    def make(ending="finished", config=None, data="reverse", probes=(), frame_steps=0, **settings):
        changed = dataclasses.replace(JOB.settings, **settings)
        watched = {"probes": probes, "frame_steps": frame_steps}
        job = dataclasses.replace(JOB, settings=changed, data=data, config=config or JOB.config, **watched)
        run = create_run(job, folder=tmp_path)
        if ending:
            run.append(ending)
        return run

    return make


def found(folder, values=(0.2, 0)):
    return runs_alike(list_runs(folder), "reverse", "warmup", values)


def test_the_last_run_of_each_value_is_found(trained, tmp_path):
    trained(warmup=0)
    last = trained(warmup=0)
    with_warmup = trained(warmup=0.2)
    assert found(tmp_path) == {0.2: with_warmup, 0: last}


@pytest.mark.parametrize(
    "changes",
    [
        {"ending": ""},
        {"ending": "failed"},
        {"warmup": 0.1},
        {"epochs": 3},
        {"data": "copy"},
        {"config": JOB.config.replace(norm="pre")},
    ],
    ids=["queued", "failed", "another value", "another setting", "other data", "another model"],
)
def test_nothing_is_found_until_there_is_a_finished_run_for_each_that_differs_in_nothing_else(
    trained, tmp_path, changes
):
    trained(warmup=0.2)
    trained(**{"warmup": 0} | changes)
    assert found(tmp_path) is None
    other = trained(warmup=0)
    assert found(tmp_path)[0] == other


def test_what_is_watched_makes_no_other_training(trained, tmp_path):
    runs = [trained(warmup=0.2), trained(warmup=0, probes=["1 2"], frame_steps=5)]
    assert list(found(tmp_path).values()) == runs[::-1]


def test_runs_alike_are_found_behind_newer_ones_that_are_not(trained, tmp_path):
    runs = [trained(warmup=warmup, epochs=2) for warmup in (0.2, 0)]
    trained(warmup=0, epochs=9)
    assert list(found(tmp_path).values()) == runs[::-1]
