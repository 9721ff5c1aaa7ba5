"""Probabilities before and after a change in a real browser, on a page of their own."""

import pytest
from lens_page import address_of, painted, watched_pages
from numpy.testing import assert_allclose
from playwright.sync_api import expect

from transformer_viz.pictures import views

SHOW = """async ([address, data]) => {
    const { default: show } = await import(address);
    show({ data, parentElement: document.body });
}"""

ROWS = [
    {"name": "<b>bad</b>", "before": 0.75, "after": 0.5},
    {"name": "好" * 40, "before": 0, "after": 0.0004},
]


@pytest.fixture
def page(browser):
    """A page with one element for the view, as Streamlit makes it."""
    with watched_pages(browser) as new_page:
        page = new_page(viewport={"width": 480, "height": 300})
        page.set_content(f"<style>{views.stylesheet('bars')}</style><div></div>")
        yield page


def show(page, rows):
    labels = {"before": "own mask", "after": "causal mask"}
    page.evaluate(
        SHOW, [address_of("bars"), {"rows": rows, "labels": labels, "alt": "Both", "projected": False}]
    )
    painted(page)


def test_each_name_has_a_bar_before_and_one_after_of_the_length_of_its_probability(page):
    show(page, ROWS)
    expect(page.locator(".legend")).to_have_text("own maskcausal mask")
    rows = page.get_by_role("table", name="Both").get_by_role("row").all()
    for row, facts in zip(rows, ROWS, strict=True):
        expect(row.get_by_role("rowheader")).to_have_text(facts["name"])
        for side in ("before", "after"):
            bar, track = row.locator(f".bar.{side}"), row.locator(f".track:has(.{side})")
            width = max(1, facts[side] * track.bounding_box()["width"])
            assert_allclose(bar.bounding_box()["width"], width, atol=0.6)
        assert row.locator(".share").all_inner_texts() == [
            f"{facts[side]:.1%}" for side in ("before", "after")
        ]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_other_probabilities_take_the_place_of_the_first(page):
    show(page, ROWS)
    show(page, ROWS[:1])
    expect(page.locator(".bars")).to_have_count(1)
    expect(page.get_by_role("row")).to_have_count(1)
