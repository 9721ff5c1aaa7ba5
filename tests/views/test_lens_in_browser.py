"""The views in a real browser, from a file: what they show and say is what the trace holds."""

import base64
import csv
import io
import re
import struct
from decimal import Decimal
from xml.etree import ElementTree

import numpy as np
import pytest
from lens_page import (
    SVG,
    address_of,
    canvas,
    choose,
    choose_kind,
    choose_layer,
    chosen,
    corners,
    drawing,
    four_digits,
    head_button,
    letters,
    middles,
    open_table,
    opened,
    options,
    page_place,
    painted,
    percent_of,
    pick,
    picture,
    pixel,
    point,
    saved,
    shown_heads,
    table,
    thumbnails,
)
from made_traces import TOKENS, VALUES, encoder_trace, half, numbers, packed
from numpy.testing import assert_allclose
from playwright.sync_api import expect

from transformer_viz.network.tensors import weights_only
from transformer_viz.pictures import views
from transformer_viz.pictures.theme import BACKGROUND, DIVERGING, GAP, SEQUENTIAL
from transformer_viz.trace.trace import Trace


def colour(number, largest, *, signed=False, theme="light"):
    """Return (r, g, b) of a number, worked out apart from the views."""
    stops = (DIVERGING if signed else SEQUENTIAL)[theme]
    share = number / largest
    at = np.floor(255 * ((share + 1) / 2 if signed else share) + 0.5) / 255
    channels = [[int(hex_[i : i + 2], 16) for _, hex_ in stops] for i in (1, 3, 5)]
    return [np.interp(at, [place for place, _ in stops], channel) for channel in channels]


def test_the_value_under_the_pointer_and_its_colour_are_the_traces(show, masked):
    page = show(masked, start={"layer": 1, "head": 2, "view": "matrix"})
    for value, name in VALUES.items():
        pick(page, "Values", value)
        expected, signed = numbers(masked, 1, 2, value), value in {"scores", "masked"}
        largest = np.nanmax(np.abs(expected))
        places, grounds = middles(page, ~np.isnan(expected)), corners(page, ~np.isnan(expected))
        page.mouse.move(0, 0)
        painted(page)
        for cell, place in grounds.items():
            seen = pixel(page, "matrix", place)
            assert_allclose(seen, [*colour(expected[cell], largest, signed=signed), 255], atol=1)
        for cell, place in [*places.items()][::7]:
            point(page, "matrix", place)
            query, key = (TOKENS[index] for index in cell)
            said = page.locator(".tip").inner_text()
            allowed = masked.values.attention_mask[2][cell]
            read = f"“{query}” → “{key}”:" if allowed else f"“{query}” may not attend to “{key}”."
            assert said.startswith(f"{read} {name} ")
            number = said.split()[-1]
            if value == "weights":
                assert number == percent_of(expected[cell])
            else:
                assert Decimal(number) == four_digits(expected[cell])


def test_a_masked_cell_is_a_gap_and_says_so(show, masked):
    page = show(masked, start={"view": "matrix"})
    pick(page, "Values", "scores")
    places = middles(page, np.ones((7, 7), bool))  # scores are there for every pair
    pick(page, "Values", "weights")
    for query, key in np.argwhere(~masked.values.attention_mask[0]):
        assert_allclose(pixel(page, "matrix", places[query, key]), [*bytes.fromhex(GAP["light"][1:]), 255])
        point(page, "matrix", places[query, key])
        expect(page.locator(".tip")).to_have_text(f"“{TOKENS[query]}” may not attend to “{TOKENS[key]}”.")


def cell_of(said):
    """Return the cell that a text names, and its number."""
    query, key, number = re.fullmatch(r"“t(\d+)” → “t(\d+)”: weight (\S+)", said).groups()
    return (int(query), int(key)), number


def test_the_wheel_zooms_about_the_pointer_dragging_moves_and_a_double_click_shows_all(show):
    page = show(
        encoder_trace([f"t{number}" for number in range(40)], layers=1, heads=1), start={"view": "matrix"}
    )
    everything = picture(page, "matrix")
    places = middles(page, np.ones((40, 40), bool))
    point(page, "matrix", places[10, 20])
    page.keyboard.down("Control")
    for _ in range(4):
        page.mouse.wheel(0, -100)
        painted(page)
    page.keyboard.up("Control")
    place = places[10, 20]
    point(page, "matrix", (place[0] + 1, place[1]))
    assert cell_of(page.locator(".tip").inner_text())[0] == (10, 20)
    page.mouse.down()
    point(page, "matrix", (place[0] + 31, place[1] + 40))
    page.mouse.up()
    point(page, "matrix", (place[0] + 30, place[1] + 40))
    assert cell_of(page.locator(".tip").inner_text())[0] == (10, 20)
    expect(page.locator(".place")).not_to_contain_text("Pinned")
    page.mouse.dblclick(*page_place(page, place))
    page.mouse.move(0, 0)
    canvas(page, "matrix").focus()
    if "Pinned" in page.locator(".place").inner_text():
        page.keyboard.press("Escape")
    painted(page)
    assert picture(page, "matrix") == everything


def test_a_click_on_a_small_picture_chooses_it_everywhere(show, masked):
    page = show(masked, start={"view": "grid"})
    places = thumbnails(page)
    assert len(places) == 6
    for number, place in enumerate(places):
        point(page, "grid", place)
        expect(page.locator(".tip strong")).to_have_text(f"Layer {number // 3 + 1}, head {number % 3 + 1}")
        expect(page.locator(".tip")).to_contain_text(f"encoder {number // 3} {number % 3} looks around.")
        page.mouse.click(*page_place(page, place, "grid"))
        assert chosen(page) == (number // 3 + 1, number % 3 + 1)
    choose(page, "View", "Matrix")
    assert chosen(page) == (2, 3)
    assert len(middles(page, masked.values.attention_mask[2])) == masked.values.attention_mask[2].sum()


def test_a_press_that_leaves_the_picture_is_no_click(show, masked):
    page = show(masked, start={"view": "grid"})
    places = thumbnails(page)
    point(page, "grid", places[5])
    page.mouse.down()
    page.mouse.move(0, 0)
    page.mouse.up()
    page.mouse.down()
    point(page, "grid", places[4])
    page.mouse.up()
    assert chosen(page) == (1, 1)


def test_arrows_in_the_grid_move_the_choice_and_stop_at_the_edge(show, masked):
    page = show(masked, start={"view": "grid"})
    canvas(page, "grid").focus()
    steps = {"Right": (1, 2), "Down": (2, 2), "Left": (2, 1), "Up": (1, 1)}
    for key, place in steps.items():
        page.keyboard.press(f"Arrow{key}")
        assert chosen(page) == place
    for key in ("ArrowLeft", "ArrowUp"):
        page.keyboard.press(key)
        assert chosen(page) == (1, 1)


def test_arrows_in_the_matrix_move_a_cell_and_say_what_it_holds(show):
    trace = encoder_trace(TOKENS)
    page = show(trace)
    canvas(page, "matrix").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowUp"):
        page.keyboard.press(key)
    painted(page)
    weights = half(trace.encoder[0].attention.weights[0])
    assert cell_of(page.locator(".tip").inner_text()) == ((1, 2), percent_of(weights[1, 2]))
    for _ in range(9):
        page.keyboard.press("ArrowLeft")
    assert cell_of(page.locator(".tip").inner_text()) == ((1, 0), percent_of(weights[1, 0]))


def test_what_was_said_of_a_cell_goes_when_another_head_is_chosen(show, masked):
    page = show(masked)
    canvas(page, "matrix").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".tip")).to_be_visible()
    head_button(page, 3).press("Enter")
    expect(page.locator(".tip")).to_be_hidden()


def test_thumbnails_choose_one_head_and_with_shift_several(show, masked):
    page = show(masked)
    assert shown_heads(page) == [1]
    head_button(page, 2).click()
    assert (shown_heads(page), chosen(page)) == ([2], (1, 2))
    head_button(page, 3).click(modifiers=["Shift"])
    assert (shown_heads(page), chosen(page)) == ([2, 3], (1, 2))
    head_button(page, 3).click(modifiers=["Control"])
    assert shown_heads(page) == [2]
    head_button(page, 2).click(modifiers=["Shift"])
    assert len(shown_heads(page)) == 1  # never none
    choose(page, "Lines of", "all heads of the layer")
    assert shown_heads(page) == [1, 2, 3]
    choose_layer(page, 2)
    assert (shown_heads(page), chosen(page)) == ([2], (2, 2))


def test_another_kind_is_another_attention_in_every_view(show, writing):
    page = show(writing, start={"view": "matrix"})
    stacks = {"encoder": "encoder self-attention", "decoder": "masked self-attention"}
    for kind, name in ({"cross": "cross-attention"} | stacks).items():
        choose_kind(page, name)
        found = writing.kinds()[kind]
        expect(page.locator(".said")).to_contain_text(f"{kind} 0 0 looks around.")
        expect(page.locator(".card.current .row")).to_have_count(len(found.layers))
        weights = half(found.layers[0].weights[0])
        allowed = np.broadcast_to(found.mask_of(0), (1, *weights.shape))[0]
        places = middles(page, allowed)
        for cell in ((0, 0), (4, 2)):
            point(page, "matrix", places[cell])
            said = page.locator(".tip").inner_text()
            assert said.startswith(f"“{found.query_tokens[cell[0]]}” → “{found.key_tokens[cell[1]]}”: weight")
            assert said.split()[-1] == percent_of(weights[cell])


def edges(svg):
    """Return the number of lines, and the heights at which they begin."""
    paths = [path.get("d") for path in svg.iter(f"{SVG}path")]
    begins = [float(y) for path in paths for y in re.findall(r"M\S+ ([-\d.]+)C", path)]
    return len(begins), begins


def texts(svg):
    return {text.text: (float(text.get("x")), float(text.get("y"))) for text in svg.iter(f"{SVG}text")}


def strong(weights, least):
    return int((half(weights) >= least).sum())


def slide(page, key):
    """Move the smallest weight that is a line."""
    with opened(page, "view"):
        page.get_by_role("slider", name="Hide weights below").press(key)
    painted(page)


def show_lines(show, trace, **changes):
    """Open the lines of all heads."""
    page = show(trace, start={"view": "lines"}, **changes)
    choose(page, "Lines of", "all heads of the layer")
    return page


def test_lines_are_first_of_the_chosen_head_alone(show, masked):
    page = show(masked, start={"view": "lines", "head": 1})
    expect(page.locator(".lines h3")).to_have_text("Layer 1, head 2")
    assert edges(drawing(page))[0] == strong(masked.encoder[0].attention.weights[1], 0.02)
    choose(page, "Lines of", "all heads of the layer")
    expect(page.locator(".lines h3")).to_have_text("Layer 1, heads 1–3")
    assert edges(drawing(page))[0] == strong(masked.encoder[0].attention.weights, 0.02)
    choose(page, "Lines of", "this head")
    expect(page.locator(".lines h3")).to_have_text("Layer 1, head 2")


def test_lines_are_the_weights_above_the_threshold(show, masked):
    page = show_lines(show, masked)
    weights = masked.encoder[0].attention.weights
    assert edges(drawing(page))[0] == strong(weights, 0.02)
    slide(page, "ArrowRight")
    expect(page.locator(".range output")).to_have_text("3%")
    assert edges(drawing(page))[0] == strong(weights, 0.03)
    slide(page, "End")
    assert edges(drawing(page))[0] == strong(weights, 0.5)
    slide(page, "Home")
    assert edges(drawing(page))[0] == strong(weights, 1e-4)
    head_button(page, 3).click()
    assert edges(drawing(page))[0] == strong(weights[2], 1e-4)


def test_pointing_at_a_token_leaves_its_lines_and_a_click_holds_them_until_escape(show):
    trace = encoder_trace(TOKENS)
    page = show_lines(show, trace)
    weights = trace.encoder[0].attention.weights
    before = picture(page, "lines")
    written = drawing(page)
    [place] = [
        (float(text.get("x")) - 5, float(text.get("y")))
        for text in written.iter(f"{SVG}text")
        if text.text == "t3" and text.get("text-anchor") == "end"
    ]
    point(page, "lines", place)
    pointed = picture(page, "lines")
    assert pointed != before
    page.mouse.click(*page_place(page, place, "lines"))
    page.mouse.move(0, 0)
    painted(page)
    assert picture(page, "lines") == pointed
    count, begins = edges(drawing(page))
    assert count == strong(weights[:, 3], 0.02)
    assert set(begins) == {place[1]}
    canvas(page, "lines").focus()
    page.keyboard.press("Escape")
    painted(page)
    assert picture(page, "lines") == before
    point(page, "lines", place)
    page.mouse.move(0, 0)
    painted(page)
    assert picture(page, "lines") == before


def test_a_cell_is_moved_to_said_and_pinned_by_keys_alone(show):
    page = show(encoder_trace(TOKENS), start={"view": "matrix"})
    page.locator(".matrix .cells [tabindex='0']").focus()
    for key in ("ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    expect(page.locator(".tip")).to_contain_text("“t1” → “t1”: weight")
    page.keyboard.press("Enter")
    expect(page.locator(".place")).to_contain_text("Pinned: “t1” → “t1”: weight")
    page.keyboard.press("Enter")
    expect(page.locator(".place")).not_to_contain_text("Pinned")


def test_a_pinned_cell_is_said_and_is_the_only_line_until_escape(show):
    trace = encoder_trace(TOKENS)
    page = show(trace, start={"view": "matrix"})
    page.mouse.click(*page_place(page, middles(page, np.ones((7, 7), bool))[2, 5]))
    expect(page.locator(".place")).to_contain_text("Pinned: “t2” → “t5”: weight")
    number = page.locator(".place").inner_text().split()[-1]
    assert number == percent_of(half(trace.encoder[0].attention.weights[0, 2, 5]))
    choose(page, "View", "Lines")
    choose(page, "Lines of", "all heads of the layer")
    assert edges(drawing(page))[0] == strong(trace.encoder[0].attention.weights[:, 2, 5], 0)
    choose(page, "View", "Matrix")
    canvas(page, "matrix").focus()
    page.keyboard.press("Escape")
    expect(page.locator(".place")).not_to_contain_text("Pinned")


def test_lines_are_those_between_the_chosen_sentences(show, masked):
    sentences = np.array([0, 0, 0, 0, 1, 1, 1])
    page = show_lines(show, masked, sentences={"encoder": (sentences, sentences)})
    every = edges(drawing(page))[0]
    pick(page, "Sentences", "1-0")
    expect(page.locator(".chips")).to_contain_text("2 → 1")
    where = (sentences[:, None] == 1) & (sentences[None, :] == 0)
    weights = masked.encoder[0].attention.weights[:, where]
    assert edges(drawing(page))[0] == strong(weights, 0.02) < every


MEANINGS = ["On itself", "On the one before"]


def evidence_of(numbers, texts=(100, 90)):
    return views.Evidence(["itself", "previous"], MEANINGS, [*texts], numbers)


def test_the_evidence_follows_the_head_and_is_drawn_to_scale(show, masked):
    numbers = np.random.default_rng(6).random((5, 2, 3, 2)) / 2
    numbers[:, 0, 2, 1] = np.nan  # a pattern that this head cannot have
    numbers[:2, 0, 0] = [[0.9, 0.1], [0.3, 0.4]]  # mean and spread reach beyond both ends
    roles = [["previous"] * 3, ["itself", "itself", "previous"]]
    page = show(masked, evidence={"encoder": evidence_of(numbers)}, roles={"encoder": roles})
    panel = page.locator(".evidence")
    for layer, head, measured, role in (
        (0, 0, ["itself", "previous"], ["previous"]),
        (0, 2, ["itself"], []),
        (1, 1, ["itself", "previous"], ["itself"]),
    ):
        choose_layer(page, layer + 1)
        head_button(page, head + 1).click()
        assert panel.locator("th").all_inner_texts() == measured
        assert panel.locator("tr.role th").all_inner_texts() == role
        assert panel.locator("h3").inner_text() == "Patterns over 100 texts"
        for place, row in enumerate(panel.locator("tr").all()):
            mean, spread, _, uniform, here = numbers[:, layer, head, place]
            share = f"{np.floor(100 * mean + 0.5):.0f}%"
            assert row.locator(".share").inner_text() == share
            assert row.get_attribute("title").startswith(f"{MEANINGS[place]}: {share} ± ")
            track = row.locator(".track div").bounding_box()
            width = track["width"]
            assert_allclose(row.locator(".mean").bounding_box()["width"], mean * width, atol=1)
            whole = row.locator(".spread").bounding_box()
            low, high = max(0, mean - spread), min(1, mean + spread)
            assert_allclose(
                [whole["x"] - track["x"], whole["width"]], [low * width, (high - low) * width], atol=1
            )
            for name, share in (("uniform", uniform), ("here", here)):
                mark = row.locator(f".{name}").bounding_box()
                assert_allclose(mark["x"] + mark["width"] / 2 - track["x"], share * width, atol=1)
    choose(page, "View", "Matrix")
    expect(panel).to_be_visible()
    choose(page, "View", "All heads")
    expect(panel).to_be_hidden()


def test_evidence_of_this_text_alone_is_drawn_in_the_place_of_the_mean(show, masked):
    numbers = np.full((5, 2, 3, 2), np.nan)
    numbers[3:] = [[[[0.2, 0.3]]], [[[0.45, 0.65]]]]
    page = show(masked, evidence={"encoder": evidence_of(numbers, (0, 0))})
    panel = page.locator(".evidence")
    assert panel.locator("h3").inner_text() == "Patterns in this text"
    assert panel.locator(".legend > span").all_inner_texts() == ["this text", "uniform attention"]
    assert panel.locator(".share").all_inner_texts() == ["45%", "65%"]
    for row, uniform, here in zip(panel.locator("tr").all(), (0.2, 0.3), (0.45, 0.65), strict=True):
        track = row.locator(".track div").bounding_box()
        assert_allclose(row.locator(".mean").bounding_box()["width"], here * track["width"], atol=1)
        mark = row.locator(".uniform").bounding_box()
        assert_allclose(mark["x"] + mark["width"] / 2 - track["x"], uniform * track["width"], atol=1)
        assert row.locator(".spread, .here").count() == 0


def test_a_pattern_that_this_text_cannot_show_has_no_mark_of_it(show, masked):
    numbers = np.full((5, 2, 3, 2), 0.5)
    numbers[4, ..., 1] = np.nan
    page = show(masked, evidence={"encoder": evidence_of(numbers)})
    rows = page.locator(".evidence tr")
    assert [row.locator(".here").count() for row in rows.all()] == [1, 0]
    assert rows.nth(1).get_attribute("title").endswith("In this text: not shown by it.")


def test_without_evidence_nothing_is_shown_of_it(show, masked):
    assert show(masked).locator(".evidence").inner_text() == ""


def test_heads_are_sorted_by_what_is_chosen(show, masked):
    entropy = np.array([[0.5, 0.1, np.nan], [0.9, 0.3, 0.7]])
    page = show(masked, start={"view": "grid"}, metrics={"encoder": {"entropy": entropy}})
    orders = page.get_by_role("combobox", name="Order of heads").locator("option")
    expect(orders).to_have_text(["by layer", "entropy"])
    pick(page, "Order of heads", "entropy")
    said = [text.text for text in drawing(page).iter(f"{SVG}text")]
    labels = [text for text in said if re.fullmatch(r"L\d H\d", text)]
    assert labels == ["L2 H1", "L2 H3", "L1 H1", "L2 H2", "L1 H2", "L1 H3"]
    figures = [said[said.index(label) + 1] for label in labels]
    assert figures == ["0.90", "0.70", "0.50", "0.30", "0.10", "–"]
    page.mouse.click(*page_place(page, thumbnails(page)[1], "grid"))
    assert chosen(page) == (2, 3)
    canvas(page, "grid").focus()
    page.keyboard.press("ArrowRight")
    assert chosen(page) == (1, 1)


def test_the_scale_ends_at_the_heads_maximum_or_at_one(show, masked):
    page = show(masked, start={"view": "matrix"})
    expected = numbers(masked, 0, 0, "weights")
    largest = np.nanmax(expected)
    assert any(text.startswith(f"{percent_of(largest)} ") for text in texts(drawing(page)))
    pick(page, "Colour range", "one")
    assert any(text.startswith("100% ") for text in texts(drawing(page)))
    cell = np.unravel_index(np.nanargmax(expected), expected.shape)
    place = corners(page, ~np.isnan(expected))[cell]
    page.mouse.move(0, 0)
    painted(page)
    assert_allclose(pixel(page, "matrix", place)[:3], colour(largest, 1), atol=1)


VIEWS = {"grid": "All heads", "matrix": "Matrix", "lines": "Lines", "all": "Side by side"}


def test_a_png_is_the_view_twice_as_large(show, writing):
    page = show(writing, start={"kind": "cross", "layer": 2, "head": 1})
    for view, option in VIEWS.items():
        choose(page, "View", option)
        box = canvas(page, "matrix" if view == "all" else view).bounding_box()
        name, content = saved(page, "PNG")
        assert name == f"made-cross-layer3-head2-{'matrix' if view == 'all' else view}.png"
        assert content[:8] == b"\x89PNG\r\n\x1a\n"
        size = struct.unpack(">II", content[16:24])
        margin, titles = 28, 47
        expected = [2 * (box["width"] + margin), 2 * (box["height"] + margin + titles)]
        assert_allclose(size, expected, atol=2)
        assert len(content) > 2_000


def test_an_svg_holds_the_tokens_or_numbers_as_text(show, masked):
    page = show(masked, theme="dark")
    titles = {"grid": "All heads · 2 × 3", "matrix": "Layer 1, head 1 · weight", "lines": "Layer 1, head 1"}
    for view, title in titles.items():
        choose(page, "View", VIEWS[view])
        name, content = saved(page, "SVG")
        assert name == f"made-encoder-layer1-head1-{view}.svg"
        svg = ElementTree.fromstring(content)
        assert {f"made · {title}", "key (attended to): t0 t1 t2 t3 t4 t5 t6"} <= texts(svg).keys()
        assert svg.find(f"{SVG}rect").get("fill") == BACKGROUND["dark"]
        expected = {"1", "2", "3"} if view == "grid" else {*TOKENS}
        assert expected <= texts(svg).keys()
        assert "NaN" not in content.decode()
        assert "undefined" not in content.decode()


def test_a_picture_is_saved_without_its_title_if_that_is_switched_off(show, masked):
    page = show(masked, start={"view": "matrix"})
    titled = drawing(page)
    with opened(page, "export"):
        page.get_by_label("Title above the picture").uncheck()
    bare = drawing(page)
    title = "made · Layer 1, head 1 · weight"
    assert title in texts(titled)
    assert texts(bare).keys() == texts(titled).keys() - {title, "key (attended to): t0 t1 t2 t3 t4 t5 t6"}
    assert float(bare.get("height")) == float(titled.get("height")) - 47
    for svg in (titled, bare):
        assert svg.get("aria-label").startswith(title)


def test_a_dark_page_saves_a_light_picture_if_asked_and_stays_dark(show, masked):
    page = show(masked, theme="dark", start={"view": "matrix"})
    with opened(page, "export"):
        page.get_by_label("Light colours").check()
    svg = drawing(page)
    assert svg.find(f"{SVG}rect").get("fill") == BACKGROUND["light"]
    light = drawing(show(masked, start={"view": "matrix"}))
    assert [each.get("fill") for each in svg] == [each.get("fill") for each in light]
    choose(page, "View", "Lines")
    with opened(page, "export"):
        page.get_by_label("Light colours").uncheck()
    assert drawing(page).find(f"{SVG}rect").get("fill") == BACKGROUND["dark"]


def test_the_csv_read_back_is_what_the_trace_holds(show, masked):
    tokens = ["a", 'b"', "c,d", "=1+1", "é", "好", "<b>"]
    page = show(masked, start={"layer": 1, "head": 1, "view": "matrix"}, tokens={"encoder": (TOKENS, tokens)})
    pick(page, "Values", "masked")
    name, content = saved(page, "CSV")
    assert name == "made-encoder-layer2-head2-masked.csv"
    header, *rows = csv.reader(io.StringIO(content.decode("utf-8-sig")))
    assert header == ["", *tokens]
    assert [row[0] for row in rows] == TOKENS
    read = np.array([[float(cell or "nan") for cell in row[1:]] for row in rows])
    assert_allclose(read, numbers(masked, 1, 1, "masked"), rtol=5e-4)


def test_the_table_says_what_each_token_reads_most(show, masked):
    page = show(masked)
    open_table(page)
    for head in (1, 2):
        head_button(page, head).click()
        expected = numbers(masked, 0, head - 1, "weights")
        for query, (token, read) in enumerate(table(page)):
            best = [key for key in np.argsort(-expected[query]) if not np.isnan(expected[query, key])][:3]
            shares = [part.split()[-1] for part in read.split(" · ") if part]
            assert token == TOKENS[query]
            assert [part.split()[0] for part in read.split(" · ") if part] == [TOKENS[key] for key in best]
            assert shares == [percent_of(share) for share in expected[query, best]]


CONTROLS = """[...document.querySelectorAll(
        ".lens :is(button, select, input, summary, .body canvas, .cells span)")]
    .filter((element) => element.checkVisibility() && element.tabIndex >= 0)"""


@pytest.mark.parametrize("menu", ["none", "view", "export"])
@pytest.mark.parametrize("height", [1600, 560])  # cards, tabs
def test_the_keyboard_reaches_every_control_in_its_order(show, writing, menu, height):
    page = show(writing, height=height)
    page.evaluate("menu => { if (menu) menu.open = true }", page.query_selector(f".menu.{menu}"))
    wanted = page.evaluate(f"() => {CONTROLS}.length")
    place = f"() => {CONTROLS}.indexOf(document.activeElement)"
    reached = []
    for _ in range(wanted):
        page.keyboard.press("Tab")
        reached.append(page.evaluate(place))
        style = page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
        assert style not in {"none", ""}
    assert reached == [*range(wanted)]
    if menu != "none":
        assert page.locator(f".menu.{menu} .body").evaluate("body => body.checkVisibility()")


def test_every_control_keeps_its_place_when_it_is_used(show, writing):
    page = show(writing)
    head_button(page, 1).focus()
    page.keyboard.press("ArrowRight")
    expect(head_button(page, 2)).to_be_focused()
    page.keyboard.press("Enter")
    expect(head_button(page, 2)).to_be_focused()
    assert chosen(page)[1] == 2
    choose(page, "View", "Matrix")
    with opened(page, "view"):
        menu = page.get_by_role("combobox", name="Values")
        menu.focus()
        menu.select_option("scores")
        expect(page.get_by_role("combobox", name="Values")).to_be_focused()
        views_ = page.get_by_role("group", name="View", exact=True)
        views_.get_by_role("button", name="Matrix").focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        expect(views_.get_by_role("button", name="Lines")).to_be_focused()
        slider = page.get_by_role("slider", name="Hide weights below")
        slider.press("ArrowRight")
        expect(page.get_by_role("slider", name="Hide weights below")).to_be_focused()


def test_arrows_in_the_column_of_heads_move_the_choice_and_stop_at_its_edges(show, masked):
    page = show(masked)
    head_button(page, 1).focus()
    for key, place in (("Right", (1, 2)), ("Down", (2, 2)), ("Left", (2, 1)), ("Up", (1, 1))):
        page.keyboard.press(f"Arrow{key}")
        assert chosen(page) == place
        expect(head_button(page, place[1])).to_be_focused()
    for key in ("ArrowLeft", "ArrowUp"):
        page.keyboard.press(key)
        assert chosen(page) == (1, 1)


def test_the_column_scrolls_to_a_head_that_is_chosen_and_stays_where_a_person_scrolled(show):
    trace = encoder_trace(["the", "cat", "sat"], layers=20, heads=8)
    page = show(trace, start={"layer": 17, "head": 2}, height=700)
    column = page.locator(".column")

    def is_in_sight(layer, head):
        box, place = column.bounding_box(), head_button(page, head, layer).bounding_box()
        return box["y"] <= place["y"] and place["y"] + place["height"] <= box["y"] + box["height"] + 1

    expect(head_button(page, 3, 18)).to_have_attribute("aria-current", "true")
    assert is_in_sight(18, 3)
    assert not is_in_sight(1, 1)
    head_button(page, 3, 18).focus()
    for _ in range(17):
        page.keyboard.press("ArrowUp")
    assert chosen(page) == (1, 3)
    assert is_in_sight(1, 3)
    column.evaluate("(element) => element.scrollTo(0, 900)")
    choose(page, "View", "Matrix")
    choose(page, "View", "Side by side")
    assert not is_in_sight(1, 3)


def test_every_kind_of_attention_is_reached_by_keys_alone(show, writing):
    page = show(writing, height=1600)
    cards = page.locator(".card")
    expect(cards).to_have_count(3)
    stops = page.locator(".heads .head[tabindex='0']")
    expect(stops).to_have_count(3)  # one for each card
    cards.nth(1).locator(".head[tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    expect(cards.nth(1)).to_have_class(re.compile("current"))
    expect(head_button(page, 2)).to_be_focused()
    assert chosen(page) == (1, 2)
    expect(page.locator(".place")).to_contain_text(cards.nth(1).locator("h3").inner_text())
    page.set_viewport_size({"width": 1440, "height": 560})
    tabs = page.locator(".tabs button")
    expect(tabs).to_have_count(3)
    tabs.nth(2).focus()
    page.keyboard.press("Enter")
    expect(tabs.nth(2)).to_be_focused()
    expect(tabs.nth(2)).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".place")).to_contain_text(tabs.nth(2).inner_text())


def test_a_thumbnail_says_what_its_head_does_as_long_as_it_is_pointed_at_or_has_the_focus(show, masked):
    page = show(masked)
    tip = page.locator(".tip")
    for layer, head in ((1, 3), (2, 1)):
        head_button(page, head, layer).hover()
        expect(tip.locator("strong")).to_have_text(f"Layer {layer}, head {head}")
        expect(tip).to_contain_text(f"encoder {layer - 1} {head - 1} looks around.")
    page.mouse.move(0, 0)
    expect(tip).to_be_hidden()
    head_button(page, 1).focus()
    expect(tip.locator("strong")).to_have_text("Layer 1, head 1")
    page.keyboard.press("ArrowDown")
    expect(tip.locator("strong")).to_have_text("Layer 2, head 1")
    page.keyboard.press("Shift+Tab")
    expect(tip).to_be_hidden()


@pytest.mark.parametrize("menu", ["view", "export"])
def test_a_press_outside_of_a_menu_or_escape_closes_it(show, masked, menu):
    page = show(masked)
    button, body = page.locator(f".menu.{menu} > summary"), page.locator(f".menu.{menu} > .body")
    other = page.locator(f".menu.{({'view', 'export'} - {menu}).pop()}")
    outsides = {
        page.locator("h1"): 5,
        page.locator(".says"): 5,
        canvas(page, "lines"): 500,
        head_button(page, 2): 5,
    }
    for outside, y in outsides.items():
        button.click()
        expect(body).to_be_visible()
        body.click(position={"x": 4, "y": 4})
        expect(body).to_be_visible()  # inside of it
        outside.click(position={"x": 5, "y": y})
        expect(body).to_be_hidden()
    button.click()
    other.locator("summary").click()
    expect(body).to_be_hidden()
    expect(other.locator(".body")).to_be_visible()
    page.keyboard.press("Escape")
    expect(other.locator(".body")).to_be_hidden()
    button.press("Enter")
    expect(body).to_be_visible()
    page.keyboard.press("Tab")
    expect(button).not_to_be_focused()
    page.keyboard.press("Escape")
    expect(body).to_be_hidden()
    expect(button).to_be_focused()


def test_a_press_in_a_menu_leaves_it_open_for_the_next(show, masked):
    page = show(masked)
    with opened(page, "view"):
        for name in ("Lines", "Matrix", "Side by side"):
            page.locator(".menu.view").get_by_role("button", name=name, exact=True).click()
            expect(page.locator(".menu.view > .body")).to_be_visible()


def chips(page):
    return [text.removesuffix(" ×") for text in page.locator(".chip").all_inner_texts()]


def undo(page, name):
    page.locator(".chips").get_by_role("button", name=f"{name} ×", exact=True).click()
    painted(page)


def test_what_is_set_stands_in_chips_that_undo_it(show, masked):
    sentences = np.array([0, 0, 0, 0, 1, 1, 1])
    page = show(masked, sentences={"encoder": (sentences, sentences)})
    assert chips(page) == []
    first = [picture(page, view) for view in ("matrix", "lines")]
    pick(page, "Values", "scores")
    slide(page, "ArrowRight")
    pick(page, "Sentences", "within")
    choose(page, "Lines of", "all heads of the layer")
    assert chips(page) == ["score", "weight ≥ 3%", "within a sentence", "Lines of heads 1–3"]
    undo(page, "score")
    assert options(page, "Colour range") == ["fitted to this head", "0 to 100%"]
    pick(page, "Colour range", "one")
    assert chips(page) == ["0 to 100%", "weight ≥ 3%", "within a sentence", "Lines of heads 1–3"]
    undo(page, "Lines of heads 1–3")
    assert shown_heads(page) == [1]
    undo(page, "weight ≥ 3%")
    expect(page.locator(".range output")).to_have_text("2%")
    undo(page, "within a sentence")
    undo(page, "0 to 100%")
    assert chips(page) == []
    page.mouse.move(0, 0)
    painted(page)
    assert [picture(page, view) for view in ("matrix", "lines")] == first


def test_the_view_and_the_order_of_heads_stand_in_chips_too(show, masked):
    page = show(masked, metrics={"encoder": {"entropy": np.arange(6).reshape(2, 3) / 10}})
    choose(page, "View", "All heads")
    pick(page, "Order of heads", "entropy")
    assert chips(page) == ["All heads", "entropy"]
    undo(page, "entropy")
    assert page.get_by_role("combobox", name="Order of heads").input_value() == "place"
    assert chips(page) == ["All heads"]
    undo(page, "All heads")
    expect(canvas(page, "matrix")).to_be_visible()
    expect(canvas(page, "lines")).to_be_visible()
    assert chips(page) == []


@pytest.mark.parametrize("size", [(1440, 900), (1280, 720)])
def test_a_projector_enlarges_every_view_until_its_chip_is_pressed(show, writing, size):
    page = show(writing, width=size[0], height=size[1])
    usual = letters(drawing(page))
    caption = page.locator(".says").evaluate(FONT)
    choose(page, "Size", "Projector")
    assert chips(page) == ["Projector"]
    assert min(letters(drawing(page))) >= 18 > min(usual)
    assert page.locator(".says").evaluate(FONT) > caption
    for view in ("All heads", "Lines", "Step by step", "Matrix"):
        choose(page, "View", view)
        assert min(letters(drawing(page))) >= 18
        assert page.locator(".lens").evaluate("lens => lens.scrollWidth <= lens.clientWidth")
    undo(page, "Projector")
    assert chips(page) == ["Matrix"]
    assert min(letters(drawing(page))) == min(usual)


FONT = "element => parseFloat(getComputedStyle(element).fontSize)"


def test_a_chip_that_is_pressed_by_keys_leaves_the_focus_among_the_controls(show, masked):
    page = show(masked)
    pick(page, "Values", "scores")
    choose(page, "Lines of", "all heads of the layer")
    page.locator(".chip").first.press("Enter")
    expect(page.locator(".chip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".chip")).to_have_count(0)
    expect(page.locator(".menu.view > summary")).to_be_focused()


def test_every_control_and_picture_has_a_name(show, writing):
    page = show(writing)
    for menu in ("view", "export"):
        with opened(page, menu):
            for role in ("img", "button", "combobox", "slider", "group", "navigation"):
                for found in page.get_by_role(role).all():
                    assert found.get_attribute("aria-label") or found.inner_text(), role


HOSTILE = [
    "<img src=x onerror=z()>",
    "</script><script>z()",
    "<svg onload=z()>",
    "javascript:z()",
    "{key}",
    "$x$",
]


def test_hostile_tokens_are_shown_and_never_run(show):
    trace = encoder_trace(HOSTILE, layers=1, heads=2)
    said = '<img src=x onerror="window.__x=1">'
    page = show(trace, captions={"encoder": [[said] * 2]}, name={"encoder": said}, title={"encoder": said})
    expect(page.locator(".said")).to_contain_text(said)
    open_table(page)
    assert [row[0] for row in table(page)] == HOSTILE
    canvas(page, "matrix").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".tip")).to_contain_text("“<img src=x onerror=z()>” → “<img src=x onerror=z()>”")
    head_button(page, 2).hover()
    expect(page.locator(".tip")).to_contain_text(said)
    choose(page, "View", "All heads")
    point(page, "grid", (40, 40))
    expect(page.locator(".tip")).to_contain_text(said)
    for view in ("All heads", "Matrix", "Lines"):
        choose(page, "View", view)
        svg = drawing(page)
        assert {element.tag for element in svg.iter()} <= {
            SVG + name for name in ("svg", "rect", "text", "path")
        }
    assert set(HOSTILE) & texts(svg).keys()
    thumbnails = page.locator(".head > img:first-child")
    assert all(
        source.startswith("data:image/png")
        for source in thumbnails.evaluate_all("all => all.map(({ src }) => src)")
    )
    assert page.locator(".lens :is(img, script, svg, a)").count() == thumbnails.count() == 2
    assert page.evaluate("typeof window.__x") == "undefined"


def test_the_pictures_follow_when_the_system_turns_dark(show, masked):
    page = show(masked, start={"view": "matrix"})
    expected = numbers(masked, 0, 0, "weights")
    places = corners(page, ~np.isnan(expected))
    page.mouse.move(0, 0)
    painted(page)
    light = picture(page, "matrix")
    page.emulate_media(color_scheme="dark")
    drawn_anew = "light => document.querySelector('.matrix .body canvas').toDataURL() !== light"
    page.wait_for_function(drawn_anew, arg=light)
    for cell, place in places.items():
        dark = colour(expected[cell], np.nanmax(expected), theme="dark")
        assert_allclose(pixel(page, "matrix", place)[:3], dark, atol=1)


@pytest.mark.parametrize("width", [1440, 1024, 900, 390])
def test_nothing_is_wider_than_the_window(show, width):
    trace = encoder_trace([f"rather-long-word-{number}" for number in range(60)], layers=6, heads=12)
    page = show(trace, width=width)
    too_wide = """() => [...document.querySelectorAll(".lens *")]
        .filter((part) => part.checkVisibility() && part.className !== "spoken")
        .map((part) => [part.getBoundingClientRect(), part.className])
        .filter(([{ left, right }]) => right > innerWidth + 0.5 || left < -0.5)"""
    for view in ("All heads", "Matrix", "Lines", "Side by side"):
        choose(page, "View", view)
        page.mouse.move(width - 60, 600)
        painted(page)
        for menu in ("none", "view", "export"):
            with opened(page, menu):
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
                assert page.evaluate(too_wide) == []


def test_a_trace_of_weights_alone_offers_no_scores(show, masked):
    page = show(Trace(**{**vars(masked), "values": weights_only(masked.values)}), start={"view": "matrix"})
    assert options(page, "Values") == ["weight"]
    with opened(page, "view"):
        expect(page.locator(".lacking")).to_be_visible()
        expect(page.locator(".lacking")).to_contain_text("Only the attention weights are known here")
    assert picture(page, "matrix") == picture(show(masked, start={"view": "matrix"}), "matrix")


def test_one_token_and_one_head_have_no_choice_to_make(show):
    page = show(encoder_trace(["film"], layers=1, heads=1))
    expect(page.locator(".heads button")).to_have_count(1)
    expect(page.locator(".heads .layer, .heads .tabs, .chip")).to_have_count(0)
    with opened(page, "view"):
        expect(page.get_by_role("group", name="View", exact=True)).to_have_count(1)
        expect(page.get_by_role("group", name="Lines of", exact=True)).to_have_count(0)
    choose(page, "View", "All heads")
    expect(page.get_by_role("combobox")).to_have_count(0)
    expect(page.get_by_role("group", name="Attention", exact=True)).to_have_count(0)
    choose(page, "View", "Side by side")
    canvas(page, "matrix").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".tip")).to_have_text("“film” → “film”: weight 100%")


MOUNTING = """async ([address, ...texts]) => {
    const { mount } = await import(address);
    document.getElementById("lens").replaceChildren();
    const payloads = texts.map((text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)));
    window.chosen = [];
    const start = () => ({ layer: 1, head: 2 });
    const host = { start, remember: (choice) => window.chosen.push(choice) };
    window.mounted = mount(document.getElementById("lens"), payloads[0], host);
    window.next = (number) => window.mounted.update(payloads[number]);
}"""


def test_another_payload_takes_the_place_of_the_first_and_keeps_the_choice_in_the_same_model(show, masked):
    """What Streamlit does when a sentence is typed, another language is chosen, or another model."""
    page = show(masked)
    other = encoder_trace(["un", "deux", "trois"], seed=8)
    model = Trace(**{**vars(other), "model": "another"})
    payloads = packed(masked), packed(other, language="zh"), packed(model, opening={"encoder": (0, 2)})
    texts_ = [base64.b64encode(text).decode() for text in payloads]
    page.evaluate(MOUNTING, [address_of("lens"), *texts_])
    open_table(page)
    assert [row[0] for row in table(page)] == TOKENS
    head_button(page, 1).click()
    page.evaluate("window.next(1)")
    painted(page)
    assert [row[0] for row in table(page)] == ["un", "deux", "trois"]
    expect(page.locator(".place")).to_contain_text("第 2 层")
    expect(page.locator(".heads [aria-current]")).to_have_attribute(
        "aria-label", re.compile("^第 2 层，第 1 个头")
    )
    expect(canvas(page, "matrix")).to_have_attribute("aria-label", re.compile("矩阵"))
    expect(page.locator(".menu.view > summary")).to_have_text("视图")
    expect(page.locator(".menu.export > summary")).to_have_text("导出")
    with opened(page, "export"):
        assert page.locator(".menu.export button").all_inner_texts()[1] == "矢量图（SVG）"
    expect(page.locator(".table summary")).to_have_text("以表格显示")
    place = {"model": masked.model, "kind": "encoder", "layer": 1, "head": 0}
    place |= {"view": "all", "value": "weights", "scale": "head", "sort": "place", "projected": False}
    place |= {"pinned": {"query": None, "key": None}}
    assert page.evaluate("window.chosen") == [place]
    page.evaluate("window.next(2)")
    painted(page)
    assert chosen(page) == (1, 3)
    assert page.evaluate("window.chosen") == [place, place | {"model": "another", "layer": 0, "head": 2}]
    page.evaluate("window.mounted.destroy()")
    assert page.locator("#lens *").count() == 0


def test_the_large_picture_of_another_text_is_drawn_at_once_and_its_thumbnails_after_that(show, masked):
    page = show(masked)
    payloads = packed(masked), packed(encoder_trace(["un", "deux", "trois"], seed=8))
    page.evaluate(MOUNTING, [address_of("lens"), *(base64.b64encode(each).decode() for each in payloads)])
    images = page.locator(".head > img")
    expect(images.last).to_have_attribute("src", re.compile("^data:"))
    former = images.evaluate_all("images => images.map(({ src }) => src)")
    height = canvas(page, "matrix").evaluate("canvas => canvas.height")
    seen = page.evaluate("""() => {
        window.next(1);
        const height = document.querySelector(".matrix canvas").height;
        return [height, [...document.querySelectorAll(".head > img")].map(({ src }) => src)];
    }""")
    assert seen[0] != height
    assert seen[1] == former
    expect(images.first).not_to_have_attribute("src", former[0])
    assert not set(former) & set(images.evaluate_all("images => images.map(({ src }) => src)"))


def test_the_words_are_those_of_the_language(show, masked):
    page = show(masked, language="zh")
    expect(page.locator(".place")).to_contain_text("第 1 层")


def test_many_heads_of_long_texts_are_few_nodes_and_answer_the_pointer(show):
    """A hundred and forty-four heads of 256 tokens: a node for each weight would be 9 million."""
    trace = encoder_trace([f"t{number}" for number in range(256)], layers=1, heads=12)
    weights = weights_only(trace.values)
    page = show(Trace(**{**vars(trace), "values": weights._replace(encoder=weights.encoder * 12)}))
    assert page.evaluate("document.querySelectorAll('*').length") < 2_000
    box = canvas(page, "matrix").bounding_box()
    point(page, "matrix", (box["width"] * 0.6, box["height"] * 0.5))
    cell, number = cell_of(page.locator(".tip").inner_text())
    assert number == percent_of(half(trace.encoder[0].attention.weights[0])[cell])
    choose_layer(page, 12)
    assert chosen(page) == (12, 1)


def test_a_row_is_chosen_with_arrow_keys_and_a_key_is_pinned(show, masked):
    page = show(masked, start={"view": "steps", "pinned": {"query": 6, "key": None}})
    canvas(page, "steps").focus()
    page.keyboard.press("ArrowUp")
    painted(page)
    assert page.get_by_role("combobox", name="Row (query)").input_value() == "5"
    expect(page.locator(".panel.steps h3")).to_have_text("Layer 1, head 1 · query “t5”")
    vectors, headings = 4 * 58 + 8, 46
    place = 40, vectors + headings + 2.5 * 26
    point(page, "steps", place)
    page.mouse.click(*page_place(page, place, "steps"))
    painted(page)
    expect(page.locator(".place")).to_contain_text("“t5” → “t2”")


@pytest.mark.parametrize("projected", [False, True])
def test_a_number_of_a_vector_stands_under_the_pointer(show, masked, projected):
    page = show(masked, start={"view": "steps", "projected": projected})
    place = (40, 30 * (1.65 if projected else 1))
    point(page, "steps", place)
    tip = page.locator(".tip")
    expect(tip).to_have_text(re.compile(r"token embedding · 1/6: −?\d\.\d+"))
    box, (x, y) = tip.bounding_box(), page_place(page, place, "steps")
    assert (abs(box["x"] - x), abs(box["y"] - y)) < (40, 40)
    point(page, "steps", (40, 2))
    expect(tip).to_be_hidden()


@pytest.mark.parametrize(("language", "said"), [("en", "1 other"), ("zh", "其余 1 个")])
def test_a_single_smallest_weight_is_named_in_the_singular(show, language, said):
    trace = encoder_trace([f"t{number}" for number in range(21)], layers=1, heads=1)
    page = show(trace, start={"view": "steps"}, language=language)
    assert said in texts(drawing(page))


def shares_in(svg):
    """Return place -> percentage of the numbers that stand in cells."""
    middle = [text for text in svg.iter(f"{SVG}text") if text.get("text-anchor") == "middle"]
    return {
        (float(text.get("x")), float(text.get("y"))): int(text.text)
        for text in middle
        if text.text.isdecimal()
    }


def test_the_share_of_a_roomy_cell_stands_in_it(show, masked):
    page = show(masked, start={"view": "matrix", "layer": 1})
    weights = numbers(masked, 1, 0, "weights")
    said, least = shares_in(drawing(page)), 0.005
    assert len(said) == (weights >= least).sum() > 10
    for cell, (x, y) in middles(page, ~np.isnan(weights)).items():
        near = [share for (left, top), share in said.items() if abs(left - x) < 2 and abs(top - y) < 3]
        assert near == ([np.floor(100 * weights[cell] + 0.5)] if weights[cell] >= least else [])


@pytest.mark.parametrize("value", ["scores", "masked", "norms"])
def test_what_is_no_weight_stands_in_its_cell_as_a_number(show, masked, value):
    page = show(masked, start={"view": "matrix", "layer": 1, "value": value})
    field = numbers(masked, 1, 0, value)
    svg = drawing(page)
    texts = {(float(each.get("x")), float(each.get("y"))): each.text for each in svg.iter(f"{SVG}text")}
    for cell, (x, y) in middles(page, ~np.isnan(field)).items():
        near = [text for (left, top), text in texts.items() if abs(left - x) < 2 and abs(top - y) < 3]
        size = abs(field[cell])
        assert len(near) == (size >= 0.005)
        digits = 0.5 if size >= 9.95 else 0.05 if size >= 0.995 else 0.005
        for text in near:
            assert float(text.replace("−", "-")) == pytest.approx(field[cell], abs=1.01 * digits)


def test_cells_without_room_have_no_share_in_them(show):
    trace = encoder_trace([f"t{number}" for number in range(40)], layers=1, heads=1)
    trace.encoder[0].attention.weights[:] = np.eye(40)
    page = show(trace, start={"view": "matrix"}, height=720)
    assert shares_in(drawing(page)) == {}


WINDOWS = [(1280, 720), (720, 450), (1440, 1000)]


@pytest.mark.parametrize(("width", "height"), WINDOWS)
@pytest.mark.parametrize("size", [4, 20, 90])
def test_the_matrix_stays_within_the_window(show, width, height, size):
    page = show(
        encoder_trace([f"t{number}" for number in range(size)], layers=2, heads=4), width=width, height=height
    )
    for view in ("Side by side", "Matrix", "Lines"):
        choose(page, "View", view)
        for panel in ("matrix", "lines"):
            if canvas(page, panel).is_visible():
                box = canvas(page, panel).bounding_box()
                assert box["y"] + box["height"] <= height
        column = page.locator(".column").bounding_box()
        assert column["y"] + column["height"] <= height + 3


def test_the_matrix_fills_the_height_that_is_left_and_follows_the_window(show):
    page = show(encoder_trace([f"t{number}" for number in range(24)], layers=1, heads=2))
    for height in (1000, 720, 850):
        page.set_viewport_size({"width": 1440, "height": height})
        painted(page)
        box = canvas(page, "matrix").bounding_box()
        assert height - 60 <= box["y"] + box["height"] <= height


def test_lines_share_the_rows_of_the_matrix_beside_them(show):
    tokens = ["a", "rather-uncharacteristic", "t2", "t3", "t4", "t5", "t6"]
    page = show(encoder_trace(tokens))
    tops = [canvas(page, view).bounding_box()["y"] for view in ("matrix", "lines")]
    assert tops[0] == tops[1]
    rows = [place[1] for cell, place in middles(page, np.ones((7, 7), bool)).items() if cell[1] == 0]
    for query, y in enumerate(rows):
        for inside in (y - 0.4 * (rows[1] - rows[0]), y, y + 0.4 * (rows[1] - rows[0])):
            page.mouse.click(*page_place(page, (8, inside), "lines"))
            choose(page, "View", "Step by step")
            assert page.get_by_role("combobox", name="Row (query)").input_value() == str(query)
            choose(page, "View", "Side by side")
            canvas(page, "lines").press("Escape")


def test_more_heads_than_fit_are_scrolled_in_their_column_and_the_chosen_one_is_seen(show):
    trace = encoder_trace(TOKENS, layers=12, heads=12)
    page = show(trace, height=720)
    column = page.locator(".column").bounding_box()
    assert column["y"] + column["height"] <= 720
    head_button(page, 1).focus()
    for _ in range(11):
        page.keyboard.press("ArrowDown")
    assert chosen(page) == (12, 1)
    box = head_button(page, 1).bounding_box()
    assert column["y"] <= box["y"]
    assert box["y"] + box["height"] <= column["y"] + column["height"]
