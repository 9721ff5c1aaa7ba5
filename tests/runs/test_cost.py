import subprocess
import sys
import time

import pytest

from transformer_viz.network.config import TransformerConfig
from transformer_viz.network.presets import PRESETS
from transformer_viz.training.runs import cost
from transformer_viz.training.runs.cost import estimate
from transformer_viz.training.runs.settings import TrainingSettings

CONFIG = PRESETS["encoder-guide"]

STEPS = """
import re, sys
from pathlib import Path
from types import SimpleNamespace
import numpy as np
from transformer_viz.network.config import TransformerConfig
from transformer_viz.training.runs.settings import TrainingSettings
from transformer_viz.training import dataset, objectives
from transformer_viz.training.model_trainer import ModelTrainer

config = TransformerConfig.from_json(sys.argv[1])
ids = dataset.TOKEN_IDS
trainer = ModelTrainer(
    SimpleNamespace(config=config, signature=(ids, ids), objective=lambda settings: objectives.next_token()),
    TrainingSettings(),
)
for size in map(int, sys.argv[2:]):
    batch = np.random.default_rng(0).integers(4, config.vocab_size, (size, 96), dtype=np.int32)
    for _ in range(3):
        trainer.train(batch, batch, 0.001)
    print(1024 * int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]))
"""


@pytest.fixture(autouse=True)
def machine(monkeypatch):
    """A machine of known speed, and idle."""
    monkeypatch.setattr(cost, "machine_speed", lambda: cost.Speed(1e11, 1e10))
    monkeypatch.setattr(cost, "slowdown", lambda: 1.0)


def of(config=CONFIG, num_rows=3200, num_tokens=50, target_tokens=0, **settings):
    settings = TrainingSettings(**{"batch_size": 32, **settings})
    return estimate(config, settings, num_rows, num_tokens, target_tokens)


def test_the_flops_of_a_small_model_by_hand():
    config = TransformerConfig(
        vocab_size=11, d_model=6, num_heads=2, head_dim=5, value_dim=7, ffn_dim=13, labels=("a", "b", "c")
    )
    projections = 2 * 4 * 6 * (2 * 5 + 2 * 5 + 2 * 7) + 2 * 4 * (2 * 7) * 6
    scores_and_context = 2 * 4 * 4 * (2 * 5 + 2 * 7)
    feed_forward = 2 * (2 * 4 * 6 * 13)
    forward = projections + scores_and_context + feed_forward + 2 * 6 * 3
    assert of(config, num_rows=17, num_tokens=4, batch_size=17).step_flops == 3 * 17 * forward


@pytest.mark.parametrize("name", PRESETS)
def test_parameters_are_those_of_the_config(name):
    assert of(PRESETS[name], target_tokens=10).parameters == PRESETS[name].num_parameters


def test_twice_the_rows_take_twice_the_time_and_no_more_memory():
    once, twice = of(num_rows=3200), of(num_rows=6400)
    assert twice.steps_per_epoch == 2 * once.steps_per_epoch == 200
    assert twice.seconds_per_epoch == pytest.approx(2 * once.seconds_per_epoch)
    assert twice.memory == once.memory


@pytest.mark.parametrize(
    "changes",
    [
        {"config": CONFIG.replace(num_layers=5)},
        {"config": CONFIG.replace(ffn_dim=600)},
        {"config": CONFIG.replace(vocab_size=30_000)},
        {"config": CONFIG.replace(output_projection=True, num_heads=16, head_dim=16)},
        {"num_tokens": 60},
        {"average": 0.99},
    ],
)
def test_more_to_compute_costs_more_time_and_memory(changes):
    assert of(**changes).seconds_per_epoch > of().seconds_per_epoch
    assert of(**changes).memory > of().memory


def test_memory_grows_with_the_batch_and_with_the_square_of_long_texts():
    assert of(batch_size=64).memory > of(batch_size=32).memory
    activations = [of(num_tokens=length).memory - of(num_tokens=1).memory for length in (2000, 4000)]
    assert 3.5 < activations[1] / activations[0] < 4


def test_a_batch_is_never_larger_than_the_data():
    assert of(num_rows=10, batch_size=512).memory == of(num_rows=10, batch_size=10).memory


def test_a_large_vocabulary_is_paid_for_at_every_written_token():
    config = PRESETS["vaswani-tiny"]
    short, long = (of(config, target_tokens=length).step_flops for length in (10, 20))
    assert long - short > 3 * 32 * 10 * 2 * config.d_model * config.num_outputs


def test_the_time_of_a_run_is_that_of_its_epochs_pictures_and_compilation():
    found = of(CONFIG)
    assert found.other_seconds == cost.START_SECONDS + cost.COMPILE_SECONDS * 4
    epochs = found.seconds(3) - found.seconds(1)
    assert epochs == pytest.approx(2 * found.seconds_per_epoch)
    assert found.seconds(1) == pytest.approx(found.seconds_per_epoch + found.other_seconds)
    assert found.seconds(1, 10) - found.seconds(1) == pytest.approx(10 * 4 * cost.PICTURE_SECONDS)
    assert found._replace(slowdown=2.5).seconds(3, 7) == pytest.approx(2.5 * found.seconds(3, 7))
    assert of(CONFIG.replace(num_layers=8)).other_seconds > found.other_seconds


def test_validation_is_a_forward_pass_of_its_rows():
    without = of(validation=1e-9).seconds_per_epoch
    assert of(validation=0.25).seconds_per_epoch == pytest.approx(without * (1 + 0.25 / 0.75 / 3))
    assert of(validation=0.25, test_share=0.25).seconds_per_epoch == pytest.approx(without * (1 + 0.5 / 3))


@pytest.mark.parametrize(
    ("load", "own", "cores", "times"),
    [(0, 2, 2, 1), (3, 2, 2, 2.5), (2, 2, 8, 1), (8, 8, 8, 2), (0, 2, None, 2)],
)
def test_other_programs_take_their_share_of_the_cores(monkeypatch, load, own, cores, times):
    monkeypatch.undo()
    monkeypatch.setattr(cost.psutil, "getloadavg", lambda: (load, 99, 99))
    monkeypatch.setattr(cost.psutil, "cpu_count", lambda: cores)
    monkeypatch.setattr(cost, "num_cores", lambda: own)
    assert cost.slowdown() == times


def test_frozen_layers_are_computed_forward_alone_and_need_no_gradients():
    rows, settings = 3200, TrainingSettings(batch_size=32)
    whole = estimate(CONFIG, settings, rows, 50)
    half = estimate(CONFIG, settings, rows, 50, trainable_layers=CONFIG.num_layers // 2)
    head = estimate(CONFIG, settings, rows, 50, trainable_layers=0)
    assert half.step_flops == pytest.approx(whole.step_flops * 2 / 3)
    assert head.step_flops == pytest.approx(whole.step_flops / 3)
    assert head.parameters == CONFIG.d_model * 2 + 2
    assert whole.seconds_per_epoch > half.seconds_per_epoch > head.seconds_per_epoch
    assert whole.memory > half.memory > head.memory


def test_too_little_memory_is_a_sentence():
    found = of()._replace(memory=12.34e9)
    assert found.problem(12.4e9) is None
    assert str(found.problem(8e9)) == (
        "Training would take about 12.3 GB of memory; 8.0 GB are free. Choose a smaller batch, shorter texts "
        "or a smaller model."
    )


def test_the_machine_is_measured_again_and_its_highest_speed_counts(monkeypatch):
    monkeypatch.undo()
    clock, speeds = [0.0], iter([cost.Speed(1e9, 5e9), cost.Speed(8e9, 4e9), cost.Speed(2e9, 1e9)])
    monkeypatch.setattr(cost, "_measured_speed", lambda: next(speeds))
    monkeypatch.setattr(cost.time, "monotonic", lambda: clock[0])
    speedometer = cost._Speedometer()
    assert speedometer.read() == speedometer.read() == (1e9, 5e9)
    for _ in range(2):
        clock[0] += cost.MEASURED_SECONDS
        assert speedometer.read() == (8e9, 5e9)


def test_what_other_programs_take_meanwhile_is_no_time_of_a_call(monkeypatch):
    now = {"thread": 0.0, "wall": 0.0}
    took = iter([3.0, 2.0, 4.0])

    def call():
        now["thread"] += next(took)
        now["wall"] += 1000.0

    monkeypatch.setattr(cost.time, "thread_time", lambda: now["thread"])
    monkeypatch.setattr(cost.time, "perf_counter", lambda: now["wall"])
    assert cost._best(call) == 2.0
    assert next(took, None) is None


def test_the_machine_is_measured_quickly(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(cost, "_speedometer", cost._Speedometer())
    start = time.process_time()
    speed = cost.machine_speed()
    assert time.process_time() - start < 1  # about 0.1; ten times as much on a machine that is busy
    assert cost.machine_speed() is speed
    assert 1e8 < speed.flops < 1e15
    assert 1e8 < speed.bytes < 1e13


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="its peak is read from a file of Linux")
def test_the_memory_of_real_steps_grows_about_as_estimated():
    config = PRESETS["gpt-mini"].replace(num_layers=2)
    sizes = (32, 128)  # both well above what TensorFlow takes for itself
    command = [sys.executable, "-c", STEPS, config.to_json(), *map(str, sizes)]
    small, large = map(
        int, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    )
    estimated = [of(config, num_tokens=96, batch_size=size).memory for size in sizes]
    assert 1 / 1.7 < (large - small) / (estimated[1] - estimated[0]) < 1.7


def test_a_clock_that_stands_still_is_no_reason_to_fail(monkeypatch):
    monkeypatch.setattr(cost, "_clock", lambda: lambda: 1.0)
    assert 0 < cost._best(lambda: None, seconds=0.01) <= 0.01
