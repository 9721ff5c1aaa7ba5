"""Matrices of one group in a real browser, the heads of a training: they show what was packed."""

import base64
import csv
import io
import struct
from xml.etree import ElementTree

import numpy as np
import pytest
from lens_page import SVG, address_of, filled, painted, watched_pages
from numpy.testing import assert_allclose
from playwright.sync_api import expect

from transformer_viz.pictures import views

WORDS = {"head": "Head {head}", "reads": "reads", "step": "Step {step}", "steps": "Training step"}
WORDS |= {"play": "Play", "pause": "Pause"}
WORDS |= {"table": "As a table", "rows": "Who reads", "largest": "Largest values"}
HEADS = (0, 1, 2)

SHOW = """async ([address, payload]) => {
    const { default: show } = await import(address);
    const bytes = Uint8Array.from(atob(payload), (letter) => letter.charCodeAt(0));
    show({ data: bytes, parentElement: document.body });
}"""


@pytest.fixture
def show(browser):
    """Return what opens a page with three heads, by default with the same weights."""
    with watched_pages(browser) as new_page:

        def opened(*weights, tokens=None, width=332, theme="light"):
            page = new_page(viewport={"width": 3 * width + 60, "height": 1000}, color_scheme=theme)
            page.set_content(
                f"<style>{views.stylesheet('panel')}{views.stylesheet('lapse')}</style><div></div>"
            )
            tokens = tokens or [f"t{number}" for number in range(len(weights[0]))]
            heads = np.stack([*weights, *weights[-1:] * (3 - len(weights))])
            payload = views.heads_forming(heads[None], [100], (tokens, tokens), labels=WORDS, name="layer2")
            page.evaluate(SHOW, [address_of("lapse"), base64.b64encode(payload).decode()])
            painted(page)
            return page

        yield opened


def place(page, head):
    return page.locator("figure").nth(head)


def canvas(page, head):
    return place(page, head).locator("canvas")


def tip(page, head):
    return place(page, head).locator(".tip")


def saved(page, kind, head=0):
    """Return the content of a file that a panel saves."""
    with page.expect_download() as download:
        place(page, head).get_by_role("button", name=kind).click()
    assert download.value.suggested_filename == f"layer2-{head + 1}-100.{kind.lower()}"
    with open(download.value.path(), "rb") as file:
        return file.read()


def drawing(page, head=0):
    return ElementTree.fromstring(saved(page, "SVG", head))


def labels(svg, side):
    """Return the labels of the rows or of the columns."""
    return [text for text in svg.iter(f"{SVG}text") if text.get("class") == side]


def cells(svg, count):
    """Return (x, y, width, height) of all cells, which follow what shows through gaps."""
    back, *drawn = filled(svg)[: count + 1]
    return back[:4], [each[:4] for each in drawn]


def point(page, head, row, column, size):
    """Point at a cell."""
    (x, y, width, height), _ = cells(drawing(page, head), 0)
    box = canvas(page, head).bounding_box()
    above = float(drawing(page, head).get("height")) - box["height"] - 14
    at = x + (column + 0.5) * width / size, y + (row + 0.5) * height / size
    assert above > 14  # the title stands above the picture
    page.mouse.move(box["x"] + at[0], box["y"] + at[1])
    painted(page)


def random(size, seed=0):
    return np.random.default_rng(seed).dirichlet(np.ones(size), size)


def percent(weight):
    return f"{np.rint(100 * np.float32(weight)):.0f} %"


@pytest.mark.parametrize(("token", "width"), [("好", 332), ("station", 600), ("x" * 60, 240)])
def test_cells_are_square_and_all_few_tokens_are_written(show, token, width):
    page = show(np.eye(5), tokens=[token] * 5, width=width)
    svg = drawing(page)
    (_, _, across, down), _ = cells(svg, 0)
    assert across == down > 60
    assert len(labels(svg, "row")) == len(labels(svg, "column")) == 5


def test_a_label_that_is_cut_is_whole_in_the_tip(show):
    page = show(np.eye(1), tokens=["x" * 20])
    assert labels(drawing(page), "column")[0].text.endswith("…")
    point(page, 0, 0, 0, 1)
    expect(tip(page, 0)).to_have_text(f"{'x' * 20} reads {'x' * 20}: 100 %")


def test_the_scale_stands_below_the_cells_as_wide_as_they_are(show):
    page = show(random(5), random(5, 1))
    for head in HEADS:
        svg = drawing(page, head)
        assert f"Head {head + 1} · Step 100" in [text.text for text in svg.iter(f"{SVG}text")]
        back, _ = cells(svg, 25)
        scale = [rect for rect in filled(svg) if rect[1] >= back[1] + back[3]]
        assert min(rect[0] for rect in scale) == back[0]
        assert_allclose(max(rect[0] + rect[2] for rect in scale), back[0] + back[2], atol=0.02)


@pytest.mark.parametrize("size", [1, 3])
def test_the_numbers_at_the_ends_of_a_scale_have_room(show, size):
    page = show(np.eye(size))
    inside = """svg => {
        const page = document.body.appendChild(document.createElement("div"));
        page.innerHTML = svg;
        const edge = page.firstChild.getBoundingClientRect();
        const texts = [...page.querySelectorAll("text")].map((each) => each.getBoundingClientRect());
        return texts.every((each) => each.left >= edge.left && each.right <= edge.right);
    }"""
    assert page.evaluate(inside, saved(page, "SVG", 2).decode())


def test_a_cell_is_pointed_at_in_all_panels(show):
    weights = [random(7), random(7, 1), random(7, 2)]
    page = show(*weights)
    (_, top, _, height), _ = cells(drawing(page), 0)
    bottom = top + height
    point(page, 1, 2, 5, 7)
    for head in HEADS:
        expect(tip(page, head)).to_have_text(f"t2 reads t5: {percent(weights[head][2, 5])}")
    for head in (0, 2):  # where the pointer is not, no cell is covered
        assert tip(page, head).bounding_box()["y"] >= canvas(page, head).bounding_box()["y"] + bottom
    page.mouse.move(0, 0)
    for head in HEADS:
        expect(tip(page, head)).to_be_hidden()


def test_what_is_zoomed_into_is_so_in_all_panels_and_moved_together(show):
    page = show(random(20))
    whole = [canvas(page, head).evaluate("canvas => canvas.toDataURL()") for head in HEADS]
    canvas(page, 2).focus()
    for key in ("+", "+", "+"):
        page.keyboard.press(key)
    painted(page)
    seen = [[text.text for text in labels(drawing(page, head), "row")] for head in HEADS]
    assert seen[0] == seen[1] == seen[2]
    assert 4 <= len(seen[0]) < 20
    canvas(page, 0).focus()
    for _ in range(20):
        page.keyboard.press("ArrowDown")
    painted(page)
    for head in HEADS:
        assert labels(drawing(page, head), "row")[-1].text == "t19"
    box = canvas(page, 1).bounding_box()
    page.mouse.dblclick(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    canvas(page, 1).press("Escape")
    page.mouse.move(0, 0)
    painted(page)
    assert [canvas(page, head).evaluate("canvas => canvas.toDataURL()") for head in HEADS] == whole


def test_a_cell_is_moved_to_and_said_by_keys_alone(show):
    weights = random(5)
    page = show(weights)
    canvas(page, 0).focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    said = f"t1 reads t1: {percent(weights[1, 1])}"
    assert place(page, 0).locator(".spoken").text_content() == said
    assert place(page, 1).locator(".spoken").text_content() == ""
    page.keyboard.press("Escape")
    expect(tip(page, 0)).to_be_hidden()


def test_a_file_with_commas_holds_every_value(show):
    weights, tokens = random(5), ["a", 'b"', "c,d", "好", "=1"]
    page = show(weights, tokens=tokens)
    content = saved(page, "CSV").decode("utf-8-sig")
    header, *rows = csv.reader(io.StringIO(content))
    assert header == ["", *tokens]
    assert [row[0] for row in rows] == tokens
    assert_allclose(np.array([row[1:] for row in rows], float), 100 * weights, atol=0.5)


def test_the_table_names_the_largest_values_of_each_row(show):
    weights = random(5)
    page = show(weights)
    button = place(page, 0).get_by_role("button", name="As a table")
    button.click()
    expect(button).to_have_attribute("aria-expanded", "true")
    rows = place(page, 0).locator("tbody tr")
    shown = np.rint(100 * np.float32(weights))
    for number, row in enumerate(rows.all()):
        best = np.argsort(-shown[number], kind="stable")[:3]
        said = " · ".join(f"t{column} {shown[number, column]:.0f}" for column in best)
        assert row.locator("th, td").all_inner_texts() == [f"t{number}", said]
    button.click()
    expect(rows).to_have_count(0)


def test_a_png_is_the_panel_twice_as_large_under_its_title(show):
    page = show(random(5))
    box = canvas(page, 0).bounding_box()
    size = struct.unpack(">II", saved(page, "PNG")[16:24])
    assert_allclose(size, [2 * (box["width"] + 28), 2 * (box["height"] + 28 + 27)], atol=2)
