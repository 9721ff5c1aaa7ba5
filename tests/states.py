"""Random states of the app: a page, and everything that its address can hold.

What can be chosen comes from the app's own lists, so that what is added to one of them is tried too.
"""

import json
import pkgutil
import re
from pathlib import Path
from random import Random
from typing import NamedTuple
from urllib.parse import urlencode

from transformer_viz import store
from transformer_viz.language import LANGUAGES, Words
from transformer_viz.lessons.read import list_lessons
from transformer_viz.pictures.changes import EDGES, acted, groups_of
from transformer_viz.pictures.looks import LOOKS
from transformer_viz.pictures.views.modules import served_modules
from transformer_viz.trace.interventions import PATTERNS, all_heads, attention_kinds
from transformer_viz.trace.request import UNCHANGED, Request
from transformer_viz.ui import pages
from transformer_viz.ui.shell.card_facts import config_of, examples_of

PAGES = [found.name for found in pkgutil.iter_modules(pages.__path__)]

FIRST_PAGE = "attention"
"""The page whose path is empty; it has most of what can be chosen."""

PARTS = sorted(
    {
        name
        for path in Path(pages.__path__[0]).parent.rglob("*.py")
        for name in re.findall(
            r'(?:address|choose_\w+|query_params(?:\.get)?)[\[(]\s*"([a-z_]+)"',
            path.read_text(encoding="utf-8"),
        )
    }
)
"""Names that pages read from the address, as far as they are written where they do."""

TEXTS = (
    *("", " ", "a", ".", "A film, a good film: it was not good.", "3 1 4 1 5", "2026-11-29"),
    *("这家酒店很好。", "我爱你", "👩\u200d🚀 naïve cafe\u0301", "می\u200cخواهم", "[MASK] [SEP] [PAD]"),
    *("<b>&amp;</b> `x` $y$ [z](http://a.b)", "word " * 60, "x" * 300, "one\ntwo\tthree", "\u202eabc\x00"),
)
"""Texts that nobody has chosen as an example."""

JUNK = (
    *("", "0", "-1", "1", "99999999999999999999", "None", "nan", "{}", "[]", "[[]]", "null", '"', "…", "🙂"),
    *("a.b.c", "1-1", "-", "one", "1e9", '{"ablate":[[0,0]],"cut":[[0]]}', '{"text":5}', "x" * 3000),
)
"""What a bad link holds."""


class State(NamedTuple):
    """A state of the app.

    Attributes:
        number: Its number, from which all the rest follows.
        page: Name of the page.
        address: What its address holds.
        dark: Whether the theme is dark.
        acts: How many things are then chosen on the page.
    """

    number: int
    page: str
    address: dict[str, str]
    dark: bool
    acts: int

    @property
    def path(self) -> str:
        """The address behind that of the server."""
        return f"/{'' if self.page == FIRST_PAGE else self.page}?{urlencode(self.address)}"


def state_of(number: int) -> State:
    """Return a state; the same number gives the same one, as long as models and choices are the same."""
    random = Random(number)
    usable = [model for model in store.list_models() if not model.problem]
    model = random.choice(usable)
    config = config_of(model)
    address = {
        "model": model.name,
        "lang": random.choice([*LANGUAGES]),
        "text": text(random, model),
        "looks": ".".join(each for each in LOOKS if random.random() < 0.4),
        **selection(random, config),
        "projector": random.choice(["", "", "1"]),
    }
    if config.architecture == "encoder-decoder" and random.random() < 0.4:
        address["target"] = text(random, model)
    if random.random() < 0.05:
        address["effects"] = "1"
    if random.random() < 0.6:
        address["changes"] = json.dumps(changes(random, config).to_dict())
    if random.random() < 0.3:
        address["before"] = before(random, random.choice([model, random.choice(usable)]), address["text"])
    if random.random() < 0.15:
        address["lesson"] = random.choice(list_lessons(address["lang"]).lessons).name
    address = {name: value for name, value in address.items() if random.random() < 0.85}
    if number % 5 == 0:
        address[PARTS[number // 5 % len(PARTS)]] = random.choice(JUNK)  # each part in its turn
    page = random.choice([*PAGES, *[FIRST_PAGE] * 4])
    return State(number, page, address, random.random() < 0.5, random.randrange(4))


def text(random: Random, model: store.ModelSummary) -> str:
    """Return a text for a model: mostly one of its examples, or a part of one."""
    examples = examples_of(model.card) or list(TEXTS)
    if random.random() < 0.4:
        return random.choice(TEXTS)
    words = random.choice(examples).split(" ")
    return " ".join(words[: random.randint(1, len(words))])


def selection(random: Random, config) -> dict[str, str]:
    """Return what the views are to show; it may be a head that the model does not have."""
    kind, layer, head = random.choice(all_heads(config))
    found = {
        "kind": random.choice([kind, "cross"]),
        "layer": str(layer + random.choice([1, 1, 1, 2])),
        "head": str(head + random.choice([1, 1, 1, 2])),
        "view": random.choice(listed("address.js", "VIEWS")),
        "value": random.choice(listed("selection.js", "VALUES")),
        "sort": random.choice([*Words("en").under("lens")["sorts"]]),
        "scale": "one",
        "cell": random.choice(["1-1", "2-", "-3", "9-9"]),
    }
    return {name: value for name, value in found.items() if random.random() < 0.4}


def listed(module: str, name: str) -> list[str]:
    """Return a list of names in a module of the views."""
    found = re.search(rf"const {name} = .*?(\[.*?\])", served_modules()[module])
    assert found
    return json.loads(found[1])


def changes(random: Random, config):
    """Return some changes, as the views let a visitor make them one after the other."""
    found = UNCHANGED
    for _ in range(random.randint(1, 3)):
        found = acted(config, found, act(random, config, found))
    return found


def act(random: Random, config, found) -> dict:
    """Return one act that the views offer; a cut edge may be one that the text does not have."""
    kind, layer, head = random.choice(all_heads(config))
    place = {"kind": kind, "layer": layer, "head": head}
    do = random.choice(["head", "edge", "set", "set", "leave_out"])
    if do == "leave_out":
        return {"do": "leave_out", "tokens": [random.randrange(8)]}
    if do == "head":
        return place | {"do": "head", "name": random.choice(["ablate", *PATTERNS])}
    if do == "edge":
        query, key = random.randrange(8), random.randrange(8)
        return place | {"do": "edge", "name": EDGES[(query + key) % 2], "query": query, "key": key}
    group = random.choice(groups_of(Words("en"), config, found, tokens=5))
    return random.choice(group["choices"])["act"]


def before(random: Random, model: store.ModelSummary, beside: str) -> str:
    """Return the run that is compared with, as the address holds it."""
    config = config_of(model)
    changed = changes(random, config) if random.random() < 0.5 else UNCHANGED
    own = random.choice([beside, text(random, model)])
    target = text(random, model) if "cross" in attention_kinds(config) and random.random() < 0.3 else None
    return Request(model.reference, own, target, changed).to_json()
