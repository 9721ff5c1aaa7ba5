"""A run as it stands, told from the events of its log."""

from typing import NamedTuple

ENDS = ("finished", "stopped", "failed")
"""Events after which nobody works on a run."""

RECENT = 20
"""Step events from which the pace is taken."""

LONGEST = 10 * 365 * 24 * 60 * 60
"""Seconds beyond which an estimate says nothing."""


class RunState(NamedTuple):
    """A run as it stands.

    Attributes:
        status: "queued", "running", "finished", "stopped" (on request), "failed", or "interrupted" (its
            process is gone without a word).
        message: Why it failed, or "".
        facts: What was found in the data: rows, parameters, steps_per_epoch, total_steps, figure ...
        steps: One dict for each step event: time, step, loss, learning_rate, tokens_per_second, memory ...;
            step 0 is the model before it has learned anything.
        epochs: One dict for each epoch: epoch, step, loss, val_loss, ... and whether it was the best so far.
        samples: The last few predictions, each a dict of text, expected and written.
        device: What it runs on.
        seconds_left: Estimated from the pace of the last steps; None if nothing is known.
    """

    status: str
    message: str
    facts: dict
    steps: list
    epochs: list
    samples: list
    device: str
    seconds_left: float | None

    @property
    def step(self) -> int:
        """Steps done, as far as anybody said."""
        return max((event["step"] for event in (*self.steps[-1:], *self.epochs[-1:])), default=0)

    @property
    def best(self) -> dict | None:
        """The best epoch so far."""
        return next((epoch for epoch in reversed(self.epochs) if epoch["best"]), None)


def state_of(events, is_worked_on) -> RunState:
    """Return the run as it stands.

    Args:
        events: What happened, in order.
        is_worked_on: Returns whether the process that was the last to work on it is still there.
    """
    by_kind = {}
    for event in events:
        by_kind.setdefault(event["event"], []).append(event)
    steps, epochs = by_kind.get("step", []), by_kind.get("epoch", [])
    turns = [event for event in events if event["event"] in ("queued", "started", *ENDS)]
    last = turns[-1] if turns else {"event": "queued"}
    status = last["event"]
    if status == "started":
        status = "running" if is_worked_on() else "interrupted"
    facts = by_kind.get("data", [{}])[-1]
    return RunState(
        status,
        last.get("message", ""),
        facts,
        steps,
        epochs,
        by_kind.get("samples", [{}])[-1].get("samples", []),
        by_kind.get("started", [{}])[-1].get("device", ""),
        _seconds_left(steps, facts) if status == "running" else None,
    )


def _seconds_left(steps, facts):
    recent = [event for event in steps[-RECENT:] if event["step"] > 1]  # the first one was being compiled
    if len(recent) < 2 or "total_steps" not in facts or recent[-1]["step"] == recent[0]["step"]:
        return None
    pace = (recent[-1]["time"] - recent[0]["time"]) / (recent[-1]["step"] - recent[0]["step"])
    left = max(0.0, pace * (facts["total_steps"] - recent[-1]["step"]))
    return left if left < LONGEST else None
