"""What heads and cells do to an answer, in a real browser: bars, colours, where the views open."""

import numpy as np
import pytest
from lens_page import chosen, middles, painted, pixel
from made_traces import TOKENS, encoder_trace, packed
from numpy.testing import assert_allclose
from playwright.sync_api import expect

from transformer_viz.pictures.theme import EFFECTS

LAYERS, HEADS = 2, 3


def effects():
    """Return effects of each cell, whose strongest head is the second of layer 2, and speaks against."""
    cells = np.random.default_rng(2).normal(size=(LAYERS, HEADS, len(TOKENS), len(TOKENS))) / 100
    cells[1, 1, :, 3] = -0.25
    cells[0, 2, 4, :] = 0.125
    return {"encoder": cells.astype(np.float32)}


@pytest.fixture
def trace():
    return encoder_trace(TOKENS)


def bars(page):
    """Return the signed length of the bar of each head, as a share of half its width."""
    read = """all => all.map(bar => [bar, bar.firstElementChild].map(each => each.getBoundingClientRect()))
        .map(([whole, part]) => [whole.left, whole.width, part.left, part.width])"""
    found = page.locator(".head .bar").evaluate_all(read)
    middles = [left + width / 2 for left, width, _, _ in found]
    return [
        (1 if part >= middle - 0.5 else -1) * long / (width / 2)
        for middle, (_, width, part, long) in zip(middles, found, strict=True)
    ]


def test_the_views_open_on_the_strongest_head_and_each_bar_is_its_effect(show, trace):
    found = effects()
    heads = found["encoder"].sum(axis=(2, 3)).ravel()
    page = show(trace, effects=found)
    assert chosen(page) == (2, 2)
    assert_allclose(bars(page), heads / np.abs(heads).max(), atol=0.06)
    expect(page.locator(".place")).to_contain_text("effect on the answer: −1.7, estimated")
    expect(page.locator(".bars")).to_contain_text("for it")


def test_a_head_that_is_chosen_stays(show, trace):
    page = show(trace, effects=effects(), start={"layer": 0, "head": 0})
    assert chosen(page) == (1, 1)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_a_head_does_has_the_colours_of_its_sign(show, trace, theme):
    page = show(trace, effects=effects(), theme=theme, start={"view": "matrix"})
    page.get_by_role("button", name="What it does").click()
    painted(page)
    against = [int(EFFECTS[theme][0][1][i : i + 2], 16) for i in (1, 3, 5)]
    places = middles(page, np.ones((len(TOKENS),) * 2, bool))
    page.mouse.move(0, 0)
    painted(page)
    x, y = places[0, 3]
    seen = pixel(page, "matrix", (x - 12, y - 12))  # beside the number
    assert_allclose(seen, [*against, 255], atol=2)
    expect(page.locator(".matrix h3")).to_contain_text("effect on the answer")
    page.get_by_role("button", name="Where it looks").click()
    painted(page)
    expect(page.locator(".matrix h3")).to_contain_text("weight")


def test_without_effects_nothing_asks_why(show, trace):
    page = show(trace)
    expect(page.locator(".head .bar")).to_have_count(0)
    expect(page.locator(".bars")).to_be_hidden()
    expect(page.get_by_role("button", name="What it does")).to_have_count(0)
    assert chosen(page) == (1, 1)


def test_measured_heads_are_said_to_be_measured(show, trace):
    measured = np.array([[0.5, 0, 0], [0, 0, 2.0]], np.float32)
    page = show(packed(trace, effects=effects(), ablated={"encoder": measured}))
    assert chosen(page) == (2, 3)
    expect(page.locator(".place")).to_contain_text("effect on the answer: +2.0, measured")
