import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save

from transformer_viz.network.presets import PRESETS
from transformer_viz.training.runs.errors import RunError
from transformer_viz.training.runs.folder import TrainingRun
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.listing import create_run, list_runs, open_run, queued_runs
from transformer_viz.training.runs.settings import TrainingSettings

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


BAD_JOBS = {
    "empty": ("", "job.json is empty."),
    "blank": (" \n", "job.json is empty."),
    "cut": (JOB.to_json()[:200], "job.json is not valid JSON ("),
    "a list": ("[]", "job.json does not describe a training run."),
    "null": ("null", "job.json does not describe a training run."),
    "nested too deeply": ("[" * 100_000, "job.json is not valid JSON ("),
    "of another version": ({"colour": "red"}, "job.json is of another version: it has the field 'colour'."),
    "another config": ({"config": {"d_model": 0}}, ""),
    "a config that is text": ({"config": "vaswani-tiny"}, ""),
    "settings of another version": ({"settings": {"speed": 9}}, "job.json does not describe a training run"),
    "settings that are a list": ({"settings": [1]}, "job.json does not describe a training run"),
    "a huge number": ({"settings": {"learning_rate": 10**400}}, ""),
    "data that are a number": ({"data": 5}, ""),
    "no data": ({"data": ""}, "`data` must be a path or a name. Received: ''."),
    "columns that are a list": ({"columns": ["text"]}, "`columns` must be a role for each column"),
    "tokens of another kind": ({"tokens": "syllables"}, "`tokens` must be one of words, characters"),
    "probes that are numbers": ({"probes": [1]}, ""),
    "probes of three": ({"probes": [["a", "b", "c"]]}, "`probes` must be texts, or pairs of texts."),
    "a long probe": (
        {"probes": ["a", ["b", "c" * 1001]]},
        "A sentence to watch (`probes`) may have 1,000 characters. Received one of 1,001: shorten it.",
    ),
    "a card that is text": ({"card": "x"}, "`card` must be facts with names. Received: 'x'."),
    "half a sha256": ({"sha256": "abc"}, "`sha256` must be 64 hexadecimal digits, or nothing."),
    "an owner that is a number": ({"owner": 5}, "`owner` must be a short text. Received: 5."),
    "an endless owner": ({"owner": "a" * 201}, "`owner` must be a short text. Received: 'aaa"),
    "half a character": ('{"config": "满'.encode()[:-1], ""),
    "too large": (" " * (4 * 2**20 + 1), "job.json has more than 4 MB."),
}


@pytest.mark.parametrize("name", BAD_JOBS)
def test_a_run_whose_job_cannot_be_read_is_broken_and_the_others_go_on(run, tmp_path, name):
    content, sentence = BAD_JOBS[name]
    other = create_run(JOB, folder=tmp_path)
    if isinstance(content, dict):
        content = json.dumps(json.loads(JOB.to_json()) | content)
    (run.path / "job.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    assert run.problem.startswith(sentence)
    assert run.status == run.state().status == "broken"
    assert list_runs(tmp_path) == [other, run]
    assert queued_runs(tmp_path) == [other]
    with pytest.raises(RunError, match=f"The run {run.id} cannot be resumed: .* Delete it"):
        run.queue()
    run.delete()
    assert list_runs(tmp_path) == [other]


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


@given(st.dictionaries(st.sampled_from([*json.loads(JOB.to_json()), "other"]), ANY), st.booleans())
def test_any_json_is_a_job_or_a_sentence(facts, is_whole):
    text = json.dumps((json.loads(JOB.to_json()) if is_whole else {}) | facts)
    try:
        job = TrainingJob.from_json(text)
    except ValueError as error:
        assert str(error)  # noqa: PT017
    else:
        assert TrainingJob.from_json(job.to_json()) == job


def test_a_job_without_what_came_later_is_read(run):
    facts = json.loads(JOB.to_json())
    for name in ("owner", "sha256"):
        del facts[name]
    (run.path / "job.json").write_text(json.dumps(facts))
    assert run.job == JOB


def test_a_folder_without_a_job_is_a_broken_run_if_there_is_anything_of_one_in_it(run, tmp_path):
    (run.path / "job.json").unlink()
    assert [(each.id, each.problem) for each in list_runs(tmp_path)] == [(run.id, "job.json is missing.")]
    (run.path / "events.jsonl").unlink()
    assert list_runs(tmp_path) == []


BAD_CLAIMS = [
    "",
    "null",
    "[]",
    "3",
    '{"pid": 1',
    '{"pid": "x", "created": 1}',
    '{"pid": -5, "created": 1}',
    '{"pid": true, "created": 1}',
    '{"pid": 99999999999999999999, "created": 1}',
    '{"pid": [], "created": 1}',
    json.dumps({"pid": os.getpid(), "created": "now"}),
    json.dumps({"pid": os.getpid()}),
    "[" * 100_000,
]


@pytest.mark.parametrize("text", BAD_CLAIMS, ids=range(len(BAD_CLAIMS)))
def test_a_claim_that_is_none_leaves_a_run_interrupted(run, text):
    run.append("started", step=0, device="CPU")
    (run.path / "process.json").write_text(text)
    assert run.status == "interrupted"
    assert run.pid in (None, os.getpid())
    run.queue()


def test_only_names_of_pictures_are_pictures(run):
    run.append("epoch", step=20, epoch=1, best=True)
    (run.path / "frames").mkdir()
    names = ["0000020-0.npz", "0000003-1.npz", "0000003-0.npz", "0000021-0.npz", "a-b.npz", "1-2-3.npz"]
    for name in [*names, "0000003-.npz", "-0.npz", "0000004-0.npz.tmp", ".tmp-frame", "²²²²²²²-0.npz"]:
        (run.path / "frames" / name).write_bytes(b"")
    assert [(step, probe) for step, probe, _ in run.frames()] == [(3, 0), (3, 1), (20, 0)]


@pytest.mark.parametrize(
    ("content", "damaged"),
    [
        (b"", True),
        (b"abc", True),
        (b"\xff" * 100, True),
        (b"\x02\0\0\0\0\0\0\0[]", True),
        (b"\x02\0\0\0\0\0\0\0{}", True),
        (save({"a": np.ones(3)}), False),
        (save({"a": np.ones(3)})[:-1], True),
        (save({"a": np.ones(3)}) + b"x", True),
    ],
)
def test_a_checkpoint_that_was_cut_is_known_and_can_be_left_behind(run, content, damaged):
    assert not run.has_damaged_checkpoint
    run.checkpoint.write_bytes(content)
    assert run.has_damaged_checkpoint == damaged
    run.append("failed", message="It is damaged.")
    run.restart()
    assert run.status == "queued"
    assert not run.checkpoint.exists()


def test_what_has_finished_or_is_broken_does_not_begin_anew(run):
    run.append("finished", model="m")
    run.checkpoint.write_bytes(b"precious")
    with pytest.raises(RunError, match="is finished; there is nothing to resume"):
        run.restart()
    (run.path / "job.json").write_text("")
    with pytest.raises(RunError, match="cannot be resumed"):
        run.restart()
    assert run.checkpoint.read_bytes() == b"precious"


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
        "import sys, time; from pathlib import Path\n"
        "from transformer_viz.training.runs.folder import TrainingRun\n"
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
    run.queue()
    assert run.state().status == "queued"
    assert not run.stop_requested


def test_a_stop_reaches_whoever_is_about_to_begin(run):
    run.claim()  # picked up, and not yet said to be running
    run.stop()
    run.append("started", step=0, device="CPU")
    assert run.stop_requested
    assert run.status == "running"


def test_a_run_that_begins_while_it_is_stopped_runs_until_its_process_has_stopped_it(run, monkeypatch):
    append = TrainingRun.append

    def begun_meanwhile(run, event, **facts):
        append(run, "started", step=0, device="CPU")
        append(run, event, **facts)

    run.claim()
    monkeypatch.setattr(TrainingRun, "append", begun_meanwhile)
    run.stop()
    monkeypatch.undo()
    assert run.stop_requested
    assert run.status == "running"
    with pytest.raises(RunError, match=r"is running\. Stop it first"):
        run.delete()
    with pytest.raises(RunError, match="is running; there is nothing to resume"):
        run.queue()
    run.append("stopped")
    run.release()
    assert run.status == "stopped"
    run.delete()


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


def test_the_time_left_has_the_ends_of_epochs_and_the_evaluation(run, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("time.time", lambda: clock[0])

    def log(seconds, event, **facts):
        clock[0] = seconds
        run.append(event, **facts)

    run.claim()
    log(0, "started", step=0, device="CPU")
    log(10, "data", total_steps=30, steps_per_epoch=10)
    log(11, "step", step=0)
    log(16, "step", step=1)  # six seconds of compilation
    assert run.state().seconds_left is None
    for step in (4, 7, 10):
        log(16 + step, "step", step=step)
    assert run.state().seconds_left == 20 + 6  # a second each; no epoch has ended yet
    log(30, "epoch", epoch=1, step=10, best=True)
    log(31, "step", step=11)  # five seconds, of which four are not its own
    log(33, "step", step=13)
    assert run.state().seconds_left == 17 + 2 * 4 + 6
    log(100, "stopped")
    log(1000, "started", step=13, device="CPU")
    log(1002, "data", total_steps=30, steps_per_epoch=10)
    log(1009, "step", step=14)
    assert run.state().seconds_left is None
    log(1013, "step", step=16)  # now two seconds each
    assert run.state().seconds_left == 14 * 2 + 6


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match=r"cannot be written: .* Make space, or set TRANSFORMER_VIZ_RUNS"):
        create_run(JOB, folder=Path(tmp_path / "file"))
