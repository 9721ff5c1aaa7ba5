import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from transformer_viz.presets import PRESETS
from transformer_viz.runs import (
    RunError,
    TrainingJob,
    TrainingSettings,
    create_run,
    list_runs,
    open_run,
    queued_runs,
)

JOB = TrainingJob(
    config=PRESETS["vaswani-tiny"],
    settings=TrainingSettings(epochs=2),
    data="reverse",
    probes=(("1 2", "2 1"),),
)


@pytest.fixture
def run(tmp_path):
    return create_run(JOB, folder=tmp_path)


def test_what_was_asked_survives_as_json(run):
    assert run.job == JOB
    assert TrainingJob.from_json(JOB.to_json()) == JOB


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"config": {}}'])
def test_a_job_that_is_none_is_a_sentence(run, text):
    (run.path / "job.json").write_text(text)
    with pytest.raises(RunError, match="is not a training run: "):
        run.job  # noqa: B018


@pytest.mark.parametrize("values", [{"rows": -1}, {"frame_steps": 1.5}])
def test_a_job_names_the_field_that_is_wrong(values):
    with pytest.raises(ValueError, match=f"`{next(iter(values))}` must be a whole number of at least 0"):
        TrainingJob(config=JOB.config, settings=JOB.settings, data="copy", **values)


def test_runs_are_listed_newest_first_and_queued_oldest_first(tmp_path):
    first, second = (create_run(JOB, folder=tmp_path, title=title) for title in ("a", "b"))
    (tmp_path / "something-else").mkdir()
    assert list_runs(tmp_path) == [second, first]
    assert queued_runs(tmp_path) == [first, second]
    assert list_runs(tmp_path / "nowhere") == []


def test_a_run_is_opened_by_its_id_and_by_nothing_else(run, tmp_path):
    assert open_run(run.id, tmp_path) == run
    for name in ("nothing", "../" + run.id, str(run.path), ""):
        with pytest.raises(RunError, match="There is no training run"):
            open_run(name, tmp_path)


def test_a_run_without_a_process_is_interrupted(run):
    assert run.state().status == "queued"
    run.append("started", step=0, device="CPU")
    assert run.state().status == "interrupted"


def test_a_run_is_running_as_long_as_its_process_is_there(run):
    code = (
        "import sys, time; from pathlib import Path; from transformer_viz.runs import TrainingRun\n"
        "run = TrainingRun(Path(sys.argv[1])); run.claim(); run.append('started', step=0, device='CPU')\n"
        "print('there', flush=True); time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(run.path)], stdout=subprocess.PIPE)
    process.stdout.readline()
    assert run.state().status == "running"
    with pytest.raises(RunError, match="is running; there is nothing to resume"):
        run.queue()
    with pytest.raises(RunError, match=r"is running\. Stop it first"):
        run.delete()
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # dead, but a zombie: nobody has asked yet
    assert run.state().status == "interrupted"
    process.wait()
    process.stdout.close()
    assert run.state().status == "interrupted"
    run.queue()
    assert run.state().status == "queued"


def test_another_process_with_the_same_number_is_not_the_one(run):
    run.append("started", step=0, device="CPU")
    (run.path / "process.json").write_text(json.dumps({"pid": os.getpid(), "created": 1.0}))
    assert run.state().status == "interrupted"


def test_what_was_undone_by_going_back_is_left_out(run):
    run.append("started", step=0, device="CPU")
    for step in (1, 2, 3):
        run.append("step", step=step, loss=float(step))
    run.append("epoch", epoch=1, step=3, best=True, loss=1.0)
    run.append("started", step=2, device="GPU")
    run.append("step", step=3, loss=0.5)
    state = run.state()
    assert [(event["step"], event["loss"]) for event in state.steps] == [(1, 1.0), (2, 2.0), (3, 0.5)]
    assert state.epochs == []
    assert state.device == "GPU"


def test_a_line_cut_off_by_a_kill_is_left_out(run):
    run.append("started", step=0, device="CPU")
    with (run.path / "events.jsonl").open("a") as log:
        log.write('{"event": "step", "st')
    assert run.state().steps == []


def test_what_is_appended_after_a_cut_line_is_read(run):
    with (run.path / "events.jsonl").open("a") as log:
        log.write('{"event": "step", "st')
    run.append("started", step=0, device="CPU")
    assert [event["event"] for event in run.events()] == ["queued", "started"]


def test_a_queued_run_is_stopped_at_once_and_can_be_queued_again(run):
    run.stop()
    assert run.state().status == "stopped"
    assert not run.stop_requested
    run.queue()
    assert run.state().status == "queued"


def test_a_deleted_run_is_gone(run, tmp_path):
    run.delete()
    assert list(tmp_path.iterdir()) == []


def test_the_time_left_follows_the_pace_of_the_last_steps(run, monkeypatch):
    clock = iter(range(100))
    monkeypatch.setattr("time.time", lambda: next(clock))
    run.append("data", total_steps=100)
    run.claim()
    run.append("started", step=0, device="CPU")
    for step in (10, 20, 30):
        run.append("step", step=step)
    assert run.state().seconds_left == 7  # ten steps a second


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match=r"cannot be written: .* Make space, or set TRANSFORMER_VIZ_RUNS"):
        create_run(JOB, folder=Path(tmp_path / "file"))
