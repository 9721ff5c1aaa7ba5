"""The workbench without a browser: what its page asks the data routes, and what it is answered."""

import json

import numpy as np
from made_traces import unpack

from transformer_viz import store
from transformer_viz.ui.shell.card_facts import examples_of
from transformer_viz.ui.workbench.question import Question
from transformer_viz.ui.workbench.seat import new_seat, seat_of

EXPERIMENTS = {"masks": ("mask", "reach", "causal", "pads", "bits"), "positions": ("do", "swap", "seed")}
"""Page -> the parts of the address that say what is chosen there; workbench.js."""


class Bench:
    """One workbench: its state, and the answer that it shows.

    Attributes:
        seat: Of its session.
        state: What its page sends with each question.
        header: The last line of the last answer.
        views: The header of the payload of the views; None: there is no picture.
        arrays: Kind of attention -> its arrays.
        told: The lines that came before the last one.
    """

    def __init__(self, seat, **state):
        self.seat, self.state, self.told = seat, state, []
        self.header, self.views, self.arrays = {}, None, {}

    def ask(self, **how):
        """Ask for the run of the state; `how`: "act", "live"."""
        question = Question.read(self.seat, self.state | how)
        self.header, content = question.answer(lambda line: line is None or self.told.append(line))
        self.state |= self.header["state"]
        is_view = content and self.state.get("wants") != "map"
        self.views, self.arrays = unpack(content) if is_view else (None, {})
        return self

    def act(self, do, **act):
        """Do something, as a press on the page does."""
        return self.ask(act={"do": do, **act})

    def choose(self, **chosen):
        """Choose something in the menu of the experiment, as a press on the page does."""
        experiment = self.state["experiment"]
        around = {name: experiment[name] for name in ("page", "kind") if name in experiment}
        self.state["experiment"] = around | self.kept | chosen
        return self.ask()

    def map(self):
        """Return the header of the map of the run, and a function that returns an array of it."""
        question = Question.read(self.seat, self.state | {"wants": "map"})
        self.header, content = question.answer(lambda line: None)
        return map_in(content) if content else (self.header, None)

    @property
    def menu(self):
        """What the experiment offers, has chosen, and tells."""
        return self.said["experiment"]

    @property
    def kept(self):
        """What the address keeps of the experiment."""
        return {name: value for name, value in self.menu["kept"].items() if value}

    def say(self, text, **state):
        """Show another text."""
        self.state |= {"text": text, "target": "", "filled": [], **state}
        return self.ask()

    def why(self, **about):
        """Return what is said of the reasons of the answer; without one, the last line of the answer."""
        asked = {"wants": "why", "about": about or self.state.get("about")}
        question = Question.read(self.seat, self.state | asked)
        header, content = question.answer(lambda line: None)
        return reasons_in(content) if content else header

    @property
    def said(self):
        """What is said beside the views."""
        return self.views["said"]

    def facts(self, kind="encoder"):
        """What the views are told of one kind of attention."""
        return next(found for found in self.views["attentions"] if found["kind"] == kind)

    def weights(self, kind="encoder"):
        """The weights that the views draw, float16 (layer, head, query, key)."""
        return self.arrays[kind]["weights"]


def open_bench(model="small", *, folder=None, seat=None, **state):
    """Return a workbench that shows a run of a model, by default its first example, unchanged."""
    seat = seat or new_seat("test")
    seat.folder = folder
    summary = (folder and store.find_model(model, folder)) or store.find_model(model)
    examples = examples_of(summary.card) if summary else []
    text = state.pop("text", examples[0] if examples else "")
    first = {"model": model, "text": text, "target": "", "changes": {}, "before": None, "filled": []}
    around = {"looks": [], "ablates": False, "language": "en", "lesson": "", "revealed": False}
    return Bench(seat, **first | around | state).ask()


def bench_on(app, **more):
    """Return the workbench of a page of the harness, as a browser opens it: as told, and by the address.

    Args:
        app: The page.
        **more: Parts of the state in place of those of the address.
    """
    told = told_to(app)
    state = fresh(told, {name: value[0] for name, value in lists_of(app.query_params).items()})
    return Bench(seat_of(told["token"]), **state | more).ask()


def told_to(app):
    """Return what Python tells the workbench on a page of the harness."""
    [found] = [each for each in app.get("bidi_component") if each.proto.component_name.endswith(".workbench")]
    return json.loads(found.proto.json)


def lists_of(parameters):
    return {name: [value] if isinstance(value, str) else value for name, value in parameters.items()}


def fresh(told, address):
    """Return the state that workbench.js makes of an address when it opens; tests/node/workbench.test.mjs."""
    parts = told["opened"] or {"effects": "", **address}
    lesson = told["lesson"] or {"name": "", "revealed": False}
    page = told["page"]
    if page == "map":
        asked = {"wants": "map"}
    elif page in EXPERIMENTS:
        names = (*EXPERIMENTS[page], *(["kind"] if page == "masks" else []))
        chosen = {name: address[name] for name in names if address.get(name)}
        asked = {"experiment": {"page": page, **chosen}}
    else:
        asked = {}
    return asked | {
        "model": told["model"],
        "text": parts.get("text", next(iter(told["examples"]), "")),
        "target": parts.get("target", ""),
        "changes": _object(parts.get("changes")) or {},
        "before": _object(parts.get("before")),
        "filled": [],
        "looks": list(filter(None, address.get("looks", "").split("."))),
        "ablates": parts.get("ablates", parts.get("effects") == "1"),
        "language": told["language"],
        "lesson": lesson["name"],
        "revealed": lesson["revealed"],
        "about": {name: address.get(name, "") for name in ("about", "rather", "at")},
    }


def _object(text):
    try:
        found = json.loads(text or "null")
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def reasons_in(payload):
    """Return the header of reasons, with the cells of each kind of attention as an array."""
    length = int.from_bytes(payload[:8], "little")
    header = json.loads(payload[8 : 8 + length])
    for found in header.get("kinds", {}).values():
        for name in {"cells", "before"} & found.keys():
            place = found[name]
            size, at = int(np.prod(place["shape"])), 8 + length + place["at"]
            found[name] = np.frombuffer(payload, place["dtype"], size, at).reshape(place["shape"])
    return header


def map_in(payload):
    """Return the header of a map, and a function that returns an array."""
    length = int.from_bytes(payload[:8], "little")
    header, data = json.loads(payload[8 : 8 + length]), payload[8 + length :]

    def array(where):
        count = int(np.prod(where["shape"]))
        return np.frombuffer(data, where["dtype"], count, where["at"]).reshape(where["shape"])

    return header, array


def held(layers):
    """Return the weights of layers as the views hold them."""
    return np.stack([layer.weights for layer in layers]).astype(np.float16)


def texts_of(items):
    """Return the texts of sentences, bars and buttons."""
    return [item.get("said") or item.get("text") or item.get("press") for item in items]
