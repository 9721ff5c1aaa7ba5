"""The process that trains: warm before it is needed, alone at its work, gone when nobody needs it."""

import dataclasses
import itertools
import os
import signal
import subprocess
import sys
import time

import pytest
from processes import children, is_running

from transformer_viz.network.config import TransformerConfig
from transformer_viz.service import trainer as trainer_module
from transformer_viz.service.trainer import Trainer
from transformer_viz.training.runs.errors import BusyError
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.listing import create_run, list_runs, queued_runs
from transformer_viz.training.runs.settings import TrainingSettings

CONFIG = TransformerConfig(d_model=8, num_heads=2, ffn_dim=8, norm="pre", max_len=32)


def a_job(epochs=1, rows=400):
    settings = TrainingSettings(epochs=epochs, batch_size=8, learning_rate=0.01, patience=epochs)
    return TrainingJob(config=CONFIG, settings=settings, data="parity", rows=rows)


@pytest.fixture
def trainer(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_VIZ_RUNS", str(tmp_path))
    trainer = Trainer()
    yield trainer
    for run in list_runs():
        run.stop()
    trainer.close()


def until(condition, seconds=90):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_runs_are_done_one_after_the_other_and_owners_take_turns(trainer):
    """However often the page is shown meanwhile, one child is at work and at most one waits."""
    others = set(children(os.getpid()))  # of whatever else this process has started
    of_ann = [create_run(dataclasses.replace(a_job(), owner="ann")) for _ in range(3)]
    of_bob = [create_run(dataclasses.replace(a_job(), owner="bob")) for _ in range(2)]
    most = 0
    while any(run.status != "finished" for run in (*of_ann, *of_bob)):
        trainer.warm()
        most = max(most, len(set(children(os.getpid())) - others))
        time.sleep(0.05)
    assert 1 <= most <= 2
    done = sorted((*of_ann, *of_bob), key=lambda run: run.last_worked)
    assert done == [of_ann[0], of_bob[0], of_ann[1], of_bob[1], of_ann[2]]
    for earlier, later in itertools.pairwise(done):
        began = next(event["time"] for event in later.events() if event["event"] == "started")
        assert earlier.events()[-1]["time"] <= began


def test_a_child_waits_and_is_ended_if_it_was_told_nothing(trainer):
    trainer.warm()
    child = trainer.pid
    assert is_running(child)
    trainer.close()
    assert not is_running(child)


def test_a_run_outlives_whoever_started_it_and_another_server_does_not_double_it(trainer):
    run = trainer.start(a_job(epochs=3, rows=2000))
    until(lambda: run.state().status == "running")
    trainer.close()
    other = Trainer()
    other.warm()
    until(lambda: run.state().status == "finished")
    other.close()
    assert sum(event["event"] == "started" for event in run.events()) == 1


def test_after_a_killed_child_the_queue_goes_on_and_a_polite_end_stops_between_two_steps(trainer):
    killed, waiting = trainer.start(a_job(epochs=50, rows=4000)), trainer.start(a_job())
    until(lambda: killed.state().status == "running")
    os.kill(killed.pid, signal.SIGKILL)
    until(lambda: waiting.state().status == "finished")
    assert killed.state().status == "interrupted"
    trainer.resume(killed)
    until(lambda: killed.state().status == "running")
    step = killed.state().step
    until(lambda: killed.state().step > step)
    os.kill(killed.pid, signal.SIGTERM)  # between two steps
    until(lambda: killed.state().status == "stopped", seconds=20)
    assert killed.checkpoint.exists()


def test_a_process_that_cannot_start_is_a_sentence(trainer, monkeypatch, tmp_path):
    monkeypatch.setattr("transformer_viz.service.trainer.WORKER", "transformer_viz.nothing_of_that_name")
    run = trainer.start(a_job())
    until(lambda: run.state().status == "failed")
    assert run.state().message == (
        f"The training process does not start; {tmp_path / 'worker.log'} says why."
    )
    assert not queued_runs()


def test_a_child_that_nobody_asks_for_is_ended_and_another_comes_when_asked(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_VIZ_RUNS", str(tmp_path))
    spawned, spawn = [], trainer_module._spawn
    monkeypatch.setattr(trainer_module, "_spawn", lambda: spawned.append(spawn()) or spawned[-1])
    trainer = Trainer(idle_seconds=1)
    try:
        trainer.warm()
        until(lambda: trainer.pid is None)
        trainer.warm()
        assert len(spawned) == 2
        run = trainer.start(a_job())
        begun = len(spawned)
        until(lambda: len(spawned) > begun and trainer.pid is None)
        assert run.state().status == "finished"
        until(lambda: not any(is_running(child.pid) for child in spawned))
    finally:
        trainer.close()


def test_a_child_that_is_asked_for_again_and_again_stays(trainer):
    trainer.warm()
    child = trainer.pid
    trainer._end_idle()  # its time has come, but it was asked for just now
    trainer.warm()
    assert trainer.pid == child
    assert is_running(child)


def test_what_killed_processes_left_is_removed_when_training_is_first_asked_for(trainer, tmp_path):
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    for left in (f".tmp-{child.pid}-{'0' * 32}", f".trash-{child.pid}-{'0' * 32}"):
        (tmp_path / left).mkdir()
        (tmp_path / left / "file").write_text("")
    ours = tmp_path / f".tmp-{os.getpid()}-{'0' * 32}"
    ours.mkdir()
    trainer.warm()
    assert [place for place in tmp_path.iterdir() if place.name.startswith(".t")] == [ours]


def test_a_run_that_no_child_can_begin_is_left_alone_until_something_happens_to_it(
    trainer, tmp_path, monkeypatch
):
    """A child gives up on a run where it may not write; another would at once do the same, for ever."""
    (tmp_path / "gives_up.py").write_text("import sys\nif sys.stdin.readline(): print('nothing done')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr("transformer_viz.service.trainer.WORKER", "gives_up")
    run = create_run(a_job())
    trainer.warm()
    until(lambda: trainer.pid)
    waiting = trainer.pid
    for _ in range(3):
        trainer.warm()
    assert trainer.pid == waiting
    assert (tmp_path / "worker.log").read_text() == "nothing done\n"
    run.append("queued")
    trainer.warm()
    until(lambda: trainer.pid)
    assert (tmp_path / "worker.log").read_text() == "nothing done\n" * 2


def test_an_owner_starts_one_training_at_a_time_where_that_is_asked_for(trainer):
    job = dataclasses.replace(a_job(epochs=50, rows=4000), owner="ann")
    run = trainer.start(job, one_at_a_time=True)
    with pytest.raises(BusyError) as error:
        trainer.start(job, one_at_a_time=True)
    assert str(error.value) == (
        f"The run {run.id} is not over yet. Wait for its end, or stop it; then start another."
    )
    failed = create_run(job)
    failed.append("failed", message="Oh.")
    with pytest.raises(BusyError, match=run.id):
        trainer.resume(failed, one_at_a_time=True)
    other = trainer.start(dataclasses.replace(job, owner="bob"), one_at_a_time=True)
    other.stop()
    run.stop()
    until(lambda: run.status == "stopped")
    trainer.start(job, one_at_a_time=True)
