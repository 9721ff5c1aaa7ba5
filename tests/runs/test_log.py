"""Logs are read when they have changed; a huge one is read in part, and says so."""

import errno
import json
import os
import threading

import pytest

from transformer_viz.training.runs import log as log_module
from transformer_viz.training.runs.events import append_event, parse_event
from transformer_viz.training.runs.log import read_log, read_outline
from transformer_viz.training.runs.state import RunState


@pytest.fixture
def log(tmp_path):
    return tmp_path / "events.jsonl"


@pytest.fixture
def parsed(monkeypatch):
    """Return a list to which each line is added that is read."""
    lines = []

    def counted(line):
        lines.append(line)
        return parse_event(line)

    monkeypatch.setattr(log_module, "parse_event", counted)
    return lines


def write_steps(log, first, last):
    with log.open("ab") as file:
        for step in range(first, last):
            file.write(json.dumps({"event": "step", "time": 1.0, "step": step, "loss": 0.5}).encode() + b"\n")


def steps(log):
    return [event["step"] for event in read_log(log).events if event["event"] == "step"]


def test_a_log_that_has_not_changed_is_not_read_again(log, parsed):
    write_steps(log, 0, 100)
    assert len(read_log(log).events) == 100
    del parsed[:]
    for _ in range(8):
        assert len(read_log(log).events) == 100
    assert parsed == []


def test_a_log_that_has_grown_is_read_again(log):
    write_steps(log, 0, 100)
    read_log(log)
    write_steps(log, 100, 103)
    assert steps(log) == list(range(103))


def test_a_line_that_is_not_ended_counts_once(log):
    line = json.dumps({"event": "step", "time": 1.0, "step": 7})
    log.write_text(line)
    assert steps(log) == steps(log) == [7]
    with log.open("a") as file:
        file.write("\n" + line[:20])
    assert steps(log) == [7]
    append_event(log, "step", step=8)
    assert steps(log) == [7, 8]


def test_another_file_of_that_name_is_read_from_its_beginning(log):
    write_steps(log, 0, 5)
    assert len(steps(log)) == 5
    other = log.with_name("other")
    write_steps(other, 10, 20)
    os.replace(other, log)
    assert steps(log) == list(range(10, 20))


def test_a_log_that_was_cut_is_read_from_its_beginning(log):
    write_steps(log, 0, 5)
    assert len(steps(log)) == 5
    whole = log.read_bytes()
    log.write_bytes(whole[: whole.index(b"\n") + 1])
    assert steps(log) == [0]
    log.unlink()
    assert steps(log) == []
    assert steps(log) == []


def test_a_log_of_a_long_training_is_read_whole(log):
    write_steps(log, 0, 20_000)
    assert (steps(log), read_log(log).is_whole) == (list(range(20_000)), True)


def test_a_log_that_is_too_long_keeps_its_beginning_and_its_end_and_says_so(log, monkeypatch):
    write_steps(log, 0, 1_000)
    monkeypatch.setattr(log_module, "MOST_BYTES", log.stat().st_size // 2)
    numbers = steps(log)
    assert not read_log(log).is_whole
    first = next(place for place, number in enumerate(numbers) if place != number)
    assert 120 <= first <= 130
    assert numbers[first:] == list(range(numbers[first], 1_000))
    assert len(numbers) == pytest.approx(500, abs=2)


@pytest.mark.parametrize("line", [b"a", b'{"event": "step", "time": 1.0, "step": 5}\n', b"\n", b"\0"])
def test_a_log_of_100_megabytes_is_read_in_part(log, line, parsed):
    append_event(log, "started", step=0, device="CPU")
    with log.open("ab") as file:
        piece = line * (2**20 // len(line))
        for _ in range(100):
            file.write(piece)
    append_event(log, "finished", model="m")
    found = read_log(log)
    assert not found.is_whole
    assert [found.events[0]["event"], found.events[-1]["event"]] == ["started", "finished"]
    assert sum(map(len, parsed)) <= log_module.MOST_BYTES


def test_of_a_log_that_is_over_only_what_decides_whose_turn_it_is_is_parsed_and_once(log, parsed):
    append_event(log, "queued")
    append_event(log, "started", step=0, device="CPU")
    write_steps(log, 0, 2000)
    append_event(log, "finished", model="m")
    assert read_outline(log).last == "finished"
    assert len(parsed) == 3
    del parsed[:]
    assert read_outline(log).last == "finished"
    assert parsed == []
    append_event(log, "queued")
    assert read_outline(log).last == "queued"


def test_of_a_log_that_goes_on_it_is_found_wherever_it_is(log):
    append_event(log, "queued")
    append_event(log, "started", step=0, device="CPU")
    write_steps(log, 0, 2000)
    assert read_outline(log).last == "started"


def test_a_run_that_waits_again_after_a_long_turn_was_worked_on(log):
    append_event(log, "queued")
    append_event(log, "started", step=0, device="CPU")
    began = read_log(log).events[-1]["time"]
    write_steps(log, 0, 300)
    append_event(log, "queued")
    assert read_outline(log) == ("queued", began)
    append_event(log, "stopped")
    assert read_outline(log) == ("stopped", began)


def test_a_log_that_could_not_be_read_once_is_read_again(log, monkeypatch):
    def failing(*arguments):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    append_event(log, "queued")
    monkeypatch.setattr(log_module, "open", failing, raising=False)
    assert (read_outline(log).last, read_log(log).events) == ("", [])
    monkeypatch.undo()
    assert (read_outline(log).last, len(read_log(log).events)) == ("queued", 1)


def test_a_pipe_is_not_waited_for(log):
    os.mkfifo(log)
    assert read_log(log).events == []
    assert read_outline(log).last == ""


def test_whoever_reads_while_others_write_sees_a_beginning_of_what_they_write(log):
    halfway, looked = threading.Event(), threading.Event()

    def write():
        for step in range(300):
            append_event(log, "step", step=step)
            if step == 150:
                halfway.set()
                looked.wait(60)

    writer, reads = threading.Thread(target=write), 0
    writer.start()
    assert halfway.wait(60)
    while writer.is_alive():
        found = steps(log)
        assert found == list(range(len(found)))
        assert len(found) > 150
        reads += 1
        looked.set()
    writer.join()
    assert reads > 0
    assert steps(log) == list(range(300))


@pytest.mark.parametrize(
    ("losses", "best", "improves"),
    [
        ([1.0, 0.9], [True, True], True),
        ([1.0, 0.99], [True, True], False),
        ([1.0, 0.5, 0.45], [True, True, False], False),
        ([1.0], [True], False),
        ([None, None], [True, True], False),
    ],
)
def test_a_run_improves_to_the_end_if_its_last_epoch_is_clearly_the_best(losses, best, improves):
    epochs = [
        {"epoch": number + 1, "step": number, "best": is_best} | ({} if loss is None else {"val_loss": loss})
        for number, (loss, is_best) in enumerate(zip(losses, best, strict=True))
    ]
    state = RunState("finished", "", {}, [], epochs, [], "", None, True, False, None)
    assert state.still_improves == improves
