"""A model that fills in hidden tokens: its gaps on the workbench, and every page that looks into one."""

import itertools
import json
import shutil
from urllib.parse import quote

import numpy as np
import pytest
from bench import open_bench, texts_of
from pages import open_page, shown
from playwright.sync_api import expect
from small_models import REVIEWS, with_random_parameters, write

from transformer_viz.explorer.explorer import Explorer
from transformer_viz.network.config import TransformerConfig
from transformer_viz.pictures.labels import label_of
from transformer_viz.text.special import MASK
from transformer_viz.text.tokenizer import Tokenizer
from transformer_viz.ui.workbench.said import NOT_TYPED

TEXT = "What a [MASK] film, not [MASK] at all."


pytestmark = pytest.mark.usefixtures("engine", "filler")


def made(name, texts, kind, folder):
    """Write a model that fills in, with a tokenizer of a kind."""
    config = TransformerConfig(
        vocab_size=90, max_len=31, d_model=14, num_layers=2, num_heads=2, output="tokens", tie_embeddings=True
    )
    tokenizer = Tokenizer.train(texts, 90, kind=kind, mask=True)
    config = config.replace(vocab_size=tokenizer.vocab_size)
    explorer = Explorer(with_random_parameters(config), tokenizer, name=name)
    write(explorer, folder)
    return explorer


@pytest.fixture(scope="module")
def filler(models_folder):
    yield made("filler", REVIEWS, "bpe", models_folder)
    shutil.rmtree(models_folder / "filler")


@pytest.fixture
def chinese_filler(models_folder):
    yield made("filler-zh", ["很好的房间。", "干净的房间。"] * 3, "characters", models_folder)
    shutil.rmtree(models_folder / "filler-zh")


def opened(text, *hidden, **state):
    """Return the workbench with some words of a text hidden by presses."""
    bench = open_bench("filler", text=text, **state)
    for word in hidden:
        hide(bench, word)
    return bench


def hide(bench, word):
    """Hide the last one of these words."""
    begin = bench.state["text"].rindex(word)
    return bench.act("hide", begin=begin, end=begin + len(word))


def offered(bench, number):
    """Return the buttons for the [MASK] of a number, from 0: the likeliest tokens, then the original."""
    lines = [[item for item in line if "press" in item] for line in bench.said["gaps"]]
    return [line for line in lines if line][number]


def labels(buttons):
    return [button["press"] for button in buttons]


def press(bench, button):
    assert not button.get("off")
    return bench.act(**button["act"])


def test_every_gap_has_its_likeliest_tokens_with_their_probabilities(filler):
    bench, trace = opened(TEXT), filler.trace(TEXT)
    assert len(trace.gaps) == len(bench.said["gaps"]) == 2
    for number, (place, around) in enumerate(
        zip(trace.gaps, ("a [MASK] film", "not [MASK] at"), strict=True)
    ):
        probs = trace.probs[place]
        likeliest = np.argsort(-probs)[:4]
        assert labels(offered(bench, number)) == [f"{label_of(trace, i)} · {probs[i]:.1%}" for i in likeliest]
        assert texts_of(bench.said["gaps"][number])[0] == f"“{around}”"


def test_around_a_gap_one_word_each_side_is_shown_where_no_blank_stands_between_words(chinese_filler):
    [line] = open_bench("filler-zh", text="很好的房间[MASK]干净的房间").said["gaps"]
    assert texts_of(line)[0] == "“房间[MASK]干净”"


def test_a_press_on_a_likely_token_fills_in_its_gap_alone(filler):
    bench, trace = opened(TEXT), filler.trace(TEXT)
    _, second = trace.gaps
    number, token = next(
        (number, trace.labels[i])
        for number, i in enumerate(np.argsort(-trace.probs[second])[:4])
        if trace.labels[i] not in NOT_TYPED
    )
    press(bench, offered(bench, 1)[number])
    tokens = filler.trace(bench.state["text"]).tokens
    assert tokens == (*trace.tokens[:second], token, *trace.tokens[second + 1 :])
    assert len(bench.said["gaps"]) == 1
    assert "before" not in bench.said


def test_special_tokens_and_a_bare_space_cannot_be_pressed():
    from types import SimpleNamespace

    from transformer_viz.ui.workbench.said import _offered

    probs = np.array([0.1, 0.4, 0.2, 0.3])
    named = ("▁film", "▁", "s", "[UNK]")
    trace = SimpleNamespace(labels=named, probs=probs[None], labels_are_spaced=True)
    buttons = _offered(trace, probs, lambda token: {"token": token}, "")
    assert labels(buttons) == ["␣ · 40.0%", "[UNK] · 30.0%", "-s · 20.0%", "film · 10.0%"]
    assert [button["off"] for button in buttons] == [True, True, False, False]


def test_the_original_of_a_gap_has_its_probability_and_comes_back_alone(filler):
    text = "A Great life, a great 😀 plot."
    bench = opened(text, "plot", "great")
    assert bench.state["text"] == "A Great life, a [MASK] 😀 [MASK]."
    trace = filler.trace(bench.state["text"])
    for number, (place, word) in enumerate(zip(trace.gaps, ("great", "plot"), strict=True)):
        probability = trace.probs[place, filler.labels.index(f"▁{word}")]
        assert labels(offered(bench, number)[4:]) == [f"↶ {word} · {probability:.1%}"]
    press(bench, offered(bench, 0)[4])
    assert bench.state["text"] == "A Great life, a great 😀 [MASK]."
    press(bench, offered(bench, 0)[4])
    assert bench.state["text"] == text


def test_an_original_of_several_tokens_has_no_probability_and_comes_back_too():
    bench = opened("What a lovelylovely film.", "lovelylovely")
    [button] = offered(bench, 0)[4:]
    assert button["press"] == "↶ lovelylovely"
    assert press(bench, button).state["text"] == "What a lovelylovely film."


def test_the_words_say_which_were_hidden_and_a_typed_mask_is_none_of_them():
    bench = opened("Not a [MASK] great film.", "great")
    text = bench.said["text"]
    assert text == "Not a [MASK] [MASK] film."
    assert [text[begin:end] for begin, end in bench.said["restored"]] == ["[MASK]"]
    assert bench.said["restored"][0][0] == text.rindex("[MASK]")
    for word in bench.said["words"]:
        assert word["gap"] == (text[word["start"] : word["end"]] == MASK)
    assert (bench.said["leaves_out"], bench.said["stands_in"]) == (False, MASK)


def test_what_was_hidden_is_forgotten_once_another_text_is_shown():
    bench = opened("What a lovely film.", "lovely")
    assert bench.state["filled"]
    assert len(offered(bench, 0)) == 5
    bench.act("text", text="Not a [MASK] film.")
    assert (bench.state["filled"], bench.said["restored"]) == ((), [])
    assert len(offered(bench, 0)) == 4


UNFIT = (
    [[0, 99, "x"]],
    [[4, 2, "x"]],
    [[0, 4, "x"], [2, 6, "y"]],
    ["ab"],
    5,
    [[1, 2]],
    [[1e999, 2, "x"]],
    {},
)


@pytest.mark.parametrize("filled", UNFIT, ids=str)
def test_parts_that_cannot_be_of_the_text_were_not_filled_in(filled):
    assert opened("What a [MASK] film.", filled=filled).said["restored"] == []


def test_each_word_of_the_text_is_as_typed_and_covers_its_tokens(filler):
    text = "A “[MASK]”:\n很 👩\u200d🚀 very very unbeat!"
    bench, trace = opened(text), filler.trace(text)
    words = bench.said["words"]
    assert "▁" not in json.dumps(words, ensure_ascii=False)
    covered = [place for word in words for place in word["tokens"]]
    seen = [place for place, (begin, end) in enumerate(trace.offsets) if begin < end]
    assert sorted(covered) == seen
    for word in words:
        begin, end = word["start"], word["end"]
        places = [trace.offsets[place] for place in word["tokens"]]
        assert (places[0][0], places[-1][1]) == (begin, end)
        assert word["gap"] == (trace.text[begin:end] == MASK)
    between = [trace.text[one["end"] : other["start"]] for one, other in itertools.pairwise(words)]
    assert all(not part.strip() for part in between)


def test_of_a_text_that_is_cut_only_the_words_that_were_read_can_be_hidden(filler):
    text = "A film and a plot. " * 20
    bench, trace = opened(text), filler.trace(text)
    assert trace.num_dropped
    read = {place for place, (begin, end) in enumerate(trace.offsets) if begin < end}
    assert {place for word in bench.said["words"] for place in word["tokens"]} == read


def test_if_there_are_more_gaps_than_the_page_lists_it_says_so():
    *listed, more = opened("[MASK] " * 10).said["gaps"]
    assert len(listed) == 8
    assert more[0]["said"] == "The predictions for the first 8 of 10 [MASK] are shown."


def test_without_a_gap_it_is_said_how_to_make_one():
    bench = opened("What a film.")
    [[said]] = bench.said["gaps"]
    assert said["said"].startswith("Press a")
    assert "[MASK]" in said["said"]
    assert bench.said["answer"] == []


def test_the_masks_page_says_what_becomes_of_what_is_filled_in(filler):
    bench = open_bench("filler", text=TEXT, experiment={"page": "masks", "mask": "causal"})
    own, causal = filler.trace(TEXT).probs, filler.trace(TEXT, attention_mask="causal").probs
    others = (own.argmax(axis=-1) != causal.argmax(axis=-1)).sum()
    said = f"At **{others}** of {len(own)} positions the model now predicts another token"
    assert said in "\n".join(texts_of(bench.said["notes"]))


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_positions_page_shuffles_all_but_the_beginning(lang):
    bench = open_bench("filler", text=TEXT, experiment={"page": "positions"}, language=lang)
    assert {"en": "first gap", "zh": "第一个空缺"}[lang] in bench.menu["table"][0][-1]


def test_the_models_page_shows_it():
    assert "filler" in shown(open_page("models", model="filler"))


def test_no_class_is_claimed_for_it(filler):
    with pytest.raises(ValueError, match="predicts tokens, not classes"):
        filler.predict([TEXT])
    assert np.isclose(filler.trace(TEXT).probs.sum(axis=-1), 1).all()


def test_in_the_browser_a_word_is_hidden_and_another_press_brings_it_back(new_visitor, app):
    text = "A great plot, a great 😀 life."
    page = new_visitor()
    page.goto(f"{app[1]}/?lang=en&model=filler&text={quote(text)}")
    words = page.get_by_role("group", name="Sentence", exact=True).locator("[data-word]")
    great = words.and_(page.get_by_text("great", exact=True)).nth(1)
    great.click()
    page.get_by_role("button", name="[MASK]", exact=True).click()
    mask = words.and_(page.get_by_text("[MASK]", exact=True))
    expect(mask).to_have_attribute("aria-pressed", "true")
    expect(words).to_have_count(9)
    assert [each.strip() for each in words.all_inner_texts()].count("great") == 1
    mask.focus()
    page.keyboard.press("Enter")
    expect(words.and_(page.get_by_text("great", exact=True))).to_have_count(2)
    expect(mask).to_have_count(0)
