"""An experiment on a run: a change chosen on its own page, and the run that it is compared with."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from transformer_viz.questions.effects.result import HeadEffects
from transformer_viz.trace.comparison import Comparison, compare
from transformer_viz.trace.request import Request
from transformer_viz.trace.trace import Trace
from transformer_viz.ui.workbench.asked import Asked
from transformer_viz.ui.workbench.said import Item

Ask = Callable[[Request], Any]
"""Returns the answer of the engine to a request."""


class Found(NamedTuple):
    """The answers to what is asked.

    Attributes:
        trace: The run.
        former: The run that it is compared with; None: none.
        heads: What ablating each head does; None: not asked.
    """

    trace: Trace
    former: Trace | None = None
    heads: HeadEffects | None = None

    def comparison(self, asked: Asked) -> Comparison | None:
        """Return both runs compared; None: there is one."""
        if self.former is None or asked.before is None:
            return None
        orders = asked.before.changes.order, asked.request.changes.order
        return compare(self.former, self.trace, orders=orders)


class Experiment(NamedTuple):
    """The runs that are shown, and what an experiment says of them.

    Attributes:
        asked: What is asked: the run with the change, beside the one without.
        found: The answers.
        menu: What it offers and has chosen; None: there is no experiment.
        said: What else the browser is told of it.
        captions: Kind of attention -> further sentences on each head, by layer.
        notes: Sentences on the whole run.
        there: Both runs as the Attention page asks them; None: it cannot.
    """

    asked: Asked
    found: Found
    menu: "Menu | None" = None
    said: Mapping[str, Any] = MappingProxyType({})
    captions: Mapping[str, list[list[str]]] = MappingProxyType({})
    notes: Sequence[Item] = ()
    there: Asked | None = None


class Menu(NamedTuple):
    """What an experiment offers, for the browser.

    Attributes:
        kept: What is chosen, by the names of the address, without what is as usual.
        groups: Choices of one of several: name, label, tip, options (value and text), and the chosen value.
        sliders: Whole numbers: name, label, tip, low, high, value.
        switches: name, label, tip, and whether each is on.
        again: A button that sets something: label, name and value; None: there is none.
        note: A sentence below; "": none.
    """

    kept: dict[str, str]
    groups: list[dict[str, Any]]
    sliders: list[dict[str, Any]]
    switches: list[dict[str, Any]]
    again: dict[str, str] | None = None
    note: str = ""


def number_in(given: Mapping[str, str], name: str, low: int, high: int, usual: int) -> int:
    """Return a whole number that the browser has chosen, clipped to a range; without one, the usual one."""
    text = given.get(name, "")
    number = int(text) if text.isdecimal() and len(text) < 10 else usual
    return min(max(number, low), high)


def group(name: str, label: str, tip: str, options: Mapping[str, str], chosen: str) -> dict[str, Any]:
    """Return a choice of one of several for a menu."""
    return {"name": name, "label": label, "tip": tip, "options": [*options.items()], "chosen": chosen}


def slider(name: str, label: str, tip: str, ends: tuple[int, int], value: int) -> dict[str, Any]:
    """Return a whole number for a menu."""
    return {"name": name, "label": label, "tip": tip, "low": ends[0], "high": ends[1], "value": value}
