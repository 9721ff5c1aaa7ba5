"""Status and progress of a run, derived from its log."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from transformer_viz.runs.errors import RunError

RECENT = 20
"""Step events from which the pace is estimated."""

LONGEST = 10 * 365 * 24 * 60 * 60
"""Longest estimate of the remaining time that is shown, in seconds."""


ACTIVE = ("queued", "running")
"""Statuses of a run that a process works on or will."""

FINAL_EVENTS = ("finished", "failed")
"""Final events of a run; after "stopped" a process may just be starting."""


class RunState(NamedTuple):
    """State of a run.

    Attributes:
        status: "queued", "running", "finished", "stopped" (on request), "failed", "interrupted" (its process
            ended without a final event), or "broken" (invalid `job.json`).
        message: Why it failed, or "".
        facts: Facts about the data: train, validation, parameters, steps_per_epoch, total_steps ...
        steps: One dict for each step event: time, step, loss, learning_rate, tokens_per_second, memory ...;
            step 0 is the untrained model.
        epochs: One dict for each epoch: epoch, step, loss, val_loss, ... and whether it was the best so far.
        samples: The latest predictions, each a dict of text, expected and written.
        device: Device of the training.
        seconds_left: Estimated from the pace of the last steps; None if unknown.
        is_whole: Whether all steps are included; a very long log is thinned.
        is_full: Whether some pictures were not written for lack of room.
        problem: Why it failed, to be translated; None if it has not.
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
        """Last step in the log."""
        return max((event["step"] for event in (*self.steps[-1:], *self.epochs[-1:])), default=0)

    @property
    def best(self) -> dict | None:
        """The best epoch so far."""
        return next((epoch for epoch in reversed(self.epochs) if epoch["best"]), None)


def run_status(last: str, is_worked_on: Callable[[], bool]) -> str:
    """Return the status of a run.

    Args:
        last: The last event among `log.TURNS`; "" if there is none.
        is_worked_on: Returns whether the last process that worked on the run still exists.
    """
    if last in ("started", "stopped") and is_worked_on():
        return "running"
    return last if last not in ("started", "") else "interrupted"


def without_rolled_back(events: Sequence[dict]) -> list[dict]:
    """Return the events without those rolled back by resuming from a checkpoint."""
    kept, reached = [], math.inf
    for event in reversed(events):
        if event.get("step", 0) <= reached:
            kept.append(event)
        if event["event"] == "started":
            reached = min(reached, event["step"])
    return kept[::-1]


def run_state(events: Sequence[dict], status: str, *, is_whole: bool) -> RunState:
    """Return the state of a run.

    Args:
        events: Its events in order.
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
    """Return the error in a "failed" event; earlier versions stored only its message."""
    if "problem" in failed:
        return RunError.from_json(failed["problem"])
    return RunError(failed["message"]) if failed.get("message") else None


def _seconds_left(steps, facts):
    recent = [event for event in steps[-RECENT:] if event["step"] > 1]  # the first one includes compilation
    if len(recent) < 2 or "total_steps" not in facts or recent[-1]["step"] == recent[0]["step"]:
        return None
    pace = (recent[-1]["time"] - recent[0]["time"]) / (recent[-1]["step"] - recent[0]["step"])
    left = max(0.0, pace * (facts["total_steps"] - recent[-1]["step"]))
    return left if left < LONGEST else None
