"""The process that trains works off the queue, whatever a run's folder does."""

import dataclasses
import shutil

import numpy as np
import pytest
from faults import no_file_beyond
from filelock import FileLock
from unprivileged import modes_count

from transformer_viz.cli.main import main
from transformer_viz.cli.training import Waiting
from transformer_viz.network.config import TransformerConfig
from transformer_viz.store import read_model
from transformer_viz.store.quota import Quota, bytes_in
from transformer_viz.training.job import RESERVE, work
from transformer_viz.training.recorder import SMALL_FILES
from transformer_viz.training.runs.errors import RunError
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.listing import create_run
from transformer_viz.training.runs.settings import TrainingSettings
from transformer_viz.training.worker import training_lock, work_off_queue

CONFIG = TransformerConfig(d_model=8, num_heads=2, ffn_dim=8, norm="pre", max_len=32)
JOB = TrainingJob(config=CONFIG, settings=TrainingSettings(epochs=1, batch_size=32), data="parity", rows=100)


@pytest.fixture(autouse=True)
def runs(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_VIZ_RUNS", str(tmp_path))
    return tmp_path


def read_only(folder):
    for place in (*folder.iterdir(), folder):
        place.chmod(0o555 if place.is_dir() else 0o444)


def test_a_run_in_a_folder_that_cannot_be_written_is_passed_over(capsys):
    stuck, run = create_run(JOB), create_run(JOB)
    read_only(stuck.path)
    with modes_count():
        work_off_queue(work)
    stuck.path.chmod(0o755)
    assert (stuck.status, run.status) == ("queued", "finished")
    assert capsys.readouterr().err == (
        f"{stuck.path} cannot be written: Permission denied. Make space, or set TRANSFORMER_VIZ_RUNS to "
        "another folder.\n"
    )
    assert sorted(place.name for place in stuck.path.iterdir()) == ["events.jsonl", "job.json"]


def test_a_folder_of_runs_that_cannot_be_written_is_a_sentence(runs):
    create_run(JOB)
    read_only(runs)
    with modes_count(), pytest.raises(RunError, match="cannot be written: Permission denied"):
        work_off_queue(work)
    runs.chmod(0o755)


def test_a_run_whose_job_is_broken_is_passed_over():
    broken, run = create_run(JOB), create_run(dataclasses.replace(JOB, owner="ann"))
    (broken.path / "job.json").write_text("")
    work_off_queue(work)
    assert (broken.status, run.status) == ("broken", "finished")


@pytest.mark.thorough
def test_owners_take_turns_and_what_is_learned_is_the_same(monkeypatch):
    alone = create_run(JOB)
    work_off_queue(work)
    monkeypatch.setattr("transformer_viz.training.turn.TURN_SECONDS", 0)
    monkeypatch.setattr("transformer_viz.training.turn.QUEUE_CHECK_SECONDS", 0)
    runs = [create_run(dataclasses.replace(JOB, owner=owner)) for owner in ("ann", "bob")]
    order = []
    work_off_queue(lambda run: (order.append(run.owner), work(run)))
    assert order[:4] == ["ann", "bob", "ann", "bob"]
    for run in runs:
        assert run.status == "finished"
        assert [event["step"] for event in run.events() if event["event"] == "epoch"] == [3]
        for name, array in read_model(alone.model).parameters.items():
            np.testing.assert_array_equal(read_model(run.model).parameters[name], array)


def test_a_run_that_is_stopped_before_it_has_gone_on_is_stopped(monkeypatch):
    monkeypatch.setattr("transformer_viz.training.turn.TURN_SECONDS", 0)
    monkeypatch.setattr("transformer_viz.training.turn.QUEUE_CHECK_SECONDS", 0)
    run = create_run(dataclasses.replace(JOB, owner="ann"))
    create_run(dataclasses.replace(JOB, owner="bob"))
    work(run)  # gives up its turn
    assert run.status == "queued"
    reached, checkpoint = run.state().step, run.checkpoint.read_bytes()
    run.stop()
    work(run)
    assert (run.status, run.state().message, run.state().step) == ("stopped", "", reached)
    assert run.checkpoint.read_bytes() == checkpoint
    run.delete()  # nobody works on it


def test_a_run_that_is_stopped_at_the_end_of_its_turn_does_not_wait_for_another(monkeypatch):
    monkeypatch.setattr("transformer_viz.training.turn.TURN_SECONDS", 0)
    monkeypatch.setattr("transformer_viz.training.turn.QUEUE_CHECK_SECONDS", 0)
    run, other = (create_run(dataclasses.replace(JOB, owner=owner)) for owner in ("ann", "bob"))

    def stopped_meanwhile(folder):
        run.stop()
        return [other]

    monkeypatch.setattr("transformer_viz.training.turn.queued_runs", stopped_meanwhile)
    work(run)
    assert run.status == "stopped"


def test_a_run_that_gives_up_its_turn_on_the_command_line_is_a_sentence(monkeypatch, capsys):
    monkeypatch.setattr("transformer_viz.training.turn.TURN_SECONDS", 0)
    monkeypatch.setattr("transformer_viz.training.turn.QUEUE_CHECK_SECONDS", 0)
    run = create_run(dataclasses.replace(JOB, owner="ann"))
    create_run(dataclasses.replace(JOB, owner="bob"))
    assert main(["resume", run.id]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"Run {run.id}; stop it with Ctrl-C, resume it with: python -m transformer_viz resume {run.id}",
        "Queued behind a run of another owner at step 1. The best model so far: none yet.",
    ]
    assert run.status == "queued"


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en_US.UTF-8", "Waiting for run {}, which is being trained (step 3 of 4) ..."),
        ("zh_CN.UTF-8", "正在等待训练“{}”结束（第 3 步，共 4 步）……"),
    ],
)
def test_a_training_that_waits_says_once_for_which_and_how_far_that_is(
    runs, monkeypatch, capsys, language, said
):
    monkeypatch.setenv("LC_ALL", language)
    monkeypatch.setattr("transformer_viz.training.worker.WAIT_SECONDS", 0.05)
    other, run, looks = create_run(JOB), create_run(JOB), []
    with FileLock(runs / ".lock") as held, Waiting(run) as waiting:

        def look():
            waiting.look()
            looks.append(capsys.readouterr().out)
            if len(looks) == 1:
                other.claim()
                other.append("started", step=0, device="CPU")
                other.append("data", total_steps=4)
                other.append("step", step=3, loss=1.0)
            if len(looks) == 3:
                held.release()

        with training_lock(look):
            assert looks[0].startswith(("Waiting for another process", "正在等待另一个训练进程"))
            assert looks[1:] == [said.format(other.id) + "\n", ""]


def test_a_run_that_is_stopped_while_it_waits_waits_no_longer(runs, monkeypatch):
    monkeypatch.setattr("transformer_viz.training.worker.WAIT_SECONDS", 0.05)
    run = create_run(JOB)
    run.stop()
    held, raised = FileLock(runs / ".lock"), pytest.raises(KeyboardInterrupt)
    with held, Waiting(run) as waiting, raised, training_lock(waiting.look):
        pass
    assert run.status == "stopped"


def quota_with(room, runs):
    """Return a quota that leaves so much room beside all runs."""
    return Quota(10**9, sum(bytes_in(run.path) for run in runs) + room)


def test_pictures_for_which_there_is_no_room_are_left_out_and_training_goes_on():
    settings = TrainingSettings(epochs=3, batch_size=8, patience=3)
    job = dataclasses.replace(JOB, owner="ann", settings=settings, frame_steps=1)
    run, whole = create_run(job), create_run(job)
    quota = quota_with(SMALL_FILES + RESERVE + 40_000, [run, whole])
    work(run, quota=quota)
    work(whole)
    assert (run.status, run.state().step) == (whole.status, whole.state().step) == ("finished", 36)
    assert 0 < len(run.frames()) < len(whole.frames())
    assert sum(event["event"] == "full" for event in run.events()) == 1
    assert (run.state().is_full, whole.state().is_full) == (True, False)


@pytest.mark.parametrize(
    ("room", "way_out"),
    [
        (SMALL_FILES + RESERVE // 2, "Delete one that is no longer needed, the largest first: {run.id}."),
        (
            SMALL_FILES // 2,
            "This one alone would keep more than that. Choose a smaller model.",
        ),
    ],
)
def test_a_run_whose_model_has_no_room_says_so_before_it_trains(room, way_out):
    run = create_run(dataclasses.replace(JOB, owner="ann"))
    quota = quota_with(room, [run])
    work(run, quota=quota)
    assert run.status == "failed"
    assert run.state().message == (
        f"There is no room: trainings take 0.1 MB of the {quota.owner / 1e6:.1f} MB allowed. "
        + way_out.format(run=run)
    )
    assert run.state().steps == []


def test_a_run_that_outgrows_its_room_all_the_same_is_ended_with_a_sentence():
    run = create_run(
        dataclasses.replace(JOB, owner="ann", settings=TrainingSettings(epochs=3, batch_size=32))
    )
    quota = quota_with(2**21, [run])

    def grow(event):
        if event["event"] == "epoch" and event["epoch"] == 2:
            (run.path / "more").write_bytes(bytes(2**21))

    work(run, watch=grow, quota=quota)
    assert run.status == "failed"
    assert run.state().message.startswith("There is no room: trainings take 2.")
    (run.path / "more").unlink()
    run.queue()
    work(run, quota=quota)
    assert run.status == "finished"


def test_nobody_waits_for_an_owner_with_another_run_of_their_own(monkeypatch):
    monkeypatch.setattr("transformer_viz.training.turn.TURN_SECONDS", 0)
    monkeypatch.setattr("transformer_viz.training.turn.QUEUE_CHECK_SECONDS", 0)
    runs = [create_run(dataclasses.replace(JOB, owner="ann")) for _ in range(2)]
    order = []
    work_off_queue(lambda run: (order.append(run), work(run)))
    assert order == runs


def test_a_run_that_is_removed_while_it_waits_stops_nobody(runs):
    gone, run = create_run(JOB), create_run(JOB)

    def work_and_remove(each):
        if each == gone:
            each.delete()
        work(each)

    work_off_queue(work_and_remove)
    assert run.status == "finished"
    assert not gone.path.exists()


def test_a_folder_that_vanishes_under_a_training_is_a_sentence_and_does_not_come_back(runs):
    run = create_run(dataclasses.replace(JOB, settings=TrainingSettings(epochs=3, batch_size=32)))

    def vanish(event):
        if event["event"] == "epoch":
            shutil.rmtree(run.path)

    with pytest.raises(RunError) as error:
        work(run, watch=vanish)
    assert str(error.value) == f"{run.path} is not there any more."
    assert not run.path.exists()


def test_a_disk_that_is_full_from_the_beginning_is_a_sentence_and_nothing_is_left():
    run = create_run(JOB)
    before = {path.name for path in run.path.iterdir()}
    with no_file_beyond(2**15):
        work(run)
    assert run.status == "failed"
    assert run.state().message == (
        f"The disk of {run.path} is full. Make space and resume: the last checkpoint is kept."
    )
    assert {path.name for path in run.path.iterdir()} - before == {"traceback.txt"}
    run.queue()
    work(run)
    assert run.status == "finished"


@pytest.mark.parametrize("name", ["frames", "checkpoint.safetensors"])
def test_what_stands_in_the_way_of_a_picture_or_a_checkpoint_is_a_sentence(name):
    run = create_run(JOB)
    (run.path / name).mkdir() if name != "frames" else (run.path / name).write_text("")
    work(run)
    assert run.status == "failed"
    assert run.state().message.startswith(str(run.path))
    assert not list(run.path.rglob(".tmp-*"))
