"""The texts beside rows and columns, of real models on real texts."""

from pathlib import Path

import pytest
from shelf import shelved
from small_models import with_random_parameters

from transformer_viz.explorer.explorer import Explorer
from transformer_viz.pictures.labels import axis_labels, axis_tokens, label_of

SHELF = Path(__file__).parents[2] / "models"


@pytest.fixture(scope="module")
def french():
    return shelved("translate-en-fr")


def test_sub_words_stand_there_without_their_marks_and_what_goes_on_with_a_word_has_a_hyphen(french):
    trace = french.trace("She unbelievably left.", target="Elle est partie.")
    labels = axis_tokens(trace, trace.tokens)
    assert "▁" not in "".join(labels)
    assert "".join(label.removeprefix("-") for label in labels) == "Sheunbelievablyleft."
    assert [label for label in labels if label.startswith("-")]
    assert labels[0] == "She"
    assert labels[-1] == "."
    assert axis_tokens(trace, trace.target_tokens)[:2] == ["[START]", "Elle"]


def test_what_would_be_written_stands_without_marks_too(french):
    trace = french.trace("Where is the station?", target="Où est")
    rows, columns = axis_labels(trace)["cross"]
    assert [row.partition(" → ")[0] for row in rows] == ["[START]", "Où", "est"]
    assert rows[-1] == f"est → {label_of(trace, trace.probs[-1].argmax())}"
    assert "▁" not in "".join([*rows, *columns])


def test_a_next_token_that_is_a_mere_guess_is_not_named():
    trace = shelved("induction").trace("k e y b o a r d k e y b")
    rows, _ = axis_labels(trace)["decoder"]
    assert rows == ["[START]", *"keyboard", "k → e", "e → y", "y → b", "b → o"]


def test_chinese_characters_are_no_parts_of_words():
    trace = shelved("translate-en-zh").trace("I love you.", target="我爱你。")
    labels = axis_tokens(trace, trace.target_tokens)
    assert "".join(labels) == "[START]我爱你。"


def test_a_minus_sign_of_a_text_is_no_mark():
    trace = shelved("hotel-zh").trace("a so-so film")
    assert axis_tokens(trace, trace.tokens) == list(trace.tokens)


def test_an_unknown_word_stands_there_as_typed():
    trace = shelved("single-block").trace("a zyzzyva film")
    assert axis_tokens(trace, trace.tokens) == ["a", "zyzzyva [UNK]", "film"]


@pytest.mark.parametrize("truncation", ["beginning", "middle", "end"])
def test_where_a_text_was_cut_stands_at_its_place(small_config, explorer, truncation):
    config = small_config.replace(truncation=truncation)
    explorer = Explorer(with_random_parameters(config), explorer.tokenizer)
    most = explorer.config.max_len
    trace = explorer.trace(" ".join(["film"] * (most + 5)))
    labels = axis_tokens(trace, trace.tokens)
    marked = [number for number, label in enumerate(labels) if "⋯" in label]
    expected = {"beginning": 0, "middle": trace.cut_at, "end": most - 1}[truncation]
    assert marked == [expected]
    assert labels[expected] == ("film ⋯" if truncation == "end" else "⋯ film")
