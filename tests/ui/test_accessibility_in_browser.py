"""What axe-core finds on every page: nothing serious that is ours."""

from pathlib import Path
from urllib.parse import quote

import lens_page
import pytest
from bench_page import edit, words

AXE = Path(__file__).parents[1] / "node" / "node_modules" / "axe-core" / "axe.min.js"

BEFORE = '{"model": "hotel-zh", "text": "不好"}'

PAGES = {
    "attention": ("?model=reverse-digits", ".lens .said"),
    "attention, all heads": ("?model=hotel-zh&view=grid", ".lens .grid canvas"),
    "attention, step by step": ("?model=hotel-zh&view=steps", ".lens .steps canvas"),
    "map": ("map?model=reverse-digits", ".map .cell"),
    "map, a classifier": ("map?model=hotel-zh", ".map .cell"),
    "map, an output": ("map?model=attention-only", ".map .cell"),
    "positions": ("positions?model=hotel-zh", "[data-testid=stMain] h3"),
    "masks": ("masks?model=hotel-zh&mask=painted&view=masking", ".lens .mask canvas[style]"),
    "two runs": (f"?model=hotel-zh&text=很好&before={quote(BEFORE)}", ".lens .compared canvas[style]"),
    "writing": ("writing?model=reverse-digits&written=9.5.7-1&sampling=1.6-5-0.9", ".writing .list li"),
    "writing, beam search": ("writing?model=reverse-digits&writing_view=beams", ".beams button"),
    "train": ("train", "[data-testid=stMain] h2"),
    "models": ("models?show=hotel-zh", "[data-testid=stMain] h4"),
}
"""Page -> its address, and what is there once it is shown."""

KNOWN: dict[tuple[str, str], str] = {}
"""(Rule, selector of the innermost element) -> why a finding in a widget of Streamlit cannot be mended."""

FIND = """async (part) => {
    const { violations } = await axe.run(part ?? document, { resultTypes: ["violations"] });
    return violations.flatMap(({ id, impact, nodes }) => nodes.map(({ target, html, any, all, none }) => {
        const [first] = [...any, ...all, ...none];
        const place = { target: target.flat(2).at(-1), html: html.slice(0, 200) };
        return { id, impact, ...place, why: first?.message ?? "" };
    }));
}"""
"""Return every finding of axe in a part of a page, or in all of it, with the elements in shadow roots."""


@pytest.fixture(scope="module")
def axe():
    """The script of axe-core."""
    if not AXE.is_file():
        pytest.fail("axe-core is missing: `make tests/node/node_modules` installs it with npm.")
    return AXE.read_text(encoding="utf-8")


def findings(page, axe, part=None):
    """Return the serious findings on a page that are not Streamlit's, and those of the order of headings.

    Args:
        page: The page.
        axe: The script of axe-core.
        part: Locator of the part that is looked at; None: all.
    """
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(axe)
    found = part.evaluate(FIND) if part else page.evaluate(FIND)
    wrong = ("serious", "critical")
    ours = [each for each in found if each["impact"] in wrong or each["id"] == "heading-order"]
    return [each for each in ours if (each["id"], each["target"]) not in KNOWN]


@pytest.mark.quick("attention, step by step", "map", "train", "models")
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_serious(new_visitor, app, shipped, axe, name):
    """One page in English and light, the next in Chinese and dark."""
    language, theme = (("en", "light"), ("zh", "dark"))[list(PAGES).index(name) % 2]
    address, there = PAGES[name]
    page = new_visitor(viewport={"width": 1440, "height": 1000}, color_scheme=theme)
    page.goto(f"{app[1]}/{address}{'&' if '?' in address else '?'}lang={language}")
    page.locator(there).first.wait_for()
    settle(page)
    for menu in page.locator("[data-testid=stExpander] summary").all():
        menu.click()
        settle(page)
    bench = page.locator(".bench")
    if bench.locator(".reasons").count():
        bench.locator(".reasons .reason b").first.wait_for()
    assert findings(page, axe) == []
    for menu in page.locator(":is(.lens, .bench) .menu:visible").all():
        menu.locator("summary").first.click()
        assert findings(page, axe, menu) == []
        menu.evaluate("each => { each.open = false; }")  # it covers others
    if words(page).count():
        words(page).first.press("Enter")
        assert findings(page, axe, bench) == []
        edit(page)
        assert findings(page, axe, bench) == []


def test_axe_finds_what_is_wrong(new_visitor, axe):
    """Or nothing above would mean anything."""
    page = new_visitor()
    page.set_content("<main><h2>One</h2><h4>Two</h4><button></button></main><p></p>")
    assert {each["id"] for each in findings(page, axe)} >= {"heading-order", "button-name"}
    within = "<i><button></button></i>"
    page.locator("p").evaluate("(p, html) => { p.attachShadow({ mode: 'open' }).innerHTML = html; }", within)
    assert [each["id"] for each in findings(page, axe, page.locator("i"))] == ["button-name"]


FADED = "() => document.getAnimations().every(({ playState }) => playState !== 'running')"


def settle(page):
    """Wait until the page is drawn, and what is new on it no longer faint."""
    lens_page.settle(page)
    page.wait_for_function(FADED)
