"""A matrix for screen readers and keys: a grid with the names and the value of every cell."""

import numpy as np
import pytest
from lens_page import head_button, painted, percent_of, picture
from made_traces import TOKENS, encoder_trace, half, masked_trace
from playwright.sync_api import expect


def nodes(page, role):
    """Return the nodes of a role in the accessibility tree of the page, in its order."""
    session = page.context.new_cdp_session(page)
    found = session.send("Accessibility.getFullAXTree")["nodes"]
    return [node for node in found if not node["ignored"] and node["role"]["value"] == role]


def names(page, role):
    return [node["name"]["value"] for node in nodes(page, role)]


def current(page):
    """Return row, column and text of the cell that has the focus, from 0."""
    row, column, text = page.evaluate(
        "() => { const { activeElement: cell } = document;"
        " return [cell.parentElement.ariaRowIndex, cell.ariaColIndex, cell.textContent]; }"
    )
    return int(row) - 2, int(column) - 2, text


def focus(page):
    page.locator(".matrix .cells [tabindex='0']").focus()
    painted(page)


@pytest.mark.parametrize(("language", "masked_word"), [("en", "masked"), ("zh", "遮蔽")])
def test_the_accessibility_tree_has_the_rows_columns_and_values_of_the_matrix(show, language, masked_word):
    trace = masked_trace()
    page = show(trace, start={"view": "matrix", "layer": 0, "head": 0}, language=language)
    weights, allowed = half(trace.encoder[0].attention.weights[0]), trace.values.attention_mask[0]
    assert len(nodes(page, "grid")) == 1
    assert names(page, "grid") == [page.locator(".matrix canvas").get_attribute("aria-label")]
    assert names(page, "columnheader")[1:] == names(page, "rowheader") == TOKENS
    cells = zip(weights.ravel(), allowed.ravel(), strict=True)
    assert names(page, "gridcell") == [percent_of(each) if may else masked_word for each, may in cells]
    grid = page.locator(".matrix [role=grid]")
    assert [grid.get_attribute(f"aria-{count}") for count in ("rowcount", "colcount")] == ["8", "8"]


def test_keys_move_in_the_grid_and_highlight_the_cell_and_enter_pins_it(show):
    trace = encoder_trace(TOKENS)
    page = show(trace, start={"view": "matrix", "layer": 0, "head": 0})
    before = picture(page, "matrix")
    focus(page)
    weights = half(trace.encoder[0].attention.weights[0])
    for key, cell in {
        "ArrowDown": (1, 0),
        "End": (1, 6),
        "Control+Home": (0, 0),
        "Control+End": (6, 6),
        "Home": (6, 0),
        "ArrowUp": (5, 0),
        "ArrowRight": (5, 1),
    }.items():
        page.keyboard.press(key)
        assert current(page) == (*cell, percent_of(weights[cell]))
        expect(page.locator(".tip")).to_contain_text(f"“t{cell[0]}” → “t{cell[1]}”: weight")
    painted(page)
    assert picture(page, "matrix") != before
    assert page.locator(".matrix .cells [tabindex='0']").count() == 1
    page.keyboard.press("Enter")
    expect(page.locator(".place")).to_contain_text("Pinned: “t5” → “t1”")
    assert current(page)[:2] == (5, 1)
    head_button(page, 2).click()
    focus(page)
    other = half(trace.encoder[0].attention.weights[1])
    assert current(page) == (5, 1, percent_of(other[5, 1]))


def test_of_many_tokens_the_current_row_alone_is_there(show):
    tokens = [f"t{number}" for number in range(128)]
    trace = encoder_trace(tokens, layers=1, heads=1)
    page = show(trace, start={"view": "matrix"})
    weights = half(trace.encoder[0].attention.weights[0])
    focus(page)
    for key, row in {"ArrowDown": 1, "Control+End": 127, "ArrowUp": 126}.items():
        page.keyboard.press(key)
        assert page.locator(".matrix .cells [role=rowheader]").all_inner_texts() == [f"t{row}"]
        shown = page.locator(".matrix .cells [role=gridcell]").all_text_contents()
        assert shown == [percent_of(weight) for weight in weights[row]]
        assert current(page)[0] == row
    grid = page.locator(".matrix [role=grid]")
    assert [grid.get_attribute(f"aria-{count}") for count in ("rowcount", "colcount")] == ["129", "129"]


def test_scores_are_numbers_in_the_grid_too(show):
    trace = masked_trace()
    page = show(trace, start={"view": "matrix", "layer": 0, "head": 0, "value": "scores"})
    shown = [float(text.replace("−", "-")) for text in names(page, "gridcell")]
    assert np.allclose(shown, half(trace.encoder[0].attention.scores[0]).ravel(), atol=6e-4)
