"""Several devices, and several machines, learn what one device learns."""

import contextlib
import dataclasses
import json
import socket
import time

import forked
import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose, assert_array_equal

from transformer_viz import store
from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.fine_tuning import trained_parameters
from transformer_viz.training.checkpoint import read_checkpoint
from transformer_viz.training.evaluator import Evaluator
from transformer_viz.training.job import work
from transformer_viz.training.labelled_texts import LabelledTexts
from transformer_viz.training.model_trainer import ModelTrainer
from transformer_viz.training.runs.folder import TrainingRun
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.listing import create_run
from transformer_viz.training.runs.settings import TrainingSettings

CONFIG = TransformerConfig(
    d_model=8, num_heads=2, ffn_dim=8, norm="pre", dropout=0.0, max_len=32, attention_bias=False
)
SETTINGS = TrainingSettings(
    epochs=2, batch_size=16, learning_rate=0.01, average=0.9, clip_norm=0.1, weight_decay=0.01
)

PATIENCE = 120
"""Seconds for two processes to start TensorFlow, find together and train a little."""


def learn_on_devices(count, job, out, layers):
    """Train with one and with several devices alike; write what came of it to a file."""
    [processor] = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(processor, [tf.config.LogicalDeviceConfiguration()] * count)
    dataset, settings = LabelledTexts(job), job.settings
    strategy = tf.distribute.MirroredStrategy([f"CPU:{number}" for number in range(count)])
    trained = trained_parameters(dataset.config, layers)
    trainers = [ModelTrainer(dataset, settings, each, trained=trained) for each in (None, strategy)]
    frozen = [
        (variable, variable.numpy())
        for name, variable in trainers[1].model.parameters().items()
        if name not in trained
    ]
    batches = [batch for epoch in range(2) for batch in dataset.batches(settings, epoch)]
    ids, targets = batches[0]
    batches += [(ids[:1], targets[:1]), (ids[:2], targets[:2])]  # fewer rows than devices
    losses = [[trainer.train(*batch, 0.01)["loss"] for batch in batches] for trainer in trainers]

    variables = [*trainers[1].model.variables, *trainers[1].optimizer.variables]
    copies = [[copy.numpy() for copy in strategy.experimental_local_results(v.value)] for v in variables]
    states = [trainer.state() for trainer in trainers]
    kept = [trainer.parameters() for trainer in trainers]
    evaluator = Evaluator(dataset, settings)
    metrics = []
    for parameters in kept:
        evaluator.set_parameters(parameters)
        metrics.append(evaluator.validate()["val_loss"])

    trainers[1].restore(states[1])
    again = trainers[1].state()
    trainers[1].train(*batches[0], 0.01)
    other = ModelTrainer(dataset, settings, strategy, trained=trained)
    other.restore(states[1])
    other.train(*batches[0], 0.01)

    found = {
        "frozen": len(frozen),
        "moved": [variable.path for variable, before in frozen if (variable.numpy() != before).any()],
        "copies": [len(values) for values in copies],
        "unlike": [
            v.path
            for v, values in zip(variables, copies, strict=True)
            if any((values[0] != c).any() for c in values)
        ],
        "losses": losses,
        "apart": [
            max(float(np.abs(a[n] - b[n]).max()) for n in a if a[n].dtype == np.float32)
            for a, b in (states, kept)
        ],
        "validation": metrics,
        "restored": all((again[name] == value).all() for name, value in states[1].items()),
        "goes on": all((other.state()[name] == value).all() for name, value in trainers[1].state().items()),
    }
    out.write_text(json.dumps(found))


def train(path):
    work(TrainingRun(path))


def train_or_fail(path, failing):
    """Train, but for one run, whose disk is full."""

    def full(*arguments):
        raise OSError(28, "No space left on device")

    if path == failing:
        Evaluator.set_parameters = full
    work(TrainingRun(path))


@pytest.mark.quick("0")
@pytest.mark.parametrize("layers", [None, 0])
def test_several_devices_learn_what_one_learns(tmp_path, layers):
    count = 3  # which divides no batch
    job = TrainingJob(config=CONFIG, settings=SETTINGS, data="parity", rows=110)
    child = forked.start(learn_on_devices, count, job, tmp_path / "found.json", layers)
    child.join(timeout=PATIENCE)
    assert child.exitcode == 0
    found = json.loads((tmp_path / "found.json").read_text())
    assert set(found["copies"]) == {count}
    assert (found["frozen"] > 0, found["moved"]) == (layers is not None, [])
    assert found["unlike"] == []
    one, several = found["losses"]
    assert_allclose(several, one, rtol=1e-4)
    assert max(found["apart"]) < 1e-4
    assert_allclose(*found["validation"], rtol=1e-4)
    assert found["restored"]
    assert found["goes on"]


@contextlib.contextmanager
def machines(runs, train=train, *arguments):
    """One process for each run, each of them a machine of one cluster; none outlives the block."""
    hosts = [f"localhost:{port}" for port in free_ports(len(runs))]
    started = []
    try:
        for index, run in enumerate(runs):
            task = {"cluster": {"worker": hosts}, "task": {"type": "worker", "index": index}}
            started.append(forked.start(train, run.path, *arguments, TF_CONFIG=json.dumps(task)))
        yield started
    finally:
        for process in started:
            process.kill()
            process.join()


def free_ports(count):
    sockets = [socket.create_server(("localhost", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def ends(processes):
    for process in processes:
        process.join(timeout=PATIENCE)
    return [process.exitcode for process in processes]


def wait_for(run, event, after=0):
    deadline = time.monotonic() + PATIENCE
    while event not in [found["event"] for found in run.events()[after:]]:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def two_runs(job, folder):
    return [create_run(job, folder=folder / str(number)) for number in range(2)]


def long_job():
    settings = TrainingSettings(epochs=1000, batch_size=16, patience=1000)
    return TrainingJob(config=CONFIG, settings=settings, data="parity", rows=400)


def parameters(run):
    return store.read_model(run.model).parameters


@pytest.mark.thorough
def test_two_machines_end_with_the_same_model_as_one(tmp_path):
    out = tmp_path / "written"
    job = TrainingJob(config=CONFIG, settings=SETTINGS, data="parity", rows=400, out=out)
    runs = two_runs(job, tmp_path)
    with machines(runs) as started:
        assert ends(started) == [0, 0]
    states = [run.state() for run in runs]
    assert [(state.status, state.message) for state in states] == [("finished", "")] * 2
    first, second = (parameters(run) for run in runs)
    for name, value in first.items():
        assert_array_equal(second[name], value)
    assert [run.events()[-1]["model"] for run in runs] == [str(out), str(runs[1].model)]
    assert store.read_model(out).card["device"] == states[0].device
    checkpoints = [read_checkpoint(run.checkpoint)[0] for run in runs]
    for name, value in checkpoints[0].items():
        assert_array_equal(checkpoints[1][name], value)

    alone = create_run(dataclasses.replace(job, out=""), folder=tmp_path)
    work(alone)
    for name, value in parameters(alone).items():
        assert_allclose(first[name], value, atol=1e-4)
    for ours, theirs in zip(states[0].epochs, alone.state().epochs, strict=True):
        assert_allclose(ours["val_loss"], theirs["val_loss"], rtol=1e-4)


def test_a_stop_of_one_machine_stops_both_and_they_go_on_from_the_same_step(tmp_path):
    runs = two_runs(long_job(), tmp_path)
    with machines(runs) as started:
        wait_for(runs[1], "epoch")
        runs[1].stop()
        assert ends(started) == [0, 0]
    assert [run.state().status for run in runs] == ["stopped", "stopped"]
    steps = [read_checkpoint(run.checkpoint)[1].step for run in runs]
    assert steps[0] == steps[1] > 0

    runs[1].checkpoint.unlink()  # what the first one has reached counts
    logged = [len(run.events()) for run in runs]
    for run in runs:
        run.queue()
    with machines(runs) as started:
        for run, before in zip(runs, logged, strict=True):
            wait_for(run, "step", before)
        runs[0].stop()
        assert ends(started) == [0, 0]
    begun = [[found["step"] for found in run.events() if found["event"] == "started"] for run in runs]
    assert begun == [[0, steps[0]]] * 2


def test_where_one_machine_cannot_go_on_the_other_says_so(tmp_path):
    runs = two_runs(long_job(), tmp_path)
    with machines(runs, train_or_fail, runs[1].path) as started:
        assert ends(started) == [0, 0]
    assert [run.state().message for run in runs] == [
        "Another machine could not go on; its run says why. Resume on all of them.",
        f"The disk of {runs[1].path} is full. Make space and resume: the last checkpoint is kept.",
    ]
