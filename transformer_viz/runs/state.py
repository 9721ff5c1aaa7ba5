"""A run as it stands, told from the events of its log."""

import math
from typing import NamedTuple

from transformer_viz.runs.errors import RunError

RECENT = 20
"""Step events from which the pace is taken."""

LONGEST = 10 * 365 * 24 * 60 * 60
"""Seconds beyond which an estimate says nothing."""


ACTIVE = ("queued", "running")
"""States of a run that a process works on, or will."""

FINAL_EVENTS = ("finished", "failed")
"""Final events of a run; "stopped" is none, for a worker may just be starting."""


class RunState(NamedTuple):
    """A run as it stands.

    Attributes:
        status: "queued", "running", "finished", "stopped" (on request), "failed", "interrupted" (its process
            is gone without a word), or "broken" (what was asked cannot be read).
        message: Why it failed, or "".
        facts: What was found in the data: rows, parameters, steps_per_epoch, total_steps, figure ...
        steps: One dict for each step event: time, step, loss, learning_rate, tokens_per_second, memory ...;
            step 0 is the model before it has learned anything.
        epochs: One dict for each epoch: epoch, step, loss, val_loss, ... and whether it was the best so far.
        samples: The last few predictions, each a dict of text, expected and written.
        device: What it runs on.
        seconds_left: Estimated from the pace of the last steps; None if nothing is known.
        is_whole: Whether all steps are there; of a very long log, some are left out.
        is_full: Whether there was no room for some of the pictures.
        problem: Why it failed, to be put into words; None if it has not.
    """

    status: str
    message: str
    facts: dict
    steps: list
    epochs: list
    samples: list
    device: str
    seconds_left: float | None
    is_whole: bool
    is_full: bool
    problem: RunError | None

    @property
    def step(self) -> int:
        """Steps done, as far as anybody said."""
        return max((event["step"] for event in (*self.steps[-1:], *self.epochs[-1:])), default=0)

    @property
    def best(self) -> dict | None:
        """The best epoch so far."""
        return next((epoch for epoch in reversed(self.epochs) if epoch["best"]), None)


def run_status(last, is_worked_on) -> str:
    """Return how a run stands.

    Args:
        last: The last event that decides it; "" if the log has lost it.
        is_worked_on: Returns whether the process that was the last to work on it is still there.
    """
    if last in ("started", "stopped") and is_worked_on():
        return "running"
    return last if last not in ("started", "") else "interrupted"


def without_rolled_back(events) -> list[dict]:
    """Return the events without those that were undone by going back to a checkpoint."""
    kept, reached = [], math.inf
    for event in reversed(events):
        if event.get("step", 0) <= reached:
            kept.append(event)
        if event["event"] == "started":
            reached = min(reached, event["step"])
    return kept[::-1]


def run_state(events, status, *, is_whole) -> RunState:
    """Return the run as it stands.

    Args:
        events: What happened, in order.
        status: As `run_status` returns it.
        is_whole: Whether these are all events.
    """
    by_kind = {}
    for event in events:
        by_kind.setdefault(event["event"], []).append(event)
    steps, facts = by_kind.get("step", []), by_kind.get("data", [{}])[-1]
    problem = _problem_of(by_kind.get("failed", [{}])[-1]) if status == "failed" else None
    return RunState(
        status,
        "" if problem is None else str(problem),
        facts,
        steps,
        by_kind.get("epoch", []),
        by_kind.get("samples", [{}])[-1].get("samples", []),
        by_kind.get("started", [{}])[-1].get("device", ""),
        _seconds_left(steps, facts) if status == "running" else None,
        is_whole,
        "full" in by_kind,
        problem,
    )


def _problem_of(failed):
    """Return what an event says went wrong; one of an earlier version has the sentence alone."""
    if "problem" in failed:
        return RunError.from_json(failed["problem"])
    return RunError(failed["message"]) if failed.get("message") else None


def _seconds_left(steps, facts):
    recent = [event for event in steps[-RECENT:] if event["step"] > 1]  # the first one was being compiled
    if len(recent) < 2 or "total_steps" not in facts or recent[-1]["step"] == recent[0]["step"]:
        return None
    pace = (recent[-1]["time"] - recent[0]["time"]) / (recent[-1]["step"] - recent[0]["step"])
    left = max(0.0, pace * (facts["total_steps"] - recent[-1]["step"]))
    return left if left < LONGEST else None
