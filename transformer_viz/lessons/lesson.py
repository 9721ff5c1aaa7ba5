"""Lessons: a question, something to see and to do, and something to predict before it is revealed."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from transformer_viz.trace.request import EFFECTS, TRACE, UNCHANGED, Changes, Request

BEFORE, AFTER = "before", "after"
"""The two runs of a lesson, A and B."""

PAGES = ("attention", "map", "train")
"""The pages on which a lesson can open."""

KEY, ANSWER, HEAD, TRAINING = "key", "answer", "head", "training"
"""What can be predicted: the key that a row reads most, the answer in B, the head that matters most, the
training that ends best.
"""


class Prediction(NamedTuple):
    """What is to be predicted.

    Attributes:
        ask: `KEY`, `ANSWER`, `HEAD` or `TRAINING`.
        query: For `KEY`, the token of the row.
        setting: For `TRAINING`, the field of `TrainingSettings` in which the trainings differ.
        values: Its value in each of them.
    """

    ask: str
    query: str = ""
    setting: str = ""
    values: tuple[float, ...] = ()


class Training(NamedTuple):
    """Settings with which the Train page opens; None: that of the task.

    Attributes:
        layers: Layers of each stack.
        rows: Rows that are made.
        epochs: Most passes over the rows.
        learning_rate: Peak learning rate.
        warmup: Share of the steps in which the learning rate rises.
    """

    layers: int | None = None
    rows: int | None = None
    epochs: int | None = None
    learning_rate: float | None = None
    warmup: float | None = None

    def settings(self) -> dict[str, Any]:
        """Return those that are fields of `TrainingSettings`, by name."""
        own = {"epochs": self.epochs, "learning_rate": self.learning_rate, "warmup": self.warmup}
        return {name: value for name, value in own.items() if value is not None}


OF_ITS_TASK = Training()
"""No settings of its own."""


class Claim(NamedTuple):
    """What a lesson promises of a model.

    Attributes:
        of: "weight" of a cell of the lesson's head; probability of an "answer"; share of the weight of the
            lesson's head that "moved" from A to B; "effect" of switching off a head of the lesson's layer on
            the log-odds of the answer; whether what is "written" differs from A.
        query: Token of the row, for "weight".
        key: Token of the column.
        label: The answer.
        head: Number of the head, from 1, for "effect".
        run: `BEFORE` or `AFTER`.
        text: Another text than the run's; None: that one.
        least: Smallest value.
        most: Largest value.
        differs: Whether what is written is something else.
    """

    of: str
    query: str = ""
    key: str = ""
    label: str = ""
    head: int = 1
    run: str = BEFORE
    text: str | None = None
    least: float | None = None
    most: float | None = None
    differs: bool = True


@dataclass(frozen=True)
class Lesson:
    """A lesson, in one language.

    Attributes:
        name: Name of its file without ".md"; the same in every language.
        title: Its title.
        question: The question it answers.
        minutes: How long it takes.
        source: Paper and section.
        model: Name of the model.
        text: The text of A.
        see: What to see, as Markdown, like the following.
        do: What to do.
        reveal: What it shows, to be said after the prediction.
        notes: For whoever presents it.
        target: Of an encoder-decoder, what the decoder reads; None: the model writes it.
        kind: Kind of attention; None: the last of the model.
        layer: Layer of the head that is shown, from 1.
        head: The head, from 1.
        view: View that is shown first; None: matrix and lines.
        after_text: The text of B; None: that of A.
        changes: The changes of B.
        page: Page on which it opens.
        task: Task that is chosen on the Train page; None: the one chosen last.
        training: The settings of that page that differ from those of its task.
        predict: What is to be predicted; None: nothing.
        claims: What it promises.
    """

    name: str
    title: str
    question: str
    minutes: int
    source: str
    model: str
    text: str
    see: str
    do: str
    reveal: str
    notes: str
    target: str | None = None
    kind: str | None = None
    layer: int = 1
    head: int = 1
    view: str | None = None
    after_text: str | None = None
    changes: Changes = UNCHANGED
    page: str = PAGES[0]
    task: str | None = None
    training: Training = OF_ITS_TASK
    predict: Prediction | None = None
    claims: tuple[Claim, ...] = ()

    @property
    def compares(self) -> bool:
        """Whether there is a B."""
        return self.after_text is not None or self.changes != UNCHANGED

    def request(self, model: str, run: str = BEFORE, text: str | None = None, wants: str = TRACE) -> Request:
        """Return the request for one of its runs.

        Args:
            model: Its model, as a request names it.
            run: `BEFORE` or `AFTER`.
            text: Another text; None: that of the run.
            wants: What is asked for, as in `Request`.
        """
        changes = self.changes if run == AFTER else UNCHANGED
        own = self.after_text if run == AFTER and self.after_text is not None else self.text
        target = self.target if text is None and own == self.text else None
        return Request(model, own if text is None else text, target, changes, wants)

    def effects_request(self, model: str) -> Request:
        """Return the request for the effect of each head in A."""
        return self.request(model, wants=EFFECTS)

    def kind_among(self, kinds: Iterable[str]) -> str:
        """Return its kind of attention among those of a trace."""
        *others, last = kinds
        return self.kind if self.kind and self.kind in others else last
