"""Panels in a real browser, on a page of their own: what they show and say is what Python packed."""

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

LABELS = {"weight": "weight", "reads": "reads", "query": "who reads", "key": "who is read"}
WORDS = {"table": "As a table", "rows": "Who reads", "largest": "Largest values"}
NAMES = ("before", "after", "difference")

SHOW = """async ([address, data]) => {
    const { default: show } = await import(address);
    show({ data, parentElement: document.body });
}"""


@pytest.fixture
def show(browser):
    """Return what opens a page with the three panels of a change."""
    with watched_pages(browser) as new_page:

        def opened(before, after=None, tokens=None, *, width=332, theme="light"):
            page = new_page(viewport={"width": 3 * width + 60, "height": 1000}, color_scheme=theme)
            page.set_content(
                f"<style>{views.stylesheet('panel')}{views.stylesheet('panels')}"
                f".panels section {{ width: {width}px }}</style><div></div>"
            )
            tokens = tokens or [f"t{number}" for number in range(len(before))]
            panels = views.attention_change(before, before if after is None else after, tokens, labels=LABELS)
            panels = [
                {**panel, "words": WORDS, "paint": None, "formula": "W_2 − W^T", "heading": f"{name}!"}
                | {"name": name, "title": name.title(), "alt": f"Picture {name}"}
                for name, panel in panels.items()
            ]
            page.evaluate(SHOW, [address_of("panels"), {"panels": panels, "least": width, "share": 0}])
            painted(page)
            return page

        yield opened


def place(page, name):
    return page.locator(f"[data-name={name}]")


def canvas(page, name):
    return place(page, name).locator("canvas")


def tip(page, name):
    return place(page, name).locator(".tip")


def saved(page, kind, name="before"):
    """Return the content of a file that a panel saves."""
    with page.expect_download() as download:
        place(page, name).get_by_role("button", name=kind).click()
    assert download.value.suggested_filename == f"{name}.{kind.lower()}"
    with open(download.value.path(), "rb") as file:
        return file.read()


def drawing(page, name="before"):
    return ElementTree.fromstring(saved(page, "SVG", name))


def labels(svg, side):
    """Return the labels of the rows or of the columns."""
    return [text for text in svg.iter(f"{SVG}text") if text.get("class") == side]


def cells(svg, count):
    """Return (x, y, width, height) of all cells, which follow what shows through gaps."""
    back, *drawn = filled(svg)[: count + 1]
    return back[:4], [each[:4] for each in drawn]


def point(page, name, row, column, size):
    """Point at a cell."""
    (x, y, width, height), _ = cells(drawing(page, name), 0)
    box = canvas(page, name).bounding_box()
    above = float(drawing(page, name).get("height")) - box["height"] - 14
    at = x + (column + 0.5) * width / size, y + (row + 0.5) * height / size
    assert above > 14  # the title stands above the picture
    page.mouse.move(box["x"] + at[0], box["y"] + at[1])
    painted(page)


def random(size, seed=0):
    return np.random.default_rng(seed).dirichlet(np.ones(size), size)


@pytest.mark.parametrize(("token", "width"), [("好", 332), ("station", 600), ("x" * 60, 240)])
def test_cells_are_square_and_all_few_tokens_are_written(show, token, width):
    page = show(np.eye(5), tokens=[token] * 5, width=width)
    svg = drawing(page)
    (_, _, across, down), _ = cells(svg, 0)
    assert across == down >= (width - 96 - 48 if width < 300 else 200)
    assert len(labels(svg, "row")) == len(labels(svg, "column")) == 5


def test_a_label_that_is_cut_is_whole_in_the_tip(show):
    page = show(np.eye(1), tokens=["x" * 20])
    assert labels(drawing(page), "column")[0].text.endswith("…")
    point(page, "before", 0, 0, 1)
    expect(tip(page, "before")).to_have_text(f"{'x' * 20} reads {'x' * 20} weight: 1.0000")


def test_names_of_rows_and_columns_and_the_scale_stand_around_the_cells(show):
    page = show(random(5), random(5, 1))
    for name in NAMES:
        svg = drawing(page, name)
        texts = [text.text for text in svg.iter(f"{SVG}text")]
        assert {"who reads", "who is read", name.title()} <= set(texts)
        back, _ = cells(svg, 25)
        scale = [rect for rect in filled(svg) if rect[1] >= back[1] + back[3]]
        assert min(rect[0] for rect in scale) == back[0]
        assert_allclose(max(rect[0] + rect[2] for rect in scale), back[0] + back[2], atol=0.02)


@pytest.mark.parametrize("change", [0.097, 1.2e-5])
def test_the_numbers_at_the_ends_of_a_scale_have_room(show, change):
    before = np.full((3, 3), 0.25)
    page = show(before, before + change)
    inside = """svg => {
        const page = document.body.appendChild(document.createElement("div"));
        page.innerHTML = svg;
        const edge = page.firstChild.getBoundingClientRect();
        const texts = [...page.querySelectorAll("text")].map((each) => each.getBoundingClientRect());
        return texts.every((each) => each.left >= edge.left && each.right <= edge.right);
    }"""
    assert page.evaluate(inside, saved(page, "SVG", "difference").decode())


def test_each_panel_stands_below_its_name_and_its_formula(show):
    page = show(random(5))
    for name in NAMES:
        expect(place(page, name).get_by_role("heading")).to_have_text(f"{name}!")
        formula = place(page, name).locator(".formula")
        expect(formula).to_have_text("W2 − WT")
        for kind, texts in {"i": ["W", "W", "T"], "sub": ["2"], "sup": ["T"]}.items():
            assert formula.locator(kind).all_inner_texts() == texts


def test_a_cell_is_pointed_at_in_all_panels(show):
    before, after = random(7), random(7, 1)
    page = show(before, after)
    (_, top, _, height), _ = cells(drawing(page), 0)
    bottom = top + height
    point(page, "after", 2, 5, 7)
    for name, value in (("before", before), ("after", after), ("difference", after - before)):
        number = f"{value[2, 5]:+.4f}" if name == "difference" else f"{value[2, 5]:.4f}"
        expect(tip(page, name)).to_have_text(f"t2 reads t5 weight: {number}")
    for name in ("before", "difference"):  # where the pointer is not, no cell is covered
        assert tip(page, name).bounding_box()["y"] >= canvas(page, name).bounding_box()["y"] + bottom
    page.mouse.move(0, 0)
    for name in NAMES:
        expect(tip(page, name)).to_be_hidden()


def test_what_is_zoomed_into_is_so_in_all_panels_and_moved_together(show):
    page = show(random(20))
    whole = [canvas(page, name).evaluate("canvas => canvas.toDataURL()") for name in NAMES]
    canvas(page, "difference").focus()
    for key in ("+", "+", "+"):
        page.keyboard.press(key)
    painted(page)
    seen = [[text.text for text in labels(drawing(page, name), "row")] for name in NAMES]
    assert seen[0] == seen[1] == seen[2]
    assert 4 <= len(seen[0]) < 20
    canvas(page, "before").focus()
    for _ in range(20):
        page.keyboard.press("ArrowDown")
    painted(page)
    for name in NAMES:
        assert labels(drawing(page, name), "row")[-1].text == "t19"
    box = canvas(page, "after").bounding_box()
    page.mouse.dblclick(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    canvas(page, "after").press("Escape")
    page.mouse.move(0, 0)
    painted(page)
    assert [canvas(page, name).evaluate("canvas => canvas.toDataURL()") for name in NAMES] == whole


def test_a_cell_is_moved_to_and_said_by_keys_alone(show):
    weights = random(5)
    page = show(weights)
    page.keyboard.press("Tab")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    said = f"t1 reads t1\nweight: {weights[1, 1]:.4f}"
    assert place(page, "before").locator(".spoken").text_content() == said
    assert place(page, "after").locator(".spoken").text_content() == ""
    page.keyboard.press("Escape")
    expect(tip(page, "before")).to_be_hidden()


def test_a_file_with_commas_holds_every_value(show):
    weights, tokens = random(5), ["a", 'b"', "c,d", "好", "=1"]
    page = show(weights, tokens=tokens)
    content = saved(page, "CSV").decode("utf-8-sig")
    header, *rows = csv.reader(io.StringIO(content))
    assert header == ["", *tokens]
    assert [row[0] for row in rows] == tokens
    assert_allclose(np.array([row[1:] for row in rows], float), weights, rtol=1e-5)


def test_the_table_names_the_largest_values_of_each_row(show):
    weights = random(5)
    page = show(weights)
    button = place(page, "before").get_by_role("button", name="As a table")
    button.click()
    expect(button).to_have_attribute("aria-expanded", "true")
    rows = place(page, "before").locator("tbody tr")
    for number, row in enumerate(rows.all()):
        best = np.argsort(-weights[number])[:3]
        said = " · ".join(f"t{column} {weights[number, column]:.3f}" for column in best)
        assert row.locator("th, td").all_inner_texts() == [f"t{number}", said]
    button.click()
    expect(rows).to_have_count(0)


def test_a_png_is_the_panel_twice_as_large_under_its_title(show):
    page = show(random(5))
    box = canvas(page, "before").bounding_box()
    size = struct.unpack(">II", saved(page, "PNG")[16:24])
    assert_allclose(size, [2 * (box["width"] + 28), 2 * (box["height"] + 28 + 27)], atol=2)
