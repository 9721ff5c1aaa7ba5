"""The pictures of README and guide, from the running app: `make pictures ARGS="map masks"`, or all.

Each is taken in both languages and written to docs/LANGUAGE/images/. For "train" a training is started and
then stopped; "moving" is docs/moving_picture.py.
"""

import contextlib
import io
import os
import shutil
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlencode

import moving_picture
from PIL import Image
from playwright.sync_api import sync_playwright

from benchmarks.server import running_app

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
FOLDER = Path(__file__).parent
LANGUAGES = ("en", "zh")

GOOD, NOT_GOOD = "This film was good.", "This film was not good."
CLEAN, NOT_CLEAN = "房间很干净。", "房间不干净。"

SENTENCE = {
    "en": {"model": "imdb-sentiment", "text": NOT_GOOD},
    "zh": {"model": "reviews-zh", "text": NOT_CLEAN, "layer": 1, "head": 3},
}
COMPARED = {
    "en": {
        "text": NOT_GOOD,
        "layer": 2,
        "head": 3,
        "before": f'{{"model": "imdb-sentiment", "text": "{GOOD}"}}',
    },
    "zh": {
        "model": "reviews-zh",
        "text": NOT_CLEAN,
        "layer": 1,
        "head": 3,
        "before": f'{{"model": "reviews-zh", "text": "{CLEAN}"}}',
    },
}
TRANSLATED = {"en": {"model": "translate-en-fr"}, "zh": {"model": "translate-zh-en"}}
WRITTEN = {"en": {"model": "reviews-next"}, "zh": {"model": "poems-zh"}}
PADDED = {"en": {"model": "attention-only"}, "zh": {"model": "reviews-zh"}}


def both(**query):
    """Return the same query for both languages."""
    return dict.fromkeys(LANGUAGES, query)


PICTURES = {
    "attention": ("", SENTENCE, {}, 900, "light"),
    "why": ("", SENTENCE, {"value": "effects"}, 900, "dark"),
    "compare": ("", COMPARED, {}, 900, "light"),
    "steps": ("", TRANSLATED, {"view": "steps", "kind": "encoder", "head": 3}, 1000, "light"),
    "heads": ("", TRANSLATED, {"view": "grid", "effects": 1}, 800, "light"),
    "map": ("map", TRANSLATED, {}, 1000, "light"),
    "writing": ("writing", WRITTEN, {}, 900, "light"),
    "positions": ("positions", SENTENCE, {}, 1000, "light"),
    "table": ("positions", both(model="reverse-digits"), {"view": "table"}, 1000, "dark"),
    "masks": ("masks", PADDED, {"mask": "padding", "pads": 3}, 950, "light"),
    "models": ("models", both(show="imdb-sentiment"), {}, 1000, "light"),
    "lesson": ("", both(lesson="06-how-translation-aligns"), {}, 900, "dark"),
    "train": ("train", both(task="reverse"), {}, 1000, "dark"),
}
"""Name -> page, query by language, query of both, height of the window, theme."""

WIDTH = 1440


def main(*names):
    """Take the pictures of these names, or all."""
    with tempfile.TemporaryDirectory() as runs, chromium() as browser:
        os.environ["TRANSFORMER_VIZ_RUNS"] = runs
        take_all(browser, names or [*PICTURES, "moving"])


def take_all(browser, names):
    """Start the app and take these pictures in both languages."""
    with running_app() as (_, port):
        home = f"http://localhost:{port}"
        for name in names:
            for language in LANGUAGES:
                folder = FOLDER / language / "images"
                if name == "moving":
                    moving_picture.take(browser, home, language, folder / "moving.webp")
                else:
                    take(browser, home, name, language, folder / f"{name}.webp")


@contextlib.contextmanager
def chromium():
    """Give a browser without a window."""
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield browser
        browser.close()


def take(browser, home, name, language, path):
    """Take one picture in one language."""
    place, queries, query, height, theme = PICTURES[name]
    address = f"{home}/{place}?{urlencode({'lang': language} | queries[language] | query)}"
    page = opened(browser, address, WIDTH, height, theme)
    if name == "train":
        page.locator("[data-testid=stBaseButton-primary]").click()
        page.locator("figure canvas[style]").first.wait_for(timeout=60_000)
        page.wait_for_timeout(12_000)
    save(page, path)
    if name == "train":
        page.locator(".st-key-stop button").first.click()
        page.locator(".st-key-stop").first.wait_for(state="detached", timeout=60_000)
    page.context.close()


def opened(browser, address, width, height, theme):
    """Return a page that has rendered completely."""
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme)
    page = context.new_page()
    page.goto(address)
    page.locator("canvas[style]:visible, .map .cell, .stHeading, .stMain h2").first.wait_for(timeout=60_000)
    settled(page)
    return page


def settled(page):
    """Wait until the server has run the page, and what it asks for after the picture stands there, too."""
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for(timeout=60_000)
    page.wait_for_load_state("networkidle", timeout=60_000)
    page.locator("[data-testid=stSkeleton]").first.wait_for(state="detached", timeout=60_000)
    page.wait_for_timeout(3_000)


def save(page, path):
    """Write a screenshot of a page."""
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.save(path, quality=85, method=6)


if __name__ == "__main__":
    main(*sys.argv[1:])
