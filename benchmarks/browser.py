"""What a visitor waits for in headless Chromium: the first heatmap, another head, a click for nothing.

`python benchmarks/browser.py`. Starts the app itself. A click counts until the heatmap of the new head is
painted (its image replaced and two animation frames passed); a click that changes nothing until Streamlit
says that the run has ended. Then a training is started on the Train page, and heads are changed in another
window as before.
"""

import os
import shutil
import statistics
import tempfile
import time

from playwright.sync_api import sync_playwright
from running_app import processor_seconds, running_app

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
CLICKS = 20

PAINTED = """() => new Promise(done => {
    const before = document.querySelector('.heatmaplayer image')?.getAttribute('href');
    const check = () => {
        const now = document.querySelector('.heatmaplayer image')?.getAttribute('href');
        const painted = () => done(performance.now());
        if (now && now !== before) requestAnimationFrame(() => requestAnimationFrame(painted));
        else requestAnimationFrame(check);
    };
    window.__clicked();
    check();
}).then(end => end - window.__start)"""

ENDED = """() => new Promise(done => {
    const app = document.querySelector('[data-testid=stApp]');
    const observer = new MutationObserver(() => {
        if (app.dataset.testScriptState !== 'notRunning') return;
        observer.disconnect();
        requestAnimationFrame(() => done(performance.now()));
    });
    observer.observe(app, {attributeFilter: ['data-test-script-state']});
    window.__clicked();
}).then(end => end - window.__start)"""


def main():
    """Print the figures."""
    os.environ["TRANSFORMER_VIZ_RUNS"] = tempfile.mkdtemp()
    begin = time.perf_counter()
    with running_app() as (process, port), sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        page = browser.new_page(viewport={"width": 1440, "height": 1000})
        page.goto(f"http://localhost:{port}")
        page.locator("[data-testid=stTextArea]").wait_for()
        print(f"from the command to the frame of the page  {time.perf_counter() - begin:6.2f} s")
        page.locator(".heatmaplayer .hm").wait_for()
        print(f"from the command to the first heatmap      {time.perf_counter() - begin:6.2f} s")
        measure(page, process.pid)
        measure_training(browser, page, f"http://localhost:{port}/train?task=addition")
        browser.close()


def measure(page, pid):
    """Print click times and the processor time of one run of the server."""
    page.wait_for_timeout(1000)
    used = processor_seconds(pid)
    head = change_heads(page)
    button = page.get_by_role("button", name="Show attention")
    nothing = [click(page, button, ENDED) for _ in range(CLICKS)]
    used = (processor_seconds(pid) - used) / (2 * CLICKS)
    print(f"another head, click to painted             {statistics.median(head):6.0f} ms")
    print(f"a click that changes nothing               {statistics.median(nothing):6.0f} ms")
    print(f"processor time of the server for one run   {1000 * used:6.1f} ms")


def measure_training(browser, page, address):
    """Print how soon a training shows its first loss and attention, and click times while it runs."""
    watcher = browser.new_page(viewport={"width": 1440, "height": 1000})
    watcher.goto(address)
    start = watcher.get_by_role("button", name="Start training")
    start.wait_for()
    watcher.wait_for_timeout(8000)  # as long as it takes to read what can be chosen; the warm child is ready
    begin = time.perf_counter()
    start.click()
    for what, drawn in (("loss", ".scatterlayer .points path, .scatterlayer .js-line"), ("attention", ".hm")):
        watcher.locator(drawn).first.wait_for(state="attached")
        print(f"from Start training to its first {what:<9} {time.perf_counter() - begin:6.2f} s")
    watcher.wait_for_timeout(3000)
    print(f"another head while it trains               {statistics.median(change_heads(page)):6.0f} ms")
    watcher.get_by_role("button", name="Stop").click()
    watcher.get_by_text("· stopped").wait_for()


def change_heads(page):
    """Return the milliseconds of each of some changes of the head."""
    heads = page.get_by_role("radiogroup", name="Head").get_by_role("radio")
    return [click(page, heads.nth(1 + i % 2), PAINTED) for i in range(CLICKS)]


def click(page, element, until):
    """Return the milliseconds from the click to what it is measured by."""
    handle = element.element_handle()
    page.evaluate("e => window.__clicked = () => { window.__start = performance.now(); e.click() }", handle)
    taken = page.evaluate(until)
    page.wait_for_timeout(150)
    return taken


if __name__ == "__main__":
    main()
