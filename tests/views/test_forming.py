"""The heads of a training: what is packed, and what a browser shows of it."""

import base64
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from lens_page import SVG, address_of, filled, painted, watched_pages
from made_traces import unpack_heads
from numpy.testing import assert_allclose
from playwright.sync_api import expect

from transformer_viz.pictures import views

FRAMES, HEADS, QUERY, KEY = 3, 5, 2, 7
WEIGHTS = np.random.default_rng(1).dirichlet(np.ones(KEY), (FRAMES, HEADS, QUERY)).astype(np.float32)
STEPS = [1, 50, 100]
QUERIES, KEYS = ["a", "the"], ["the", "the", "<b>", "$x$", "d", "e", "f"]
WORDS = {"head": "Head {head}", "reads": "reads", "step": "Step {step}", "steps": "Training step"}
WORDS |= {
    "play": "Play",
    "pause": "Pause",
    "table": "As a table",
    "rows": "Who reads",
    "largest": "Largest values",
}
TITLES = {"entropy": "entropy", "metric": "accuracy", "head": "Head {head}"}

SHOW = """async ([address, payload]) => {
    const { default: show } = await import(address);
    const bytes = Uint8Array.from(atob(payload), (letter) => letter.charCodeAt(0));
    show({ data: bytes, parentElement: document.getElementById("lapse") });
}"""


def packed(weights=WEIGHTS, steps=STEPS, tokens=(QUERIES, KEYS), **options):
    return views.heads_forming(weights, steps, tokens, labels=WORDS, **options)


def lapse():
    """Return the payload of a run that is over."""
    figure = [50, 100], [None, 0.9]
    curves = views.curves_of(STEPS, np.ones((FRAMES, HEADS)), figure, labels=TITLES)
    return packed(pictures=curves)


def test_every_head_of_every_step_is_in_percent():
    header, weights = unpack_heads(packed())
    assert_allclose(weights, WEIGHTS * 100, atol=0.5)
    assert (header["steps"], header["heads"]) == (STEPS, HEADS)
    assert (header["rows"], header["columns"]) == (QUERIES, KEYS)


def test_the_scale_of_a_head_is_one_for_all_steps_and_ends_at_its_largest_weight_or_above_a_uniform_one():
    weights = np.full((2, 3, QUERY, KEY), 1 / KEY)
    weights[1, 1], weights[0, 2] = np.eye(KEY)[[2, 3]], [[1, 0, 0, 0, 0, 0, 0], [0.5, 0.5, 0, 0, 0, 0, 0]]
    weights[1, 2] = weights[0, 2]  # masked but for two keys
    assert_allclose(unpack_heads(packed(weights, STEPS[:2]))[0]["limits"], [300 / KEY, 100, 100])


def test_the_curves_have_a_line_for_each_head_in_its_colour_and_gaps_where_nothing_was_measured():
    heads, good = unpack_heads(lapse())[0]["pictures"]
    assert [line["head"] for line in heads["lines"]] == [*range(HEADS)]
    assert all(line["steps"] == STEPS and line["values"] == [1, 1, 1] for line in heads["lines"])
    assert good["title"] == "accuracy"
    assert good["lines"][0]["values"] == [None, 0.9]


def test_weights_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"= \(2, 'head', 2, 7\).* Received shape \(3, 5, 2, 7\)"):
        packed(steps=[1, 2])


@pytest.fixture
def show(browser):
    """Return what opens a page with the heads of a training."""
    with watched_pages(browser) as new_page:

        def opened(payload):
            page = new_page(viewport={"width": 1280, "height": 1000})
            style = views.stylesheet("panel") + views.stylesheet("lapse")
            page.set_content(f'<style>{style}</style><div id="lapse"><div></div></div>')
            again(page, payload)
            return page

        yield opened


def again(page, payload):
    """Show another payload where there is one."""
    page.evaluate(SHOW, [address_of("lapse"), base64.b64encode(payload).decode()])
    painted(page)


def drawing(page, head):
    """Return the picture of a head that can be saved as SVG."""
    with page.expect_download() as download:
        page.locator("figure").nth(head).get_by_role("button", name="SVG").click()
    return ElementTree.parse(download.value.path()).getroot()


def table(page, head):
    """Return the numbers in the table of a head, row by row."""
    figure = page.locator("figure").nth(head)
    button = figure.get_by_role("button", name="As a table")
    button.click()
    rows = [row.locator("td").inner_text() for row in figure.locator("tbody tr").all()]
    button.click()
    return [[int(number) for number in re.findall(r" (\d+)(?: ·|$)", row)] for row in rows]


def largest(weights):
    """Return the three largest of each row in percent."""
    return np.sort(np.rint(weights * 100), axis=-1)[:, :-4:-1].tolist()


def test_every_head_is_a_panel_of_its_own_with_the_end_of_its_scale(show):
    page = show(packed(WEIGHTS[-1:], [100]))
    expect(page.locator("figcaption")).to_have_text([f"Head {head + 1}" for head in range(HEADS)])
    for head in range(HEADS):
        svg = drawing(page, head)
        texts = [text.text for text in svg.iter(f"{SVG}text")]
        end = f"{100 * max(WEIGHTS[-1][head].max(), 3 / KEY):.0f} %"
        assert {"0 %", end, f"Head {head + 1} · Step 100"} <= set(texts)
        assert [text.text for text in svg.iter(f"{SVG}text") if text.get("class") == "column"] == KEYS
        assert [text.text for text in svg.iter(f"{SVG}text") if text.get("class") == "row"] == QUERIES
        assert len(filled(svg)) >= QUERY * KEY
        assert table(page, head) == largest(WEIGHTS[-1][head])
    expect(page.get_by_role("slider")).to_be_hidden()


def test_the_panels_do_not_overlap(show):
    page = show(packed())
    boxes = [figure.bounding_box() for figure in page.locator("figure").all()]
    for i, one in enumerate(boxes):
        for other in boxes[:i]:
            beside = one["x"] >= other["x"] + other["width"] or other["x"] >= one["x"] + one["width"]
            assert beside or one["y"] >= other["y"] + other["height"]


def test_the_slider_shows_the_heads_of_its_step(show):
    page = show(lapse())
    slider, output = page.get_by_role("slider", name="Training step"), page.locator(".lapse output")
    expect(output).to_have_text("Step 100")
    curves = page.locator(".curves canvas")
    pictures = []
    for frame, key in enumerate(("Home", "ArrowRight", "ArrowRight")):
        slider.press(key)
        expect(output).to_have_text(f"Step {STEPS[frame]}")
        painted(page)
        for head in range(HEADS):
            assert table(page, head) == largest(WEIGHTS[frame][head])
        pictures.append(curves.evaluate("canvas => canvas.toDataURL()"))
    assert len(set(pictures)) == FRAMES  # the line in the curves moves along


def test_the_steps_are_played_from_the_first_to_the_last_and_can_be_paused(show):
    page = show(lapse())
    output = page.locator(".lapse output")
    output.evaluate("""output => {
        window.seen = [];
        const watch = new MutationObserver(() => window.seen.push(output.textContent));
        watch.observe(output, {childList: true, characterData: true, subtree: true});
    }""")
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("window.seen.at(-1) === 'Step 100'")
    assert list(dict.fromkeys(page.evaluate("window.seen"))) == ["Step 1", "Step 50", "Step 100"]
    page.get_by_role("button", name="Play").evaluate("button => { button.click(); button.click() }")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    page.wait_for_timeout(600)
    assert output.inner_text() == "Step 1"


def test_a_press_on_the_curves_goes_to_the_step(show):
    page = show(lapse())
    box = page.locator(".curves canvas").bounding_box()
    page.mouse.click(box["x"] + 46, box["y"] + 80)
    expect(page.locator(".lapse output")).to_have_text("Step 1")


def test_what_curves_hold_is_said_of_the_step_that_is_pointed_at(show):
    page = show(lapse())
    box, tip = page.locator(".curves canvas").bounding_box(), page.locator(".lapse > .tip")
    page.mouse.move(box["x"] + 46, box["y"] + 80)
    expect(tip).to_have_text("Step 1 " + " ".join(f"Head {head + 1}: 1" for head in range(HEADS)))
    page.mouse.move(box["x"] + box["width"] - 60, box["y"] + 80)
    expect(tip).to_have_text("Step 100 accuracy: 0.9")
    page.mouse.move(box["x"] + 46, 0)
    expect(tip).to_be_hidden()


def test_a_cell_is_pointed_at_in_all_heads(show):
    page = show(packed())
    page.locator("figure canvas").first.focus()
    for key in ("ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    for head in range(HEADS):
        percent = np.rint(WEIGHTS[-1][head][0, 1] * 100)
        tip = page.locator("figure").nth(head).locator(".tip")
        expect(tip).to_have_text(f"a reads the: {percent:.0f} %")


def test_the_step_stays_when_another_layer_is_shown_and_follows_a_run_at_its_end(show):
    page = show(packed())
    page.get_by_role("slider").press("Home")
    again(page, packed(WEIGHTS[:, :2]))
    expect(page.locator(".lapse output")).to_have_text("Step 1")
    expect(page.locator("figure")).to_have_count(2)
    assert table(page, 1) == largest(WEIGHTS[0][1])
    page.get_by_role("slider").press("End")
    again(page, packed(np.concatenate([WEIGHTS, WEIGHTS[:1]]), [*STEPS, 150]))
    expect(page.locator(".lapse output")).to_have_text("Step 150")
    assert table(page, 4) == largest(WEIGHTS[0][4])
