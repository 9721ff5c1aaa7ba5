"""The links of the README into the running app, each opened."""

import re

import pytest
from playwright.sync_api import expect
from running_app import ROOT

READMES = [(ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "README.zh.md")]
LINKS = [re.findall(r"\(http://localhost:8501(/[^)]*)\)", text) for text in READMES]

SHOWS = {
    "text=": ".bench .answer",
    "model=induction": ".panel.matrix canvas",
    "lesson=": ".st-key-lesson",
    "map": ".map .cell",
    "train": "[data-testid=stBaseButton-primary]",
}
"""What a link holds -> what the page then shows."""


def test_both_languages_lead_to_the_same_places():
    assert LINKS[0] == LINKS[1]
    assert len(LINKS[0]) == len(SHOWS)


@pytest.mark.parametrize(("link", "shown"), [*zip(LINKS[0], SHOWS, strict=True)])
def test_a_link_opens_what_it_names(link, shown, new_visitor, home):
    page = new_visitor()
    page.goto(home + link)
    assert shown in link
    expect(page.locator(SHOWS[shown]).first).to_be_visible(timeout=60_000)
    expect(
        page.locator("[data-testid=stAlert], [data-testid=stException], [data-testid=stToast]")
    ).to_have_count(0)
