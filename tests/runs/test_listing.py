"""Whose runs there are, whose turn it is, and how much room there is."""

import dataclasses
import os
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer_viz import store
from transformer_viz.network.fine_tuning import child_config
from transformer_viz.network.presets import PRESETS
from transformer_viz.store.quota import Quota, bytes_in
from transformer_viz.training.runs.errors import BusyError, QuotaError, RunError
from transformer_viz.training.runs.folder import TrainingRun
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.listing import create_run, list_runs, queue_run, queued_runs, run_sizes
from transformer_viz.training.runs.settings import TrainingSettings

JOB = TrainingJob(config=PRESETS["vaswani-tiny"], settings=TrainingSettings(), data="reverse")


def of(owner):
    return dataclasses.replace(JOB, owner=owner)


def size_of(runs):
    return sum(bytes_in(run.path) for run in runs)


def owners(runs):
    return [run.job.owner for run in runs]


def test_runs_are_listed_by_owner(tmp_path):
    runs = [create_run(of(owner), folder=tmp_path) for owner in ("", "ann", "bob", "ann")]
    assert list_runs(tmp_path, owner="ann") == [runs[3], runs[1]]
    assert list_runs(tmp_path, owner="") == [runs[0]]
    assert list_runs(tmp_path, owner="eve") == []
    assert list_runs(tmp_path) == runs[::-1]


def test_owners_take_turns_and_of_an_owner_the_oldest_comes_first(tmp_path):
    asked = ["ann", "ann", "ann", "bob", "bob", "eve"]
    runs = [create_run(of(owner), folder=tmp_path) for owner in asked]
    order = queued_runs(tmp_path)
    assert owners(order) == ["ann", "bob", "eve", "ann", "bob", "ann"]
    assert [run for run in order if run.job.owner == "ann"] == runs[:3]


def test_whoever_had_a_turn_least_recently_comes_first(tmp_path, monkeypatch):
    clock = iter(range(1000))
    monkeypatch.setattr("time.time", lambda: next(clock))
    for owner in ("bob", "eve", "ann"):
        run = create_run(of(owner), folder=tmp_path)
        run.append("started", step=0, device="CPU")
        run.append("finished", model="m")
    for owner in ("ann", "eve", "bob", "dan", "ann"):
        create_run(of(owner), folder=tmp_path)
    assert owners(queued_runs(tmp_path)) == ["dan", "bob", "eve", "ann", "ann"]


def test_whoever_has_a_run_at_work_comes_last(tmp_path):
    at_work = create_run(of("ann"), folder=tmp_path)
    at_work.claim()
    at_work.append("started", step=0, device="CPU")
    for owner in ("ann", "ann", "bob"):
        create_run(of(owner), folder=tmp_path)
    assert owners(queued_runs(tmp_path)) == ["bob", "ann", "ann"]


def test_a_run_that_was_taken_out_of_the_queue_was_no_turn(tmp_path):
    create_run(of("ann"), folder=tmp_path).stop()
    runs = [create_run(of(owner), folder=tmp_path) for owner in ("ann", "bob")]
    assert queued_runs(tmp_path) == runs


def test_a_run_that_goes_on_waits_for_its_owners_turn(tmp_path):
    run = create_run(of("ann"), folder=tmp_path)
    run.append("started", step=0, device="CPU")
    run.append("stopped")
    create_run(of("bob"), folder=tmp_path)
    run.queue()
    assert owners(queued_runs(tmp_path)) == ["bob", "ann"]


def test_owners_whose_runs_are_long_take_turns_again_and_again(tmp_path):
    for owner in ("ann", "bob"):
        create_run(of(owner), folder=tmp_path)
    turns = []
    for turn in range(6):
        run = queued_runs(tmp_path)[0]
        turns.append(run.owner)
        run.append("started", step=turn, device="CPU")
        for step in range(300):
            run.append("step", step=step, loss=0.5)
        run.append("queued")
    assert turns == ["ann", "bob"] * 3


def test_runs_of_everybody_are_done_in_the_order_in_which_they_were_asked_for(tmp_path):
    runs = [create_run(JOB, folder=tmp_path) for _ in range(4)]
    runs[0].append("started", step=0, device="CPU")
    runs[0].append("finished", model="m")
    assert queued_runs(tmp_path) == runs[1:]


@settings(max_examples=25, deadline=None)  # each run is flushed to the disk
@given(st.lists(st.sampled_from("abc"), max_size=7))
def test_nobody_waits_for_two_turns_of_another_and_nothing_is_lost(tmp_path_factory, asked):
    folder = tmp_path_factory.mktemp("runs")
    runs = [create_run(of(owner), folder=folder) for owner in asked]
    order = queued_runs(folder)
    assert sorted(order, key=lambda run: run.id) == runs
    for number, run in enumerate(order):
        waiting = {each.job.owner for each in order[number:]}
        next_ones = owners(order[number : number + len(waiting)])
        assert set(next_ones) == waiting, run


def test_room_is_counted_for_each_owner_and_together(tmp_path):
    runs = [create_run(of(owner), folder=tmp_path) for owner in ("", "ann")]
    (runs[1].path / "model").mkdir()
    (runs[1].path / "model" / "parameters.safetensors").write_bytes(bytes(10_000))
    sizes = [sum(path.stat().st_size for path in run.path.rglob("*") if path.is_file()) for run in runs]
    assert sizes[1] > 10_000
    assert run_sizes(tmp_path) == [(runs[1].id, "ann", sizes[1]), (runs[0].id, "", sizes[0])]
    assert run_sizes(tmp_path / "nowhere") == []


@pytest.mark.parametrize("owner", ["", "ann"])
@pytest.mark.parametrize("quota", [Quota(1_000_000, 100_000), Quota(100_000, 1_000_000)])
def test_a_run_for_which_there_is_no_room_is_refused_and_the_way_out_named(tmp_path, quota, owner):
    runs = [create_run(of(owner), folder=tmp_path, quota=quota) for _ in range(2)]
    (runs[1].path / "checkpoint.safetensors").write_bytes(bytes(200_000))
    if owner == "" and quota.total > 200_000:  # what belongs to everybody counts as nobody's
        create_run(of(owner), folder=tmp_path, quota=quota)
        return
    with pytest.raises(QuotaError) as error:
        create_run(of(owner), folder=tmp_path, quota=quota)
    used = size_of(runs)
    assert (error.value.used, error.value.limit) == (used, 100_000)
    assert str(error.value) == (
        f"There is no room: trainings take {used / 1e6:.1f} MB of the 0.1 MB allowed. Delete one that is "
        f"no longer needed, the largest first: {runs[1].id}, {runs[0].id}."
    )
    assert list_runs(tmp_path) == runs[::-1]
    runs[1].delete()
    create_run(of(owner), folder=tmp_path, quota=quota)


def test_an_owner_is_refused_for_own_runs_alone_and_reads_no_names_of_others(tmp_path):
    big = create_run(of("ann"), folder=tmp_path)
    (big.path / "checkpoint.safetensors").write_bytes(bytes(200_000))
    create_run(of("bob"), folder=tmp_path, quota=Quota(10**6, 100_000))
    with pytest.raises(QuotaError) as error:
        create_run(of("eve"), folder=tmp_path, quota=Quota(100_000, 100_000))
    assert big.id not in str(error.value)


def test_of_many_who_come_at_once_no_more_get_in_than_there_is_room_for(tmp_path):
    size = size_of([create_run(JOB, folder=tmp_path / "one")])
    quota, made, refused = Quota(5 * size // 2, 0), [], []

    def make():
        try:
            made.append(create_run(JOB, folder=tmp_path / "all", quota=quota))
        except QuotaError:
            refused.append(1)

    visitors = [threading.Thread(target=make) for _ in range(12)]
    for visitor in visitors:
        visitor.start()
    for visitor in visitors:
        visitor.join()
    assert (len(made), len(refused)) == (3, 9)
    assert len(list_runs(tmp_path / "all")) == 3


def test_of_two_clicks_at_once_one_starts_a_training_where_each_may_have_one(tmp_path):
    made, refused = [], []

    def make():
        try:
            made.append(create_run(of("ann"), folder=tmp_path, one_at_a_time=True))
        except BusyError as error:
            refused.append(error.run)

    clicks = [threading.Thread(target=make) for _ in range(6)]
    for click in clicks:
        click.start()
    for click in clicks:
        click.join()
    assert refused == [made[0].id] * 5
    create_run(of("bob"), folder=tmp_path, one_at_a_time=True)
    made[0].stop()
    create_run(of("ann"), folder=tmp_path, one_at_a_time=True)


def test_no_more_than_so_many_runs_wait_in_a_class(tmp_path, monkeypatch):
    monkeypatch.setattr("transformer_viz.training.runs.listing.MOST_QUEUED", 2)
    runs = [create_run(of(owner), folder=tmp_path, one_at_a_time=True) for owner in ("ann", "bob")]
    with pytest.raises(RunError, match=r"^2 trainings are waiting already, and no more are taken\."):
        create_run(of("cem"), folder=tmp_path, one_at_a_time=True)
    create_run(of("cem"), folder=tmp_path)
    for run in runs:
        run.stop()
    create_run(of("dan"), folder=tmp_path, one_at_a_time=True)


def test_a_folder_of_runs_is_looked_through_again_only_when_it_has_changed(tmp_path, monkeypatch):
    first = create_run(of("ann"), folder=tmp_path)
    assert list_runs(tmp_path) == [first]
    second = create_run(of("bob"), folder=tmp_path)  # perhaps at the same time of the clock
    assert list_runs(tmp_path) == [second, first]
    os.utime(tmp_path, (10**9, 10**9))
    assert list_runs(tmp_path) == [second, first]
    with monkeypatch.context() as patch:
        patch.setattr("transformer_viz.training.runs.listing.is_name", None)
        assert list_runs(tmp_path) == [second, first]
        assert list_runs(tmp_path, owner="ann") == [first]
        first.stop()
        assert queued_runs(tmp_path) == [second]
    second.delete()
    assert list_runs(tmp_path) == [first]


def test_of_two_tabs_at_once_one_goes_on_where_each_owner_may_have_one_run(tmp_path, monkeypatch):
    runs = [create_run(of("ann"), folder=tmp_path) for _ in range(4)]
    for run in runs:
        run.append("failed", message="Oh.")
    queue, together, refused = TrainingRun.queue, threading.Barrier(len(runs)), []

    def queue_late(run):
        time.sleep(0.05)  # long enough for the others to look
        queue(run)

    def resume(run):
        together.wait()
        try:
            queue_run(run, one_at_a_time=True)
        except BusyError as error:
            refused.append(error.run)

    monkeypatch.setattr(TrainingRun, "queue", queue_late)
    tabs = [threading.Thread(target=resume, args=(run,)) for run in runs]
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.join()
    [waiting] = queued_runs(tmp_path)
    assert refused == [waiting.id] * 3


@pytest.mark.parametrize("restart", [False, True])
def test_a_run_goes_on_only_if_there_is_room(tmp_path, restart):
    run = create_run(of("ann"), folder=tmp_path)
    run.append("failed", message="Oh.")
    (run.path / "checkpoint.safetensors").write_bytes(bytes(200_000))
    with pytest.raises(QuotaError, match=f"There is no room: .* the largest first: {run.id}"):
        queue_run(run, restart=restart, quota=Quota(10**6, 100_000))
    assert run.status == "failed"
    assert run.checkpoint.exists()
    queue_run(run, restart=restart, quota=Quota(10**6, 300_000))
    assert run.status == "queued"
    assert run.checkpoint.exists() != restart


def test_a_file_that_is_gone_is_said_before_anything_is_queued(tmp_path):
    job = dataclasses.replace(JOB, data=tmp_path / "gone.csv", sha256="0" * 64)
    with pytest.raises(RunError) as error:
        create_run(job, folder=tmp_path)
    assert str(error.value) == f"There is no file {tmp_path / 'gone.csv'} any more. Choose it again."
    assert list(tmp_path.iterdir()) == []


def test_the_copy_of_a_parent_counts_as_part_of_its_run(tmp_path, models_folder):
    config = child_config(store.read_config("small"), classifies=True)
    job = TrainingJob(config=config, settings=TrainingSettings(), data="parity", parent="small")
    size = bytes_in(models_folder / "small")
    with pytest.raises(QuotaError):
        create_run(job, folder=tmp_path, quota=Quota(size - 1, size - 1))
    assert list_runs(tmp_path) == []
    run = create_run(job, folder=tmp_path, quota=Quota(size, size))
    assert store.read_files(run.parent) == store.read_files("small")
    [used] = run_sizes(tmp_path)
    assert used.size > size
    assert run.job == job


def test_links_out_of_a_run_are_not_followed_when_room_is_counted(tmp_path):
    run = create_run(JOB, folder=tmp_path)
    before = size_of([run])
    os.symlink(Path(__file__).parents[2], run.path / "link")
    os.symlink(run.path, run.path / "circle")
    assert size_of([run]) - before < 1000
