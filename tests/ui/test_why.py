"""Why an answer: the sentence and the tinted words are those of Python, in both languages."""

import dataclasses
import json
import re

import numpy as np
import pandas as pd
import pytest
from pages import again, open_page, shown

from transformer_viz.language import Words
from transformer_viz.pictures.compared import measured_heads, placed_effects
from transformer_viz.pictures.effects import signed
from transformer_viz.pictures.why import measured_text, reasons, tinted, why_text
from transformer_viz.questions.effects.answer import Answer, Certainty
from transformer_viz.questions.effects.heads import head_effects
from transformer_viz.questions.effects.measure import effects
from transformer_viz.questions.effects.removed import Removed, removed
from transformer_viz.questions.effects.result import WORD_COLUMNS, Effects
from transformer_viz.ui.pages.attention.page import compared_table, npz_of
from transformer_viz.values.comparison import compare
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


def changed_page(changes):
    """Return the page that compares the text with a change."""
    asked, before = json.dumps(changes.to_dict()), Request("small", TEXT).to_json()
    return open_page(model="small", text=TEXT, lang="en", changes=asked, before=before)


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
    pressed = tinted(ENGLISH, found, "<b>bad film of it …", 'a "unit"', pressed=True)
    assert re.findall(r'role="button" tabindex="0" data-word="(\d)"', pressed) == ["0", "1", "2"]
    assert "against this answer. Press: without it." in pressed


def test_the_page_says_what_python_says_until_it_is_switched_off(explorer, engine):
    app = open_page(model="small", text=TEXT, lang="en")
    found = effects(explorer, TEXT)
    for reason in [*reasons(found)[0], *reasons(found)[1]]:
        assert f"**{reason.word}** {signed(reason.value)}" in shown(app).replace("\\", "")
    [said] = [each.proto.body for each in app.get("html") if 'class="tinted"' in each.proto.body]
    assert said == tinted(ENGLISH, found, TEXT, ENGLISH("why.unit", token=found.stand_in), pressed=True)
    assert "Effects on the answer (NPZ)" in [each.proto.label for each in app.get("download_button")]
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
    app = changed_page(changes)
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


def test_the_file_with_the_effects_is_read_by_python(explorer, tmp_path):
    found, path = effects(explorer, TEXT), tmp_path / "effects.npz"
    path.write_bytes(npz_of(found))
    again = Effects.load(path)
    assert again.words.equals(found.words)
    assert again.cells["encoder"].tolist() == found.cells["encoder"].tolist()


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


def test_another_class_is_explained_and_one_rather_than_another(explorer, engine):
    own = effects(explorer, TEXT)
    other = next(label for label in explorer.labels if label != own.labels[0])
    app = open_page(model="small", text=TEXT, lang="en", about=other)
    found = effects(explorer, TEXT, answer=other)
    assert found.certainty.log_odds < 0 < own.certainty.log_odds
    assert why_text(ENGLISH, found, other, same) in shown(app).replace("\\", "")
    app.selectbox(key="rather").set_value(own.labels[0])
    again(app)
    rather = effects(explorer, TEXT, answer=other, versus=own.labels[0])
    name = f"{other}” rather than “{own.labels[0]}"
    assert why_text(ENGLISH, rather, name, same) in shown(app).replace("\\", "")
    assert (app.query_params["about"], app.query_params["rather"]) == (other, own.labels[0])
    app.selectbox(key="about").set_value(None)
    app.selectbox(key="rather").set_value(None)
    again(app)
    assert not {"about", "rather", "at"} & set(app.query_params)
    assert why_text(ENGLISH, own, own.labels[0], same) in shown(app).replace("\\", "")


@pytest.mark.usefixtures("decoders")
@pytest.mark.parametrize(("model", "position"), [("translator", 2), ("writer", 1)])
def test_a_token_that_stands_there_and_a_typed_one_are_explained(engine, model, position):
    target = {"target": "one two three"} if model == "translator" else {}
    app = open_page(model=model, text="one two three", lang="en", at=str(position), **target)
    asked = app.selectbox(key="at")
    place, token = asked.options[position - 1].split(" · ")
    assert int(place) == position
    assert f"“{token}”" in shown(app).replace("\\", "")
    another = app.selectbox(key="about").options[1].split(" · ")[0]
    app.selectbox(key="about").select_index(1)
    again(app)
    assert f"“{another}”" in shown(app).replace("\\", "")
    app = open_page(model=model, text="one two three", lang="en", at=str(position), about="one two", **target)
    assert not app.exception
    assert "one two" in " ".join(each.value for each in app.error)


def test_heads_that_are_measured_in_one_run_alone_are_compared_by_their_estimates(explorer):
    estimated = effects(explorer, TEXT)
    measured = dataclasses.replace(estimated, ablated=dict(head_effects(explorer, TEXT)))
    assert measured_heads((measured, measured)) == (measured.ablated, measured.ablated)
    for one_alone in ((measured, estimated), (estimated, measured)):
        assert measured_heads(one_alone) == ({}, {})


def test_the_words_of_both_runs_are_explained_and_what_each_cell_does(explorer, engine):
    trace = explorer.trace(TEXT)
    place = trace.tokens.index("good")
    app = changed_page(Changes(leave_out=[place]))
    one = effects(explorer, TEXT)
    other = effects(explorer, TEXT, answer=one.answer.labels[0], leave_out=[place])
    said = [each.proto.body for each in app.get("html") if 'class="tinted"' in each.proto.body]
    assert len(said) == 2
    unit = ENGLISH("why.unit", token=one.stand_in)
    assert tinted(ENGLISH, one, TEXT, unit) in said[0]
    assert tinted(ENGLISH, other, TEXT, unit, pressed=True) in said[1]
    for found in (one, other):
        assert why_text(ENGLISH, found, one.labels[0], same) in shown(app).replace("\\", "")
    value = one.words["value"][one.words["word"] == "good"].item()
    assert abs(value - (one.certainty.log_odds - other.certainty.log_odds)) < 1e-4
    comparison = compare(trace, explorer.trace(TEXT, leave_out=[place]))
    table = compared_table(comparison, (one, other))
    assert table["effect_a"].tolist() == one.cells["encoder"].ravel().tolist()
    assert table["effect_b"].tolist() == other.cells["encoder"].ravel().tolist()
    assert table["a"].tolist() == comparison.to_frame()["a"].tolist()


def test_a_word_of_a_longer_text_has_no_effect_in_the_shorter_one(explorer):
    comparison = compare(explorer.trace("a good film"), explorer.trace("a film"))
    found = tuple(effects(explorer, text, answer=0) for text in ("a good film", "a film"))
    before, after = (placed["encoder"] for placed in placed_effects(comparison, found))
    assert before.shape == after.shape
    assert before.tolist() == found[0].cells["encoder"].tolist()
    gap = list(comparison.a.tokens).index("good")
    assert np.isnan(after[:, :, gap]).all()
    assert np.isnan(after[..., gap]).all()
    kept = np.delete(np.delete(after, gap, 2), gap, 3)
    assert kept.tolist() == found[1].cells["encoder"].tolist()


def test_an_address_that_asks_about_what_is_not_there_asks_as_usual(explorer, engine):
    app = open_page(model="small", text=TEXT, lang="en", about="wonderful", rather="?", at="99")
    assert not app.exception
    assert not app.error
    assert not {"about", "rather"} & set(app.query_params)
    found = effects(explorer, TEXT)
    assert why_text(ENGLISH, found, found.labels[0], same) in shown(app).replace("\\", "")
