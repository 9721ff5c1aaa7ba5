"""The real app in a real browser: any error on the console and any request to elsewhere fails the test."""

import itertools
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

import numpy as np
import pytest
from bench_page import box, edit, expect_text, type_sentence
from lens_page import (
    canvas,
    choose,
    choose_layer,
    chosen,
    head_button,
    middles,
    open_table,
    opened,
    page_place,
    painted,
    percent_of,
    pick,
    point,
    saved,
    settle,
    table,
    toggle,
)
from playwright.sync_api import expect
from processes import children, is_running
from running_app import free_port, running, start_app

from transformer_viz import store
from transformer_viz.network.named_masks import mask_from_bits, mask_to_bits, named_mask
from transformer_viz.pictures import views

HOSTILE = '<img src=x onerror="window.__x=1"> $x$ <b>'


@pytest.fixture
def page(new_visitor, app):
    """A page of a visitor; nothing may go wrong there or be asked for elsewhere."""
    page, wrong = new_visitor(viewport={"width": 1440, "height": 1000}), []
    page.on("console", lambda message: is_error(message) and wrong.append(message.text))
    page.on("request", lambda request: is_foreign(request.url, app[1]) and wrong.append(request.url))
    yield page
    page.close()
    assert wrong == []


def is_error(message):
    """Whether it is an error of ours: opened at another page, Streamlit asks there for itself, in vain."""
    own = re.search(r"/(models|train|masks)/_stcore/", message.location["url"])
    return message.type == "error" and not own


def is_foreign(url, home):
    return not url.startswith((home, home.replace("http", "ws"), "data:", "blob:"))


def open_app(page, app, address=""):
    """Open the app without what explains an answer, which has tests of its own."""
    page.goto(f"{app[1]}{address or '/'}{'&' if '?' in address else '?'}why=0")
    page.locator(".lens .said").wait_for()
    settle(page)


def tokens(page):
    """Return the tokens as the views have them, read from the table below them."""
    if not page.locator(".table table").count():
        open_table(page)
    return [row[0] for row in table(page)]


def expect_tokens(page, wanted):
    """Wait until the views have those tokens."""
    tokens(page)
    expect(page.locator(".table tbody th")).to_have_text(wanted)


def link(page, name):
    """Return the link to a page in the header."""
    return page.locator(".st-key-pages").get_by_role("link").filter(has_text=name)


def speak(page, name):
    page.locator(".st-key-header-language").get_by_text(name, exact=True).click()


def test_the_first_picture_comes_by_itself_and_another_with_another_sentence(page, app, explorer, reviews):
    open_app(page, app)
    assert tokens(page) == list(explorer.trace(reviews[0]).tokens)
    type_sentence(page, "A dull film.", press="Show")
    expect_tokens(page, ["a", "dull", "film", "."])
    type_sentence(page, "A clever plot.")
    expect_tokens(page, ["a", "clever", "plot", "."])


def test_modules_cross_the_network_once_and_not_with_the_messages(page, app):
    asked, messages = [], []
    page.on("request", lambda request: "/views/" in request.url and asked.append(request.url))
    page.on(
        "websocket",
        lambda socket: socket.on("framereceived", lambda message: messages.append(bytes(message))),
    )
    open_app(page, app)
    type_sentence(page, "A dull film.")
    expect_tokens(page, ["a", "dull", "film", "."])
    speak(page, "中文")
    expect(page.locator(".table summary")).to_have_text("以表格显示")
    names = [url.rpartition("/")[2] for url in asked]
    assert {"workbench.js", "lens.js", "history.js"} <= {*names}
    assert len(names) == len({*names})
    assert "MOUNTED" in views.served_modules()["workbench.js"]
    assert sum(b"transformer_viz.workbench" in message for message in messages) >= 2
    assert not any(b"MOUNTED" in message for message in messages)


def test_what_is_open_shows_the_new_sentence_and_the_new_language(page, app):
    """The views stay on the page; nothing in them may be of the sentence before."""
    open_app(page, app, "/?text=A%20dull%20film.")
    expect_tokens(page, ["a", "dull", "film", "."])
    type_sentence(page, "A clever plot.")
    expect_tokens(page, ["a", "clever", "plot", "."])
    toggle(page, "view", True)
    speak(page, "中文")
    expect(page.locator(".table summary")).to_have_text("以表格显示")
    expect(page.locator(".menu.export > summary")).to_have_text("导出")
    settle(page)
    toggle(page, "view", True)
    expect(page.get_by_role("group", name="视图", exact=True)).to_be_visible()


def test_the_page_declares_the_language_that_is_chosen(page, app):
    html = page.locator("html")
    for name in ("", "models"):
        page.goto(f"{app[1]}/{name}?lang=zh")
        expect(html).to_have_attribute("lang", "zh-CN")
        speak(page, "English")
        expect(html).to_have_attribute("lang", "en")
        speak(page, "中文")
        expect(html).to_have_attribute("lang", "zh-CN")
    link(page, "训练").click()
    expect(page.locator(".st-key-page-shown")).to_contain_text("训练")
    expect(html).to_have_attribute("lang", "zh-CN")


def test_a_head_stands_in_the_address_and_the_address_opens_it(page, app):
    open_app(page, app)
    head_button(page, 3).click()
    choose_layer(page, 2)
    choose(page, "View", "Matrix")
    assert chosen(page) == (2, 3)
    for part in ("head=3", "layer=2", "view=matrix", "kind=encoder"):
        expect(page).to_have_url(re.compile(part))
    page.reload()
    page.locator(".lens .said").wait_for()
    assert chosen(page) == (2, 3)
    expect(canvas(page, "matrix")).to_be_visible()
    expect(canvas(page, "lines")).to_be_hidden()


def test_a_link_keeps_what_the_matrix_shows_and_the_pinned_cell(page, app):
    open_app(page, app, "/?text=A%20dull%20film.&view=matrix")
    page.mouse.click(*page_place(page, middles(page, np.ones((4, 4), bool))[1, 2]))
    pick(page, "Values", "scores")
    for part in ("value=scores", "cell=2-3"):
        expect(page).to_have_url(re.compile(part))
    page.reload()
    expect(page.locator(".place")).to_contain_text("Pinned: “dull” → “film”")
    expect(page.locator(".chip").first).to_be_visible()
    assert page.locator(".chip").all_inner_texts() == ["Matrix ×", "score ×"]
    type_sentence(page, "A clever plot.")
    expect_tokens(page, ["a", "clever", "plot", "."])
    expect(page).not_to_have_url(re.compile("cell="))
    expect(page).to_have_url(re.compile("value=scores"))


def test_a_link_keeps_the_order_of_the_heads(page, app):
    open_app(page, app, "/?view=grid&sort=entropy")
    chip = page.locator(".chip").last
    expect(page.locator(".chip")).to_have_count(2)
    chip.click()
    expect(page).not_to_have_url(re.compile("sort="))
    pick(page, "Order of heads", "entropy")
    expect(page).to_have_url(re.compile("sort=entropy"))


@pytest.mark.parametrize(
    "address",
    [
        "/?head=99&layer=x&kind=%3Cb%3E&view=..%2F",
        "/?head=-3&layer=1e9&view=all",
        "/?value=change&scale=%00&sort=%3Cb%3E&cell=999-999",
    ],
)
def test_an_address_somebody_made_up_opens_the_views_all_the_same(page, app, address):
    open_app(page, app, address)
    layer, head = chosen(page)
    assert (layer in {1, 2}, head in {1, 2, 3}) == (True, True)
    expect(canvas(page, "matrix")).to_be_visible()


def test_choosing_in_the_views_asks_nothing_of_the_server(page, app):
    sent = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(len(frame))))
    page.on("request", lambda request: sent.append(request.url))
    open_app(page, app)
    page.wait_for_timeout(500)
    before = len(sent)
    assert before
    head_button(page, 3).click()
    choose_layer(page, 2)
    choose(page, "View", "Lines")
    choose(page, "View", "All heads")
    canvas(page, "grid").focus()
    page.keyboard.press("ArrowLeft")
    assert chosen(page) == (2, 2)
    choose(page, "View", "Side by side")
    head_button(page, 2).focus()
    page.keyboard.press("ArrowLeft")
    assert chosen(page) == (2, 1)
    pick(page, "Values", "scores")
    page.locator(".chip").click()
    page.wait_for_timeout(1_000)
    assert len(sent) == before


def test_a_choice_outlives_a_new_sentence_and_stays_in_the_address(page, app):
    open_app(page, app)
    head_button(page, 3).click()
    choose_layer(page, 2)
    type_sentence(page, "A dull film.")
    expect_tokens(page, ["a", "dull", "film", "."])
    settle(page)
    assert chosen(page) == (2, 3)
    for part in ("head=3", "layer=2", "text=A"):
        expect(page).to_have_url(re.compile(part))
    speak(page, "中文")
    expect(page.locator(".table summary")).to_have_text("以表格显示")
    settle(page)
    for part in ("head=3", "layer=2", "text=A", "lang=zh"):
        expect(page).to_have_url(re.compile(part))
    speak(page, "English")
    expect(page.locator(".table summary")).to_have_text("Show as table")
    settle(page)
    page.reload()
    page.locator(".lens .said").wait_for()
    assert chosen(page) == (2, 3)
    expect_tokens(page, ["a", "dull", "film", "."])


def test_what_is_pinned_stays_pinned_when_the_same_text_is_shown_again(page, app):
    open_app(page, app, "/?text=A%20dull%20film.&view=matrix")
    page.mouse.click(*page_place(page, middles(page, np.ones((4, 4), bool))[1, 2]))
    expect(page.locator(".place")).to_contain_text("Pinned: “dull” → “film”")
    type_sentence(page, "A dull film.", press="Show")
    page.wait_for_timeout(500)
    expect(page.locator(".place")).to_contain_text("Pinned: “dull” → “film”")


def test_the_weight_stands_under_the_pointer(page, app, explorer):
    open_app(page, app, "/?text=A%20dull%20film.&view=matrix&layer=1&head=1")
    weights = explorer.trace("A dull film.").encoder[0].attention.weights[0].astype(np.float16)
    for cell, place in middles(page, np.ones((4, 4), bool)).items():
        point(page, "matrix", place)
        query, key = (["a", "dull", "film", "."][index] for index in cell)
        said = page.locator(".tip").inner_text()
        assert said.startswith(f"“{query}” → “{key}”: weight ")
        assert said.split()[-1] == percent_of(weights[cell])


def test_markup_in_a_sentence_is_shown_and_not_run(page, app):
    open_app(page, app)
    type_sentence(page, HOSTILE)
    tokens(page)
    expect(page.locator(".table tbody th").first).to_have_text("< [UNK]")
    assert tokens(page)[15:] == [f"{token} [UNK]" for token in "$x$<b>"]
    canvas(page, "matrix").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".tip")).to_contain_text("“< [UNK]” → “< [UNK]”")
    assert page.evaluate("window.__x") is None
    assert page.locator("[data-testid=stMain] img[src=x]").count() == 0


def test_the_pictures_follow_the_theme(page, app):
    page.emulate_media(color_scheme="light")
    open_app(page, app)
    light = canvas(page, "matrix").evaluate("canvas => canvas.toDataURL()")
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(
        "() => getComputedStyle(document.querySelector('[data-testid=stApp]')).colorScheme == 'dark'"
    )
    page.wait_for_timeout(300)
    painted(page)
    changed = canvas(page, "matrix").evaluate("canvas => canvas.toDataURL()")
    page.reload()
    page.locator(".lens .said").wait_for()
    settle(page)
    painted(page)
    assert canvas(page, "matrix").evaluate("canvas => canvas.toDataURL()") == changed != light


def test_the_picture_can_be_downloaded_under_its_name(page, app):
    open_app(page, app)
    head_button(page, 3).click()
    name, content = saved(page, "PNG")
    assert name == "small-encoder-layer1-head3-matrix.png"
    assert content[:8] == b"\x89PNG\r\n\x1a\n"


def test_all_that_the_page_can_save_stands_in_the_export_menu(page, app, explorer):
    open_app(page, app, "/?text=A%20dull%20film.")
    with opened(page, "export"):
        assert page.locator(".menu.export button").all_inner_texts() == [
            *("Picture (PNG)", "Vector picture (SVG)", "This head (CSV)"),
            *("All weights (CSV)", "Full trace (NPZ)", "Interactive picture (HTML, works offline)"),
        ]
    begins = {"csv": b"\xef\xbb\xbf", "npz": b"PK", "html": b"<!doctype html>"}
    for place, (kind, begin) in enumerate(begins.items()):
        with page.expect_download() as download, opened(page, "export"):
            page.locator(f".menu.export [data-key=file-{place}]").click()
        assert download.value.suggested_filename == f"small-attention.{kind}"
        content = Path(download.value.path()).read_bytes()
        assert content.startswith(begin)
        if kind == "csv":
            frame = explorer.trace("A dull film.").to_frame()
            assert len(content.decode().splitlines()) == len(frame) + 1
    speak(page, "中文")
    expect(page.locator(".menu.export > summary")).to_have_text("导出")
    with opened(page, "export"):
        names = page.locator(".menu.export button").all_inner_texts()
    assert len(names) == 6
    assert all(re.search("[\u4e00-\u9fff]", name) for name in names)


def test_the_exported_page_opens_on_what_was_shown(page, app, browser, tmp_path):
    open_app(page, app, "/?text=A%20dull%20film.&lang=zh&view=lines&layer=2&head=2")
    for shown, head in (("连线", 2), ("矩阵", 3)):
        if head == 3:
            head_button(page, 3).click()
            choose(page, "视图", "矩阵")
            choose(page, "大小", "投影仪模式")
            pick(page, "数值", "norms")
        with page.expect_download() as download, opened(page, "export"):
            page.locator(".menu.export [data-key=file-2]").click()
        file = tmp_path / "page.html"
        download.value.save_as(file)
        with browser.new_context() as context:
            exported = context.new_page()
            exported.goto(file.as_uri())
            expect(exported.locator(".place")).to_have_text(f"第 2 层，第 {head} 个头")
            expect(exported.locator("html")).to_have_attribute("lang", "zh-CN")
            chips = exported.locator(".chip").all_inner_texts()
            others = ["权重 × 值向量范数", "投影仪模式"] if head == 3 else []
            assert chips == [f"{name} ×" for name in (shown, *others)]
    settle(page)
    assert "view=matrix" in page.url


def test_the_vectors_come_when_the_steps_are_opened_and_are_in_the_exported_page(
    page, app, browser, tmp_path
):
    open_app(page, app, "/?text=A%20dull%20film.")
    with page.expect_download() as download, opened(page, "export"):
        page.locator(".menu.export [data-key=file-2]").click()
    choose(page, "View", "Step by step")
    assert_computed(page)
    type_sentence(page, "A warm and funny film.")
    expect(page.locator(".bar select option")).to_have_count(6)
    assert_computed(page)
    page.reload()
    assert_computed(page)
    link(page, "Masks").click()
    page.locator(".experiment").wait_for()
    link(page, "Attention").click()
    assert_computed(page)
    download.value.save_as(tmp_path / "page.html")
    with browser.new_context() as context:
        exported = context.new_page()
        exported.goto((tmp_path / "page.html").as_uri())
        choose(exported, "View", "Step by step")
        assert_computed(exported)


def test_the_steps_open_on_the_pinned_row_and_stay_there_when_the_vectors_come(page, app):
    open_app(page, app, "/?text=A%20dull%20film.&view=matrix")
    page.mouse.click(*page_place(page, middles(page, np.ones((4, 4), bool))[1, 2]))
    choose(page, "View", "Step by step")
    assert_computed(page)
    expect(page.get_by_role("combobox", name="Row (query)")).to_have_value("1")
    expect(page.locator(".place")).to_contain_text("Pinned: “dull” → “film”")


def assert_computed(page):
    """Assert that a row is computed before one's eyes: without the vectors, there is a line of text only."""
    steps = canvas(page, "steps")
    expect(steps).to_be_visible()
    expect(steps).to_have_attribute("style", re.compile(r"height: [2-9]\d\d"))


def test_the_matrix_stays_within_the_window(page, app):
    open_app(page, app)
    for width, height in ((1440, 1000), (1280, 720), (1024, 600)):
        page.set_viewport_size({"width": width, "height": height})
        for view in ("Side by side", "Matrix"):
            choose(page, "View", view)
            painted(page)
            box = canvas(page, "matrix").bounding_box()
            assert box["y"] + box["height"] <= height
            assert box["height"] > height / 4


def test_in_a_low_window_the_matrix_is_seen_as_a_whole_once_it_is_scrolled_to(page, app):
    page.set_viewport_size({"width": 720, "height": 450})
    open_app(page, app)
    matrix = canvas(page, "matrix")
    matrix.scroll_into_view_if_needed()
    settle(page)
    box, header = matrix.bounding_box(), page.locator(".st-key-header").bounding_box()
    assert box["height"] >= 190
    assert header["y"] + header["height"] <= box["y"]
    assert round(box["y"] + box["height"]) <= 450  # pixels: what is scrolled stands between two


STEPS = ("scores", "mask", "masked", "softmax")


def shown_panels(page):
    """Return the names of the matrices that are shown."""
    return page.locator(".panels .panel:visible:has(canvas)").evaluate_all(
        "panels => panels.map(({ className }) => className.split(' ')[1])"
    )


def open_masks(page, app, address="&view=masking", text="A dull film."):
    page.goto(f"{app[1]}/masks?lang=en&layer=1&head=1&text={quote(text)}{address}")
    page.locator(".experiment").wait_for()
    page.locator(".panel canvas[style]").first.wait_for()
    settle(page)


FIND_CELLS = """(canvas) => {
    const [box, found] = [canvas.getBoundingClientRect(), {}];
    const tip = canvas.closest(".lens").querySelector(".tip");
    for (let y = box.top + 2; y < box.bottom; y += 5) for (let x = box.left + 2; x < box.right; x += 5) {
        canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: x, clientY: y, bubbles: true }));
        if (!tip.hidden) (found[tip.textContent] ??= []).push([x, y]);
    }
    canvas.dispatchEvent(new PointerEvent("pointerleave"));
    return Object.entries(found).map(([said, places]) => [said, places]);
}"""
"""Return what the tip says at each place of a canvas, and the places where it says that."""


def cells(page, view="mask"):
    """Return (query, key), from 0, -> the middle of that cell on the page, as the pointer finds it."""
    painted(page)
    middles_of = [np.mean(places, axis=0) for _, places in canvas(page, view).evaluate(FIND_CELLS)]
    xs, ys = (sorted({round(middle[axis]) for middle in middles_of}) for axis in (0, 1))
    return {(ys.index(round(y)), xs.index(round(x))): (x, y) for x, y in middles_of}


def test_a_mask_is_painted_by_clicking_its_cells_and_by_dragging_a_box(page, app):
    open_masks(page, app, "&view=masking&mask=painted&bits=8cef")
    places, tip = cells(page), page.locator(".tip")
    assert len(places) == 16
    page.mouse.move(*places[0, 2])
    expect(tip).to_have_text("“a” → “film”: masked")
    page.mouse.click(*places[0, 2])
    expect(tip).to_have_text("“a” → “film”: allowed")
    page.wait_for_url(re.compile("bits=acef"))
    settle(page)
    page.mouse.move(*places[2, 0])
    page.mouse.down()
    page.mouse.move(*places[3, 1], steps=8)
    page.mouse.up()
    page.wait_for_url(re.compile("bits=ac23"))
    page.get_by_role("button", name="Undo").click()
    page.wait_for_url(re.compile("bits=acef"))


def test_clicks_in_quick_succession_all_paint_and_nothing_is_built_anew(page, app):
    open_masks(page, app, "&view=masking&mask=painted&bits=8cef")
    places = cells(page)
    page.locator(".panels").evaluate("""(panels) => {
        window.removed = 0;
        const watch = (all) => all.forEach(({ removedNodes }) => (window.removed += removedNodes.length));
        const watcher = new MutationObserver(watch);
        const around = panels.closest(".lens").parentElement;
        for (const part of [around, panels, ...panels.querySelectorAll(".body")])
            watcher.observe(part, { childList: true });
    }""")
    for place in ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)):
        page.mouse.click(*places[place])
    page.wait_for_url(re.compile("bits=ffff"))
    settle(page)
    for _ in range(6):
        before = page.url
        page.get_by_role("button", name="Undo").click()
        page.wait_for_url(lambda url, before=before: url != before)
    settle(page)
    assert "bits=8cef" in page.url
    assert page.evaluate("window.removed") == 0


def test_the_matrices_of_a_mask_can_be_saved(page, app):
    open_masks(page, app)
    for kind, begin in (("PNG", b"\x89PNG"), ("SVG", b"<svg ")):
        name, content = saved(page, kind)
        assert name.endswith(kind.lower())
        assert content.startswith(begin)
    texts = [text.text for text in ElementTree.fromstring(content).iter() if text.text]
    assert {"a", "dull", "film"} <= set(texts)
    assert "2 · Mask: M ∈ {0, 1}" in " ".join(texts)  # which may stand in two lines


def test_pictures_of_all_pages_are_saved_without_a_title_once_it_is_switched_off(page, app):
    open_app(page, app, "/?text=A%20dull%20film.")
    with opened(page, "export"):
        page.get_by_label("Title above the picture").uncheck()
    link(page, "Masks").click()
    page.locator(".experiment").wait_for()
    settle(page)
    svg = ElementTree.fromstring(saved(page, "SVG")[1])
    title = svg.get("aria-label")
    assert title
    assert [text.text for text in svg.iter() if text.text and title.startswith(text.text)] == []


def test_a_mask_is_painted_with_the_keyboard(page, app):
    open_masks(page, app, "&view=masking&mask=painted&bits=8cef")
    page.locator(".panel.mask .cells [tabindex='0']").focus()
    for key in ("ArrowRight", "ArrowRight", "Space"):
        page.keyboard.press(key)
    page.wait_for_url(re.compile("bits=acef"))


def test_a_painted_mask_begins_as_the_one_before_and_can_be_inverted_and_cleared(page, app):
    open_masks(page, app, "&view=masking&mask=window&pads=1")
    page.get_by_role("button", name="painted").click()
    page.wait_for_url(re.compile("mask=painted"))
    bits = mask_to_bits(named_mask("window:1", 5, np.array([5, 5, 5, 5, 0])))
    page.wait_for_url(re.compile(f"bits={bits}"))
    assert "pads=1" in page.url
    undo = page.get_by_role("button", name="Undo")
    expect(undo).to_be_disabled()
    page.get_by_role("button", name="Invert").click()
    inverted = mask_to_bits(~mask_from_bits(bits, (5, 5)))
    page.wait_for_url(re.compile(f"bits={inverted}"))
    page.get_by_role("button", name="Clear").click()
    page.wait_for_url(re.compile(f"bits={mask_to_bits(np.ones((5, 5), bool))}"))
    for each in (inverted, bits):
        undo.click()
        page.wait_for_url(re.compile(f"bits={each}"))
    expect(undo).to_be_disabled()
    page.get_by_role("button", name="none", exact=True).click()
    page.wait_for_url(lambda url: "bits" not in url)


def test_what_was_painted_for_another_text_is_not_brought_back(page, app):
    open_masks(page, app, "&view=masking&mask=painted&bits=8cef")
    page.mouse.click(*cells(page)[0, 3])
    page.wait_for_url(re.compile("bits=9cef"))
    type_sentence(page, "dull film")
    page.wait_for_url(re.compile("bits=b(&|$)"))
    expect(page.get_by_role("button", name="Undo")).to_be_disabled()


@pytest.mark.parametrize("view", ["all", "ways"])
def test_a_view_without_a_brush_leads_to_the_one_that_has_it(page, app, view):
    open_masks(page, app, f"&view={view}&mask=painted")
    expect(page.get_by_role("button", name="Invert")).to_have_count(0)
    page.get_by_role("button", name="Paint it in the view").click()
    expect(page.get_by_role("button", name="Invert")).to_be_visible()
    assert shown_panels(page) == [*STEPS]
    expect(page).to_have_url(re.compile("view=masking"))
    page.mouse.click(*cells(page)[0, 3])
    page.wait_for_url(re.compile("bits=9cef"))


def test_a_link_of_the_former_page_opens_its_view(page, app):
    for former, names in (("steps", STEPS), ("ways", ("added", "multiplied"))):
        page.goto(f"{app[1]}/masks?why=0&mask_view={former}&text=A+dull+film.")
        expect(canvas(page, names[0])).to_be_visible()
        assert shown_panels(page) == [*names]


def test_a_mask_that_is_not_painted_cannot_be(page, app):
    open_masks(page, app)
    page.mouse.click(*cells(page)[0, 2])
    expect(page.locator(".place")).to_contain_text("Pinned: “a” → “film”")
    assert "bits" not in page.url


@pytest.mark.parametrize("mask", ["causal", "painted"])
def test_the_rows_of_all_steps_run_across(page, app, mask):
    open_masks(page, app, f"&view=masking&mask={mask}")
    rows = []
    for name in STEPS:
        found = cells(page, name)
        rows.append([round(found[row, 0][1]) for row in range(4)])
    assert rows == [rows[0]] * 4


def labels(page, side):
    """Return where the labels of the rows or columns of the mask stand, all at one moment: as in the drawing
    that is saved, in which the matrices stand side by side.
    """
    drawing = saved(page, "SVG")[1].decode()
    return canvas(page, "mask").evaluate(WHERE, [drawing, f"text.{side}", STEPS.index("mask")])


WHERE = """(canvas, [drawing, selector, number]) => {
    const page = document.body.appendChild(document.createElement("div"));
    page.innerHTML = drawing;
    const [edge, svg] = [canvas.getBoundingClientRect(), page.firstChild];
    const left = edge.left - 14 - number * (edge.width + 24);
    const top = edge.bottom + 14 - svg.getAttribute("height");
    Object.assign(page.style, { position: "fixed", left: `${left}px`, top: `${top}px` });
    const places = [...svg.querySelectorAll(selector)].map((each) => each.getBoundingClientRect().toJSON());
    page.remove();
    const isWithin = ({ left, right }) => left >= edge.left - 1 && right <= edge.right + 1;
    return places.filter(isWithin);
}"""
"""Return where the parts of a drawing would be if that of the matrix lay over its canvas."""


def test_a_long_text_has_some_of_its_tokens_beside_its_mask_and_none_over_another(page, app):
    page.set_viewport_size({"width": 900, "height": 1000})
    open_masks(page, app, text="good film " * 70)
    letters = 0.8  # of a line, which has room above and below them; those of the columns run upwards
    for side, begin, size in (("row", "y", "height"), ("column", "x", "width")):
        boxes = labels(page, side)
        assert 5 < len(boxes) <= 23
        for one, other in itertools.pairwise(boxes):
            assert one[begin] + letters * one[size] <= other[begin]


FONTS = "() => document.fonts.ready.then(() => null)"
"""Waits for letters and icons, before which a line may break elsewhere."""


def test_what_chooses_a_mask_stands_in_one_line(page, app):
    page.set_viewport_size({"width": 1600, "height": 1000})
    open_masks(page, app, "&mask=window&pads=2")
    controls = page.locator(".experiment .group, .experiment .switch")
    expect(controls).to_have_count(4)
    page.evaluate(FONTS)
    ends = controls.evaluate_all("all => all.map(each => each.getBoundingClientRect().bottom)")
    assert max(ends) - min(ends) < 2
    page.locator(".experiment").get_by_role("button", name="painted").click()
    page.locator(".experiment").get_by_role("button", name="Paint it").click()
    buttons = page.get_by_role("button", name=re.compile("(Undo|Invert|Clear)$"))
    expect(buttons).to_have_count(3)
    box = "({ top, bottom }) => `${top} ${bottom}`"
    lines = buttons.evaluate_all(f"all => all.map(each => each.getBoundingClientRect()).map({box})")
    assert len({*lines}) == 1


@pytest.mark.parametrize("view", ["masking", "change", "ways"])
def test_no_view_of_a_mask_is_wider_than_the_window(page, app, view):
    open_masks(page, app, f"&view={view}&pads=3")
    for width in (1440, 900):
        page.set_viewport_size({"width": width, "height": 1000})
        painted(page)
        main = page.locator("[data-testid=stMainBlockContainer]")
        assert main.evaluate("element => element.scrollWidth <= element.clientWidth")
        panels = [each for each in page.locator(".panels canvas").all() if each.is_visible()]
        assert panels
        edge = main.bounding_box()
        for panel in panels:
            box = panel.bounding_box()
            assert box["x"] + box["width"] <= edge["x"] + edge["width"]


def open_models(page, app, address=""):
    page.goto(f"{app[1]}/models{address}")
    page.get_by_test_id("stDataFrame").wait_for()
    settle(page)


def heading(page):
    """Return the name of the model whose card is shown."""
    return page.get_by_test_id("stMain").locator("h3").first


def click_row(page, row):
    """Click into the name of a row of the list."""
    box = page.get_by_test_id("stDataFrame").bounding_box()
    page.mouse.click(box["x"] + 120, box["y"] + 35 * row + 52)


@pytest.fixture
def second(models_folder):
    """A second model on the shelf, and nothing left over of it afterwards."""
    store.duplicate_model("small", "twin", models_folder)
    yield models_folder / "twin"
    for folder in models_folder.glob("twin*"):
        shutil.rmtree(folder)
    store.empty_trash(models_folder, older_than=0)


def test_a_click_anywhere_in_a_row_shows_its_card_and_stands_in_the_address(page, app, second):
    open_models(page, app)
    expect(heading(page)).to_have_text("small")
    click_row(page, 1)
    expect(heading(page)).to_have_text("twin")
    expect(page).to_have_url(re.compile("show=twin"))
    page.reload()
    expect(heading(page)).to_have_text("twin")


def test_a_model_goes_out_as_a_zip_and_comes_back_the_same(page, app, second, tmp_path):
    before = {file.name: file.read_bytes() for file in second.iterdir()}
    open_models(page, app, "?show=twin")
    with page.expect_download() as download:
        page.get_by_test_id("stDownloadButton").click()
    assert download.value.suggested_filename == "twin.zip"
    download.value.save_as(tmp_path / "twin.zip")
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("twin was deleted.")).to_be_visible()
    expect(heading(page)).to_have_text("small")
    assert not second.exists()
    page.get_by_role("button", name="Upload", exact=True).click()
    page.locator("input[type=file]").set_input_files(tmp_path / "twin.zip")
    expect(heading(page)).to_have_text(
        "twin", timeout=60_000
    )  # another process starts TensorFlow to check it
    assert {file.name: file.read_bytes() for file in second.iterdir()} == before


def test_a_zip_that_is_no_model_is_refused_on_the_page(page, app, second, tmp_path):
    (tmp_path / "other.zip").write_bytes(b"MZ no zip")
    open_models(page, app)
    page.get_by_role("button", name="Upload", exact=True).click()
    page.locator("input[type=file]").set_input_files(tmp_path / "other.zip")
    expect(page.get_by_text("This file was not added. This is not a zip.")).to_be_visible()


def test_a_deleted_model_is_taken_back_and_opened(page, app, second):
    open_models(page, app, "?show=twin&lang=zh")
    page.get_by_role("button", name="删除").click()
    page.get_by_role("button", name="撤销").click()
    expect(heading(page)).to_have_text("twin")
    settle(page)  # while the page is drawn anew, the former button stands beside the new one
    page.get_by_role("button", name="打开").click()
    page.locator(".lens .said").wait_for()
    expect(page).to_have_url(re.compile(r"[?&]model=twin"))
    expect(page).to_have_url(re.compile(r"[?&]lang=zh"))
    page.locator(".st-key-pages").get_by_role("link").first.click()
    page.locator(".st-key-pages").get_by_role("link", name="模型库").click()
    click_row(page, 0)
    expect(heading(page)).to_have_text("small")
    settle(page)
    page.get_by_role("button", name="打开").click()
    expect(page.get_by_role("combobox", name="模型")).to_have_value(re.compile("^small · "))


def test_going_to_the_models_and_back_changes_nothing(page, app, second):
    open_app(page, app, "/?model=twin&text=A%20dull%20film.")
    head_button(page, 3).click()
    choose_layer(page, 2)
    choose(page, "View", "Matrix")
    link(page, "Models").click()
    expect(heading(page)).to_have_text("twin")
    link(page, "Attention").click()
    expect(page.locator(".place")).to_have_text("Layer 2, head 3")
    expect(canvas(page, "lines")).to_be_hidden()
    expect_tokens(page, ["a", "dull", "film", "."])
    for part in ("model=twin", "head=3", "layer=2", "view=matrix", "text=A"):
        expect(page).to_have_url(re.compile(part))


@pytest.mark.parametrize("name", ["Masks", "Positions"])
def test_an_experiment_follows_what_is_typed(page, app, name):
    open_app(page, app, "/?text=A%20dull%20film.")
    go_to(page, name)
    expect(canvas(page, "change")).to_be_visible()
    edit(page).fill("A clever plot.")
    expect_tokens(page, ["a", "clever", "plot", "."])
    expect(page).to_have_url(re.compile("text=A(%20|[+])dull"))
    box(page).press("Enter")
    expect(page).to_have_url(re.compile("text=A(%20|[+])clever"))


def test_going_back_brings_back_the_sentence_before(page, app):
    open_app(page, app, "/?text=A%20dull%20film.")
    expect_tokens(page, ["a", "dull", "film", "."])
    type_sentence(page, "A clever plot.")
    expect_tokens(page, ["a", "clever", "plot", "."])
    page.go_back()
    expect_tokens(page, ["a", "dull", "film", "."])
    expect_text(page, "A dull film.")
    page.go_forward()
    expect_tokens(page, ["a", "clever", "plot", "."])


def go_to(page, name):
    link(page, name).click()
    expect(page.locator(".st-key-page-shown")).to_contain_text(name)
    settle(page)


def test_model_sentence_layer_and_head_go_along_from_page_to_page(page, app, second):
    open_app(page, app, "/?model=twin&text=A%20dull%20film.")
    head_button(page, 3).click()
    choose_layer(page, 2)
    for name in ("Masks", "Positions", "Masks"):
        go_to(page, name)
        expect(page.get_by_role("combobox", name="Model")).to_have_value(re.compile("^twin · "))
        expect_text(page, "A dull film.")
        expect(page.locator(".place")).to_contain_text("Layer 2, head 3")
        for part in ("model=twin", "head=3", "layer=2", "text=A"):
            expect(page).to_have_url(re.compile(part))
    head_button(page, 2).click()
    page.wait_for_url(re.compile("head=2"))
    settle(page)
    go_to(page, "Attention")
    expect(page.locator(".place")).to_have_text("Layer 2, head 2")
    expect_tokens(page, ["a", "dull", "film", "."])


def test_renaming_closes_the_box_and_shows_the_new_name(page, app, second):
    open_models(page, app, "?show=twin")
    page.get_by_role("button", name="Rename").click()
    page.get_by_label("New name").fill("twin-b")
    page.get_by_label("New name").press("Enter")
    expect(heading(page)).to_have_text("twin-b")
    expect(page.get_by_label("New name")).to_have_count(0)


def test_the_models_are_no_wider_than_the_window(page, app, second):
    store.rename_model("twin", "twin-" + "long-" * 11 + "name", second.parent)
    open_models(page, app, "?show=twin-" + "long-" * 11 + "name")
    main = page.locator("[data-testid=stMainBlockContainer]")
    for width in (1440, 900):
        page.set_viewport_size({"width": width, "height": 1000})
        settle(page)
        page.wait_for_function(
            "element => element.scrollWidth <= element.clientWidth", arg=main.element_handle()
        )


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_links_to_all_pages_are_seen_and_nothing_is_wider_than_the_window(page, app, language):
    open_app(page, app, f"/?lang={language}")
    for width, theme in itertools.product((1440, 1024, 900), ("light", "dark")):
        page.emulate_media(color_scheme=theme)
        page.set_viewport_size({"width": width, "height": 1000})
        painted(page)
        assert_links_are_seen(page, width)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        main = page.locator("[data-testid=stMainBlockContainer]")
        assert main.evaluate("element => element.scrollWidth <= element.clientWidth")
        inside = main.bounding_box()
        for part in (page.locator(".column"), canvas(page, "matrix"), canvas(page, "lines")):
            box = part.bounding_box()
            assert inside["x"] <= box["x"]
            assert box["x"] + box["width"] <= inside["x"] + inside["width"]


def assert_links_are_seen(page, width):
    """Assert that the header holds all links in one line, between the model and the language."""
    links = page.locator(".st-key-pages").get_by_role("link")
    expect(links).to_have_count(9)
    place = page.locator(".st-key-pages").bounding_box()
    boxes = [each.bounding_box() for each in links.all()]
    assert boxes[0]["x"] >= place["x"]
    assert boxes[-1]["x"] + boxes[-1]["width"] <= place["x"] + place["width"] <= width
    for one, other in itertools.pairwise(boxes):
        assert one["x"] + one["width"] < other["x"]
    assert len({box["y"] for box in boxes}) == 1
    chosen_model = page.get_by_role("combobox").first.bounding_box()
    spoken = page.locator(".st-key-header-language").bounding_box()
    assert chosen_model["x"] + chosen_model["width"] <= place["x"]
    assert place["x"] + place["width"] <= spoken["x"]
    assert spoken["x"] + spoken["width"] <= width


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_server_that_has_shown_the_page_holds_no_tensorflow(new_visitor, models_folder):
    with running() as (process, address):  # an app of its own: Train starts a child too, and keeps it
        open_app(new_visitor(), (process, address))
        assert "tensorflow" not in Path(f"/proc/{process.pid}/maps").read_text()
        deadline = time.monotonic() + 60
        while len(found := engines(process)) != 3:  # two that answer, quick and slow, forked from the third
            assert time.monotonic() < deadline, [Path(f"/proc/{pid}/cmdline").read_text() for pid in found]
            time.sleep(0.1)


def engines(process):
    """Return those children of a server that hold TensorFlow."""
    maps = {pid: Path(f"/proc/{pid}/maps") for pid in children(process.pid)}
    return [pid for pid, path in maps.items() if path.exists() and "tensorflow" in path.read_text()]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/net")
def test_the_server_listens_on_the_loopback_address_alone(app):
    port = int(app[1].rpartition(":")[2])
    listening = [line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    addresses = {entry.split(":")[0] for entry in listening if int(entry.split(":")[1], 16) == port}
    assert addresses == {"0100007F"}
    six = Path("/proc/net/tcp6")
    assert not six.exists() or f":{port:04X} 00000000000000000000000000000000:0000 0A" not in six.read_text()


def test_a_server_that_is_told_to_end_leaves_no_process(models_folder):
    process = start_app(free_port(), stderr=subprocess.PIPE)
    deadline = time.monotonic() + 30
    while not (before := children(process.pid)):  # the server answers before its engine has started
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    _, complaints = process.communicate(timeout=60)
    assert b"leaked" not in complaints
    deadline = time.monotonic() + 5
    while any(map(is_running, before)):
        assert time.monotonic() < deadline
        time.sleep(0.05)
