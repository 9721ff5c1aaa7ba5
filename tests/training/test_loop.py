"""The training loop by itself: what it tells, and that it goes on from any moment as if nothing had been."""

import copy
from itertools import groupby

import pytest
from numpy.testing import assert_array_equal

from transformer_viz import store
from transformer_viz.network.config import TransformerConfig
from transformer_viz.training import recorder
from transformer_viz.training.cluster import Cluster
from transformer_viz.training.job import dataset_of, run_job
from transformer_viz.training.loop import Epoch, Probed, Resumable, Step, Training, Untrained
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.settings import TrainingSettings

CONFIG = TransformerConfig(d_model=8, num_heads=2, ffn_dim=8, norm="pre", dropout=0.2, max_len=32)
SETTINGS = TrainingSettings(epochs=2, batch_size=16, average=0.9, word_dropout=0.1)
JOB = TrainingJob(config=CONFIG, settings=SETTINGS, data="parity", rows=100, frame_steps=4)
STEPS = SETTINGS.steps_per_epoch(90)


def training(saved=None, keep_going=lambda: None):
    options = {"strategy": None, "cluster": Cluster(), "parent": None}
    return Training(JOB, dataset_of(JOB, None), saved=saved, keep_going=keep_going, **options)


@pytest.fixture(scope="module")
def undisturbed():
    """Return all events, with a copy of each state from which the training can go on."""
    events, moments = [], []
    for event in training().events():
        events.append(event)
        if isinstance(event, Resumable):
            moments.append((event.state(), copy.deepcopy(event.progress)))
    return events, moments


def test_it_tells_of_each_step_and_epoch_in_order_and_probes_in_between(undisturbed):
    events, _ = undisturbed
    assert isinstance(events[0], Untrained)
    assert [event.step for event in events if isinstance(event, Step)] == [*range(1, 2 * STEPS + 1)]
    assert [event.step for event in events if isinstance(event, Probed)] == [1, 4, 6, 8, 12]
    assert [(event.epoch, event.step) for event in events if isinstance(event, Epoch)] == [(1, 6), (2, 12)]
    kinds = [kind.__name__ for kind, _ in groupby(map(type, events[1:]))]
    first = ["Step", "Probed", "Resumable", *["Step", "Resumable"] * 2, "Step", "Probed", "Resumable"]
    assert kinds[: len(first)] == first
    assert kinds[-4:] == ["Step", "Probed", "Epoch", "Resumable"]


@pytest.mark.parametrize("number", [0, 4, 5, 8])
def test_from_every_moment_it_goes_on_to_the_bit(undisturbed, number):
    _, moments = undisturbed
    state, progress = moments[number]
    again = training(saved=(state, copy.deepcopy(progress)))
    assert not again.has_gone_on
    steps = [event.step for event in again.events() if isinstance(event, Step)]
    assert steps == [*range(progress.step + 1, 2 * STEPS + 1)]
    assert again.has_gone_on
    last, reached = moments[-1]
    assert again.now.state().keys() == last.keys()
    for name, value in again.now.state().items():
        assert_array_equal(value, last[name])
    unlike = {"seconds": 0.0}
    assert vars(again.progress) | unlike == vars(reached) | unlike


def test_it_stops_while_it_validates_and_goes_on_to_the_bit(undisturbed):
    stopped = training(keep_going=lambda: 1 / (stopped.progress.batch < STEPS))
    with pytest.raises(ZeroDivisionError):
        list(stopped.events())
    assert (stopped.progress.epoch, stopped.progress.batch) == (0, STEPS)
    again = training(saved=(stopped.now.state(), stopped.now.progress))
    epochs = [event for event in again.events() if isinstance(event, Epoch)]
    expected = [event for event in undisturbed[0] if isinstance(event, Epoch)]
    assert [event.metrics for event in epochs] == [event.metrics for event in expected]


def test_of_one_epoch_five_model_folders_are_written_and_each_once_complete(tmp_path, monkeypatch):
    written, write = [], recorder.store.write_model

    def noted(name, **parts):
        place = write(name, **parts)
        written.append((place.parent.name, name, "test" in parts["card"]))
        return place

    monkeypatch.setattr(recorder.store, "write_model", noted)
    settings = TrainingSettings(epochs=1, batch_size=16)
    run_job(
        TrainingJob(config=CONFIG, settings=settings, data="parity", rows=100, out=tmp_path / "m" / "mine"),
        runs=tmp_path / "runs",
    )
    run = next(place for place in (tmp_path / "runs").iterdir() if place.is_dir())
    assert written == [
        ("epochs", "0", False),
        (run.name, "model", False),
        ("epochs", "1", False),
        (run.name, "model", True),
        ("m", "mine", True),
    ]
    assert store.read_model(tmp_path / "m" / "mine").card == store.read_model(run / "model").card
