"""Latencies in headless Chromium: first view, another head, sentence or page, a comparison, a training.

`python benchmarks/browser.py`. Starts the app itself. Another head is timed until the second frame after
the click, as the server is not involved; a sentence from its last letter until two frames after the canvas
has its new height, as the heads follow what is typed; a head that is switched off until two frames after
both runs and their difference are there; another page until two frames after what is its own is there;
*Why?* from the picture until two frames after its sentence. Then a training is started on the Train page,
and the first two are measured again in another window. Finally, a head is switched off in each included
model, on its own example.
"""

import json
import os
import shutil
import statistics
import tempfile
import time

from playwright.sync_api import sync_playwright
from server import ROOT, processor_seconds, running_app

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
CLICKS = 10

FRAMES = (
    "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))))"
)

CHOSEN = f"""() => {{
    window.__clicked();
    return {FRAMES}.then(end => end - window.__start);
}}"""

PAINTED = f"""() => new Promise(done => {{
    const height = () => window.__lens().style.height;
    const before = height();
    const check = () => height() === before ? requestAnimationFrame(check) : {FRAMES}.then(done);
    window.__clicked();
    check();
}}).then(end => end - window.__start)"""

SWITCHED = f"""() => new Promise(done => {{
    const root = window.__lens().getRootNode();
    const height = () => parseFloat(root.querySelector('.compared .panel.change canvas')?.style.height);
    const check = () => height() > 0 ? {FRAMES}.then(done) : requestAnimationFrame(check);
    window.__clicked();
    check();
}}).then(end => end - window.__start)"""

EXPLAINED = f"""() => new Promise(done => {{
    const height = () => window.__lens().style.height;
    const said = () => window.__lens().getRootNode().querySelector('.reasons .reason')?.textContent ?? '';
    const before = height(), old = said();
    let painted = 0;
    const check = () => {{
        if (!painted && height() !== before) painted = performance.now();
        painted && said() && said() !== old ? {FRAMES}.then(end => done([painted, end]))
            : requestAnimationFrame(check);
    }};
    window.__clicked();
    check();
}}).then(([painted, end]) => [painted - window.__start, end - painted])"""

FIND = """window.__lens = () => {
    const has = element => element.shadowRoot?.querySelector('.matrix');
    return [...document.querySelectorAll('*')].find(has).shadowRoot.querySelector('.matrix canvas');
}"""

SENTENCE = (
    "I had not expected much of it, yet the film is funny, warm and beautifully shot, the actors are a joy "
    "to watch, and I left smiling all the way home."
)

TEXTS = {
    "imdb-sentiment": SENTENCE,
    "reviews-next": SENTENCE,
    "translate-en-fr": "the cat " + "and the dog " * 9 + "sleep",
}
"""Model -> a text of 30 words."""


def main():
    """Print the figures."""
    os.environ["TRANSFORMER_VIZ_RUNS"] = tempfile.mkdtemp()
    begin = time.perf_counter()
    with running_app() as (process, port), sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        page = browser.new_page(viewport={"width": 1440, "height": 1000})
        page.goto(f"http://localhost:{port}")
        page.locator(".bench").wait_for()
        print(f"from the command to the frame of the page  {time.perf_counter() - begin:6.2f} s")
        page.locator(".lens .matrix canvas").wait_for()
        page.evaluate(FIND)
        print(f"from the command to the first picture      {time.perf_counter() - begin:6.2f} s")
        measure(page, process.pid)
        measure_comparisons(page)
        measure_tints(page, f"http://localhost:{port}")
        measure_pages(page)
        measure_training(browser, page, f"http://localhost:{port}/train?task=addition")
        measure_models(page, f"http://localhost:{port}")
        browser.close()


PAGES = {
    "Masks": "root.querySelector('.experiment [aria-label=Mask]')",
    "Positions": "root.querySelector('.experiment .question')",
    "Map": "root.querySelector('.map')?.checkVisibility()",
    "Attention": "root.querySelector('.looks')",
}
"""Page -> what holds once it is there, of the root of the workbench."""

SHOWN = f"""() => new Promise(done => {{
    const root = window.__lens().getRootNode();
    const check = () => (%s) ? {FRAMES}.then(done) : requestAnimationFrame(check);
    window.__clicked();
    check();
}}).then(end => end - window.__start)"""


def measure(page, pid):
    """Print the times of another head and another sentence, and the processor time of one sentence."""
    page.wait_for_timeout(1000)
    used = processor_seconds(pid)
    change(page)
    used = (processor_seconds(pid) - used) / (2 * CLICKS)
    print(f"processor time of the server for a sentence {1000 * used:5.1f} ms")


def measure_comparisons(page):
    """Print the time from switching a head off to the painted comparison, beside that of a sentence."""
    lens, taken, sentences = page.locator(".lens"), [], []
    for i in range(CLICKS):
        for text, kept in (("Not bad.", []), (SENTENCE + "?" * (i + 1), sentences)):
            kept.append(type_text(page, text, PAINTED))
        page.locator(".bench textarea").press("Enter")
        taken.append(switch_off(page, lens.locator(".power").nth(i)))
    first, painted = statistics.median(taken), statistics.median(sentences)
    print(f"a head switched off, click to painted      {first:6.0f} ms, {first / painted:.2f} of a sentence")


def measure_models(page, address):
    """Print the time from switching a head off to the painted comparison, for each model on its example."""
    print("a head switched off, click to painted, on the model's own example:")
    for model in sorted(path.parent.name for path in (ROOT / "models").glob("*/config.json")):
        page.goto(f"{address}/?model={model}")
        page.locator(".lens .matrix canvas").wait_for()
        page.wait_for_timeout(2500)
        page.evaluate(FIND)
        powers = page.locator(".lens .power")
        taken = [switch_off(page, powers.nth(i % powers.count())) for i in range(CLICKS + 1)]
        print(f"  {model:<40} {statistics.median(taken[1:]):6.0f} ms")  # the first one compiles


def switch_off(page, power):
    """Return the milliseconds from switching a head off to the comparison; take it back."""
    lens, taken = page.locator(".lens"), click(page, power, SWITCHED)
    lens.locator("[data-key^=chip]").first.click()
    lens.locator("[data-key^=chip]").first.wait_for(state="detached")
    lens.locator("[data-key^=compare]").click()
    lens.locator(".panels:not(.compared)").wait_for()
    return taken


def measure_tints(page, address):
    """Print for some models how long after the picture of a sentence of 30 words its words are tinted."""
    print("from the picture of 30 words to their tints, when compiled and when not:")
    for model, text in TEXTS.items():
        words, taken = text.split(), []
        page.goto(f"{address}/?model={model}&text={words[0]}")
        page.locator(".reasons .reason").wait_for()
        page.evaluate(FIND)
        for i in range(CLICKS):
            for each in (text, f"{words[1 - i % 2]} {words[2]}."):
                taken.append(type_text(page, each, EXPLAINED))
                page.wait_for_timeout(300)
        first, *others = [tinted for _, tinted in taken[::2]]
        print(f"  {model:<20} {statistics.median(others):6.0f} ms, the first {first:6.0f} ms")


def measure_pages(page):
    """Print the time from one page to another, without the first visit of each."""
    taken = {name: [] for name in PAGES}
    for _ in range(CLICKS // 2):
        for name, drawn in PAGES.items():
            link = page.locator(".st-key-pages").get_by_role("link").filter(has_text=name)
            taken[name].append(click(page, link, SHOWN % drawn))
            page.wait_for_timeout(500)
    for name, each in taken.items():
        print(f"to the page {name:<9}, click to painted      {statistics.median(each[1:]):6.0f} ms")


def measure_training(browser, page, address):
    """Print the time to a training's first loss and attention, and click times during training."""
    watcher = browser.new_page(viewport={"width": 1440, "height": 1000})
    watcher.goto(address)
    start = watcher.get_by_role("button", name="Start training")
    start.wait_for()
    watcher.wait_for_timeout(8000)  # as long as reading the form takes; the warm child is ready
    begin = time.perf_counter()
    start.click()
    pictures = {
        "loss": ".scatterlayer .points path, .scatterlayer .js-line",
        "attention": "figure canvas[style]",
    }
    for what, drawn in pictures.items():
        watcher.locator(drawn).first.wait_for(state="attached")
        print(f"from Start training to its first {what:<9} {time.perf_counter() - begin:6.2f} s")
    watcher.wait_for_timeout(3000)
    print("while it trains:")
    change(page)
    watcher.get_by_role("button", name="Stop").click()
    watcher.get_by_role("button", name="Resume").wait_for()


def change(page):
    """Print the times of another head and another sentence."""
    heads, sentences = page.locator(".lens .heads .head"), []
    taken = [click(page, heads.nth(i % 2), CHOSEN) for i in range(CLICKS)]
    print(f"another head, click to painted             {statistics.median(taken):6.0f} ms")
    for i in range(CLICKS):
        for text, kept in (("Not bad.", []), (SENTENCE + "!" * i, sentences)):
            kept.append(type_text(page, text, PAINTED))
    print(f"a sentence of 30 words, typed to painted   {statistics.median(sentences):6.0f} ms")


def type_text(page, text, until):
    """Return the milliseconds from the last letter of a text in the box until the script `until` resolves."""
    box = page.locator(".bench textarea")
    if not box.count():
        page.locator(".bench .edit").click()
    typed = "e => window.__clicked = () => { window.__start = performance.now(); e.value = %s; %s }"
    told = "e.dispatchEvent(new Event('input', { bubbles: true }))"
    box.evaluate(typed % (json.dumps(text), told))
    taken = page.evaluate(until)
    page.wait_for_timeout(150)
    return taken


def click(page, element, until):
    """Return the milliseconds from a click until the script `until` resolves."""
    handle = element.element_handle()
    page.evaluate(
        "e => window.__clicked = () => { window.__start = performance.now(); e.focus(); e.click() }", handle
    )
    taken = page.evaluate(until)
    page.wait_for_timeout(150)
    return taken


if __name__ == "__main__":
    main()
