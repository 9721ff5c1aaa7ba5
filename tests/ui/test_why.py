"""Why an answer: the sentence and the tinted words are those of Python, in both languages."""

import json
import re

import pandas as pd
import pytest
from pages import again, open_page, shown

from transformer_viz.language import Words
from transformer_viz.pictures.effects import signed
from transformer_viz.pictures.why import measured_text, reasons, tinted, why_text
from transformer_viz.questions.effects.answer import Answer, Certainty
from transformer_viz.questions.effects.measure import effects
from transformer_viz.questions.effects.removed import Removed, removed
from transformer_viz.questions.effects.result import WORD_COLUMNS, Effects
from transformer_viz.values.request import Changes, Request

ENGLISH, CHINESE = Words("en"), Words("zh")
TEXT = "A lovely film, not good."


def made(*values, side="text"):
    """Return effects of the words of a text: (word, value) pairs, a space between them."""
    rows, at = [], 0
    for word, value in values:
        rows.append((word, at, at + len(word), value, "left out", side))
        at += len(word) + 1
    words = pd.DataFrame(rows, columns=list(WORD_COLUMNS))
    return Effects(Answer((0,), (1,)), ("good",), "", Certainty(0.914, 2.36), {}, "[UNK]", {}, words)


def same(text):
    return text


@pytest.mark.parametrize(
    ("values", "english", "chinese"),
    [
        (
            [("boring", 1.93), ("film", -0.61), ("!", 5.0), ("a", 0.3), ("predictable", 2.2)],
            "“bad”, 91%: **predictable** +2.2, **boring** +1.9; against it: **film** −0.61",
            "“bad”，91%；支持它的有：**predictable** +2.2、**boring** +1.9；反对它的有：**film** −0.61",
        ),
        ([("good", 1.0)], "“bad”, 91%: **good** +1.0", "“bad”，91%；支持它的有：**good** +1.0"),
        (
            [("good", -1.0), ("the", float("nan"))],
            "“bad”, 91%; against it: **good** −1.0",
            "“bad”，91%；反对它的有：**good** −1.0",
        ),
        (
            [("the", 0.05), (",", 3.0)],
            "“bad”, 91%: no single word does much to it.",
            "“bad”，91%：没有哪个词单独起多大作用。",
        ),
        ([("No", 1.0), ("no", 2.0)], "“bad”, 91%: **no** +2.0", "“bad”，91%；支持它的有：**no** +2.0"),
    ],
)
def test_the_strongest_words_are_named_and_no_punctuation(values, english, chinese):
    assert why_text(ENGLISH, made(*values), "bad", same) == english
    assert why_text(CHINESE, made(*values), "bad", same) == chinese


def test_each_word_is_tinted_by_its_value_and_nothing_in_it_is_markup():
    found = made(("<b>bad", 2.5), ("film", -0.5), ("of", 0.01), ("it", float("nan")))
    said = tinted(ENGLISH, found, "<b>bad film of it …", 'a "unit"')
    spans = re.findall(r"<span([^>]*)>(?:<small>([^<]*)</small>)?([^<]*)</span>", said)
    assert [word for _, _, word in spans] == ["&lt;b&gt;bad", "film", "of", "it"]
    assert [number for _, number, _ in spans] == ["+2.5", "", "", ""]
    assert [re.findall("--share: ([0-9.]+)", given) for given, _, _ in spans] == [
        ["1.00"],
        ["0.25"],
        ["0.01"],
        [],
    ]
    assert 'class="against"' in spans[1][0]
    assert "−0.50 log-odds: speaks against this answer" in spans[1][0]
    assert said.startswith('<p class="tinted" dir="auto" title="a &quot;unit&quot;">')
    assert said.endswith(" …</p>")


def test_the_page_says_what_python_says_until_it_is_switched_off(explorer, engine):
    app = open_page(model="small", text=TEXT, lang="en")
    found = effects(explorer, TEXT)
    for reason in [*reasons(found)[0], *reasons(found)[1]]:
        assert f"**{reason.word}** {signed(reason.value)}" in shown(app).replace("\\", "")
    [said] = [each.proto.body for each in app.get("html") if 'class="tinted"' in each.proto.body]
    assert said == tinted(ENGLISH, found, TEXT, ENGLISH("why.unit", token=found.stand_in))
    assert "why" not in app.query_params
    app.toggle(key="why").set_value(False)
    again(app)
    assert not [each for each in app.get("html") if 'class="tinted"' in each.proto.body]
    assert app.query_params["why"] == "0"


def test_a_lesson_asks_why_only_when_it_is_switched_on(engine, shipped):
    app = open_page(lesson="07-how-a-head-copies", lang="en")
    assert not app.toggle(key="why").value


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        (Changes(ablate=[(0, 1)]), ("encoder", (0, 1))),
        (Changes(mute=[(0, 1, 3, 2)]), ("encoder", (0, 1, 3, 2))),
    ],
    ids=["head", "cell"],
)
def test_what_is_taken_away_is_measured_beside_its_estimate(explorer, engine, changes, place):
    request = Request("small", TEXT)
    app = open_page(
        model="small",
        text=TEXT,
        lang="en",
        changes=json.dumps(changes.to_dict()),
        before=request.to_json(),
    )
    found = effects(explorer, TEXT)
    without = effects(explorer, TEXT, answer=found.labels[0], **changes.to_dict())
    measured = found.certainty.log_odds - without.certainty.log_odds
    said = measured_text(ENGLISH, Removed(*place), found.labels[0], measured, found.of(*place))
    assert said in shown(app).replace("\\", "")
    assert signed(measured) in said
    assert signed(found.of(*place)) in said


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({}, {"ablate": [(0, 1)]}, ("encoder", (0, 1))),
        ({}, {"mute": [(0, 1, 2, 3)]}, ("encoder", (0, 1, 2, 3))),
        ({"ablate": [(1, 1)]}, {"ablate": [(1, 1), (0, 1)]}, ("encoder", (0, 1))),
        ({"positions": "none"}, {"positions": "none", "ablate": [(0, 1)]}, ("encoder", (0, 1))),
        ({}, {}, None),
        ({}, {"ablate": [(0, 1), (0, 0)]}, None),
        ({}, {"cut": [(0, 1, 2, 3)]}, None),
        ({"ablate": [(0, 1)]}, {}, None),
        ({"ablate": [(0, 1)]}, {"ablate": [(0, 0)]}, None),
        ({}, {"ablate": [(0, 1)], "positions": "none"}, None),
    ],
)
def test_one_head_or_cell_is_taken_away_if_nothing_else_is_changed(explorer, before, after, expected):
    runs = (Request("small", TEXT, changes=Changes(**changes)) for changes in (before, after))
    assert removed(explorer.config, *runs) == expected


def test_the_saved_table_has_the_effect_of_each_cell(translator):
    trace, found = (
        translator.trace(TEXT, target="a good film"),
        effects(translator, TEXT, target="a good film"),
    )
    table = found.beside(trace.to_frame())
    place = ["layer", "head", "query", "key"]
    for kind, (stack, own) in {
        "encoder": ("encoder", "self"),
        "decoder": ("decoder", "self"),
        "cross": ("decoder", "cross"),
    }.items():
        rows = table[(table["stack"] == stack) & (table["kind"] == own)]
        cells = found.cells[kind]
        assert len(rows) == cells.size
        assert rows["effect"].tolist() == cells[tuple(rows[place].to_numpy().T)].tolist()
    assert table.drop(columns="effect").equals(trace.to_frame())


@pytest.mark.usefixtures("decoders")
@pytest.mark.parametrize(("model", "count"), [("translator", 2), ("writer", 1)])
def test_models_that_write_are_asked_too(engine, model, count):
    app = open_page(model=model, text="one two three", lang="zh")
    [said] = [each.proto.body for each in app.get("html") if 'class="tinted"' in each.proto.body]
    assert said.count("<p ") == count
    assert "对数几率" in said


def test_a_text_with_too_many_weights_says_so_and_is_not_explained(engine, monkeypatch):
    monkeypatch.setattr("transformer_viz.ui.pages.attention.why.MOST_CELLS", 100)
    app = open_page(model="small", text=TEXT, lang="en")
    assert "Why? explains at most 100. Shorten it." in shown(app)
    assert not [each for each in app.get("html") if 'class="tinted"' in each.proto.body]
