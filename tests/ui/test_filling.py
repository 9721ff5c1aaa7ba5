"""A model that fills in hidden tokens, on every page that looks into one."""

import json
import shutil
from urllib.parse import quote

import numpy as np
import pytest
from pages import APP, again, open_page, shown
from playwright.sync_api import expect
from small_models import REVIEWS, with_random_parameters, write
from streamlit.testing.v1 import AppTest

from transformer_viz.inspection.explorer import Explorer
from transformer_viz.pictures.labels import label_of
from transformer_viz.text.gaps import ChangedText
from transformer_viz.text.tokenizer import Tokenizer
from transformer_viz.text.unicode import visible
from transformer_viz.ui.pages.attention.filling import CHANGED
from transformer_viz.ui.pages.attention.prediction import SPECIAL
from transformer_viz.ui.shell.language import escaped
from transformer_viz.values.config import TransformerConfig
from transformer_viz.values.special import MASK

TEXT = "What a [MASK] film, not [MASK] at all."


pytestmark = pytest.mark.usefixtures("engine", "filler")


@pytest.fixture(scope="module")
def filler(models_folder):
    config = TransformerConfig(
        vocab_size=90, max_len=31, d_model=14, num_layers=2, num_heads=2, output="tokens", tie_embeddings=True
    )
    tokenizer = Tokenizer.train(REVIEWS, 90, kind="bpe", mask=True)
    config = config.replace(vocab_size=tokenizer.vocab_size)
    explorer = Explorer(with_random_parameters(config), tokenizer, name="filler")
    write(explorer, models_folder)
    yield explorer
    shutil.rmtree(models_folder / "filler")


def parts(app):
    """Return the tokens of the text, as the page gives them to the browser, and what stands between them."""
    [found] = [each for each in app.get("bidi_component") if each.proto.component_name.endswith("cloze")]
    return json.loads(found.proto.json)["parts"]


def words_of(app):
    return [part["word"] for part in parts(app) if isinstance(part, dict)]


def offered(app, place):
    """Return the buttons for a [MASK]: the likeliest tokens, then the original."""
    keys = [f"fill-{place}-{number}" for number in range(4)] + [f"restore-{place}"]
    return [button for button in app.button if button.key in keys]


def in_box(app):
    return app.text_input(key="sentence").value


def labels(buttons):
    return [button.label.replace("\\", "") for button in buttons]


def opened(text, *hidden, **address):
    """Return the page with some words of a text hidden, as presses on them would do."""
    changed = ChangedText(text)
    for word in hidden:
        begin = changed.text.rindex(word)
        changed = changed.replaced(begin, begin + len(word), MASK)
    app = AppTest.from_file(APP, default_timeout=60)
    app.session_state[CHANGED] = changed
    for name, value in {"model": "filler", "text": changed.text, **address}.items():
        app.query_params[name] = value
    return again(app)


def test_every_gap_has_its_likeliest_tokens_with_their_probabilities(filler):
    app = open_page(model="filler", text=TEXT)
    trace = filler.trace(TEXT)
    assert len(trace.gaps) == 2
    for place, around in zip(trace.gaps, ("a [MASK] film", "not [MASK] at"), strict=True):
        probs = trace.probs[place]
        likeliest = np.argsort(-probs)[:4]
        assert labels(offered(app, place)) == [f"{label_of(trace, i)} · {probs[i]:.1%}" for i in likeliest]
        assert f"“{escaped(around)}”" in shown(app)


def test_a_press_on_a_likely_token_fills_in_its_gap_alone(filler):
    app = open_page(model="filler", text=TEXT)
    trace = filler.trace(TEXT)
    first, second = trace.gaps
    number, token = next(
        (number, trace.labels[i])
        for number, i in enumerate(np.argsort(-trace.probs[second])[:4])
        if trace.labels[i] not in SPECIAL
    )
    offered(app, second)[number].click()
    again(app)
    tokens = filler.trace(in_box(app)).tokens
    assert tokens == (*trace.tokens[:second], token, *trace.tokens[second + 1 :])
    assert offered(app, first)
    assert not offered(app, second)


def test_a_press_on_a_token_for_a_text_that_was_typed_in_since_changes_nothing(filler):
    app = open_page(model="filler", text=TEXT)
    app.text_input(key="sentence").set_value("Not a [MASK] film.")
    next(
        button for button in app.button if (button.key or "").startswith("fill-") and not button.disabled
    ).click()
    assert in_box(again(app)) == "Not a [MASK] film."


def test_special_tokens_and_a_bare_space_cannot_be_pressed():
    def page():
        from types import SimpleNamespace

        import numpy as np

        from transformer_viz.ui.pages.attention.prediction import offer_labels

        probs = np.array([0.1, 0.4, 0.2, 0.3])
        labels = ("▁film", "▁", "s", "[UNK]")
        trace = SimpleNamespace(labels=labels, probs=probs[None], labels_are_spaced=True)
        offer_labels(trace, probs, key="put", on_click=print, args=())

    buttons = AppTest.from_function(page).run().button
    assert labels(buttons) == ["␣ · 40.0%", "[UNK] · 30.0%", "-s · 20.0%", "film · 10.0%"]
    assert [button.disabled for button in buttons] == [True, True, False, False]


def test_the_original_of_a_gap_has_its_probability_and_comes_back_alone(filler):
    text = "A Great life, a great 😀 plot."
    app = opened(text, "plot", "great")
    assert in_box(app) == "A Great life, a [MASK] 😀 [MASK]."
    trace = filler.trace(in_box(app))
    for place, word in zip(trace.gaps, ("great", "plot"), strict=True):
        probability = trace.probs[place, filler.labels.index(f"▁{word}")]
        assert labels(offered(app, place)[4:]) == [f"{word} · {probability:.1%}"]
    first, second = trace.gaps
    offered(app, first)[4].click()
    assert in_box(again(app)) == "A Great life, a great 😀 [MASK]."
    offered(app, second)[4].click()
    assert in_box(again(app)) == text


def test_an_original_of_several_tokens_has_no_probability_and_comes_back_too(filler):
    app = opened("What a lovelylovely film.", "lovelylovely")
    [button] = offered(app, *filler.trace(in_box(app)).gaps)[4:]
    assert button.label == "lovelylovely"
    button.click()
    assert in_box(again(app)) == "What a lovelylovely film."


def test_what_was_hidden_is_forgotten_once_the_text_is_typed_in():
    app = opened("What a lovely film.", "lovely")
    assert "restore" in {(button.key or "").split("-")[0] for button in app.button}
    app.text_input(key="sentence").set_value("Not a [MASK] film.")
    again(app)
    assert "restore" not in {(button.key or "").split("-")[0] for button in app.button}
    [gap] = [part for part in parts(app) if isinstance(part, dict) and part["hidden"]]
    assert not gap["help"]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_each_token_of_the_text_is_as_typed_and_says_what_a_press_does(filler, lang):
    text = "A “[MASK]”:\n很 👩\u200d🚀 very very unbeat!"
    app = open_page(model="filler", text=text, lang=lang)
    assert "▁" not in json.dumps(parts(app), ensure_ascii=False)
    trace = filler.trace(text)
    tokens = [part for part in parts(app) if isinstance(part, dict)]
    assert [[*offsets] for offsets in trace.offsets if offsets[0] < offsets[1]] == [
        t["place"] for t in tokens
    ]
    for token in tokens:
        typed = text[slice(*token["place"])]
        assert token["word"] == visible(typed)
        assert token["hidden"] == (typed == MASK)
        assert bool(token["help"]) == (typed != MASK)
    joined = "".join(part if isinstance(part, str) else text[slice(*part["place"])] for part in parts(app))
    assert joined == " ".join(text.split())


def test_of_a_text_that_is_cut_only_the_tokens_that_were_read_can_be_hidden(filler):
    text = "A film and a plot. " * 20
    app = open_page(model="filler", text=text)
    trace = filler.trace(text)
    assert trace.num_dropped
    assert words_of(app) == [word for word in trace.words if word]
    assert parts(app)[-1].endswith("⋯")


def test_if_there_are_more_gaps_than_the_page_lists_it_says_so():
    app = open_page(model="filler", text="[MASK] " * 10)
    listed = {button.key.split("-")[1] for button in app.button if (button.key or "").startswith("fill-")}
    assert len(listed) == 8
    assert "for the first 8 of 10" in shown(app)


def test_the_masks_page_says_what_becomes_of_what_is_filled_in(filler):
    app = open_page("masks", model="filler", text=TEXT, mask="causal")
    own, causal = filler.trace(TEXT).probs, filler.trace(TEXT, attention_mask="causal").probs
    others = (own.argmax(axis=-1) != causal.argmax(axis=-1)).sum()
    assert f"At **{others}** of {len(own)} positions the model now predicts another token" in shown(app)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_positions_page_shuffles_all_but_the_beginning(lang):
    app = open_page("positions", model="filler", text=TEXT, lang=lang)
    said = shown(app)
    assert {"en": "first gap", "zh": "第一个空缺"}[lang] in said


def test_the_models_page_shows_it():
    assert "filler" in shown(open_page("models", model="filler"))


def test_no_class_is_claimed_for_it(filler):
    with pytest.raises(ValueError, match="predicts tokens, not classes"):
        filler.predict([TEXT])
    assert np.isclose(filler.trace(TEXT).probs.sum(axis=-1), 1).all()


def test_in_the_browser_a_press_hides_one_token_and_another_brings_it_back(new_visitor, app):
    text = "A great plot, a great 😀 life."
    page = new_visitor()
    page.goto(f"{app[1]}/?model=filler&text={quote(text)}")
    box, tokens = page.get_by_label("Sentence"), page.locator(".cloze button")
    great = tokens.and_(page.get_by_text("great", exact=True)).nth(1)
    expect(great).to_have_attribute("title", "Replace “great” with [MASK]")
    great.click()
    expect(box).to_have_value("A great plot, a [MASK] 😀 life.")
    mask = page.get_by_role("button", name="[MASK]", exact=True)
    expect(mask).to_have_attribute("aria-pressed", "true")
    expect(mask).to_be_focused()
    page.keyboard.press("Enter")
    expect(box).to_have_value(text)
    expect(tokens.and_(page.get_by_text("great", exact=True))).to_have_count(2)
    expect(mask).to_have_count(0)


def test_in_the_browser_a_press_on_a_text_that_was_typed_in_since_changes_nothing(new_visitor, app):
    page = new_visitor()
    page.goto(f"{app[1]}/?model=filler&text={quote('A great plot.')}")
    token, box = page.locator(".cloze button").first, page.get_by_label("Sentence")
    expect(token).to_have_text("A")
    box.fill("Not a great plot.")
    token.click()  # the page is not yet drawn with what was typed
    expect(page.locator(".cloze")).to_contain_text("Not a great plot.", ignore_case=True)
    expect(box).to_have_value("Not a great plot.")
