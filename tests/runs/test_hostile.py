"""Runs that are damaged in every way, among others that are not."""

import random
import re

import hostile
import pytest

from transformer_viz.training.runs.errors import RunError
from transformer_viz.training.runs.listing import create_run, list_runs, queued_runs
from transformer_viz.training.runs.uploads import sweep_runs

STATUS = {
    "log: mutated": ("interrupted", "queued"),  # its end may be lost
    "log: no steps": ("queued",),  # nothing in it says that it was begun
    "log: odd texts": ("failed",),
    "log: turns in disorder": ("finished", "queued", "stopped", "failed"),
    "log: an endless message": ("failed",),
    "damage: job, flipped": ("broken", "interrupted"),  # a number or a name may be another one
    "damage: job, odd data": ("interrupted",),
    "damage: job, too many rows": ("interrupted",),
}
"""Kind of damage -> how such a run may stand; any other is broken if it is of the job, else interrupted."""

DAMAGED_CHECKPOINTS = ("empty", "random", "a huge header", "a folder")

REFUSED = {
    "broken": r"cannot be resumed: .+ Delete it\.",
    "finished": r"is finished; there is nothing to resume\.",
}
"""How a run stands -> why it does not go on."""

UNWRITABLE = {
    "damage: log, a folder": ("queue", "restart"),
    "damage: checkpoint, a folder": ("restart",),
}
"""Kind of damage -> what the disk refuses."""


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "kind", [*(f"log: {kind}" for kind in hostile.LOGS), *(f"damage: {kind}" for kind in hostile.RUNS)]
)
def test_a_damaged_run_is_listed_told_and_deleted_and_the_others_go_on(tmp_path, kind, seed):
    rng, other = random.Random(seed), create_run(hostile.JOB, folder=tmp_path)
    run = hostile.a_run(tmp_path, rng, **dict([kind.split(": ")]))
    assert list_runs(tmp_path) == [run, other]
    assert other in queued_runs(tmp_path)
    status = run.status
    assert status in STATUS.get(kind, ("broken",) if "damage: job" in kind else ("interrupted",))
    state = run.state()
    assert state.status == status
    assert state.step >= 0
    assert all(event["step"] >= 0 for event in state.steps)
    assert state.seconds_left is None
    assert all(step >= 0 for step, _, _ in run.frames())
    damaged = kind in [f"damage: checkpoint, {how}" for how in DAMAGED_CHECKPOINTS]
    assert run.has_damaged_checkpoint == damaged
    sweep_runs(tmp_path)
    run.stop()
    status = "stopped" if status == "queued" else status
    assert run.status == status
    for act in ("queue", "restart"):
        why = REFUSED.get(status) or (act in UNWRITABLE.get(kind, ()) and "cannot be written: Is a directory")
        if why:
            with pytest.raises(RunError) as error:
                getattr(run, act)()
            assert re.search(why, str(error.value))
        else:
            getattr(run, act)()
            assert run.status == "queued"
    run.delete()
    assert list_runs(tmp_path) == [other]
