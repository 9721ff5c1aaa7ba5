"""Why an answer: the sentence and the tinted words are those of Python, in both languages."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from bench import bench_on, open_bench
from pages import open_page

from transformer_viz.language import Words
from transformer_viz.pictures.compared import measured_heads, placed_effects
from transformer_viz.pictures.effects import signed
from transformer_viz.pictures.why import measured_text, reasons, why_text
from transformer_viz.questions.effects.answer import Answer, Certainty
from transformer_viz.questions.effects.heads import head_effects
from transformer_viz.questions.effects.measure import effects
from transformer_viz.questions.effects.removed import Removed, removed
from transformer_viz.questions.effects.result import WORD_COLUMNS, Effects
from transformer_viz.trace.comparison import compare
from transformer_viz.trace.request import Changes, Request
from transformer_viz.ui.workbench.reasons import tints
from transformer_viz.ui.workbench.view import compared_table, npz_of

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


def changed(changes):
    """Return the workbench that compares the text with a change."""
    before = {"model": "small", "text": TEXT}
    return open_bench(text=TEXT, changes=changes.to_dict(), before=before)


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


def test_each_word_is_tinted_by_its_value():
    found = made(("<b>bad", 2.5), ("film", -0.5), ("of", 0.01), ("it", float("nan")))
    bad, film, of, it = tints(ENGLISH, found, "text")
    assert [(word["start"], word["end"]) for word in (bad, film, of, it)] == [
        (0, 6),
        (7, 11),
        (12, 14),
        (15, 17),
    ]
    assert [word.get("value") for word in (bad, film, of, it)] == ["+2.5", None, None, None]
    assert [word.get("share") for word in (bad, film, of, it)] == [1, 0.25, 0.01, None]
    assert [word.get("way") for word in (bad, film, of, it)] == ["for", "against", "for", None]
    assert film["tip"] == "−0.50 log-odds: speaks against this answer"
    assert tints(ENGLISH, found, "target") == []


def test_the_colours_of_small_effects_are_faint_and_those_of_strong_ones_are_not_beyond_the_full_one():
    [faint, _] = tints(ENGLISH, made(("a", 0.01), ("b", float("nan"))), "text")
    assert faint["share"] < 0.5
    assert "value" not in faint
    shares = [word["share"] for word in tints(ENGLISH, made(("a", 99.0), ("b", 1.0)), "text")]
    assert shares[0] == 1
    assert shares[1] > 0.1
    assert [set(word) for word in tints(ENGLISH, made(("a", float("nan"))), "text")] == [{"start", "end"}]


def test_the_workbench_says_what_python_says(explorer, engine):
    bench, found = open_bench(text=TEXT), effects(explorer, TEXT)
    assert (bench.said["explains"], bench.said["why_not"]) == (True, "")
    why = bench.why()
    for reason in [*reasons(found)[0], *reasons(found)[1]]:
        assert f"**{reason.word}** {signed(reason.value)}" in why["b"]["said"]
    assert why["b"]["said"] == why_text(ENGLISH, found, found.labels[0], same)
    assert why["b"]["unit"] == ENGLISH("why.unit", token=found.stand_in)
    assert why["b"]["words"] == {"text": tints(ENGLISH, found, "text")}
    assert why["run"] == bench.views["run"]
    assert "a" not in why
    for name in ("encoder",):
        assert why["kinds"][name]["cells"].tolist() == found.cells[name].astype(np.float16).tolist()


def test_the_tinted_words_are_words_of_the_text(engine):
    """A press on a word and its colour are about the same characters."""
    bench = open_bench(text=TEXT)
    places = {(word["start"], word["end"]) for word in bench.said["words"]}
    assert places == {(tint["start"], tint["end"]) for tint in bench.why()["b"]["words"]["text"]}


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        (Changes(ablate=[(0, 1)]), ("encoder", (0, 1))),
        (Changes(mute=[(0, 1, 3, 2)]), ("encoder", (0, 1, 3, 2))),
    ],
    ids=["head", "cell"],
)
def test_what_is_taken_away_is_measured_beside_its_estimate(explorer, engine, changes, place):
    why = changed(changes).why()
    found = effects(explorer, TEXT)
    without = effects(explorer, TEXT, answer=found.labels[0], **changes.to_dict())
    measured = found.certainty.log_odds - without.certainty.log_odds
    said = measured_text(ENGLISH, Removed(*place), found.labels[0], measured, found.of(*place))
    assert why["measured"] == said
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
@pytest.mark.parametrize(("model", "sides"), [("translator", ["text", "target"]), ("writer", ["text"])])
def test_models_that_write_are_asked_too(engine, model, sides):
    bench = open_bench(model, text="one two three", language="zh")
    said = bench.why()["b"]
    assert list(said["words"]) == sides
    assert "对数几率" in said["unit"]
    for side in sides:
        text = bench.said[side]
        assert [text[word["start"] : word["end"]] for word in said["words"][side]] == text.split()


def test_a_text_with_too_many_weights_says_so_and_is_not_explained(engine, monkeypatch):
    monkeypatch.setattr("transformer_viz.ui.workbench.reasons.MOST_CELLS", 100)
    bench = open_bench(text=f"{TEXT} Not at all.")  # its view is not kept yet
    assert "Why? explains at most 100. Shorten it." in bench.said["why_not"]
    assert "run" not in bench.views
    assert bench.why()["problem"] == ENGLISH("error.why.unknown")


def test_another_class_is_explained_and_one_rather_than_another(explorer, engine):
    own = effects(explorer, TEXT)
    other = next(label for label in explorer.labels if label != own.labels[0])
    bench = bench_on(open_page(model="small", text=TEXT, about=other))
    found, why = effects(explorer, TEXT, answer=other), bench.why()
    assert found.certainty.log_odds < 0 < own.certainty.log_odds
    assert why["b"]["said"] == why_text(ENGLISH, found, other, same)
    offered = [value for value, _ in why["menus"]["rather"]["options"]]
    assert sorted(offered) == sorted(explorer.labels)
    assert not why["menus"]["rather"]["typed"]
    rather = effects(explorer, TEXT, answer=other, versus=own.labels[0])
    name = f"{other}” rather than “{own.labels[0]}"
    said = bench.why(about=other, rather=own.labels[0])["b"]["said"]
    assert said == why_text(ENGLISH, rather, name, same)
    assert bench.why(about="", rather="")["b"]["said"] == why_text(ENGLISH, own, own.labels[0], same)


@pytest.mark.usefixtures("decoders")
@pytest.mark.parametrize(("model", "position"), [("translator", 2), ("writer", 1)])
def test_a_token_that_stands_there_and_a_typed_one_are_explained(engine, model, position):
    target = {"target": "one two three"} if model == "translator" else {}
    bench = open_bench(model, text="one two three", **target)
    why = bench.why(at=str(position))
    value, named = why["menus"]["at"]["options"][position - 1]
    place, token = named.split(" · ")
    assert int(place) == int(value) == position
    assert f"“{token}”" in why["b"]["said"]
    assert why["menus"]["about"]["typed"]
    another = why["menus"]["about"]["options"][1][0]
    said = bench.why(at=str(position), about=another)["b"]["said"]
    assert f"“{another.removeprefix('▁')}”" in said
    assert "one two" in bench.why(at=str(position), about="one two")["problem"]


@pytest.mark.usefixtures("decoders")
def test_of_several_tokens_that_answer_at_once_none_is_asked_about(engine):
    bench = open_bench("translator", text="one two three", target="one two three")
    why = bench.why()
    assert list(why["menus"]) == ["at"]
    assert bench.why(about="one", rather="two")["b"] == why["b"]


def test_heads_that_are_measured_in_one_run_alone_are_compared_by_their_estimates(explorer):
    estimated = effects(explorer, TEXT)
    measured = dataclasses.replace(estimated, ablated=dict(head_effects(explorer, TEXT)))
    assert measured_heads((measured, measured)) == (measured.ablated, measured.ablated)
    for one_alone in ((measured, estimated), (estimated, measured)):
        assert measured_heads(one_alone) == ({}, {})


def test_the_words_of_both_runs_are_explained_and_what_each_cell_does(explorer, engine):
    trace = explorer.trace(TEXT)
    place = trace.tokens.index("good")
    bench = changed(Changes(leave_out=[place]))
    why = bench.why()
    one = effects(explorer, TEXT)
    other = effects(explorer, TEXT, answer=one.answer.labels[0], leave_out=[place])
    unit = ENGLISH("why.unit", token=one.stand_in)
    for side, found in (("a", one), ("b", other)):
        assert why[side]["said"] == why_text(ENGLISH, found, one.labels[0], same)
        assert why[side]["words"]["text"] == tints(ENGLISH, found, "text")
        assert why[side]["unit"] == unit
    assert why["run"] == bench.views["run"]
    value = one.words["value"][one.words["word"] == "good"].item()
    assert abs(value - (one.certainty.log_odds - other.certainty.log_odds)) < 1e-4
    comparison = compare(trace, explorer.trace(TEXT, leave_out=[place]))
    table = compared_table(comparison, (one, other))
    assert table["effect_a"].tolist() == one.cells["encoder"].ravel().tolist()
    assert table["effect_b"].tolist() == other.cells["encoder"].ravel().tolist()
    assert table["a"].tolist() == comparison.to_frame()["a"].tolist()
    for name, found in (("before", one), ("cells", other)):
        assert why["kinds"]["encoder"][name].tolist() == found.cells["encoder"].astype(np.float16).tolist()


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
    bench = bench_on(open_page(model="small", text=TEXT, about="wonderful", rather="?", at="99"))
    found = effects(explorer, TEXT)
    assert bench.why()["b"]["said"] == why_text(ENGLISH, found, found.labels[0], same)


@pytest.mark.parametrize(
    "about", [None, [], "good", 5, {"about": 5}, {"at": {}}, {"about": ["good"], "x": 1}]
)
def test_whatever_is_asked_about_that_no_page_asks_is_asked_as_usual(explorer, engine, about):
    bench = open_bench(text=TEXT)
    bench.state["about"] = about
    found = effects(explorer, TEXT)
    assert bench.why()["b"]["said"] == why_text(ENGLISH, found, found.labels[0], same)
