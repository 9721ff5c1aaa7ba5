"""The workbench on a page of a browser: a text as a person types it, and the words that are then shown."""

import re

from playwright.sync_api import expect

VALUE = r"(?:[+−][\d.]+)?"
"""What a word does to the answer, which may stand above it."""


def box(page):
    """Return the box for a text, which "Edit" opens."""
    return page.locator(".bench").get_by_role("textbox", name=re.compile("^(Sentence|句子)$"))


def edit(page):
    """Open the box, unless it is open already; return it."""
    if not box(page).count():
        page.locator(".bench .edit").click()
    return box(page)


def type_sentence(page, text, *, press="Enter"):
    """Type a text and wait until it is answered.

    Args:
        page: The page.
        text: The text.
        press: "Enter", or "Show": the button beside the box.
    """
    edit(page).fill(text)
    if press == "Show":
        page.locator(".bench .show").click()
    else:
        box(page).press(press)
    answered(page)


def answered(page):
    """Wait until what was asked for is shown: as words, and nothing is worked on."""
    expect(line(page)).to_be_visible()
    expect(page.locator(".bench .wait")).to_have_count(0)


def line(page):
    """Return the text that is shown as words; of two that are compared, the second."""
    return page.locator(".bench .text[role=group] .words")


def words(page):
    """Return the words of that text, each a button."""
    return line(page).get_by_role("button")


def word(page, text, place=0):
    """Return a word of the text; `place`: which of those that read the same, from 0."""
    return words(page).filter(has_text=re.compile(f"^{VALUE}{re.escape(text)}$")).nth(place)


def expect_text(page, text):
    """Wait until a text is shown as words."""
    expect(line(page)).to_have_text(re.compile("".join(["^", *(VALUE + re.escape(c) for c in text), "$"])))
    answered(page)
