"""Runs that are damaged in every way, among others that are not."""

import random

import hostile
import pytest

from transformer_viz.runs import RunError, create_run, list_runs, queued_runs, runs_bytes, sweep_runs

STATES = {"queued", "interrupted", "failed", "stopped", "finished", "broken"}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "kind", [*(f"log: {kind}" for kind in hostile.LOGS), *(f"damage: {kind}" for kind in hostile.RUNS)]
)
def test_a_damaged_run_is_listed_told_and_deleted_and_the_others_go_on(tmp_path, kind, seed):
    rng, other = random.Random(seed), create_run(hostile.JOB, folder=tmp_path)
    run = hostile.a_run(tmp_path, rng, **dict([kind.split(": ")]))
    assert list_runs(tmp_path) == [run, other]
    assert other in queued_runs(tmp_path)
    assert run.status in STATES
    state = run.state()
    assert state.status == run.status
    assert state.step >= 0
    assert state.best is None or state.best["best"]
    assert all(event["step"] >= 0 for event in state.steps)
    assert state.seconds_left is None
    assert all(step >= 0 for step, _, _ in run.frames())
    assert run.has_damaged_checkpoint in (True, False)
    assert runs_bytes(folder=tmp_path) > 0
    sweep_runs(tmp_path)
    for act in (run.stop, run.queue, run.begin_anew):
        try:
            act()
        except RunError as error:
            assert str(error)  # noqa: PT017
    run.delete()
    assert list_runs(tmp_path) == [other]
