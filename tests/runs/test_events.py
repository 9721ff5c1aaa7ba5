"""The log of a run: whatever stands in it, it is read."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_viz.training.runs.events import append_event, parse_event
from transformer_viz.training.runs.log import read_log

NOW = 1_700_000_000.0

NO_EVENTS = {
    "nothing": b"",
    "null": b"null",
    "a number": b"3",
    "true": b"true",
    "text": b'"queued"',
    "a list": b'["event", "queued"]',
    "an empty object": b"{}",
    "no kind": b'{"time": 1.0}',
    "a kind that is a number": b'{"event": 3, "time": 1.0}',
    "a kind that is a list": b'{"event": [], "time": 1.0}',
    "a kind of another version": b'{"event": "paused", "time": 1.0}',
    "no time": b'{"event": "queued"}',
    "a time that is text": b'{"event": "queued", "time": "now"}',
    "a time that is true": b'{"event": "queued", "time": true}',
    "a time before all time": b'{"event": "queued", "time": -1e300}',
    "a time that is no number": b'{"event": "queued", "time": NaN}',
    "no step": b'{"event": "started", "time": 1.0, "device": "CPU"}',
    "a step that is text": b'{"event": "step", "time": 1.0, "step": "3"}',
    "a step that is null": b'{"event": "step", "time": 1.0, "step": null}',
    "half a step": b'{"event": "step", "time": 1.0, "step": 0.5}',
    "a step below zero": b'{"event": "step", "time": 1.0, "step": -1}',
    "an endless step": b'{"event": "step", "time": 1.0, "step": ' + b"9" * 400 + b"}",
    "a step of more digits than Python reads": b'{"event": "step", "time": 1, "step": ' + b"9" * 5000 + b"}",
    "a loss that is text": b'{"event": "step", "time": 1.0, "step": 3, "loss": "low"}',
    "a loss that is a list": b'{"event": "step", "time": 1.0, "step": 3, "loss": [1]}',
    "a loss beyond all floats": b'{"event": "step", "time": 1.0, "step": 3, "loss": ' + b"9" * 400 + b"}",
    "an epoch without a verdict": b'{"event": "epoch", "time": 1.0, "step": 3, "epoch": 1}',
    "an epoch that is perhaps best": b'{"event": "epoch", "time": 1, "step": 3, "epoch": 1, "best": 1}',
    "samples that are text": b'{"event": "samples", "time": 1.0, "samples": "abc"}',
    "samples without texts": b'{"event": "samples", "time": 1.0, "samples": [{}]}',
    "samples of numbers": b'{"event": "samples", "time": 1.0, '
    b'"samples": [{"text": 1, "expected": "", "written": ""}]}',
    "a device that is a list": b'{"event": "started", "time": 1.0, "step": 0, "device": ["CPU"]}',
    "a message that is a number": b'{"event": "failed", "time": 1.0, "message": 5}',
    "as many steps as text": b'{"event": "data", "time": 1.0, "total_steps": "many"}',
    "half a line": b'{"event": "step", "st',
    "half a character": '{"event": "failed", "time": 1.0, "message": "满'.encode()[:-1],
    "half a character within": b'{"event": "failed", "time": 1.0, "message": "\xe6\xbb"}',
    "UTF-16": '{"event": "queued", "time": 1.0}'.encode("utf-16"),
    "a NUL": b"\0" * 512,
    "nested too deeply": b"[" * 100_000,
    "two events": b'{"event": "queued", "time": 1.0}{"event": "queued", "time": 1.0}',
}


@pytest.mark.parametrize("name", NO_EVENTS)
def test_a_line_that_is_no_event_is_left_out(tmp_path, name):
    assert parse_event(NO_EVENTS[name]) is None
    log = tmp_path / "events.jsonl"
    append_event(log, "queued")
    with log.open("ab") as file:
        file.write(NO_EVENTS[name])
    append_event(log, "started", step=0, device="CPU")
    assert [event["event"] for event in read_log(log).events] == ["queued", "started"]


@pytest.mark.parametrize("letter", ["\u2028", "\u2029", "\x85", "\x0b", "\x1e", "\r", "\n", "\ud800", "\0"])
def test_any_character_survives_within_its_line(tmp_path, letter):
    log = tmp_path / "events.jsonl"
    sample = {"text": f"a{letter}b", "expected": letter, "written": ""}
    append_event(log, "samples", step=1, samples=[sample])
    append_event(log, "failed", message=letter)
    assert [event.get("samples") or event["message"] for event in read_log(log).events] == [[sample], letter]
    assert log.read_bytes().isascii()
    assert log.read_bytes().count(b"\n") == 2


def test_a_log_that_was_not_written_in_ascii_is_read(tmp_path):
    """As logs were written before."""
    log = tmp_path / "events.jsonl"
    line = json.dumps({"event": "failed", "time": NOW, "message": "满\u2028\x85"}, ensure_ascii=False)
    log.write_bytes(line.encode() + b"\n")
    assert [event["message"] for event in read_log(log).events] == ["满\u2028\x85"]


def test_a_number_that_is_not_finite_is_none(tmp_path):
    log = tmp_path / "events.jsonl"
    append_event(log, "step", step=1, loss=math.nan, learning_rate=math.inf, memory=1)
    with log.open("ab") as file:
        file.write(b'{"event": "step", "time": 1.0, "step": 2, "loss": -Infinity, "memory": 1e999}\n')
    assert [event["loss"] for event in read_log(log).events] == [None, None]
    assert read_log(log).events[0]["learning_rate"] is read_log(log).events[1]["memory"] is None
    assert "NaN" not in log.read_text().splitlines()[0]


def test_a_log_that_is_missing_or_a_folder_is_empty(tmp_path):
    assert read_log(tmp_path / "none.jsonl") == read_log(tmp_path) == ([], True)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)
NAMES = ["event", "time", "step", "epoch", "best", "loss", "samples", "message", "device", "total_steps"]
KINDS = ["queued", "started", "data", "step", "epoch", "samples", "finished", "stopped", "failed"]


@given(st.binary() | st.dictionaries(st.sampled_from(NAMES), JSON | st.sampled_from(KINDS)))
def test_any_line_is_an_event_or_none(line):
    event = parse_event(line if isinstance(line, bytes) else json.dumps(line).encode())
    assert event is None or (event["event"] in KINDS and event["time"] >= 0)
