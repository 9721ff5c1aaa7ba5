"""A run that is killed, stopped or breaks off goes on from its checkpoint as if nothing had been."""

import dataclasses
import importlib
import random
import signal
import time

import forked
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from transformer_viz import store
from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.presets import PRESETS
from transformer_viz.training import recorder
from transformer_viz.training.checkpoint import read_checkpoint
from transformer_viz.training.evaluator import Evaluator
from transformer_viz.training.job import work
from transformer_viz.training.model_trainer import ModelTrainer
from transformer_viz.training.runs.folder import TrainingRun
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.listing import create_run
from transformer_viz.training.runs.settings import TrainingSettings
from transformer_viz.training.turn import Stopped

CONFIG = TransformerConfig(
    d_model=8, num_heads=2, ffn_dim=8, norm="pre", dropout=0.2, embedding_dropout=0.1, max_len=32
)
SETTINGS = TrainingSettings(
    epochs=6, batch_size=8, learning_rate=0.01, average=0.95, word_dropout=0.1, crop=0.3, patience=6
)
JOB = TrainingJob(config=CONFIG, settings=SETTINGS, data="parity", rows=4000)


def start(run):
    return forked.start(train_with_many_checkpoints, run.path)


def train_with_many_checkpoints(path):
    recorder.CHECKPOINT_SECONDS, recorder.CHECKPOINT_SHARE = 0.05, 1.0
    work(TrainingRun(path))


def train_without_room(path, most):
    """Train where no file may grow beyond `most` bytes, as on a disk that is full."""
    import resource  # not on Windows

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    train_with_many_checkpoints(path)


def wait_for(run, event, count):
    deadline = time.monotonic() + 60
    while sum(found["event"] == event for found in run.events()) < count:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def parameters(run):
    return store.read_model(run.model).parameters


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    run = create_run(JOB, folder=tmp_path_factory.mktemp("undisturbed"))
    work(run)
    assert run.state().status == "finished"
    return run


@pytest.mark.parametrize("kills", [1, pytest.param(10, marks=pytest.mark.thorough)])
def test_killed_again_and_again_ends_with_the_same_parameters(undisturbed, tmp_path, kills):
    run, moments = create_run(JOB, folder=tmp_path), random.Random(5)
    reached = []
    for kill in range(1, kills + 1):
        before = len((run.path / "events.jsonl").read_text().splitlines())
        more = 3 if run.checkpoint.exists() else 4  # started, data, at first the untrained model, a step
        child = start(run)
        deadline = time.monotonic() + 60
        while len((run.path / "events.jsonl").read_text().splitlines()) < before + more:
            assert child.is_alive()
            assert time.monotonic() < deadline
            time.sleep(0.01)
        while kill == kills and not run.checkpoint.exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        time.sleep(moments.uniform(0, 0.8))
        child.kill()
        child.join()
        assert run.state().status == "interrupted"
        found = read_checkpoint(run.checkpoint)
        reached.append(found[1].step if found else 0)
    assert reached == sorted(reached)
    assert 0 < reached[-1] < SETTINGS.total_steps(3600)
    work(run)
    state, expected = run.state(), undisturbed.state()
    assert state.status == "finished"
    unlike = ("time", "seconds")
    assert [{k: v for k, v in epoch.items() if k not in unlike} for epoch in state.epochs] == [
        {k: v for k, v in epoch.items() if k not in unlike} for epoch in expected.epochs
    ]
    for name, value in parameters(undisturbed).items():
        assert_array_equal(parameters(run)[name], value)
    ours, theirs = read_checkpoint(run.checkpoint)[0], read_checkpoint(undisturbed.checkpoint)[0]
    for name, value in theirs.items():
        assert_array_equal(ours[name], value)


@pytest.mark.thorough
def test_a_packed_run_killed_in_an_epoch_ends_with_the_same_parameters(tmp_path):
    texts = tmp_path / "texts.txt"
    texts.write_text("\n".join(f"film {i} is {'very ' * (i % 9)}good" for i in range(3000)))
    config = PRESETS["gpt-mini"].replace(d_model=8, num_layers=1, num_heads=2, ffn_dim=8, max_len=16)
    settings = TrainingSettings(pack=True, epochs=2, batch_size=8, learning_rate=0.01, word_dropout=0.1)
    job = TrainingJob(config=config, settings=settings, data=texts)
    whole, run = (create_run(job, folder=tmp_path / name) for name in ("whole", "killed"))
    work(whole)
    child = start(run)
    deadline = time.monotonic() + 60
    while not run.checkpoint.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    child.kill()
    child.join()
    assert 0 < read_checkpoint(run.checkpoint)[1].step < whole.state().step
    work(run)
    assert (run.state().status, run.state().step) == ("finished", whole.state().step)
    ours, theirs = read_checkpoint(run.checkpoint)[0], read_checkpoint(whole.checkpoint)[0]
    for name, value in theirs.items():
        assert_array_equal(ours[name], value)


def test_stopped_and_resumed_ends_with_the_same_parameters(undisturbed, tmp_path):
    run = create_run(JOB, folder=tmp_path)

    def stop_at(event):
        if event["event"] == "epoch" and event["epoch"] == 2:
            run.stop()

    work(run, watch=stop_at)
    state = run.state()
    assert (state.status, state.step) == ("stopped", 2 * SETTINGS.steps_per_epoch(3600))
    assert parameters(run)  # the best so far is a model folder already
    run.queue()
    work(run)
    for name, value in parameters(undisturbed).items():
        assert_array_equal(parameters(run)[name], value)


LABELS = "text,label\n" + "".join(f"good film {i},fine\ndull film {i},poor\n" for i in range(30))
PAIRS = "source,target\n" + "one two,un deux\ntwo one,deux un\n" * 20
TEXTS = "\n".join(f"film {i} is {'very ' * (i % 9)}good" for i in range(60))
SMALL = {"d_model": 8, "num_layers": 1, "num_heads": 2, "ffn_dim": 8, "max_len": 16, "vocab_size": 90}
MEASURED = {
    "labelled_texts.evaluate": (CONFIG, LABELS),
    "text_pairs.evaluate_generation": (PRESETS["vaswani-tiny"].replace(**SMALL), PAIRS),
    "text_pairs.translation_metrics": (PRESETS["vaswani-tiny"].replace(**SMALL), PAIRS),
    "running_text.evaluate_texts": (PRESETS["gpt-mini"].replace(**SMALL), TEXTS),
    "running_text.evaluate_masked_tokens": (PRESETS["bert-mini"].replace(**SMALL), TEXTS),
}
"""What measures a model on its test rows -> config and data of such a model."""


@pytest.mark.quick("labelled_texts.evaluate", "running_text.evaluate_texts")
@pytest.mark.parametrize("measured", MEASURED)
def test_a_run_stops_while_its_model_is_tested_and_is_tested_once_it_goes_on(measured, tmp_path, monkeypatch):
    config, text = MEASURED[measured]
    data = tmp_path / ("texts.txt" if text is TEXTS else "rows.csv")
    test = data.with_name(f"test-{data.name}")
    data.write_text(text)
    test.write_text(text.replace("film", "play"))
    settings = TrainingSettings(epochs=1, batch_size=8, pack=text is TEXTS)
    job = TrainingJob(config=config, settings=settings, data=data, test=test)
    run = create_run(job, folder=tmp_path / "runs")
    module = importlib.import_module(f"transformer_viz.training.{measured.split('.')[0]}")
    measure = getattr(module, measured.split(".")[1])

    def measure_as_it_is_stopped(*args, **options):
        run.stop()
        with pytest.raises(Stopped):
            measure(*args, **options)
        raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr(module, measured.split(".")[1], measure_as_it_is_stopped)
        work(run)
    assert run.state().status == "stopped"
    assert "test" not in store.read_model(run.model).card
    run.queue()
    work(run)
    assert run.state().status == "finished"
    assert store.read_model(run.model).card["test"]


def test_a_run_stops_at_the_next_step(tmp_path):
    run = create_run(JOB, folder=tmp_path)
    child = start(run)
    wait_for(run, "step", 2)  # the untrained model, and a step
    run.stop()
    asked = time.time()
    child.join(timeout=30)
    assert child.exitcode == 0
    assert run.state().status == "stopped"
    step = run.state().step
    assert read_checkpoint(run.checkpoint)[1].step >= step
    assert run.events()[-1]["time"] - asked < 10


def test_a_loss_that_is_no_number_ends_with_a_sentence_and_the_last_good_checkpoint(tmp_path, monkeypatch):
    settings = TrainingSettings(epochs=2, batch_size=8, learning_rate=0.01)
    run = create_run(TrainingJob(config=CONFIG, settings=settings, data="parity", rows=400), folder=tmp_path)
    train, steps = ModelTrainer.train, iter(range(1000))

    def diverging(self, *batch):
        if next(steps) == 60:  # in the second epoch, a parameter becomes infinite
            variable = self.model.trainable_variables[0]
            variable.assign(np.full(variable.shape, np.inf, np.float32))
        return train(self, *batch)

    monkeypatch.setattr(ModelTrainer, "train", diverging)
    work(run)
    state = run.state()
    assert state.status == "failed"
    assert state.message == (
        "At step 61 the loss was no longer a number. Lower the learning rate, or clip the gradients. "
        "The best model so far is kept."
    )
    assert read_checkpoint(run.checkpoint)[1].epoch == 1
    assert all(np.isfinite(value).all() for value in parameters(run).values())
    monkeypatch.undo()
    run.queue()
    work(run)
    assert run.state().status == "finished"


def test_a_full_disk_ends_with_a_sentence_and_the_last_good_checkpoint(tmp_path):
    """A real limit of the system: no file may grow beyond it, as on a disk that is full.

    The log, which grows with the time that an epoch takes, stays below it: of few rows.
    """
    run = create_run(dataclasses.replace(JOB, rows=400), folder=tmp_path)
    child = start(run)
    wait_for(run, "epoch", 1)
    run.stop()
    child.join()
    progress = read_checkpoint(run.checkpoint)[1]
    run.queue()
    child = forked.start(train_without_room, run.path, run.checkpoint.stat().st_size - 1)
    child.join(timeout=120)
    assert child.exitcode == 0
    state = run.state()
    assert state.status == "failed"
    assert state.message == (
        f"The disk of {run.path} is full. Make space and resume: the last checkpoint is kept."
    )
    assert read_checkpoint(run.checkpoint)[1] == progress
    assert not list(run.path.glob(".tmp-*"))
    assert not (run.path / "reserve").exists()


def test_exhausted_memory_is_a_sentence(tmp_path, monkeypatch):
    run = create_run(JOB, folder=tmp_path)

    def too_much(self, *batch):
        raise MemoryError

    monkeypatch.setattr(ModelTrainer, "train", too_much)
    work(run)
    assert run.state().message == (
        "There is not enough memory for this. Choose a smaller batch, shorter texts or a smaller model."
    )


def test_what_nobody_expected_is_a_sentence_with_the_details_beside_it(tmp_path, monkeypatch):
    run = create_run(JOB, folder=tmp_path)

    def broken(self, *batch):
        raise ZeroDivisionError("of our own making")

    monkeypatch.setattr(ModelTrainer, "train", broken)
    work(run)
    assert run.state().message.startswith("Something unexpected happened: ZeroDivisionError.")
    assert "of our own making" in (run.path / "traceback.txt").read_text()


def test_a_damaged_checkpoint_is_a_sentence(tmp_path):
    run = create_run(JOB, folder=tmp_path)
    run.checkpoint.write_bytes(b"not a checkpoint")
    work(run)
    assert run.state().message.startswith(f"{run.checkpoint} is damaged: ")


def test_pictures_of_the_probes_are_kept_as_they_form(tmp_path):
    from transformer_viz.trace.trace import Trace

    config = PRESETS["vaswani-tiny"].replace(d_model=16, num_layers=1, num_heads=2, ffn_dim=16)
    settings = TrainingSettings(epochs=2, batch_size=32)
    job = TrainingJob(
        config=config, settings=settings, data="copy", rows=320, probes=(("1 2 3", "1 2 3"),), frame_steps=4
    )
    run = create_run(job, folder=tmp_path)
    work(run)
    frames = run.frames()
    assert [step for step, _, _ in frames] == [1, 4, 8, 9, 12, 16, 18]
    traces = [Trace.load(path) for _, _, path in frames]
    assert {trace.target_tokens for trace in traces} == {("[START]", "1", "2", "3")}
    first, last = (trace.decoder[0].cross_attention.weights for trace in (traces[0], traces[-1]))
    assert first.shape == (2, 4, 3)
    assert np.abs(first - last).max() > 0.01
    [sample] = run.state().samples
    assert (sample["text"], sample["expected"]) == ("1 2 3", "1 2 3")
    assert isinstance(sample["written"], str)


def test_a_run_stopped_while_it_measures_the_roles_of_heads_resumes_where_it_has_saved(tmp_path, monkeypatch):
    job = TrainingJob(
        config=CONFIG,
        settings=TrainingSettings(epochs=1, validation=0.1),
        data="parity",
        rows=1100,
        out=tmp_path / "models" / "mine",
    )
    run, measure = create_run(job, folder=tmp_path / "runs"), Evaluator.head_roles

    def stopped(evaluator, keep_going):
        run.stop()
        return measure(evaluator, keep_going)

    with monkeypatch.context() as patch:
        patch.setattr(Evaluator, "head_roles", stopped)
        work(run)
    assert run.state().status == "stopped"
    assert store.read_head_roles(job.out) is None
    run.queue()
    work(run)
    assert run.state().status == "finished"
    roles, stored = store.read_head_roles(run.model), store.read_model(job.out)
    assert roles.texts == 110
    assert stored.head_roles == roles
    assert stored.card == store.read_model(run.model).card


def test_a_run_that_is_resumed_leaves_the_model_of_another_alone(tmp_path):
    """It was stopped before it saved anything, and another run has taken the name since."""
    models = tmp_path / "models"

    def begun(seed):
        settings = TrainingSettings(epochs=2, seed=seed)
        job = TrainingJob(config=CONFIG, settings=settings, data="parity", rows=200, out=models / "mine")
        return create_run(job, folder=tmp_path / f"runs-{seed}")

    run = begun(1)
    work(run, watch=lambda event: event["event"] == "epoch" and run.stop())
    assert (run.state().status, run.model.exists(), [*models.glob("*")]) == ("stopped", True, [])
    work(begun(2))
    before = store.read_hash("mine", models)
    run.queue()
    work(run)
    assert run.state().status == "failed"
    assert "exists already" in run.state().message
    assert store.read_hash("mine", models) == before


def test_the_best_so_far_becomes_a_model(undisturbed, tmp_path):
    undisturbed.save("mine", folder=tmp_path, dtype="float32")
    stored = store.read_model("mine", tmp_path)
    assert stored.card["data"]["task"] == "parity"
    for name, value in parameters(undisturbed).items():
        assert_array_equal(stored.parameters[name], value)
