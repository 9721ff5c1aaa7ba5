"""Status and progress of a run, derived from its log."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from transformer_viz.training.runs.errors import RunError

RECENT = 20
"""Step events from which the pace is estimated."""

LONGEST = 10 * 365 * 24 * 60 * 60
"""Longest estimate of the remaining time that is shown, in seconds."""


ACTIVE = ("queued", "running")
"""Statuses of a run that a process works on or will."""

FINAL_EVENTS = ("finished", "failed")
"""Final events of a run; after "stopped" a process may just be starting."""


CLEARLY = 0.02
"""Share by which the validation loss of an epoch is lower if it clearly improves."""


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
        seconds_left: Estimated from what was measured in this run; None if unknown.
        is_whole: Whether all steps are included; of a very long log the middle is left out.
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

    @property
    def untrained(self) -> dict:
        """The event of step 0, which of a fine-tuned model has validation metrics; empty: not known."""
        return self.steps[0] if self.steps and self.steps[0]["step"] == 0 else {}

    @property
    def still_improves(self) -> bool:
        """Whether its last epoch was the best, its validation loss clearly below that of the one before."""
        if len(self.epochs) < 2 or not self.epochs[-1]["best"]:
            return False
        before, last = (epoch.get("val_loss") for epoch in self.epochs[-2:])
        return before is not None and last is not None and last < (1 - CLEARLY) * before


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
        _seconds_left(by_kind) if status == "running" else None,
        is_whole,
        "full" in by_kind,
        problem,
    )


def _problem_of(failed):
    """Return the error in a "failed" event; earlier versions stored only its message."""
    if "problem" in failed:
        return RunError.from_json(failed["problem"])
    return RunError(failed["message"]) if failed.get("message") else None


def _seconds_left(by_kind):
    """Return the estimated seconds until the run has finished; None until the pace is known.

    The steps to come take as long as the last ones; each epoch to come ends as slowly as those that have
    ended, with validation and checkpoint; and the finished model takes as long to evaluate as it took to
    compile before the first step.
    """
    begun, data = by_kind.get("started", [{"time": 0}])[-1]["time"], by_kind.get("data", [{}])
    steps = by_kind.get("step", [])
    here = [event for event in steps if event["step"] > 1 and event["time"] >= begun]  # 1 is compiled
    total, ends = data[-1].get("total_steps"), [epoch["step"] for epoch in by_kind.get("epoch", [])]
    if total is None or len(here) < 2 or here[-1]["step"] == here[-RECENT:][0]["step"]:
        return None
    pace = _pace(here[-RECENT:], ends)
    per_end = _seconds_per_end(here, ends, pace)
    ends_left = total / data[-1].get("steps_per_epoch", total) - len(ends)
    left = pace * (total - here[-1]["step"]) + per_end * max(0, ends_left) + _compilation(steps, data)
    return max(0.0, left) if left < LONGEST else None


def _pace(steps, ends):
    """Return the seconds of a step, without the ends of epochs if steps were logged between them."""
    pairs = list(pairwise(steps))
    within = [(one, two) for one, two in pairs if not any(one["step"] <= end < two["step"] for end in ends)]
    seconds, count = (sum(two[name] - one[name] for one, two in within or pairs) for name in ("time", "step"))
    return seconds / max(count, 1)


def _seconds_per_end(steps, ends, pace):
    """Return the mean seconds of the ends of epochs between these steps; 0 without any."""
    found = [
        two["time"] - one["time"] - pace * (two["step"] - one["step"])
        for one, two in pairwise(steps)
        if any(one["step"] <= end < two["step"] for end in ends)
    ]
    return max(0.0, sum(found) / len(found)) if found else 0.0


def _compilation(steps, data):
    """Return the seconds from the data to the first step; 0 if that was not logged."""
    first = next((event["time"] for event in steps if event["step"] == 1), None)
    read = [
        event["time"] for event in data if "time" in event and first is not None and event["time"] <= first
    ]
    return first - read[-1] if read and first is not None else 0.0
