import base64
import re
import sys

import pytest
from playwright.sync_api import expect

import transformer_viz as tv
from transformer_viz.language import Words
from transformer_viz.pictures.effects import effect_texts
from transformer_viz.pictures.notebook import show
from transformer_viz.questions.effects.heads import head_effects

TEXT, TARGET = "A lovely film, not good.", "one two three"


@pytest.fixture(scope="module")
def trace(translator):
    return translator.trace(TEXT, target=TARGET)


def test_a_trace_shows_itself_in_a_notebook_and_begins_where_it_is_told(browser, trace):
    frame = show(trace, kind="cross", layer=0, head=1, view="matrix")._repr_html_()
    page = browser.new_page()
    page.set_content(f"<!doctype html><body>{frame}")
    inside = page.frame_locator("iframe")
    expect(inside.locator(".place")).to_contain_text("Layer 1, head 2")
    expect(inside.locator(".matrix canvas")).to_be_visible()
    expect(inside.locator(".lines canvas")).to_be_hidden()
    heights = "frame => [frame.clientHeight, frame.contentDocument.documentElement.scrollHeight]"
    own, shown = page.locator("iframe").evaluate(heights)
    assert own == shown
    assert page.locator("body").inner_text() == ""
    page.close()


def without_scripts(page):
    """Return what is left of a page in a notebook that takes frames away, and its other forms."""
    bundle = page._repr_mimebundle_()
    return re.sub("<iframe.*</iframe>", "", bundle.pop("text/html"), flags=re.DOTALL), bundle


def test_a_notebook_without_scripts_shows_a_table_and_names_the_extra(trace, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "transformer_viz.pictures.static", raising=False)
    monkeypatch.delattr("transformer_viz.pictures.static", raising=False)
    html, others = without_scripts(show(trace, kind="encoder", layer=0, head=1))
    assert others.keys() == {"text/plain"}
    assert "pip install &quot;transformer-viz[figures]&quot;" in html
    assert "<th>Query</th><th>Most attended keys</th>" in html
    weights = trace.encoder[0].attention.weights[1]
    first = weights[0].argmax()
    assert f"{weights[0, first]:.3g} ·" in html
    assert html.count("<tr>") == 1 + len(trace.tokens)


def test_a_notebook_without_scripts_shows_a_picture(trace):
    pytest.importorskip("matplotlib")
    html, others = without_scripts(show(trace))
    png = base64.b64decode(others["image/png"])
    assert png.startswith(b"\x89PNG")
    assert f"data:image/png;base64,{others['image/png']}" in html
    assert "a trusted notebook shows all heads here" in html


def test_what_is_saved_opens_by_itself_and_asks_for_nothing(browser, trace, tmp_path):
    show(trace, language="zh").save(tmp_path / "attention.html")
    page, asked = browser.new_page(), []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((tmp_path / "attention.html").as_uri())
    expect(page.locator(".place")).to_contain_text("第 1 层")
    expect(page.locator("html")).to_have_attribute("lang", "zh-CN")
    assert {re.match("[a-z]+", url)[0] for url in asked} <= {"file", "data", "blob"}
    page.close()


def test_effects_stand_beside_each_head(browser, translator, trace):
    found = head_effects(translator, TEXT, target=TARGET)
    page = browser.new_page()
    page.set_content(show(trace, effects=found, kind="cross", head=1, view="grid").html)
    [[_, said], *_] = [layer[:2] for layer in effect_texts(Words("en"), trace, found, "cross")]
    assert said.startswith("With this head set to zero, ")
    expect(page.locator(".said .usual")).to_contain_text(said)
    page.get_by_role("combobox", name="Order of heads").select_option(label="effect on the prediction")
    page.close()


def test_the_language_of_a_page_is_no_visitors_language(trace):
    assert show(trace, language="zh").html != show(trace).html == show(trace, language="en").html


def test_a_language_that_is_not_there_is_named(trace):
    with pytest.raises(ValueError, match="`language` must be one of"):
        show(trace, language="fr")


def test_it_is_there_under_the_name_of_the_package():
    assert tv.show is show
