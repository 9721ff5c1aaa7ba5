"""The views on a page of a browser: what can be pressed, pointed at, saved and read."""

import base64
import contextlib
import re
from decimal import ROUND_HALF_UP, Context
from xml.etree import ElementTree

import numpy as np
from playwright.sync_api import expect

from transformer_viz.pictures import views
from transformer_viz.pictures.theme import GAP

SVG = "{http://www.w3.org/2000/svg}"
FOUR_DIGITS = Context(prec=4, rounding=ROUND_HALF_UP)


@contextlib.contextmanager
def watched_pages(browser):
    """Yield a function that opens an empty page; nothing may go wrong there or be asked for elsewhere.

    Its options are those of the browser's context.
    """
    wrong, contexts = [], []

    def opened(**options):
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        page.on("console", lambda message: message.type == "error" and wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda asked: is_foreign(asked.url) and wrong.append(asked.url))
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []


def is_foreign(url):
    return not url.startswith(("file:", "data:", "blob:"))


def address_of(module):
    """Return an address at which a page can import a module of the views."""
    return f"data:text/javascript;base64,{base64.b64encode(views.module(module).encode()).decode()}"


def settle(page):
    """Wait until the server has run the page."""
    expect(page.locator("[data-testid=stApp]")).to_have_attribute("data-test-script-state", "notRunning")


def held_back(page, address):
    """Hold back what a page fetches from an address; return the list of it, to be let go by `continue_()`."""
    held = []

    def hold(route):  # Playwright takes no method of a list
        held.append(route)

    page.route(address, hold)
    return held


def painted(page):
    """Wait until what was asked for is drawn."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def canvas(page, view):
    return page.locator(f".panel.{view} .body canvas")


def page_place(page, place, view="matrix"):
    box = canvas(page, view).bounding_box()
    return box["x"] + place[0], box["y"] + place[1]


def point(page, view, place):
    """Move the pointer to a place of a canvas."""
    box = canvas(page, view).bounding_box()
    page.mouse.move(box["x"] + place[0], box["y"] + place[1])
    painted(page)


def pixel(page, view, place):
    """Return the colour (r, g, b, a) of a place of a canvas."""
    read = """(canvas, [x, y]) => [...canvas.getContext("2d")
        .getImageData(x * devicePixelRatio, y * devicePixelRatio, 1, 1).data]"""
    return canvas(page, view).evaluate(read, list(place))


def picture(page, view):
    return canvas(page, view).evaluate("(canvas) => canvas.toDataURL()")


@contextlib.contextmanager
def opened(page, menu):
    """Open a menu of the lens, "view" or "export", as long as the block lasts; no menu: do nothing."""
    button = page.locator(f".menu.{menu} > summary")
    if button.count():
        toggle(page, menu, True)
    yield
    if button.count():
        toggle(page, menu, False)


def toggle(page, menu, is_open):
    """Open or close a menu of the lens, unless it is so already."""
    if page.locator(f".menu.{menu}").evaluate("menu => menu.open") != is_open:
        page.locator(f".menu.{menu} > summary").click()


def choose(page, group, option):
    """Press a button of a group in the menu "View"."""
    with opened(page, "view"):
        page.locator(".menu.view").get_by_role("group", name=group, exact=True).get_by_role(
            "button", name=option, exact=True
        ).click()
    painted(page)


def choose_layer(page, layer):
    """Choose the head of another layer with the same number."""
    head_button(page, chosen(page)[1], layer).click()
    painted(page)


def choose_kind(page, name):
    """Choose a kind of attention: by its button, by its tab, or by the first head of its card."""
    button = page.locator(".bar, .tabs").get_by_role("button", name=name, exact=True)
    card = page.locator(".card").filter(has=page.get_by_role("heading", name=name, exact=True))
    (button if button.count() else card.locator("button").first).click()
    painted(page)


def pick(page, menu, value):
    """Select an option of a menu, above the view or in the menu "View"."""
    above = page.locator(".bar").get_by_role("combobox", name=menu)
    with contextlib.nullcontext() if above.count() else opened(page, "view"):
        page.get_by_role("combobox", name=menu).select_option(value)
    painted(page)


def options(page, menu):
    """Return the texts of the options of a menu in the menu "View"."""
    with opened(page, "view"):
        return page.get_by_role("combobox", name=menu).locator("option").all_inner_texts()


def head_button(page, head, layer=None):
    """Return the thumbnail of a head of the selected kind, by default in the selected layer."""
    rows = page.locator(".card.current .row")
    row = rows.filter(has=page.locator("[aria-current]")) if layer is None else rows.nth(layer - 1)
    return row.locator("button.head").nth(head - 1)


def shown_heads(page):
    """Return the numbers of the heads of the selected layer whose lines are shown."""
    read = """(heads) => heads.map(
        (head) => [...head.closest(".row").querySelectorAll(".head")].indexOf(head) + 1)"""
    return page.locator(".heads .head[aria-pressed=true]").evaluate_all(read)


def chosen(page):
    """Return (layer, head) as every part of the page shows them, which is one and the same."""
    read = re.compile(r"Layer (\d+), head (\d+)")
    said = read.search(page.locator(".place").inner_text()).groups()
    column = page.locator(".heads")
    if column.is_visible():
        named = column.locator("[aria-current]").get_attribute("aria-label")
        assert read.search(named).groups() == said
        assert column.locator(".head[aria-pressed=true]").count() >= 1
    return tuple(map(int, said))


def open_table(page):
    page.locator(".table summary").click()
    page.locator(".table table").wait_for()


def table(page):
    """Return the texts of each row of the open table."""
    read = "(rows) => rows.map((row) => [...row.cells].map((cell) => cell.innerText))"
    return page.locator(".table tbody tr").evaluate_all(read)  # at once: it may be drawn anew meanwhile


def saved(page, kind):
    """Return (name, content) of a download."""
    with page.expect_download() as download, opened(page, "export"):
        page.locator(f".menu.export [data-key=download-{kind.lower()}]").click()
    with open(download.value.path(), "rb") as file:
        return download.value.suggested_filename, file.read()


def drawing(page):
    """Return the picture that can be saved as SVG."""
    return ElementTree.fromstring(saved(page, "SVG")[1])


def letters(svg):
    """Return the height of the letters of every text in a picture, in pixels of the page."""
    found = []
    for text in svg.iter(f"{SVG}text"):
        scale = re.search(r"scale\(([\d.]+)", text.get("transform", ""))
        if scale or "13px" not in text.get("style"):  # the titles above a saved picture
            pixels = float(re.search(r"([\d.]+)px", text.get("style"))[1])
            found.append(round(pixels * float(scale[1] if scale else 1), 2))
    return found


def filled(svg):
    """Return (x, y, width, height, colour) of every filled rectangle but the background."""
    return [
        (*(float(rect.get(name)) for name in ("x", "y", "width", "height")), rect.get("fill"))
        for rect in svg.iter(f"{SVG}rect")
        if rect.get("x") and rect.get("fill") != "none"
    ]


def thumbnails(page):
    """Return the middle of each small picture in the order they stand in."""
    boxes = [
        tuple(float(rect.get(name)) for name in ("x", "y", "width", "height"))
        for rect in drawing(page).iter(f"{SVG}rect")
        if rect.get("fill") == "none"
    ]
    return [(x + width / 2, y + height / 2) for x, y, width, height in dict.fromkeys(boxes)]


def drawn_cells(page):
    """Return the rectangles of `filled` that are no ground of masked cells."""
    return [each for each in filled(drawing(page)) if each[4] not in GAP.values()]


def middles(page, allowed):
    """Return (query, key) -> the middle of its cell on the canvas, for cells that are no gaps."""
    cells = drawn_cells(page)[: allowed.sum()]
    places = [(x + width / 2, y + height / 2) for x, y, width, height, _ in cells]
    return dict(zip(map(tuple, np.argwhere(allowed)), places, strict=True))


def corners(page, allowed):
    """Return (query, key) -> a place in the corner of its cell, where nothing is written, as in `middles`."""
    cells = drawn_cells(page)[: allowed.sum()]
    places = [(x + 3, y + 3) for x, y, *_ in cells]
    return dict(zip(map(tuple, np.argwhere(allowed)), places, strict=True))


def says_share(said, share):
    """Return whether a text ends with a share as the views write it: a percentage with one decimal."""
    read, digit = 100 * share, 0.1
    if read < 0.05:
        digit = 10.0 ** np.floor(np.log10(read)) if read else 1.0
    written = said.split()[-1]
    return written.endswith("%") and abs(float(written[:-1]) - read) <= 0.501 * digit


def four_digits(number):
    return FOUR_DIGITS.create_decimal_from_float(float(number))
