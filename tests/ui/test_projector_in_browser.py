"""The projector on all pages that show attention: chosen on one, it holds on the others."""

import re

import pytest
from lens_page import choose, drawing, letters, settle
from playwright.sync_api import expect

LEAST = 18
"""Pixels of the smallest letters that can be read from the back of a room."""

VIEWS = {
    "masks": ("mask_view", ("steps", "change", "ways")),
    "positions": ("view", ("experiment", "table", "rotation", "kinds")),
}
"""Page -> the name of its view in the address, and its views."""

SMALL = f"""() => {{
    const icons = "[data-testid=stIconMaterial], [data-testid=stExpanderIcon]";
    const aside = `.st-key-header, .katex, .spoken, style, script, ${{icons}}`;
    const found = [];
    const look = (root) => {{
        for (const element of root.querySelectorAll("*")) {{
            if (element.shadowRoot) look(element.shadowRoot);
            const own = [...element.childNodes].filter((node) => node.nodeType === 3);
            const text = own.map((node) => node.data).join("");
            const pixels = parseFloat(getComputedStyle(element).fontSize);
            if (!text.trim() || !element.getClientRects().length || element.closest(aside)) continue;
            if (pixels < {LEAST}) found.push(`${{pixels}}: ${{text.trim()}}`);
        }}
    }};
    look(document.querySelector("[data-testid=stMain]"));
    return found;
}}"""
"""Return the texts of the page with smaller letters: not the header, formulas, icons."""


@pytest.fixture
def page(new_visitor):
    return new_visitor(viewport={"width": 1280, "height": 720})


def go(page, name):
    page.locator(".st-key-pages").get_by_role("link").filter(has_text=name).click()
    page.locator(".st-key-page-shown").filter(has_text=name).wait_for()
    settle(page)


def switch(page):
    return page.get_by_role("switch", name="Projector")


def projected(page):
    """Return what says in the views that they are drawn for a projector, and takes it back."""
    return page.locator(".chip").filter(has_text="Projector")


def test_the_projector_holds_from_page_to_page_and_is_taken_back_on_any(page, app, shipped):
    page.goto(f"{app[1]}/?model=hotel-zh&lang=en")
    page.locator(".lens .said").wait_for()
    choose(page, "Size", "Projector")
    page.wait_for_url("**projector=1**")
    for name in ("Masks", "Positions"):
        go(page, name)
        expect(projected(page)).to_be_visible()
        expect(page).to_have_url(re.compile("projector=1"))
    expect(switch(page)).to_be_checked()
    page.locator(".stCheckbox").filter(has_text="Projector").locator("label").click()
    page.wait_for_function("() => !location.search.includes('projector')")
    expect(projected(page)).to_have_count(0)
    for name in ("Masks", "Positions"):
        go(page, name)
        expect(page.locator(".bench .experiment")).to_be_visible()
        expect(projected(page)).to_have_count(0)
        assert "projector" not in page.url
    expect(switch(page)).not_to_be_checked()
    go(page, "Attention")
    page.locator(".lens .said").wait_for()
    expect(page.locator(".chip")).to_have_count(0)
    choose(page, "Size", "Projector")
    page.wait_for_url("**projector=1**")
    go(page, "Train")
    assert "projector" not in page.url
    go(page, "Masks")
    expect(projected(page)).to_be_visible()
    go(page, "Attention")
    expect(page.locator(".chip")).to_have_text("Projector ×")


@pytest.mark.quick("masks-steps", "positions-table", "positions-kinds")
@pytest.mark.parametrize(
    ("name", "view"), [(name, view) for name, (_, all_) in VIEWS.items() for view in all_]
)
def test_every_text_of_a_page_and_of_its_pictures_is_large(page, app, shipped, name, view):
    page.goto(f"{app[1]}/{name}?model=hotel-zh&lang=en&{VIEWS[name][0]}={view}&projector=1")
    page.locator(".panel canvas[style]:visible, .js-plotly-plot .main-svg").first.wait_for()
    settle(page)
    if page.locator(".bench").count():
        page.locator(".bench .reasons .reason b").first.wait_for()
    expect(
        page.locator(".stPlotlyChart text").or_(page.locator(".panel canvas[style]:visible")).first
    ).to_be_visible()
    assert page.evaluate(SMALL) == []
    if page.locator(".panel canvas").count():
        assert min(letters(drawing(page))) >= LEAST
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_without_it_the_letters_and_the_cells_are_smaller(page, app, shipped):
    page.goto(f"{app[1]}/masks?model=hotel-zh&lang=en")
    page.locator(".panel canvas[style]:visible").first.wait_for()
    settle(page)
    assert min(letters(drawing(page))) < LEAST
    assert page.evaluate(SMALL)
