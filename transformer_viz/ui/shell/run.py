"""The run that a page shows: a model's answer to the visitor's texts, with the changes made to it."""

from typing import NamedTuple

from transformer_viz import store
from transformer_viz.ui.shell.answers import answer
from transformer_viz.ui.shell.changing import changed_run, remember
from transformer_viz.ui.shell.chips import show_way_back
from transformer_viz.ui.shell.sentence import Asked, ask_texts
from transformer_viz.values.request import Request
from transformer_viz.values.trace import Trace


class Run(NamedTuple):
    """A request with its answer.

    Attributes:
        asked: The texts, and the places beside them.
        request: What is shown, with the changes.
        trace: The answer.
        before: The run that is compared with; None: none.
    """

    asked: Asked
    request: Request
    trace: Trace
    before: Request | None


def ask_run(model: store.ModelSummary) -> Run | None:
    """Ask for texts and return their run, changed as chosen; without an answer, show why and a way back."""
    changes, before = changed_run(model)
    asked = ask_texts(model)
    request = Request(model.reference, asked.text, asked.target, changes)
    remember(request)
    trace = answer(request)
    if trace is None:
        show_way_back(before, changes)
        return None
    return Run(asked, request, trace, before)
