"""Screenshots for the README, of a running app: `python docs/pictures.py http://localhost:8501 [NAME ...]`.

Written to docs/images/ with 256 colours, scaled to two thirds: all of them, or those of these names. For
"training" a training is started and then stopped.
"""

import io
import os
import shutil
import sys
from pathlib import Path
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import sync_playwright

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
FOLDER = Path(__file__).parent / "images"

COMPARED = {
    "lang": "en",
    "layer": 2,
    "head": 3,
    "text": "This film was not good.",
    "before": '{"model": "imdb-sentiment", "text": "This film was good."}',
}

PICTURES = {
    "compare": (f"/?{urlencode(COMPARED)}", 1440, 900, "light"),
    "lesson": ("/?lang=zh&lesson=06-how-translation-aligns", 1440, 900, "dark"),
    "attention": ("/?lang=en&model=induction&layer=2&head=1", 1440, 900, "light"),
    "attention-zh": ("/?lang=zh&model=reverse-digits&kind=cross&layer=1&head=4", 1440, 900, "dark"),
    "map": ("/map?lang=en&model=translate-en-fr", 1440, 1000, "light"),
    "writing": ("/writing?lang=en&model=reviews-next", 1440, 900, "light"),
    "heads": ("/?lang=en&model=translate-en-fr&view=grid&effects=1", 1440, 800, "light"),
    "lines": ("/?lang=zh&model=translate-en-zh&view=lines&layer=2&head=3", 1440, 900, "light"),
    "steps": ("/?lang=en&model=translate-en-fr&view=steps&kind=encoder&head=3", 1440, 1000, "dark"),
    "positions": ("/positions?lang=en&model=hotel-zh", 1440, 1000, "light"),
    "table": ("/positions?lang=en&model=reverse-digits&view=table", 900, 1000, "dark"),
    "kinds": ("/positions?lang=zh&model=reverse-digits&view=kinds", 1440, 1000, "light"),
    "masks": ("/masks?lang=en&model=attention-only&mask=padding&pads=3", 1440, 950, "light"),
    "painted": ("/masks?lang=zh&mask=painted&bits=ff83c7efef83c7ff", 1440, 950, "dark"),
    "models": ("/models?lang=zh&show=translate-en-zh", 900, 1000, "light"),
}
"""Name -> address, width and height of the window, theme."""

WINDOWS = ((1440, 900), (1280, 720), (900, 700), (390, 800))

PICTURES |= {
    f"first-{width}-{language}-{theme}": (f"/?lang={language}", width, height, theme)
    for width, height in WINDOWS
    for language in ("en", "zh")
    for theme in ("light", "dark")
}

TRAINING = ("training", "/train?lang=en&task=reverse", 1440, 1000, "dark")


def main(home, *names):
    """Take the screenshots of these names, or all, of the app at an address."""
    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        for name, (address, *window) in PICTURES.items():
            if names and name not in names:
                continue
            page = opened(browser, home + address, *window)
            take(page, name)
        if not names or TRAINING[0] in names:
            take_training(browser, home)
        browser.close()


def take_training(browser, home):
    """Start a training, take its screenshot, and stop it."""
    name, address, *window = TRAINING
    page = opened(browser, home + address, *window)
    page.get_by_role("button", name="Start training").click()
    page.locator("figure canvas[style]").first.wait_for(timeout=60_000)
    page.wait_for_timeout(12_000)
    take(page, name)
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("button", name="Resume").wait_for()


def opened(browser, address, width, height, theme):
    """Return a page that has rendered completely."""
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme)
    page = context.new_page()
    page.goto(address)
    page.locator("canvas[style]:visible, .map .cell, .stHeading, .stMain h2").first.wait_for(timeout=60_000)
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for(timeout=60_000)
    page.wait_for_load_state("networkidle", timeout=60_000)
    page.locator("[data-testid=stSkeleton]").first.wait_for(state="detached", timeout=60_000)
    page.wait_for_timeout(3_000)
    return page


def take(page, name):
    """Write a screenshot of a page."""
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    small = picture.resize((picture.width * 2 // 3, picture.height * 2 // 3), Image.Resampling.LANCZOS)
    small.quantize(256, dither=Image.Dither.NONE).save(FOLDER / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main(sys.argv[1].rstrip("/"), *sys.argv[2:])
