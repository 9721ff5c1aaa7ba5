"""The usual roles of heads in a real browser: below the thumbnails, as a legend, and to sort by."""

import re

import numpy as np
import pytest
from lens_page import (
    SVG,
    canvas,
    choose,
    choose_kind,
    chosen,
    drawing,
    page_place,
    painted,
    pick,
    pixel,
    thumbnails,
)
from made_traces import encoder_trace, usually
from playwright.sync_api import expect

from transformer_viz.network.tensors import weights_only
from transformer_viz.trace.trace import Trace

ENCODER = [
    [("previous", 0.41), None, ("previous", 1.0)],
    [("even", 0.95), ("itself", 0.62), ("previous", 0.54)],
]
CROSS = [[("diagonal", 0.7), None, None], [None] * 3, [None, None, ("diagonal", 0.8)]]
ROLES = ["itself 1", "previous token 3", "uniform 1", "no fixed pattern 1"]
PREVIOUS = {0, 2, 5}

WIDTHS = """(texts) => {
    const pen = new OffscreenCanvas(1, 1).getContext("2d");
    return texts.map(([text, font]) => (pen.font = font, pen.measureText(text).width));
}"""


@pytest.fixture
def grid(show, masked):
    """A page of all heads of an encoder that has usual roles."""
    return show(masked, start={"view": "grid"}, **usually({"encoder": ENCODER}))


@pytest.fixture
def places(grid):
    """The middle of each thumbnail on that page."""
    found = thumbnails(grid)
    grid.mouse.move(0, 0)
    return found


def legend(page, name="Usual pattern"):
    return page.get_by_role("group", name=name, exact=True)


def role(page, name):
    return legend(page).get_by_role("button", name=name, exact=True)


def lit(page, places):
    """Return which heads are lit, by the middles of the thumbnails: the others are seen through."""
    painted(page)
    opaque = [pixel(page, "grid", place)[3] for place in places]
    assert set(opaque) <= {51, 255}
    return {number for number, alpha in enumerate(opaque) if alpha == 255}


def test_each_thumbnail_has_its_usual_role_and_its_share(grid):
    said = [text.text for text in drawing(grid).iter(f"{SVG}text") if "%" in text.text]
    assert said == [
        "previous token · 41%",
        "previous token · 100%",
        "uniform · 95%",
        "itself · 62%",
        "previous token · 54%",
    ]
    assert legend(grid).get_by_role("button").all_inner_texts() == ROLES
    assert role(grid, "previous token 3").get_attribute("title") == "L1 H3 100% · L2 H3 54% · L1 H1 41%"


def test_a_press_on_a_role_lights_its_heads_until_the_next_press(grid, places):
    assert lit(grid, places) == {*range(6)}
    role(grid, "previous token 3").click()
    grid.mouse.move(0, 0)
    assert lit(grid, places) == PREVIOUS
    expect(role(grid, "previous token 3")).to_have_attribute("aria-pressed", "true")
    expect(grid.locator(".grid h3")).to_have_text("All heads · 2 × 3 · previous token 3")
    role(grid, "no fixed pattern 1").click()
    grid.mouse.move(0, 0)
    assert lit(grid, places) == {1}
    assert grid.locator("[data-key^=role][aria-pressed=true]").count() == 1
    role(grid, "no fixed pattern 1").click()
    assert lit(grid, places) == {*range(6)}  # at once, with the pointer still there
    expect(grid.locator(".grid h3")).to_have_text("All heads · 2 × 3")


def test_a_role_is_lit_while_it_is_pointed_at(grid, places):
    role(grid, "uniform 1").hover()
    assert lit(grid, places) == {3}
    role(grid, "previous token 3").click()
    role(grid, "itself 1").hover()
    assert lit(grid, places) == {4}
    grid.mouse.move(0, 0)
    assert lit(grid, places) == PREVIOUS


def test_roles_are_lit_and_kept_and_released_by_keys_alone(grid, places):
    grid.get_by_role("combobox", name="Order of heads").focus()
    grid.keyboard.press("Tab")
    expect(role(grid, "itself 1")).to_be_focused()
    assert lit(grid, places) == {4}
    grid.keyboard.press("ArrowRight")
    assert lit(grid, places) == PREVIOUS
    for key in ("Enter", "Space"):
        grid.keyboard.press(key)
        expect(role(grid, "previous token 3")).to_be_focused()
        pressed = str(key == "Enter").lower()
        expect(role(grid, "previous token 3")).to_have_attribute("aria-pressed", pressed)
    assert lit(grid, places) == {*range(6)}
    grid.keyboard.press("Enter")
    grid.keyboard.press("Tab")
    expect(canvas(grid, "grid")).to_be_focused()
    assert lit(grid, places) == PREVIOUS
    grid.keyboard.press("Escape")
    assert lit(grid, places) == {*range(6)}
    expect(role(grid, "previous token 3")).to_have_attribute("aria-pressed", "false")
    role(grid, "previous token 3").press("Enter")
    grid.keyboard.press("Escape")
    assert lit(grid, places) == {*range(6)}
    expect(role(grid, "previous token 3")).to_have_attribute("aria-pressed", "false")


def test_a_kept_role_stays_when_a_head_is_chosen(grid, places):
    role(grid, "previous token 3").click()
    grid.mouse.click(*page_place(grid, places[4], "grid"))
    assert chosen(grid) == (2, 2)
    grid.mouse.move(0, 0)
    assert lit(grid, places) == PREVIOUS
    expect(role(grid, "previous token 3")).to_have_attribute("aria-pressed", "true")


def test_sorted_by_role_each_has_a_heading_and_its_heads_from_the_strongest_down(grid):
    pick(grid, "Order of heads", "role")
    said = [text.text for text in drawing(grid).iter(f"{SVG}text") if text.get("x")]
    heads = [text for text in said if re.fullmatch(r"L\d H\d|\d+%", text)]
    assert heads == [
        *("L2 H2", "62%"),
        *("L1 H3", "100%", "L2 H3", "54%", "L1 H1", "41%"),
        *("L2 H1", "95%"),
        "L1 H2",
    ]
    assert [text for text in said if text in ROLES] == ROLES
    canvas(grid, "grid").focus()
    for key, place in {"Up": (2, 2), "Right": (1, 3), "Down": (2, 1)}.items():
        grid.keyboard.press(f"Arrow{key}")
        assert chosen(grid) == place


@pytest.mark.parametrize("shares", [None, {"encoder": [[""] * 3] * 2}], ids=["unknown", "none"])
def test_where_no_head_has_a_usual_role_nothing_is_shown_of_it(show, masked, shares):
    page = show(masked, start={"view": "grid"}, **({"shares": shares} if shares else {}))
    expect(legend(page)).to_have_count(0)
    said = [text.text for text in drawing(page).iter(f"{SVG}text") if text.get("text-anchor") == "middle"]
    assert said == ["1", "2", "3", "1", "2"]  # of heads and layers
    assert canvas(page, "grid").bounding_box()["height"] == 24 + 2 * (140 + 6) + 6


def test_each_kind_of_attention_has_its_own_roles(show, writing):
    page = show(writing, start={"view": "grid"}, **usually({"encoder": ENCODER, "cross": CROSS}))
    assert legend(page).get_by_role("button").all_inner_texts() == ["in order 2", "no fixed pattern 7"]
    role(page, "no fixed pattern 7").click()
    choose_kind(page, "encoder self-attention")
    page.mouse.move(0, 0)
    assert legend(page).get_by_role("button").all_inner_texts() == ROLES
    assert lit(page, thumbnails(page)) == {1}
    choose_kind(page, "masked self-attention")
    expect(legend(page)).to_have_count(0)
    assert lit(page, thumbnails(page)) == {*range(9)}
    choose_kind(page, "encoder self-attention")
    assert lit(page, thumbnails(page)) == {*range(6)}


def test_in_another_view_no_head_is_faint(grid, places):
    role(grid, "uniform 1").click()
    choose(grid, "View", "Side by side")
    expect(legend(grid)).to_have_count(0)
    choose(grid, "View", "All heads")
    grid.mouse.move(0, 0)
    assert lit(grid, places) == {*range(6)}


def test_roles_are_named_in_the_language_of_the_page(show, masked):
    page = show(masked, start={"view": "grid"}, **usually({"encoder": ENCODER}, "zh"))
    names = legend(page, "通常的模式").get_by_role("button").all_inner_texts()
    assert names == ["自身 1", "前一个词元 3", "均匀 1", "无固定模式 1"]


@pytest.mark.quick("1440-en", "900-zh", "390-en")
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("width", [1440, 1100, 900, 390])
def test_the_roles_of_144_heads_do_not_overlap_nor_leave_the_picture(show, width, language):
    names = ["previous", "punctuation", "after_same", "focused", None]
    drawn = np.random.default_rng(4).integers(len(names), size=(12, 12))
    heads = [[names[i] and (names[i], 0.35 + 0.005 * i * j) for j, i in enumerate(layer)] for layer in drawn]
    trace = encoder_trace([f"t{number}" for number in range(9)], layers=1, heads=12)
    weights = weights_only(trace.values)
    trace = Trace(**{**vars(trace), "values": weights._replace(encoder=weights.encoder * 12)})
    page = show(trace, start={"view": "grid"}, width=width, **usually({"encoder": heads}, language))
    for sort in ("place", "role"):
        page.get_by_role("combobox").select_option(sort)
        painted(page)
        texts = [text for text in drawing(page).iter(f"{SVG}text") if text.get("text-anchor") == "middle"]
        fonts = [(text.text, text.get("style").removeprefix("font:")) for text in texts]
        widths = page.evaluate(WIDTHS, fonts)
        rows = {}
        for text, size in zip(texts, widths, strict=True):
            middle = float(text.get("x"))
            rows.setdefault(text.get("y"), []).append((middle - size / 2, middle + size / 2))
        view = canvas(page, "grid").bounding_box()["width"]
        for row in rows.values():
            ends = [end for box in sorted(row) for end in box]
            assert ends == sorted(ends)
            assert ends[0] >= 0
            assert ends[-1] <= view
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
